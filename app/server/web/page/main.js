// The page: which view is shown, who the client is, and the theme.
import { $, call, notice } from "./api.js";
import { startEditor } from "./editor.js";
import { startQuery } from "./query.js";
import { showRun, showRuns, showBusy } from "./runs.js";
import { showServer } from "./meters.js";
import { showTable } from "./table.js";

const views = {
  query: { show: (_, text) => text && open(text) },
  table: { show: showTable, nav: "query" },
  runs: { show: showRuns },
  run: { show: showRun, nav: "runs" },
  server: { show: showServer },
};

let leave = new AbortController(); // aborted when another view is shown

// open takes the statement of a link into the editor, and out of the address, which a statement that is edited has not.
function open(text) {
  document.dispatchEvent(new CustomEvent("edit", { detail: text }));
  history.replaceState(null, "", "#query");
}

// argumentOf decodes what an address has after the name of a view.
function argumentOf(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    $("place").textContent = "The address of this page is cut, or has been changed: it cannot be read.";
    return "";
  }
}

// route shows the view that the address names: #query, #query/SELECT..., #table/flights, #runs, #run/12, #server.
function route() {
  const [, name, rest] = /^#?([^/]*)\/?(.*)$/s.exec(location.hash),
    argument = argumentOf(rest);
  const shown = views[name] ? name : "query";
  leave.abort();
  leave = new AbortController();
  for (const view of Object.keys(views)) $("view-" + view).hidden = view !== shown;
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.hash === "#" + (views[shown].nav ?? shown)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = shown === "query" ? "mpga" : `mpga: ${shown} ${argument}`.trim();
  views[shown].show(leave.signal, argument);
}

async function begin() {
  try {
    const { client, version, tokens, uploads } = await call("session", {});
    $("view-sign-in").hidden = true;
    $("who").textContent = [version, client].filter(Boolean).join(" · ");
    $("sign-out").hidden = !tokens;
    $("upload").hidden = !uploads;
    notice("");
  } catch (e) {
    if (e.status !== 401) notice(e.message);
    return;
  }
  setInterval(() => call("session", {}).catch(() => {}), 60e3); // so that results stay while the page is open
  const editor = startEditor(); // from here on it takes the statement of a link
  route();
  window.addEventListener("hashchange", route);
  startQuery(await editor);
  showBusy();
}

document.addEventListener("signed-out", () => {
  window.removeEventListener("hashchange", route);
  leave.abort();
  for (const view of Object.keys(views)) $("view-" + view).hidden = true;
  document.querySelector("nav").hidden = true;
  $("view-sign-in").hidden = false;
  $("token").focus();
});

$("sign-in").addEventListener("submit", async (e) => {
  e.preventDefault();
  $("token-error").textContent = "";
  try {
    await call("sign-in", { token: $("token").value });
    location.reload();
  } catch (e) {
    $("token-error").textContent = e.message;
    $("token").select();
  }
});

$("sign-out").addEventListener("click", async () => {
  await call("sign-out", {});
  location.reload();
});

$("theme").value = localStorage.getItem("mpga-theme") ?? "";
$("theme").addEventListener("change", (e) => {
  localStorage.setItem("mpga-theme", e.target.value);
  document.documentElement.dataset.theme = e.target.value;
});

begin();

// The view of a statement: running it, its progress, its history, and the tabs of its result.
import { $, ApiError, bytes, call, element, plural, seconds } from "./api.js";
import { showChart } from "./chart.js";
import { planTree } from "./plan.js";
import { showRows } from "./rows.js";
import { planOf, timelineOf } from "./runs.js";

let editor,
  run = null; // run is the latest run of the page

export function startQuery(of) {
  editor = of;
  $("run").addEventListener("click", start);
  $("cancel").addEventListener("click", cancel);
  $("explain").addEventListener("click", explain);
  $("link").addEventListener("click", link);
  $("view-query").addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      start();
    }
  });
  for (const tab of tabs()) tab.addEventListener("click", () => choose(tab));
  document.querySelector("[role=tablist]").addEventListener("keydown", (e) => {
    const seen = tabs().filter((t) => !t.hidden),
      at = seen.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[e.key];
    if (to === undefined) return;
    const tab = seen.at(to % seen.length);
    choose(tab);
    tab.focus();
    e.preventDefault();
  });
  $("history").addEventListener("change", (e) => {
    if (e.target.value === "clear") localStorage.removeItem("mpga-history");
    else if (e.target.value) editor.set(remembered()[Number(e.target.value)]);
    showHistory();
  });
  document.addEventListener("edit", () => {
    location.hash = "#query";
  });
  showHistory();
}

const remembered = () => JSON.parse(localStorage.getItem("mpga-history") ?? "[]");

function remember(text) {
  const list = [text, ...remembered().filter((t) => t !== text)].slice(0, 100);
  localStorage.setItem("mpga-history", JSON.stringify(list));
  showHistory();
}

function showHistory() {
  const list = remembered();
  $("history").replaceChildren(
    element("option", { value: "" }, "…"),
    ...list.map((text, i) => element("option", { value: i }, text.replace(/\s+/g, " ").slice(0, 80))),
    list.length ? element("option", { value: "clear" }, "Forget all") : "",
  );
}

const say = (text) => {
  if ($("status").textContent !== text) $("status").textContent = text;
};

function failed(e) {
  if (!(e instanceof ApiError)) throw e;
  editor.wrong(e.message, e.at);
  say("");
}

// link puts the statement in the page's address, and copies that: who opens it finds the statement in the editor, and
// runs it or not.
async function link() {
  history.replaceState(null, "", "#query/" + encodeURIComponent(editor.text()));
  try {
    await navigator.clipboard.writeText(location.href);
    say("The address of this page has the statement, and is copied.");
  } catch {
    say("The address of this page has the statement: copy it from there.");
  }
}

async function start() {
  if (!$("cancel").disabled) return;
  if (!editor.text().trim()) editor.set(editor.example());
  editor.wrong("");
  $("result").hidden = true;
  remember(editor.text());
  say("Starting");
  try {
    run = await call("statements", { text: editor.text() });
    await follow(run.id);
  } catch (e) {
    failed(e);
  }
}

// follow shows how far a run is, until it has ended.
async function follow(id) {
  $("cancel").disabled = false;
  $("run").disabled = true;
  try {
    for (let n = 0; ; n++) {
      run = await call("runs/" + id);
      if (!["running", "waiting"].includes(run.state)) break;
      progress(run, n);
      await new Promise((done) => setTimeout(done, Math.min(20 * 1.5 ** n, 250)));
    }
  } finally {
    $("cancel").disabled = true;
    $("run").disabled = false;
    $("bar").hidden = true;
  }
  if (run.state !== "done") {
    say(run.state === "cancelled" ? `Cancelled after ${seconds(run.elapsed)}` : "");
    if (run.state === "failed") editor.wrong(run.error);
    return;
  }
  say(
    `${plural(run.result?.rows ?? run.rows, "row")} in ${seconds(run.elapsed)}` +
      (run.stats ? `, ${plural(run.stats.rowsRead, "row")} and ${bytes(run.stats.bytesRead)} read` : "") +
      (run.result?.whole === false
        ? ": the first rows of the result, as many as --page-result-size lets the server keep"
        : ""),
  );
  show(true);
  if (/^\s*(create|drop)\b/i.test(editor.text())) editor.refreshTables();
}

// progress shows how far a run is; a screen reader is told each five seconds or so.
function progress(run, n) {
  const bar = $("bar"),
    p = run.progress;
  bar.hidden = false;
  if (p && p.fraction >= 0) bar.value = p.fraction;
  else bar.removeAttribute("value");
  $("status").setAttribute("aria-live", n % 20 === 5 ? "polite" : "off");
  if (run.state === "waiting") return say("Waiting for a place");
  const left = p && p.left > 0 ? `, about ${seconds(p.left)} left` : "";
  const rows = run.rows ? `, ${plural(run.rows, "row")} of the result` : "";
  say(p ? `${p.phase}: ${plural(p.rowsRead, "row")} read${rows}, ${seconds(run.elapsed)}${left}` : "Running");
}

async function cancel() {
  try {
    await call(`runs/${run.id}/cancel`, {});
  } catch (e) {
    failed(e);
  }
  $("text").focus();
}

async function explain() {
  editor.wrong("");
  try {
    $("plan").replaceChildren(planTree((await call("explain", { text: editor.text() })).plan));
    show(false);
  } catch (e) {
    failed(e);
  }
}

const tabs = () => [...document.querySelectorAll("[role=tab]")];

// show shows the tabs: of a result, or of a plan alone.
function show(result) {
  for (const tab of tabs()) tab.hidden = !result && tab.id !== "tab-plan";
  $("result").hidden = false;
  $("status").setAttribute("aria-live", "polite");
  shown = new Set(result ? [] : ["tab-plan"]);
  const current = tabs().find((t) => t.getAttribute("aria-selected") === "true" && !t.hidden);
  choose(current ?? $(result ? "tab-rows" : "tab-plan"));
}

let shown = new Set(); // tabs that show the latest run already

const panels = {
  "tab-rows": () => showRows(run),
  "tab-chart": () => showChart($("panel-chart"), run),
  "tab-plan": async () => {
    $("plan").replaceChildren(await planOf(run.id));
  },
  "tab-time": async () => {
    $("panel-time").replaceChildren(
      element("p", { class: "summary" }, run.summary ?? ""),
      await timelineOf(run.id),
      element(
        "p",
        {},
        element("a", { href: `api/runs/${run.id}/report`, target: "_blank", rel: "noopener" }, "The whole report"),
      ),
    );
  },
};

async function choose(tab) {
  for (const other of tabs()) {
    other.setAttribute("aria-selected", other === tab);
    other.tabIndex = other === tab ? 0 : -1;
    $(other.getAttribute("aria-controls")).hidden = other !== tab;
  }
  if (!shown.has(tab.id)) {
    shown.add(tab.id);
    try {
      await panels[tab.id]();
    } catch (e) {
      failed(e);
    }
  }
  if (tab.id !== "tab-rows") $("result").scrollIntoView({ block: "nearest" });
}

// Requests to the server, and what the whole page shares.

// ApiError is what the server answers in place of a value. at is a place in the statement.
export class ApiError extends Error {
  constructor(status, { message, at }) {
    super(message);
    Object.assign(this, { status, at });
  }
}

// call asks the server; a body makes it a POST. Where the session has ended, as of a page that slept,
// another is begun.
export async function call(path, body, signal) {
  try {
    return await ask(path, body, signal);
  } catch (e) {
    if (e.status !== 409 || path === "session") throw e;
  }
  await ask("session", {}, signal);
  return ask(path, body, signal);
}

// send uploads a file, and returns by which name statements read it.
export const send = async (file) =>
  (await request("uploads/" + encodeURIComponent(file.name), { method: "POST", body: file })).name;

const ask = (path, body, signal) =>
  request(
    path,
    body === undefined
      ? { signal }
      : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal },
  );

async function request(path, options) {
  let response;
  try {
    response = await fetch("api/" + path, options);
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw new ApiError(0, { message: "The server does not answer." });
  }
  const isJSON = response.headers.get("Content-Type")?.startsWith("application/json");
  const value = isJSON ? await response.json() : await response.text();
  if (response.ok) return value;
  const error = new ApiError(response.status, value.error ?? { message: response.statusText });
  if (response.status === 401) document.dispatchEvent(new CustomEvent("signed-out"));
  throw error;
}

export const $ = (id) => document.getElementById(id);

// element makes an element. Strings among its children become text, never markup.
export function element(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else if (value === true) e.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) e.setAttribute(key, value);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

// picture returns markup that package report has made, which escapes all text of users.
export const picture = (markup) => document.createRange().createContextualFragment(markup);

export const counted = (n) => n.toLocaleString("en");
export const plural = (n, noun) => `${counted(n)} ${noun}${n === 1 ? "" : "s"}`;

export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
  return `${i && n < 100 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}

export function seconds(s) {
  if (s >= 60) return `${Math.floor(s / 60)}m ${Math.floor(s % 60)}s`;
  return s >= 1 ? `${s.toFixed(1)} s` : `${(s * 1000).toFixed(s < 0.01 ? 1 : 0)} ms`;
}

// notice shows an error that belongs to no place of the page; "" hides it.
export function notice(text) {
  $("notice").textContent = text;
  $("notice").hidden = !text;
}

// finished runs a statement to its end, and returns the run. tell is called while it runs; a signal that is aborted
// cancels it.
export async function finished(text, signal, tell) {
  const { id } = await call("statements", { text });
  for (let n = 0; ; n++) {
    if (signal.aborted) {
      await call(`runs/${id}/cancel`, {});
      throw signal.reason;
    }
    const run = await call("runs/" + id);
    if (run.state === "done") return run;
    if (!["running", "waiting"].includes(run.state)) throw new ApiError(0, { message: run.error ?? run.state });
    tell(run);
    await new Promise((done) => setTimeout(done, Math.min(20 * 1.5 ** n, 250)));
  }
}

// repeat calls f again and again while the page is seen, until it returns or resolves to false. wait
// says after how many milliseconds.
export async function repeat(f, wait) {
  for (let n = 0; ; n++) {
    if (!document.hidden && (await f()) === false) return;
    await new Promise((done) => setTimeout(done, wait(n)));
  }
}

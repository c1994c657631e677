// The editor: a text area, whose text is shown with colours behind it, and a list of completions.
import { $, call, element, notice, send } from "./api.js";
import { nameText, offersFor } from "./complete.js";
import { selectAll } from "./table.js";

const token =
  /(--[^\n]*|\/\*[^]*?(?:\*\/|$))|('(?:[^']|'')*'?)|("(?:[^"]|"")*"?)|(\d+(?:\.\d+)?(?:e[+-]?\d+)?)|([A-Za-z_]\w*)|[^]/gi;

const words = { keywords: new Set(), functions: [], tables: [] };
let wrongAt = -1; // where the server says that the text is wrong; -1 where it is not

// startEditor fetches what can be completed, and returns the editor.
export async function startEditor() {
  const area = $("text");
  area.value = localStorage.getItem("mpga-draft") ?? "";
  document.addEventListener("edit", (e) => replaceAll(e.detail));
  try {
    const { functions, keywords } = await call("functions");
    Object.assign(words, { functions, keywords: new Set(keywords) });
  } catch (e) {
    notice(e.message);
  }
  area.addEventListener("input", () => {
    wrongAt = -1;
    $("place").textContent = "";
    localStorage.setItem("mpga-draft", area.value);
    paint();
    offer(2);
  });
  area.addEventListener("scroll", () => {
    $("shown").scrollTop = area.scrollTop;
  });
  area.addEventListener("keydown", keyed);
  area.addEventListener("blur", hide);
  paint();
  refreshTables();
  area.focus();
  $("file").addEventListener("change", upload);
  return { text: () => area.value, set: replaceAll, wrong, refreshTables, example: () => example };
}

// upload sends files to the server, and writes a statement that reads the last.
async function upload() {
  const input = $("file");
  try {
    for (const file of input.files) {
      $("status").textContent = `Sending ${file.name}`;
      replaceAll(selectAll(await send(file)));
      $("status").textContent = `${file.name} is at the server.`;
    }
  } catch (e) {
    $("status").textContent = "";
    wrong(e.message);
  }
  input.value = ""; // so that the same file can be chosen again
}

let example = ""; // a statement that runs

// exampleOf counts the rows of a table by its first key of text; without a table, those of numbers.
function exampleOf(tables) {
  const t = tables.find((t) => t.columns.length);
  if (!t) return "SELECT i % 10 AS k, sum(i) AS total\nFROM range(1000000) AS r(i)\nGROUP BY k\nORDER BY k";
  const key = t.columns.find((c) => c.type === "VARCHAR") ?? t.columns[0];
  return `SELECT ${nameText(key.name)}, count(*) AS n\nFROM ${nameText(t.name)}\nGROUP BY ${nameText(key.name)}\nORDER BY n DESC\nLIMIT 20`;
}

function replaceAll(text) {
  const area = $("text");
  area.setRangeText(text, 0, area.value.length, "end");
  area.dispatchEvent(new Event("input"));
  hide();
  area.focus();
}

// insert puts text in place of what is selected, as typed.
function insert(text) {
  const area = $("text");
  area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
  area.dispatchEvent(new Event("input"));
  hide();
  area.focus();
}

// paint shows the text with colours, and where it is wrong.
function paint() {
  const area = $("text"),
    functions = new Set(words.functions.map((f) => f.name)),
    parts = [];
  const columns = new Set(words.tables.flatMap((t) => t.columns.map((c) => c.name.toLowerCase())));
  for (const m of area.value.matchAll(token)) {
    const [text, comment, string, quoted, number, word] = m;
    let kind = comment ? "o" : string ? "v" : number ? "n" : "";
    if (word && columns.has(word.toLowerCase())) kind = "";
    else if (word && words.keywords.has(word.toUpperCase())) kind = "k";
    else if (word && functions.has(word.toLowerCase())) kind = "f";
    const wrong = wrongAt >= m.index && wrongAt < m.index + text.length;
    if (!kind && !wrong && typeof parts.at(-1) === "string") parts[parts.length - 1] += text;
    else if (kind || wrong) parts.push(element("span", { class: wrong ? "wrong " + kind : kind }, text));
    else parts.push(text);
  }
  if (wrongAt >= area.value.length) parts.push(element("span", { class: "wrong" }, " "));
  $("shown").replaceChildren(...parts, "\n");
  area.style.height = "auto";
  area.style.height = Math.min(Math.max(area.scrollHeight, 120), innerHeight * 0.6) + "px";
  $("shown").scrollTop = area.scrollTop;
}

// wrong shows an error at its place: in the text, and with its line in words.
function wrong(message, at) {
  wrongAt = at ?? -1;
  paint();
  const area = $("text");
  if (wrongAt < 0) {
    $("place").textContent = message;
    return;
  }
  const before = area.value.slice(0, wrongAt).split("\n");
  $("place").textContent = `Line ${before.length}, column ${before.at(-1).length + 1}: ${message}`;
  area.setSelectionRange(wrongAt, wrongAt);
  area.focus();
}

async function refreshTables() {
  try {
    words.tables = (await call("tables")).tables;
    paint();
  } catch (e) {
    $("tables").replaceChildren(element("li", { class: "error" }, e.message));
    return;
  }
  const columnOf = (c) =>
    element(
      "li",
      {},
      element("button", { title: `Insert ${c.name}`, onclick: () => insert(nameText(c.name)) }, c.name),
      element("small", {}, c.type),
    );
  $("tables").replaceChildren(
    ...words.tables.map((t) =>
      element(
        "li",
        {},
        element(
          "details",
          { open: words.tables.length < 4 },
          element(
            "summary",
            {},
            element(
              "a",
              { href: "#table/" + encodeURIComponent(t.name), title: "First rows, and what is in the columns" },
              t.name,
            ),
            t.temporary ? " (own)" : "",
          ),
          t.error ? element("p", { class: "error" }, t.error) : null,
          element(
            "ul",
            {},
            element("li", {}, element("button", { onclick: () => insert(nameText(t.name)) }, "Insert the name")),
            ...t.columns.map(columnOf),
          ),
        ),
      ),
    ),
  );
  if (!words.tables.length)
    $("tables").replaceChildren(element("li", { class: "dim" }, "none: mpga serve --table NAME=PATH"));
  example = exampleOf(words.tables);
  $("text").placeholder = `${example}\n\nRun runs this example.`;
}

// Completions: the word before the caret, the list, and which of it is selected.
let open = null; // {from, list, at, moved}

// offer opens the list, if the word before the caret has so many letters.
function offer(letters) {
  const area = $("text"),
    before = area.value.slice(0, area.selectionStart);
  const word = /[A-Za-z_]\w*$/.exec(before)?.[0] ?? "";
  if (area.selectionStart !== area.selectionEnd || word.length < letters) return hide();
  const list = offersFor(before, word, area.value, words);
  if (!list.length || (list.length === 1 && list[0].name.toLowerCase() === word.toLowerCase())) return hide();
  open = { from: before.length - word.length, list, at: 0, moved: false };
  $("offers").replaceChildren(
    ...list.map((o, i) =>
      element(
        "li",
        {
          id: "offer-" + i,
          role: "option",
          onmousedown: (e) => {
            e.preventDefault();
            take(i);
          },
        },
        o.name,
        element("small", { class: "dim" }, o.help),
      ),
    ),
  );
  $("offers").hidden = false;
  place(open.from);
  select(0);
}

// place puts the list below a place of the text, which the text shown behind it has, too.
function place(at) {
  const walk = document.createTreeWalker($("shown"), NodeFilter.SHOW_TEXT),
    range = document.createRange();
  let node = walk.nextNode();
  while (node && at > node.length) {
    at -= node.length;
    node = walk.nextNode();
  }
  range.setStart(node, at);
  const caret = range.getBoundingClientRect(),
    box = $("shown").getBoundingClientRect();
  const offers = $("offers");
  offers.style.top = caret.bottom - box.top + 4 + "px";
  offers.style.left = Math.max(0, Math.min(caret.left - box.left, box.width - offers.offsetWidth)) + "px";
}

function select(i) {
  open.at = (i + open.list.length) % open.list.length;
  for (const [n, item] of [...$("offers").children].entries()) item.setAttribute("aria-selected", n === open.at);
  $("offers").children[open.at].scrollIntoView({ block: "nearest" });
  $("text").setAttribute("aria-activedescendant", "offer-" + open.at);
}

function hide() {
  open = null;
  $("offers").hidden = true;
  $("text").removeAttribute("aria-activedescendant");
}

// take puts an offer in place of the word.
function take(i) {
  const area = $("text"),
    { from, list } = open;
  area.setRangeText(list[i].text, from, area.selectionStart, "end");
  area.dispatchEvent(new Event("input"));
  hide();
}

function keyed(e) {
  if (e.key === " " && e.ctrlKey) {
    e.preventDefault();
    return offer(0);
  }
  if (!open) return;
  if (e.key === "ArrowDown" || e.key === "ArrowUp") {
    open.moved = true;
    select(open.at + (e.key === "ArrowDown" ? 1 : -1));
  } else if ((e.key === "Tab" && !e.shiftKey) || (e.key === "Enter" && open.moved && !e.ctrlKey && !e.metaKey)) {
    take(open.at);
  } else if (e.key === "Escape") {
    hide();
  } else {
    if (e.key.startsWith("Arrow") || e.key === "Enter") hide();
    return;
  }
  e.preventDefault();
}

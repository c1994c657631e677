// The rows of a result: a page of them at a time, in the order of a column, and files of all of them.
import { $, call, counted, element, plural } from "./api.js";

// marked returns a number as it was written, with marks of thousands from five digits on. The marks are pictures of the
// style: what is copied has none.
function marked(text) {
  const [, sign, whole, rest] = /^(-?)(\d*)(.*)$/s.exec(text);
  if (whole.length < 5) return [text];
  const first = whole.length % 3 || 3;
  return [
    sign + whole.slice(0, first),
    ...whole
      .slice(first)
      .match(/\d{3}/g)
      .map((three) => element("span", { class: "thousands" }, three)),
    rest,
  ];
}

// cells returns the values of a row as elements.
export const cells = (row, columns) =>
  row.map((cell, i) =>
    cell === null
      ? element("td", { class: columns[i].number ? "null number" : "null" }, "NULL")
      : element(
          "td",
          { class: columns[i].number ? "number" : "", title: cell.length > 40 ? cell : null },
          ...(columns[i].number ? marked(cell) : [cell]),
        ),
  );

// heads returns the names and types of columns as elements.
export const heads = (columns) =>
  element(
    "thead",
    {},
    element(
      "tr",
      {},
      ...columns.map((c) =>
        element(
          "th",
          { scope: "col", class: c.number ? "number" : "" },
          c.name,
          element("small", { class: "dim" }, c.type),
        ),
      ),
    ),
  );

const pageRows = 100;

// sorting is how the rows of a result are ordered, as addresses of the server have it.
export const sorting = { column: -1, descending: false, run: 0 };

export const orderOf = () => (sorting.column < 0 ? "" : `&sort=${sorting.column}&descending=${sorting.descending}`);

let last = null; // request that is under way

// showRows shows the first page of a run's result.
export function showRows(run) {
  Object.assign(sorting, { column: -1, descending: false, run: run.id });
  $("rows").replaceChildren();
  if (!run.result) {
    $("pager").replaceChildren("The server does not keep this result any more: run the statement again.");
    return;
  }
  return showPage(run, 0);
}

async function showPage(run, offset) {
  last?.abort();
  last = new AbortController();
  $("rows").setAttribute("aria-busy", "true");
  const said = $("status").textContent;
  const late = setTimeout(() => {
    $("status").textContent = "Sorting. The view Runs shows how far, and cancels.";
  }, 500);
  let page;
  try {
    page = await call(`results/${run.id}?offset=${offset}&limit=${pageRows}${orderOf()}`, undefined, last.signal);
  } catch (e) {
    if (e.name === "AbortError") return;
    throw e;
  } finally {
    clearTimeout(late);
    if ($("status").textContent.startsWith("Sorting")) $("status").textContent = said;
  }
  const focus = document.activeElement?.dataset?.focus; // a button that is about to be replaced
  pager(run, offset);
  table(run, page);
  $("rows").setAttribute("aria-busy", "false");
  if (focus) document.querySelector(`[data-focus="${focus}"]`)?.focus();
}

const guard = (promise) =>
  promise.catch((e) => {
    $("place").textContent = e.message;
  });

function pager(run, offset) {
  const { rows } = run.result,
    end = Math.max(0, Math.floor((rows - 1) / pageRows) * pageRows);
  const button = (text, label, to) =>
    element(
      "button",
      {
        "aria-label": label,
        "data-focus": label,
        disabled: to === offset || to < 0 || to > end,
        onclick: () => guard(showPage(run, to)),
      },
      text,
    );
  const go = element("input", {
    type: "number",
    min: 1,
    max: rows,
    value: offset + 1,
    "aria-label": "First row",
    size: 8,
  });
  go.addEventListener("change", () => {
    const row = Math.min(Math.max(Number(go.value) || 1, 1), rows) - 1;
    guard(showPage(run, Math.floor(row / pageRows) * pageRows));
  });
  const file = (format, name) =>
    element("a", { href: `api/results/${run.id}/file?format=${format}${orderOf()}`, download: "" }, name);
  $("pager").replaceChildren(
    button("«", "First page", 0),
    button("‹", "Page before", offset - pageRows),
    "rows",
    go,
    `to ${counted(Math.min(offset + pageRows, rows))} of ${counted(rows)}`,
    button("›", "Next page", offset + pageRows),
    button("»", "Last page", end),
    element(
      "span",
      {},
      "Take all: ",
      file("csv", "CSV"),
      ", ",
      file("parquet", "Parquet"),
      ", ",
      file("arrows", "Arrow"),
    ),
  );
}

function table(run, page) {
  const { columns } = run.result;
  const heads = columns.map((c, i) => {
    const mine = sorting.column === i,
      direction = mine ? (sorting.descending ? "descending" : "ascending") : "none";
    const sort = () => {
      // ascending, descending, then as the rows came
      if (!mine) Object.assign(sorting, { column: i, descending: false });
      else if (!sorting.descending) sorting.descending = true;
      else Object.assign(sorting, { column: -1, descending: false });
      guard(showPage(run, 0));
    };
    return element(
      "th",
      { scope: "col", "aria-sort": direction, class: c.number ? "sorts number" : "sorts" },
      element(
        "button",
        { onclick: sort, "data-focus": "sort " + i, title: `Sort by ${c.name}` },
        `${c.name} ${mine ? (sorting.descending ? "▼" : "▲") : ""}`,
        element("small", { class: "dim" }, c.type),
      ),
    );
  });
  const rows = page.cells.map((row, n) =>
    element("tr", {}, element("td", { class: "count" }, counted(page.offset + n + 1)), ...cells(row, columns)),
  );
  $("rows").replaceChildren(
    element("caption", { class: "hidden" }, plural(page.rows, "row")),
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        element("th", { scope: "col", class: "count" }, element("span", { class: "hidden" }, "Row")),
        ...heads,
      ),
    ),
    element("tbody", {}, ...rows),
  );
}

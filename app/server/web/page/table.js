// The view of a table: its first rows, and what is in its columns.
import { $, call, counted, element, finished, plural, seconds } from "./api.js";
import { cells, heads } from "./rows.js";

const firstRows = 20;
const bins = 20; // of a histogram
const commonMax = 8; // common values of a column
const columnsMax = 40; // columns with a histogram

const quoted = (name) => '"' + name.replaceAll('"', '""') + '"';

// selectAll is a statement that reads a table.
export const selectAll = (name) => `SELECT * FROM ${quoted(name)} LIMIT 100`;

// showTable shows a table, until the signal is aborted, which ends what is still asked.
export async function showTable(signal, name) {
  const view = $("view-table"),
    rows = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "First rows" }),
    columns = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Columns" }),
    said = element("p", { class: "dim", role: "status" });
  view.replaceChildren(
    element("h2", {}, name),
    element(
      "p",
      { class: "tools" },
      element(
        "button",
        {
          class: "primary",
          onclick: () => document.dispatchEvent(new CustomEvent("edit", { detail: selectAll(name) })),
        },
        "Query it",
      ),
    ),
    said,
    columns,
    element("h2", {}, "First rows"),
    rows,
  );
  const ask = async (text, limit) => {
    const run = await finished(text, signal, (run) => {
      said.textContent = `${run.progress?.phase ?? run.state}, ${seconds(run.elapsed)}. Another view cancels it.`;
    });
    const page = await call(`results/${run.id}?limit=${limit}`, undefined, signal);
    call(`results/${run.id}/drop`, {}).catch(() => {}); // the server keeps few results, for the editor
    return { columns: run.result.columns, cells: page.cells };
  };
  try {
    const first = await ask(`SELECT * FROM ${quoted(name)} LIMIT ${firstRows}`, firstRows);
    rows.append(
      element(
        "table",
        { class: "rows" },
        heads(first.columns),
        element("tbody", {}, ...first.cells.map((row) => element("tr", {}, ...cells(row, first.columns)))),
      ),
    );
    const summary = await ask(`SUMMARIZE ${quoted(name)}`, 1000);
    const figures = summary.cells.map((row) => Object.fromEntries(row.map((v, i) => [summary.columns[i].name, v])));
    columns.append(summaryTable(figures));
    const text = histograms(name, figures);
    if (text) draw(columns, (await ask(text, 1000)).cells, figures);
    said.textContent = `${plural(Number(figures[0]?.count ?? 0), "row")}, ${plural(figures.length, "column")}`;
  } catch (e) {
    if (signal.aborted) return;
    said.className = "error";
    said.textContent = e.message;
  }
}

const summaryTable = (figures) =>
  element(
    "table",
    { class: "rows summary" },
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ...["Column", "Values", "Least", "Greatest", "Distinct", "NULL", "Mean", "Median"].map((n, i) =>
          element("th", { scope: "col", class: i > 3 ? "number" : "" }, n),
        ),
      ),
    ),
    element(
      "tbody",
      {},
      ...figures.map((f, i) =>
        element(
          "tr",
          {},
          element("td", {}, f.column_name, element("small", { class: "dim" }, f.column_type)),
          element("td", { "data-values": i }),
          ...[f.min, f.max].map((v) => element("td", { title: v }, v ?? "")),
          element("td", { class: "number" }, "≈ " + counted(Number(f.approx_unique))),
          element("td", { class: "number" }, f.null_percentage === "0.00" ? "" : `${f.null_percentage} %`),
          ...[f.avg, f.q50].map((v) => element("td", { class: "number" }, short(v))),
        ),
      ),
    ),
  );

// short writes a figure with few digits, and a time without parts of a second.
const short = (v) => (v === null ? "" : /^-?\d+\.\d{4,}$/.test(v) ? Number(v).toPrecision(6) : v.replace(/(:\d\d)\.\d+/, "$1"));

// place is a number that a value is at: of a date its seconds since 1970, of others that are no number NaN.
function place(value, type) {
  if (value === null || value === "") return NaN;
  if (!/^(DATE|TIMESTAMP)/.test(type)) return Number(value);
  return Date.parse(value.replace(" ", "T").replace(/[+-]\d\d(:\d\d)?$/, "") + (value.includes(":") ? "Z" : "")) / 1000;
}

const isNumber = (type) => /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|U?INTEGER|DOUBLE|FLOAT|REAL|DECIMAL\(.*\))$/.test(type);
const isTime = (type) => /^(DATE|TIMESTAMP)/.test(type) && !type.includes("[");
const isText = (type) => /^(VARCHAR|BOOLEAN|TIME|UUID|ENUM)/.test(type) && !isTime(type) && !type.includes("[");

// histograms returns a statement with the number of rows by parts of numbers and dates, and by the common values of
// others; "" where no column has any. Keys are numbers: a name such as b may be a column's, too.
function histograms(table, figures) {
  const parts = [];
  figures.slice(0, columnsMax).forEach((f, i) => {
    const column = quoted(f.column_name),
      type = f.column_type,
      low = place(f.min, type),
      width = (place(f.max, type) - low) / bins;
    if (isText(type)) {
      if (Number(f.approx_unique) > Number(f.count) / 2 && Number(f.count) > commonMax) return;
      parts.push(
        `(SELECT ${i} AS c, CAST(NULL AS BIGINT) AS b, CAST(${column} AS VARCHAR) AS v, count(*) AS n FROM ${quoted(table)} ` +
          `WHERE ${column} IS NOT NULL GROUP BY 3 ORDER BY 4 DESC, 3 LIMIT ${commonMax})`,
      );
    } else if ((isNumber(type) || isTime(type)) && width > 0 && Number.isFinite(width)) {
      const x = isTime(type) ? `epoch(${column})` : `CAST(${column} AS DOUBLE)`;
      parts.push(
        `SELECT ${i} AS c, CAST(greatest(least(floor((${x} - CAST('${low}' AS DOUBLE)) / CAST('${width}' AS DOUBLE)), ${bins - 1}), 0) ` +
          `AS BIGINT) AS b, CAST(NULL AS VARCHAR) AS v, count(*) AS n FROM ${quoted(table)} WHERE ${column} IS NOT NULL GROUP BY 2`,
      );
    }
  });
  return parts.join("\nUNION ALL ");
}

// draw draws a histogram in the row of each column that has one.
function draw(columns, found, figures) {
  figures.forEach((f, i) => {
    const mine = found.filter((row) => Number(row[0]) === i);
    if (!mine.length) return;
    const common = mine[0][2] !== null;
    const list = common
      ? mine.map((row) => ({ name: row[2], n: Number(row[3]) })).sort((a, b) => b.n - a.n)
      : Array.from({ length: bins }, (_, b) => ({ n: Number(mine.find((row) => Number(row[1]) === b)?.[3] ?? 0) }));
    const most = Math.max(...list.map((l) => l.n));
    const about = list.slice(0, 3).map((l) => `${l.name}: ${share(l.n, f)}`);
    const picture = element(
      "span",
      {
        class: "histogram",
        role: "img",
        "aria-label": common ? `Common values: ${about.join(", ")}` : `Rows from ${f.min} to ${f.max}`,
      },
      ...list.map((l) => {
        const bar = element("i", { title: `${l.name === undefined ? "" : l.name + ": "}${plural(l.n, "row")}` });
        bar.style.height = `${l.n ? Math.max(4, (100 * l.n) / most) : 0}%`;
        return bar;
      }),
    );
    columns
      .querySelector(`[data-values="${i}"]`)
      .append(picture, common ? element("small", { class: "dim" }, about.slice(0, 2).join(", ")) : "");
  });
}

const share = (n, f) => `${((100 * n) / Number(f.count)).toFixed(1)} %`;

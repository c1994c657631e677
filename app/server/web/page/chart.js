// The chart of a result: the server draws it, and this asks for which columns, and how.
import { call, element, picture } from "./api.js";
import { orderOf } from "./rows.js";

// showChart shows a chart of a run's result: at first of the first column that is no number, and the first
// that is.
export async function showChart(panel, run) {
  panel.replaceChildren();
  const columns = run.result?.columns ?? [],
    numbers = columns.map((c, i) => i).filter((i) => columns[i].number);
  if (!numbers.length || columns.length < 2) {
    panel.replaceChildren(element("p", { class: "dim" }, "A chart needs two columns, and numbers in one of them."));
    return;
  }
  const dates = columns.findIndex((c) => c.date),
    texts = columns.findIndex((c) => !c.number);
  const first = dates >= 0 ? dates : texts >= 0 ? texts : numbers[0];
  const choice = {
    kind: columns[first].date || columns[first].number ? "line" : "bar",
    x: first,
    y: [numbers.find((i) => i !== first)],
  };
  const place = element("figure", { class: "chart", "aria-live": "polite" });
  const draw = async () => {
    const y = choice.y.map((i) => "&y=" + i).join("");
    if (!y) return place.replaceChildren("Choose a column of numbers.");
    try {
      place.replaceChildren(
        ...drawn(await call(`results/${run.id}/chart?kind=${choice.kind}&x=${choice.x}${y}${orderOf()}`), run, choice),
      );
    } catch (e) {
      place.replaceChildren(element("p", { class: "error", role: "alert" }, e.message));
    }
  };
  const select = (label, value, options, change) => {
    const s = element(
      "select",
      {},
      ...options.map(([v, name]) => element("option", { value: v, selected: v === value }, name)),
    );
    s.addEventListener("change", () => {
      change(s.value);
      draw();
    });
    return element("label", {}, label + " ", s);
  };
  const box = (i) => {
    const input = element("input", { type: "checkbox", checked: choice.y.includes(i) });
    input.addEventListener("change", () => {
      choice.y = input.checked ? [...choice.y, i].slice(-8) : choice.y.filter((other) => other !== i);
      draw();
    });
    return element("label", {}, input, " ", columns[i].name);
  };
  panel.append(
    element(
      "div",
      { class: "tools" },
      select(
        "Chart",
        choice.kind,
        [
          ["bar", "bars"],
          ["line", "lines"],
          ["scatter", "points"],
        ],
        (v) => {
          choice.kind = v;
        },
      ),
      select(
        "of",
        choice.x,
        columns.map((c, i) => [i, c.name]),
        (v) => {
          choice.x = Number(v);
        },
      ),
      element("fieldset", {}, element("legend", {}, "Numbers"), ...numbers.map(box)),
    ),
    place,
  );
  await draw();
}

// drawn returns the picture of a chart, and its values as a table for who does not see pictures.
function drawn({ picture: svg, note, values }, run, choice) {
  const names = [choice.x, ...choice.y].map((i) => run.result.columns[i].name);
  return [
    picture(svg),
    element("figcaption", { class: "dim" }, note),
    element(
      "details",
      {},
      element("summary", {}, "The values as a table"),
      element(
        "div",
        { class: "scroll" },
        element(
          "table",
          { class: "rows" },
          element("thead", {}, element("tr", {}, ...names.map((n) => element("th", { scope: "col" }, n)))),
          element(
            "tbody",
            {},
            ...values.map((row) =>
              element("tr", {}, ...row.map((v, i) => element("td", { class: i ? "number" : "" }, v ?? "NULL"))),
            ),
          ),
        ),
      ),
    ),
  ];
}

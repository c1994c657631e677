// The chart of a result: the server draws it, and this asks for which columns, and how.
import { call, element, picture } from "./api.js";
import { orderOf } from "./rows.js";

// choiceOf returns what a chart shows at first: of a date, or of the first key, the first number, and where there is a
// second key of text, a colour for each of its values.
function choiceOf(columns, numbers) {
  const dates = columns.findIndex((c) => c.date),
    texts = columns.map((c, i) => i).filter((i) => !columns[i].number && !columns[i].date);
  let x = dates >= 0 ? dates : (texts[0] ?? numbers[0]);
  if (dates < 0 && numbers[0] === 0 && texts.length && numbers.length > 1) x = 0; // a key of numbers, then of texts
  return {
    kind: columns[x].date || columns[x].number ? "line" : "bar",
    x,
    by: texts.find((i) => i !== x) ?? -1,
    y: [numbers.find((i) => i !== x)],
  };
}

// showChart shows a chart of a run's result.
export async function showChart(panel, run) {
  panel.replaceChildren();
  const columns = run.result?.columns ?? [],
    numbers = columns.map((c, i) => i).filter((i) => columns[i].number);
  if (!numbers.length || columns.length < 2) {
    panel.replaceChildren(element("p", { class: "dim" }, "A chart needs two columns, and numbers in one of them."));
    return;
  }
  const choice = choiceOf(columns, numbers);
  const place = element("figure", { class: "chart", "aria-live": "polite" });
  const draw = async () => {
    const y = choice.y.map((i) => "&y=" + i).join(""),
      by = choice.by < 0 ? "" : "&by=" + choice.by;
    if (!y) return place.replaceChildren("Choose a column of numbers.");
    try {
      place.replaceChildren(
        ...drawn(await call(`results/${run.id}/chart?kind=${choice.kind}&x=${choice.x}${by}${y}${orderOf()}`), run, choice),
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
  const boxes = new Map();
  const check = () => boxes.forEach((input, i) => (input.checked = choice.y.includes(i)));
  const box = (i) => {
    const input = element("input", { type: "checkbox", checked: choice.y.includes(i) });
    boxes.set(i, input);
    input.addEventListener("change", () => {
      choice.y = input.checked ? [...choice.y, i].slice(choice.by < 0 ? -8 : -1) : choice.y.filter((other) => other !== i);
      check();
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
      select(
        "colour",
        choice.by,
        [[-1, "each number"], ...columns.map((c, i) => [i, c.name]).filter(([i]) => !columns[i].number)],
        (v) => {
          choice.by = Number(v);
          if (choice.by >= 0) choice.y = choice.y.slice(-1); // the values of one number
          check();
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
  const names = [choice.x, ...(choice.by < 0 ? [] : [choice.by]), ...choice.y].map((i) => run.result.columns[i].name);
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
              element("tr", {}, ...row.map((v, i) => element("td", { class: i >= names.length - choice.y.length ? "number" : "" }, v ?? "NULL"))),
            ),
          ),
        ),
      ),
    ),
  ];
}

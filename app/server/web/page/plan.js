// A plan as a tree that one can fold: operators, what each did, and on demand how it is planned.
import { element } from "./api.js";

// parse reads the text of a plan: an operator a line, its properties below it, and its inputs below these, deeper.
function parse(text) {
  const above = []; // the operators from the first one down to the latest
  for (const line of text.split("\n")) {
    const [, before, rest] = /^([│├└─ ]*)(.*)$/.exec(line);
    if (!rest) continue;
    if (!above.length || /[├└]/.test(before)) {
      const one = { name: rest, properties: [], inputs: [] },
        depth = before.length / 3;
      above.length = depth;
      above.at(-1)?.inputs.push(one);
      above.push(one);
    } else above.at(-1).properties.push(rest);
  }
  return above[0];
}

// what a run did stands in the plan as properties that begin so
const didIt = /^ran(?:, ([^:]+))?: /;

// planTree returns a plan as elements.
export function planTree(text) {
  const root = parse(text);
  return root ? element("ul", { class: "plan" }, operator(root)) : element("p", { class: "dim" }, "There is no plan.");
}

function operator({ name, properties, inputs }) {
  const [, kind, of] = /^([^:]*)(.*)$/s.exec(name);
  const did = properties.filter((p) => didIt.test(p)),
    planned = properties.filter((p) => !didIt.test(p));
  const head = [
    element("b", {}, kind),
    of,
    ...did.map((p) => element("span", { class: "did" }, p.replace(didIt, (_, what) => (what ? what + ": " : "")))),
  ];
  return element(
    "li",
    {},
    element(
      "details",
      { open: true },
      element("summary", {}, ...head),
      planned.length
        ? element(
            "details",
            { class: "planned" },
            element("summary", {}, "How it is planned"),
            element("ul", {}, ...planned.map((p) => element("li", {}, p))),
          )
        : null,
      inputs.length ? element("ul", {}, ...inputs.map(operator)) : null,
    ),
  );
}

// What can be written at a place of a statement.

// nameText writes a name as a statement needs it: in quotes, where it is no plain word.
export const nameText = (name) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : '"' + name.replaceAll('"', '""') + '"');

const offersMax = 50;

// offersFor returns the completions of a word: what is likely first. A string takes none.
export function offersFor(before, word, text, { keywords, functions, tables }) {
  if ((before.match(/'/g)?.length ?? 0) % 2) return [];
  const start = word.toLowerCase(),
    behindFrom = /\bfrom\s+\w*$/i.test(before);
  const read = tables.filter((t) => new RegExp(`(^|\\W)${escaped(t.name)}(\\W|$)`, "i").test(text));
  const list = [],
    seen = new Set();
  const add = (name, text, help) => {
    if (!name.toLowerCase().startsWith(start) || seen.has(text)) return;
    seen.add(text);
    list.push({ name, text, help });
  };
  const addTables = () => tables.forEach((t) => add(t.name, nameText(t.name), "table"));
  const addColumns = (of) =>
    of.forEach((t) => t.columns.forEach((c) => add(c.name, nameText(c.name), `${c.type.toLowerCase()} of ${t.name}`)));
  if (behindFrom) {
    addTables();
    return list.slice(0, offersMax);
  }
  addColumns(read);
  for (const k of keywords) add(k, lowerLike(word) ? k.toLowerCase() : k, "");
  addTables();
  for (const f of functions) add(f.name, f.name + "(", f.aggregate ? f.help : `${f.usage}: ${f.help}`);
  if (!read.length) addColumns(tables);
  return list.slice(0, offersMax);
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

// lowerLike says whether a word is written in small letters.
const lowerLike = (word) => word !== "" && word === word.toLowerCase();

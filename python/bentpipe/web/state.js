// The scenario is a text and changes of single values in it; `last` is what the last run gave.
let base = { name: known.first, text: scenarios.get(known.first).text }, changes = new Map(), last = null, kept = null;
const shippedText = () => scenarios.get(base.name)?.text === base.text;
const change = (key, value) => {
  // The last change of a key counts, and one of a whole table replaces those inside it.
  for (const other of [...changes.keys()]) if (other === key || other.startsWith(`${key}.`)) changes.delete(other);
  changes.set(key, value);
  ask();
};

// Another text takes the place of the text and its changes.
const rewrite = (name, text) => { base = { name, text }; changes = new Map(); ask(); };
// Removes an item of the text.
const remove = key => ask([[key, null]]);
const choose = name => rewrite(name, scenarios.get(name).text);

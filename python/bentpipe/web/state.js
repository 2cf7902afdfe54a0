// The scenario is a text and changes of single values in it; `last` is what the last run gave.
let base = { name: known.first, text: scenarios.get(known.first).text }, changes = new Map(), last = null, kept = null;
const shippedText = () => scenarios.get(base.name)?.text === base.text;
// The last change of a key counts, and one of a whole table replaces those inside it. Without a value (null) the key
// is removed, which no link and no command can say: the text of the next answer then is the new text.
const change = (key, value) => {
  for (const other of [...changes.keys()]) if (other === key || other.startsWith(`${key}.`)) changes.delete(other);
  changes.set(key, value);
  ask();
};
const remove = key => change(key, null);
const lasting = () => [...changes].filter(([, value]) => value !== null);
const removes = given => given.some(([, value]) => value === null);
// The answer to changes that remove something. Changes that came meanwhile stay.
const settle = (given, answer) => {
  for (const [key, value] of given) if (changes.get(key) === value && (answer.tree || value === null)) changes.delete(key);
  if (answer.tree) base = { name: base.name, text: answer.text };
  remember();
};

// Another text takes the place of the text and its changes.
const rewrite = (name, text) => { base = { name, text }; changes = new Map(); ask(); };
const choose = name => { sayDrop(true); rewrite(name, scenarios.get(name).text); };

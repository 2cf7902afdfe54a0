// The JSON Schema of scenarios, which the module has. It begins as null, and is there soon after the first run.
let schema = null;
const readSchema = async () => {
  const module = await wasm, unused = WebAssembly.Module.imports(module).map(({ name }) => [name, () => -1]);
  const { exports: c } = await WebAssembly.instantiate(module, { page: Object.fromEntries(unused) }), size = c.schema();
  return JSON.parse(new TextDecoder().decode(new Uint8Array(c.memory.buffer, c.output(), size)));
};
const followed = ({ $ref, ...own }) => $ref ? { ...followed(schema.$defs[$ref.slice(8)]), ...own } : own;
const is = (one, type) => [one.type].flat().includes(type);
// What a key may be: schemas without alternatives. Null is none of them: a key is absent instead.
const alternatives = one => {
  const { anyOf, oneOf, ...own } = followed(one), some = anyOf ?? oneOf;
  return some ? some.filter(other => other.type !== "null").flatMap(alternatives) : [own];
};
const isTable = one => is(one, "object");
const isTables = one => is(one, "array") && one.items && alternatives(one.items).some(isTable);
// The words that it may be: names, or true and false.
const wordsOf = one => one.const !== undefined ? [one.const] : one.enum ?? (is(one, "boolean") ? [true, false] : null);
const kindOf = one => one.properties?.kind?.const;
const membersOf = one => one["x-order"] ?? Object.keys(one.properties ?? {}).filter(name => name !== "kind");
// Is the value of this kind, and not only of this type?
const fits = (one, value) => {
  if (Array.isArray(value)) return is(one, "array") && !!isTables(one) === value.some(item => typeof item === "object" && !Array.isArray(item));
  if (typeof value === "object") return isTable(one) && (kindOf(one) !== undefined ? kindOf(one) === value.kind : (one.required ?? []).every(name => name in value));
  const words = wordsOf(one);
  return words ? words.includes(value) : is(one, typeof value) || (typeof value === "number" && is(one, "integer"));
};
// What a kind begins with beside the examples of its required keys: one of several that it needs, or one that shows.
const STARTS = {
  "packet-error": { rate: 0.001 }, "bit-error": { rate: 1e-7 }, "gilbert-elliott": { p: 0.001, r: 0.25 }, "bernoulli-burst": { rate: 0.001 },
  outage: { every: "15 s", length: "100 ms" }, "short-flows": { per_second: 2 }, "on-off": { on: "5 s" }, requests: { think: "5 s" },
};
// A value that is allowed there. What means the same in the table `before` stays.
const exampleOf = (one, before) => {
  const [first] = alternatives(one), own = { ...first, ...one };
  if (isTable(first)) {
    const { required = [], properties } = first, old = Object.entries(before?.value ?? {});
    const kept = old.filter(([name]) => name !== "kind" && properties[name] && (name === "limit" || properties[name].description === before.of.properties?.[name]?.description));
    return { ...Object.fromEntries(required.map(name => [name, own.examples?.[0]?.[name] ?? exampleOf(properties[name])])), ...STARTS[kindOf(first)], ...Object.fromEntries(kept) };
  }
  return own.examples?.[0] ?? own.default ?? wordsOf(first)?.[0] ?? own.minimum ?? (is(first, "array") ? [] : Object.keys(known.files)[0]);
};
// Its first sentence, and what it is if it is absent.
const plainText = (text = "") => text.replace(/\s+/g, " ").replace(/`([^`]*)`/g, "“$1”");
const firstSentence = text => plainText(text).match(/^.+?[.?](?= [A-Z“"]|$)|^.+/)?.[0] ?? "";
const otherwise = one => {
  const said = /\b(?:Default:? |(?=Paper ))(.+?)\.(?= |$)/.exec(plainText(one.description))?.[1];
  return one.default !== undefined && typeof one.default !== "object" ? yes(one.default) : said?.split(/[:;] /)[0].replaceAll('"', "");
};
const yes = value => value === true ? "yes" : value === false ? "no" : String(value);
// The words of the choice that leaves a key out. A long default is in the description.
const LONGEST_DEFAULT = 26;
const defaultWords = (one, none) => { const usual = otherwise(one) ?? none; return usual === undefined || usual.length > LONGEST_DEFAULT ? "default" : `default: ${usual}`; };
const longDefault = one => (otherwise(one) ?? "").length > LONGEST_DEFAULT ? ` Default: ${otherwise(one)}.` : "";

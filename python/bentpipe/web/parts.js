// Elements of the page, and the lists that it carries.
const { Chart, all } = globalThis.bentpipe, by = id => document.getElementById(id);
const node = (tag, given = {}, ...inside) => {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(given)) key in made ? (made[key] = value) : made.setAttribute(key, value);
  made.append(...inside);
  return made;
};
const known = JSON.parse(new TextDecoder().decode(await unpacked("known")));
const controllers = new Map(known.controllers.map(one => [one.id, one]));
const scenarios = new Map(known.scenarios.map(one => [one.name, one]));

// Elements of the page, and the lists that it carries.
const { Chart, all, node } = globalThis.bentpipe, by = id => document.getElementById(id);
const known = JSON.parse(new TextDecoder().decode(await unpacked("known")));
const controllers = new Map(known.controllers.map(one => [one.id, one]));
const scenarios = new Map(known.scenarios.map(one => [one.name, one]));

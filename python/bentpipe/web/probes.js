// The numbers inside a controller, as a chart of one probe of one flow. They are sampled by a run of their own.
const probeFigure = by("chart-probe"), probeChart = new Chart(probeFigure, { x: TIME, y: axis("value"), curves: [none], linked: true });
probeChart.height = () => 260;
// By flow and probe, [times, values].
let probed = new Map(), probedRun = null;
const drawProbe = () => {
  const flow = by("probe-flow").value, name = by("probe-name").value, rows = probed.get(flow)?.get(name);
  if (!rows) return;
  const i = last.names.indexOf(flow);
  probeChart.update({ x: { ...TIME, most: last.plan.duration_s }, y: axis(name), curves: [curve(`${flow}: ${name}`, colours(last)[i] ?? NEUTRAL, ...rows)], linked: true });
  all.set(probeFigure, probeChart);
  probeChart.start();
};
const offerProbes = () => {
  const before = by("probe-name").value, names = [...probed.get(by("probe-flow").value)?.keys() ?? []];
  by("probe-name").replaceChildren(...names.map(name => node("option", { selected: name === before }, name)));
  drawProbe();
};
const loadProbes = async () => {
  if (!by("probes").open || !last || probedRun === last) return;
  const of = probedRun = last;
  by("probe-said").textContent = "Simulating.";
  try {
    const rows = new TextDecoder().decode(await fileOf({ what: "probes", even: true })).split("\n").slice(1, -1);
    if (of !== last) return;
    probed = new Map();
    for (const row of rows) {
      const [, t, given, name, value] = /^([^,]*),("(?:[^"]|"")*"|[^,]*),([^,]*),(.*)$/.exec(row), flow = given.startsWith('"') ? given.slice(1, -1).replaceAll('""', '"') : given;
      const flows = probed.get(flow) ?? probed.set(flow, new Map()).get(flow), one = flows.get(name) ?? flows.set(name, [[], []]).get(name);
      one[0].push(+t);
      one[1].push(Number.isFinite(+value) && value !== "" ? +value : null);
    }
    const before = by("probe-flow").value;
    by("probe-flow").replaceChildren(...[...probed.keys()].map(flow => node("option", { selected: flow === before }, flow)));
    by("probe-said").textContent = probed.size ? "" : "No controller of this run exposes numbers.";
    probeFigure.hidden = !probed.size;
    offerProbes();
  } catch (error) { probedRun = null; by("probe-said").textContent = error.message; }
};
by("probes").addEventListener("toggle", loadProbes);
by("probe-flow").addEventListener("change", offerProbes);
by("probe-name").addEventListener("change", drawProbe);

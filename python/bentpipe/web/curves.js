// The charts: curves of each flow, queues, and the limits of the path.
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F7F7F", "#8C564B"];
// Limits have a colour that no controller has.
const LIMIT = "#8A5A2B", NEUTRAL = "#7F7F7F", MOST_CURVES = 8;

const curve = (label, colour, x, y, more = {}) => ({ label, colour, kind: "line", marker: "o", dashes: [], x, y, ...more });
const none = curve("no flow", NEUTRAL, [], []);
const axis = label => ({ label, log: false, names: [], least: 0, most: null });
const TIME = { ...axis("time, s") };
const LABELS = { goodput: "goodput, Mbit/s", cwnd: "congestion window, segments", rtt: "smoothed RTT, ms", queue: "queue, packets" };
const charts = Object.entries(LABELS).map(([name, label]) => {
  const figure = by(`chart-${name}`), drawn = new Chart(figure, { x: TIME, y: axis(label), curves: [none], linked: true });
  drawn.height = () => 260;
  all.set(figure, drawn);
  drawn.start();
  return [name, label, drawn];
});

// Colours of flows: that of the controller, unless an earlier flow has it.
const colours = answer => {
  const used = new Set();
  return answer.names.map((_, i) => {
    const own = controllers.get(String(writtenCc(answer, i) ?? "").toLowerCase())?.colour.toUpperCase();
    const found = [own, ...COLOURS].find(one => one && !used.has(one)) ?? COLOURS[i % COLOURS.length];
    used.add(found);
    return found;
  });
};

const draw = () => {
  const shown = name => [last, kept].filter(Boolean).flatMap(run => {
    const { flows } = run.samples, colour = colours(run), before = run === kept;
    const longest = [...flows].filter(([i]) => !run.plan.flows[i]?.is_short).sort(([, a], [, b]) => b.bytes.at(-1) - a.bytes.at(-1)).slice(0, MOST_CURVES).sort(([a], [b]) => a - b);
    const more = before ? { dashes: [2, 2] } : {}, label = i => flowLabel(run, run.names[i]) + (before ? ", kept" : "");
    return longest.map(([i, one]) => curve(label(i), colour[i], one.t, one[name], more));
  });
  const { limits, links, bottleneck } = last.samples, { plan } = last, room = plan.directions[bottleneck];
  const limit = (label, y) => curve(label, LIMIT, limits.t, y, { kind: "steps", dashes: [5, 3] });
  const queues = [last, kept].filter(Boolean).flatMap((run, n) => run.report.links.flatMap((link, i) => {
    if (!link.data_flows || !run.samples.links.has(i)) return [];
    const one = run.samples.links.get(i), crossed = run.report.links.filter(other => other.data_flows).length;
    const label = (crossed > 1 ? `${link.name}/${link.direction}` : `before ${link.name}`) + (n ? ", kept" : "");
    return [curve(label, COLOURS[i % COLOURS.length], one.t, one.queue, n ? { dashes: [2, 2] } : {})];
  }));
  const packets = room.queue_packets ?? Math.floor(room.queue_bytes / (last.samples.first.packet_bytes || 1500));
  const highest = Math.max(0, ...links.get(bottleneck).queue);
  const full = packets <= 4 * highest ? [curve("room", LIMIT, [0, plan.duration_s], [packets, packets], { dashes: [5, 3] })] : [];
  const of = {
    goodput: [...shown("goodput"), limit("capacity", limits.capacity)],
    cwnd: [...shown("cwnd"), limit("bandwidth × delay", limits.window)],
    rtt: [...shown("rtt"), limit("propagation", limits.propagation)],
    queue: [...queues, ...full],
  };
  const bands = plan.directions.flatMap(one => one.outages_s), marks = plan.directions.flatMap(one => one.handovers_s).filter(at => at <= plan.duration_s);
  const x = { ...TIME, most: plan.duration_s };
  for (const [name, label, drawn] of charts)
    drawn.update({ x, y: axis(label), curves: of[name].length ? of[name] : [none], linked: true, bands, marks: marks.length > 200 ? [] : [...new Set(marks)] });
};

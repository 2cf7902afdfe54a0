// The tables of flows and links, and the run that is kept beside the next.
// With this many columns rows become blocks sooner where there is no room, as in reports (pages/page.py).
const MANY = 7;
const table = (heads, groups) => node("div", { className: heads.length >= MANY ? "wide many" : "wide" }, node("table", {},
  node("thead", {}, node("tr", {}, ...heads.map(head => node("th", { scope: "col" }, head)))),
  ...groups.map(([kind, rows]) => node("tbody", { className: kind }, ...rows.map(([first, ...rest]) =>
    node("tr", {}, node("th", { scope: "row" }, first), ...rest.map((cell, i) => node("td", { className: "number", "data-head": heads[i + 1] }, cell))))))));
// Each connection once, as `result.each_once`: behind a relay a flow is where its data arrives.
const PARTS = ["first", "subflow"];
const eachOnce = flows => flows.filter(flow => !PARTS.includes(flow.half) || flow.name.endsWith("/there"));
// Jain's index of the goodputs of a report; null for one flow.
const jainOf = report => {
  const goodputs = eachOnce(report.flows).map(flow => flow.goodput_bps), squares = goodputs.reduce((a, b) => a + b * b, 0);
  return goodputs.length > 1 && squares ? sumOf(goodputs) ** 2 / goodputs.length / squares : null;
};
const sumOf = values => values.reduce((a, b) => a + b, 0);
const dash = value => value === null || value === undefined ? "-" : value;
// The two largest shares of a flow's life, by what held its sender back.
const LIMITED = { handshake: "handshake", cwnd: "cwnd", rwnd: "receive window", app: "no data", pacing: "pacing", recovery: "recovery", timeout: "timeout" };
const limits = shares => Object.entries(shares).sort(([, a], [, b]) => b - a).slice(0, 2).filter(([, part]) => part >= 0.005).map(([what, part]) => `${LIMITED[what] ?? what} ${Math.round(100 * part)} %`).join(", ") || "-";
const flowRows = (run, before) => run.report.flows.map(flow => {
  const sent = flow.sent_packets;
  return [flowLabel(run, flow.name) + (before ? ", kept" : ""), ownLabel(ccIn(run, flow)), digits(flow.goodput_bps / 1e6), dash(flow.rtt_p50_s && digits(flow.rtt_p50_s * 1e3)),
    dash(flow.rtt_p95_s && digits(flow.rtt_p95_s * 1e3)), sent ? digits(100 * flow.retransmitted_packets / sent) : "-", String(flow.timeouts), limits(flow.limited), dash(flow.completion_s && time(flow.completion_s))];
});
const linkRows = (run, before) => run.report.links.map(link => [`${link.name}/${link.direction}${before ? ", kept" : ""}`, rate(link.rate_bps), digits(100 * link.utilisation),
  link.dropped_queue.toLocaleString("en"), link.dropped_error.toLocaleString("en"), digits(link.queue_mean_packets), link.queue_max_packets.toLocaleString("en")]);
const summarise = () => {
  const groups = rows => [["", rows(last, false)], ...(kept ? [["kept", rows(kept, true)]] : [])];
  const index = jainOf(last.report), sum = sumOf(eachOnce(last.report.flows).map(flow => flow.goodput_bps));
  const jain = index === null ? "" : `Together ${rate(sum)}; Jain's index ${index.toFixed(3)}. `;
  by("summary").replaceChildren(
    table(["Flow", "Controller", "Goodput, Mbit/s", "RTT, median, ms", "RTT, 95 %, ms", "Sent again, %", "Timeouts", "Limited by", "Complete after"], groups(flowRows)),
    node("p", { className: "small soft" }, `${jain}One run with seed ${last.report.seed}: other seeds give other numbers.`),
    table(["Link", "Rate", "In use, %", "Dropped by the queue", "Lost", "Queue, mean, packets", "Queue, most"], groups(linkRows)));
};

by("keep").addEventListener("click", () => {
  if (!last) return;
  kept = kept ? null : last;
  by("keep").textContent = kept ? "Drop the kept run" : "Keep beside the next run";
  if (last) { draw(); summarise(); }
});

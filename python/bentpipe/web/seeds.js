// The scenario with several seeds: means and intervals of each flow. A change of the scenario takes them away.
const SEED_HEADS = ["Flow", "Goodput, Mbit/s", "RTT, median, ms", "RTT, 95 %, ms", "Sent again, %", "Timeouts", "Complete after, s"];
const seedCells = flows => [
  spread(flows.map(flow => flow.goodput_bps / 1e6)), spread(flows.map(flow => flow.rtt_p50_s && flow.rtt_p50_s * 1e3)), spread(flows.map(flow => flow.rtt_p95_s && flow.rtt_p95_s * 1e3)),
  spread(flows.map(flow => flow.sent_packets ? 100 * flow.retransmitted_packets / flow.sent_packets : null), 100), spread(flows.map(flow => flow.timeouts)), spread(flows.map(flow => flow.completion_s)),
];
// Runs them all, with their progress and a button that stops in a place; `shown` gives what stands there afterwards.
const runInto = (place, button, requests, shown) => {
  const said = node("span", { role: "status" }, `0 of ${requests.length} runs.`), stop = node("button", { type: "button" }, "Stop");
  const end = (...what) => { button.disabled = false; place.replaceChildren(...what); };
  const pool = runMany(requests, {
    progress: done => { said.textContent = `${done} of ${requests.length} runs.`; },
    failed: message => end(node("pre", { className: "banner bad" }, message)),
    done: answers => end(...shown(answers.map(answer => answer.report))),
  });
  const clear = () => { pool.stop(); end(); };
  stop.addEventListener("click", () => { clear(); place.replaceChildren(node("p", { className: "soft" }, "Stopped.")); });
  button.disabled = true;
  place.replaceChildren(node("p", {}, said, " ", stop));
  return clear;
};
let clearSeeds = () => {};
by("repeat").addEventListener("click", () => {
  if (!last) return;
  clearSeeds();
  const count = Number(by("seeds").value), first = Number(last.report.seed);
  const requests = Array.from({ length: count }, (_, k) => ({ text: last.text, name: `${base.name}.toml`, samples: 1, changes: [["seed", String(first + k)]] }));
  clearSeeds = runInto(by("seeds-result"), by("repeat"), requests, reports => {
    const rows = reports[0].flows.map((flow, i) => [flowLabel(last, flow.name), ...seedCells(reports.map(report => report.flows[i]))]);
    const alike = reports.every(report => JSON.stringify({ ...report, seed: 0 }) === JSON.stringify({ ...reports[0], seed: 0 })), jain = spread(reports.map(jainOf), 1);
    const words = alike ? `All ${count} runs are alike: nothing is random in this scenario.`
      : `Means of ${count} runs with seeds ${first} to ${first + count - 1}, with 95 % intervals by Student's t.${jain === "-" ? "" : ` Jain's index ${jain}.`}`;
    return [table(SEED_HEADS, [["", rows]]), node("p", { className: "small soft" }, words)];
  });
});

// The samples of a run as columns of each connection and of each direction, and the limits of the first path.
const sampled = (answer, columns) => {
  const [nf, nl] = answer.rows, { plan } = answer;
  const column = (i, of, from) => columns.subarray(from + i * of, from + (i + 1) * of);
  const [t, flow, cwnd, , srtt, delivered] = [0, 1, 2, 3, 4, 5].map(i => column(i, nf, 0));
  const [lt, link, queue, bps, delay] = [0, 1, 2, 3, 4].map(i => column(i, nl, 6 * nf));
  const flows = new Map(), links = new Map();
  const finite = x => Number.isFinite(x) ? x : null;
  for (let k = 0; k < nf; k++) {
    let one = flows.get(flow[k]);
    if (!one) flows.set(flow[k], one = { t: [], cwnd: [], rtt: [], bytes: [] });
    one.t.push(t[k]); one.cwnd.push(finite(cwnd[k])); one.rtt.push(Number.isFinite(srtt[k]) ? srtt[k] * 1e3 : null); one.bytes.push(delivered[k]);
  }
  for (let k = 0; k < nl; k++) {
    let one = links.get(link[k]);
    if (!one) links.set(link[k], one = { t: [], queue: [], bps: [], delay: [] });
    one.t.push(lt[k]); one.queue.push(queue[k]); one.bps.push(bps[k]); one.delay.push(delay[k]);
  }
  for (const one of flows.values()) {
    const step = one.t.length > 1 ? one.t[1] - one.t[0] : 1, back = Math.max(1, Math.round(Math.max(1, 4 * step) / step));
    one.goodput = one.bytes.map((bytes, k) => k < back ? (k ? bytes * 8e-6 / (one.t[k] - one.t[0]) : null) : (bytes - one.bytes[k - back]) * 8e-6 / (one.t[k] - one.t[k - back]));
  }
  const first = plan.flows.find(one => !one.is_short) ?? plan.flows[0], limits = { t: [], capacity: [], propagation: [], window: [] };
  const times = links.get(0)?.t ?? [];
  for (let k = 0; k < times.length; k++) {
    const capacity = Math.min(...first.path.map(id => links.get(id).bps[k]));
    // In an outage, which the charts show, there is no limit to be drawn.
    const up = capacity > 0, rtt = [...first.path, ...first.ack_path].reduce((sum, id) => sum + links.get(id).delay[k], first.access_s);
    limits.t.push(times[k]); limits.capacity.push(up ? capacity / 1e6 : null); limits.propagation.push(rtt * 1e3);
    limits.window.push(up && first.packet_bytes ? capacity * rtt / 8 / first.packet_bytes : null);
  }
  // The direction of the path with the least capacity has the queue that counts.
  const bottleneck = first.path.reduce((least, id) => plan.directions[id].rate_bps < plan.directions[least].rate_bps ? id : least, first.path[0]);
  return { flows, links, limits, first, bottleneck };
};

// The path as a line from sender to receiver, its lengths to the scale of the propagation delay, with the queues
// before its links and the packets on it.
const KIND = { ack: 1, resent: 2, sack: 4, control: 8, marked: 16 };
const HOW = { arrived: 0, error: 1, handover: 2, full: 3, early: 4, flushed: 5, inside: 6 };
const LOST = "#D2222D", DOT = 2.5;

// The stretches of the path of connection `f`: for each place of a packet where its queue and its flight are.
const stretches = (plan, f, wide) => {
  const flow = plan.flows[f], count = plan.directions.length, host = wide < 500 ? 14 : 62;
  const alike = plan.flows.map((one, i) => [one, i]).filter(([one]) => String(one.path) === String(flow.path) && String(one.ack_path) === String(flow.ack_path));
  const access = Math.max(...alike.map(([one]) => one.access_s / 2)), hop = i => ({ i, delay: plan.directions[i].delay_s });
  const there = [...(access ? [{ i: -1, delay: access }] : []), ...flow.path.map(hop)], back = [...flow.ack_path.map(hop), ...(access ? [{ i: -1, delay: access }] : [])];
  const links = Math.max(flow.path.length, flow.ack_path.length), room = Math.max(13, Math.min(40, wide * 0.22 / (2 * links)));
  const total = Math.max(...[there, back].map(hops => hops.reduce((sum, one) => sum + one.delay, 0))) || 1e-9;
  const inner = wide - 2 * host - 2 * room * links, of = new Map(), lanes = [];
  for (const [hops, reverse] of [[there, false], [back, true]]) {
    let x = host;
    for (const one of hops) {
      const long = Math.max(12, inner * one.delay / total), queue = one.i < 0 ? 0 : room;
      const at = { ...one, reverse, room: queue, queue: x, x0: x + queue, x1: x + queue + long, drawn: 1 };
      x = at.x1 + queue;
      if (reverse) for (const key of ["queue", "x0", "x1"]) at[key] = wide - at[key];
      if (one.i >= 0) of.set(one.i, at);
      else alike.forEach(([, k]) => of.set(count + 3 * k + (reverse ? 1 : 0), at));
      lanes.push(at);
    }
  }
  // Dots that would merge are thinned: of the packets that a bottleneck lets through, every n-th is drawn.
  const slowest = flow.path.reduce((least, i) => plan.directions[i].rate_bps < plan.directions[least].rate_bps ? i : least, flow.path[0]);
  const gap = (flow.packet_bytes || 1500) * 8 / plan.directions[slowest].rate_bps;
  for (const at of lanes) {
    const apart = at.delay ? Math.abs(at.x1 - at.x0) * gap / at.delay : DOT;
    at.drawn = apart >= DOT ? 1 : 2 ** Math.ceil(Math.log2(DOT / apart));
    at.size = Math.min(5, Math.max(1.5, 0.6 * apart * at.drawn));
  }
  return { of, lanes, host, wide, f };
};

const cross = (to, x, y, r) => { to.moveTo(x - r, y - r); to.lineTo(x + r, y + r); to.moveTo(x - r, y + r); to.lineTo(x + r, y - r); };

// Draws the packets at `t`, and returns what is to be seen. `look` has colours, slots of flows, the plan.
const drawScene = (canvas, data, t, linger, look) => {
  const [to, wide, tall] = fitted(canvas), { plan, colour, slot, slots, f } = look, path = look.path?.wide === wide && look.path.f === f ? look.path : look.path = stretches(plan, f, wide);
  const soft = ink("--soft"), line = ink("--line"), dark = ink("--ink"), tank = Math.min(86, tall * 0.3), y = [tall / 2 - 22, tall / 2 + 22];
  const seen = { waiting: new Map(), data: 0, acks: 0, resent: 0, lost: 0, aside: 0, thin: Math.max(...path.lanes.map(at => at.drawn)) };
  to.textBaseline = "middle";
  to.fillStyle = dark;
  if (path.host > 20) {
    to.textAlign = "left"; to.fillText("Sender", 2, tall / 2);
    to.textAlign = "right"; to.fillText("Receiver", wide - 2, tall / 2);
  }
  for (const at of path.lanes) {
    const way = at.reverse ? 1 : 0, of = plan.directions[at.i], out = of?.outages_s.some(([a, b]) => t >= a && t < b);
    to.strokeStyle = out ? LOST : line; to.lineWidth = 2; to.setLineDash(out ? [4, 5] : []);
    to.beginPath(); to.moveTo(at.x0, y[way]); to.lineTo(at.x1, y[way]); to.stroke(); to.setLineDash([]);
    to.fillStyle = out ? LOST : soft; to.textAlign = "center";
    const now = of && look.moving(at.i, t), long = Math.abs(at.x1 - at.x0), name = !of ? "access" : out ? `${of.link}: outage` : of.link;
    const words = out || !of ? [name] : [`${name}: ${rate(now.bps)}, ${time(now.delay)}`, name];
    const fits = words.find(one => to.measureText(one).width < long - 8);
    if (fits) to.fillText(fits, (at.x0 + at.x1) / 2, y[way] + (way ? 20 : -20));
    if (!of) continue;
    const left = Math.min(at.queue, at.x0), edge = way ? y[1] - 6 : y[0] + 6 - tank;
    at.level = 0;
    at.most = of.queue_packets ?? Math.max(1, Math.floor(of.queue_bytes / (plan.flows[f].packet_bytes || 1500)));
    at.edge = edge;
    to.strokeStyle = soft; to.lineWidth = 1; to.strokeRect(left + 1.5, edge + 0.5, at.room - 3, tank);
  }
  const crosses = [], rings = [], waits = [];
  let brush = "";
  data.each(t, linger, (part, k) => {
    const at = path.of.get(part.place[k]);
    if (!at) { if (part.end[k] >= t) seen.aside++; return; }
    const { end, how, kind } = { end: part.end[k], how: part.how[k], kind: part.kind[k] }, way = at.reverse ? 1 : 0;
    const lost = how >= HOW.error && how <= HOW.flushed, flow = part.flow[k], lane = y[way] + (slot(flow) - (slots - 1) / 2) * Math.min(7, 28 / slots);
    const begin = part.begin[k], sent = part.sent[k], out = part.out[k];
    if (end < t) {
      if (!lost) return;
      seen.lost++;
      const fresh = 1 - (t - end) / linger, fell = how >= HOW.full;
      const x = fell ? (at.queue + at.x0) / 2 : at.x0 + (at.x1 - at.x0) * Math.min(1, Math.max(0.02, (end - sent) / (out - sent) || 0));
      crosses.push([x, fell ? (way ? at.edge + tank + 6 + 10 * (1 - fresh) : at.edge - 6 - 10 * (1 - fresh)) : lane, 3 + 3 * fresh, fresh]);
      return;
    }
    if (!(begin <= t)) { at.level++; waits.push([at, part.number[k], flow, kind]); return; }
    if (kind & KIND.ack) seen.acks++; else seen.data++;
    if (kind & KIND.resent) seen.resent++;
    const share = t < sent ? 0 : (t - sent) / (out - sent) || 0, x = at.x0 + (at.x1 - at.x0) * Math.min(1, share);
    if (kind & KIND.resent) { rings.push([x, lane, flow, Math.min(5, Math.max(2, at.size / at.drawn))]); return; }
    if (part.number[k] % at.drawn && !(kind & KIND.control) && !lost) return;
    if (colour(flow) !== brush) to.fillStyle = to.strokeStyle = brush = colour(flow);
    if (kind & KIND.control) { to.lineWidth = 1.5; to.strokeRect(x - 3, lane - 4, 6, 8); }
    else if (kind & KIND.sack) { to.fillRect(x - at.size / 2, lane - 6, at.size, 4); to.fillRect(x - at.size / 2, lane + 2, at.size, 4); }
    else if (kind & KIND.ack) to.fillRect(x - at.size / 2, lane - 2.5, at.size, 5);
    else to.fillRect(x - at.size / 2, lane - 6, at.size, 12);
    if (kind & KIND.marked) { to.fillStyle = "#E69F00"; to.fillRect(x - 2, lane - 9, 4, 3); brush = ""; }
  });
  // Packets that wait are stacked in the order in which they came; the next to be sent is nearest to the line.
  waits.sort((a, b) => a[1] - b[1]);
  const risen = new Map();
  brush = "";
  for (const [at, , flow, kind] of waits) {
    const n = risen.get(at) ?? 0, high = tank / Math.max(at.most, at.level, 1), low = (n + 1) * high;
    risen.set(at, n + 1);
    const tint = kind & KIND.resent ? dark : colour(flow);
    if (tint !== brush) to.fillStyle = brush = tint;
    to.fillRect(Math.min(at.queue, at.x0) + 3, at.reverse ? at.edge + n * high : at.edge + tank - low, at.room - 6, high > 3 ? high - 1 : high);
  }
  to.fillStyle = soft; to.textAlign = "center";
  for (const at of path.lanes.filter(one => one.i >= 0)) {
    if (at.level) seen.waiting.set(at.i, [at.level, at.most]);
    to.fillText(wide < 500 ? String(at.level) : `${at.level} of ${at.most}`, Math.min(wide - 24, Math.max(24, (at.queue + at.x0) / 2)), at.reverse ? at.edge + tank + 22 : at.edge - 22);
  }
  for (const [x, lane, flow, r] of rings) {
    to.fillStyle = colour(flow); to.strokeStyle = dark; to.lineWidth = r > 3 ? 1.5 : 0.6;
    to.beginPath(); to.moveTo(x, lane - 9); to.lineTo(x + r, lane); to.lineTo(x, lane + 9); to.lineTo(x - r, lane); to.closePath(); to.fill(); to.stroke();
  }
  to.strokeStyle = LOST; to.lineWidth = 2;
  for (const [x, lane, r, fresh] of crosses) { to.globalAlpha = Math.max(0.15, fresh); to.beginPath(); cross(to, x, lane, r); to.stroke(); }
  to.globalAlpha = 1;
  return seen;
};

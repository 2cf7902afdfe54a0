// What the simulator has recorded for the player: packets at directions and states of senders, of one span of
// time. The run goes on as the player asks; going back before the span begins it again, with the same bits.
const PACKET = ["enter", "begin", "sent", "out", "end", "flow", "place", "number", "segment", "kind", "how"];
const SENDER = ["t", "flow", "cwnd", "ssthresh", "flight", "srtt", "phase"];
// Rows of an answer, and answers that are kept: 600 000 packets are 32 MB.
const MOST_ROWS = 60000, MOST_PARTS = 10, MOST_STATES = 40000;
const below = (times, n, t) => { let low = 0, high = n; while (low < high) { const mid = (low + high) >> 1; if (times[mid] <= t) low = mid + 1; else high = mid; } return low; };
const recording = (given, flows, changed, failed) => {
  let thread = aside(), parts = [], states = new Map(), from = 0, complete = -1, over = false, busy = 0, wanted = null;
  const keep = ({ answer, columns }) => {
    const [n, m] = answer.rows, part = { n, longest: 0, latest: 0 };
    PACKET.forEach((name, i) => {
      const column = columns.subarray(i * n, (i + 1) * n), kind = i < 5 ? Float64Array : i < 9 ? Uint32Array : Uint8Array;
      part[name] = kind.from(column);
    });
    for (let k = 0; k < n; k++) {
      const end = part.end[k];
      part.longest = Math.max(part.longest, end - part.enter[k]);
      part.latest = Math.max(part.latest, end);
    }
    if (n) parts.push(part);
    while (parts.length > MOST_PARTS) from = Math.max(from, Math.min(parts.shift().latest, parts[0].enter[0]));
    const rest = columns.subarray(PACKET.length * n), column = SENDER.map((_, i) => rest.subarray(i * m, (i + 1) * m));
    for (let k = 0; k < m; k++) {
      const f = column[1][k];
      let one = states.get(f);
      if (!one) states.set(f, one = Object.fromEntries(SENDER.map(name => [name, []])));
      SENDER.forEach((name, i) => one[name].push(column[i][k]));
      if (one.t.length > 2 * MOST_STATES) for (const name of SENDER) one[name] = one[name].slice(MOST_STATES);
    }
    complete = answer.complete_s;
    over = answer.is_over;
  };
  const go = async (start, until) => {
    const mine = ++busy, of = thread;
    try {
      const data = await of.ask("play", { start, until_s: until, most: MOST_ROWS }, part => changed(part));
      if (of !== thread || mine !== busy) return;
      if (data.answer.mistakes.length) throw new Error(data.answer.mistakes.join("\n"));
      keep(data);
    } catch (error) { if (of === thread) failed(error.message); return; }
    busy = 0;
    changed(null);
    if (wanted) { const next = wanted; wanted = null; want(...next); }
  };
  // The player shows `t` and soon `ahead`. `back` is how long before `t` it shows the past, if it must begin.
  const want = (t, ahead, back) => {
    const inside = complete >= 0 && t >= from && (t <= complete + Math.max(2, ahead - t) || over);
    if (busy) {
      if (!inside) wanted = [t, ahead, back];
      return;
    }
    if (!inside) {
      from = Math.max(0, t - back);
      parts = []; states = new Map(); complete = -1; over = false;
      go({ given, from_s: from, flows }, ahead);
    } else if (!over && complete < ahead) go(null, ahead);
  };
  return {
    want,
    has: t => complete >= 0 && t >= from && (t <= complete || over),
    get span() { return [from, complete, over]; },
    states,
    of: flow => states.get(flow),
    // Packets that are at a direction at `t`, or ended at most `linger` before.
    each(t, linger, visit) {
      for (const part of parts) {
        if (!part.n || part.enter[0] > t || part.latest < t - linger) continue;
        const first = t - linger - part.longest;
        for (let k = below(part.enter, part.n, t) - 1; k >= 0 && part.enter[k] >= first; k--)
          if (part.end[k] >= t - linger) visit(part, k);
      }
    },
    end() { thread.end(); thread = null; },
  };
};

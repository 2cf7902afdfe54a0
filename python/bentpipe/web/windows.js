// The windows of the senders over the last seconds before the shown time.
const PHASES = ["is not sending", "is in slow start", "is in congestion avoidance", "is in fast recovery", "is in timeout recovery", "follows its model of the path"];
const PHASE_COLOUR = [null, "#009E73", null, "#E69F00", LOST, null];
const stateAt = (one, t) => one ? below(one.t, one.t.length, t) - 1 : -1;

const drawWindows = (canvas, data, t, long, { watched, colour, f }) => {
  const [to, wide, tall] = fitted(canvas), left = 44, low = tall - 22, top = 8, from = Math.max(0, t - long);
  const soft = ink("--soft"), dark = ink("--ink"), x = at => left + (at - from) / long * (wide - left - 10);
  const steps = (one, name, visit) => {
    const last = stateAt(one, t), first = Math.max(0, stateAt(one, from)), stride = Math.max(1, Math.floor((last - first) / 1500));
    for (let k = first; k <= last; k += stride) visit(Math.max(from, one.t[k]), one[name][k]);
    if (last >= first) visit(t, one[name][last]);
  };
  let most = 4;
  for (const flow of watched) { const one = data.of(flow); if (one) steps(one, "cwnd", (_, value) => { most = Math.max(most, value); }); }
  const y = value => low - Math.min(1.02, value / (most * 1.08)) * (low - top);
  const line = (one, name, dashes, width) => {
    let open = false, before = 0;
    to.setLineDash(dashes); to.lineWidth = width; to.beginPath();
    steps(one, name, (at, value) => {
      if (!Number.isFinite(value)) { open = false; return; }
      if (open) to.lineTo(x(at), y(before)); else to.moveTo(x(at), y(value));
      to.lineTo(x(at), y(value));
      open = true; before = value;
    });
  };
  to.strokeStyle = ink("--grid"); to.fillStyle = soft; to.lineWidth = 1; to.textAlign = "right"; to.textBaseline = "middle";
  const unit = 10 ** Math.floor(Math.log10(most)), tick = most / unit < 2 ? unit / 2 : most / unit < 5 ? unit : 2 * unit;
  for (let value = 0; value <= most * 1.05; value += tick) {
    to.beginPath(); to.moveTo(left, y(value)); to.lineTo(wide - 10, y(value)); to.stroke();
    to.fillText(digits(value), left - 5, y(value));
  }
  const own = data.of(f);
  if (own) {
    let began = from, phase = 0;
    const band = until => { const tint = PHASE_COLOUR[phase]; if (tint && until > began) { to.globalAlpha = 0.22; to.fillStyle = tint; to.fillRect(x(began), top, x(until) - x(began), low - top); to.globalAlpha = 1; } };
    steps(own, "phase", (at, value) => { if (value !== phase) { band(at); began = at; phase = value; } });
    band(t);
    line(own, "flight", [], 1);
    to.lineTo(x(t), low); to.lineTo(x(Math.max(from, own.t[0])), low); to.closePath();
    to.globalAlpha = 0.25; to.fillStyle = colour(f); to.fill(); to.globalAlpha = 1;
  }
  for (const flow of watched) {
    const one = data.of(flow);
    if (!one) continue;
    to.strokeStyle = colour(flow);
    if (flow === f) { line(one, "ssthresh", [2, 4], 1.5); to.stroke(); }
    line(one, "cwnd", [], flow === f ? 2.2 : 1.3);
    to.stroke();
  }
  to.setLineDash([]); to.strokeStyle = dark; to.lineWidth = 1;
  to.beginPath(); to.moveTo(x(t), top); to.lineTo(x(t), low); to.stroke();
  to.fillStyle = soft; to.textAlign = "left"; to.textBaseline = "alphabetic";
  to.fillText(`${digits(from, 4)} s`, left, tall - 6);
  to.textAlign = "right";
  to.fillText(`${digits(from + long, 4)} s`, wide - 8, tall - 6);
};

// The controls: the pair, the projection, the clock, and what is said of the instant.
const SPEEDS = [1, 10, 60, 600], MOST_ROWS = 8, MOST_POINTS = 1000, MOST_MARKS = 200;
const steps = Math.ceil(known.duration_s / known.step_s - 1e-9), decimals = Math.max(1, Math.min(3, Math.ceil(-Math.log10(known.step_s))));
const state = { t: 0, a: 0, b: 1, playing: false };
let seen = [], frame = 0, ticked = 0, saidAt = 0;
const wholeSeconds = t => +t.toFixed(decimals);

const order = stations.map((_, i) => i).sort((i, k) => stations[i].name.localeCompare(stations[k].name));
for (const id of ["from", "to"]) by(id).append(...order.map(i => node("option", { value: i }, stations[i].name)));
by("speed").append(...SPEEDS.map(speed => node("option", { value: speed }, `${speed} ×`)));
by("speed").value = known.duration_s > 3600 ? 600 : known.duration_s > 600 ? 60 : 10;
Object.assign(by("time"), { max: known.duration_s, step: known.step_s });

// The delay of the pair over time, with its changes.
const chart = new Chart(by("delay"), { x: { label: "time, s", log: false, names: [], least: 0, most: known.duration_s }, y: { label: "one way, ms", log: false, names: [], least: null, most: null }, curves: [{ label: "delay", colour: "#DB3A77", kind: "line", marker: "o", dashes: [], x: [], y: [] }] });
all.set(by("delay"), chart);
chart.height = () => 220;
const drawChart = () => {
  const { a, b } = state, rows = rowsOf(a, b), stride = Math.ceil(steps / MOST_POINTS), x = [], y = [], marks = [], bands = [];
  for (let row = rows[0]; row < rows[1]; row++) {
    const nodes = nodesOf(a, b, row), begin = timeOf(row), end = row + 1 < rows[1] ? timeOf(row + 1) : known.duration_s;
    if (row > rows[0]) { marks.push(begin); x.push(begin); y.push(null); }
    if (!nodes) { bands.push([begin, end]); continue; }
    for (let step = pathStep[row]; step * known.step_s < end - 1e-9; step += stride) { x.push(step * known.step_s); y.push(1e3 * delayOf(nodes, step * known.step_s)); }
    x.push(end); y.push(1e3 * delayOf(nodes, end));
  }
  const label = `${stations[a].name} to ${stations[b].name}`;
  chart.update({ ...chart.given, curves: [{ ...chart.given.curves[0], label, x, y }], marks: marks.length > MOST_MARKS ? [] : marks, bands });
};
const moveHand = () => {
  if (!chart.u) return;
  if (!chart.hand?.isConnected) chart.u.over.append(chart.hand = node("div", { className: "hand" }));
  const at = chart.u.valToPos(state.t, "x");
  chart.hand.hidden = at < 0 || at > chart.u.over.clientWidth;
  chart.hand.style.left = `${at}px`;
};
chart.start();
by("delay").querySelector(".plot").addEventListener("click", event => {
  const box = chart.u.over.getBoundingClientRect(), t = chart.u.posToVal(event.clientX - box.left, "x");
  if (event.clientX >= box.left && event.clientX <= box.right) seek(t);
});

const fact = (name, value) => node("div", {}, node("dt", {}, name), node("dd", {}, value));
// The instant in words, and the most loaded links.
const say = (row, rows, path) => {
  const { t, a, b } = state, delay = path && delayOf(path, t), next = row + 1 < rows[1] ? timeOf(row + 1) : null;
  const facts = [fact("one way", path ? `${(1e3 * delay).toFixed(3)} ms` : "no path"), fact("links", path ? String(path.length - 1) : "-"), fact(path ? "next change" : "next path", next === null ? "none" : `at ${wholeSeconds(next)} s`)];
  const begin = load ? load.begin(t) : -1;
  if (load && path) {
    const busy = begin < 0 ? [0] : path.slice(1).map((one, i) => load.link(path[i], one)).map(link => link === undefined ? 0 : load.busy[begin + link]);
    facts.push(fact("busiest link", `${Math.max(...busy)} %`));
  }
  by("pair-head").textContent = `${stations[a].name} to ${stations[b].name}`;
  by("facts").replaceChildren(...facts);
  by("facts").setAttribute("aria-live", state.playing ? "off" : "polite");
  // Stations may relay.
  const via = path?.slice(1, -1), kind = via?.some(isStation) ? "" : via?.length > 1 ? "satellites " : "satellite ";
  by("over").textContent = path ? `Over ${kind}${via.map(one => kind ? nameOf(one).slice(10) : nameOf(one)).join(", ")}.` : "No satellite chain joins the two stations now.";
  if (load) sayLoads(begin);
  document.body.dataset.shown = JSON.stringify({ t, from: stations[a].name, to: stations[b].name, path, delay_s: delay, next_s: next });
};
const sayLoads = begin => {
  const links = begin < 0 ? [] : Array.from({ length: load.links }, (_, link) => link).filter(link => load.busy[begin + link] > 0);
  links.sort((i, k) => load.busy[begin + k] - load.busy[begin + i] || load.queue[begin + k] - load.queue[begin + i] || i - k);
  const name = link => {
    const from = load.from[link], to = load.to[link];
    const [sender, receiver] = [from, to - 1].map(one => one < 0 ? "" : nameOf(one).replace("satellite ", ""));
    return to ? `${sender} → ${receiver}` : isStation(from) ? `up from ${sender}` : `down from ${sender}`;
  };
  const cell = value => node("td", { className: "number" }, value);
  by("loaded").replaceChildren(...links.slice(0, MOST_ROWS).map(link => node("tr", {}, node("th", { scope: "row" }, name(link)),
    cell(String(load.busy[begin + link])), cell((load.queue[begin + link] / 10).toFixed(1)), cell(load.dropped[begin + link].toLocaleString("en")))));
  const [from, until] = begin < 0 ? [] : load.interval(state.t);
  by("loaded-said").textContent = begin < 0 ? "The load does not cover this time." : `From ${wholeSeconds(from)} s to ${wholeSeconds(until)} s; ${links.length.toLocaleString("en")} links are busy.`;
};

const draw = now => {
  frame = 0;
  if (state.playing) {
    state.t = Math.min(known.duration_s, state.t + Math.min(0.1, (now - ticked) / 1e3) * by("speed").value);
    ticked = now;
    if (state.t >= known.duration_s) pause();
  }
  const { t, a, b } = state, rows = rowsOf(a, b), row = rowAt(rows, t), path = nodesOf(a, b, row);
  seen = drawSky(by("sky"), t, { ends: [a, b], path, lasers: by("lasers").checked });
  by("time").value = t;
  by("now").textContent = `${t.toFixed(decimals)} s`;
  moveHand();
  if (!state.playing || now - saidAt > 200) { saidAt = now; say(row, rows, path); }
  if (state.playing) again();
};
const again = () => { frame ||= requestAnimationFrame(draw); };
const pause = () => { state.playing = false; by("play").textContent = "Play"; remember(); again(); };
const play = () => {
  if (state.t >= known.duration_s) state.t = 0;
  Object.assign(state, { playing: true }); ticked = performance.now(); by("play").textContent = "Pause";
  again();
};
const seek = t => { state.t = Math.max(0, Math.min(known.duration_s, Math.round(t / known.step_s) * known.step_s)); remember(); again(); };

// The pair, and a map turned to the middle of it.
const choose = (a, b) => {
  Object.assign(state, { a, b });
  by("from").value = a; by("to").value = b;
  const [one, other] = [a, b].map(i => place(FIRST + i, cubic(state.t))), [x, y, z] = one.map((km, i) => km + other[i]);
  Object.assign(view, { lon: Math.atan2(y, x) * DEGREES, lat: Math.max(-60, Math.min(60, Math.atan2(z, Math.hypot(x, y)) * DEGREES)) });
  if (!view.globe && view.zoom === 1) view.lon = 0;  // the whole map
  drawChart(); again();
};
// A station that is chosen twice changes places with the other.
const chosen = () => {
  const a = +by("from").value, b = +by("to").value;
  choose(...a !== b ? [a, b] : [state.b, state.a]);
  remember();
};
by("from").addEventListener("change", chosen);
by("to").addEventListener("change", chosen);
by("swap").addEventListener("click", () => { choose(state.b, state.a); remember(); });

// On a phone the flat map begins with two thirds of the longitudes.
const whole = () => !view.globe && innerWidth < 500 ? 1.5 : 1;
const project = globe => {
  view.globe = globe;
  view.zoom = whole();
  by("globe").setAttribute("aria-pressed", globe); by("flat").setAttribute("aria-pressed", !globe);
  by("sky").classList.toggle("flat", !globe);
  again();
};
by("globe").addEventListener("click", () => { project(true); choose(state.a, state.b); remember(); });
by("flat").addEventListener("click", () => { project(false); choose(state.a, state.b); remember(); });
const zoom = factor => { view.zoom = Math.max(1, Math.min(12, view.zoom * factor)); again(); };
by("nearer").addEventListener("click", () => zoom(1.4));
by("farther").addEventListener("click", () => zoom(1 / 1.4));
by("lasers").addEventListener("change", again);
by("play").addEventListener("click", () => state.playing ? pause() : play());
by("time").addEventListener("input", () => { state.t = +by("time").value; again(); });
by("time").addEventListener("change", () => remember());
// Turns by pixels; the point under the pointer stays there in the middle of the picture.
const turn = (dx, dy) => {
  const { scale } = projection(by("sky").clientWidth, by("sky").clientHeight), degrees = view.globe ? DEGREES / scale : 1 / scale;
  const lon = view.lon - dx * degrees;
  view.lon = lon - 360 * Math.round(lon / 360);
  view.lat = Math.max(-89, Math.min(89, view.lat + dy * degrees));
  again();
};
const keys = { ArrowLeft: () => turn(60, 0), ArrowRight: () => turn(-60, 0), ArrowUp: () => turn(0, 60), ArrowDown: () => turn(0, -60), "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), 0: () => { view.zoom = whole(); choose(state.a, state.b); } };
by("sky").addEventListener("keydown", event => {
  if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  keys[event.key]();
});
// Space plays wherever no control takes it.
addEventListener("keydown", event => {
  if (event.key !== " " || event.target.closest("button, input, select, summary, a, .plot")) return;
  event.preventDefault();
  by("play").click();
});

// The pointer: drags turn the map, and what is near it is named.
let held = null;
const point = event => {
  const box = by("sky").getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top, tip = by("tip");
  let best = null, least = event.pointerType === "touch" ? 24 : 12;
  // Stations are the last of the list, and go before satellites at the same place.
  for (const [one, px, py] of seen) { const far = Math.hypot(px - x, py - y) * (isStation(one) ? 0.7 : 1); if (far <= least) { least = far; best = [one, px, py]; } }
  tip.hidden = !best;
  if (!best) return;
  tip.textContent = nameOf(best[0]);
  Object.assign(tip.style, { left: `${Math.max(0, Math.min(best[1] + 10, box.width - tip.offsetWidth))}px`, top: `${Math.max(0, best[2] - tip.offsetHeight - 8)}px` });
};
by("sky").addEventListener("pointerdown", event => { held = [event.clientX, event.clientY]; by("sky").setPointerCapture(event.pointerId); });
by("sky").addEventListener("pointermove", event => {
  if (!held) return point(event);
  by("tip").hidden = true;
  turn(event.clientX - held[0], event.clientY - held[1]);
  held = [event.clientX, event.clientY];
});
by("sky").addEventListener("pointerup", event => { held = null; point(event); });
by("sky").addEventListener("pointercancel", () => { held = null; });
by("sky").addEventListener("pointerleave", event => { if (event.pointerType !== "touch") by("tip").hidden = true; });
by("sky").addEventListener("wheel", event => { if (event.ctrlKey) { event.preventDefault(); zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15); } }, { passive: false });

// The address keeps the pair, the instant and the projection.
const remember = () => {
  const words = new URLSearchParams({ from: stations[state.a].name, to: stations[state.b].name, t: wholeSeconds(state.t), ...view.globe ? {} : { map: "flat" } });
  history.replaceState(null, "", `#${words}`);
};
const recall = () => {
  const words = new URLSearchParams(location.hash.slice(1)), wrong = [];
  const station = (key, usual) => {
    const i = stations.findIndex(({ name }) => name === words.get(key));
    if (i < 0 && words.has(key)) wrong.push(words.get(key));
    return i < 0 ? usual : i;
  };
  const a = station("from", state.a), b = station("to", state.b);
  by("wrong").hidden = !wrong.length;
  by("wrong").textContent = `The address names ${wrong.join(" and ")}, which is no station of this page.`;
  const t = Number(words.get("t"));
  state.t = Number.isFinite(t) ? Math.max(0, Math.min(known.duration_s, t)) : 0;
  project(words.get("map") !== "flat");
  choose(...a !== b ? [a, b] : a ? [a, 0] : [0, 1]);
};
const ramp = () => { if (load) by("ramp").style.background = `linear-gradient(to right, ${Array.from({ length: 9 }, (_, i) => mixed(i / 8))})`; };
addEventListener("hashchange", recall);
darkly.addEventListener("change", () => { ramp(); again(); });
new ResizeObserver(again).observe(by("sky"));
ramp();
recall();

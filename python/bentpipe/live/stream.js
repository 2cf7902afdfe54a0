"use strict";
// Feeds the charts of a live page: the events of its server, kept for some minutes and drawn as they come
// (live/server.py gives them, live/board.py says what is drawn).
document.addEventListener("DOMContentLoaded", () => {
  const { Chart, all } = globalThis.bentpipe, by = id => document.getElementById(id);
  const plan = JSON.parse(by("plan").textContent), title = document.title, state = by("state");
  // Colours told apart by everyone (Okabe and Ito), as in pages/charts.py.
  const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F7F7F", "#8C564B"];
  const digits = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
  let t = [], columns = new Map(), kept = Infinity, now = {};
  let ended = null, lost = false, paused = false, waiting = false;

  const curve = (label, colour, x, y) => ({ label, colour, kind: "line", marker: "o", dashes: [], x, y });
  const none = curve("none now", "#7F7F7F", [], []);  // a chart has at least one

  const charts = plan.charts.map((chart, i) => {
    const figure = by(`chart-${i}`), axis = { log: false, names: [], least: null, most: null };
    const x = { ...axis, label: "time, s" }, y = { ...axis, label: chart.label, log: chart.log, least: chart.log ? null : 0 };
    const drawn = new Chart(figure, { x, y, curves: [none] });
    all.set(figure, drawn);
    drawn.start();
    return { ...chart, x, y, drawn };
  });

  // Every family has the same names: which of them are shown, with their colours, is decided once for all charts.
  const colours = new Map();
  const chosen = (prefix, from, most) => {
    const found = [];
    for (const [name, values] of columns) {
      if (!name.startsWith(prefix)) continue;
      let there = false;
      for (let k = from; k < t.length && !there; k++) there = values[k] !== null;
      if (there) found.push(name.slice(prefix.length));
    }
    if (found.length <= most) return [found, found.length];
    const size = new Map(found.map(label => {
      const values = columns.get((plan.rank || prefix) + label) || [];
      let sum = 0;
      for (let k = from; k < values.length; k++) sum += values[k] ?? 0;
      return [label, sum];
    }));
    const largest = new Set([...found].sort((a, b) => size.get(b) - size.get(a)).slice(0, most));
    return [found.filter(label => largest.has(label)), found.length];
  };
  const colour = labels => {
    for (const old of [...colours.keys()]) if (!labels.has(old)) colours.delete(old);
    for (const label of labels) if (!colours.has(label)) {
      const used = [...colours.values()];
      colours.set(label, COLOURS.find(one => !used.includes(one)) ?? COLOURS[colours.size % COLOURS.length]);
    }
  };

  const draw = () => {
    waiting = false;
    if (paused) return;
    const last = t.length ? t[t.length - 1] : 0, span = +by("last").value;
    let from = 0;
    while (from < t.length && t[from] < last - span) from++;
    const times = t.slice(from);
    const cut = (name, scale) => (columns.get(name) ?? new Array(t.length).fill(null)).slice(from).map(v => v === null ? null : v * scale);
    const families = charts.map(chart => chart.family && chosen(chart.family.prefix, from, chart.family.most));
    colour(new Set(families.flatMap(family => family ? family[0] : [])));
    let fewer = "";
    charts.forEach((chart, i) => {
      const line = (label, shade, y) => curve(label, shade, times, chart.log ? y.map(v => v > 0 ? v : null) : y);
      const curves = chart.family
        ? families[i][0].map(label => line(label, colours.get(label), cut(chart.family.prefix + label, chart.family.scale)))
        : chart.series.map((s, k) => line(s.label, s.colour || COLOURS[k % COLOURS.length], cut(s.name, s.scale)));
      if (chart.family && families[i][1] > curves.length) fewer = `The ${curves.length} largest of ${families[i][1]} are shown.`;
      chart.drawn.update({ x: { ...chart.x, least: times.length ? times[0] : 0 }, y: chart.y, curves: curves.length ? curves : [none] });
      // The point under the hand is found again.
      const { u } = chart.drawn;
      if (u.cursor.left >= 0) chart.drawn.point(u);
    });
    by("fewer").textContent = fewer;
    plan.readings.forEach((reading, i) => {
      const value = now[reading.name];
      document.querySelector(`[data-reading="${i}"]`).textContent =
        value === undefined ? "-" : digits.format(value * reading.scale) + (reading.unit ? " " + reading.unit : "");
    });
    document.body.dataset.rows = t.length;
    say();
  };
  const soon = () => { if (!waiting) { waiting = true; requestAnimationFrame(draw); } };

  const say = () => {
    const at = t.length ? `${digits.format(Math.round(t[t.length - 1]))} s` : "";
    const [is, words] = ended !== null ? ["ended", `The run has ended${at && ` after ${at}`}${ended && `: ${ended}`}.`]
      : lost ? ["lost", "The connection is lost; trying again."]
      : paused ? ["paused", "Paused; the numbers are still collected."]
      : t.length ? ["live", `Live, ${at}.`] : ["waiting", "Waiting for numbers."];
    state.dataset.is = is;
    // A screen reader hears of changes, not of every second.
    state.setAttribute("aria-live", is === "live" ? "off" : "polite");
    if (state.textContent !== words) state.textContent = words;
    document.title = is === "live" || is === "waiting" ? title : `${is}: ${title}`;
  };

  const trim = () => {
    let old = 0;
    while (old < t.length && t[old] < t[t.length - 1] - kept) old++;
    if (old < 20) return;  // not at every row
    t = t.slice(old);
    for (const [name, values] of columns) {
      const rest = values.slice(old);
      rest.some(v => v !== null) ? columns.set(name, rest) : columns.delete(name);
    }
  };
  const row = ([at, numbers]) => {
    t.push(at);
    for (const name in numbers) if (!columns.has(name)) columns.set(name, new Array(t.length - 1).fill(null));
    for (const [name, values] of columns) values.push(numbers[name] ?? null);
    now = numbers;
    trim();
  };

  const listen = () => {
    const events = new EventSource("events"), back = () => { if (lost) { lost = false; say(); } };
    events.addEventListener("open", back);
    events.addEventListener("history", said => {
      const given = JSON.parse(said.data);
      t = given.t;
      kept = given.kept_s;
      columns = new Map(Object.entries(given.columns));
      now = {};
      for (const [name, values] of columns) if (values.length && values[values.length - 1] !== null) now[name] = values[values.length - 1];
      soon();
    });
    events.addEventListener("row", said => { row(JSON.parse(said.data)); soon(); });
    events.addEventListener("end", said => {
      ended = JSON.parse(said.data);
      events.close();
      soon();
      say();
    });
    events.addEventListener("error", () => {
      if (ended !== null) return;
      lost = true;
      say();
      if (events.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
    });
  };

  const pause = to => {
    paused = to;
    by("pause").setAttribute("aria-pressed", to);
    by("pause").textContent = to ? "Go on" : "Pause";
    to ? say() : soon();
  };
  by("pause").addEventListener("click", () => pause(!paused));
  by("last").addEventListener("change", () => { if (paused) pause(false); soon(); });
  // The rows of a chart's data stand still while they are read.
  document.querySelectorAll(".data").forEach(data => data.addEventListener("toggle", () => { if (data.open && !paused) pause(true); }));
  listen();
});

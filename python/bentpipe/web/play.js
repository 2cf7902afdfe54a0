// The player: a clock over what is recorded of the shown run, and what moves and reads it.
const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10], FIRSTS = {
  "slow start ends": "slow start ends", full: "a full queue drops a packet", early: "the queue's rule drops a packet", error: "a packet is lost on the channel",
  flushed: "a handover empties the queue", handover: "a handover loses a packet", recovery: "a fast recovery begins", timeout: "the retransmission timer expires",
};
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let playing = false, shownAt = 0, stage = null, frame = 0, ticked = 0, toldAt = 0, drawTimes = [];
const speedOf = () => SPEEDS[by("play-speed").selectedIndex];
by("play-speed").append(...SPEEDS.map(one => node("option", {}, one < 1 ? `1/${Math.round(1 / one)} of real time` : one === 1 ? "real time" : `${one} times real time`)));

// What stays the same while one run is played.
const staged = () => {
  const { plan, samples } = last, of = colours(last), dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const some = [...samples.flows].sort(([, a], [, b]) => b.bytes.at(-1) - a.bytes.at(-1)).slice(0, MOST_CURVES).map(([i]) => i).sort((a, b) => a - b);
  const watched = some.length ? some : [0], place = new Map(watched.map((flow, i) => [flow, i]));
  const light = hex => parseInt(hex.slice(1, 3), 16) + parseInt(hex.slice(3, 5), 16) + parseInt(hex.slice(5, 7), 16) < 120;
  const look = {
    plan, f: watched[0], watched, slots: watched.length + (plan.flows.length > watched.length ? 1 : 0),
    colour: flow => place.has(flow) ? dark && light(of[flow]) ? ink("--ink") : of[flow] : NEUTRAL, slot: flow => place.get(flow) ?? watched.length,
    moving: (i, t) => {
      const direction = plan.directions[i], of = samples.links.get(i);
      if (!direction.moves || !of) return { bps: direction.rate_bps, delay: direction.delay_s };
      const k = Math.max(0, below(of.t, of.t.length, t) - 1);
      return { bps: of.bps[k], delay: of.delay[k] };
    },
  };
  const rtt = plan.flows[look.f].access_s + [...plan.flows[look.f].path, ...plan.flows[look.f].ack_path].reduce((sum, i) => sum + plan.directions[i].delay_s, 0);
  const long = Math.min(60, Math.max(2, 16 * rtt));
  const data = recording(shownScenario(), watched, part => {
    by("play-wait").textContent = part === null ? "" : `Simulating up to there: ${Math.round(100 * part)} %.`;
    if (part === null) again();
  }, said => { pause(); by("play-wait").textContent = said; });
  return { look, rtt, long, data, end: plan.duration_s, moments: [], survey: null };
};

// Draws the shown time; asks for what comes next.
const drawPlay = () => {
  const { data, look, long, rtt } = stage, speed = speedOf(), began = performance.now();
  data.want(shownAt, Math.min(stage.end, shownAt + Math.max(1.5 * speed, 0.5 * rtt, 0.05)), long);
  by("play-time").value = Math.round(2000 * shownAt / stage.end);
  by("play-at").textContent = `${shownAt.toFixed(speed < 0.1 ? 4 : 3)} s`;
  moveHands();
  if (!data.has(shownAt)) return false;
  stage.seen = drawScene(by("play-path"), data, shownAt, Math.max(0.7 * speed, 0.01 * rtt), look);
  drawWindows(by("play-windows"), data, shownAt, long, look);
  drawTimes.push(performance.now() - began);
  if (drawTimes.length > 240) drawTimes.shift();
  if (!playing || performance.now() - toldAt > 250) { toldAt = performance.now(); sayPlay(); }
  return true;
};

// The shown state in words.
const sayPlay = () => {
  const { data, look, seen } = stage, { plan, f } = look, one = data.of(f), k = stateAt(one, shownAt), segments = value => Number.isFinite(value) ? digits(value) : "none yet";
  const words = [`At ${shownAt.toFixed(3)} s:`];
  if (k >= 0) words.push(`${last.names[f]} ${PHASES[one.phase[k]]}; window ${segments(one.cwnd[k])} segments, threshold ${segments(one.ssthresh[k])}, in flight ${one.flight[k]}${Number.isFinite(one.srtt[k]) ? `, smoothed RTT ${time(one.srtt[k])}` : ""}.`);
  if (seen) {
    for (const [i, [level, most]] of seen.waiting) words.push(`${level} of ${most} packets wait before ${plan.directions[i].link}/${plan.directions[i].way}.`);
    words.push(`On the way: ${seen.data} of data${seen.resent ? `, ${seen.resent} of them sent again` : ""}, and ${seen.acks} acknowledgements.`);
    if (seen.lost) words.push(`Just lost: ${seen.lost}.`);
    if (seen.thin > 1) words.push(`So that marks do not merge, every ${seen.thin}${seen.thin % 10 === 2 && seen.thin % 100 !== 12 ? "nd" : "th"} packet is drawn, and all that are lost or sent again.`);
    if (seen.aside) words.push(`${seen.aside} packets are on directions that this path does not have.`);
  }
  for (const direction of plan.directions) {
    if (direction.outages_s.some(([a, b]) => shownAt >= a && shownAt < b)) words.push(`${direction.link}/${direction.way} has an outage.`);
    const handover = direction.handovers_s.findLast(at => at <= shownAt);
    if (handover !== undefined && shownAt - handover < stage.rtt) words.push(`${direction.link}/${direction.way} changed hands at ${digits(handover, 5)} s.`);
  }
  by("play-said").setAttribute("aria-live", playing ? "off" : "polite");
  by("play-said").textContent = words.join(" ");
  document.body.dataset.playing = JSON.stringify({ at: shownAt, span: data.span, draw: drawTimes.reduce((a, b) => a + b, 0) / drawTimes.length, seen: { ...seen, waiting: [...(seen?.waiting ?? [])] } });
};

// The hand at the shown time in every chart.
const moveHands = () => charts.forEach(([, , drawn]) => {
  if (!drawn.u) return;
  if (!drawn.hand?.isConnected) drawn.u.over.append(drawn.hand = node("div", { className: "hand" }));
  const at = drawn.u.valToPos(shownAt, "x");
  drawn.hand.hidden = !stage || at < 0 || at > drawn.u.over.clientWidth;
  drawn.hand.style.left = `${at}px`;
});

const again = () => { if (stage && !frame) frame = requestAnimationFrame(tick); };
const tick = now => {
  frame = 0;
  if (!stage) return;
  if (playing) {
    const [, complete, over] = stage.data.span, next = shownAt + Math.min(0.1, (now - ticked) / 1e3) * speedOf();
    if (stage.data.has(shownAt)) shownAt = Math.min(stage.end, over ? next : Math.min(next, complete));
    if (shownAt >= stage.end) pause();
  }
  ticked = now;
  drawPlay();
  if (playing) again();
};
const pause = () => { playing = false; by("play-go").textContent = "Play"; again(); };
const go = () => {
  if (shownAt >= stage.end) shownAt = 0;
  playing = true; ticked = performance.now(); by("play-go").textContent = "Pause";
  again();
};
const seek = t => { shownAt = Math.min(stage.end, Math.max(0, t)); again(); };

// What the run has to show, found by a run of its own that keeps no packets.
const survey = () => {
  const mine = stage.survey = aside();
  const { directions } = stage.look.plan, first = name => Math.min(...directions.flatMap(one => one[name]).map(one => one[0] ?? one));
  const offer = found => {
    const places = [["the start", 0], ...found, ["a handover", first("handovers_s")], ["an outage begins", first("outages_s")]].filter(([, at]) => at < stage.end).sort((a, b) => a[1] - b[1]);
    by("play-moments").replaceChildren(node("option", { value: "" }, "Look at the first time that …"), ...places.map(([words, at]) => node("option", { value: at }, `${digits(at, 4)} s: ${words}`)));
  };
  offer([]);
  mine.ask("play", { start: { given: shownScenario(), from_s: null, flows: stage.look.watched }, until_s: stage.end, most: MOST_ROWS }).then(({ answer }) => {
    if (stage?.survey === mine) offer(answer.moments.map(({ what, t_s }) => [FIRSTS[what], t_s]));
    mine.end();
  }, error => { if (stage?.survey === mine) by("play-wait").textContent = error.message; });
};
by("play-moments").addEventListener("change", event => {
  if (event.target.value === "") return;
  // A little before, so that it is seen to happen.
  seek(+event.target.value - (+event.target.value ? 0.08 * stage.rtt : 0));
  event.target.selectedIndex = 0;
});

const closePlay = () => { playing = false; stage?.data.end(); stage?.survey?.end(); stage = null; by("play").hidden = true; by("play-open").hidden = false; moveHands(); };
// Begins the play of the shown run, also when another run takes its place.
const openPlay = t => {
  const before = stage?.look.f;
  stage?.data.end(); stage?.survey?.end();
  by("play").hidden = false; by("play-open").hidden = true;
  stage = staged();
  const { watched } = stage.look;
  if (watched.includes(before)) stage.look.f = before;
  by("play-flow").replaceChildren(...watched.map(flow => node("option", { value: flow, selected: flow === stage.look.f }, last.names[flow])));
  by("play-flow").closest("label").hidden = watched.length < 2;
  drawTimes = [];
  seek(t);
  survey();
};
const renewPlay = () => { if (stage) openPlay(shownAt); };

by("play-open").addEventListener("click", () => {
  if (!last) return;
  openPlay(0);
  // A round trip takes about three seconds.
  by("play-speed").selectedIndex = Math.max(0, SPEEDS.findLastIndex(one => one <= Math.max(0.01, stage.rtt / 2.5)));
  by("play").scrollIntoView({ block: "nearest" });
  by("play-go").focus({ preventScroll: true });
  if (!calm.matches) go();
});
by("play-close").addEventListener("click", () => { closePlay(); by("play-open").focus(); });
by("play-go").addEventListener("click", () => playing ? pause() : go());
// A step is what a tenth of a second shows.
const step = by => { pause(); seek(shownAt + by * 0.1 * speedOf()); };
by("play-back").addEventListener("click", () => step(-1));
by("play-on").addEventListener("click", () => step(1));
by("play-time").addEventListener("input", event => seek(event.target.value / 2000 * stage.end));
by("play-flow").addEventListener("change", event => { stage.look.f = +event.target.value; again(); });
by("play-speed").addEventListener("change", again);
by("play").addEventListener("keydown", event => {
  const act = { " ": () => playing ? pause() : go(), ArrowLeft: () => step(-1), ArrowRight: () => step(1) }[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select") || (event.key === " " && event.target.matches("button:not(#play-go)"))) return;
  event.preventDefault();
  act();
});
addEventListener("resize", again);

// A click in a chart offers to play from there.
let pressed = 0;
charts.forEach(([, , drawn]) => {
  // Before uPlot, which keeps some of these events to itself.
  drawn.plot.addEventListener("mousedown", event => { pressed = event.clientX; }, true);
  drawn.plot.addEventListener("click", event => {
    const box = drawn.u?.over.getBoundingClientRect();
    if (!box || event.target.matches("button") || Math.abs(event.clientX - pressed) > 3 || event.clientX < box.left || event.clientX > box.right) return;
    const t = Math.max(0, drawn.u.posToVal(event.clientX - box.left, "x"));
    document.querySelectorAll(".from-here").forEach(old => old.remove());
    const offer = node("button", { type: "button", className: "from-here" }, `Play from ${digits(t, 4)} s`);
    offer.addEventListener("click", () => { offer.remove(); if (!stage) by("play-open").click(); seek(t); by("play").scrollIntoView({ block: "nearest" }); });
    drawn.u.over.append(offer);
    offer.style.left = `${Math.min(event.clientX - box.left, box.width - offer.offsetWidth)}px`;
    setTimeout(() => offer.remove(), 6000);
  }, true);
});

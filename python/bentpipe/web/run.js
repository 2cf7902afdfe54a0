// The run that the page shows. While it goes on, only the newest request waits; a long run is ended for it. A run
// that has ended without an answer gets one of its plan alone, so that the page shows the text that it had.
const SAMPLES = 600, LONG_MS = 700;
let worker = null, running = null, waiting = null, count = 0, ready = false, code = null;
const start = () => {
  worker?.end();
  ready = false;
  running = null;
  worker = thread(code, data => {
    if (data.ready) ready = true;
    else if (data.part !== undefined) {
      by("state").textContent = `Simulating: ${Math.round(100 * data.part)} %.`;
      by("stop").hidden = false;
      return;
    } else {
      const { asked, request, ended } = running;
      running = null;
      by("stop").hidden = true;
      if (removes(request.changes)) {
        settle(request.changes, data.answer);
        if (waiting) waiting.request = { ...waiting.request, ...requested() };
      }
      if (ended) data.answer.mistakes.push(...ended.mistakes);
      show(data, asked);
      if (ended) by("state").textContent = ended.words + (last ? " The charts show the run before." : "");
    }
    next();
  }, said => {
    const { ended } = running ?? waiting ?? {};
    if (ended) { // so even the plan fails
      wrong([...ended.mistakes, said]);
      by("state").textContent = ended.words;
      worker = running = waiting = null;
    } else if (ready && waiting) start();
    else end("This run has failed.", [said]);
  });
};
// Ends the present run, and the newest request gets the answer without a run. Code of the user that does not even
// begin would fail again at once, so it is left out.
const end = (words, mistakes) => {
  const newest = waiting ?? running;
  code = null;
  start();
  by("stop").hidden = true;
  waiting = newest && { ...newest, request: { ...newest.request, plan_only: true }, ended: { words, mistakes } };
};
const next = () => {
  if (!ready || running || !waiting) return;
  running = waiting;
  waiting = null;
  running.began = performance.now();
  worker.ask(++count, running.request);
};
const requested = () => ({ text: base.text, name: `${base.name}.toml`, changes: [...changes], samples: SAMPLES });
const ask = () => {
  clearSeeds();
  const request = requested(), now = ownCode(request);
  waiting = { request, asked: performance.now() };
  remember();
  sayOwn(request);
  sayFiles(request);
  if (worker === null || JSON.stringify(now) !== JSON.stringify(code) || (running && performance.now() - running.began > LONG_MS)) { code = now; start(); }
  next();
};
by("stop").addEventListener("click", () => end("Stopped.", []));

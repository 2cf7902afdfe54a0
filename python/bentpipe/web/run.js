// The run that the page shows. While it goes on, only the newest request waits; a long run is ended for it.
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
      const { asked, keeps } = running;
      running = null;
      by("stop").hidden = true;
      if (keeps) { base = { name: base.name, text: data.answer.text }; changes = new Map(); remember(); }
      show(data, asked);
    }
    next();
  }, said => {
    // Code that does not even begin would fail again at once.
    const began = ready;
    wrong([said]);
    by("state").textContent = "This run has failed.";
    by("stop").hidden = true;
    if (began || code === null) start(); else { worker = null; running = null; }
  });
};
const next = () => {
  if (!ready || running || !waiting) return;
  running = waiting;
  waiting = null;
  running.began = performance.now();
  worker.ask(++count, running.request);
};
// Asks for a run. `more` are changes that come after the others; what the module answers then is the new text.
const ask = (more = []) => {
  clearSeeds();
  const request = { text: base.text, name: `${base.name}.toml`, changes: [...changes, ...more], samples: SAMPLES }, now = ownCode(request);
  waiting = { request, asked: performance.now(), keeps: more.length > 0 };
  remember();
  sayOwn(request);
  if (worker === null || JSON.stringify(now) !== JSON.stringify(code) || (running && performance.now() - running.began > LONG_MS)) { code = now; start(); }
  next();
};
by("stop").addEventListener("click", () => { waiting = null; by("stop").hidden = true; by("state").textContent = "Stopped. The charts show the run before."; start(); });

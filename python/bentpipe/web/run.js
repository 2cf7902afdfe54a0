// The worker. While it simulates, only the newest request waits; a long run is ended for it.
const SAMPLES = 600, LONG_MS = 700;
const wasm = WebAssembly.compile(await unpacked("module"));
const source = URL.createObjectURL(new Blob([by("worker").textContent], { type: "text/javascript" }));
let worker = null, running = null, waiting = null, count = 0, ready = false;
const start = async () => {
  worker?.terminate();
  ready = false;
  running = null;
  const mine = worker = new Worker(source);
  mine.onmessage = ({ data }) => {
    if (mine !== worker) return;
    if (data.ready) ready = true;
    else if (data.part !== undefined) {
      by("state").textContent = `Simulating: ${Math.round(100 * data.part)} %.`;
      by("stop").hidden = false;
      return;
    } else {
      const { asked, keeps } = running;
      running = null;
      by("stop").hidden = true;
      if (data.failed) { failed(data.failed); return; }
      if (keeps) { base = { name: base.name, text: data.answer.text }; changes = new Map(); remember(); }
      show(data, asked);
    }
    next();
  };
  mine.onerror = event => { event.preventDefault(); failed(event.message); };
  mine.postMessage({ module: await wasm, files: known.files });
};
const failed = said => { wrong([said]); by("state").textContent = "This run has failed."; start(); };
const next = () => {
  if (!ready || running || !waiting) return;
  running = waiting;
  waiting = null;
  running.began = performance.now();
  worker.postMessage({ id: ++count, request: running.request });
};
const ask = () => {
  clearSeeds();
  const request = { text: base.text, name: `${base.name}.toml`, changes: [...changes], samples: SAMPLES };
  waiting = { request, asked: performance.now() };
  remember();
  if (running && performance.now() - running.began > LONG_MS) start().then(next);
  next();
};
by("stop").addEventListener("click", () => { waiting = null; by("stop").hidden = true; by("state").textContent = "Stopped. The charts show the run before."; start(); });

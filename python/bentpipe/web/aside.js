// A thread beside that of the shown run, for all that reads more of a run: the player, files, probes.
const aside = () => {
  const waiting = new Map(), made = new Worker(source);
  let next = 0;
  const end = said => {
    made.terminate();
    for (const one of waiting.values()) one.reject(new Error(said));
    waiting.clear();
  };
  made.onmessage = ({ data }) => {
    if (data.ready) return;
    const one = waiting.get(data.id) ?? [...waiting.values()][0];
    if (data.part !== undefined) { one?.part(data.part); return; }
    waiting.delete(data.id);
    if (data.failed) { one?.reject(new Error(data.failed)); end(data.failed); } else one?.resolve(data);
  };
  made.onerror = event => { event.preventDefault(); end(event.message); };
  wasm.then(module => made.postMessage({ module, files: known.files }));
  // `call` is a function of the module: "play" or "save".
  const ask = (call, request, part = () => {}) => new Promise((resolve, reject) => {
    waiting.set(++next, { resolve, reject, part });
    const id = next;
    wasm.then(() => made.postMessage({ id, call, request }));
  });
  return { ask, end: () => end("stopped") };
};
// The scenario that the charts show. Its changes are in the text.
const shownScenario = () => ({ text: last.text, name: `${base.name}.toml`, changes: [] });

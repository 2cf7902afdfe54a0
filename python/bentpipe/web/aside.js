// A thread beside that of the shown run, for all that reads more of a run: the player, files, probes.
const aside = () => {
  const waiting = new Map();
  let next = 0, over = null;
  const fail = said => { over = new Error(said); for (const one of waiting.values()) one.reject(over); waiting.clear(); };
  const made = thread(ownCode(shownScenario()), data => {
    if (data.ready) return;
    if (data.part !== undefined) { waiting.values().next().value?.part(data.part); return; }
    waiting.get(data.id)?.resolve(data);
    waiting.delete(data.id);
  }, fail);
  // `call` is a function of the module: "play" or "save".
  const ask = (call, request, part = () => {}) => new Promise((resolve, reject) => {
    if (over) { reject(over); return; }
    const id = ++next;
    waiting.set(id, { resolve, reject, part });
    wasm.then(() => made.ask(id, request, call));
  });
  return { ask, end: () => { made.end(); fail("stopped"); } };
};
// The scenario that the charts show. Its changes are in the text.
const shownScenario = () => ({ text: last.text, name: `${base.name}.toml`, changes: [] });

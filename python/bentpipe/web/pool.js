// Many runs on all processors. Gives the answers in the order of the requests, or the first mistake.
const MOST_WORKERS = 8;
const runMany = (requests, { progress, done, failed }) => {
  const answers = Array(requests.length), workers = [];
  let begun = 0, ended = 0;
  const stop = () => workers.splice(0).forEach(worker => worker.terminate());
  const fail = message => { stop(); failed(message); };
  const begin = async () => {
    const worker = new Worker(source);
    workers.push(worker);
    const more = () => {
      if (begun < requests.length) worker.postMessage({ id: begun, request: requests[begun++] });
    };
    worker.onerror = event => { event.preventDefault(); fail(event.message); };
    worker.onmessage = ({ data }) => {
      if (!workers.includes(worker) || data.part !== undefined) return;
      if (data.ready) { more(); return; }
      const wrong = data.failed ?? data.answer.mistakes[0];
      if (wrong) { fail(wrong); return; }
      answers[data.id] = data.answer;
      progress(++ended);
      if (ended === requests.length) { stop(); done(answers); } else more();
    };
    worker.postMessage({ module: await wasm, files: known.files });
  };
  for (let i = 0; i < Math.min(requests.length, MOST_WORKERS, navigator.hardwareConcurrency || 2); i++) begin();
  return { stop };
};

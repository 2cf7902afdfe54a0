// Many runs on all processors. Gives the answers in the order of the requests, or the first mistake.
const MOST_WORKERS = 8;
const runMany = (requests, { progress, done, failed }) => {
  const answers = Array(requests.length), workers = [];
  let begun = 0, ended = 0;
  const stop = () => workers.splice(0).forEach(worker => worker.end());
  const fail = message => { stop(); failed(message); };
  const begin = () => {
    const more = () => {
      if (begun < requests.length) worker.ask(begun, requests[begun++]);
    };
    // Any of the requests may need the code.
    const worker = thread(requests.map(ownCode).find(Boolean) ?? null, data => {
      if (data.part !== undefined) return;
      if (data.ready) { more(); return; }
      const [wrong] = data.answer.mistakes;
      if (wrong) { fail(wrong); return; }
      answers[data.id] = data.answer;
      progress(++ended);
      if (ended === requests.length) { stop(); done(answers); } else more();
    }, fail);
    workers.push(worker);
  };
  for (let i = 0; i < Math.min(requests.length, MOST_WORKERS, navigator.hardwareConcurrency || 2); i++) begin();
  return { stop };
};

// The thread of the page in which a scenario is simulated (crates/web/src/exports.rs has the functions).
(() => {
  const read = new TextDecoder(), write = new TextEncoder();
  let c, told = 0, reached = 0;
  const bytes = (at, length) => new Uint8Array(c.memory.buffer, at, length);
  const give = content => bytes(c.input(content.length), content.length).set(content);
  const tell = () => {
    const now = performance.now();
    if (now - told < 200) return;
    told = now;
    postMessage({ part: reached });
  };
  const imports = {
    page: {
      panicked(at, length) { throw new Error(`the simulator has failed: ${read.decode(bytes(at, length))}`); },
      // At the end no controller is called any more, which the page learns at once.
      progress(part) { reached = part; if (part < 1) tell(); else postMessage({ part }); },
      ...ownControllers.imports(() => c.memory, tell, give),
    },
  };

  const begin = ({ module, files }) => {
    c = new WebAssembly.Instance(module, imports).exports;
    for (const [name, content] of Object.entries(files)) {
      give(write.encode(`${name}\0${content}`));
      c.give_file();
    }
    postMessage({ ready: true });
  };

  // The answer of a function of the module to a request.
  const called = (call, request) => {
    told = performance.now();
    reached = 0;
    give(write.encode(JSON.stringify(request)));
    const size = call();
    return JSON.parse(read.decode(bytes(c.output(), size)));
  };
  const columnsOf = () => new Float64Array(c.memory.buffer, c.columns(), c.columns_len()).slice();
  // The run that the page shows; parts of a run for the player; files.
  const calls = {
    simulate({ id, request }) {
      const began = performance.now();
      ownControllers.forget();
      const answer = called(c.simulate, request), columns = columnsOf();
      postMessage({ id, answer, columns, ms: performance.now() - began, memory: c.memory.buffer.byteLength }, [columns.buffer]);
    },
    play({ id, request }) {
      if (request.start) ownControllers.forget();
      const answer = called(c.play, request), columns = columnsOf();
      postMessage({ id, answer, columns }, [columns.buffer]);
    },
    save({ id, request }) {
      ownControllers.forget();
      const answer = called(c.save, request), file = bytes(c.file(), c.file_len()).slice();
      postMessage({ id, answer, file }, [file.buffer]);
    },
  };

  onmessage = ({ data }) => {
    try { data.module ? begin(data) : calls[data.call](data); } catch (error) { postMessage({ id: data.id, failed: String(error.message ?? error) }); }
  };
})();

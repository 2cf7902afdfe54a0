// A thread in which scenarios are simulated, with the code of the user if they need it.
// It is unpacked while the page goes on to its first thread.
const wasm = unpacked("module").then(WebAssembly.compile);
const workerText = by("worker").textContent, source = URL.createObjectURL(new Blob([workerText], { type: "text/javascript" }));
// Ticks of the clock that counts how long a thread is in code of the user.
const TICK_MS = 250;

// What a browser says of a text that it cannot read. Firefox says it of scripts of the page and not of threads.
const misread = text => {
  let said = {};
  const hear = event => { event.preventDefault(); said = event; };
  addEventListener("error", hear);
  // What can be read after all does nothing here.
  document.head.append(Object.assign(document.createElement("script"), { textContent: `throw 0;${text}` }));
  removeEventListener("error", hear);
  document.head.lastChild.remove();
  return /SyntaxError/.test(said.message) ? said : {};
};

// A thread. `heard` gets { ready }, { part } and answers; `failed` gets a message, and then the thread is over.
// `code` is of ownCode(), or null.
const thread = (code, heard, failed) => {
  const before = workerText.split("\n").length, lines = code?.text.split("\n").length ?? 0;
  const names = code?.classes.map(name => `${name}: typeof ${name} === "function" ? ${name} : undefined`).join(", ");
  const text = code ? `${workerText}\n${code.text}\n;ownControllers.begin(${before}, { ${names} });` : "";
  const url = code ? URL.createObjectURL(new Blob([text], { type: "text/javascript" })) : source;
  const made = new Worker(url);
  // A thread says before a call of the user's code that it is alive, at most five times in a second. Until it has
  // said how long a call may take, its limit is that of the base class.
  let silent = 0, reading = true, asked = 0, finished = false, over = false, limit = 2;
  const end = () => {
    over = true;
    clearInterval(clock);
    made.terminate();
    if (code) URL.revokeObjectURL(url);
  };
  const fail = said => { if (!over) { end(); failed(said); } };
  // Ticks are counted, since a page that was busy itself has many messages to read after one tick.
  const clock = code ? setInterval(() => {
    if ((reading || (asked && !finished)) && ++silent * TICK_MS > limit * 1e3) fail(`Your code has not come back from a call within ${limit} s (call_limit_s of the class), so the run was ended. Is there a loop without an end?`);
  }, TICK_MS) : 0;
  made.onmessage = ({ data }) => {
    silent = 0;
    if (data.failed) { fail(data.failed); return; }
    if (data.limit) { ({ limit } = data); reading = false; return; }
    finished = data.part === 1;
    if (data.id !== undefined) asked--;
    if (!over) heard(data);
  };
  made.onerror = event => {
    event.preventDefault();
    const { message, lineno } = event.message || !code ? event : misread(text), line = Math.min(lineno - before, lines);
    fail(code && line > 0 ? `${message.replace(/^Uncaught /, "")} (line ${line} of your code)` : message || "the thread of the simulator has failed");
  };
  wasm.then(module => { if (!over) made.postMessage({ module, files: known.files }); });
  return {
    // `call` is a function of the module.
    ask(id, request, call = "simulate") { silent = 0; asked++; made.postMessage({ id, request, call }); },
    end,
  };
};

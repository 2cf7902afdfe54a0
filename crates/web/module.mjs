// The module of the page for node, and the files beside a scenario.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const read = new TextDecoder(), write = new TextEncoder();

// A new instance of a compiled module. `named` says what runs when it fails.
export function instance(module, named) {
  const made = new WebAssembly.Instance(module, {
    page: {
      panicked(at, length) { throw new Error(`${named()}: ${read.decode(new Uint8Array(made.memory.buffer, at, length))}`); },
      progress() {},
      // Scenarios of files have no controllers of a page.
      make() { return -1; },
      call() {},
      probes() {},
    },
  }).exports;
  return made;
}

// Gives it the time lines of a folder, which scenarios there may name.
export function giveFolder(made, folder) {
  for (const name of readdirSync(folder).filter(name => name.endsWith(".csv"))) {
    give(made, `${name}\0${readFileSync(join(folder, name), "utf8")}`);
    made.give_file();
  }
}

// What a function answers to a text.
export function ask(made, call, text) {
  give(made, text);
  const length = made[call]();
  return read.decode(new Uint8Array(made.memory.buffer, made.output(), length));
}

function give(made, text) {
  const bytes = write.encode(text);
  const at = made.input(bytes.length);
  new Uint8Array(made.memory.buffer, at, bytes.length).set(bytes);
}

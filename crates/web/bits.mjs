// Prints the bits of scenarios as the module of the page gives them, a line for each file, as `bits` prints
// them natively (src/bin/bits.rs): node bits.mjs MODULE.wasm FILE...
import { readFileSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const [path, ...scenarios] = process.argv.slice(2);
const read = new TextDecoder(), write = new TextEncoder(), module = new WebAssembly.Module(readFileSync(path));
// A new instance for each folder, as the files of scenarios stay in it.
const instances = new Map();
for (const scenario of scenarios) {
  const folder = dirname(scenario);
  if (!instances.has(folder)) {
    const made = new WebAssembly.Instance(module, {
      page: {
        panicked(at, length) { throw new Error(`${scenario}: ${read.decode(new Uint8Array(made.memory.buffer, at, length))}`); },
        progress() {},
        // Shipped scenarios have no controllers of a page.
        make() { return -1; },
        call() {},
      },
    }).exports;
    instances.set(folder, made);
    for (const name of readdirSync(folder).filter(name => name.endsWith(".csv"))) {
      give(made, `${name}\0${readFileSync(join(folder, name), "utf8")}`);
      made.give_file();
    }
  }
  const instance = instances.get(folder);
  give(instance, `${basename(scenario)}\0${readFileSync(scenario, "utf8")}`);
  const length = instance.run_bits();
  console.log(read.decode(new Uint8Array(instance.memory.buffer, instance.output(), length)));
}

function give(instance, text) {
  const bytes = write.encode(text);
  const at = instance.input(bytes.length);
  new Uint8Array(instance.memory.buffer, at, bytes.length).set(bytes);
}

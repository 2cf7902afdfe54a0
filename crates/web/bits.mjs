// Prints the bits of scenarios as the module of the page gives them, a line for each file, as `bits` prints
// them natively (src/bin/bits.rs): node bits.mjs MODULE.wasm FILE...
import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { ask, giveFolder, instance } from "./module.mjs";

const [path, ...scenarios] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(path));
// A new instance for each folder, as the files of scenarios stay in it.
const instances = new Map();
for (const scenario of scenarios) {
  const folder = dirname(scenario);
  if (!instances.has(folder)) {
    const made = instance(module, () => scenario);
    giveFolder(made, folder);
    instances.set(folder, made);
  }
  console.log(ask(instances.get(folder), "run_bits", `${basename(scenario)}\0${readFileSync(scenario, "utf8")}`));
}

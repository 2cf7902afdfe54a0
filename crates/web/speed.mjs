// The processor time of runs in the module of the page: node --no-liftoff speed.mjs MODULE.wasm FILE <JOB
// The job is a list of runs, and each run a list of changes of the scenario in the file: [key, value].
// The first run is made once before, uncounted: V8 compiles each function when it is first called, and with the
// option at once with all that it knows. A page gets there within seconds.
import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { ask, giveFolder, instance } from "./module.mjs";

const [path, file] = process.argv.slice(2), text = readFileSync(file, "utf8"), runs = JSON.parse(readFileSync(0, "utf8"));
const made = instance(new WebAssembly.Module(readFileSync(path)), () => file);
giveFolder(made, dirname(file));
// One sample of each flow and link, the fewest that a page can ask for.
const requests = runs.map(changes => JSON.stringify({ text, name: basename(file), changes, samples: 1 }));

const spent = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1e6; };
const timed = some => {
  const before = spent(), answers = some.map(request => ask(made, "simulate", request));
  return [spent() - before, answers.map(answer => JSON.parse(answer))];
};
timed(requests.slice(0, 1));
const [cpu_s, answers] = timed(requests);
for (const answer of answers) if (answer.mistakes.length) throw new Error(answer.mistakes.join("; "));
const delivered_bytes = answers.map(({ report }) => report.flows.reduce((sum, flow) => sum + flow.delivered_bytes, 0));
console.log(JSON.stringify({ cpu_s, delivered_bytes, peak_bytes: process.resourceUsage().maxRSS * 1024 }));

"use strict";
// Controllers that the user writes, in the thread of the simulator: their base class, and calls of their methods.
// docs/own-controller.md has the names and the units, crates/web/src/own.rs the other side.
class Controller {
  // How long a call of a method may take, in seconds.
  static call_limit_s = 2;
  constructor(mss, initial_window) { Object.assign(this, { mss, cwnd: initial_window, ssthresh: Infinity, pacing_rate: null }); }
}
const ownControllers = (() => {
  const FLOW = ["now_s", "mss", "in_flight", "delivered", "lost", "rtt_s", "rtt_min_s", "srtt_s", "rttvar_s", "round", "phase", "cwnd_limited", "reduced", "rwnd"];
  const ACK = ["acks", "acked", "lost", "uncounted", "ce", "round_end", "rtt_s", "rtt_min_s", "rtt_max_s", "rate", "app_limited"];
  const REPORT = 3 + FLOW.length, PHASES = ["open", "recovery", "loss"], FLAGS = new Set(["cwnd_limited", "reduced", "round_end", "app_limited"]);
  // In the order of `Call`: the method, and its second argument, or the names of its numbers.
  const CALLS = [["on_ack", ACK], ["on_congestion", "loss"], ["on_congestion", "ecn"], ["on_congestion", "timeout"], ["on_undo"],
    ["on_life", "idle_restart"], ["on_life", "recovered"], ["on_life", "mss_changed"], ["on_life", "window_validated"],
    ["backoff", "loss"], ["backoff", "ecn"], ["backoff", "timeout"], ["on_path_change", ["ahead_s", "dark_s"]],
    ["on_rate_change", ["ahead_s", "before", "after"]], ["on_link_quality", ["ahead_s", "bit_error_rate"]]];
  const made = [], read = new TextDecoder();
  let classes = {}, before = 0, buffer = null, all = null;

  // A view of the memory, which is another one after it has grown.
  const numbers = memory => {
    if (memory.buffer !== buffer) all = new Float64Array(buffer = memory.buffer);
    return all;
  };
  const object = (names, at) => {
    const given = {};
    for (let k = 0; k < names.length; k++) {
      const name = names[k], value = all[at + k];
      given[name] = name === "phase" ? PHASES[value] : FLAGS.has(name) ? value === 1 : Number.isNaN(value) ? null : value;
    }
    return given;
  };
  const shown = value => typeof value === "string" ? JSON.stringify(value) : typeof value === "function" ? "a function" : Array.isArray(value) ? `[${value.map(shown).join(", ")}]` : value?.constructor === Object ? JSON.stringify(value) : String(value);
  // The line of the user's code in which an error arose: the innermost that is not in a script of the page.
  const line = error => {
    const found = [...String(error?.stack ?? "").matchAll(/blob:\S*?:(\d+):\d+/g)].map(([, at]) => at - before).find(at => at > 0);
    return found ? ` (line ${found})` : "";
  };
  const raised = (one, method, error, now) => { throw new Error(`${one.name}.${method} raised ${shown(error)}${line(error)} at ${now} s in flow ${one.flow}`); };
  const wrong = (one, name, value, method, right, now) => { throw new Error(`${one.name}.${name} is ${shown(value)} after ${method} at ${now} s in flow ${one.flow}; it must be ${right}`); };
  const ran = (one, method, answer) => {
    if (typeof answer?.next === "function" || typeof answer?.then === "function") throw new Error(`${one.name}.${method} has a yield or is async, so its body has not run; write it without`);
    return answer;
  };
  const asked = (one, method, now, ...given) => {
    let answer;
    try { answer = one.object[method](...given); } catch (error) { raised(one, method, error, now); }
    return ran(one, method, answer);
  };
  const WINDOW = "a number of segments from 0 to 2**40", THRESHOLD = "a number of segments, 0 or more; Infinity stands for no threshold";
  const has = (one, method) => typeof one.object[method] === "function", isLimit = value => typeof value === "number" && value > 0 && value < Infinity;
  const isWindow = value => typeof value === "number" && value >= 0 && value <= 2 ** 40, isThreshold = value => typeof value === "number" && value >= 0;
  const decide = (one, method, at, now) => {
    const { cwnd, ssthresh, pacing_rate: pacing } = one.object;
    if (!isWindow(cwnd)) wrong(one, "cwnd", cwnd, method, WINDOW, now);
    if (!isThreshold(ssthresh)) wrong(one, "ssthresh", ssthresh, method, THRESHOLD, now);
    const paced = pacing !== null && pacing !== undefined;
    if (paced && !(isThreshold(pacing) && Number.isFinite(pacing))) wrong(one, "pacing_rate", pacing, method, "null, or a finite number of bytes per second, 0 or more", now);
    all[at] = cwnd; all[at + 1] = ssthresh; all[at + 2] = paced ? pacing : NaN;
  };

  return {
    // The classes of the code, and the number of lines of the script before it. The page learns the limit of a call.
    begin(lines, found) {
      before = lines; classes = found;
      postMessage({ limit: Math.max(...Object.values(found).map(one => one?.call_limit_s).filter(isLimit), 0) || Controller.call_limit_s });
    },
    forget() { made.length = 0; },
    // The functions that the module imports. `alive` is called before each call of a method; `give` hands over bytes.
    imports: (memory, alive, give) => ({
      make(name, nameLength, flow, flowLength, place) {
        const text = (at, length) => read.decode(new Uint8Array(memory().buffer, at, length)), of = text(name, nameLength);
        if (!Object.hasOwn(classes, of)) return -1;
        const one = { name: of, flow: text(flow, flowLength), object: null }, at = place / 8;
        const [mss, window, threshold] = numbers(memory()).subarray(at, at + 3);
        const limit = classes[of].call_limit_s;
        if (limit !== undefined && !isLimit(limit)) throw new Error(`${of}.call_limit_s is ${shown(limit)}; it must be a number of seconds above 0`);
        alive();
        try { one.object = new classes[of](mss, window); } catch (error) { raised(one, "constructor", error, 0); }
        // A method may also be a field, which an object alone has.
        for (const method of ["on_ack", "on_congestion"]) if (!has(one, method)) throw new Error(`the class ${of} does not define ${method}`);
        if (threshold < Infinity) one.object.ssthresh = threshold;
        decide(one, "constructor", at, 0);
        all[at + 3] = has(one, "on_path_change") ? 1 : 0;
        all[at + 4] = has(one, "probes") ? 1 : 0;
        all[at + 5] = has(one, "on_link_quality") ? 1 : 0;
        return made.push(one) - 1;
      },
      call(number, call, place) {
        alive();
        const one = made[number], [method, second] = CALLS[call], at = place / 8, now = numbers(memory())[at + 3];
        if (!Number.isNaN(all[at])) { one.object.cwnd = all[at]; one.object.ssthresh = all[at + 1]; }
        const is = has(one, method), answer = is ? asked(one, method, now, object(FLOW, at + 3), Array.isArray(second) ? object(second, at + REPORT) : second) : undefined;
        if (method !== "backoff") { decide(one, method, at, now); return; }
        if (!is) { all[at] = NaN; return; }
        if (!Array.isArray(answer) || !isWindow(answer[0]) || !isThreshold(answer[1])) wrong(one, "backoff()", answer, method, "a pair [cwnd, ssthresh] of numbers of segments; a class without backoff halves its window", now);
        all[at] = answer[0]; all[at + 1] = answer[1]; all[at + 2] = NaN;
      },
      probes(number, now) {
        alive();
        const one = made[number], found = asked(one, "probes", now), right = value => value === null || value === undefined || typeof value === "number";
        if (typeof found !== "object" || found === null || Array.isArray(found) || !Object.values(found).every(right)) wrong(one, "probes()", found, "probes", "an object of numbers by name; null stands for a value that is not known yet", now);
        give(new TextEncoder().encode(Object.entries(found).map(([name, value]) => `${name}\0${value ?? NaN}\0`).join("")));
      },
    }),
  };
})();

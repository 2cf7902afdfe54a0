// A controller that the user writes in JavaScript. Its text stays in this tab; no link and no file holds it.
const OWN = "javascript:", KEY = "bentpipe-own-controller";
const EXAMPLE = `// Reno: one segment more in each round trip, half of the window at a loss.
class Mine extends Controller {
  on_ack(flow, ack) {
    if (flow.phase === "recovery" || !flow.cwnd_limited) return;
    const segments = (ack.acked - ack.uncounted) / flow.mss;
    this.cwnd += this.cwnd < this.ssthresh ? segments : segments / this.cwnd;
  }

  on_congestion(flow, why) { // why is "loss", "ecn" or "timeout"
    if (this.cwnd > 1) // not at a timeout that follows another
      this.ssthresh = Math.max(this.cwnd / 2, 2);
    this.cwnd = why === "timeout" ? 1 : this.ssthresh;
  }
}
`;
// A browser may forbid a page from a disk to keep anything.
const stored = (act, otherwise) => { try { return act() ?? otherwise; } catch { return otherwise; } };
by("own").value = stored(() => sessionStorage.getItem(KEY), EXAMPLE);
const ownClasses = () => [...new Set([...by("own").value.matchAll(/^\s*class\s+([A-Za-z_$][\w$]*)/gm)].map(([, name]) => name))];
const isOwn = cc => String(cc).startsWith(OWN);
const usesOwn = ({ text, changes: changed }) => [text, ...changed.map(([, value]) => value)].some(one => one?.includes(OWN));
// What a thread needs of the code for a request; null if the scenario uses none of it.
const ownCode = request => usesOwn(request) ? { text: by("own").value, classes: ownClasses() } : null;
const ownLabel = id => isOwn(id) ? `${id.slice(OWN.length)}, your own` : controllers.get(id)?.label ?? id;

// Says what neither a link nor a command can hold.
const sayOwn = request => {
  const own = usesOwn(request);
  by("only-here").textContent = own ? "A link to this page does not hold the code of your controller." : "";
  by("only-here").hidden = !own;
  by("by-command").textContent = own ? "The command line cannot repeat this run: controllers there are in Python, not in JavaScript. docs/own-controller.md, “Write your own controller”, says how to write them." : "The same on the command line:";
  by("command").hidden = own;
};

let writing = 0;
by("own").addEventListener("input", () => {
  stored(() => sessionStorage.setItem(KEY, by("own").value));
  clearTimeout(writing);
  writing = setTimeout(() => { if (last) arrange(last); ask(); }, 500);
});
by("own-example").addEventListener("click", () => { by("own").value = EXAMPLE; by("own").dispatchEvent(new Event("input")); });
by("own-use").addEventListener("click", () => {
  const [name] = ownClasses();
  if (name && last) change("flow.0.cc", OWN + name);
  else by("state").textContent = "The code has no class. Write: class Mine extends Controller { … }";
});

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
// The classes of the code that a request names.
const ownNames = ({ text, changes: changed }) => [...new Set([text, ...changed.map(([, value]) => value)].flatMap(one => [...String(one).matchAll(/javascript:([\w$]+)/g)].map(([, name]) => name)))];
// What a thread needs of the code for a request; null if the scenario uses none of it.
const ownCode = request => ownNames(request).length ? { text: by("own").value, classes: ownClasses() } : null;
const ownLabel = id => isOwn(id) ? `${id.slice(OWN.length)}, your own` : controllers.get(id)?.label ?? id;
// The controller of a connection as the scenario names it: the report has the name of an own class alone.
const writtenCc = (run, i) => { const cc = run.tree?.flow?.[run.plan.flows[i]?.table]?.cc; return cc?.name ?? cc; };
const ccIn = (run, { name, cc }) => writtenCc(run, run.names.indexOf(name)) === OWN + cc ? OWN + cc : cc;
// The name of a connection, which by default is that of its controller. An own class may have that of another.
const builtIn = new Set(known.controllers.flatMap(({ id, label }) => [id, label.toLowerCase()]));
const flowLabel = (run, name) => isOwn(writtenCc(run, run.names.indexOf(name))) && builtIn.has(name.toLowerCase()) ? `${name}, your own` : name;

// Says what neither a link nor a command can hold. Whoever opens a link may have other code, or none.
const sayOwn = request => {
  const names = ownNames(request), own = names.length > 0, code = by("own").value;
  const here = ownClasses(), missing = names.filter(name => !here.includes(name)), called = names.join(" and ");
  by("only-here").textContent = !own ? ""
    : missing.length ? `The scenario names ${missing.join(" and ")}, but a link holds no code, and the editor below, “A controller of your own”, has no such class. Whoever made the link can send you the code.`
    : openedByLink ? `A link names ${called} but holds no code. The class of that name in your own editor below runs${code === EXAMPLE ? ", which is the example of this page" : ""}, so the result may differ from that of whoever made the link.`
    : `A link to this page names ${called} but does not hold your code: whoever opens it runs the class of that name in their own editor.`;
  by("only-here").hidden = !own;
  by("by-command").textContent = own ? "The command line cannot repeat this run: controllers there are in Python, not in JavaScript. docs/own-controller.md, “Write your own controller”, says how to write them." : "The same on the command line:";
  by("command").hidden = own;
};

let writing = 0;
by("own").addEventListener("input", () => {
  openedByLink = false;
  stored(() => sessionStorage.setItem(KEY, by("own").value));
  clearTimeout(writing);
  writing = setTimeout(() => { if (arranged) arrange(arranged); ask(); }, 500);
});
by("own-example").addEventListener("click", () => { by("own").value = EXAMPLE; by("own").dispatchEvent(new Event("input")); });
by("own-use").addEventListener("click", () => {
  const [name] = ownClasses();
  openedByLink = false;
  if (name && arranged) change("flow.0.cc", OWN + name);
  else by("state").textContent = "The code has no class. Write: class Mine extends Controller { … }";
});

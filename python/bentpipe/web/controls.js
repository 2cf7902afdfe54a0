// The controls are made anew if the scenario has another form, and else only show other values.
let shape = "", arranged = null;
const arrange = answer => {
  const { tree } = answer;
  if (typeof tree?.link !== "object" || !Array.isArray(tree.flow)) return;
  // Also one without a run, so that the next change goes on from it.
  arranged = answer;
  const form = JSON.stringify([base.name, schema !== null, ownClasses(), Object.keys(tree.link), tree.flow.map((flow, i) => [flow.name, flow.traffic?.kind, ccOf(answer, i)?.name])]);
  if (form !== shape) {
    // The control in use is made anew, too, and stays in use.
    const used = document.activeElement?.closest("#links, #flows") ? document.activeElement.dataset : {}, at = used.key ?? used.at;
    shape = form;
    shows = [];
    const names = Object.keys(tree.link);
    by("links").replaceChildren(...names.map(name => linkControls(name, names.length === 1)));
    by("flows").replaceChildren(...tree.flow.map((_, i) => flowControls(answer, i)));
    by("run").replaceChildren(
      slider("Duration", DURATIONS, now => now.plan ? [now.plan.duration_s, time(now.plan.duration_s)] : [null, "-"], value => change("duration", `${value} s`)),
      slider("Seed of the random numbers", Array.from({ length: 50 }, (_, k) => k + 1), now => [now.tree.seed ?? 1, String(now.tree.seed ?? 1)], value => change("seed", String(value))));
    if (at) [...document.querySelectorAll("#links [data-at], #flows [data-at], #flows [data-key]")].find(one => (one.dataset.key ?? one.dataset.at) === at)?.focus();
  }
  shows.forEach(one => one(answer));
  showKeys(answer);
  document.querySelectorAll("#scenarios input").forEach(input => { input.checked = input.value === base.name; });
};
by("controls").addEventListener("submit", event => event.preventDefault());

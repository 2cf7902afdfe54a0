// The list of shipped scenarios, and its search.
by("scenarios").append(...known.scenarios.map(one => node("label", {}, node("input", { type: "radio", name: "scenario", value: one.name }), node("b", {}, one.name), one.title)));
by("scenarios").addEventListener("change", event => choose(event.target.value));
by("search").addEventListener("input", () => {
  const words = by("search").value.toLowerCase().split(/\s+/);
  document.querySelectorAll("#scenarios label").forEach((label, i) => {
    const { name, title, about } = known.scenarios[i], text = `${name} ${title} ${about}`.toLowerCase();
    label.hidden = !words.every(word => text.includes(word));
  });
});
by("original").addEventListener("click", () => choose(scenarios.has(base.name) ? base.name : known.first));

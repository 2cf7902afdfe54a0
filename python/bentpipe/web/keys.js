// The section with every key of the scenario.
let everyKey = null;
const FIRST_KEYS = ["title", "duration", "seed", "link", "flow"];
const showKeys = answer => { if (by("keys-group").open) everyKey?.show(answer.tree, answer); };
const openKeys = () => {
  if (!schema || !arranged || !by("keys-group").open) return;
  everyKey ??= members("", { ...schema, "x-order": [...new Set([...FIRST_KEYS, ...Object.keys(schema.properties)])] });
  by("keys").replaceChildren(everyKey.element);
  everyKey.show(arranged.tree, arranged);
};
by("keys-group").addEventListener("toggle", openKeys);
// A word opens all tables and leaves what has it in its name, its description or its choices.
by("key-search").addEventListener("input", () => {
  const word = by("key-search").value.trim().toLowerCase(), lacks = one => word !== "" && !one.textContent.toLowerCase().includes(word);
  for (let closed = []; word && (closed = [...document.querySelectorAll("#keys details:not([open])")]).length;)
    closed.forEach(one => { one.open = true; one.dispatchEvent(new Event("toggle")); });
  document.querySelectorAll("#keys .key:not(.key .key)").forEach(row => { row.hidden = lacks(row); });
  document.querySelectorAll("#keys details").forEach(one => { one.hidden = lacks(one.firstChild) && !one.querySelector(".key:not([hidden])"); });
});

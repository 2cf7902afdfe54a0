// The controls of a flow, and a flow that is added.
const ccOf = (answer, i) => {
  const { cc } = answer.tree.flow[i], named = name => isOwn(name) ? name : String(name).toLowerCase();
  return cc === undefined ? null : typeof cc === "string" ? { name: named(cc) } : { ...cc, name: named(cc.name) };
};
const toml = value => typeof value === "string" ? JSON.stringify(value) : String(value);
const setCc = (i, cc) => {
  const given = Object.entries(cc).filter(([key]) => key !== "name");
  change(`flow.${i}.cc`, given.length ? `{ ${[["name", cc.name], ...given].map(([key, value]) => `${key} = ${toml(value)}`).join(", ")} }` : cc.name);
};
const paramField = (i, param) => {
  const label = node("label", {}, node("b", {}, param.name), param.unit ? `, ${param.unit}` : "", ": ", param.about, " ");
  const choices = param.kind === "flag" ? ["true", "false"] : param.choices;
  const usual = typeof param.default === "string" ? param.default : String(param.default);
  const field = choices ? node("select", {}, ...choices.map(one => node("option", { value: one }, one === usual ? `${one} (default)` : one)))
    : node("input", { type: "number", step: "any", min: param.min, max: param.max, placeholder: `${usual} (default)` });
  field.addEventListener("change", () => {
    const cc = ccOf(arranged, i), text = field.value;
    if (!cc) return;
    delete cc[param.name];
    if (text !== "" && text !== usual) cc[param.name] = param.kind === "choice" ? text : param.kind === "flag" ? text === "true" : Number(text);
    setCc(i, cc);
  });
  shows.push(answer => {
    const value = ccOf(answer, i)?.[param.name];
    if (document.activeElement !== field) field.value = value === undefined ? (choices ? usual : "") : String(value);
  });
  return node("div", {}, label, field);
};
const flowControls = (answer, i) => {
  const flow = answer.tree.flow[i], cc = ccOf(answer, i), alone = answer.tree.flow.length === 1;
  const less = node("button", { type: "button", hidden: alone, "aria-label": `Remove flow ${i + 1}` }, "Remove");
  less.addEventListener("click", () => remove(`flow.${i}`));
  const head = node("h3", {}, flow.name ?? `Flow ${i + 1}`, less);
  if (!cc) return node("div", { className: "flow" }, head, node("p", { className: "soft small" }, `${flow.traffic?.kind ?? "traffic"} without a controller`));
  const listed = [...controllers.values()].sort((a, b) => a.label.localeCompare(b.label)).map(one => node("option", { value: one.id }, one.label));
  const mine = ownClasses().map(name => node("option", { value: OWN + name }, ownLabel(OWN + name)));
  const select = node("select", { "aria-label": `Controller of flow ${i + 1}` }, ...listed, ...(mine.length ? [node("optgroup", { label: "Your own, from the code below" }, ...mine)] : []));
  const about = node("p", { className: "soft small" }), { params = [] } = controllers.get(cc.name) ?? {};
  select.addEventListener("change", () => setCc(i, { name: select.value }));
  shows.push(now => { const id = ccOf(now, i)?.name; select.value = id; about.textContent = isOwn(id) ? "Your code below, “A controller of your own”." : controllers.get(id)?.about ?? ""; });
  const inside = [head, select, about];
  if (params.length) inside.push(node("details", { className: "params" }, node("summary", {}, params.length === 1 ? "1 parameter" : `${params.length} parameters`), ...params.map(param => paramField(i, param))));
  if (!flow.traffic || flow.traffic.kind === "bulk")
    inside.push(slider("Number of such flows", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], now => [now.tree.flow[i].count ?? 1, String(now.tree.flow[i].count ?? 1)], value => change(`flow.${i}.count`, String(value))));
  return node("div", { className: "flow" }, ...inside);
};

by("add").addEventListener("click", () => {
  if (!arranged) return;
  const { tree, text } = arranged, first = tree.flow[0], taken = new Set(tree.flow.flatMap((flow, i) => [flow.name, ccOf(arranged, i)?.name]));
  const cc = ["cubic", "bbr", "reno", "star", "vegas", "hybla", "westwood-plus", "copa"].find(one => !taken.has(one)) ?? "cubic";
  let name = cc;
  for (let k = 2; taken.has(name); k++) name = `${cc}-${k}`;
  const more = first.extra_delay === undefined ? "" : `extra_delay = ${toml(first.extra_delay)}\n`;
  rewrite(base.name, `${text.replace(/\n*$/, "\n")}\n[[flow]]\nname = "${name}"\ncc = "${cc}"\npath = ${JSON.stringify(first.path)}\n${more}`);
});

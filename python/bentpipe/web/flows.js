// The controls of a flow, and a flow that is added.
const ccOf = (answer, i) => {
  const { cc } = answer.tree.flow[i];
  return cc === undefined ? null : typeof cc === "string" ? { name: controllerName(cc) } : { ...cc, name: controllerName(cc.name) };
};
const controllerName = name => isOwn(name) ? name : String(name).toLowerCase();
const controllerSelect = given => {
  const ours = [...controllers.values()].sort((a, b) => a.label.localeCompare(b.label)).map(one => node("option", { value: one.id }, one.label));
  const mine = ownClasses().map(name => node("option", { value: OWN + name }, ownLabel(OWN + name)));
  return node("select", given, ...ours, ...(mine.length ? [node("optgroup", { label: "Your own, from the code below" }, ...mine)] : []));
};
// A parameter as the schema would have it.
const PARAM_TYPES = { flag: "boolean", choice: "string", number: "number" };
const paramSchema = param => ({ type: PARAM_TYPES[param.kind], enum: param.choices ?? undefined, default: param.default, description: `${param.about}${param.unit && param.unit !== "1" ? `; in ${param.unit}` : ""}` });
const flowControls = (answer, i) => {
  const flow = answer.tree.flow[i], cc = ccOf(answer, i), alone = answer.tree.flow.length === 1;
  const less = node("button", { type: "button", hidden: alone, "aria-label": `Remove flow ${i + 1}` }, "Remove");
  less.addEventListener("click", () => remove(`flow.${i}`));
  const head = node("h3", {}, flow.name ?? `Flow ${i + 1}`, less);
  const traffic = schema ? [trafficPart(i)] : [];
  if (!cc) return node("div", { className: "flow" }, head, node("p", { className: "soft small" }, `${flow.traffic?.kind ?? "traffic"} without a controller`), ...traffic);
  const select = controllerSelect({ "aria-label": `Controller of flow ${i + 1}`, "data-at": `cc ${i}` });
  const about = node("p", { className: "soft small" }), { params = [] } = controllers.get(cc.name) ?? {};
  select.addEventListener("change", () => change(`flow.${i}.cc`, select.value));
  shows.push(now => { const id = ccOf(now, i)?.name; select.value = id; about.textContent = isOwn(id) ? "Your code below, “A controller of your own”." : controllers.get(id)?.about ?? ""; });
  const inside = [head, select, about];
  if (params.length && schema) {
    const rows = params.map(param => [param.name, leaf(`flow.${i}.cc.${param.name}`, param.name, paramSchema(param))]);
    inside.push(node("details", { className: "params" }, node("summary", {}, params.length === 1 ? "1 parameter" : `${params.length} parameters`), ...rows.map(([, row]) => row.element)));
    shows.push(now => rows.forEach(([name, row]) => row.show(ccOf(now, i)?.[name], now)));
  }
  if (!flow.traffic || flow.traffic.kind === "bulk")
    inside.push(slider("Number of such flows", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], now => [now.tree.flow[i].count ?? 1, String(now.tree.flow[i].count ?? 1)], value => change(`flow.${i}.count`, String(value))));
  return node("div", { className: "flow" }, ...inside, ...traffic);
};
// What the flow sends: a kind of traffic, and its keys.
const trafficPart = i => {
  const of = kinds(`flow.${i}.traffic`, "traffic", alternatives(schema.$defs.Flow)[0].properties.traffic, false, "Traffic", body => {
    const keys = node("details", { className: "params" }, node("summary", {}, "Keys of this traffic"), body);
    return { element: keys, fill: given => { keys.hidden = !given; } };
  });
  shows.push(answer => of.show(answer.tree.flow[i].traffic, answer));
  return of.element;
};

const MOST_FLOWS = 12;
by("add").addEventListener("click", () => {
  if (!arranged) return;
  const isFull = arranged.tree.flow.length >= MOST_FLOWS;
  by("add-said").textContent = isFull ? `The page has controls for ${MOST_FLOWS} flows. “Number of such flows” multiplies one, and the text below takes more.` : "";
  by("add-said").hidden = !isFull;
  if (isFull) return;
  const { tree, text } = arranged, first = tree.flow[0], taken = new Set(tree.flow.flatMap((flow, i) => [flow.name, ccOf(arranged, i)?.name]));
  const cc = ["cubic", "bbr", "reno", "star", "vegas", "hybla", "westwood-plus", "copa"].find(one => !taken.has(one)) ?? "cubic";
  let name = cc;
  for (let k = 2; taken.has(name); k++) name = `${cc}-${k}`;
  const more = first.extra_delay === undefined ? "" : `extra_delay = ${toml(first.extra_delay)}\n`;
  rewrite(base.name, `${text.replace(/\n*$/, "\n")}\n[[flow]]\nname = "${name}"\ncc = "${cc}"\npath = ${JSON.stringify(first.path)}\n${more}`);
});

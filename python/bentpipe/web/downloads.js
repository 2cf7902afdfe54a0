// Files of the shown run: its scenario, its charts, its samples, its packets.
const saved = (content, name, type) => {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  node("a", { href: url, download: `${base.name}${name}` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
};
// A file that the module makes, or what is wrong.
const fileOf = async (request, part) => {
  const one = aside();
  try {
    const { answer, file } = await one.ask("save", { given: shownScenario(), samples: SAMPLES, ...request }, part);
    if (answer.mistakes.length) throw new Error(answer.mistakes.join("\n"));
    return file;
  } finally { one.end(); }
};
const saySave = words => { by("save-said").textContent = words; };
const fetched = async (what, name, type, more = {}) => {
  if (!last) return;
  saySave("Simulating.");
  try {
    const file = await fileOf({ what, ...more }, part => saySave(`Simulating: ${Math.round(100 * part)} %.`));
    saved(file, `-seed${last.report.seed}-${name}`, type);
    saySave(`${base.name}-seed${last.report.seed}-${name} has ${file.length.toLocaleString("en")} bytes.`);
  } catch (error) { saySave(error.message); }
};
const pictured = async kind => {
  if (!last) return;
  const chosen = by("save-chart").value, some = charts.map(([, , drawn]) => drawn).filter((drawn, i) => chosen === "all" || chosen === charts[i][0]);
  const svg = pictureSvg(some), name = `-seed${last.report.seed}-${chosen === "all" ? "charts" : chosen}.${kind}`;
  saved(kind === "svg" ? svg : await picturePng(svg), name, "image/svg+xml");
  saySave(`${base.name}${name} is saved.`);
};
by("save-chart").append(node("option", { value: "all" }, "all charts"), ...charts.map(([name, label]) => node("option", { value: name }, label.split(",")[0])));
by("save-svg").addEventListener("click", () => pictured("svg"));
by("save-png").addEventListener("click", () => pictured("png"));
for (const [what, name] of [["trace", "flows.csv"], ["link-trace", "links.csv"], ["probes", "probes.csv"]])
  by(`save-${what}`).addEventListener("click", () => fetched(what, name, "text/csv"));
by("save-packets").addEventListener("click", () => {
  const at = by("save-at").value;
  fetched("packets", `${at.replaceAll(/[^\w.-]/g, "-")}.pcapng`, "application/octet-stream", { at });
});
by("save").addEventListener("toggle", () => {
  if (!last) return;
  const before = by("save-at").value, links = [...new Set(last.plan.directions.map(one => one.link))];
  by("save-at").replaceChildren(...["sender", "receiver", ...links].map(at => node("option", { value: at, selected: at === before }, at === "sender" || at === "receiver" ? `the ${at}s` : at)));
});
by("download").addEventListener("click", () => saved(by("text").value, ".toml", "application/toml"));

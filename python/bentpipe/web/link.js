// The address of the page holds the scenario and its changes. An own text is compressed in it.
// Compressed text in a link.
const through = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
const coded = async text => btoa(String.fromCharCode(...await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw")))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const decoded = async code => new TextDecoder().decode(await through(Uint8Array.from(atob(code.replaceAll("-", "+").replaceAll("_", "/")), one => one.charCodeAt(0)), new DecompressionStream("deflate-raw")));

let ours = "", openedByLink = false;
// In a frame of another page only the sliders and the charts are shown.
const asFigure = new URLSearchParams(location.hash.slice(1)).get("view") === "figure";
document.body.classList.toggle("figure", asFigure);
const NOT_CHANGES = ["scenario", "text", "view"];
const remember = async () => {
  const said = new URLSearchParams(shippedText() ? { scenario: base.name } : { text: await coded(base.text) });
  for (const [key, value] of lasting()) said.append(key, value);
  if (asFigure) said.append("view", "figure");
  ours = `#${said}`;
  if (location.hash !== ours) history.replaceState(null, "", ours);
};
const recall = async () => {
  const said = [...new URLSearchParams(location.hash.slice(1))], given = Object.fromEntries(said);
  if (!said.length || location.hash === ours || !("scenario" in given || "text" in given)) return false;
  try {
    if (given.text) base = { name: "mine", text: await decoded(given.text) };
    else if (scenarios.has(given.scenario)) base = { name: given.scenario, text: scenarios.get(given.scenario).text };
    else throw new Error(`no scenario is called ${given.scenario}`);
    changes = new Map(said.filter(([key]) => !NOT_CHANGES.includes(key)));
    openedByLink = true;
    return true;
  } catch (error) {
    wrong([`the link of this page: ${error.message}`]);
    return false;
  }
};

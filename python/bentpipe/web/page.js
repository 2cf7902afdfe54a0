// The scenario as text, and what starts the page once everything above is defined.
let typing = 0;
by("text").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => rewrite(base.name, by("text").value), 300); });
const copied = async (button, text) => {
  const words = button.textContent;
  try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; } catch { button.textContent = "The browser does not allow it"; }
  setTimeout(() => { button.textContent = words; }, 1500);
};
by("copy").addEventListener("click", () => copied(by("copy"), by("text").value));
by("share").addEventListener("click", async () => { await remember(); copied(by("share"), location.href); });
by("foot").textContent = `Bentpipe ${known.version}. One scenario and one seed give the same bits here and on the command line. A link to this page holds the scenario and its changes, and nothing is sent to anyone.`;
// On a phone the charts are nearer if little is unfolded.
if (matchMedia("(max-width: 40rem)").matches) document.querySelectorAll(".group:not(#links-group)").forEach(group => { group.open = false; });

addEventListener("hashchange", async () => { if (await recall()) ask(); });
await recall();
start();
ask();
schema = await readSchema();
if (arranged) arrange(arranged);
openKeys();

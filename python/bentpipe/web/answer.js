// Shows an answer of the worker: messages, title, command; charts and tables follow.
const wrong = lines => { by("wrong").hidden = !lines.length; by("wrong").textContent = lines.join("\n"); };

const show = ({ answer, columns, ms, memory }, asked) => {
  wrong(answer.mistakes);
  if (document.activeElement !== by("text")) by("text").value = answer.text;
  titles(answer);
  if (!answer.report) {
    by("state").textContent = `This scenario cannot run.${last ? " The charts show the run before." : ""}`;
    // The sliders of the run before can be moved back.
    if (answer.tree) arrange({ ...answer, plan: answer.plan ?? last?.plan });
    return;
  }
  last = { ...answer, samples: sampled(answer, columns) };
  arrange(answer);
  draw();
  summarise();
  renewPlay();
  loadProbes();
  by("state").textContent = `${answer.report.packets.toLocaleString("en")} packets simulated in ${time(ms / 1e3)}.`;
  by("warnings").hidden = !answer.report.warnings.length;
  by("warnings").replaceChildren(...answer.report.warnings.map(line => node("li", {}, line)));
  requestAnimationFrame(() => requestAnimationFrame(() => {
    Object.assign(document.body.dataset, { runs: +(document.body.dataset.runs ?? 0) + 1, ms: (performance.now() - asked).toFixed(0), simulated: ms.toFixed(0), memory });
  }));
};

const titles = answer => {
  const shipped = scenarios.get(base.name), title = answer.tree?.title ?? "A scenario without a title";
  // The title of a scenario names its controllers, which may have changed.
  const changed = changes.size || !shippedText(), capital = text => text[0].toUpperCase() + text.slice(1);
  by("title").textContent = shipped && changed ? `${shipped.name}, changed` : capital(title);
  by("about").textContent = !shipped ? "A text of your own." : changed ? `It began as ${shipped.title}. ${shipped.about}` : shipped.about;
  by("original").hidden = !changes.size && shippedText();
  const quoted = text => /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
  const sets = lasting().map(([key, value]) => ` \\\n    --set ${quoted(`${key}=${value}`)}`).join("");
  by("command").textContent = `bentpipe run ${shippedText() ? shipped.file ?? base.name : `${base.name}.toml`}${sets}`;
  by("named").textContent = shippedText() ? "" : `The command expects it in ${base.name}.toml, without the changes by sliders.`;
};

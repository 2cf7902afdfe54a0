// Files of the reader: time lines and whatever else a scenario names, and scenarios. They stay in this tab.
const MOST_FILE = 64 * 2 ** 20, shippedFiles = new Set(Object.keys(known.files));
const ownFiles = () => Object.keys(known.files).filter(name => !shippedFiles.has(name));
const namesFile = (name, { text, changes: changed }) => [text, ...changed.map(([, value]) => value)].some(one => one?.includes(name));
// Says what neither a link nor a command can hold.
const sayFiles = request => {
  const used = ownFiles().filter(name => namesFile(name, request)), names = used.join(", "), many = used.length > 1;
  by("only-files").textContent = used.length ? `A link to this page does not hold your ${many ? "files" : "file"} ${names}.` : "";
  by("files-command").textContent = used.length ? `The command expects ${names} beside the scenario or in its working directory.` : "";
  by("only-files").hidden = by("files-command").hidden = !used.length;
};
const listFiles = () => by("file-names").replaceChildren(...Object.keys(known.files).map(value => node("option", { value })));
const sayDrop = (isFine, ...lines) => {
  Object.assign(by("dropped"), { textContent: lines.join("\n"), hidden: !lines.length, className: isFine ? "small" : "banner partly" });
};
const ending = name => /\.[^.]*$/.exec(name.toLowerCase())?.[0] ?? "";
// The text of a file, or what is wrong with it.
const readFile = async file => {
  if (file.size > MOST_FILE) throw new Error(`${file.name} is larger than 64 MiB; a page keeps no larger file.`);
  if (ending(file.name) === ".parquet") throw new Error(`${file.name}: Parquet is read by the Python package alone; write the table as CSV.`);
  try { return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer()); } catch { throw new Error(`${file.name} is not text in UTF-8. “bentpipe timeline import” makes a time line in CSV from other formats.`); }
};
// What a key of a link names: a time line has a column t_s, and mahimahi's files have a number in each line.
const keyFor = (name, text) => {
  const lines = text.split(/\r?\n/).filter(line => line.trim()), [first = ""] = lines.filter(line => !line.trim().startsWith("#"));
  if (first.split(",").some(cell => /^"?t_s"?$/.test(cell.trim()))) return "timeline";
  if (first && lines.every(line => /^\s*\d+\s*$/.test(line))) return "opportunities";
  throw new Error(`${name} is neither a time line, which is CSV with a column t_s, nor a list of mahimahi's milliseconds. “bentpipe timeline import” makes a time line from JSON and other formats.`);
};
// Takes files. `link` is that of whose controls they are; otherwise the first link gets a time line.
const takeFiles = async (files, link) => {
  const said = [];
  let scenario = null, isFine = true;
  for (const file of files) {
    try {
      const text = await readFile(file);
      if (ending(file.name) === ".toml") { scenario = { name: file.name.slice(0, -5), text }; continue; }
      let { name } = file;
      while (shippedFiles.has(name)) name = `my-${name}`;
      const isNamed = arranged && namesFile(name, { text: arranged.text, changes: [] }), key = isNamed || files.length > 1 ? null : keyFor(name, text), of = link ?? Object.keys(arranged?.tree.link ?? {})[0];
      known.files[name] = text;
      // The threads have the files that were there when they began.
      start();
      if (key && of) {
        if (key === "timeline" && arranged.tree.link[of].opportunities !== undefined) remove(`link.${quotedKey(of)}.opportunities`);
        change(`link.${quotedKey(of)}.${key}`, JSON.stringify(name));
        said.push(`${name} is now the ${key === "timeline" ? "time line" : "list of opportunities (mahimahi)"} of link ${of}. It stays in this tab.`);
      } else {
        ask();
        said.push(`${name} is here, and stays in this tab. A scenario may name it.`);
      }
    } catch (error) { said.push(error.message); isFine = false; }
  }
  if (scenario) rewrite(scenario.name, scenario.text);
  listFiles();
  if (arranged) arrange(arranged);
  sayDrop(isFine, ...said);
};
const picked = link => {
  const field = node("input", { type: "file", accept: ".csv,.txt,.trace,.up,.down,.toml,.json,.parquet", "aria-label": `A file with a time line for link ${link}` });
  field.addEventListener("change", async () => { await takeFiles([...field.files], link); field.value = ""; });
  return field;
};
addEventListener("dragover", event => { if (event.dataTransfer?.types.includes("Files")) event.preventDefault(); });
addEventListener("drop", event => {
  if (!event.dataTransfer?.files.length) return;
  event.preventDefault();
  takeFiles([...event.dataTransfer.files], event.target.closest?.("[data-link]")?.dataset.link);
});
listFiles();

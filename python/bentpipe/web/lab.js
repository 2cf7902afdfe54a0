// The exercise beside the simulator (scripts/lab_page.py): its buttons, its answers.
const CASE_HEADS = SEED_HEADS.slice(1);
// All cases with all seeds, on all processors. The first flow of each run is in the table, as in `bentpipe compare`.
const runCases = (button, job) => {
  const place = button.parentElement.nextElementSibling?.matches(".batch") ? button.parentElement.nextElementSibling : node("div", { className: "batch" });
  button.parentElement.after(place);
  const requests = job.rows.flatMap(row => Array.from({ length: job.seeds }, (_, k) => ({
    text: row.text, name: "case.toml", samples: 1, changes: [["seed", String(1 + k)]],
  })));
  runInto(place, button, requests, reports => {
    const rows = job.rows.map((row, i) => [...job.columns.map(key => row.keys[key]), ...seedCells(reports.slice(i * job.seeds, (i + 1) * job.seeds).map(report => eachOnce(report.flows)[0]))]);
    const empty = CASE_HEADS.map((_, i) => i + job.columns.length).filter(i => rows.every(row => row[i] === "-"));
    const kept = row => row.filter((_, i) => !empty.includes(i));
    return [table(kept([...job.columns.map(key => ({ cc: "Algorithm", rate: "Loss rate", relay: "Proxy" })[key] ?? key), ...CASE_HEADS]), [["", rows.map(kept)]])];
  });
};

if (known.lab) {
  const store = { get: key => { try { return localStorage.getItem(`lab ${key}`) ?? ""; } catch { return ""; } }, set: (key, value) => { try { localStorage.setItem(`lab ${key}`, value); } catch { /* a page from a disk may have no place for it */ } } };
  // The code in the editor is an answer, too.
  const own = by("own"), printed = () => by("lab").querySelectorAll(".own-code").forEach(place => { place.textContent = own.value; });
  const edit = code => {
    if (![EXAMPLE, code, ""].includes(own.value) && !confirm("The editor has code of your own. Replace it?")) return;
    own.value = code;
    own.dispatchEvent(new Event("input"));
    by("own-group").open = true;
    own.scrollIntoView({ block: "nearest" });
  };
  own.value = store.get("code") || own.value;
  own.addEventListener("input", () => { store.set("code", own.value); printed(); });
  printed();
  by("lab").addEventListener("click", event => {
    const button = event.target.closest("button");
    if (button?.dataset.job) {
      const job = known.lab[+button.dataset.job];
      if (job.rows) { runCases(button, job); return; }
      if (job.code) { edit(job.code); return; }
      base = { name: job.name, text: job.open };
      changes = new Map(job.changes);
      ask();
      by("title").scrollIntoView({ block: "nearest" });
    } else if (button?.matches(".check")) {
      for (const input of button.parentElement.querySelectorAll("input")) {
        const { value, within, least = -Infinity, most = Infinity } = input.dataset, given = Number(input.value.replace(",", ".").replace(/\s/g, ""));
        const right = input.value.trim() !== "" && (value === undefined ? given >= +least && given <= +most : Math.abs(given - value) <= within * Math.abs(value));
        const output = input.parentElement.querySelector("output");
        output.textContent = right ? "right" : "not yet";
        output.className = right ? "right" : "wrong";
      }
    }
  });
  by("lab").querySelectorAll(".answer").forEach(answer => answer.querySelectorAll("input, textarea").forEach((field, i) => {
    const key = `${answer.dataset.question} ${i}`;
    field.value = store.get(key);
    field.addEventListener("input", () => store.set(key, field.value));
  }));
  document.querySelectorAll("#controls .group").forEach(group => { group.open = false; });
}

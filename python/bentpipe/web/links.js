// The controls of a link.
const linkControls = (name, only) => {
  const key = `link.${quotedKey(name)}`, of = answer => answer.tree.link[name];
  const ways = answer => answer.plan?.directions.filter(one => one.link === name) ?? [];
  const loss = answer => { const given = of(answer).loss; return Array.isArray(given) && given.length === 1 ? given[0] : given; };
  const queue = answer => of(answer).queue ?? {};
  const setQueue = (kind, limit) => `{ kind = "${kind}", limit = "${limit}" }`;
  const room = answer => typeof queue(answer).limit === "string" ? queue(answer).limit : "1 bdp";
  const inside = [
    slider("Rate", RATES, answer => {
      const [way] = ways(answer);
      if (!way) return [null, "-"];
      return typeof of(answer).rate === "string" ? [way.rate_bps, rate(way.rate_bps)] : [null, `changes over time, ${rate(way.rate_bps)} on average`];
    }, value => change(`${key}.rate`, rate(value).replaceAll(",", ""))),
    slider("Round-trip time", RTTS, answer => {
      const [way, back] = ways(answer);
      if (!way) return [null, "-"];
      const rtt = way.delay_s + back.delay_s, moves = of(answer).timeline || typeof of(answer).delay === "object";
      return moves ? [null, "changes over time"] : typeof of(answer).delay === "string" ? [rtt, time(rtt)] : [null, `${time(rtt)}, by the place of the satellite`];
    }, value => {
      if (arranged?.tree.link[name]?.reverse?.delay) changes.set(`${key}.reverse.delay`, `${+(value * 500).toPrecision(6)} ms`);
      change(`${key}.delay`, `${+(value * 500).toPrecision(6)} ms`);
    }),
    slider("Packet loss", LOSSES, answer => {
      const given = loss(answer);
      if (given === undefined || (Array.isArray(given) && !given.length)) return [0, "none"];
      if (given.kind === "packet-error" && typeof given.rate === "number") return [given.rate, given.rate ? percent(given.rate) : "none"];
      return [0, Array.isArray(given) ? given.map(one => one.kind).join(" and ") : `${given.kind}${typeof given.rate === "number" ? `, ${given.rate}` : ""}`];
    }, value => change(`${key}.loss`, `{ kind = "packet-error", rate = ${value} }`)),
    slider("Queue, rate × round trip", ROOMS, answer => {
      const [way] = ways(answer), said = queue(answer).limit ?? "1 bdp", bdp = /^([\d.]+)\s*bdp$/i.exec(said);
      const packets = way && (way.queue_packets !== null ? `${way.queue_packets.toLocaleString("en")} packets` : `${way.queue_bytes.toLocaleString("en")} bytes`);
      return [bdp ? +bdp[1] : 1, bdp && packets ? `${bdp[1]} (${packets})` : said];
    }, value => {
      const plain = arranged?.tree.link[name] && Object.keys(queue(arranged)).every(one => one === "kind" || one === "limit");
      plain ? change(`${key}.queue`, setQueue(queue(arranged).kind ?? "drop-tail", `${value} bdp`)) : change(`${key}.queue.limit`, `${value} bdp`);
    }),
  ];
  const kinds = node("select", { "aria-label": `Kind of the queue of ${name}` }, ...known.queues.map(one => node("option", { value: one.kind }, one.label)));
  const about = node("span", { className: "soft small" });
  kinds.addEventListener("change", () => change(`${key}.queue`, setQueue(kinds.value, arranged?.tree.link[name] ? room(arranged) : "1 bdp")));
  shows.push(answer => {
    kinds.value = queue(answer).kind ?? "drop-tail";
    about.textContent = known.queues.find(one => one.kind === kinds.value)?.about.split(". ")[0].replace(/\.?$/, ".") ?? "";
  });
  inside.push(node("div", { className: "slider" }, node("label", {}, "Kind of queue"), kinds, about));
  inside.push(...timelineParts(name, key));
  return node("div", { "data-link": name }, ...(only ? [] : [node("h3", { className: "of-link" }, name)]), ...inside);
};
// How the link changes over time: a file that comes with Bentpipe or that the reader gives, or a line that is drawn.
const DRAWN = "drawn";
const timelineParts = (name, key) => {
  const select = node("select", { "aria-label": `Time line of ${name}`, "data-at": `timeline ${name}` }), about = node("span", { className: "soft small" });
  const of = answer => answer.tree.link[name], fileOf = line => typeof line === "object" ? line.file : line;
  const lines = schema ? alternatives(alternatives(schema.$defs.Link)[0].properties.timeline) : [];
  const drawn = lines.find(one => one.properties?.generator), inside = drawn && members(`${key}.timeline`, drawn);
  const keys = node("details", { className: "params" }, node("summary", {}, "Keys of the drawn line"), ...(inside ? [inside.element] : []));
  select.addEventListener("change", () => {
    const { value } = select, { opportunities, timeline } = arranged.tree.link[name];
    if (value === "") { if (timeline !== undefined) remove(`${key}.timeline`); if (opportunities !== undefined) remove(`${key}.opportunities`); return; }
    change(`${key}.timeline`, value === DRAWN ? toml(exampleOf(drawn)) : JSON.stringify(value.slice(2)));
  });
  shows.push(answer => {
    const line = of(answer).timeline, file = fileOf(line) ?? of(answer).opportunities;
    const names = [...new Set([...Object.keys(known.files).filter(one => one.endsWith(".csv") || !shippedFiles.has(one)), ...(file ? [file] : [])])];
    const entries = some => some.map(one => node("option", { value: `f ${one}` }, one)), own = names.filter(one => !shippedFiles.has(one));
    select.replaceChildren(node("option", { value: "" }, "none"), ...(drawn ? [node("option", { value: DRAWN }, "drawn: a Starlink access link")] : []),
      node("optgroup", { label: "Files of Bentpipe" }, ...entries(names.filter(one => shippedFiles.has(one)))), ...(own.length ? [node("optgroup", { label: "Your files" }, ...entries(own))] : []));
    select.value = line?.generator ? DRAWN : file ? `f ${file}` : "";
    about.textContent = line === undefined && file ? "The file gives the instants at which the link may send (mahimahi)." : "";
    keys.hidden = !line?.generator;
    inside?.show(line?.generator ? line : undefined, answer);
  });
  return [node("div", { className: "slider" }, node("label", {}, "Time line"), select, about), keys,
    node("div", { className: "slider" }, node("label", {}, "A time line of yours (CSV, mahimahi)"), picked(name))];
};

// The controls of a link.
const quotedKey = name => /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
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
  return node("div", {}, ...(only ? [] : [node("h3", { className: "of-link" }, name)]), ...inside);
};

"use strict";
// The page that simulates (web/page.html). A scenario is a text and changes of single values in it; the module
// in the worker makes the changes, runs the text, and answers with a report and samples for the charts.
document.addEventListener("DOMContentLoaded", async () => {
  const { Chart, all } = globalThis.bentpipe, by = id => document.getElementById(id);
  const node = (tag, given = {}, ...inside) => {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(given)) key in made ? (made[key] = value) : made.setAttribute(key, value);
    made.append(...inside);
    return made;
  };
  // Text of an element: gzip in base 85, with the digits of RFC 1924 but a point for "<" (web/__init__.py).
  const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;.=>?@^_`{|}~";
  const digit = new Uint8Array(128);
  [...DIGITS].forEach((one, i) => { digit[one.charCodeAt(0)] = i; });
  const unpacked = async id => {
    const text = by(id).textContent, { length } = text, words = new DataView(new ArrayBuffer(4 * Math.ceil(length / 5)));
    for (let i = 0; i < length; i += 5) {
      let word = 0;
      for (let k = i; k < i + 5; k++) word = 85 * word + (k < length ? digit[text.charCodeAt(k)] : 84);
      words.setUint32(i / 5 * 4, word);
    }
    const packed = new Uint8Array(words.buffer, 0, Math.floor(length * 4 / 5));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  };
  const known = JSON.parse(new TextDecoder().decode(await unpacked("known")));
  const controllers = new Map(known.controllers.map(one => [one.id, one]));
  const scenarios = new Map(known.scenarios.map(one => [one.name, one]));

  // Numbers with three digits, and the prefixes of rates and times.
  const digits = (value, most = 3) => +value.toPrecision(most) >= 1000 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(most));
  const rate = bps => bps >= 1e9 ? `${digits(bps / 1e9, 4)} Gbit/s` : bps >= 1e6 ? `${digits(bps / 1e6, 4)} Mbit/s` : `${digits(bps / 1e3, 4)} kbit/s`;
  const time = s => s >= 1 ? `${digits(s, 4)} s` : `${digits(s * 1e3, 4)} ms`;
  const percent = part => `${digits(100 * part)} %`;
  const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F7F7F", "#8C564B"];
  // Limits have a colour that no controller has.
  const LIMIT = "#8A5A2B", NEUTRAL = "#7F7F7F", SAMPLES = 600, MOST_CURVES = 8, LONG_MS = 700;

  // Values of the sliders.
  const series = (from, to, ...of) => {
    const made = [];
    for (let k = from; k <= to; k++) for (const one of of) made.push(+(one * 10 ** k).toPrecision(3));
    return made;
  };
  const RATES = [...series(5, 8, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8), 1e9];
  const RTTS = [...series(-3, -2, 1, 2, 3, 5, 7.5), ...series(-1, -1, 1, 1.25, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8, 9), 1, 1.25, 1.5, 2];
  const LOSSES = [0, ...series(-6, -2, 1, 2, 5), 0.1];
  const ROOMS = [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8];
  const DURATIONS = [5, 10, 20, 30, 45, 60, 90, 120, 180, 240, 300, 480, 600, 900, 1200, 1800, 3600];

  // ---- The state: a text, changes in it, and what the last run gave.
  let base = { name: "geo", text: scenarios.get("geo").text }, changes = new Map(), last = null, kept = null, shape = "";
  const shippedText = () => scenarios.get(base.name)?.text === base.text;
  const change = (key, value) => {
    // The last change of a key counts, and one of a whole table replaces those inside it.
    for (const other of [...changes.keys()]) if (other === key || other.startsWith(`${key}.`)) changes.delete(other);
    changes.set(key, value);
    ask();
  };

  // Compressed text in a link.
  const through = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
  const coded = async text => btoa(String.fromCharCode(...await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw")))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const decoded = async code => new TextDecoder().decode(await through(Uint8Array.from(atob(code.replaceAll("-", "+").replaceAll("_", "/")), one => one.charCodeAt(0)), new DecompressionStream("deflate-raw")));

  let ours = "";
  const remember = async () => {
    const said = new URLSearchParams(shippedText() ? { scenario: base.name } : { text: await coded(base.text) });
    for (const [key, value] of changes) said.append(key, value);
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
      changes = new Map(said.filter(([key]) => key !== "scenario" && key !== "text"));
      return true;
    } catch (error) {
      wrong([`the link of this page: ${error.message}`]);
      return false;
    }
  };

  // ---- The worker. While it simulates, only the newest request waits; a long run is ended for it.
  const wasm = WebAssembly.compile(await unpacked("module"));
  const source = URL.createObjectURL(new Blob([by("worker").textContent], { type: "text/javascript" }));
  let worker = null, running = null, waiting = null, count = 0, ready = false;
  const start = async () => {
    worker?.terminate();
    ready = false;
    running = null;
    const mine = worker = new Worker(source);
    mine.onmessage = ({ data }) => {
      if (mine !== worker) return;
      if (data.ready) ready = true;
      else if (data.part !== undefined) {
        by("state").textContent = `Simulating: ${Math.round(100 * data.part)} %.`;
        by("stop").hidden = false;
        return;
      } else {
        const { asked, keeps } = running;
        running = null;
        by("stop").hidden = true;
        if (data.failed) { failed(data.failed); return; }
        if (keeps) { base = { name: base.name, text: data.answer.text }; changes = new Map(); remember(); }
        show(data, asked);
      }
      next();
    };
    mine.onerror = event => { event.preventDefault(); failed(event.message); };
    mine.postMessage({ module: await wasm, files: known.files });
  };
  const failed = said => { wrong([said]); by("state").textContent = "This run has failed."; start(); };
  const next = () => {
    if (!ready || running || !waiting) return;
    running = waiting;
    waiting = null;
    running.began = performance.now();
    worker.postMessage({ id: ++count, request: running.request });
  };
  const ask = () => {
    const request = { text: base.text, name: `${base.name}.toml`, changes: [...changes], samples: SAMPLES };
    waiting = { request, asked: performance.now() };
    remember();
    if (running && performance.now() - running.began > LONG_MS) start().then(next);
    next();
  };
  by("stop").addEventListener("click", () => { waiting = null; by("stop").hidden = true; by("state").textContent = "Stopped. The charts show the run before."; start(); });

  const wrong = lines => { by("wrong").hidden = !lines.length; by("wrong").textContent = lines.join("\n"); };

  // ---- An answer.
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
    const sets = [...changes].map(([key, value]) => ` \\\n    --set ${quoted(`${key}=${value}`)}`).join("");
    by("command").textContent = `bentpipe run ${shippedText() ? base.name : `${base.name}.toml`}${sets}`;
    by("named").textContent = shippedText() ? "" : `The command expects it in ${base.name}.toml, without the changes by sliders.`;
  };

  // The samples as columns of each connection and of each direction, and the limits of the first path.
  const sampled = (answer, columns) => {
    const [nf, nl] = answer.rows, { plan } = answer;
    const column = (i, of, from) => columns.subarray(from + i * of, from + (i + 1) * of);
    const [t, flow, cwnd, , srtt, delivered] = [0, 1, 2, 3, 4, 5].map(i => column(i, nf, 0));
    const [lt, link, queue, bps, delay] = [0, 1, 2, 3, 4].map(i => column(i, nl, 6 * nf));
    const flows = new Map(), links = new Map();
    const finite = x => Number.isFinite(x) ? x : null;
    for (let k = 0; k < nf; k++) {
      let one = flows.get(flow[k]);
      if (!one) flows.set(flow[k], one = { t: [], cwnd: [], rtt: [], bytes: [] });
      one.t.push(t[k]); one.cwnd.push(finite(cwnd[k])); one.rtt.push(Number.isFinite(srtt[k]) ? srtt[k] * 1e3 : null); one.bytes.push(delivered[k]);
    }
    for (let k = 0; k < nl; k++) {
      let one = links.get(link[k]);
      if (!one) links.set(link[k], one = { t: [], queue: [], bps: [], delay: [] });
      one.t.push(lt[k]); one.queue.push(queue[k]); one.bps.push(bps[k]); one.delay.push(delay[k]);
    }
    for (const one of flows.values()) {
      const step = one.t.length > 1 ? one.t[1] - one.t[0] : 1, back = Math.max(1, Math.round(Math.max(1, 4 * step) / step));
      one.goodput = one.bytes.map((bytes, k) => k < back ? (k ? bytes * 8e-6 / (one.t[k] - one.t[0]) : null) : (bytes - one.bytes[k - back]) * 8e-6 / (one.t[k] - one.t[k - back]));
    }
    const first = plan.flows.find(one => !one.is_short) ?? plan.flows[0], limits = { t: [], capacity: [], propagation: [], window: [] };
    const times = links.get(0)?.t ?? [];
    for (let k = 0; k < times.length; k++) {
      const capacity = Math.min(...first.path.map(id => links.get(id).bps[k]));
      // In an outage, which the charts show, there is no limit to be drawn.
      const up = capacity > 0, rtt = [...first.path, ...first.ack_path].reduce((sum, id) => sum + links.get(id).delay[k], first.access_s);
      limits.t.push(times[k]); limits.capacity.push(up ? capacity / 1e6 : null); limits.propagation.push(rtt * 1e3);
      limits.window.push(up && first.packet_bytes ? capacity * rtt / 8 / first.packet_bytes : null);
    }
    // The direction of the path with the least capacity has the queue that counts.
    const bottleneck = first.path.reduce((least, id) => plan.directions[id].rate_bps < plan.directions[least].rate_bps ? id : least, first.path[0]);
    return { flows, links, limits, first, bottleneck };
  };

  // ---- The charts.
  const curve = (label, colour, x, y, more = {}) => ({ label, colour, kind: "line", marker: "o", dashes: [], x, y, ...more });
  const none = curve("no flow", NEUTRAL, [], []);
  const axis = label => ({ label, log: false, names: [], least: 0, most: null });
  const TIME = { ...axis("time, s") };
  const LABELS = { goodput: "goodput, Mbit/s", cwnd: "congestion window, segments", rtt: "smoothed RTT, ms", queue: "queue, packets" };
  const charts = Object.entries(LABELS).map(([name, label]) => {
    const figure = by(`chart-${name}`), drawn = new Chart(figure, { x: TIME, y: axis(label), curves: [none], linked: true });
    drawn.height = () => 260;
    all.set(figure, drawn);
    drawn.start();
    return [name, label, drawn];
  });

  // Colours of flows: that of the controller, unless an earlier flow has it.
  const colours = answer => {
    const used = new Set();
    return answer.names.map((_, i) => {
      const table = answer.plan.flows[i]?.table, cc = answer.tree?.flow?.[table]?.cc, id = String(cc?.name ?? cc ?? "").toLowerCase();
      const own = controllers.get(id)?.colour.toUpperCase();
      const found = [own, ...COLOURS].find(one => one && !used.has(one)) ?? COLOURS[i % COLOURS.length];
      used.add(found);
      return found;
    });
  };

  const draw = () => {
    const shown = name => [last, kept].filter(Boolean).flatMap(run => {
      const { flows } = run.samples, colour = colours(run), before = run === kept;
      const longest = [...flows].filter(([i]) => !run.plan.flows[i]?.is_short).sort(([, a], [, b]) => b.bytes.at(-1) - a.bytes.at(-1)).slice(0, MOST_CURVES).sort(([a], [b]) => a - b);
      const more = before ? { dashes: [2, 2] } : {}, label = i => run.names[i] + (before ? ", kept" : "");
      return longest.map(([i, one]) => curve(label(i), colour[i], one.t, one[name], more));
    });
    const { limits, links, bottleneck } = last.samples, { plan } = last, room = plan.directions[bottleneck];
    const limit = (label, y) => curve(label, LIMIT, limits.t, y, { kind: "steps", dashes: [5, 3] });
    const queues = [last, kept].filter(Boolean).flatMap((run, n) => run.report.links.flatMap((link, i) => {
      if (!link.data_flows || !run.samples.links.has(i)) return [];
      const one = run.samples.links.get(i), crossed = run.report.links.filter(other => other.data_flows).length;
      const label = (crossed > 1 ? `${link.name}/${link.direction}` : `before ${link.name}`) + (n ? ", kept" : "");
      return [curve(label, COLOURS[i % COLOURS.length], one.t, one.queue, n ? { dashes: [2, 2] } : {})];
    }));
    const packets = room.queue_packets ?? Math.floor(room.queue_bytes / (last.samples.first.packet_bytes || 1500));
    const highest = Math.max(0, ...links.get(bottleneck).queue);
    const full = packets <= 4 * highest ? [curve("room", LIMIT, [0, plan.duration_s], [packets, packets], { dashes: [5, 3] })] : [];
    const of = {
      goodput: [...shown("goodput"), limit("capacity", limits.capacity)],
      cwnd: [...shown("cwnd"), limit("bandwidth × delay", limits.window)],
      rtt: [...shown("rtt"), limit("propagation", limits.propagation)],
      queue: [...queues, ...full],
    };
    const bands = plan.directions.flatMap(one => one.outages_s), marks = plan.directions.flatMap(one => one.handovers_s).filter(at => at <= plan.duration_s);
    const x = { ...TIME, most: plan.duration_s };
    for (const [name, label, drawn] of charts)
      drawn.update({ x, y: axis(label), curves: of[name].length ? of[name] : [none], linked: true, bands, marks: marks.length > 200 ? [] : [...new Set(marks)] });
  };

  // ---- The tables.
  const table = (heads, groups) => node("div", { className: "wide" }, node("table", {},
    node("thead", {}, node("tr", {}, ...heads.map(head => node("th", { scope: "col" }, head)))),
    ...groups.map(([kind, rows]) => node("tbody", { className: kind }, ...rows.map(([first, ...rest]) =>
      node("tr", {}, node("th", { scope: "row" }, first), ...rest.map((cell, i) => node("td", { className: "number", "data-head": heads[i + 1] }, cell))))))));
  const dash = value => value === null || value === undefined ? "-" : value;
  const flowRows = (run, before) => run.report.flows.map(flow => {
    const id = controllers.get(flow.cc), sent = flow.sent_packets;
    return [flow.name + (before ? ", kept" : ""), id?.label ?? flow.cc, digits(flow.goodput_bps / 1e6), dash(flow.rtt_p50_s && digits(flow.rtt_p50_s * 1e3)),
      dash(flow.rtt_p95_s && digits(flow.rtt_p95_s * 1e3)), sent ? digits(100 * flow.retransmitted_packets / sent) : "-", String(flow.timeouts), dash(flow.completion_s && time(flow.completion_s))];
  });
  const linkRows = (run, before) => run.report.links.map(link => [`${link.name}/${link.direction}${before ? ", kept" : ""}`, rate(link.rate_bps), digits(100 * link.utilisation),
    link.dropped_queue.toLocaleString("en"), link.dropped_error.toLocaleString("en"), digits(link.queue_mean_packets), link.queue_max_packets.toLocaleString("en")]);
  const summarise = () => {
    const groups = rows => [["", rows(last, false)], ...(kept ? [["kept", rows(kept, true)]] : [])];
    const goodputs = last.report.flows.filter(flow => !flow.half).map(flow => flow.goodput_bps), sum = goodputs.reduce((a, b) => a + b, 0);
    const squares = goodputs.reduce((a, b) => a + b * b, 0);
    const jain = goodputs.length > 1 && squares ? `Together ${rate(sum)}; Jain's index ${(sum * sum / goodputs.length / squares).toFixed(3)}. ` : "";
    by("summary").replaceChildren(
      table(["Flow", "Controller", "Goodput, Mbit/s", "RTT, median, ms", "RTT, 95 %, ms", "Sent again, %", "Timeouts", "Complete after"], groups(flowRows)),
      node("p", { className: "small soft" }, `${jain}One run with seed ${last.report.seed}: other seeds give other numbers.`),
      table(["Link", "Rate", "In use, %", "Dropped by the queue", "Lost", "Queue, mean, packets", "Queue, most"], groups(linkRows)));
  };

  // ---- The controls. They are made anew if the scenario has another form, and else only show other values.
  let shows = [];
  const nearest = (values, value) => values.reduce((best, one, i) => Math.abs(Math.log((one || 1e-9) / (value || 1e-9))) < Math.abs(Math.log((values[best] || 1e-9) / (value || 1e-9))) ? i : best, 0);
  let made = 0;
  // `now(answer)` gives [value, words], or [null, words] for what cannot be moved here.
  const slider = (label, values, now, move) => {
    const id = `slider-${++made}`, input = node("input", { type: "range", id, min: 0, max: values.length - 1, step: 1 }), output = node("output", {});
    output.setAttribute("for", id);
    const row = node("div", { className: "slider" }, node("label", { htmlFor: id }, label, output), input);
    input.addEventListener("input", () => move(values[+input.value]));
    shows.push(answer => {
      const [value, words] = now(answer);
      output.textContent = words;
      row.classList.toggle("fixed", value === null);
      input.hidden = value === null;
      if (value !== null && document.activeElement !== input) input.value = nearest(values, value);
      input.setAttribute("aria-valuetext", words);
    });
    return row;
  };

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
        if (last?.tree.link[name]?.reverse?.delay) changes.set(`${key}.reverse.delay`, `${+(value * 500).toPrecision(6)} ms`);
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
        const plain = last?.tree.link[name] && Object.keys(queue(last)).every(one => one === "kind" || one === "limit");
        plain ? change(`${key}.queue`, setQueue(queue(last).kind ?? "drop-tail", `${value} bdp`)) : change(`${key}.queue.limit`, `${value} bdp`);
      }),
    ];
    const kinds = node("select", { "aria-label": `Kind of the queue of ${name}` }, ...known.queues.map(one => node("option", { value: one.kind }, one.label)));
    const about = node("span", { className: "soft small" });
    kinds.addEventListener("change", () => change(`${key}.queue`, setQueue(kinds.value, last?.tree.link[name] ? room(last) : "1 bdp")));
    shows.push(answer => {
      kinds.value = queue(answer).kind ?? "drop-tail";
      about.textContent = known.queues.find(one => one.kind === kinds.value)?.about.split(". ")[0].replace(/\.?$/, ".") ?? "";
    });
    inside.push(node("div", { className: "slider" }, node("label", {}, "Kind of queue"), kinds, about));
    return node("div", {}, ...(only ? [] : [node("h3", { className: "of-link" }, name)]), ...inside);
  };

  const ccOf = (answer, i) => { const cc = answer.tree.flow[i].cc; return cc === undefined ? null : typeof cc === "string" ? { name: cc.toLowerCase() } : { ...cc, name: String(cc.name).toLowerCase() }; };
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
      const cc = ccOf(last, i), text = field.value;
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
    const select = node("select", { "aria-label": `Controller of flow ${i + 1}` }, ...[...controllers.values()].sort((a, b) => a.label.localeCompare(b.label)).map(one => node("option", { value: one.id }, one.label)));
    const about = node("p", { className: "soft small" }), { params = [] } = controllers.get(cc.name) ?? {};
    select.addEventListener("change", () => setCc(i, { name: select.value }));
    shows.push(now => { const id = ccOf(now, i)?.name; select.value = id; about.textContent = controllers.get(id)?.about ?? ""; });
    const inside = [head, select, about];
    if (params.length) inside.push(node("details", { className: "params" }, node("summary", {}, params.length === 1 ? "1 parameter" : `${params.length} parameters`), ...params.map(param => paramField(i, param))));
    if (!flow.traffic || flow.traffic.kind === "bulk")
      inside.push(slider("Number of such flows", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], now => [now.tree.flow[i].count ?? 1, String(now.tree.flow[i].count ?? 1)], value => change(`flow.${i}.count`, String(value))));
    return node("div", { className: "flow" }, ...inside);
  };

  const arrange = answer => {
    const { tree } = answer;
    if (typeof tree?.link !== "object" || !Array.isArray(tree.flow)) return;
    const form = JSON.stringify([base.name, Object.keys(tree.link), tree.flow.map((flow, i) => [flow.name, flow.traffic?.kind, ccOf(answer, i)?.name])]);
    if (form !== shape) {
      shape = form;
      shows = [];
      const names = Object.keys(tree.link);
      by("links").replaceChildren(...names.map(name => linkControls(name, names.length === 1)));
      by("flows").replaceChildren(...tree.flow.map((_, i) => flowControls(answer, i)));
      by("run").replaceChildren(
        slider("Duration", DURATIONS, now => now.plan ? [now.plan.duration_s, time(now.plan.duration_s)] : [null, "-"], value => change("duration", `${value} s`)),
        slider("Seed of the random numbers", Array.from({ length: 50 }, (_, k) => k + 1), now => [now.tree.seed ?? 1, String(now.tree.seed ?? 1)], value => change("seed", String(value))));
    }
    shows.forEach(one => one(answer));
    document.querySelectorAll("#scenarios input").forEach(input => { input.checked = input.value === base.name; });
  };

  // Another text takes the place of the text and its changes.
  const rewrite = (name, text) => { base = { name, text }; changes = new Map(); ask(); };
  // The module removes an item, and what it answers is the new text.
  const remove = key => {
    const request = { text: base.text, name: `${base.name}.toml`, changes: [...changes, [key, null]], samples: SAMPLES };
    waiting = { request, asked: performance.now(), keeps: true };
    next();
  };
  const choose = name => rewrite(name, scenarios.get(name).text);

  by("scenarios").append(...known.scenarios.map(one => node("label", {}, node("input", { type: "radio", name: "scenario", value: one.name }), node("b", {}, one.name), one.title)));
  by("scenarios").addEventListener("change", event => choose(event.target.value));
  by("search").addEventListener("input", () => {
    const words = by("search").value.toLowerCase().split(/\s+/);
    document.querySelectorAll("#scenarios label").forEach((label, i) => {
      const { name, title, about } = known.scenarios[i], text = `${name} ${title} ${about}`.toLowerCase();
      label.hidden = !words.every(word => text.includes(word));
    });
  });
  by("controls").addEventListener("submit", event => event.preventDefault());
  by("add").addEventListener("click", () => {
    if (!last) return;
    const { tree, text } = last, first = tree.flow[0], taken = new Set(tree.flow.flatMap((flow, i) => [flow.name, ccOf(last, i)?.name]));
    const cc = ["cubic", "bbr", "reno", "star", "vegas", "hybla", "westwood-plus", "copa"].find(one => !taken.has(one)) ?? "cubic";
    let name = cc;
    for (let k = 2; taken.has(name); k++) name = `${cc}-${k}`;
    const more = first.extra_delay === undefined ? "" : `extra_delay = ${toml(first.extra_delay)}\n`;
    rewrite(base.name, `${text.replace(/\n*$/, "\n")}\n[[flow]]\nname = "${name}"\ncc = "${cc}"\npath = ${JSON.stringify(first.path)}\n${more}`);
  });
  by("keep").addEventListener("click", () => {
    if (!last) return;
    kept = kept ? null : last;
    by("keep").textContent = kept ? "Drop the kept run" : "Keep beside the next run";
    if (last) { draw(); summarise(); }
  });
  by("original").addEventListener("click", () => choose(scenarios.has(base.name) ? base.name : "geo"));
  let typing = 0;
  by("text").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => rewrite(base.name, by("text").value), 300); });
  const copied = async (button, text) => {
    const words = button.textContent;
    try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; } catch { button.textContent = "The browser does not allow it"; }
    setTimeout(() => { button.textContent = words; }, 1500);
  };
  by("copy").addEventListener("click", () => copied(by("copy"), by("text").value));
  by("share").addEventListener("click", async () => { await remember(); copied(by("share"), location.href); });
  by("download").addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([by("text").value], { type: "application/toml" }));
    node("a", { href: url, download: `${base.name}.toml` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  });
  by("foot").textContent = `Bentpipe ${known.version}. One scenario and one seed give the same bits here and on the command line. A link to this page holds the scenario and its changes, and nothing is sent to anyone.`;
  // On a phone the charts are nearer if little is unfolded.
  if (matchMedia("(max-width: 40rem)").matches) document.querySelectorAll(".group:not(#links-group)").forEach(group => { group.open = false; });

  addEventListener("hashchange", async () => { if (await recall()) ask(); });
  await recall();
  start();
  ask();
});

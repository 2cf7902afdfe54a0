// Charts as pictures: SVG as text, and PNG from that. Black on white, with title, axes, legend, and where it is from.
const escaped = text => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
const WIDE = 760, TALL = 420;
// Round numbers from `low` to `high`, about `count` of them.
const ticks = (low, high, count) => {
  const rough = (high - low) / count, unit = 10 ** Math.floor(Math.log10(rough)), step = unit * [1, 2, 5, 10].find(one => one * unit >= rough), made = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) made.push(+(k * step).toPrecision(12));
  return made;
};
// Where the picture is from: the scenario, its changes, the seed.
const origin = () => `${by("title").textContent}. Seed ${last.report.seed}, ${time(last.plan.duration_s)}. ${by("command").textContent.replaceAll(/ \\\n\s+/g, " ")}. Bentpipe ${known.version}.`;
const wrapped = (text, most) => text.split(" ").reduce((lines, word) => { if ((lines.at(-1) + word).length < most) lines[lines.length - 1] += `${word} `; else lines.push(`${word} `); return lines; }, [""]);

const chartSvg = (drawn, top) => {
  const { given } = drawn, [x0, x1] = drawn.zoom?.x ?? drawn.whole("x"), [y0, y1] = drawn.zoom?.y ?? drawn.whole("y");
  const left = 74, right = WIDE - 16, high = 40, low = TALL - 112, shown = given.curves.filter((curve, i) => drawn.shown[i] && curve.x.length);
  const px = x => left + (x - x0) / (x1 - x0) * (right - left), py = y => low - (y - y0) / (y1 - y0) * (low - high), at = value => value.toFixed(1);
  const text = (x, y, words, more = "") => `<text x="${at(x)}" y="${at(y)}" ${more}>${escaped(words)}</text>`, label = value => Math.abs(value) >= 1000 ? value.toLocaleString("en") : String(value);
  const parts = [], id = `clip${top}`;
  for (const [from, to] of given.bands ?? []) if (to > x0 && from < x1) parts.push(`<rect x="${at(px(Math.max(from, x0)))}" y="${high}" width="${at(Math.max(1, px(Math.min(to, x1)) - px(Math.max(from, x0))))}" height="${low - high}" fill="#ddd"/>`);
  for (const mark of given.marks ?? []) if (mark >= x0 && mark <= x1) parts.push(`<path d="M${at(px(mark))} ${high}V${low}" stroke="#888" stroke-dasharray="1 3"/>`);
  for (const y of ticks(y0, y1, 5)) parts.push(`<path d="M${left} ${at(py(y))}H${right}" stroke="#ddd"/>`, text(left - 6, py(y) + 4, label(y), 'text-anchor="end"'));
  for (const x of ticks(x0, x1, 8)) parts.push(`<path d="M${at(px(x))} ${low}v5" stroke="#000"/>`, text(px(x), low + 18, label(x), 'text-anchor="middle"'));
  for (const { x, y, kind, colour, dashes } of shown) {
    let path = "", open = false;
    for (let k = 0; k < x.length; k++) {
      if (x[k] === null || y[k] === null) { open = false; continue; }
      path += open ? `${kind === "steps" ? `H${at(px(x[k]))}V` : `L${at(px(x[k]))} `}${at(py(y[k]))}` : `M${at(px(x[k]))} ${at(py(y[k]))}`;
      open = true;
    }
    parts.push(`<path clip-path="url(#${id})" d="${path}" fill="none" stroke="${colour}" stroke-width="1.6" stroke-dasharray="${dashes.map(one => one * 1.6).join(" ")}"/>`);
  }
  let along = left, line = low + 58;
  for (const { label: name, colour, dashes } of shown) {
    const long = 34 + 7 * name.length;
    if (along + long > right && along > left) { along = left; line += 16; }
    parts.push(`<path d="M${at(along)} ${line - 4}h22" stroke="${colour}" stroke-width="2" stroke-dasharray="${dashes.map(one => one * 1.6).join(" ")}"/>`, text(along + 27, line, name));
    along += long + 12;
  }
  const title = [...drawn.figure.querySelector("figcaption").childNodes].filter(one => one.nodeName !== "NOSCRIPT").map(one => one.textContent).join("").trim().replace(/\s+/g, " ");
  return `<g transform="translate(0 ${top})"><clipPath id="${id}"><rect x="${left}" y="${high}" width="${right - left}" height="${low - high}"/></clipPath>${text(left, 24, title, 'font-size="15" font-weight="600"')}${parts.join("")}` +
    `<path d="M${left} ${high}V${low}H${right}" fill="none" stroke="#000"/>${text((left + right) / 2, low + 36, given.x.label, 'text-anchor="middle"')}<text transform="translate(16 ${(high + low) / 2}) rotate(-90)" text-anchor="middle">${escaped(given.y.label)}</text></g>`;
};
// The charts in one picture, one below the other.
const pictureSvg = some => {
  const lines = wrapped(origin(), 118), tall = TALL * some.length + 16 * lines.length + 12;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDE}" height="${tall}" viewBox="0 0 ${WIDE} ${tall}" font-family="Arial, Liberation Sans, sans-serif" font-size="12"><rect width="${WIDE}" height="${tall}" fill="#fff"/>` +
    some.map((drawn, i) => chartSvg(drawn, i * TALL)).join("") + lines.map((line, i) => `<text x="16" y="${TALL * some.length + 12 + 16 * i}" font-size="11" fill="#444">${escaped(line.trim())}</text>`).join("") + "</svg>\n";
};
const picturePng = async svg => {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = node("canvas", { width: 2 * image.width, height: 2 * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise(done => canvas.toBlob(done, "image/png"));
};

// The globe and the flat map: where things are on the canvas, and what is drawn.
const EARTH_KM = 6371, DEGREES = 180 / Math.PI;
// Colours of a busy laser, from idle to full; lighter is busier in the dark.
const RAMP = { light: ["#e8c547", "#e58e26", "#d1491f", "#9b1b1b", "#4a0d1f"], dark: ["#6b5a1e", "#a8641c", "#dd6b2c", "#f7a35c", "#fff0c2"] };
const BUSY = 12;
const darkly = matchMedia("(prefers-color-scheme: dark)");
const view = { globe: true, lon: 0, lat: 20, zoom: 1 };
// The height that the picture holds: the highest position at the start.
const highest = Math.max(...Array.from({ length: FIRST }, (_, one) => Math.hypot(...place(one, [[0, 1]]))));

const mixed = share => {
  const ramp = RAMP[darkly.matches ? "dark" : "light"], at = share * (ramp.length - 1), i = Math.min(Math.floor(at), ramp.length - 2);
  const parts = hex => [1, 3, 5].map(k => parseInt(hex.slice(k, k + 2), 16)), [a, b] = [parts(ramp[i]), parts(ramp[i + 1])];
  return `rgb(${a.map((one, k) => Math.round(one + (at - i) * (b[k] - one)))})`;
};

// The projection of now: `at` gives x, y and whether the Earth hides it; `scale` is pixels per radius or degree.
const projection = (wide, tall) => {
  const x0 = wide / 2, y0 = tall / 2, sin = angle => Math.sin(angle / DEGREES), cos = angle => Math.cos(angle / DEGREES);
  if (view.globe) {
    const scale = view.zoom * (Math.min(wide, tall) / 2 - 6) * EARTH_KM / highest, [sl, cl, sp, cp] = [sin(view.lon), cos(view.lon), sin(view.lat), cos(view.lat)];
    const turned = ([x, y, z]) => [cl * y - sl * x, cp * z - sp * (cl * x + sl * y), cp * (cl * x + sl * y) + sp * z];
    const at = km => {
      const [east, north, out] = turned(km), far = scale / EARTH_KM;
      return [x0 + far * east, y0 - far * north, out < 0 && east * east + north * north < EARTH_KM * EARTH_KM];
    };
    return { at, turned, scale, x0, y0, pieces: 1 };
  }
  const scale = view.zoom * wide / 360, most = Math.max(0, 90 - tall / 2 / scale), lat = Math.max(-most, Math.min(most, view.lat));
  const at = ([x, y, z]) => {
    const lon = Math.atan2(y, x) * DEGREES - view.lon;
    return [x0 + scale * (lon - 360 * Math.round(lon / 360)), y0 - scale * (Math.atan2(z, Math.hypot(x, y)) * DEGREES - lat), false];
  };
  return { at, scale, x0, y0, lat, pieces: 6 };
};

// A straight leg as a line on the canvas, in pieces; the far side of the map begins a new line. `hidden`: those alone
// that the Earth hides, or those alone that it does not.
const leg = (to, how, a, b, pieces, wide, hidden = false) => {
  let before = null, drawn = false;
  for (let i = 0; i <= pieces; i++) {
    const now = how.at(a.map((one, k) => one + (b[k] - one) * i / pieces));
    const joined = before && now[2] === hidden && before[2] === hidden && Math.abs(now[0] - before[0]) < wide / 2;
    if (joined) { if (!drawn) to.moveTo(before[0], before[1]); to.lineTo(now[0], now[1]); }
    drawn = joined;
    before = now;
  }
};

// Land on the globe. Points behind it are drawn in to the rim, which keeps what is filled, unless the point opposite
// to the centre lies in the polygon: then all outside the line is filled, and the disc with it.
const land = (to, how) => {
  const opposite = [view.lon > 0 ? view.lon - 180 : view.lon + 180, -view.lat];
  for (const shape of coast) {
    const points = shape.around.map(how.turned);
    if (!points.some(point => point[2] > 0)) continue;
    to.beginPath();
    points.forEach(([east, north, out], i) => {
      const far = out < 0 ? 1 / Math.max(Math.hypot(east, north), 1e-9) : 1;
      to[i ? "lineTo" : "moveTo"](how.x0 + how.scale * far * east, how.y0 - how.scale * far * north);
    });
    if (holds(shape.degrees, opposite)) { to.closePath(); to.moveTo(how.x0 + how.scale, how.y0); to.arc(how.x0, how.y0, how.scale, 0, 2 * Math.PI); }
    to.fillStyle = ink(shape.lake ? "--sea" : "--land");
    to.fill("evenodd");
  }
};
const holds = (points, [x, y]) => {
  let inside = false;
  for (let i = 0, k = points.length - 1; i < points.length; k = i++) {
    const [xi, yi] = points[i], [xk, yk] = points[k];
    if (yi > y !== yk > y && x < (xk - xi) * (y - yi) / (yk - yi) + xi) inside = !inside;
  }
  return inside;
};
const flatLand = (to, how, wide) => {
  for (const shape of coast) {
    to.fillStyle = ink(shape.lake ? "--sea" : "--land");
    for (const turn of [-360, 0, 360]) {
      const xs = shape.degrees.map(([lon]) => how.x0 + how.scale * (lon - view.lon + turn));
      if (!xs.some(x => x >= 0 && x <= wide)) continue;
      to.beginPath();
      shape.degrees.forEach(([, lat], i) => to[i ? "lineTo" : "moveTo"](xs[i], how.y0 - how.scale * (lat - how.lat)));
      to.fill();
    }
  }
};

// Draws an instant. Answers with the nodes that are to be seen, [node, x, y], for the pointer.
const drawSky = (canvas, t, { ends, path, lasers }) => {
  const [to, wide, tall] = fitted(canvas), how = projection(wide, tall), weights = cubic(t), small = wide < 500;
  to.save();
  to.beginPath(); to.rect(0, 0, wide, tall); to.clip();
  to.fillStyle = ink("--sea");
  if (view.globe) { to.beginPath(); to.arc(how.x0, how.y0, how.scale, 0, 2 * Math.PI); to.fill(); land(to, how); } else { to.fillRect(0, 0, wide, tall); flatLand(to, how, wide); }

  const at = Array.from({ length: FIRST }, (_, one) => place(one, weights)), on = at.map(how.at);
  if (lasers) {
    // Lines of one colour are one path, the busiest last.
    const begin = load ? load.begin(t) : -1, bins = Array.from({ length: BUSY + 1 }, () => []);
    for (let i = 0; i < laserA.length; i++) {
      const a = laserA[i], b = laserB[i];
      if (on[a][2] || on[b][2]) continue;
      const busy = begin < 0 ? 0 : Math.max(...[load.link(a, b), load.link(b, a)].map(link => link === undefined ? 0 : load.busy[begin + link]));
      bins[busy ? Math.max(1, Math.ceil(busy / 100 * BUSY)) : 0].push(i);
    }
    bins.forEach((some, bin) => {
      to.strokeStyle = bin ? mixed((bin - 1) / (BUSY - 1)) : ink("--laser");
      to.lineWidth = bin ? (small ? 0.9 : 1.2) + (small ? 1 : 1.6) * bin / BUSY : small ? 0.5 : 0.7;
      to.beginPath();
      for (const i of some) leg(to, how, at[laserA[i]], at[laserB[i]], how.pieces, wide);
      to.stroke();
    });
  }
  const seen = [], dot = small ? 1.1 : 1.8;
  to.fillStyle = ink("--satellite");
  to.beginPath();
  on.forEach(([x, y, hidden], one) => { if (!hidden) { seen.push([one, x, y]); to.moveTo(x + dot, y); to.arc(x, y, dot, 0, 2 * Math.PI); } });
  to.fill();
  if (path) {
    const km = path.map(one => isStation(one) ? place(one, weights) : at[one]), far = ink("--halo"), way = ink("--way");
    for (const [hidden, colour, width, dashes] of [[true, way, 1.2, [3, 4]], [false, far, small ? 4 : 5.5, []], [false, way, small ? 2 : 2.8, []]]) {
      to.strokeStyle = colour; to.lineWidth = width; to.setLineDash(dashes); to.lineCap = "round"; to.beginPath();
      km.slice(1).forEach((one, i) => leg(to, how, km[i], one, 24, wide, hidden));
      to.stroke();
    }
    to.setLineDash([]); to.fillStyle = way; to.strokeStyle = far; to.lineWidth = 1;
    for (const one of path) if (!isStation(one) && !on[one][2]) { to.beginPath(); to.arc(on[one][0], on[one][1], dot + 1.8, 0, 2 * Math.PI); to.fill(); to.stroke(); }
  }
  const size = small ? 2 : 2.6;
  const spots = stations.map((_, i) => how.at(place(FIRST + i, weights)));
  spots.forEach(([x, y, hidden], i) => {
    const chosen = ends.includes(i), half = chosen ? size + 2.2 : size;
    if (hidden) return;
    seen.push([FIRST + i, x, y]);
    to.fillStyle = ink("--halo"); to.fillRect(x - half - 1, y - half - 1, 2 * half + 2, 2 * half + 2);
    to.fillStyle = ink(chosen ? "--way" : "--ink"); to.fillRect(x - half, y - half, 2 * half, 2 * half);
  });
  to.font = `600 ${small ? 12 : 14}px system-ui, sans-serif`; to.textBaseline = "top"; to.lineJoin = "round";
  for (const i of ends) {
    const [x, y, hidden] = spots[i], half = to.measureText(stations[i].name).width / 2 + 4;
    if (hidden) continue;
    to.textAlign = "center"; to.strokeStyle = ink("--halo"); to.lineWidth = 4; to.fillStyle = ink("--ink");
    const middle = Math.max(half, Math.min(wide - half, x)), top = Math.min(y + 8, tall - 18);
    to.strokeText(stations[i].name, middle, top); to.fillText(stations[i].name, middle, top);
  }
  to.restore();
  return seen;
};

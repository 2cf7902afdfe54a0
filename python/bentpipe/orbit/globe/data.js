// What the page knows: positions, paths, loads and coasts, unpacked; and what follows from them at an instant.
const { Chart, all, node } = globalThis.bentpipe, by = id => document.getElementById(id);
const LIGHT_KM_S = 299792.458;
const known = JSON.parse(by("known").textContent), bytes = new Uint8Array(await unpacked("arrays"));
// Whole numbers: their lowest bytes, then the bytes above, to the highest.
const array = name => {
  const [start, count] = known.arrays[name], made = new Uint32Array(count);
  for (let plane = 0; plane < 4; plane++)
    for (let i = 0, at = start + plane * count; i < count; i++) made[i] |= bytes[at + i] << 8 * plane;
  return made;
};
const sums = counts => { const made = new Uint32Array(counts.length + 1); counts.forEach((count, i) => { made[i + 1] = made[i] + count; }); return made; };

// Nodes: satellites from 0 on, then stations.
const FIRST = known.count, stations = known.stations.map(([name, ...km]) => ({ name, km }));
const isStation = one => one >= FIRST;
const nameOf = one => isStation(one) ? stations[one - FIRST].name : `satellite ${known.satellites ? known.satellites[one] : one}`;

const knots = Float32Array.from(array("knots"), value => (value - 32768) * known.unit_km);
// Knots and their weights in a cubic at an instant: Hermite's, with tangents by differences of the neighbours.
const cubic = t => {
  const k = Math.min(Math.floor(t / known.knots_s), knots.length / (3 * FIRST) - 3), s = t / known.knots_s - k;
  const begin = s ** 3 - 2 * s ** 2 + s, end = s ** 3 - s ** 2, after = 3 * s ** 2 - 2 * s ** 3, before = 1 - after;
  // At the first knot the tangent is that of a parabola through the next two.
  return k > 0
    ? [[k - 1, -begin / 2], [k, before - end / 2], [k + 1, after + begin / 2], [k + 2, end / 2]]
    : [[0, before - 1.5 * begin - end / 2], [1, after + 2 * begin], [2, end / 2 - begin / 2]];
};
// The position of a node in km; axes turn with the Earth. A station that moves has one at each knot.
const place = (one, weights) => {
  const [km, first, stride] = isStation(one) ? [stations[one - FIRST].km, 0, 3] : [knots, 3 * one, 3 * FIRST];
  if (km.length === 3) return km;
  const at = [0, 0, 0];
  for (const [k, weight] of weights) for (let i = 0; i < 3; i++) at[i] += weight * km[first + k * stride + i];
  return at;
};

const pathRows = sums(array("path_rows")), pathStep = array("path_step"), pathRoute = array("path_route");
const routeEnds = sums(array("route_length")), routeVia = array("route_via");
// The rows of the path from a station to another: the first, and the one behind the last.
const rowsOf = (a, b) => { const pair = a * (stations.length - 1) + b - (b > a ? 1 : 0); return [pathRows[pair], pathRows[pair + 1]]; };
const timeOf = row => pathStep[row] * known.step_s;
const rowAt = ([first, behind], t) => { let row = first; while (row + 1 < behind && timeOf(row + 1) <= t + 1e-9) row++; return row; };
// The nodes of a path; null where there is none.
const nodesOf = (a, b, row) => {
  if (!pathRoute[row]) return null;
  const route = pathRoute[row] - 1 >> 1, via = [...routeVia.subarray(routeEnds[route], routeEnds[route + 1])];
  return [FIRST + a, ...pathRoute[row] - 1 & 1 ? via.reverse() : via, FIRST + b];
};
const delayOf = (nodes, t) => {
  const weights = cubic(t), at = nodes.map(one => place(one, weights));
  return at.slice(1).reduce((sum, one, i) => sum + Math.hypot(one[0] - at[i][0], one[1] - at[i][1], one[2] - at[i][2]), 0) / LIGHT_KM_S;
};

const laserA = array("laser_a"), laserB = array("laser_b");
// Loads: of each link from, and to (0: the ground, else a node and 1), and by interval and link.
const load = known.load && (() => {
  const names = ["from", "to", "busy", "queue", "dropped"], columns = Object.fromEntries(names.map(name => [name, array(`load_${name}`)]));
  const nodes = FIRST + stations.length + 1, at = new Map([...columns.from].map((from, link) => [from * nodes + columns.to[link], link]));
  const { starts, end_s: end } = known.load, links = columns.from.length;
  return {
    ...columns, links,
    // The number of a link: a laser, or the port of a node to the ground.
    link: (from, to) => at.get(from * nodes + (isStation(from) || isStation(to) ? 0 : to + 1)),
    // Where the interval of an instant begins in the columns; -1 without one.
    begin: t => t >= end || !starts.length || t < starts[0] ? -1 : starts.findLastIndex(start => start <= t + 1e-9) * links,
    interval: t => { const i = starts.findLastIndex(start => start <= t + 1e-9); return [starts[i], starts[i + 1] ?? end]; },
  };
})();

const coast = (() => {
  const lon = array("coast_lon"), lat = array("coast_lat"), lakes = array("coast_is_lake"), ends = sums(array("coast_points"));
  return [...lakes].map((lake, i) => {
    const degrees = [...lon.subarray(ends[i], ends[i + 1])].map((value, k) => [value / 100 - 180, lat[ends[i] + k] / 100 - 90]);
    return { lake: lake > 0, degrees, around: degrees.map(([a, b]) => sphere(a, b)) };
  });
})();
// A point of the unit sphere.
function sphere(lon, lat) {
  const a = lon * Math.PI / 180, b = lat * Math.PI / 180;
  return [Math.cos(b) * Math.cos(a), Math.cos(b) * Math.sin(a), Math.sin(b)];
}

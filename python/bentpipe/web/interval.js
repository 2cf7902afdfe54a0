// Means over seeds with their 95 % intervals by Student's t, and their digits, as bentpipe.stats has them.
const ALIKE = 1e-9;
const interval = (values, most = Infinity) => {
  const n = values.length, centre = values.reduce((a, b) => a + b, 0) / n, size = Math.max(...values.map(Math.abs));
  if (n === 1) return { n, centre, low: NaN, high: NaN };
  if (Math.max(...values) - Math.min(...values) <= ALIKE * size) return { n, centre, low: centre, high: centre, alike: true };
  const half = known.t[n - 2] * Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (n - 1) / n);
  return { n, centre, low: Math.max(0, centre - half), high: Math.min(most, centre + half) };
};
const exponent = value => Math.floor(Math.log10(Math.abs(value)));
// One significant digit of a half-width, two if the first is a 1.
const decimals = half => {
  const rounded = Number(half.toPrecision(2)), power = exponent(rounded);
  return Math.max(0, (rounded < 1.95 * 10 ** power ? 1 : 0) - power);
};
const shownInterval = found => {
  const { n, centre, low, high, alike } = found;
  if (n === 1 || alike) return centre === 0 ? "0" : centre.toFixed(Math.max(0, 2 - exponent(centre)));
  const below = centre - low, above = high - centre, half = Math.max(below, above), places = decimals(half);
  return Math.abs(above - below) <= 0.05 * half ? `${centre.toFixed(places)} ± ${half.toFixed(places)}` : `${centre.toFixed(places)} (${low.toFixed(places)} to ${high.toFixed(places)})`;
};
// Of the values that are there; "-" if there is none.
const spread = (values, most) => {
  const found = values.filter(value => value !== null && value !== undefined);
  return found.length ? shownInterval(interval(found, most)) : "-";
};

// A slider, and the values at which one stops.
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

// What shows the values of an answer in the controls.
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

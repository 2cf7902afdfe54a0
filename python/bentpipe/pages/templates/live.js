"use strict";
// Charts in a page of somebody else that gives new data from time to time: {id of a figure: chart, id of another
// element: HTML}, as JSON in an element of class "bentpipe-data" (pages/live.py).
document.addEventListener("DOMContentLoaded", () => {
  const { Chart, all } = globalThis.bentpipe;
  let last = "", style = "";
  const look = () => {
    if (document.body.className !== style) {
      style = document.body.className;
      all.forEach(chart => chart.restyle());
    }
    const text = document.querySelector(".bentpipe-data")?.dataset.given;
    if (!text || text === last) return;
    const given = Object.entries(JSON.parse(text)).map(([id, what]) => [document.getElementById(id), what]);
    if (given.some(([element]) => !element)) return;
    last = text;
    for (const [element, what] of given) {
      if (typeof what === "string") element.innerHTML = what;
      else if (all.has(element)) all.get(element).update(what);
      else {
        all.set(element, new Chart(element, what));
        all.get(element).start();
      }
    }
  };
  new MutationObserver(look).observe(document.documentElement, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-given", "class"] });
  look();
});

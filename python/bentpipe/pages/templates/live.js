"use strict";
// Charts in a page of somebody else that gives new data from time to time: {id of a figure: chart, id of another
// element: HTML}, as JSON in an element of class "bentpipe-data" (explore/shown.py).
document.addEventListener("DOMContentLoaded", () => {
  const { Chart, all } = globalThis.bentpipe;
  let last = "", style = "", given = [];
  const shown = new Map();  // the element of each id that shows the last data: the page may make it anew
  const look = () => {
    if (document.body.className !== style) {
      style = document.body.className;
      all.forEach(chart => chart.restyle());
    }
    const text = document.querySelector(".bentpipe-data")?.dataset.given;
    if (!text) return;
    if (text !== last) {
      last = text;
      given = Object.entries(JSON.parse(text));
      shown.clear();
    }
    for (const [id, what] of given) {
      const element = document.getElementById(id);
      if (!element || shown.get(id) === element) continue;
      shown.set(id, element);
      if (typeof what === "string") element.innerHTML = what;
      else if (all.has(element)) all.get(element).update(what);
      else {
        all.forEach((_, old) => { if (!old.isConnected) all.delete(old); });
        all.set(element, new Chart(element, what));
        all.get(element).start();
      }
    }
  };
  new MutationObserver(look).observe(document.documentElement, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-given", "class"] });
  look();
});

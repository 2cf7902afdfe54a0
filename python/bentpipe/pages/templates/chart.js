"use strict";
// Draws every figure.chart of the page with uPlot. What is drawn stands in the figure's JSON (pages/charts.py).
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const printing = matchMedia("print");
  // Pages of others hold our charts in an element of this class, which has the colours.
  const css = name => getComputedStyle(document.querySelector(".bentpipe") || document.documentElement).getPropertyValue(name).trim();
  const node = (tag, given = {}, ...inside) => {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(given)) key in made ? (made[key] = value) : made.setAttribute(key, value);
    made.append(...inside);
    return made;
  };
  const digits = new Intl.NumberFormat("en", { maximumSignificantDigits: 5 });
  const said = value => value === null ? "-" : value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(2).replace(/\.?0+e/, "e") : digits.format(value);

  // A colour that stands out from the ground: near black becomes the ink, others are mixed with it as needed.
  const parts = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
  const light = rgb => {
    const [r, g, b] = rgb.map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => { const [low, high] = [light(a), light(b)].sort((p, q) => p - q); return (high + 0.05) / (low + 0.05); };
  const readable = colour => {
    const ground = parts(css("--ground")), ink = parts(css("--ink"));
    let mixed = parts(colour);
    if (light(mixed) < 0.01 && light(ground) < 0.2) return css("--ink");
    for (let i = 0; i < 20 && contrast(mixed, ground) < 2.6; i++) mixed = mixed.map((c, k) => Math.round(c + 0.15 * (ink[k] - c)));
    return `rgb(${mixed})`;
  };

  // Markers by matplotlib's letters, around (x, y) with radius r.
  const corners = { s: [4, 45], D: [4, 0], d: [4, 0], "^": [3, 0], v: [3, 180], "<": [3, 270], ">": [3, 90], p: [5, 0], h: [6, 0], H: [6, 30] };
  const mark = (to, kind, x, y, r) => {
    if (kind in corners) {
      const [n, turn] = corners[kind];
      for (let i = 0; i <= n; i++) {
        const angle = (turn + 360 * i / n - 90) * Math.PI / 180;
        to[i ? "lineTo" : "moveTo"](x + 1.25 * r * Math.cos(angle), y + 1.25 * r * Math.sin(angle));
      }
    } else if ("xX+P*".includes(kind)) {
      for (const turn of kind === "*" ? [0, 60, 120] : "xX".includes(kind) ? [45, 135] : [0, 90]) {
        const c = r * Math.cos(turn * Math.PI / 180), s = r * Math.sin(turn * Math.PI / 180);
        to.moveTo(x - c, y - s); to.lineTo(x + c, y + s);
      }
    } else { to.moveTo(x + r, y); to.arc(x, y, r, 0, 2 * Math.PI); }
  };

  // Names that a legend has switched off, in every chart of the page.
  const hidden = new Set();

  class Chart {
    constructor(figure, given) {
      this.figure = figure;
      this.given = given || JSON.parse(figure.querySelector("script").textContent);
      this.choices = this.given.choices;  // [name, curves] of each, if the reader chooses what is drawn
      if (this.choices) this.given.curves = this.choices[0][1];
      this.plot = figure.querySelector(".plot");
      this.legend = figure.querySelector(".legend");
      this.live = figure.querySelector("[aria-live]");
      this.cells = this.given.curves[0].kind === "cells";
      this.at = null;  // [curve, point] that is pointed at
      this.zoom = null;
      this.furnish();
    }

    get shown() { return this.given.curves.map(curve => this.cells || !hidden.has(curve.label)); }

    // The whole view: every point and interval of the curves that are shown.
    whole(which) {
      const axis = this.given[which], { shown } = this;
      if (axis.names.length) return [-0.5, axis.names.length - 0.5];
      let low = Infinity, high = -Infinity;
      this.given.curves.forEach((curve, i) => {
        if (!shown[i]) return;
        for (const key of which === "y" ? ["y", "low", "high"] : ["x"])
          for (const value of curve[key] || [])
            if (value !== null) { if (value < low) low = value; if (value > high) high = value; }
      });
      if (axis.least !== null) low = Math.min(axis.least, low);
      if (axis.most !== null) high = Math.max(axis.most, high);
      if (low > high) return axis.log ? [1, 10] : [0, 1];
      if (axis.log) return low === high ? [low / 2, high * 2] : [low / (high / low) ** 0.04, high * (high / low) ** 0.04];
      // A hundredth of a value is not blown up into a mountain.
      const flat = Math.abs(high) / 50 - (high - low);
      if (low !== high && flat > 0) { low -= flat / 2; high += flat / 2; }
      const room = low === high ? Math.abs(low) * 0.1 || 1 : (high - low) * 0.04;
      // Zero is the natural end of what is never negative and comes near it.
      const base = low >= 0 && low < 0.35 * high ? 0 : axis.least !== null && low === axis.least ? low : low - room;
      return [base, high + room];
    }

    axis(which) {
      const { label, log, names } = this.given[which], vertical = which === "y";
      const made = {
        scale: which, label: this.plot.clientWidth < 500 && label.length > 34 ? label.slice(0, 33) + "…" : label,
        stroke: css("--soft"), grid: { stroke: css("--grid"), width: 1, show: !this.cells },
        ticks: { stroke: css("--grid"), width: 1 }, font: "12px " + getComputedStyle(document.body).fontFamily,
        labelFont: "12px " + getComputedStyle(document.body).fontFamily, labelSize: vertical ? 18 : 20, labelGap: vertical ? 6 : 2,
      };
      if (names.length) {
        made.splits = (u, i, low, high) => names.map((_, k) => k).filter(k => k >= low && k <= high);
        const fit = vertical ? 1 : Math.ceil(names.length * Math.max(...names.map(n => n.length)) * 7.2 / Math.max(this.plot.clientWidth - 80, 100));
        made.values = (u, splits) => splits.map(k => k % fit ? null : names[k]);
      } else if (log) {
        made.values = (u, splits) => {
          const wide = u.scales[which].max / u.scales[which].min > 30;
          return splits.map(v => v > 0 && (!wide || Math.abs(Math.log10(v) % 1) < 1e-9 || Math.abs(Math.log10(v) % 1) > 1 - 1e-9) ? said(v) : null);
        };
        made.filter = (u, splits) => splits;
      } else made.values = (u, splits) => splits.map(v => said(+v.toPrecision(10)));
      made.size = vertical ? undefined : 30;
      if (vertical) made.size = (u, values) => 17 + 7 * Math.max(3, ...(values || []).map(v => v ? v.length : 0));
      return made;
    }

    draw() {
      const began = performance.now();
      if (this.u) this.u.destroy();
      const { given, shown } = this, axes = { x: this.axis("x"), y: this.axis("y") };
      const scale = which => ({
        time: false, auto: false, distr: given[which].log ? 3 : 1, log: 10,
        range: () => this.zoom ? this.zoom[which] : this.whole(which),
      });
      this.u = new uPlot({
        mode: 2, width: this.plot.clientWidth, height: this.height(), padding: [10, 12, 0, 0],
        legend: { show: false }, axes: [axes.x, axes.y], scales: { x: scale("x"), y: scale("y") },
        cursor: {
          points: { show: false }, dataIdx: () => null, drag: { x: true, y: true, setScale: false, uni: 30 },
          bind: { dblclick: () => () => { this.show(null); return null; } },
        },
        hooks: { setCursor: [u => this.point(u)], setSelect: [u => this.select(u)], draw: [u => this.ring()], drawAxes: [u => this.shade(u)] },
        series: [{}, ...given.curves.map((curve, i) => ({
          label: curve.label, show: shown[i], stroke: "transparent", points: { show: false },
          facets: [{ scale: "x", auto: true }, { scale: "y", auto: true }], paths: (u, s) => this.paint(u, s - 1),
        }))],
      }, [null, ...given.curves.map(curve => [curve.x, curve.y])], this.plot);
      this.tip = node("div", { className: "tip", hidden: true });
      this.circle = node("div", { className: "ring", hidden: true });
      this.u.over.append(this.circle, this.tip);
      this.at = null;
      this.u.over.addEventListener("mouseleave", () => this.say(null));
      requestAnimationFrame(() => { this.figure.dataset.ms = (performance.now() - began).toFixed(0); });
    }

    height() {
      const rows = this.given.y.names.length;
      return Math.max(this.plot.clientWidth < 500 ? 280 : 340, rows ? 26 * rows + 60 : 0);
    }

    paint(u, i) {
      const curve = this.given.curves[i], { ctx } = u, ratio = devicePixelRatio || 1;
      const { left, top, width, height } = u.bbox, { x: sx, y: sy } = u.scales;
      const place = (scale, log, start, size, back) => {
        const low = log ? Math.log10(scale.min) : scale.min, span = (log ? Math.log10(scale.max) : scale.max) - low;
        return v => { const part = ((log ? Math.log10(v) : v) - low) / span * size; return back ? start + size - part : start + part; };
      };
      const px = place(sx, this.given.x.log, left, width, false), py = place(sy, this.given.y.log, top, height, true);
      ctx.save();
      ctx.beginPath(); ctx.rect(left, top, width, height); ctx.clip();
      if (curve.kind === "cells") this.paintCells(ctx, curve, px, py);
      else {
        const colour = readable(curve.colour), n = curve.x.length;
        ctx.strokeStyle = ctx.fillStyle = colour;
        ctx.lineWidth = 1.6 * ratio; ctx.lineJoin = "round";
        if (curve.kind !== "points") {
          ctx.setLineDash(curve.dashes.map(d => d * 1.6 * ratio));
          ctx.beginPath();
          this.line(ctx, curve, px, py, n);
          ctx.stroke(); ctx.setLineDash([]);
        }
        if (curve.low) {
          ctx.lineWidth = 1.2 * ratio; ctx.beginPath();
          for (let k = 0; k < n; k++) {
            if (curve.low[k] === null || curve.high[k] === null || curve.x[k] === null) continue;
            const x = px(curve.x[k]), low = py(curve.low[k]), high = py(curve.high[k]), cap = 3 * ratio;
            ctx.moveTo(x, low); ctx.lineTo(x, high);
            ctx.moveTo(x - cap, low); ctx.lineTo(x + cap, low); ctx.moveTo(x - cap, high); ctx.lineTo(x + cap, high);
          }
          ctx.stroke();
        }
        if (curve.kind === "points" || curve.kind === "both") {
          if (n > 5000) {
            ctx.globalAlpha = 0.6;
            for (let k = 0; k < n; k++)
              if (curve.x[k] !== null && curve.y[k] !== null) ctx.fillRect(px(curve.x[k]) - ratio, py(curve.y[k]) - ratio, 2 * ratio, 2 * ratio);
            ctx.globalAlpha = 1;
          } else {
            ctx.lineWidth = 1.6 * ratio; ctx.globalAlpha = n > 300 ? 0.7 : 1; ctx.beginPath();
            for (let k = 0; k < n; k++)
              if (curve.x[k] !== null && curve.y[k] !== null) mark(ctx, curve.marker, px(curve.x[k]), py(curve.y[k]), (n > 300 ? 2.2 : 3.2) * ratio);
            "xX+P*".includes(curve.marker) ? ctx.stroke() : ctx.fill();
            ctx.globalAlpha = 1;
          }
        }
      }
      ctx.restore();
      return null;
    }

    // Spans of x behind the curves (`bands`), and instants (`marks`), if the chart has some.
    shade(u) {
      const { ctx } = u, { left, top, width, height } = u.bbox, ratio = devicePixelRatio || 1;
      ctx.save();
      ctx.beginPath(); ctx.rect(left, top, width, height); ctx.clip();
      ctx.fillStyle = css("--grid");
      for (const [from, to] of this.given.bands || []) {
        const x = u.valToPos(from, "x", true);
        ctx.fillRect(x, top, Math.max(ratio, u.valToPos(to, "x", true) - x), height);
      }
      ctx.strokeStyle = css("--rule"); ctx.lineWidth = ratio; ctx.setLineDash([ratio, 3 * ratio]); ctx.beginPath();
      for (const at of this.given.marks || []) { const x = u.valToPos(at, "x", true); ctx.moveTo(x, top); ctx.lineTo(x, top + height); }
      ctx.stroke();
      ctx.restore();
    }

    // Points that fall into one column of pixels are drawn as its lowest and highest, in their order.
    line(ctx, curve, px, py, n) {
      const { x, y } = curve, steps = curve.kind === "steps";
      let open = false, column = NaN, last = 0, low = 0, high = 0, count = 0;
      const flush = () => { if (count > 1) { ctx.lineTo(column, low); ctx.lineTo(column, high); ctx.lineTo(column, last); } count = 0; };
      for (let k = 0; k < n; k++) {
        if (x[k] === null || y[k] === null) { flush(); open = false; column = NaN; continue; }
        const at = px(x[k]), to = py(y[k]), whole = Math.round(at);
        if (n > 4000 && open && whole === column) {
          if (to < low) low = to;
          if (to > high) high = to;
          last = to; count++;
          continue;
        }
        flush();
        if (!open) ctx.moveTo(at, to);
        else { if (steps) ctx.lineTo(at, last); ctx.lineTo(at, to); }
        open = true; column = whole; low = high = last = to; count = 1;
      }
      flush();
    }

    paintCells(ctx, curve, px, py) {
      const { scale } = this.given, [low, high] = this.ends(curve.value);
      const wide = px(1) - px(0), tall = py(0) - py(1);
      const size = Math.min(wide / 5, tall / 2, 12 * (devicePixelRatio || 1));
      curve.value.forEach((value, k) => {
        if (value === null) return;
        const part = high > low ? (value - low) / (high - low) : 0.5, x = px(curve.x[k]), y = py(curve.y[k]);
        const colour = scale[Math.round(part * (scale.length - 1))];
        ctx.fillStyle = colour;
        ctx.fillRect(x - wide / 2, y - tall / 2, wide - 1, tall - 1);
        if (size >= 8 * (devicePixelRatio || 1)) {
          ctx.fillStyle = light(parts(colour)) > 0.22 ? "#000" : "#fff";
          ctx.textAlign = "center"; ctx.textBaseline = "middle"; ctx.font = `${size}px sans-serif`;
          ctx.fillText(+value.toPrecision(3), x, y);
        }
      });
    }

    ends(values) { if (this.given.ends) return this.given.ends; let low = Infinity, high = -Infinity; for (const v of values) if (v !== null) { if (v < low) low = v; if (v > high) high = v; } return [low, high]; }

    // The nearest point to the cursor, if it is near.
    point(u) {
      const { left, top } = u.cursor;
      if (left == null || left < 0) return this.say(null);
      const { x: sx, y: sy } = u.scales, { shown } = this;
      let best = null, least = this.cells ? Infinity : 45 ** 2;
      this.given.curves.forEach((curve, i) => {
        if (!shown[i]) return;
        for (let k = 0; k < curve.x.length; k++) {
          const x = curve.x[k], y = curve.y[k];
          if (x === null || y === null || x < sx.min || x > sx.max || y < sy.min || y > sy.max) continue;
          const dx = u.valToPos(x, "x") - left;
          if (dx * dx > least) continue;
          const dy = u.valToPos(y, "y") - top, away = dx * dx + dy * dy;
          if (away < least) { least = away; best = [i, k]; }
        }
      });
      this.say(best);
    }

    value(which, value) { const { names, label } = this.given[which]; return names.length ? names[Math.round(value)] ?? "-" : said(value); }

    words([i, k]) {
      const curve = this.given.curves[i], { x, y } = this.given;
      const quantity = label => label.split(",")[0], unit = label => label.includes(",") ? label.slice(label.lastIndexOf(",") + 1) : "";
      if (this.cells) return `${quantity(x.label)} ${this.value("x", curve.x[k])}\n${quantity(y.label)} ${this.value("y", curve.y[k])}\n${quantity(curve.label)} ${said(curve.value[k])}${unit(curve.label)}`;
      const ends = curve.low && curve.low[k] !== null ? ` [${said(curve.low[k])}, ${said(curve.high[k])}]` : "";
      return `${curve.label}\n${quantity(x.label)} ${this.value("x", curve.x[k])}${x.names.length ? "" : unit(x.label)}\n` +
        `${quantity(y.label)} ${this.value("y", curve.y[k])}${ends}${y.names.length ? "" : unit(y.label)}` + (curve.notes ? `\n${curve.notes[k]}` : "");
    }

    say(at, aloud) {
      this.at = at;
      this.ring();
      if (at && aloud) this.live.textContent = this.words(at).replaceAll("\n", ", ");
    }

    ring() {
      if (!this.tip) return;
      this.tip.hidden = this.circle.hidden = !this.at;
      if (!this.at) return;
      const [i, k] = this.at, curve = this.given.curves[i], { u, tip } = this;
      const x = u.valToPos(curve.x[k], "x"), y = u.valToPos(curve.y[k], "y");
      Object.assign(this.circle.style, { left: `${x}px`, top: `${y}px` });
      tip.textContent = this.words(this.at);
      const wide = u.over.clientWidth, tall = u.over.clientHeight;
      Object.assign(tip.style, { left: `${Math.max(0, Math.min(x + 12, wide - tip.offsetWidth))}px`,
        top: `${y + 12 + tip.offsetHeight > tall ? Math.max(0, y - tip.offsetHeight - 12) : y + 12}px` });
    }

    select(u) {
      const { left, top, width, height } = u.select;
      if (width < 4 && height < 4) return;
      this.show({
        x: width < 4 ? this.view("x") : [u.posToVal(left, "x"), u.posToVal(left + width, "x")],
        y: height < 4 ? this.view("y") : [u.posToVal(top + height, "y"), u.posToVal(top, "y")],
      });
      u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    }

    view(which) { const { min, max } = this.u.scales[which]; return [min, max]; }

    // Charts that are `linked` have one x axis: the others follow, each with its whole y.
    show(zoom, alone) {
      if (this.given.linked && !alone && this.u) all.forEach(other => {
        if (other === this || !other.given.linked || !other.u) return;
        other.show(zoom && { x: zoom.x, y: other.whole("y") }, true);
      });
      this.zoom = zoom;
      for (const which of ["x", "y"]) { const [min, max] = zoom ? zoom[which] : this.whole(which); this.u.setScale(which, { min, max }); }
    }

    nearer(factor) {
      const zoom = {};
      for (const which of ["x", "y"]) {
        const { log } = this.given[which], to = v => log ? Math.log10(v) : v, back = v => log ? 10 ** v : v;
        const [low, high] = this.view(which).map(to), at = this.at ? to(this.given.curves[this.at[0]][which][this.at[1]]) : (low + high) / 2;
        zoom[which] = [back(at - (at - low) * factor), back(at + (high - at) * factor)];
      }
      this.show(zoom);
    }

    step(by, curves) {
      const { given, shown } = this;
      let [i, k] = this.at || [shown.indexOf(true), by > 0 ? -1 : 0];
      if (i < 0) return;
      if (curves) {
        do i = (i + curves + given.curves.length) % given.curves.length; while (!shown[i]);
        k = Math.min(Math.max(k, 0), given.curves[i].x.length - 1);
      } else {
        const { x, y } = given.curves[i];
        do k += by; while (k >= 0 && k < x.length && (x[k] === null || y[k] === null));
        if (k < 0 || k >= x.length) return;
      }
      this.say([i, k], true);
    }

    key(event) {
      const act = {
        ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1), ArrowDown: () => this.step(0, 1), ArrowUp: () => this.step(0, -1),
        "+": () => this.nearer(0.7), "=": () => this.nearer(0.7), "-": () => this.nearer(1 / 0.7), Escape: () => this.show(null), 0: () => this.show(null),
      }[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    }

    swatch(curve) {
      const size = 11, ns = "http://www.w3.org/2000/svg", made = document.createElementNS(ns, "svg"), path = document.createElementNS(ns, "path");
      const line = [], to = { moveTo: (x, y) => line.push(`M${x} ${y}`), lineTo: (x, y) => line.push(`L${x} ${y}`),
        arc: (x, y, r) => line.push(`A${r} ${r} 0 1 1 ${x - r} ${y}A${r} ${r} 0 1 1 ${x + r} ${y}`) };
      if (curve.kind === "line" || curve.kind === "steps") line.push(`M0 ${size / 2}H${2 * size}`);
      else mark(to, curve.marker, size, size / 2, 4);
      const open = "xX+P*".includes(curve.marker) || curve.kind === "line" || curve.kind === "steps", colour = readable(curve.colour);
      path.setAttribute("d", line.join(""));
      path.setAttribute("stroke", colour); path.setAttribute("fill", open ? "none" : colour); path.setAttribute("stroke-width", open ? 2 : 0);
      if (curve.kind === "line" || curve.kind === "steps") path.setAttribute("stroke-dasharray", curve.dashes.map(d => 1.6 * d).join(" "));
      made.setAttribute("width", 2 * size); made.setAttribute("height", size); made.setAttribute("aria-hidden", "true");
      made.append(path);
      return made;
    }

    names() {
      const { curves, scale } = this.given;
      if (this.cells) {
        const [low, high] = this.ends(curves[0].value), ramp = node("span", { className: "ramp" });
        ramp.style.background = `linear-gradient(to right, ${scale})`;
        return this.legend.replaceChildren(node("span", {}, said(low)), ramp, node("span", {}, said(high)), node("span", { className: "soft" }, curves[0].label));
      }
      this.legend.replaceChildren(...curves.map((curve, i) => {
        const button = node("button", { type: "button", "aria-pressed": !hidden.has(curve.label) }, this.swatch(curve), curve.label);
        button.addEventListener("click", () => {
          hidden.delete(curve.label) || hidden.add(curve.label);
          all.forEach(chart => chart.toggle());
        });
        return button;
      }));
    }

    // Shows and hides what the legends say.
    toggle() {
      if (!this.u || this.cells) return;
      const { shown } = this, changed = shown.some((show, i) => this.u.series[i + 1].show !== show);
      if (!changed) return;
      this.at = null;
      [...this.legend.children].forEach((button, i) => button.setAttribute("aria-pressed", shown[i]));
      this.u.batch(() => {
        shown.forEach((show, i) => this.u.setSeries(i + 1, { show }));
        if (!this.zoom) this.show(null, true);
      });
    }

    // Draws another of the choices.
    choose(i) {
      this.given.curves = this.choices[i][1];
      this.figure.querySelector(".choice select").selectedIndex = i;
      this.figure.querySelectorAll(".data-rows, .data > p").forEach(old => old.remove());
      this.at = this.zoom = null;
      this.restyle();
    }

    rows() {
      const { curves, x, y } = this.given;
      if (this.cells) {
        const [curve] = curves;
        return [[x.label, y.label, curve.label], ...curve.value.map((v, k) => [this.value("x", curve.x[k]), this.value("y", curve.y[k]), v])];
      }
      const sets = this.choices || [["", curves]], any = key => sets.some(([, of]) => of.some(curve => curve[key]));
      const ends = any("low"), notes = any("notes"), chosen = this.choices ? [this.given.choose] : [];
      const head = [...chosen, "curve", x.label, y.label, ...(ends ? ["low", "high"] : []), ...(notes ? ["note"] : [])], all = [head];
      const plain = (axis, value) => axis.names.length && value !== null ? axis.names[Math.round(value)] : value;
      for (const [name, of] of sets) for (const curve of of)
        for (let k = 0; k < curve.x.length; k++)
          all.push([...(this.choices ? [name] : []), curve.label, plain(x, curve.x[k]), plain(y, curve.y[k]), ...(ends ? [curve.low?.[k] ?? null, curve.high?.[k] ?? null] : []), ...(notes ? [curve.notes?.[k] ?? ""] : [])]);
      return all;
    }

    furnish() {
      const whole = node("button", { type: "button" }, "Show all"), csv = node("button", { type: "button" }, "CSV");
      whole.addEventListener("click", () => this.show(null));
      csv.addEventListener("click", () => {
        const cell = value => { const text = value === null ? "" : String(value); return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text; };
        const url = URL.createObjectURL(new Blob([this.rows().map(row => row.map(cell).join(",")).join("\n") + "\n"], { type: "text/csv" }));
        node("a", { href: url, download: this.figure.id + ".csv" }).click();
        setTimeout(() => URL.revokeObjectURL(url), 1000);
      });
      this.figure.querySelector(".tools").prepend(whole, csv);
      if (this.choices) {
        const select = node("select", {}, ...this.choices.map(([name]) => node("option", {}, name)));
        select.addEventListener("change", () => all.forEach(chart => chart.same(this) && chart.choose(select.selectedIndex)));
        this.figure.querySelector(".choice").append(node("label", {}, this.given.choose + " ", select));
      }
      const data = this.figure.querySelector(".data");
      data.addEventListener("toggle", () => {
        if (!data.open || data.querySelector("table")) return;
        const [head, ...rows] = this.rows(), most = 300, text = v => typeof v === "number" ? said(v) : v ?? "-";
        const body = rows.slice(0, most).map(row => node("tr", {}, ...row.map(v => node("td", typeof v === "number" ? { className: "number" } : {}, text(v)))));
        data.append(node("div", { className: "data-rows", tabIndex: 0 }, node("table", {}, node("thead", {}, node("tr", {}, ...head.map(h => node("th", { scope: "col" }, h)))), node("tbody", {}, ...body))));
        if (rows.length > most) data.append(node("p", { className: "soft" }, `The first ${most} of ${rows.length.toLocaleString("en")} rows; the CSV file has all.`));
      });
      this.plot.addEventListener("keydown", event => this.key(event));
      this.plot.addEventListener("blur", () => this.say(null));
      let wide = 0;
      new ResizeObserver(() => {
        if (!this.u || this.plot.clientWidth === wide) return;
        wide = this.plot.clientWidth;
        this.u.setSize({ width: wide, height: this.height() });
      }).observe(this.plot);
    }

    // Does the reader choose among the same here?
    same(other) {
      return this.choices && this.given.choose === other.given.choose && this.choices.length === other.choices.length &&
        this.choices.every(([name], i) => name === other.choices[i][0]);
    }

    // Draws other data, in the view and with the names that the reader has chosen.
    update(given) {
      const same = given.curves.length === this.given.curves.length && given.curves.every((curve, i) => curve.label === this.given.curves[i].label);
      this.given = given;
      this.at = null;
      this.figure.querySelectorAll(".data-rows, .data > p").forEach(old => old.remove());
      if (!same) return this.restyle();
      this.u.setData([null, ...given.curves.map(curve => [curve.x, curve.y])], false);
      this.show(this.zoom, true);
      this.ring();
    }

    restyle() { if (this.u) { this.names(); this.draw(); } }
    start() { if (!this.u) { this.names(); this.draw(); } }
  }

  const all = new Map([...document.querySelectorAll("figure.chart")].map(figure => [figure, new Chart(figure)]));
  const near = new IntersectionObserver(seen => seen.forEach(entry => {
    if (entry.isIntersecting) { near.unobserve(entry.target); all.get(entry.target).start(); }
  }), { rootMargin: "600px" });
  all.forEach((_, figure) => near.observe(figure));
  globalThis.bentpipe = { Chart, all, node };
  dark.addEventListener("change", () => all.forEach(chart => chart.restyle()));
  printing.addEventListener("change", () => all.forEach(chart => { chart.start(); chart.restyle(); }));
})();

"""SIMD beside equation-based control, section 8 of the spectrum paper: docs/simd-tfrc.md and its figure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from statistics import fmean
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import bentpipe as bp
from bentpipe.analysis import traces
from bentpipe.experiments.announced import grid, page
from bentpipe.experiments.experiment import Experiment
from bentpipe.experiments.rows import Rows
from bentpipe.pages.markdown import markdown
from bentpipe.papers.spectrum.measure import SHORT_S, STRETCH_S, rates
from bentpipe.papers.spectrum.scenarios import BASE, CHAINS, SQUARE_HALF_S, SQUARE_MBPS
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.kept import Row

CONTROLS: dict[str, tuple[str, Any]] = {
    "tcp": ("TCP", BASE.control("tcp")),
    "simd": ("SIMD(1/16)", BASE.control("simd")),
    "tfrc": ("TFRC", {"name": "tfrc"}),
    "self-clocked": ("TFRC, self-clocked", {"name": "tfrc", "conservative": True}),
    "tfrcp": ("TFRCP", {"name": "tfrcp"}),
}
"""Labels and controllers by their names in the table. Those of the paper have its set-up."""
LOSSES = {"0.1 % lost": 0.001, "1 % lost": 0.01, "5 % lost": 0.05, "15 % lost": 0.15}
"""Figure 7: one flow over an infinite link."""
LINKS = {"60 Mbit/s": 60.0, "15 Mbit/s": 15.0}
"""Figures 15 and 17: 16 flows beside 16 of TCP over RED."""
WAVE, PAIR = "square wave", "two flows"
"""Figures 19 and 21."""
SEEDS, ROUNDS, SMOOTH_S, CYCLES, SWITCH_S, AFTER_S = 10, 3000, 270.0, 21, 400.0, 450.0
SETTLED, AGAIN, WITHIN_S, APART = 2 / 3, 0.9, 1.0, 10 / 110
"""The steady rate is that of the last third of a quiet half. A flow has taken the room when its rate over a
second is nine tenths of it. Two flows are fair when their rates over two seconds differ by this share of
their sum, the paper's 10 of 110 packets."""


class SimdTfrc(Experiment):
    """The experiment: four experiments of the spectrum paper with other controls."""

    name = "simd-tfrc"
    columns = {  # noqa: RUF012
        "mbps": "goodput of a flow of the algorithm, Mbit/s",
        "tcp_mbps": "that of a TCP flow beside it",
        "variation": "coefficient of variation of a flow's goodput over 0.2 s, mean over the flows",
        "tcp_variation": "that of the TCP flows beside it",
        "rise_s": "from the end of the other traffic until the flow has nine tenths of its later rate, s",
        "used": "goodput while there is no other traffic, percent of the link",
        "lost": "packets dropped, percent of those sent",
        "fair_s": "until two flows of 7 and 100 packets have rates that differ by less than an eleventh, s",
    }

    def cases(self) -> list[Case]:
        """Four experiments, five controls; quick: three of them, two experiments."""
        ccs = list(CONTROLS)[:3] if self.quick else list(CONTROLS)
        paths = [*list(LOSSES)[:2], WAVE] if self.quick else [*LOSSES, *LINKS, WAVE, PAIR]
        return grid(paths, ccs, self.seeds(SEEDS), scenario)

    def measure(self, case: Case, result: bp.Result) -> Row:
        """The measures of a row; NaN for those of other experiments."""
        path, row = case.keys["path"], dict.fromkeys(self.columns, math.nan)
        flows = result.json["flows"]
        if path in LOSSES:
            return row | {"mbps": flows[0]["goodput_bps"] / 1e6}
        if path in LINKS:
            return row | _beside(result)
        return row | (_wave(result) if path == WAVE else _pair(result))

    def text(self, rows: Rows) -> str:
        """The page."""
        over = {cc: {path: _over_tcp(rows, path, cc) for path in LOSSES} for cc in CONTROLS}

        beside = {"mbps": "Mbit/s", "tcp_mbps": "TCP beside it", "variation": "variation"}
        friendly = [[label, *(f"{x:.2f}" for x in over[cc].values())] for cc, (label, _) in CONTROLS.items()]
        smooth = [
            [label, *(rows.cell(of, 2, path=path, cc=cc) for path, of in product(LINKS, beside))]
            for cc, (label, _) in CONTROLS.items()
        ]
        room = [("rise_s", 1, WAVE), ("used", 0, WAVE), ("lost", 2, WAVE), ("fair_s", 0, PAIR)]
        quick = [
            [label, *(rows.cell(of, digits, path=path, cc=cc) for of, digits, path in room)]
            for cc, (label, _) in CONTROLS.items()
        ]
        return page(
            __file__,
            rows,
            friendly=markdown(["<control", *LOSSES], friendly),
            smooth=markdown(
                ["<control", *(f"{path}: {name}" for path, name in product(LINKS, beside.values()))], smooth
            ),
            quick=markdown(["<control", "rise, s", "used, %", "lost, %", "fair after, s"], quick),
            over=over,
            seeds=SEEDS,
        )

    def views(self, rows: Rows) -> Iterator[tuple[str, Figure]]:
        """Goodput over a period of the square wave, and smoothness against the time to take free room."""
        figure = Figure(figsize=(8.6, 5.2), layout="constrained")
        halves: Any = figure.subfigures(1, 2, width_ratios=(3, 2))
        left, right = halves
        panels, both = left.subplots(len(CONTROLS), 1, sharex=True, sharey=True), right.subplots()
        for axes, (cc, (label, _)) in zip(panels, CONTROLS.items(), strict=True):
            t, mbps = _over_time(bp.run(scenario(WAVE, cc, 1)))
            part = (t >= 2 * SQUARE_HALF_S * 2) & (t < 2 * SQUARE_HALF_S * 5)
            axes.plot(t[part], mbps[part], linewidth=0.9, color=COLOURS[cc])
            axes.set_title(label, fontsize="small")
            for start in (2, 3, 4):
                loud = 2 * start * SQUARE_HALF_S
                axes.axvspan(loud, loud + SQUARE_HALF_S, color="#eeeeee", zorder=0)
            x, y = (
                rows.interval(of, path=path, cc=cc)
                for of, path in (("variation", "60 Mbit/s"), ("rise_s", WAVE))
            )
            if x is not None and y is not None:
                both.errorbar(
                    x.centre,
                    y.centre,
                    y.half_width,
                    x.half_width,
                    "o",
                    color=COLOURS[cc],
                    label=label,
                    capsize=2,
                )
        panels[2].set_ylabel("goodput over 1 s, Mbit/s")
        panels[-1].set(xlabel="time, s", ylim=(0, SQUARE_MBPS * 1.05))
        both.set(
            xlabel="variation of the goodput at 60 Mbit/s", ylabel="time to take free room, s", xlim=0, ylim=0
        )
        both.legend(frameon=False, fontsize="small", loc="upper left")
        yield "simd-tfrc.svg", figure


COLOURS = {
    "tcp": "#777777", "simd": "#4477aa", "tfrc": "#bb5566", "self-clocked": "#ddaa33", "tfrcp": "#228833",
}  # fmt: skip


def scenario(path: str, cc: str, seed: int) -> dict[str, Any]:
    """An experiment of the paper with the control in the place of SIMD."""
    if path in LOSSES:
        longer = 5 if LOSSES[path] > 0.1 else 1
        made = BASE.friendly("simd", LOSSES[path], seed, ROUNDS * longer)
    elif path in LINKS:
        groups: Any = [("x", "simd", 16, {}), ("tcp", "tcp", 16, {})]
        made = BASE.dumbbell(groups, "red", LINKS[path], seed, SMOOTH_S, "200 ms")
    elif path == WAVE:
        made = BASE.square("simd", seed, CYCLES) | {"record": {"interval": "100 ms"}}
    else:
        made = BASE.chain("simd", CHAINS["chain-1"], seed, SWITCH_S, AFTER_S)
    for flow in made["flow"]:
        if flow.get("cc") == BASE.control("simd"):
            flow["cc"] = CONTROLS[cc][1]
    made["title"] = f"{path}: {CONTROLS[cc][0]}"
    return made


def _beside(result: bp.Result) -> dict[str, float]:
    trace, end = result.trace, float(result.json["simulated_s"])
    found: dict[str, float] = {}
    for prefix, name in (("", "x"), ("tcp_", "tcp")):
        flows = [f["name"] for f in result.json["flows"] if f["name"].rsplit("-", 1)[0] == name]
        of = rates(trace, end / 2, end)
        found[f"{prefix}mbps"] = fmean(of[flow] for flow in flows)
        varied = []
        for flow in flows:
            t, delivered = traces.columns(trace, flow, "delivered_bytes")
            late = t >= end - STRETCH_S
            if delivered[-1] > delivered[late][0]:  # else it waits for its timer all the time
                varied.append(traces.smoothness(t[late], delivered[late], SHORT_S * (1 + 1e-9)))
        found[f"{prefix}variation"] = fmean(varied)
    return found


def _over_time(result: bp.Result, width_s: float = WITHIN_S) -> tuple[Any, Any]:
    """The ends of intervals of this width, a tenth of a second apart, and the goodput in each, Mbit/s."""
    t, delivered = traces.columns(result.trace, "x", "delivered_bytes")
    ends = np.arange(width_s, float(result.json["simulated_s"]), 0.1)
    got = np.interp(ends, t, delivered) - np.interp(ends - width_s, t, delivered)
    return ends, got * 8 / width_s / 1e6


def _wave(result: bp.Result) -> dict[str, float]:
    """The flow against the square wave, from its second period on."""
    t, mbps = _over_time(result)
    period = 2 * SQUARE_HALF_S
    phase = t % period
    late = t >= period
    steady = float(mbps[late & (phase >= SQUARE_HALF_S * (1 + SETTLED))].mean())
    rises = []
    for start in np.arange(1, CYCLES) * period + SQUARE_HALF_S:
        there = t[(t >= start) & (t < start + SQUARE_HALF_S) & (mbps >= AGAIN * steady)]
        rises.append(float(there[0] - start) if there.size else SQUARE_HALF_S)
    flow = next(f for f in result.json["flows"] if f["name"] == "x")
    quiet = float(mbps[late & (phase >= SQUARE_HALF_S)].mean())
    return {
        "rise_s": fmean(rises),
        "used": 100 * quiet / SQUARE_MBPS,
        "lost": 100 * flow["dropped_packets"] / flow["sent_packets"],
    }


def _pair(result: bp.Result) -> dict[str, float]:
    """The two flows of the chain, after the others have ended."""
    ends = np.arange(SWITCH_S + 2, SWITCH_S + AFTER_S, 0.1)
    got = []
    for name in ("s1", "s2"):
        t, delivered = traces.columns(result.trace, name, "delivered_bytes")
        got.append(np.interp(ends, t, delivered) - np.interp(ends - 2, t, delivered))
    fair = ends[np.abs(got[0] - got[1]) < APART * (got[0] + got[1])]
    return {"fair_s": float(fair[0]) - SWITCH_S if fair.size else AFTER_S}


def _over_tcp(rows: Rows, path: str, cc: str) -> float:
    """Goodput over that of TCP, paired by seed."""
    mine, tcp = (rows.values("mbps", path=path, cc=name) for name in (cc, "tcp"))
    return fmean(mine[seed] / tcp[seed] for seed in mine)

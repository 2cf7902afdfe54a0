"""The window of every registered controller over one GEO link: docs/gallery.md and its figures."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import blended_transform_factory

import bentpipe as bp
from bentpipe.experiments.experiment import Experiment, case_of, joined
from bentpipe.experiments.rows import Rows
from bentpipe.io import files
from bentpipe.models import KINDS
from bentpipe.pages.markdown import markdown, rendered, texts
from bentpipe.pages.page import line_colour
from bentpipe.plot import looks
from bentpipe.registry import find
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.kept import Row

PAGE = Path(__file__).with_name("gallery.md")

DURATION = 120.0
INTERVAL = 0.1
BDP = 10e6 * 0.5 / 8 / 1500
BUFFER = 417
TOP = 3 * BDP
OTHERS = (60.0, 90.0)
TIMEOUT_RESOLUTION = 0.5
SLOT = 0.6

# Packets of one size fall into step with the flow's own, and a full queue then drops only one of the two
# (S. Floyd, V. Jacobson: Traffic Phase Effects in Packet-Switched Gateways, 1991). Ten sizes do not.
CROSS = [(0.41 + 0.02 * i, 1500 - 70 * i) for i in range(10)]

LOOK = looks.PAGE | {"axes.linewidth": 0.6, "font.sans-serif": ["DejaVu Sans"], "font.size": 7.5}


PANELS = {"no errors, other traffic": 0.0, "bit error rate 1e-8": 1e-8, "bit error rate 1e-7": 1e-7}
"""The runs of a controller by the titles of their panels: the bit error rate; the first has other traffic."""


def scenario(cc: str, ber: float) -> bp.Scenario:
    """The run of a controller."""
    # A controller that depends on signals of a queue gets such a queue.
    kind: Any = KINDS[find(cc)["queue"] or "drop-tail"]
    link = bp.Link(
        rate="10 Mbit/s",
        delay="250 ms",
        queue=kind(limit=f"{BUFFER} packets"),
        loss=bp.BitError(ber) if ber else None,
    )
    when: dict[str, Any] = dict(zip(("start", "stop"), (f"{t:g} s" for t in OTHERS), strict=True))
    others = [
        bp.Flow(traffic=bp.Cbr(f"{rate:.2f} Mbit/s", packet=f"{size} bytes"), path=["sat"], **when)
        for rate, size in ([] if ber else CROSS)
    ]
    return bp.Scenario(
        links={"sat": link},
        flows=[bp.Flow(cc, path=["sat"], name="flow"), *others],
        duration=f"{DURATION:g} s",
        seed=1,
        record=bp.Record(f"{INTERVAL:g} s", flows=True, links=True),
    )


COLUMNS = ("t", "cwnd", "in_flight", "drops", "timeouts")
"""Those over time."""


class Gallery(Experiment):
    """The experiment."""

    name = "gallery"

    def cases(self) -> list[Case]:
        """The three runs of every controller; a quick gallery is the whole one."""
        return [
            case_of({"cc": entry["id"], "panel": title}, scenario(entry["id"], ber))
            for entry in bp.controllers()
            for title, ber in PANELS.items()
        ]

    def measure(self, case: Case, result: bp.Result) -> Row:
        """What is drawn of a run: columns over time, and the numbers printed."""
        trace = result.trace.filter(result.trace["flow"] == "flow")
        link = result.link_trace.filter(result.link_trace["link"] == "sat/forward")
        dropped = np.diff(link["dropped_packets"].to_numpy().astype(float), prepend=0.0)
        flow = result.json["flows"][0]
        return {
            "t": trace["t_s"].to_list(),
            "cwnd": trace["cwnd"].to_list(),
            "in_flight": trace["in_flight"].to_list(),
            "drops": link["t_s"].to_numpy()[dropped > 0].tolist(),
            "timeouts": timeouts(bp.Scenario.from_dict(case.scenario), flow["timeouts"]),
            "goodput_mbps": flow["goodput_bps"] / 1e6,
            "timeout_count": flow["timeouts"],
        }

    def finish(self, rows: Rows) -> list[Path]:
        """Writes the page and its figures."""
        figures = self.out / "gallery"
        figures.mkdir(exist_ok=True)
        for old in figures.glob("*.svg"):
            old.unlink()
        with looks.fixed(LOOK):
            for (cc,), panels in rows.groups("cc").items():
                save(draw(find(cc), panels), figures / f"{cc}.svg")
        files.replace_text(self.page, page(rows))
        return [self.page]

    def stale(self) -> list[str]:
        """A line if the page does not agree with new runs."""
        cases = self.cases()
        rows = joined(cases, self.make(cases))
        same = self.page.exists() and self.page.read_text(encoding="utf-8") == page(rows)
        return [] if same else ["gallery.md does not agree with the runs"]


def timeouts(scenario: bp.Scenario, total: int) -> list[float]:
    """The times of the timeouts of a run.

    A trace does not hold them; but the same run over a shorter duration is its beginning, so its count of
    timeouts is their number until then. An interval is halved while the counts at its ends differ.
    """
    quiet = replace(scenario, record=None)

    def count(until: float) -> int:
        flows = bp.run(replace(quiet, duration=f"{until:g} s")).json["flows"]
        return int(flows[0]["timeouts"])

    def search(low: float, high: float, before: int, after: int) -> Iterator[float]:
        middle = (low + high) / 2
        if after == before:
            return
        if high - low <= TIMEOUT_RESOLUTION:
            yield middle
            return
        by_then = count(middle)
        yield from search(low, middle, before, by_then)
        yield from search(middle, high, by_then, after)

    return list(search(0.0, DURATION, 0, total))


def thinned(x: np.ndarray, y: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """The points of a line that are needed to draw it within `tolerance` (Douglas and Peucker 1973)."""
    keep = np.zeros(len(x), dtype=bool)
    keep[[0, -1]] = True
    pieces = [(0, len(x) - 1)]
    while pieces:
        a, b = pieces.pop()
        if b - a < 2:
            continue
        dx, dy = x[b] - x[a], y[b] - y[a]
        inside = slice(a + 1, b)
        off = np.abs(dx * (y[inside] - y[a]) - dy * (x[inside] - x[a])) / np.hypot(dx, dy)
        worst = int(np.argmax(off))
        if off[worst] > tolerance:
            middle = a + 1 + worst
            keep[middle] = True
            pieces += [(a, middle), (middle, b)]
    return x[keep], y[keep]


def draw(entry: Mapping[str, Any], panels: Sequence[Row]) -> Figure:
    """The figure of one controller: its panels side by side."""
    figure = Figure(figsize=(7.8, 1.75), facecolor="white")
    figure.subplots_adjust(left=0.062, right=0.998, top=0.87, bottom=0.215, wspace=0.045)
    axes = figure.subplots(1, len(PANELS), sharex=True, sharey=True)
    # Points of a figure per second and per segment: details too fine to see need not be drawn.
    box = axes[0].get_position()
    per_second = box.width * 7.8 * 72 / DURATION
    per_segment = box.height * 1.75 * 72 / TOP
    for ax, (title, ber), row in zip(axes, PANELS.items(), panels, strict=True):
        t, cwnd, in_flight = (np.array(row[name]) for name in COLUMNS[:3])
        line = thinned(t * per_second, np.minimum(cwnd, 2 * TOP) * per_segment, 0.35)
        area = thinned(t * per_second, np.minimum(in_flight, 2 * TOP) * per_segment, 1.0)
        x = np.concatenate([[0.0], area[0] / per_second, [DURATION]])
        y = np.concatenate([[0.0], area[1] / per_segment, [0.0]])
        ax.fill(x, y, color=entry["colour"], alpha=0.22, lw=0)
        for level in (BDP, BDP + BUFFER):
            ax.axhline(level, color="0.45", lw=0.5, ls=(0, (4, 3)))
        if not ber:
            ax.axvspan(*OTHERS, color="0.5", alpha=0.13, lw=0)
        ink = line_colour(entry["colour"])
        ax.plot(line[0] / per_second, line[1] / per_segment, color=ink, lw=1.0, solid_joinstyle="round")
        ticks(ax, row)
        ax.set_title(f"{title}: {row['goodput_mbps']:.2f} Mbit/s", fontsize=7.5, pad=3)
        ax.set(xlim=(0, DURATION), ylim=(0, TOP), xticks=(0, 30, 60, 90), yticks=(0, 500, 1000))
        ax.tick_params(length=2, labelsize=7, pad=2)
        if ax is not axes[0]:
            ax.tick_params(axis="y", left=False)
    axes[0].set_ylabel("segments", fontsize=7, labelpad=1)
    axes[1].set_xlabel("time, s", fontsize=7, labelpad=1)
    return figure


def ticks(ax: Axes, row: Row) -> None:
    """Drops as ticks and timeouts as crosses at the bottom of a panel."""
    place = blended_transform_factory(ax.transData, ax.transAxes)
    x: list[float] = []
    # Neighbours that would touch are one bar.
    slots = np.unique((np.array(row["drops"]) / SLOT).astype(int))
    for bar in np.split(slots, np.flatnonzero(np.diff(slots) > 1) + 1) if len(slots) else []:
        x += [bar[0] * SLOT, (bar[-1] + 1) * SLOT, np.nan]
    ax.plot(x, np.full(len(x), 0.028), color="#cc0000", lw=4.5, solid_capstyle="butt", transform=place)
    y = np.full(len(row["timeouts"]), 0.12)
    ax.plot(row["timeouts"], y, "x", color="#cc0000", ms=3.2, mew=0.8, transform=place)


def digest(panels: Sequence[Row]) -> str:
    """A fingerprint of what is drawn, as exact as can be seen, whatever version of matplotlib draws it."""
    text = "\n".join(" ".join(f"{value:.1f}" for value in row[name]) for row in panels for name in COLUMNS)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def save(figure: Figure, target: Path) -> None:
    """Writes an SVG: the same bytes for the same figure, one decimal, no dates, no names of parts."""
    text = re.sub(r"(\d+\.\d)\d+", r"\1", looks.encoded(figure, "svg").decode())
    text = re.sub(r' id="[a-z0-9.]+_[0-9]+"', "", text)
    text = re.sub(r" *\n(?=([LM] |z\n|\"/>))", "", text)
    target.write_text(re.sub(r"\n +", "\n", text), encoding="utf-8")


def page(rows: Rows) -> str:
    """The whole page."""
    body = []
    for (cc,), panels in rows.groups("cc").items():
        link = f"[{find(cc)['label']}](controllers/{cc}.md)"
        rates = [f"{row['goodput_mbps']:.2f}" for row in panels]
        body.append([link, *rates, ", ".join(str(row["timeout_count"]) for row in panels)])
    heads = texts(["controller", "no errors, other traffic", "1e-8", "1e-7", "timeouts"])
    return rendered(
        PAGE,
        **{"buffer": BUFFER, "cross": sum(rate for rate, _ in CROSS), "bdp": BDP, "top": TOP},
        # One packet of 1500 bytes in this many is lost.
        one_in=lambda ber: round(1 / -math.expm1(1500 * 8 * math.log1p(-ber))),
        table=markdown(heads, body),
        entries=[(find(cc), digest(panels)) for (cc,), panels in rows.groups("cc").items()],
    )

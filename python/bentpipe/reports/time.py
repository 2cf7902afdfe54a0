"""Charts of runs over time, from their traces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from bentpipe import registry
from bentpipe.pages import Axis, Curve, Page
from bentpipe.plot import rates
from bentpipe.reports.measures import Sample, labelled, valued
from bentpipe.result import Result
from bentpipe.sweeps.stored import Stored

#: Most combinations among which a reader chooses, and most flows of each.
CHOICES, FLOWS = 50, 30
#: Points of a curve at most and at least, and of all curves of a chart together.
POINTS, LEAST, ALL = 2000, 300, 150_000

#: Columns of a trace that are drawn: column, label, title, and the factor of its values.
_DRAWN = (
    ("cwnd", "congestion window, segments", "Congestion window.", 1.0),
    ("in_flight", "in flight, segments", "In flight.", 1.0),
    ("srtt_s", "smoothed RTT, ms", "Smoothed RTT.", 1e3),
    ("retransmitted_packets", "segments sent again", "Segments sent again so far.", 1.0),
)
_DASHES: Sequence[Sequence[float]] = ([], [4, 2], [1, 2], [6, 2, 1, 2])

Choices = dict[str, list[Curve]]


def over_time(page: Page, stored: Stored, found: Sample) -> None:
    """Charts of the traced runs: of each combination and seed those of all algorithms together."""
    if not stored.traces.height:
        return
    flow = "result_flow" if "result_flow" in stored.traces.columns else "flow"
    traced = stored.traces.with_columns(pl.col(flow).cast(pl.String))
    runs = {
        int(run): rows
        for (run,), rows in traced.partition_by("run", as_dict=True, maintain_order=True).items()
    }
    of_choice: dict[str, list[int]] = {}
    said = _choices(found)
    for run in runs:
        if run in said:
            of_choice.setdefault(said[run], []).append(run)
    kept = list(of_choice.items())[:CHOICES]
    flows = sum(runs[run][flow].n_unique() for _, some in kept for run in some)
    points = max(LEAST, min(POINTS, ALL // max(flows, 1)))
    curves: dict[str, Choices] = {name: {} for name in ("goodput", *(column for column, *_ in _DRAWN))}
    window, cut = 0.0, False
    names = _names(stored)
    colours = registry.colours(found.ids[name] for name in found.algorithms)
    for choice, some in kept:
        drawn: dict[str, list[Curve]] = {name: [] for name in curves}
        seen: dict[str, int] = {}
        for run in some:
            result = stored.result(run)
            window = max(window, rates.window(result))
            arrived = _arrivals(result)
            for (of,), rows in runs[run].partition_by(flow, as_dict=True, maintain_order=True).items():
                algorithm = names.get((run, str(of)))
                if algorithm is None:
                    continue
                nth = seen[algorithm] = seen.get(algorithm, -1) + 1
                if sum(seen.values()) + len(seen) > FLOWS:
                    cut = True
                    continue
                colour = colours[found.ids[algorithm]]
                label = algorithm if nth == 0 else f"{algorithm} ({nth + 1})"
                mean = rates.means(arrived[str(of)], rates.window(result))
                goodput = mean["t_s"].to_list(), (mean["goodput_bps"] * 1e-6).to_list()
                series = _series(rows, points) | {"goodput": goodput}
                for name, (x, y) in series.items():
                    drawn[name].append(Curve(label, x, y, colour=colour, dashes=_DASHES[nth % 4]))
        for name, of_name in drawn.items():
            curves[name][choice] = of_name
    _charts(page, curves, window, choose=", ".join(p.words for p in found.parameters) or "Run")
    if cut or len(of_choice) > len(kept):
        page.paragraphs(
            f"Of {len(of_choice):,} combinations with traces {len(kept):,} are drawn, {FLOWS} flows each "
            "at most; the data files have all.",
            small=True,
        )


def _charts(page: Page, curves: dict[str, Choices], window: float, *, choose: str) -> None:
    page.section("Over time", ["The runs whose traces were kept."])
    average = f"Mean over {window:.3g} s. Each byte counts when it can have arrived at the latest."
    drawn = [("goodput", "goodput, Mbit/s", "Goodput over time.", average)]
    drawn += [(name, label, title, "") for name, label, title, _ in _DRAWN]
    for name, label, title, caption in drawn:
        there = {choice: some for choice, some in curves[name].items() if some}
        if not there:
            continue
        page.chart(
            there if len(there) > 1 else next(iter(there.values())),
            x=Axis("time, s", least=0),
            y=Axis(label, least=0),
            alt=f"{label} over time, one curve for each flow",
            title=title,
            caption=caption,
            choose=choose,
        )


def _choices(found: Sample) -> dict[int, str]:
    """The choices of a reader, for each run: its combination of parameters and its seed."""
    rows = found.rows.unique("run", maintain_order=True)
    seeds = rows["seed"].n_unique() > 1
    made = {}
    for row in rows.iter_rows(named=True):
        parts = [valued(p, row) for p in found.parameters]
        made[int(row["run"])] = ", ".join([*parts, *([f"seed {row['seed']}"] if seeds or not parts else [])])
    return made


def _names(stored: Stored) -> dict[tuple[int, str], str]:
    """The algorithm of each flow of each run."""
    flows = labelled(stored)
    name = "result_name" if "result_name" in flows.columns else "name"
    return {
        (int(run), str(of)): label for run, of, label in flows.select("run", name, "algorithm").iter_rows()
    }


def _series(rows: pl.DataFrame, points: int) -> dict[str, tuple[Sequence[float], Sequence[float]]]:
    """Columns of a trace against the time, thinned so that highs and lows stay."""
    t = rows["t_s"].to_numpy()
    return {
        column: thinned(t, factor * rows[column].fill_null(float("nan")).to_numpy(), points)
        for column, *_, factor in _DRAWN
        if column in rows.columns
    }


def thinned(t: np.ndarray[Any, Any], y: np.ndarray[Any, Any], points: int) -> tuple[list[float], list[float]]:
    """A thinned curve: of each stretch of samples the lowest and the highest, in order."""
    if len(t) <= points:
        return t.tolist(), y.tolist()
    parts = np.array_split(np.arange(len(t)), points // 2)
    kept: list[int] = []
    for part in parts:
        values = y[part]
        if np.isnan(values).all():
            kept.append(int(part[0]))
        else:
            kept += sorted({int(part[np.nanargmin(values)]), int(part[np.nanargmax(values)])})
    return t[kept].tolist(), y[kept].tolist()


def _arrivals(result: Result) -> dict[str, pl.DataFrame]:
    """`rates.arrivals`; the bytes in order where nothing is known of the paths."""
    if result.scenario.get("flow"):
        return rates.arrivals(result)
    rows = result.trace.select("flow", "t_s", arrived_bytes=pl.col("delivered_bytes").cast(pl.Float64))
    return {str(flow): part for (flow,), part in rows.partition_by("flow", as_dict=True).items()}

"""Runs over time: what their traces show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe import registry
from bentpipe.pages import Axis, Curve, Page
from bentpipe.reports.measures import Sample, labelled
from bentpipe.reports.reading import Stored

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Curves of a chart and points of a curve at most.
CURVES, POINTS = 20, 2000
#: Goodput is averaged over this share of the run, so that acknowledgements in bursts do not exceed the link.
WINDOW = 1 / 100


def over_time(page: Page, stored: Stored, found: Sample) -> None:
    """Charts of the first traced run of each algorithm and combination, up to `CURVES` flows."""
    if not stored.traces.height:
        return
    names = dict(
        labelled(stored)
        .select(pl.concat_str(["run", _flow_name(stored)], separator="/"), "algorithm")
        .iter_rows()
    )
    ids = found.ids
    flow = "result_flow" if "result_flow" in stored.traces.columns else "flow"
    parts = stored.traces.with_columns(pl.col(flow).cast(pl.String)).partition_by(
        "run", flow, maintain_order=True, as_dict=True
    )
    seen: dict[str, int] = {}
    curves: dict[str, list[Curve]] = {name: [] for name in ("goodput", "cwnd", "in_flight", "srtt_s")}
    left_out = 0
    for (run, of), rows in parts.items():
        algorithm = names.get(f"{run}/{of}", str(of))
        nth = seen[algorithm] = seen.get(algorithm, -1) + 1
        if sum(seen.values()) + len(seen) > CURVES:
            left_out += 1
            continue
        label = algorithm if nth == 0 else f"{algorithm} ({nth + 1})"
        style: dict[str, Any] = {"dashes": [[], [4, 2], [1, 2], [6, 2, 1, 2]][nth % 4]}
        style["colour"] = registry.style(ids.get(algorithm, algorithm))["colour"]
        for name, (x, y) in _series(rows).items():
            curves[name].append(Curve(label, x, y, **style))
    page.section("Over time", ["The flows of the first runs whose traces were kept."])
    labels = {
        "goodput": ("goodput, Mbit/s", "Goodput over time."),
        "cwnd": ("congestion window, segments", "Congestion window."),
        "in_flight": ("in flight, segments", "In flight."),
        "srtt_s": ("smoothed RTT, ms", "Smoothed RTT."),
    }
    for name, (label, title) in labels.items():
        if curves[name]:
            page.chart(
                curves[name],
                x=Axis("time, s"),
                y=Axis(label),
                alt=f"{label} over time, one curve for each flow",
                title=title,
                caption="Averaged over a hundredth of the run." if name == "goodput" else "",
            )
    if left_out:
        page.paragraphs(f"{left_out} more traced flows are in the dataset and not drawn.", small=True)


def _flow_name(stored: Stored) -> str:
    return "result_name" if "result_name" in stored.flows.columns else "name"


def _series(rows: pl.DataFrame) -> dict[str, tuple[Sequence[float], Sequence[float]]]:
    """Columns of a trace against the time, thinned to `POINTS`."""
    made: dict[str, tuple[Sequence[float], Sequence[float]]] = {}
    rows = rows.sort("t_s")
    thin = rows.gather_every(-(-rows.height // POINTS))
    for name, factor in (("cwnd", 1.0), ("in_flight", 1.0), ("srtt_s", 1e3)):
        made[name] = thin["t_s"].to_list(), (thin[name].fill_null(float("nan")) * factor).to_list()
    end = float(str(rows["t_s"].max()))
    width = max(WINDOW * (end - float(str(rows["t_s"].min()))), 1e-9)
    # The last sample of each window; between two of them the delivered bytes tell the mean rate.
    ends = rows.group_by((pl.col("t_s") / width).floor().alias("window"), maintain_order=True).last()
    took, got = ends["t_s"].diff(), ends["delivered_bytes"].cast(pl.Int64).diff()
    rate = (8e-6 * got / took).to_list()[1:]
    made["goodput"] = ends["t_s"].to_list()[1:], rate
    return made

"""Contents of the page of `explore`: four charts over time and a table, from the runs of a setting."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
from markupsafe import Markup

from bentpipe import measures, registry, stats
from bentpipe._core import ScenarioError
from bentpipe.explore.setting import Setting
from bentpipe.measures import LOSSY
from bentpipe.pages import Axis, Badge, Curve, Prose, live
from bentpipe.pages.charts import curves
from bentpipe.pages.page import blocks
from bentpipe.pages.prose import html, is_number
from bentpipe.plot import rates
from bentpipe.result import Result
from bentpipe.runs import run_many

#: The charts: name, label of the vertical axis, title, and caption.
CHARTS = (
    ("goodput", "goodput, Mbit/s", "Goodput.", "Mean over a second or a round trip."),
    ("cwnd", "congestion window, segments", "Congestion window.", ""),
    ("rtt", "smoothed RTT, ms", "Smoothed RTT.", ""),
    ("queue", "queue, packets", "Queue.", "Before the busiest link."),
)
_COLUMNS = ("Algorithm", "Goodput, Mbit/s", None, "95 % of RTTs, ms", "Lost, %", "Timeouts")


def frame() -> str:
    """The charts, without data, and the place of the table."""
    made = [
        live.figure(
            f"explore-{name}", alt=f"{label} over time, a curve for each algorithm", title=title, caption=said
        )
        for name, label, title, said in CHARTS
    ]
    figures = f'<div class="figures">{"".join(made)}</div>'
    return f'<div id="explore-table"></div>{figures}<div id="explore-more"></div>'


def shown(setting: Setting) -> str:
    """Runs a setting: the element with the data of the charts and of the table.

    Raises:
        ScenarioError: an algorithm is unknown, a value is out of its range, or a link is not one path.
    """
    scenarios = setting.scenarios()
    if not scenarios:
        return live.given(
            {}, {"explore-table": Markup("<p>Choose an algorithm.</p>"), "explore-more": Markup()}
        )
    results = run_many(scenarios)
    of = results * len(setting.algorithms) if setting.together else results
    each = list(zip(setting.algorithms, of, strict=True))
    drawn: dict[str, list[Curve]] = {name: [] for name, *_ in CHARTS}
    for cc, result in each:
        for name, (x, y) in _series(result, cc).items():
            style = registry.style(cc)
            drawn[name].append(Curve(style["label"], x, y, colour=style["colour"]))
    if setting.together:
        x, y = _queue(results[0])
        drawn["queue"] = [Curve("all", x, y, colour="#7f7f7f")]
    time = Axis("time, s", least=0)
    charts = {
        f"explore-{name}": curves(drawn[name], time, Axis(label, least=0)) for name, label, *_ in CHARTS
    }
    text = json.dumps(scenarios[0].to_dict(), indent=2)
    more = blocks().command(setting.command(), "") if setting.command() else Markup()
    more += blocks().command(text, "The scenario" if setting.together else "The scenario of the first")
    return live.given(charts, {"explore-table": _table(setting, each), "explore-more": more})


def _series(result: Result, cc: str) -> dict[str, tuple[Any, Any]]:
    """The curves of one flow.

    Raises:
        ScenarioError: it is no connection over one path.
    """
    arrived = rates.arrivals(result)
    if cc not in arrived:
        raise ScenarioError("explore shows connections over one path, without a relay; see bentpipe compare")
    trace = result.trace.filter(pl.col("flow").cast(pl.String) == cc)
    t = trace["t_s"].to_list()
    means = rates.means(arrived[cc], rates.window(result))
    return {
        "goodput": (means["t_s"].to_list(), (means["goodput_bps"] * 1e-6).to_list()),
        "cwnd": (t, trace["cwnd"].to_list()),
        "rtt": (t, (trace["srtt_s"].fill_null(float("nan")) * 1e3).to_list()),
        "queue": _queue(result),
    }


def _queue(result: Result) -> tuple[list[float], list[float]]:
    link = measures.busiest(result.json["links"])
    busiest = "" if link is None else f"{link['name']}/{link['direction']}"
    rows = result.link_trace.filter(pl.col("link").cast(pl.String) == busiest)
    return rows["t_s"].to_list(), rows["queue_packets"].cast(pl.Float64).to_list()


def _table(setting: Setting, each: list[tuple[str, Result]]) -> Markup:
    """A row for each algorithm, and notes on all of them."""
    rows: list[list[Prose]] = []
    goodputs = []
    for cc, result in each:
        flow = next(flow for flow in result.json["flows"] if flow["name"] == cc)
        lost = measures.lost([flow])
        goodput = flow["goodput_bps"] * 1e-6
        goodputs.append(goodput)
        rtt = flow["rtt_p95_s"]
        rows.append(
            [
                registry.style(cc)["label"],
                f"{goodput:.3g}",
                f"{100 * _share(setting, goodput, result):.3g}",
                f"{1e3 * rtt:.4g}" if rtt is not None else "-",
                _lost(lost),
                str(flow["timeouts"]),
            ]
        )
    cells = [[(html(cell), is_number(cell)) for cell in row] for row in rows]
    said = f"One run each, seed {setting.seed}: other seeds give other numbers."
    if setting.together and len(each) > 1 and any(goodputs):
        said += f" Jain's index {stats.jain(goodputs):.3f}."
    of = "Of the rate, %" if setting.link is None else "Link used, %"
    columns = [of if column is None else column for column in _COLUMNS]
    table: Markup = blocks().table(columns, cells, "", None, False, "")
    return table + Markup("<p><small>{}</small></p>").format(said)


def _share(setting: Setting, goodput_mbps: float, result: Result) -> float:
    """Goodput of the link's rate; of a user's links, whose rate may vary, the utilisation of the busiest."""
    if setting.link is None:
        return goodput_mbps / setting.rate_mbps
    return measures.utilisation(result.json["links"]) or 0.0


def _lost(share: float | None) -> Prose:
    """A cell of the table: lost packets, %, with a badge if they are many."""
    if share is None:
        return "-"
    return [f"{100 * share:.3g} ", Badge("loses much", "bad")] if share > LOSSY else f"{100 * share:.3g}"

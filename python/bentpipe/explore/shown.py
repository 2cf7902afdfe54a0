"""Setting of the sliders of `explore`, and what the page shows of it: four charts over time and a table."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from markupsafe import Markup

from bentpipe import measures, registry, stats
from bentpipe._core import ScenarioError
from bentpipe.comparison import base_and_model
from bentpipe.measures import LOSSY
from bentpipe.models import DropTail, Link, PacketError, Record
from bentpipe.pages import Axis, Badge, Curve, Prose
from bentpipe.pages.charts import curves
from bentpipe.pages.page import blocks, own
from bentpipe.pages.prose import html, is_number
from bentpipe.plot import rates
from bentpipe.result import Result
from bentpipe.runs import run_many
from bentpipe.scenario import Scenario

#: Samples of a run: more than a chart has columns of pixels.
SAMPLES = 600
#: The values of the sliders.
RATES = (0.5, 1, 2, 5, 10, 20, 50, 100)
RTTS = (5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 500, 600, 700, 800, 1000, 1500)
LOSSES = (0, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
BUFFERS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8)
DURATIONS = (5, 10, 20, 30, 60, 120)
#: The scenario whose links the page shows in place of a link with sliders; `server.serve` sets it.
given: str | None = None

#: The charts: name, label of the vertical axis, title, and caption.
CHARTS = (
    ("goodput", "goodput, Mbit/s", "Goodput.", "Mean over a second or a round trip."),
    ("cwnd", "congestion window, segments", "Congestion window.", ""),
    ("rtt", "smoothed RTT, ms", "Smoothed RTT.", ""),
    ("queue", "queue, packets", "Queue.", "Before the busiest link."),
)
_COLUMNS = ("Algorithm", "Goodput, Mbit/s", None, "95 % of RTTs, ms", "Lost, %", "Timeouts")


@dataclass(frozen=True)
class Setting:
    """A link with a drop-tail queue, and the algorithms on it: each alone, or all together.

    Attributes:
        link: a scenario, by name or file. Its links and its traffic without controllers are there in place of
            the link that rate, round trip, loss and buffer describe.
    """

    rate_mbps: float = 10
    rtt_ms: float = 600
    loss_percent: float = 0.01
    buffer_bdp: float = 1
    algorithms: Sequence[str] = ("cubic", "bbr", "reno")
    together: bool = False
    duration_s: float = 30
    seed: int = 1
    link: str | None = None

    def scenarios(self) -> list[Scenario]:
        """One scenario for each algorithm, or one with all of them."""
        if not self.algorithms:
            return []
        base, model = base_and_model(self._link() if self.link is None else self.link)
        base.duration, base.seed = f"{self.duration_s:g} s", self.seed
        base.record = Record(f"{1000 * self.duration_s / SAMPLES:g} ms", links=True)
        flows = [dataclasses.replace(model, cc=cc, name=cc, count=None) for cc in self.algorithms]
        parts = [flows] if self.together else [[flow] for flow in flows]
        return [dataclasses.replace(base, flows=[*part, *base.flows]) for part in parts]

    def _link(self) -> Link:
        return Link(
            rate=f"{self.rate_mbps:g} Mbit/s",
            delay=f"{self.rtt_ms / 2:g} ms",
            queue=DropTail(f"{self.buffer_bdp:g} bdp"),
            loss=PacketError(self.loss_percent / 100) if self.loss_percent else None,
        )

    def command(self) -> str:
        """The same over five seeds on the command line; empty for algorithms that are together."""
        if self.together or not self.algorithms:
            return ""
        link = f"geo --rate '{self.rate_mbps:g} Mbit/s' --rtt '{self.rtt_ms:g} ms' " + (
            f"--per {self.loss_percent / 100:g} --buffer '{self.buffer_bdp:g} bdp'"
        )
        return (
            f"bentpipe compare --link {link if self.link is None else shlex.quote(self.link)} "
            f"--for '{self.duration_s:g} s' --cc {','.join(self.algorithms)}"
        )


def head() -> str:
    """Styles and scripts for the page. In the dark (a body of class "dark") the charts are dark."""
    colours = (
        f".bentpipe {{ {own('templates/light.css')} }}\n.dark .bentpipe {{ {own('templates/dark.css')} }}\n"
    )
    names = (*(f"templates/{name}" for name in ("live", "badge", "table", "chart")), "uplot/uPlot.min")
    sheets = "\n".join(own(f"{name}.css") for name in names)
    scripts = "\n".join(
        own(f"{name}.js") for name in ("uplot/uPlot.iife.min", "templates/chart", "templates/live")
    )
    return f"<style>\n{colours}{sheets}</style>\n<script>\n{scripts}</script>\n"


def frame() -> str:
    """The charts, without data, and the place of the table, for an element of class "bentpipe"."""
    made = [
        str(
            blocks().chart(
                f"explore-{name}", "", f"{label} over time, a curve for each algorithm", title, said, False
            )
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
        return _element(
            {}, {"explore-table": Markup("<p>Choose an algorithm.</p>"), "explore-more": Markup()}
        )
    results = run_many(scenarios)
    of = results * len(setting.algorithms) if setting.together else results
    each = list(zip(setting.algorithms, of, strict=True))
    drawn: dict[str, list[Curve]] = {name: [] for name, *_ in CHARTS}
    colours = registry.colours(setting.algorithms)
    for cc, result in each:
        for name, (x, y) in _series(result, cc).items():
            drawn[name].append(Curve(registry.style(cc)["label"], x, y, colour=colours[cc]))
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
    return _element(charts, {"explore-table": _table(setting, each), "explore-more": more})


def _element(charts: Mapping[str, Mapping[str, Any]], texts: Mapping[str, Markup]) -> str:
    """A hidden element with new contents, which the page shows whenever it is replaced.

    Args:
        charts: by the ids of the charts, results of `bentpipe.pages.charts.curves`.
        texts: by the ids of other elements, the HTML in them.
    """
    plain = json.dumps({**charts, **{name: str(text) for name, text in texts.items()}}, separators=(",", ":"))
    return str(Markup('<div class="bentpipe-data" hidden data-given="{}"></div>').format(plain))


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

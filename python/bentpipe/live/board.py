"""Contents of a live page: charts, their curves, the readings above them; and the file that has them all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from bentpipe.pages.page import blocks, framed, own


@dataclass(frozen=True)
class Series:
    """A curve that is always there: the number called ``name``, times ``scale``.

    Without a colour it has one of its own by its place in the chart.
    """

    name: str
    label: str
    scale: float = 1.0
    colour: str = ""


@dataclass(frozen=True)
class Family:
    """Curves that come and go: one for every number whose name begins with ``prefix``.

    The rest of the name is its label. A flow has the same label in all families of a page and so the same
    colour. Of more than ``most`` labels in the view those with the largest sum in the page's ``rank`` are
    shown, and the page says so.
    """

    prefix: str
    scale: float = 1.0
    most: int = 8


@dataclass(frozen=True)
class LiveChart:
    """A chart over time: the first words of its caption, the label of its vertical axis, its curves.

    A logarithmic axis leaves out values that are not above zero.
    """

    title: str
    label: str
    curves: Sequence[Series] | Family
    caption: str = ""
    log: bool = False


@dataclass(frozen=True)
class BoardNumber:
    """A number above the charts, as it is now: ``name`` times ``scale``, with its label and its unit."""

    name: str
    label: str
    unit: str = ""
    scale: float = 1.0


@dataclass(frozen=True)
class LivePage:
    """The whole page: a title, charts, readings, a paragraph under the title.

    ``rank`` is the prefix of the family by which the largest flows are found; see `Family`.
    """

    title: str
    charts: Sequence[LiveChart]
    readings: Sequence[BoardNumber] = ()
    lead: str = ""
    rank: str = ""


#: The data of a source: names and numbers. A number that is None or not finite is a gap.
Numbers = Mapping[str, float | int | None]


def written(page: LivePage) -> str:
    """The page as HTML; it holds all that it needs, and may ask for nothing but its own events."""
    styles = "".join(own(f"templates/{name}.css") for name in ("page", "badge", "table", "chart"))
    scripts = [own("uplot/uPlot.iife.min.js"), own("templates/chart.js"), _own("stream.js")]
    plan = json.dumps(_plan(page), separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    text = framed(
        _own("page.html"),
        title=page.title,
        lead=page.lead,
        readings=page.readings,
        charts=page.charts,
        blocks=blocks(),
        # Ours, and none ends an element of the page.
        style=Markup(styles + own("uplot/uPlot.min.css") + _own("stream.css")),
        script=Markup("\n".join(scripts)),
        plan=Markup(plan),
    )
    return text + "\n"


def _plan(page: LivePage) -> dict[str, Any]:
    """The page as plain values for its script."""
    charts = []
    for chart in page.charts:
        family, series = (chart.curves, ()) if isinstance(chart.curves, Family) else (None, chart.curves)
        charts.append(
            {
                "label": chart.label,
                "log": chart.log,
                "family": None if family is None else asdict(family),
                "series": [asdict(one) for one in series],
            }
        )
    readings = [{"name": one.name, "unit": one.unit, "scale": one.scale} for one in page.readings]
    return {"charts": charts, "readings": readings, "rank": page.rank}


def _own(name: str) -> str:
    """A file of this package."""
    return files("bentpipe.live").joinpath(name).read_text(encoding="utf-8")

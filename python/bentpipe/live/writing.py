"""The file of a live page: it holds all that it needs, and may ask for nothing but its own events."""

from __future__ import annotations

import json
from importlib.resources import files

from markupsafe import Markup

from bentpipe.live.board import LivePage
from bentpipe.pages.page import blocks, framed, own


def written(page: LivePage) -> str:
    """The page as HTML."""
    styles = "".join(own(f"templates/{name}.css") for name in ("page", "badge", "table", "chart"))
    scripts = [own("uplot/uPlot.iife.min.js"), own("templates/chart.js"), _own("stream.js")]
    plan = json.dumps(page.as_dict(), separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    text = framed(
        _own("page.html"),
        title=page.title,
        lead=page.lead,
        note=page.note,
        readings=page.readings,
        charts=page.charts,
        blocks=blocks(),
        # Ours, and none ends an element of the page.
        style=Markup(styles + own("uplot/uPlot.min.css") + _own("stream.css")),
        script=Markup("\n".join(scripts)),
        plan=Markup(plan),
    )
    return text + "\n"


def _own(name: str) -> str:
    """A file of this package."""
    return files("bentpipe.live").joinpath(name).read_text(encoding="utf-8")

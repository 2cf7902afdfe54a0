"""Charts in a page of another program, which gives them new data while they are shown.

The page's head holds `head()`. Its body contains `figure(...)`, inside an element of class "bentpipe", and
`given(...)`. Whenever the latter is replaced by one with other data, the charts show these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from bentpipe.pages.page import blocks, own


def head() -> str:
    """Styles and scripts. In the dark (a body of class "dark") the charts are dark."""
    colours = (
        f".bentpipe {{ {own('templates/light.css')} }}\n.dark .bentpipe {{ {own('templates/dark.css')} }}\n"
    )
    names = (*(f"templates/{name}" for name in ("live", "badge", "table", "chart")), "uplot/uPlot.min")
    sheets = "\n".join(own(f"{name}.css") for name in names)
    scripts = "\n".join(
        own(f"{name}.js") for name in ("uplot/uPlot.iife.min", "templates/chart", "templates/live")
    )
    return f"<style>\n{colours}{sheets}</style>\n<script>\n{scripts}</script>\n"


def figure(name: str, *, alt: str, title: str, caption: str = "") -> str:
    """A chart that has no data yet.

    Args:
        name: the id by which data are given to it.
        alt: a text alternative.
        title: the first words of the caption, set off.
        caption: the text under it.
    """
    return str(blocks().chart(name, "", alt, title, caption, False))


def given(charts: Mapping[str, Mapping[str, Any]], texts: Mapping[str, Markup]) -> str:
    """A hidden element with the new contents of charts and other elements.

    Args:
        charts: by the names of figures, results of `bentpipe.pages.charts.curves`.
        texts: by the ids of elements, the HTML in them.
    """
    plain = json.dumps({**charts, **{name: str(text) for name, text in texts.items()}}, separators=(",", ":"))
    return str(Markup('<div class="bentpipe-data" hidden data-given="{}"></div>').format(plain))

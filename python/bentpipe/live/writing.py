"""The file of a live page: it holds all that it needs, and may ask for nothing but its own events."""

from __future__ import annotations

import json
from importlib.resources import files

from markupsafe import Markup

from bentpipe.live.board import LivePage
from bentpipe.pages.live import figure
from bentpipe.pages.page import own

_FILE = Markup(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="bentpipe">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; connect-src 'self'; img-src data:; \
style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark;
{light}}}
@media screen and (prefers-color-scheme: dark) {{ :root {{
{dark}}} }}
{style}
</style>
<script>
{script}
</script>
</head>
<body>
<a class="skip" href="#charts">To the charts</a>
<main id="main">
<header>
<h1>{title}</h1>
{lead}
<p class="banner" id="state" role="status">Waiting for numbers.</p>
<noscript><p class="banner bad">The charts are drawn by the script of this page, \
which is switched off.</p></noscript>
<dl class="now">{readings}</dl>
<p class="view small"><label>Shown: <select id="last">{choices}</select></label>
<button type="button" id="pause" aria-pressed="false">Pause</button>
<span id="fewer" class="soft"></span></p>
</header>
<div class="figures" id="charts">
{figures}
</div>
<p class="small soft hint">{note}Charts: point at them, or use the arrow keys, for values. Drag to zoom, \
or use + and -. Double-click or Esc shows all. Names below a chart hide and show what they name, \
in every chart.</p>
</main>
<script type="application/json" id="plan">{plan}</script>
</body>
</html>
"""
)
#: Minutes that can be chosen, and whether at the beginning.
_MINUTES = ((1, False), (2, False), (5, True), (10, False))


def written(page: LivePage) -> str:
    """The page as HTML."""
    styles = "".join(own(f"templates/{name}.css") for name in ("page", "badge", "table", "chart"))
    scripts = [own("uplot/uPlot.iife.min.js"), own("templates/chart.js"), _own("stream.js")]
    plan = json.dumps(page.as_dict(), separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return _FILE.format(
        title=page.title,
        # Ours, and none ends an element of the page.
        light=Markup(own("templates/light.css")),
        dark=Markup(own("templates/dark.css")),
        style=Markup(styles + own("uplot/uPlot.min.css") + _own("stream.css")),
        script=Markup("\n".join(scripts)),
        lead=Markup('<p class="lead">{}</p>').format(page.lead) if page.lead else "",
        readings=Markup().join(
            Markup('<div><dt>{}</dt><dd data-reading="{}">-</dd></div>').format(reading.label, i)
            for i, reading in enumerate(page.readings)
        ),
        choices=Markup().join(
            Markup('<option value="{}"{}>the last {}</option>').format(
                60 * minutes, Markup(" selected") if chosen else "", _minutes(minutes)
            )
            for minutes, chosen in _MINUTES
        ),
        figures=Markup("\n").join(
            Markup(
                figure(
                    f"chart-{i}", alt=f"{chart.label}, over time", title=chart.title, caption=chart.caption
                )
            )
            for i, chart in enumerate(page.charts)
        ),
        note=f"{page.note} " if page.note else "",
        plan=Markup(plan),
    )


def _minutes(count: int) -> str:
    return "minute" if count == 1 else f"{count} minutes"


def _own(name: str) -> str:
    """A file of this package."""
    return files("bentpipe.live").joinpath(name).read_text(encoding="utf-8")

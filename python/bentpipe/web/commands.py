"""The verbs `explore` and `web`: the page in which the simulator runs."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from bentpipe import terminal
from bentpipe.cli import completion
from bentpipe.cli.verbs import Json, argument, option
from bentpipe.io import files

_KEPT = 20
"""Pages that `explore` keeps; the oldest go first."""

Opened = Annotated[
    str | None,
    argument(
        "[NAME|FILE]",
        "What the page opens with: a shipped scenario's name, or a file.",
        completes=completion.scenarios,
    ),
]


def explore_verb(
    scenario: Opened = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser of this machine.")
    ] = True,
) -> None:
    """Open a page in the browser: sliders for a link, every packet simulated in the page itself."""
    from bentpipe.web import installed

    folder = files.cache_folder("web")
    files.make_folder(folder)
    name = "bentpipe" if scenario is None else Path(scenario).stem
    place = folder / f"{name}.html"
    installed.write(place, scenario)
    files.keep_newest(folder, ".html", _KEPT)
    opened = browser and installed.browser_can_be_opened() and webbrowser.open(place.as_uri())
    terminal.line(f"{'opened' if opened else 'open this file in a browser:'} {terminal.plain(str(place))}")


def web_verb(
    out: Annotated[Path, option("FILE", "The page: .html.", "--out", "-o")],
    scenario: Opened = None,
    json: Json = False,
) -> None:
    """Write the page that simulates, one file to hand on, which needs no server and no network."""
    from bentpipe.web import installed

    again = out.is_file()
    installed.write(out, scenario)
    if json:
        terminal.answer({"page": str(out)})
        return
    size = out.stat().st_size
    terminal.line(f"{'replaced' if again else 'written to'} {terminal.plain(str(out))}, {size / 1e6:.1f} MB")

"""The verb `explore`."""

from __future__ import annotations

from typing import Annotated

import typer

from bentpipe import completion, extras, terminal
from bentpipe.verbs import argument


def explore_verb(
    link: Annotated[
        str | None,
        argument(
            "[NAME|FILE]",
            "A shipped scenario's name, or a file: its links in place of one with sliders.",
            completes=completion.scenarios,
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, help="Port of the page on 127.0.0.1; otherwise 2718 or another that is free."
        ),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser of this machine.")
    ] = True,
) -> None:
    """Serve a page with sliders for a link, to this machine only: the curves follow the hand."""
    from importlib.util import find_spec

    if find_spec("marimo") is None:
        raise extras.missing("explore", "marimo")
    from bentpipe.explore.server import serve

    serve(
        port,
        link=link,
        browser=browser,
        tell=lambda at: terminal.line(f"{at} shows the link; Ctrl-C ends it"),
    )

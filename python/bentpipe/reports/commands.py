"""The verb `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from bentpipe import terminal
from bentpipe.cli.verbs import Json, argument, option
from bentpipe.measures import REPORTED
from bentpipe.reports import place_of, report


def report_verb(
    places: Annotated[
        list[Path], argument("DIR...", "A sweep's dataset, or directories that `run --out` wrote.")
    ],
    out: Annotated[
        Path | None,
        option(
            "FILE",
            "The page; by default beside DIR, and named after it. FILE.tex: its table for LaTeX.",
            "--out",
            "-o",
        ),
    ] = None,
    measures: Annotated[
        str,
        option(
            "NAMES",
            f"What is shown of each run, with commas between: {', '.join(REPORTED)}. "
            "The first orders the algorithms.",
        ),
    ] = "",
    json: Json = False,
) -> None:
    """Write one page about stored runs, to look around in and to hand on: tables, charts, what failed."""
    wanted = [name.strip() for name in measures.split(",")] if measures else []
    target = place_of(places) if out is None else out
    again = target.is_file()
    written = report(places, target, wanted)
    if json:
        terminal.answer({"page": str(written)})
        return
    terminal.line(f"{'replaced' if again else 'written to'} {terminal.plain(str(written))}")

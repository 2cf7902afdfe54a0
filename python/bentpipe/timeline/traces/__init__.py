"""Measured traces of other programs, read as time lines."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.io.foreign import refuse
from bentpipe.io.kinds import kind
from bentpipe.registry import unknown
from bentpipe.timeline.format import complete

if TYPE_CHECKING:
    import polars as pl

FORMATS = {
    "mahimahi": "packet opportunities of mm-link, as a rate in bins",
    "iperf3": "rate of each interval: JSON, or the report",
    "nuttcp": "rate of each interval, retransmissions: the report of -i",
    "ping": "round trips of ping (also of macOS, BusyBox, Windows) and fping",
    "irtt": "round trips: JSON of irtt client",
    "atlas": "round trips: pings of RIPE Atlas, JSON",
    "csv": "any table, by its columns and their units",
    "hypatia": "satgenpy's round trips, paths or forwarding state; ns-3's pings and round trips",
    "leoem": "a precomputed path of LeoEM",
    "dish": "round trips and losses of a Starlink dish's pings: JSON of its get_history",
    "dish-outages": "outages of a Starlink dish since its boot: the same file",
    "leoreplayer": "delays of a trace of LeoReplayer, or its directory with delays and opportunities",
    "conext23": "rate of each second: a table of Satellite-vs-Cellular (CoNEXT 2023)",
    "autobahn": "rate of each second: a table of Starlink-on-the-Autobahn",
}
"""The formats that are read, and the quantities of each."""
_READERS = {
    "csv": "columns.read",
    "dish-outages": "dish.dark",
    "irtt": "probes.irtt",
    "atlas": "probes.atlas",
    "leoreplayer": "mahimahi.leoreplayer",
    "conext23": "campaign.conext23",
    "autobahn": "campaign.autobahn",
}
"""Where a format is read, if it is not by the function `read` of the module of its name."""


def read_trace(path: str | Path, format: str | None = None, **options: Any) -> pl.DataFrame:
    """A trace that another program wrote, as a time line without empty cells.

    Args:
        path: the file; of Hypatia's forwarding state and of a trace of LeoReplayer the directory.
        format: one of `FORMATS`; by default it follows from the content.
        options: those of the format: `bin_s` (mahimahi, leoreplayer), `stream` (iperf3), `buffer_bytes`
            (nuttcp), `interval_s` (ping, leoreplayer), `outage_s` (ping, irtt, atlas, hypatia), `columns`
            (csv), `pair` (hypatia), `test` (conext23, autobahn), `direction` (iperf3, autobahn: "down" or
            "up"), and `gap_s` (all but mahimahi, leoreplayer and dish), in seconds.

    Raises:
        ScenarioError: the format is unknown, an option is not its own, or the file is damaged; the message
            names the file and the line.
        OSError: it cannot be read.
    """
    format = recognised(Path(path)) if format is None else format
    if format not in FORMATS:
        raise _core.ScenarioError(unknown("format", format, list(FORMATS)))
    module, _, name = _READERS.get(format, f"{format}.read").partition(".")
    read: Callable[..., pl.DataFrame] = getattr(import_module(f"{__name__}.{module}"), name)
    allowed = inspect.signature(read).parameters
    for option in options:
        if option not in allowed:
            verb = option.removesuffix("_s").removesuffix("_bytes")
            raise _core.ScenarioError(f"--{verb} says nothing about the format {format}")
    return complete(read(Path(path), **options))


def recognised(path: Path) -> str:
    """The format of a trace by its content.

    Raises:
        ScenarioError: it is not known, or no time line can be made of it; the message says what it is.
        OSError: it cannot be read.
    """
    found = kind(path)
    if found is None:
        refuse(
            path, None, f"no format is recognised in it; say which it has, with --format {', '.join(FORMATS)}"
        )
    if found.name not in FORMATS:
        what = "already" if found.name == "timeline" else "of which no time line is made"
        refuse(path, None, f"it is {found.words}, {what}; {found.taken_by}")
    return found.name

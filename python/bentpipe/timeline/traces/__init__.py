"""Measured traces of other programs, read as time lines."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.registry import unknown
from bentpipe.timeline.format import complete

if TYPE_CHECKING:
    import polars as pl

FORMATS = {
    "mahimahi": "packet opportunities of mm-link, as a rate in bins",
    "iperf3": "rate of each interval: JSON, or the report",
    "nuttcp": "rate of each interval, retransmissions: the report of -i",
    "ping": "round trips of ping -D, or plain",
    "irtt": "round trips: JSON of irtt client",
    "csv": "any table, by its columns and their units",
    "hypatia": "satgenpy's round trips, paths or forwarding state; ns-3's pings and round trips",
    "leoem": "a precomputed path of LeoEM",
    "dish": "outages of a Starlink dish: JSON of its get_history",
    "leoreplayer": "delays of a trace of LeoReplayer, or its directory with delays and opportunities",
    "conext23": "rate of each second: a table of Satellite-vs-Cellular (CoNEXT 2023)",
    "autobahn": "rate of each second: a table of Starlink-on-the-Autobahn",
}
"""The formats that are read, and the quantities of each."""
_READERS = {
    "csv": "columns.read",
    "ping": "probes.ping",
    "irtt": "probes.irtt",
    "leoreplayer": "mahimahi.leoreplayer",
    "conext23": "campaign.conext23",
    "autobahn": "campaign.autobahn",
}
"""Where a format is read, if it is not by the function `read` of the module of its name."""


def read_trace(path: str | Path, format: str, **options: Any) -> pl.DataFrame:
    """A trace that another program wrote, as a time line without empty cells.

    Args:
        path: the file; of Hypatia's forwarding state and of a trace of LeoReplayer the directory.
        format: one of `FORMATS`.
        options: those of the format: `bin_s` (mahimahi, leoreplayer), `stream` (iperf3), `buffer_bytes`
            (nuttcp), `interval_s` (ping, leoreplayer), `outage_s` (ping, irtt, hypatia), `columns` (csv),
            `pair` (hypatia), `test` (conext23, autobahn), `direction` (iperf3, autobahn: "down" or "up"), and
            `gap_s` (all but mahimahi, leoreplayer and dish), in seconds.

    Raises:
        ScenarioError: the format is unknown, an option is not its own, or the file is damaged; the message
            names the file and the line.
        OSError: it cannot be read.
    """
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

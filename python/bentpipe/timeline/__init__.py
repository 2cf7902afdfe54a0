"""Time lines: how the rate, delay, loss and reach of a link change over time, as files and polars frames.

    import bentpipe as bp

    measured = bp.timeline.read_trace("ping.log", "ping")
    orbit = bp.timeline.read("leo.parquet")
    both = bp.timeline.join(orbit, bp.timeline.read_trace("iperf.json", "iperf3"))
    bp.timeline.write(both, "both.parquet")

docs/timeline.md describes the file. Names are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bentpipe.timeline.combine import join, stretch
    from bentpipe.timeline.figure import draw
    from bentpipe.timeline.format import check, complete, faults, handovers, read, write
    from bentpipe.timeline.measures import summary
    from bentpipe.timeline.traces import FORMATS, read_trace

_HOME = {
    "FORMATS": "traces",
    "check": "format",
    "complete": "format",
    "draw": "figure",
    "faults": "format",
    "handovers": "format",
    "join": "combine",
    "read": "format",
    "read_trace": "traces",
    "stretch": "combine",
    "summary": "measures",
    "write": "format",
}

__all__ = [
    "FORMATS",
    "check",
    "complete",
    "draw",
    "faults",
    "handovers",
    "join",
    "read",
    "read_trace",
    "stretch",
    "summary",
    "write",
]


def __getattr__(name: str) -> Any:
    """Loads a public name on its first use (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module 'bentpipe.timeline' has no attribute {name!r}")
    value = getattr(import_module(f"bentpipe.timeline.{_HOME[name]}"), name)
    globals()[name] = value
    return value

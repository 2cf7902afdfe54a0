"""Paths through satellites: from shells or TLEs and two places to a time line.

    import bentpipe as bp

    line = bp.orbit.path("Rio", "Saint Petersburg", shell="hypatia-kuiper-k1", duration="200 s", step="100
    ms") bp.timeline.write(line, "leo.parquet") bp.orbit.shells() bp.orbit.places()

The orbits are computed in `crates/orbit`. Names are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bentpipe.orbit.ground import Point
    from bentpipe.orbit.moving import Track, voyage
    from bentpipe.orbit.paths import Solution, path, places, shells, solve

_HOME = {
    "Point": "bentpipe.orbit.ground",
    "Solution": "bentpipe.orbit.paths",
    "Track": "bentpipe.orbit.moving",
    "path": "bentpipe.orbit.paths",
    "places": "bentpipe.orbit.paths",
    "shells": "bentpipe.orbit.paths",
    "solve": "bentpipe.orbit.paths",
    "voyage": "bentpipe.orbit.moving",
}

__all__ = ["Point", "Solution", "Track", "path", "places", "shells", "solve", "voyage"]


def __getattr__(name: str) -> Any:
    """Loads a public name on its first use (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module 'bentpipe.orbit' has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

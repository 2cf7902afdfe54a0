"""Paths through satellites: from shells or TLEs and two places to a time line.

    import bentpipe as bp

    line = bp.orbit.path("Rio", "Saint Petersburg", shell="hypatia-kuiper-k1", duration="200 s", step="100 ms")
    bp.orbit.shells()
    bp.orbit.places()

The orbits are computed in `crates/orbit`. A frame of `path` is a time line: `bentpipe.timeline.write` makes a file of it that
a link takes.
"""

from bentpipe.orbit.moving import Track, voyage
from bentpipe.orbit.paths import Solution, path, places, shells, solve
from bentpipe.orbit.ground import Point

__all__ = ["Point", "Solution", "Track", "path", "places", "shells", "solve", "voyage"]

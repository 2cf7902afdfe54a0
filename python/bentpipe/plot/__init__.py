"""Figures of results, in the size and type of a two-column paper, with the registry's colours and markers.

Each function returns a `Drawing`, a matplotlib figure that notebooks show and that has its numbers in
`data`. `save(figure, "cwnd.pdf")` writes it as vectors with embedded fonts. Inside `with sized("screen"):`
figures are drawn for a screen.
"""

from bentpipe.plot.drawing import Drawing, figure, save
from bentpipe.plot.looks import HEIGHT, RC, SIZES, WIDTH, look, sized, styled
from bentpipe.plot.over_time import bdp_segments, cwnd, goodput, queue, rtt
from bentpipe.plot.paths import over_path
from bentpipe.plot.segments import sequence
from bentpipe.plot.sharing import convergence

__all__ = [
    "HEIGHT",
    "RC",
    "SIZES",
    "WIDTH",
    "Drawing",
    "bdp_segments",
    "convergence",
    "cwnd",
    "figure",
    "goodput",
    "look",
    "over_path",
    "queue",
    "rtt",
    "save",
    "sequence",
    "sized",
    "styled",
]

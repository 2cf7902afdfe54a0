"""Every figure of the Vegas-L paper; it has no tables."""

from __future__ import annotations

from bentpipe.papers.vegas_l import figures
from bentpipe.studies.design import Where
from bentpipe.studies.places import Kind, Place

FIGURE = Kind.FIGURE

PLACES = (
    Place(
        FIGURE,
        "1",
        "the algorithm of Vegas-A (pseudo code)",
        claims=("V4",),
        why="the rule is the controller vegas-a; the reason of V4 is a proof about its lines",
    ),
    Place(
        FIGURE,
        "2",
        "the algorithm of Vegas-L (pseudo code)",
        why="the rule is the controller vegas-l; its tests repeat it",
    ),
    Place(FIGURE, "3", "the topology of the satellite network", figures.topology),
    Place(
        FIGURE, "4", "windows at two packet error rates", figures.windows, claims=("V1", "V4"), needs=Where()
    ),
    Place(
        FIGURE,
        "5",
        "throughput at two packet error rates",
        figures.throughput,
        claims=("V2", "V5"),
        needs=Where(),
    ),
    Place(
        FIGURE,
        "6",
        "fairness at two packet error rates",
        figures.fairness,
        claims=("V3", "V6"),
        needs=Where(),
    ),
)

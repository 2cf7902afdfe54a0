"""Every figure of the HSWA-TCP paper; it has no tables."""

from __future__ import annotations

from bentpipe.papers.hswa import figures, setup
from bentpipe.studies.design import BASE, Where, where
from bentpipe.studies.places import Kind, Place

#: The variants of figures 3 and 4.
BOTH = (BASE, setup.BESIDE)

PLACES = (
    Place(
        Kind.FIGURE,
        "1",
        "the increment of the window over the delay",
        figures.increments,
        claims=("H7",),
        needs=Where(),
        variants=(setup.INCREMENT.name,),
    ),
    Place(
        Kind.FIGURE,
        "2",
        "the topology of the simulations",
        why="a sender, a satellite link and a receiver; the set-up's table has rates and delays",
    ),
    Place(
        Kind.FIGURE,
        "3",
        "throughput of SCPS-TP and HSWA-TCP over GEO",
        figures.geo,
        claims=("H1", "H2", "H3", "H4"),
        needs=where(orbit="GEO"),
        variants=BOTH,
    ),
    Place(
        Kind.FIGURE,
        "4",
        "throughput of HSWA-TCP over LEO, MEO and GEO",
        figures.orbits,
        claims=("H5", "H6"),
        needs=where(cc="hswa"),
        variants=BOTH,
    ),
    Place(
        Kind.OWN,
        "loss-scan",
        "which packet loss gives the numbers printed for 1e-5",
        figures.loss_scan,
        claims=("H2", "H5"),
        needs=Where(),
        variants=(BASE, *(variant.name for variant in setup.SCAN)),
    ),
)

"""Every figure of the HSWA-TCP paper; it has no tables."""

from __future__ import annotations

from bentpipe.papers.hswa import figures, setup
from bentpipe.studies.design import BASE, Where, where
from bentpipe.studies.places import listed

PLACES = listed(
    """
    - figure 1 | H7 | the increment of the window over the delay
    - figure 2 | none | the topology of the simulations | a sender, a satellite link and a receiver; the
      set-up's table has rates and delays
    - figure 3 | H1, H2, H3, H4 | throughput of SCPS-TP and HSWA-TCP over GEO
    - figure 4 | H5, H6 | throughput of HSWA-TCP over LEO, MEO and GEO
    - own figure loss-scan | H2, H5 | which packet loss gives the numbers printed for 1e-5
    """,
    {
        "figure 1": figures.increments,
        "figure 3": figures.geo,
        "figure 4": figures.orbits,
        "own figure loss-scan": figures.loss_scan,
    },
    needs=dict.fromkeys(("figure 1", "own figure loss-scan"), Where())
    | {"figure 3": where(orbit="GEO"), "figure 4": where(cc="hswa")},
    variants=dict.fromkeys(("figure 3", "figure 4"), (BASE, setup.BESIDE))
    | {
        "figure 1": (setup.INCREMENT.name,),
        "own figure loss-scan": (BASE, *(variant.name for variant in setup.SCAN)),
    },
)

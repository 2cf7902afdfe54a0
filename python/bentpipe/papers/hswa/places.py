"""Every figure of the HSWA-TCP paper; it has no tables."""

from __future__ import annotations

from bentpipe.papers.hswa import figures, setup
from bentpipe.studies.design import BASE, Where, where
from bentpipe.studies.places import listed
from bentpipe.studies.words import Words

PLACES = listed(
    Words.beside(__file__)["Figures and tables"],
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

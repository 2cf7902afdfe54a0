"""Every figure of the Vegas-L paper; it has no tables."""

from __future__ import annotations

from bentpipe.papers.vegas_l import figures
from bentpipe.studies.design import Where
from bentpipe.studies.places import listed
from bentpipe.studies.words import Words

PLACES = listed(
    Words.beside(__file__)["Figures and tables"],
    {
        "figure 3": figures.topology,
        "figure 4": figures.windows,
        "figure 5": figures.throughput,
        "figure 6": figures.fairness,
    },
    needs=dict.fromkeys(("figure 4", "figure 5", "figure 6"), Where()),
)

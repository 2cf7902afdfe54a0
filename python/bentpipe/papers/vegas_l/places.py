"""Every figure of the Vegas-L paper; it has no tables."""

from __future__ import annotations

from bentpipe.papers.vegas_l import figures
from bentpipe.studies.design import Where
from bentpipe.studies.places import listed

PLACES = listed(
    """
    - figure 1 | V4 | the algorithm of Vegas-A (pseudo code) | the rule is the controller vegas-a; the reason
      of V4 is a proof about its lines
    - figure 2 | none | the algorithm of Vegas-L (pseudo code) | the rule is the controller vegas-l; its tests
      repeat it
    - figure 3 | none | the topology of the satellite network
    - figure 4 | V1, V4 | windows at two packet error rates
    - figure 5 | V2, V5 | throughput at two packet error rates
    - figure 6 | V3, V6 | fairness at two packet error rates
    """,
    {
        "figure 3": figures.topology,
        "figure 4": figures.windows,
        "figure 5": figures.throughput,
        "figure 6": figures.fairness,
    },
    needs=dict.fromkeys(("figure 4", "figure 5", "figure 6"), Where()),
)

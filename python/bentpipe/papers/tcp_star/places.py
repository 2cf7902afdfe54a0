"""Every figure and table of the TCP-STAR paper."""

from __future__ import annotations

from functools import partial

from bentpipe.papers.tcp_star import figures
from bentpipe.papers.tcp_star.setup import COUNTS, OFTEN, RARE
from bentpipe.studies.design import where
from bentpipe.studies.findings import Findings
from bentpipe.studies.places import listed
from bentpipe.studies.study import Table
from bentpipe.studies.words import Words

#: The runs of figures 6, 7 and 8, and of the fairness beside NewReno.
LOSSES, STARTS, OUTAGES, MIXED = (where(part=of) for of in ("loss", "startup", ("outage", "late"), "mixed"))


def parameters(found: Findings) -> Table:
    """Table 1 beside our choices."""
    from bentpipe.papers.tcp_star.reasons import setup_section

    return setup_section(found.base).tables[0]


PLACES = listed(
    Words.beside(__file__)["Figures and tables"],
    {
        "figure 2": figures.lifted,
        "figure 4": figures.answered,
        "figure 6": figures.throughput,
        "figure 7": figures.startup,
        "figure 8": figures.outage,
        "figure 9": partial(figures.fairness, name="figure-9", part="mixed", ber=RARE),
        "figure 10": partial(figures.fairness, name="figure-10", part="mixed", ber=OFTEN),
        "figure 11": partial(figures.fairness, name="figure-11", part="same", ber=OFTEN),
        "table 1": parameters,
    },
    needs=dict.fromkeys(("figure 2", "figure 7"), STARTS)
    | dict.fromkeys(("figure 4", "figure 8"), OUTAGES)
    | dict.fromkeys(("figure 9", "figure 10"), MIXED)
    | {
        "figure 6": LOSSES,
        "figure 11": where(part=("same", "mixed"), ber=OFTEN),
        "table 1": where(part="mixed", ber=RARE, n=COUNTS[0]),
    },
)

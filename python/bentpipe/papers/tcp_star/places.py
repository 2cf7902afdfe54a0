"""Every figure and table of the TCP-STAR paper."""

from __future__ import annotations

from functools import partial

from bentpipe.papers.tcp_star import figures
from bentpipe.papers.tcp_star.setup import COUNTS, OFTEN, RARE
from bentpipe.studies.design import where
from bentpipe.studies.findings import Findings
from bentpipe.studies.places import Kind, Place
from bentpipe.studies.study import Table

FIGURE = Kind.FIGURE
#: The runs of figures 6, 7 and 8, and of the fairness beside NewReno.
LOSSES, STARTS, OUTAGES, MIXED = (where(part=of) for of in ("loss", "startup", ("outage", "late"), "mixed"))


def parameters(found: Findings) -> Table:
    """Table 1 beside our choices."""
    from bentpipe.papers.tcp_star.reasons import setup_section

    return setup_section(found.base).tables[0]


PLACES = (
    Place(
        FIGURE,
        "1",
        "CWS, the window after a loss (pseudo code)",
        why="the rule is the controller star; its tests repeat it",
    ),
    Place(FIGURE, "2", "windows of TCP-STAR by LWC and of TCP-Reno (a sketch)", figures.lifted, needs=STARTS),
    Place(
        FIGURE,
        "3",
        "TCP-Reno's window (pseudo code)",
        why="the rule is the controller reno; figure 2 has its window",
    ),
    Place(
        FIGURE,
        "4",
        "AEN after a loss of data (a) and of ACKs (b) (a sketch)",
        figures.answered,
        needs=OUTAGES,
    ),
    Place(
        FIGURE,
        "5",
        "the topology of the simulations",
        why="a sender, a satellite link and a receiver; rates and delays stand in table 1",
    ),
    Place(
        FIGURE,
        "6",
        "throughput over the bit error rate",
        figures.throughput,
        claims=("S1", "S2"),
        needs=LOSSES,
    ),
    Place(FIGURE, "7", "sending windows without errors", figures.startup, claims=("S3",), needs=STARTS),
    Place(
        FIGURE, "8", "throughput around an outage of the ACKs", figures.outage, claims=("S4",), needs=OUTAGES
    ),
    Place(
        FIGURE,
        "9",
        "fairness beside NewReno, BER 1e-8",
        partial(figures.fairness, name="figure-9", part="mixed", ber=RARE),
        claims=("S5",),
        needs=MIXED,
    ),
    Place(
        FIGURE,
        "10",
        "fairness beside NewReno, BER 1e-6",
        partial(figures.fairness, name="figure-10", part="mixed", ber=OFTEN),
        claims=("S6",),
        needs=MIXED,
    ),
    Place(
        FIGURE,
        "11",
        "fairness among themselves",
        partial(figures.fairness, name="figure-11", part="same", ber=OFTEN),
        claims=("S7",),
        needs=where(part=("same", "mixed"), ber=OFTEN),
    ),
    Place(
        Kind.TABLE,
        "1",
        "parameters of the simulations",
        table=parameters,
        needs=where(part="mixed", ber=RARE, n=COUNTS[0]),
    ),
)

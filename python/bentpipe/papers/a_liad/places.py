"""Every figure of the A-LIAD paper; it has no tables."""

from __future__ import annotations

from functools import partial

from bentpipe.papers.a_liad import figures
from bentpipe.papers.a_liad.setup import GEO_S, SHORT_S
from bentpipe.studies.design import where
from bentpipe.studies.places import Kind, Place

FIGURE = Kind.FIGURE
#: The runs of a figure of one experiment.
STARTS, LOSSES, FRIENDS = (where(experiment=of) for of in ("start-up", "loss", "friend"))

PLACES = (
    Place(
        FIGURE,
        "1",
        "sending rate of LIAD over the RTT",
        figures.liad,
        claims=("A1",),
        needs=where(experiment="fig1"),
    ),
    Place(
        FIGURE,
        "2",
        "the phases of A-LIAD's window (a sketch)",
        figures.phases,
        needs=where(experiment="loss", cc="a-liad"),
    ),
    Place(
        FIGURE,
        "3",
        "windows of two flows with different RTTs (a sketch)",
        claims=("A10",),
        why="a sketch without axes; the law that it illustrates, equation 11, is the figure alpha",
    ),
    Place(
        FIGURE,
        "4",
        "the network of the simulations",
        why="senders and receivers around one bottleneck; the set-up's table has rates and delays",
    ),
    Place(FIGURE, "5", "throughput at the start-up over GEO", figures.start_up, claims=("A2",), needs=STARTS),
    Place(FIGURE, "6", "windows at the start-up", figures.windows_with_sack, needs=STARTS),
    Place(
        FIGURE,
        "7",
        "windows of A-LIAD (a), Westwood and CUBIC (b) at the start-up",
        figures.overshoot,
        claims=("A3",),
        needs=where(experiment=("start-up", "no-sack")),
    ),
    Place(
        FIGURE,
        "8",
        "six competing A-LIAD flows at three error rates",
        figures.intra,
        claims=("A4",),
        needs=where(experiment="intra"),
    ),
    Place(
        FIGURE, "9", "throughput over the RTT", figures.rtts, claims=("A5",), needs=where(experiment="rtt")
    ),
    Place(FIGURE, "10", "throughput under packet loss", figures.loss, claims=("A6",), needs=LOSSES),
    Place(
        FIGURE, "11", "windows under packet loss", figures.windows_under_loss, claims=("A7",), needs=LOSSES
    ),
    Place(
        FIGURE,
        "12",
        "friendliness with NewReno at 25 ms",
        partial(figures.friendliness, number=12, rtt_s=SHORT_S),
        claims=("A8",),
        needs=FRIENDS,
    ),
    Place(
        FIGURE,
        "13",
        "friendliness with NewReno at 600 ms",
        partial(figures.friendliness, number=13, rtt_s=GEO_S),
        claims=("A9",),
        needs=FRIENDS,
    ),
    Place(
        Kind.OWN,
        "alpha",
        "equation 11: alpha over the RTT, solved and fitted",
        figures.alpha,
        claims=("A10",),
    ),
)

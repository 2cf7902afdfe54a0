"""Every figure of the A-LIAD paper; it has no tables."""

from __future__ import annotations

from functools import partial

from bentpipe.papers.a_liad import figures
from bentpipe.papers.a_liad.setup import GEO_S, SHORT_S
from bentpipe.studies.design import where
from bentpipe.studies.places import listed

PLACES = listed(
    """
    - figure 1 | A1 | sending rate of LIAD over the RTT
    - figure 2 | none | the phases of A-LIAD's window (a sketch)
    - figure 3 | A10 | windows of two flows with different RTTs (a sketch) | a sketch without axes; the law
      that it illustrates, equation 11, is the figure alpha
    - figure 4 | none | the network of the simulations | senders and receivers around one bottleneck; the
      set-up's table has rates and delays
    - figure 5 | A2 | throughput at the start-up over GEO
    - figure 6 | none | windows at the start-up
    - figure 7 | A3 | windows of A-LIAD (a), Westwood and CUBIC (b) at the start-up
    - figure 8 | A4 | six competing A-LIAD flows at three error rates
    - figure 9 | A5 | throughput over the RTT
    - figure 10 | A6 | throughput under packet loss
    - figure 11 | A7 | windows under packet loss
    - figure 12 | A8 | friendliness with NewReno at 25 ms
    - figure 13 | A9 | friendliness with NewReno at 600 ms
    - own figure alpha | A10 | equation 11: alpha over the RTT, solved and fitted
    """,
    {
        "figure 1": figures.liad,
        "figure 2": figures.phases,
        "figure 5": figures.start_up,
        "figure 6": figures.windows_with_sack,
        "figure 7": figures.overshoot,
        "figure 8": figures.intra,
        "figure 9": figures.rtts,
        "figure 10": figures.loss,
        "figure 11": figures.windows_under_loss,
        "figure 12": partial(figures.friendliness, number=12, rtt_s=SHORT_S),
        "figure 13": partial(figures.friendliness, number=13, rtt_s=GEO_S),
        "own figure alpha": figures.alpha,
    },
    needs={
        "figure 1": where(experiment="fig1"),
        "figure 2": where(experiment="loss", cc="a-liad"),
        "figure 7": where(experiment=("start-up", "no-sack")),
        "figure 8": where(experiment="intra"),
        "figure 9": where(experiment="rtt"),
    }
    | dict.fromkeys(("figure 5", "figure 6"), where(experiment="start-up"))
    | dict.fromkeys(("figure 10", "figure 11"), where(experiment="loss"))
    | dict.fromkeys(("figure 12", "figure 13"), where(experiment="friend")),
)

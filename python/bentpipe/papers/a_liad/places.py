"""Every figure of the A-LIAD paper; it has no tables."""

from __future__ import annotations

from functools import partial

from bentpipe.papers.a_liad import figures
from bentpipe.papers.a_liad.setup import GEO_S, SHORT_S
from bentpipe.studies.design import where
from bentpipe.studies.places import listed
from bentpipe.studies.words import Words

PLACES = listed(
    Words.beside(__file__)["Figures and tables"],
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
        "figure 12": partial(figures.friendliness, name="figure-12", rtt_s=SHORT_S),
        "figure 13": partial(figures.friendliness, name="figure-13", rtt_s=GEO_S),
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

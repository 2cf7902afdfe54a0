"""Every figure and table of the spectrum paper."""

from __future__ import annotations

from functools import partial
from itertools import product

from bentpipe.papers.spectrum import claims, figures, sketches, tables
from bentpipe.papers.spectrum.setup import LABELS, QUEUES, STEPS
from bentpipe.studies.design import where
from bentpipe.studies.places import Kind, Place

FIGURE, TABLE = Kind.FIGURE, Kind.TABLE
SHARES, SMOOTH, SQUARES = (where(experiment=of) for of in ("share", "smooth", "square"))
#: The prefix of queue names in the checks.
NAMED = {"red-ecn": "RED with ECN", "red": "RED[,:]", "drop-tail": "drop-tail"}

PLACES = (
    Place(FIGURE, "1", "patterns of increase of the window (a sketch)", sketches.patterns),
    Place(
        FIGURE, "2", "the spectrum of controls in the plane of k and l", figures.family, claims=("K1", "K12")
    ),
    Place(
        FIGURE,
        "3",
        "convergence of two users (a sketch)",
        claims=("K12",),
        why="a sketch of one step; figure 4b has the whole way by number, and K12 checks it",
    ),
    Place(
        FIGURE,
        "4a",
        "where SIMD reaches a full link fairer than AIMD",
        figures.crossing,
        only="section 4.2",
        claims=("K12",),
    ),
    Place(
        FIGURE,
        "4b",
        "the way of two windows to fairness",
        figures.trajectories,
        only="epochs",
        claims=("K12",),
    ),
    Place(
        FIGURE,
        "4c",
        "where SIMD converges faster than AIMD",
        figures.region,
        only="figure 4c",
        claims=("K11",),
    ),
    Place(
        FIGURE,
        "5",
        "smoothness against aggressiveness and responsiveness, m = 2",
        lambda _: figures.tradeoff(5, 2.0),
        only="section 5",
        claims=("K11",),
    ),
    Place(FIGURE, "6", "the same, m = 5", lambda _: figures.tradeoff(6, 5.0)),
    Place(
        FIGURE,
        "7",
        "TCP-friendliness over the loss rate",
        figures.friendliness,
        claims=("K2",),
        needs=where(experiment="friendly"),
    ),
    *(
        Place(
            FIGURE,
            str(number),
            f"{LABELS[cc]} beside TCP, {QUEUES[queue]}",
            partial(figures.compatibility, number=number, cc=cc, queue=queue),
            claims=(claim,),
            only=NAMED[queue],
            needs=where(experiment="share", cc=cc),
        )
        for number, ((cc, claim), queue) in enumerate(
            product((("simd", "K3"), ("aiad", "K4")), QUEUES), start=8
        )
    ),
    *(
        Place(
            FIGURE,
            str(number),
            f"throughput over time at {mbps:g} Mbit/s, {QUEUES[queue]}",
            partial(figures.throughput, number=number, mbps=mbps, queue=queue),
            claims=("K5",),
            only=f"{mbps:g} Mbit/s, {NAMED[queue]}",
            needs=SMOOTH,
        )
        for number, (mbps, queue) in enumerate(product((60.0, 15.0), ("red-ecn", "red")), start=14)
    ),
    Place(
        Kind.OWN,
        "figure-14-17-variation",
        "the variation behind figures 14 to 17",
        figures.variation,
        claims=("K5",),
        needs=SMOOTH,
    ),
    Place(
        FIGURE,
        "18",
        "the window as the load doubles (a) and halves (b)",
        figures.steps,
        claims=("K6", "K7"),
        needs=where(experiment=tuple(STEPS)),
    ),
    Place(FIGURE, "19", "response to a square wave", figures.impulse, claims=("K8",), needs=SQUARES),
    Place(
        FIGURE,
        "20",
        "the topology of the test of convergence",
        why="three links in a row; the set-up's table has rates, delays and flows",
    ),
    Place(
        FIGURE,
        "21",
        "two flows converge to fairness",
        lambda found: figures.converging(
            found, 1, "t2", "round trips until they differ by less than 10 packets", claims.TO_FAIR
        ),
        claims=("K9",),
        needs=where(experiment="chain-1"),
    ),
    Place(
        FIGURE,
        "22",
        "two flows converge to efficiency",
        lambda found: figures.converging(
            found, 2, "t1", "round trips until they fill the link", claims.TO_FULL
        ),
        claims=("K10",),
        needs=where(experiment="chain-2"),
    ),
    Place(
        FIGURE,
        "23",
        "the window between losses (a sketch of appendix A)",
        only="appendix A",
        claims=("K1",),
        why="the law of a period between losses; K1 checks the throughput that follows from it",
    ),
    Place(
        FIGURE,
        "24",
        "bounded increases and decreases (a sketch of appendix B)",
        only="equation 14",
        claims=("K12",),
        why="a sketch of the proof; K12 checks its condition, equation 14, on random starts",
    ),
    Place(
        TABLE,
        "1",
        "special cases: constants of the increase",
        table=tables.special_cases,
        only="table 1",
        claims=("K1",),
    ),
    Place(
        TABLE,
        "2",
        "times to efficiency and fairness in closed form",
        only="table 6",
        claims=("K11",),
        why="formulas; table 6 has their values",
    ),
    Place(
        TABLE,
        "3",
        "smoothness, aggressiveness and responsiveness in closed form",
        table=tables.indices,
        only="table 3",
        claims=("K11",),
    ),
    Place(TABLE, "4", "the configuration of the network", table=tables.configuration),
    Place(
        TABLE,
        "5",
        "response to the square wave in numbers",
        table=tables.square_wave,
        only="table 5",
        claims=("K8", "K11"),
        needs=SQUARES,
    ),
    Place(
        TABLE,
        "6",
        "times of convergence in numbers",
        table=tables.convergence,
        only="table 6",
        claims=("K9", "K10", "K11"),
        needs=where(experiment=("chain-1", "chain-2")),
    ),
)

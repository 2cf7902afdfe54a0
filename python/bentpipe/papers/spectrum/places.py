"""Every figure and table of the spectrum paper."""

from __future__ import annotations

from functools import partial
from itertools import product

from bentpipe.papers.spectrum import claims, figures, sketches, tables
from bentpipe.papers.spectrum.setup import LABELS, QUEUES, STEPS
from bentpipe.studies.design import where
from bentpipe.studies.places import Kind, Place, listed

SMOOTH, SQUARES = (where(experiment=of) for of in ("smooth", "square"))
#: The prefix of queue names in the checks.
NAMED = {"red-ecn": "RED with ECN", "red": "RED[,:]", "drop-tail": "drop-tail"}

#: Figures that differ in the control or the rate, and the queue.
SHARES = tuple(
    Place(
        Kind.FIGURE,
        str(number),
        f"{LABELS[cc]} beside TCP, {QUEUES[queue]}",
        partial(figures.compatibility, number=number, cc=cc, queue=queue),
        claims=(claim,),
        only=NAMED[queue],
        needs=where(experiment="share", cc=cc),
    )
    for number, ((cc, claim), queue) in enumerate(product((("simd", "K3"), ("aiad", "K4")), QUEUES), start=8)
)
COURSES = tuple(
    Place(
        Kind.FIGURE,
        str(number),
        f"throughput over time at {mbps:g} Mbit/s, {QUEUES[queue]}",
        partial(figures.throughput, number=number, mbps=mbps, queue=queue),
        claims=("K5",),
        only=f"{mbps:g} Mbit/s, {NAMED[queue]}",
        needs=SMOOTH,
    )
    for number, (mbps, queue) in enumerate(product((60.0, 15.0), ("red-ecn", "red")), start=14)
)
BEFORE = listed(
    """
    - figure 1 | none | patterns of increase of the window (a sketch)
    - figure 2 | K1, K12 | the spectrum of controls in the plane of k and l
    - figure 3 | K12 | convergence of two users (a sketch) | a sketch of one step; figure 4b has the whole way
      by number, and K12 checks it
    - figure 4a | K12: section 4.2 | where SIMD reaches a full link fairer than AIMD
    - figure 4b | K12: epochs | the way of two windows to fairness
    - figure 4c | K11: figure 4c | where SIMD converges faster than AIMD
    - figure 5 | K11: section 5 | smoothness against aggressiveness and responsiveness, m = 2
    - figure 6 | none | the same, m = 5
    - figure 7 | K2 | TCP-friendliness over the loss rate
    """,
    {
        "figure 1": sketches.patterns,
        "figure 2": figures.family,
        "figure 4a": figures.crossing,
        "figure 4b": figures.trajectories,
        "figure 4c": figures.region,
        "figure 5": lambda _: figures.tradeoff(5, 2.0),
        "figure 6": lambda _: figures.tradeoff(6, 5.0),
        "figure 7": figures.friendliness,
    },
    needs={"figure 7": where(experiment="friendly")},
)
AFTER = listed(
    """
    - own figure figure-14-17-variation | K5 | the variation behind figures 14 to 17
    - figure 18 | K6, K7 | the window as the load doubles (a) and halves (b)
    - figure 19 | K8 | response to a square wave
    - figure 20 | none | the topology of the test of convergence | three links in a row; the set-up's table
      has rates, delays and flows
    - figure 21 | K9 | two flows converge to fairness
    - figure 22 | K10 | two flows converge to efficiency
    - figure 23 | K1: appendix A | the window between losses (a sketch of appendix A) | the law of a period
      between losses; K1 checks the throughput that follows from it
    - figure 24 | K12: equation 14 | bounded increases and decreases (a sketch of appendix B) | a sketch of
      the proof; K12 checks its condition, equation 14, on random starts
    - table 1 | K1: table 1 | special cases: constants of the increase
    - table 2 | K11: table 6 | times to efficiency and fairness in closed form | formulas; table 6 has their
      values
    - table 3 | K11: table 3 | smoothness, aggressiveness and responsiveness in closed form
    - table 4 | none | the configuration of the network
    - table 5 | K8, K11: table 5 | response to the square wave in numbers
    - table 6 | K9, K10, K11: table 6 | times of convergence in numbers
    """,
    {
        "own figure figure-14-17-variation": figures.variation,
        "figure 18": figures.steps,
        "figure 19": figures.impulse,
        "figure 21": lambda found: figures.converging(
            found, 1, "t2", "round trips until they differ by less than 10 packets", claims.TO_FAIR
        ),
        "figure 22": lambda found: figures.converging(
            found, 2, "t1", "round trips until they fill the link", claims.TO_FULL
        ),
        "table 1": tables.special_cases,
        "table 3": tables.indices,
        "table 4": tables.configuration,
        "table 5": tables.square_wave,
        "table 6": tables.convergence,
    },
    needs={
        "own figure figure-14-17-variation": SMOOTH,
        "figure 18": where(experiment=tuple(STEPS)),
        "figure 19": SQUARES,
        "figure 21": where(experiment="chain-1"),
        "figure 22": where(experiment="chain-2"),
        "table 5": SQUARES,
        "table 6": where(experiment=("chain-1", "chain-2")),
    },
)
PLACES = (*BEFORE, *SHARES, *COURSES, *AFTER)

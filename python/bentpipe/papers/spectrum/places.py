"""Every figure and table of the spectrum paper."""

from __future__ import annotations

from functools import partial
from itertools import product

from bentpipe.papers.spectrum import claims, figures, sketches, tables
from bentpipe.papers.spectrum.setup import LABELS, QUEUES, STEPS
from bentpipe.studies.design import where
from bentpipe.studies.places import Kind, Place, listed
from bentpipe.studies.words import Words

WORDS = Words.beside(__file__)
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
    WORDS["Figures before 8"],
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
    WORDS["Figures from 18 on, and tables"],
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

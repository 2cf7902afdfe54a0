"""Draws the toy."""

import polars as pl

from bentpipe.studies import claim, draw
from bentpipe.studies.study import Figure, Report


def build(plan, outcome):
    fig, (ax,) = draw.figure(1.5)
    ax.plot(outcome.traces["t_s"], outcome.traces["cwnd"])
    by_seed = outcome.runs.group_by("seed", maintain_order=True).agg(
        pl.col("bps").sum(), pl.col("cwnd").sum()
    )
    checks = [
        claim.number("rate", by_seed["bps"].to_list(), 2e6, unit="bit/s"),
        claim.number("window", by_seed["cwnd"].to_list(), outcome.traces["cwnd"].mean()),
        claim.number("late", outcome.runs["late"].drop_nulls().to_list(), 0.75),
    ]
    found = claim.Claim("T1", "Toy <1>", "it runs.", checks, note="a note & more", detail=["Because."])
    variants = pl.DataFrame(
        {
            "variant": ["base", "slow"],
            "claim": ["T1", "T1"],
            "choice": ["base", "half the <rate>"],
            "verdict": [str(found.verdict), "reproduced"],
            "check": ["rate", "rate"],
            "seeds": [3, 2],
            "outcome": ["no", "yes"],
        }
    )
    figure = Figure("figure-1", "Figure 1.", "A caption.", "A <line>", fig, outcome.traces)
    return Report([found], [figure], [], {"sensitivity": variants}, previews=("figure-1",))

"""A time line that is drawn, complete in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.units import seconds

if TYPE_CHECKING:
    import polars as pl


def generate(
    generator: str = "starlink",
    *,
    duration: str = "600 s",
    seed: int = 1,
    losses: float = 0.0,
    **recipe: Any,
) -> pl.DataFrame:
    """A drawn time line, complete in one table.

    Args:
        generator: "starlink".
        duration: time of the last row.
        seed: of the draw.
        losses: loss rate outside outages, of single packets.
        **recipe: profile, direction, rate_median ("242 Mbit/s"), share and blackout ("150 ms"), as in a
            scenario.

    Returns:
        `t_s`, `rate_bps`, `delay_s`, `loss_rate`, `up` and `handover`; `loss_rate` is 1 in an outage.

    Raises:
        ScenarioError: a value is wrong.
    """
    import polars as pl

    from bentpipe.drawn.recipe import Recipe
    from bentpipe.drawn.starlink import MOST_S
    from bentpipe.timeline.combine import join

    if not 0 <= losses <= 1:
        raise _core.ScenarioError(f"losses: {losses:g} is no probability, 0 to 1")
    what = Recipe.of({"generator": generator, "seed": seed, **recipe}, "timeline")
    duration_s = seconds(duration, "duration")
    if duration_s > MOST_S:
        raise _core.ScenarioError(f"duration: {duration} is longer than a day, {MOST_S:g} s")
    rows = {0.0: losses, duration_s: losses}
    for begin, end in what.outages(seed, duration_s):
        rows |= {begin: 1.0, end: losses}
    times = sorted(rows)
    lost = pl.DataFrame({"t_s": times, "loss_rate": [rows[t] for t in times]})
    return join(what.line(seed, duration_s), lost)

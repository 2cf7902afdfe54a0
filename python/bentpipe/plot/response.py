"""The response function: the window that an algorithm reaches at a rate of random losses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from bentpipe.analysis.response import aimd_window
from bentpipe.plot.drawing import GREY, Drawing
from bentpipe.plot.many import many
from bentpipe.plot.over_key import LOSS, axis_key, lines
from bentpipe.plot.panels import logarithmic
from bentpipe.sweeps.stored import ManyGiven


def response(
    given: ManyGiven,
    *,
    x: str | None = None,
    by: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> Drawing:
    """The mean window against a loss rate, both logarithmic, over the response function of Reno.

    The dashed line is the square-root law, 1.22 / sqrt(p) segments (`bentpipe.analysis.aimd_window`), where p
    is the share of packets that the links lost in the runs of that loss rate. The arguments are those of
    `against`; `x` is by default the key of a loss rate that varies.

    Raises:
        ScenarioError: no loss rate varies, or several do.
    """
    found = many(given, by=by, where=where)
    key = axis_key(
        found, x, "a loss rate", LOSS.search, "link.{}.loss.rate", "{ log = [1e-5, 1e-2], points = 4 }"
    )
    law = pl.DataFrame()
    if found.links.height:  # a frame of flows has none
        p = pl.col("dropped_error").sum() / pl.col("offered_packets").filter(name=found.link).sum()
        law = found.links.filter(direction="forward").group_by(key).agg(p=p).filter(pl.col("p") > 0).sort(key)
    dashed = "; dashed: Reno's square-root law, 1.22 / √p" if law.height else ""
    fig = lines(found, key, "cwnd_mean_segments", said=dashed)
    for axes in fig.axes:
        if dashed:
            axes.plot(law[key], aimd_window(law["p"].to_numpy()), **GREY)
        least = min(np.min(line.get_ydata()) for line in axes.lines)
        axes.set_ylim(0.6 * least, 1.5 * axes.dataLim.y1)  # an interval may reach 0
        logarithmic(axes.yaxis)
    return fig

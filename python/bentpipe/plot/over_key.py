"""Measures over a key of a sweep, the standard figures too: a line for each algorithm, with its interval."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bentpipe import _core
from bentpipe.measures import Scaled, column_named, measure, sums_of_lives
from bentpipe.plot import words
from bentpipe.plot.drawing import GREY, Drawing, legend, legend_columns, note
from bentpipe.plot.looks import size, styled, text
from bentpipe.plot.many import SERIES, Many, column_of, many
from bentpipe.plot.measures import measured, per_run, runs_behind, several, steady_rate, summary
from bentpipe.plot.panels import Panel, letters, logarithmic, panels
from bentpipe.registry import chooses, unknown
from bentpipe.sweeps.stored import ManyGiven

BANDS = 6
"""More lines than these have bars instead of bands."""
SIZE = "size_bytes"
"""The bytes of a finished transfer, as a key."""
SIZES = 20
"""More sizes of transfers than these are drawn in steps of a factor of two."""
#: Keys of a loss rate, of the size of a buffer, of a round trip and of the size of a transfer.
LOSS = re.compile(r"(^|\.)loss(\.|_|$)|(^|\.)(per|ber)$")
_BUFFER = re.compile(r"\.queue\.limit|buffer")
_ROUND_TRIP = re.compile(r"delay_s$|rtt")
_SIZE = re.compile(r"(\.size|^size)(_bytes)?$")


def against(
    given: ManyGiven,
    *,
    x: str | None = None,
    y: str = "goodput_bps",
    by: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> Drawing:
    """A measure over a key of a sweep: the mean over the seeds with its 95 % interval.

    Args:
        given: a sweep.
        x: the key of the abscissa; by default the only one that varies.
        y: a column of the flows or of the links, one of `bentpipe.plot.measures`, or a measure by its name in
            a report.
        by: the key that distinguishes lines; by default the algorithm.
        where: values of keys: other runs are left out.

    Raises:
        ScenarioError: the sweep lacks a column, or the choice is ambiguous.
    """
    found = many(given, by=by, where=where)
    key = axis_key(found, x, "a number", lambda key: found.flows[key].dtype.is_numeric(), "link.{}.delay")
    return lines(found, key, column_named(y))


def axis_key(
    found: Many,
    wanted: str | None,
    what: str,
    fits: Callable[[str], object],
    example: str,
    values: str = '["10 ms", "50 ms", "250 ms"]',
) -> str:
    """The key of an axis: the one that is wanted, or the only one that fits.

    Args:
        found: the runs.
        wanted: the user's choice.
        what: the keys that fit, in words.
        fits: whether a key fits.
        example: a key that would, with {} for the name of a link.
        values: values that a sweep could give it, as TOML.

    Raises:
        ScenarioError: none fits, or several do; the message names the remedy.
    """
    if wanted is not None:
        return known_key(found, wanted)
    fit = [key for key in found.keys if fits(key)]
    if len(fit) == 1:
        return fit[0]
    if fit:
        raise _core.ScenarioError(f"{' and '.join(fit)} vary; choose one with --x, for example --x {fit[0]}")
    raise lacks(found, what, f'"{example.format(found.link)}" = {values}')


def lacks(found: Many, what: str, line: str) -> _core.ScenarioError:
    """The error for a sweep that does not vary something: a line that would, and the keys that do vary."""
    others = f"; or choose a key with --x: {', '.join(found.keys)}" if found.keys else ""
    return _core.ScenarioError(
        f"nothing here varies {what}; sweep a scenario with this line under [vary]: {line}{others}"
    )


def lines(
    found: Many,
    x: str,
    y: str,
    *,
    y_label: str | None = None,
    fair: list[float] | None = None,
    also: list[str] | None = None,
    said: str = "",
    least: Callable[[Any], Any] | None = None,
) -> Drawing:
    """Means of a measure over a key, in as many panels as other keys need.

    Args:
        found: the runs.
        x: the key.
        y: the measure.
        y_label: instead of the measure's own.
        fair: draw a line there.
        also: keys that the abscissa includes.
        said: more text for the foot.
        least: the smallest possible measure at values of the key, if it is known.
    """
    rows = per_run(found, y)
    fig, drawn = panels(found, rows, [x, *(also or [])])
    across = words.scaled(x, found.flows[x])
    parts = []
    with styled():
        up = measured(found, y, rows["y"])
        if y == "completion_s" and across.log:
            up = replace(up, log=True)
        for panel in drawn:
            ordered = panel.rows.sort(x) if across.numeric else panel.rows
            points = summary(ordered, [x, SERIES], y, found)
            _draw(panel, points, found, x, across, up)
            if least is not None:
                first, last = (float(str(end)) for end in (points[x].min(), points[x].max()))
                ends = np.geomspace(first, last, 50)
                low = least(ends) * up.factor
                shade: dict[str, Any] = {"color": "0.9", "linewidth": 0, "zorder": 0}
                panel.axes.fill_between(ends * across.factor, low, 0.7 * low.min(), **shade)
            for level in fair or []:
                panel.axes.axhline(level, **GREY)
            parts.append(panel.named(points))
            _scale(panel.axes, across, up, y, found.flows[x])
        whole = pl.concat(parts)
        drawn_as = "band" if len(found.looks) <= BANDS else "bars"
        said = runs_behind(whole, drawn=drawn_as) + said + failures(found)
        if y == "goodput_bps" and found.several and sums_of_lives(found.flows):
            said += "; goodput is over the life of each flow, and these lives differ"
        finish(
            fig, drawn, across.label, y_label or up.label, said + ("; dashed: the fair share" if fair else "")
        )
    means = pl.col("mean", "low", "high").name.prefix(f"{y}_")
    fig.data = whole.select(*drawn[0].point, x, SERIES, means, "n", "alike")
    return fig


def utilisation(
    given: ManyGiven,
    *,
    x: str | None = None,
    y: str | None = None,
    by: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> Drawing:
    """Utilisation of the bottleneck against the loss rate, one line per algorithm, with 95 % intervals.

    The utilisation is the bits that the link sends as a share of those that its rate allows while it is up
    (RFC 5166, section 2.1). The arguments are those of `against`; `x` is by default the key of a loss rate
    that varies. Of a frame, which has no links, the goodput is drawn unless `y` selects another measure.

    Raises:
        ScenarioError: no loss rate varies, or several do.
    """
    found = many(given, by=by, where=where)
    key = axis_key(
        found, x, "a loss rate", LOSS.search, "link.{}.loss.rate", "{ log = [1e-6, 1e-2], points = 5 }"
    )
    if y is None and not found.links.height:
        return lines(found, key, "goodput_bps", said="; goodput, as the links are not known")
    return lines(found, key, column_named(y or "utilisation"))


def fairness(
    given: ManyGiven,
    *,
    x: str | None = None,
    by: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> Drawing:
    """Jain's fairness index of the goodputs of a run against the ratio of the flows' round trips.

    The ratio is that of the largest to the smallest RTT without queues: for each place among the flows of a
    run, the smallest RTT that was seen in any run of the same keys. The arguments are those of `against`;
    `x` may be any key, such as the number of flows.

    Raises:
        ScenarioError: runs have one flow each, or nothing changes the round trips.
    """
    found = many(given, by=by, where=where)
    if x is not None:
        return lines(found, known_key(found, x), "jain")
    keys = [key for key in found.keys if _ROUND_TRIP.search(key)]
    several(found, "Jain's index")
    if not keys:
        line = '"flow.1.extra_delay" = ["0 ms", "50 ms", "100 ms", "200 ms"]'
        raise lacks(found, "a round trip", line)
    ratios = per_run(found, "rtt_ratio").group_by(keys).agg(pl.col("y").median().alias("rtt_ratio"))
    flows = found.flows.join(ratios, on=keys, how="left", maintain_order="left")
    ordered = [*(c for c in found.flows.columns if c != "rtt_ratio"), "rtt_ratio"]
    with_ratio = replace(found, flows=flows.select(ordered), keys=[*found.keys, "rtt_ratio"])
    return lines(with_ratio, "rtt_ratio", "jain", also=keys)


def completion(
    given: ManyGiven,
    *,
    x: str | None = None,
    by: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> Drawing:
    """Completion time of transfers against their size, both logarithmic, over the limit of the link.

    Nothing is faster than a round trip and the size at the rate of the slowest link: the grey surface.

    The size is the key of it that varies. If none does, it is the data that the flows delivered, in steps of
    a factor of two if there are more than twenty sizes, as in a workload of many short flows. Transfers that
    did not finish are counted at the foot. The arguments are those of `against`.

    Raises:
        ScenarioError: no transfer finished, or all have one size.
    """
    found = many(given, by=by, where=where).by_transfer
    found.need("completion_s", "delivered_bytes", "rtt_min_s")
    flows = found.flows.filter(pl.col(SERIES).is_not_null())
    sizes = [key for key in found.keys if _SIZE.search(key)]
    if x is None and not sizes:
        by_size = _of_sizes(found)
        if by_size.flows[SIZE].n_unique() < 2:
            line = '"flow.0.traffic.size" = ["20 kB", "200 kB", "2 MB", "20 MB"]'
            raise lacks(found, "the size of a transfer", line)
        found, x = by_size, SIZE
    key = SIZE if x == SIZE else axis_key(found, x, "the size of a transfer", _SIZE.search, "")
    if not flows["completion_s"].drop_nulls().len():
        raise _core.ScenarioError("no transfer finished: give the runs a longer duration")
    missing = flows["completion_s"].null_count()
    said = f"; {missing} of {flows.height} transfers did not finish" if missing else ""
    return lines(found, key, "completion_s", said=said, least=_fastest(found, key))


def friendliness(
    given: ManyGiven,
    *,
    x: str | None = None,
    by: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> Drawing:
    """The share that an algorithm gets beside a competitor, Reno or CUBIC, against the size of the buffer.

    The dashed line is the fair share. The arguments are those of `against`; `x` is by default the key of a
    buffer's size.

    Raises:
        ScenarioError: no buffer varies, or the flows of the sweep's algorithm are alone.
    """
    found = many(given, by=by, where=where)
    several(found, "friendliness")
    key = axis_key(
        found, x, "the size of a buffer", _BUFFER.search, "link.{}.queue.limit",
        '["0.25 bdp", "0.5 bdp", "1 bdp", "2 bdp", "4 bdp"]',
    )  # fmt: skip
    rivals = found.tcp.filter(pl.col(SERIES).is_null())["cc"].unique().sort()
    if not rivals.len() and found.by is not None:
        raise _core.ScenarioError(
            f"{found.by} chooses the algorithm of every flow, so none is a competitor: "
            'add a second [[flow]], for example cc = "cubic"'
        )
    tcp = found.tcp
    if tcp[SERIES].n_unique() == 1 and not rivals.len():
        raise _core.ScenarioError(
            f"every flow is {tcp[SERIES][0]}, so none is a competitor: give one another cc, "
            'or vary the first: "flow.0.cc" = ["bbr", "hybla"]'
        )
    shares = tcp.with_columns(_n=pl.len().over("run")).group_by("run", SERIES, "_n").len()
    shares = shares.filter(pl.col(SERIES).is_not_null())
    fair_shares = (shares["len"] / shares["_n"]).unique().sort().to_list()
    beside = f"\nbeside {' and '.join(words.named(cc) for cc in rivals)}" if rivals.len() else ""
    return lines(found, key, "share", y_label=f"share of the goodput{beside}", fair=fair_shares)


def finish(fig: Drawing, drawn: list[Panel], x: str, y: str, said: str) -> None:
    """Names of the outer axes, one legend above the only panel or above all, and the words at the foot.

    Args:
        fig: the figure.
        drawn: its panels.
        x: the name of the abscissa.
        y: the name of the ordinate.
        said: the words at the foot.
    """
    places = [panel.axes.get_subplotspec() for panel in drawn]
    columns = len({place.colspan.start for place in places if place is not None})
    fits = letters(fig, columns, 0.55)
    for nth, (panel, place) in enumerate(zip(drawn, places, strict=True)):
        if nth >= len(drawn) - columns:
            panel.axes.set_xlabel(textwrap.fill(x, fits))
        if place is not None and place.colspan.start == 0:
            panel.axes.set_ylabel(textwrap.fill(y, 40) if "\n" not in y else y)
    seen = dict[str, Any]()
    for panel in drawn:
        seen.update(zip(*reversed(panel.axes.get_legend_handles_labels()), strict=True))
    if len(drawn) == 1:
        legend(fig, drawn[0].axes)
    elif seen:
        columns = legend_columns(fig, list(seen))
        fig.legend(list(seen.values()), list(seen), loc="outside upper center", ncols=columns)
    note(fig, said)


def failures(found: Many) -> str:
    """The number of missing runs, for the foot of a figure."""
    words = f"; runs that failed and are not shown: {found.failed:,}" if found.failed else ""
    return words + (f"; runs of the sweep that are not there yet: {found.missing:,}" if found.missing else "")


def _draw(panel: Panel, points: pl.DataFrame, found: Many, x: str, across: Scaled, up: Scaled) -> None:
    for name, look in found.looks.items():
        part = points.filter(pl.col(SERIES) == name)
        if not part.height:
            continue
        at, mean = words.places(across, part[x]), part["mean"] * up.factor
        panel.axes.plot(at, mean, **look)
        sure = part.filter(pl.col("low").is_not_null())
        at, low, high = words.places(across, sure[x]), sure["low"] * up.factor, sure["high"] * up.factor
        if not sure.height:
            continue
        if len(found.looks) <= BANDS and sure.height > 1:
            panel.axes.fill_between(at, low, high, color=look["color"], alpha=0.18, linewidth=0)
        else:
            panel.axes.vlines(at, low, high, color=look["color"], linewidth=0.7 * size().type)


def _scale(axes: Axes, across: Scaled, up: Scaled, y: str, values: pl.Series) -> None:
    if across.log:
        logarithmic(axes.xaxis, across.values)
    elif values.dtype.is_integer() and across.factor == 1:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if not across.numeric:
        names = [text(words.named(str(name))) for name in across.values]
        axes.set_xticks(range(len(names)), names)
    if up.log and measure(y).better == "less":
        logarithmic(axes.yaxis)
        return
    most = axes.dataLim.y1
    room = 1.03 * most if math.isfinite(most) else 0.0  # for the marker of the highest point
    axes.set_ylim(0, max(axes.get_ylim()[1], room))
    if y in ("utilisation", "share", "jain"):
        axes.set_ylim(0, 1.03)


def known_key(found: Many, wanted: str) -> str:
    """The column of a key that varies.

    Raises:
        ScenarioError: it does not.
    """
    key = column_of(wanted, found.keys)
    if key not in found.keys:
        if chooses(wanted):
            axes = ", ".join(found.keys) or "none"
            raise _core.ScenarioError(f"{wanted} chooses an algorithm and is no axis here; there are: {axes}")
        raise _core.ScenarioError(unknown("key that varies", wanted, found.keys))
    return key


def _of_sizes(found: Many) -> Many:
    """With the bytes that a finished flow delivered as a key."""
    sizes = found.flows.filter(pl.col("completion_s").is_not_null())["delivered_bytes"].unique()
    size = pl.col("delivered_bytes").cast(pl.Float64)
    if sizes.len() > SIZES:
        size = 2.0 ** (size.log(2.0).floor() + 0.5)
    flows = found.flows.filter(pl.col("completion_s").is_not_null()).with_columns(size.alias(SIZE))
    return replace(found, flows=flows, keys=[*found.keys, SIZE])


def _fastest(found: Many, key: str) -> Callable[[Any], Any] | None:
    """A round trip and the time in which the slowest link sends these bytes, if its rate never differs."""
    rate = steady_rate(found)
    if rate is None or not key.endswith("_bytes"):
        return None
    round_trip = float(str(found.flows["rtt_min_s"].min() or 0))
    return lambda size: round_trip + size * 8 / rate

"""The standard figures of sweeps over one key: utilisation, fairness, friendliness and completion times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from bentpipe import _core
from bentpipe.plot import words
from bentpipe.plot.drawing import Drawing
from bentpipe.plot.many import SERIES, Many, ManyGiven, many
from bentpipe.plot.measures import capacity, per_run, several
from bentpipe.plot.over_key import axis_key, known_key, lacks, lines, others

SIZE = "size_bytes"
"""The bytes of a finished transfer, as a key."""
SIZES = 20
"""More sizes of transfers than these are drawn in steps of a factor of two."""


def utilisation(
    given: ManyGiven,
    *,
    x: str | None = None,
    y: str | None = None,
    by: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> Drawing:
    """Utilisation of the bottleneck against the loss rate, one line per algorithm, with 95 % intervals.

    The utilisation is the share of the run in which the link sends (RFC 5166, section 2.1). The arguments
    are those of `against`; `x` is by default the key of a loss rate that varies. Of a frame, which has no
    links, the goodput is drawn unless `y` selects another measure.

    Raises:
        ScenarioError: no loss rate varies, or several do.
    """
    found = many(given, by=by, where=where)
    key = axis_key(
        found, x, "a loss rate", words.about_loss, "link.{}.loss.rate", "{ log = [1e-6, 1e-2], points = 5 }"
    )
    if y is None and not found.links.height:
        return lines(found, key, "goodput_bps", said="; goodput, as the links are not known")
    return lines(found, key, y or "utilisation")


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
    keys = [key for key in found.keys if words.about_round_trip(key)]
    several(found, "Jain's index")
    if not keys:
        line = '"flow.1.extra_delay" = ["0 ms", "50 ms", "100 ms", "200 ms"]'
        raise _core.ScenarioError(lacks("a round trip", line) + others(found))
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
    sizes = [key for key in found.keys if words.about_size(key)]
    if x is None and not sizes:
        by_size = _of_sizes(found)
        if by_size.flows[SIZE].n_unique() < 2:
            line = '"flow.0.traffic.size" = ["20 kB", "200 kB", "2 MB", "20 MB"]'
            raise _core.ScenarioError(lacks("the size of a transfer", line) + others(found))
        found, x = by_size, SIZE
    key = SIZE if x == SIZE else axis_key(found, x, "the size of a transfer", words.about_size, "")
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
        found, x, "the size of a buffer", words.about_buffer, "link.{}.queue.limit",
        '["0.25 bdp", "0.5 bdp", "1 bdp", "2 bdp", "4 bdp"]',
    )  # fmt: skip
    rivals = found.flows.filter(pl.col(SERIES).is_null() & (pl.col("cc") != "cbr"))["cc"].unique().sort()
    if not rivals.len() and found.by is not None:
        raise _core.ScenarioError(
            f"{found.by} chooses the algorithm of every flow, so none is a competitor: "
            'add a second [[flow]], for example cc = "cubic"'
        )
    tcp = found.flows.filter(pl.col("cc") != "cbr")
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
    rates = capacity(found)
    if not rates.height or rates["rate_bps"].n_unique() > 1 or not key.endswith("_bytes"):
        return None
    rate, round_trip = float(rates["rate_bps"][0]), float(str(found.flows["rtt_min_s"].min() or 0))
    return lambda size: round_trip + size * 8 / rate

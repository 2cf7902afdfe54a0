"""Goodput over time, in a way that a link's rate bounds.

A receiver hands on bytes in order. While it waits for the repeat of a lost packet it hands on nothing, and
then at once all that came behind: differences of in-order bytes show a burst that no link ever carried. Here
each byte counts when it arrived at the latest, if the path carried no more than its rate. Let D be the bytes
in order of a flow alone and K the bytes that the path can have carried, both by time. The arrivals are

    A(s) = K(s) + max over t >= s of (D(t) - K(t)),

the smallest curve above D that nowhere rises faster than K. Flows that share a path share its rate: going
back in time, the excess of an interval moves to the one before, first from the flow with the largest
burst. All bytes are counted. No mean exceeds the mean of the path's rate, nor does the sum of the flows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from bentpipe.plot.routes import Route, largest, route
from bentpipe.result import Result

Floats = npt.NDArray[np.float64]


def arrivals(result: Result) -> dict[str, pl.DataFrame]:
    """Payload bytes by time that have arrived, for each traced flow: columns t_s and arrived_bytes.

    Where a path changes over time and its links are not recorded, these are the bytes in order.
    """
    traced = {
        str(name): rows.select("t_s", "delivered_bytes")
        for (name,), rows in result.trace.group_by("flow", maintain_order=True)
    }
    shared: dict[tuple[tuple[str, str], ...], list[str]] = {}
    paths = {name: route(result, name) for name in traced}
    for name, path in paths.items():
        shared.setdefault(path.there, []).append(name)
    found = {}
    for names in shared.values():
        times = [traced[name]["t_s"].to_numpy() for name in names]
        in_order = [traced[name]["delivered_bytes"].to_numpy().astype(float) for name in names]
        grid = np.unique(np.concatenate(times))
        rows = np.array([_at(grid, *known) for known in zip(times, in_order, strict=True)])
        path = paths[names[0]]
        if path.sure:
            rows = spread(rows, np.diff(carried(grid, path)))
        for name, t, row in zip(names, times, rows, strict=True):
            arrived = row[np.searchsorted(grid, t)]
            found[name] = pl.DataFrame({"t_s": t, "arrived_bytes": arrived})
    return {name: found[name] for name in traced}


def spread(in_order: Floats, room: Floats) -> Floats:
    """Bytes by time that have arrived, from the bytes in order.

    Args:
        in_order: bytes in order, a row for each flow and a column for each instant.
        room: bytes that the path can carry between the instants.
    """
    parts = np.diff(in_order, axis=1)
    late = np.zeros(len(in_order))
    for i in range(parts.shape[1] - 1, -1, -1):
        late += parts[:, i]
        if late.sum() > room[i]:
            parts[:, i] = _fair(late, float(room[i]))
        else:
            parts[:, i] = late
        late -= parts[:, i]
    # The remainder did not fit into the run at all: it was there at its beginning.
    return np.cumsum(np.column_stack([in_order[:, 0] + late, parts]), axis=1)


def carried(t_s: Floats, path: Route) -> Floats:
    """Payload bytes that the path can have carried since 0 s, at its full rate."""
    at, rate = path.over["t_s"].to_numpy(), path.over["rate_bps"].to_numpy()
    share = path.payload / path.packet if path.packet else 1.0
    sums = np.concatenate(([0.0], np.cumsum(rate[:-1] * np.diff(at))))
    row = np.clip(np.searchsorted(at, t_s, side="right") - 1, 0, len(at) - 1)
    return np.asarray((sums[row] + rate[row] * (t_s - at[row])) * share / 8)


def together(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The sum of what has arrived of several flows, such as the subflows of a connection."""
    grid = np.unique(np.concatenate([part["t_s"].to_numpy() for part in parts]))
    whole = [_at(grid, part["t_s"].to_numpy(), part["arrived_bytes"].to_numpy()) for part in parts]
    return pl.DataFrame({"t_s": grid, "arrived_bytes": np.sum(whole, axis=0)})


def means(arrived: pl.DataFrame, window_s: float) -> pl.DataFrame:
    """Mean goodput of each window of one flow: columns t_s (its middle) and goodput_bps.

    Windows begin and end at samples; no value between samples is made up. A window that the end of the run
    cuts to less than half is left out: a few packets would decide.
    """
    t, total = arrived["t_s"].to_numpy(), arrived["arrived_bytes"].to_numpy()
    if len(t) < 2:
        return pl.DataFrame(schema={"t_s": pl.Float64, "goodput_bps": pl.Float64})
    step = float(np.median(np.diff(t)))
    marks = np.arange(0.0, t[-1] + window_s, max(window_s, step))
    ends = np.unique(np.clip(np.searchsorted(t, marks - step / 2), 0, len(t) - 1))
    spans = np.diff(t[ends])
    rates = 8 * np.diff(total[ends]) / spans
    middle = (t[ends][1:] + t[ends][:-1]) / 2
    return pl.DataFrame({"t_s": middle, "goodput_bps": rates}).filter(pl.Series(spans) >= window_s / 2)


def window(result: Result) -> float:
    """Seconds to average over: a hundredth of the run, one second and the usual RTT of its flows at least.

    Within one round trip a window-limited sender sends in bursts, so a shorter mean would show those.
    """
    usual = result.trace.filter(pl.col("srtt_s").is_finite()).group_by("flow").agg(pl.col("srtt_s").median())
    return max(1.0, largest(usual["srtt_s"]), largest(result.trace["t_s"]) / 100)


def _at(grid: Floats, t_s: Floats, values: Floats) -> Floats:
    """The last known values at the instants of a grid, the first one before."""
    return np.asarray(values[np.clip(np.searchsorted(t_s, grid, side="right") - 1, 0, None)])


def _fair(wanted: Floats, room: float) -> Floats:
    """Max-min fair shares of the capacity: small demands are met in full, the others get equal shares."""
    got = np.zeros_like(wanted)
    order = np.argsort(wanted)
    for done, i in enumerate(order):
        got[i] = min(wanted[i], room / (len(order) - done))
        room -= got[i]
    return got

"""Smoothness, aggressiveness, responsiveness and convergence times of recorded flows.

The definitions are those of the spectrum paper (see `bentpipe.analysis.spectrum`), sections 4.2, 5 and 6.2,
whose closed forms are in `bentpipe.analysis.tradeoffs` and `bentpipe.analysis.convergence_time`. A trace is
times `t` in seconds, which never fall, and a column of the same shape (n,); `columns` takes them from
`bentpipe.Result.trace`. Between two rows a window keeps the value of the first. To count losses and epochs
record every change (`Record("change")`), or at least once per round trip.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bentpipe.analysis._values import Array, Value, array, number, series

if TYPE_CHECKING:
    import polars as pl


class Cuts(NamedTuple):
    """The decreases of a window; one that takes several rows in a row is one decrease.

    Attributes:
        peak: index of the last row before each decrease, shape (n,).
        after: index of the first row after it, shape (n,).
    """

    peak: NDArray[np.intp]
    after: NDArray[np.intp]


def columns(trace: pl.DataFrame, flow: str, *names: str) -> tuple[Array, ...]:
    """Columns of one flow as arrays, the time first.

    `t, cwnd = columns(result.trace, "star", "cwnd")`

    Args:
        trace: the frame of `Result.trace`.
        flow: name of a flow.
        names: names of columns, such as "cwnd" or "delivered_bytes".

    Returns:
        t_s and the columns, each of float64 and shape (n,).

    Raises:
        ValueError: the trace has no such column or no row of that flow.
    """
    missing = [name for name in ("t_s", "flow", *names) if name not in trace.columns]
    if missing:
        present = ", ".join(trace.columns)
        raise ValueError(f"the trace has no column {missing[0]!r}; it has {present or 'none'}")
    rows = trace.filter(trace["flow"].cast(str) == flow)
    if rows.height == 0:
        present = ", ".join(sorted(trace["flow"].cast(str).unique()))
        raise ValueError(f"the trace has no flow {flow!r}; it has {present or 'none'}")
    return tuple(rows[name].to_numpy().astype(np.float64) for name in ("t_s", *names))


def hold(t: Array, values: Array, at: Array) -> Array:
    """The values at other times: that of the last row that is not later.

    Brings two flows with rows at different times to common ones.

    Args:
        t: times of the rows in seconds, shape (n,).
        values: the column, shape (n,).
        at: the times that are asked for in seconds, shape (m,), none before the first row.

    Returns:
        The values, shape (m,).

    Raises:
        ValueError: the shapes differ, `t` falls, or a time is before the first row.
    """
    times, given = _trace(t, values, "values")
    asked = series("at", at, at_least=float(times[0]))
    found: Array = given[np.searchsorted(times, asked, side="right") - 1]
    return found


def rounds_between(t: Array, rtt: Value, start: float, stop: float) -> float:
    """The round trips from `start` to `stop`: the integral of dt / rtt.

    Args:
        t: times of the rows in seconds, shape (n,).
        rtt: round-trip time in seconds, above 0: one number, or one per row, shape (n,).
        start: beginning in seconds, not before the first row.
        stop: end in seconds, not before `start`; after the last row its round-trip time holds.

    Raises:
        ValueError: an argument is outside its domain, or the shapes differ.
    """
    trips = array("rtt", rtt, above=0)
    times, each = _trace(t, np.broadcast_to(trips, np.shape(t)) if trips.ndim == 0 else trips, "rtt")
    begin = number("start", start, at_least=float(times[0]))
    end = number("stop", stop, at_least=begin)
    edges = np.concatenate([[begin], times[(times > begin) & (times < end)], [end]])
    return float(np.sum(np.diff(edges) / hold(times, each, edges[:-1])))


def cuts(w: Array, least: float = 0.0) -> Cuts:
    """The decreases of a window by more than the share `least`.

    Args:
        w: windows in segments, shape (n,), above 0.
        least: smallest share of the window that counts, at least 0 and below 1; above 0 it leaves out the
            small steps of controls that also shrink without a loss.

    Raises:
        ValueError: an argument is outside its domain.
    """
    window = series("w", w, above=0)
    share = number("least", least, at_least=0, below=1)
    falling = np.concatenate([[False], np.diff(window) < 0, [False]])
    peak = np.flatnonzero(~falling[:-1] & falling[1:])
    after = np.flatnonzero(falling[:-1] & ~falling[1:])
    deep = window[after] < window[peak] * (1 - share)
    return Cuts(peak[deep], after[deep])


def efficiency_seconds(t: Array, w1: Array, w2: Array, start: float, least: float = 0.0) -> float:
    """T_1 of two flows: the seconds from `start` to the first loss of either.

    Spectrum, appendix C: the first loss shows that the two windows fill the capacity.

    Args:
        t: times of the rows in seconds, shape (n,), common to both flows (see `hold`).
        w1: windows of one flow in segments, shape (n,), above 0.
        w2: windows of the other, shape (n,), above 0.
        start: where the time begins, in seconds, not before the first row.
        least: smallest decrease that counts, as in `cuts`.

    Returns:
        Seconds, infinite if there is no loss after `start`.

    Raises:
        ValueError: an argument is outside its domain, or the shapes differ.
    """
    times, first = _trace(t, w1, "w1")
    _, second = _trace(t, w2, "w2")
    begin = number("start", start, at_least=float(times[0]))
    lost = np.concatenate([times[cuts(w, least).peak + 1] for w in (first, second)])
    lost = lost[lost > begin]
    return float(lost.min() - begin) if lost.size else float("inf")


def fairness_seconds(
    t: Array, w1: Array, w2: Array, start: float, bound: float, stay: float | None = None
) -> float:
    """T_2 of two flows: the seconds from `start` until their windows differ by less than `bound`.

    Spectrum, section 4.2: T_2 begins when T_1 ends, and the difference stays within the bound, epsilon in
    segments, above 0. `stay` is how many seconds it must stay there, at least 0; to the end of the trace if
    absent. 0 takes the first moment, which with losses of one flow alone comes early. Other arguments as in
    `efficiency_seconds`.

    Returns:
        Seconds, infinite if the difference does not stay below the bound.

    Raises:
        ValueError: an argument is outside its domain, or the shapes differ.
    """
    times, first = _trace(t, w1, "w1")
    _, second = _trace(t, w2, "w2")
    begin = number("start", start, at_least=float(times[0]), at_most=float(times[-1]))
    epsilon = number("bound", bound, above=0)
    later = times > begin
    edges = np.concatenate([[begin], times[later]])
    near = hold(times, np.abs(second - first), edges) < epsilon
    begins = edges[near & ~np.concatenate([[False], near[:-1]])]
    ends = edges[1:][near[:-1] & ~near[1:]]
    if stay is None:
        return float(begins[-1] - begin) if near[-1] else float("inf")
    ends = np.concatenate([ends, times[-1:]]) if near[-1] else ends
    long = begins[ends - begins >= number("stay", stay, at_least=0)]
    return float(long[0] - begin) if long.size else float("inf")


def smoothness(
    t: Array, delivered: Array, scale: float, start: float | None = None, stop: float | None = None
) -> float:
    """The coefficient of variation of the throughput over intervals of `scale` seconds.

    S. Floyd, M. Handley, J. Padhye: A Comparison of Equation-Based and AIMD Congestion Control, 2000;
    spectrum, section 6.2.1, with intervals of two round trips. The standard deviation over the intervals (of
    the population) over their mean. Data delivered between two rows is spread evenly.

    Args:
        t: times of the rows in seconds, shape (n,).
        delivered: data delivered up to each row, in any unit, shape (n,), never falling.
        scale: length of an interval in seconds, above 0, not below the largest distance of two rows.
        start: where the first interval begins, in seconds; at the first row if absent.
        stop: where the last one ends at the latest; at the last row if absent.

    Returns:
        The coefficient, NaN if nothing was delivered.

    Raises:
        ValueError: an argument is outside its domain, the shapes differ, or there are not two intervals.
    """
    times, total = _trace(t, delivered, "delivered")
    array("the growth of delivered", np.diff(total), at_least=0)
    low, high = float(times[0]), float(times[-1])
    begin = low if start is None else number("start", start, at_least=low, at_most=high)
    end = high if stop is None else number("stop", stop, at_least=begin, at_most=high)
    length = number("scale", scale, above=0)
    inside = np.concatenate([[begin], times[(times > begin) & (times < end)], [end]])
    if np.diff(inside).max() > length * (1 + 1e-6):
        raise ValueError(
            f"scale must not be below the largest distance of two rows, {np.diff(inside).max():g} s, but is"
            f" {length:g} s; record more often"
        )
    count = int((end - begin) / length * (1 + 1e-9))
    if count < 2:
        raise ValueError(f"there must be at least two intervals of {length:g} s in {end - begin:g} s")
    edges = np.minimum(begin + length * np.arange(count + 1), end)
    per_interval = np.diff(np.interp(edges, times, total))
    mean = float(per_interval.mean())
    return float(per_interval.std() / mean) if mean > 0 else float("nan")


def epoch_smoothness(t: Array, w: Array, least: float = 0.0) -> float:
    """The coefficient of variation of the window within an epoch, as `tradeoffs.smoothness` defines it.

    Spectrum, section 5 and appendix D.1: the root of the mean variance within the epochs over the mean
    window. An epoch goes from after one decrease to the peak before the next; the window is taken to be
    linear between two rows.

    Args:
        t: times of the rows in seconds, shape (n,).
        w: windows in segments, shape (n,), above 0.
        least: smallest decrease that counts, as in `cuts`.

    Raises:
        ValueError: an argument is outside its domain, the shapes differ, or there is no complete epoch.
    """
    times, window = _trace(t, w, "w")
    found = cuts(window, least)
    means, variances = [], []
    for low, high in zip(found.after[:-1], found.peak[1:], strict=True):
        length = times[high] - times[low]
        if length <= 0:
            continue
        dt, a, b = np.diff(times[low : high + 1]), window[low:high], window[low + 1 : high + 1]
        mean = float(np.sum(dt * (a + b)) / (2 * length))
        a, b = a - mean, b - mean
        means.append(mean)
        variances.append(float(np.sum(dt * (a * a + a * b + b * b)) / (3 * length)))
    if not means:
        raise ValueError("the trace must hold at least one epoch between two decreases")
    return float(np.sqrt(np.mean(variances)) / np.mean(means))


def rounds_to_grow(
    t: Array, w: Array, rtt: Value, start: float, target: float, tolerance: float = 1.0
) -> float:
    """1 / aggressiveness: the round trips until the window is at most `tolerance` below `target`.

    Spectrum, section 5 and, with a tolerance of one segment, section 6.2.4. `tradeoffs.rounds_to_grow` is its
    closed form.

    Args:
        t: times of the rows in seconds, shape (n,).
        w: windows in segments, shape (n,), above 0.
        rtt: round-trip time in seconds, above 0: one number, or one per row, shape (n,).
        start: when the bandwidth grew, in seconds, within the trace.
        target: window to reach in segments, above 0.
        tolerance: segments that may be missing, at least 0.

    Returns:
        Round trips, infinite if the window is never reached.

    Raises:
        ValueError: an argument is outside its domain, or the shapes differ.
    """
    times, window = _trace(t, w, "w", above=0)
    begin = number("start", start, at_least=float(times[0]), at_most=float(times[-1]))
    enough = number("target", target, above=0) - number("tolerance", tolerance, at_least=0)
    if hold(times, window, np.array([begin]))[0] >= enough:
        return 0.0
    reached = times[(times > begin) & (window >= enough)]
    return rounds_between(times, rtt, begin, float(reached[0])) if reached.size else float("inf")


def losses_to_shrink(
    t: Array, w: Array, start: float, target: float, tolerance: float = 1.0, least: float = 0.0
) -> float:
    """1 / responsiveness: the losses until the window is at most `tolerance` above `target`.

    Spectrum, section 5 and, with a tolerance of one segment, section 6.2.4. `tradeoffs.losses_to_shrink` is
    its closed form.

    Args:
        t: times of the rows in seconds, shape (n,).
        w: windows in segments, shape (n,), above 0.
        start: when the bandwidth shrank, in seconds, within the trace.
        target: window to come down to in segments, above 0.
        tolerance: segments that may be left, at least 0.
        least: smallest decrease that counts, as in `cuts`.

    Returns:
        A whole number of losses, infinite if the window never comes down to it.

    Raises:
        ValueError: an argument is outside its domain, or the shapes differ.
    """
    times, window = _trace(t, w, "w", above=0)
    begin = number("start", start, at_least=float(times[0]), at_most=float(times[-1]))
    few = number("target", target, above=0) + number("tolerance", tolerance, at_least=0)
    if hold(times, window, np.array([begin]))[0] <= few:
        return 0.0
    reached = np.flatnonzero((times > begin) & (window <= few))
    if not reached.size:
        return float("inf")
    began = cuts(window, least).peak + 1
    return float(np.sum((times[began] > begin) & (began <= reached[0])))


def aggressiveness(
    t: Array, w: Array, rtt: Value, start: float, target: float, tolerance: float = 1.0
) -> float:
    """The inverse of `rounds_to_grow`, per round trip: 0 if the window is never reached.

    Raises:
        ValueError: an argument is outside its domain, the shapes differ, or the window is there at `start`.
    """
    return _inverse(rounds_to_grow(t, w, rtt, start, target, tolerance), "reached")


def responsiveness(
    t: Array, w: Array, start: float, target: float, tolerance: float = 1.0, least: float = 0.0
) -> float:
    """The inverse of `losses_to_shrink`, per loss: 0 if the window never comes down to the target.

    Raises:
        ValueError: an argument is outside its domain, the shapes differ, or no loss was needed.
    """
    return _inverse(losses_to_shrink(t, w, start, target, tolerance, least), "down to")


def _inverse(effort: float, how: str) -> float:
    if effort == 0:
        raise ValueError(f"target must be a window that is not {how} at start already")
    return 1 / effort


def _trace(t: Array, column: Array, name: str, above: float | None = None) -> tuple[Array, Array]:
    """Times and a column, checked: at least one row, the same shape, times that never fall."""
    times, values = series("t", t), series(name, column, above=above)
    if times.shape != values.shape:
        raise ValueError(f"{name} must have as many rows as t, {times.size}, not {values.size}")
    if times.size == 0:
        raise ValueError("t must have at least one row")
    if times.size > 1:
        array("the step from row to row of t", np.diff(times), at_least=0)
    return times, values

"""Times to efficiency and to fairness of two flows, in closed form.

Spectrum (see `bentpipe.analysis.spectrum`), section 4.2, table 2, and appendix C. Two flows with
synchronised losses share a bottleneck of `capacity` segments and start from the windows `w1` and `w2`, whose
sum is below it. The controls are "aimd", "iiad" and "simd", all TCP-friendly; standard TCP is "aimd" with
beta = 1/2. `beta` is a share of the window for AIMD and SIMD, segments for IIAD; SIMD needs it below 1/2,
where a loss removes the whole gap. Times are in round trips. The two windows may change places.

`bentpipe.analysis.convergence.trajectory` follows the windows themselves, `bentpipe.analysis.traces` measures
the times in traces.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from bentpipe.analysis._values import Array, Value, array, number, same

Control: TypeAlias = Literal["aimd", "iiad", "simd"]
"""The controls of table 2."""


class Region(NamedTuple):
    """The region in which one control converges faster than another: `region`.

    Attributes:
        w1: windows of the first flow in segments, shape (n,).
        w2: windows of the second flow in segments, shape (n,).
        ratio: time of the second control over that of the first, shape (n, n), at [i, j] for w1[i] and w2[j];
            above 1 the first is faster, NaN where the two windows fill the capacity already.
    """

    w1: Array
    w2: Array
    ratio: Array


def efficiency_rounds(control: Control, beta: Value, w1: Value, w2: Value, capacity: Value) -> Value:
    """T_1, the round trips until the two windows fill the capacity for the first time.

    Table 2 and appendix C.1.

    Args:
        control: name of the control.
        beta: constant of the decrease, above 0 and below 1, below 1/2 for SIMD.
        w1: window of one flow in segments, above 0.
        w2: window of the other in segments, above 0.
        capacity: W in segments, above w1 + w2; for IIAD above 2 beta.

    Raises:
        ValueError: an argument is outside its domain, or there is no such control.
    """
    loss, _ = _control(control, beta, capacity)
    first, second, total = _windows(w1, w2, capacity)
    missing = total - first - second
    if control == "aimd":
        return same(missing * (2 - loss) / (6 * loss))
    if control == "iiad":
        squares = first**2 + second**2
        return same((((second**2 - first**2) / total) ** 2 - 2 * squares + total**2) / (12 * loss))
    scale = 2 / 3 * (1 - 2 * loss / 3) * np.sqrt(2 / (loss * (1 - loss)))
    return same(scale * np.sqrt(first * second * missing / (first + second)))


def gap_at_efficiency(control: Control, w1: Value, w2: Value, capacity: Value) -> Value:
    """Delta, the difference of the windows in segments when they fill the capacity for the first time.

    Table 2 and appendix C.1; the result is not negative, as in appendix C.1. Arguments as in
    `efficiency_rounds`.

    Raises:
        ValueError: an argument is outside its domain, or there is no such control.
    """
    _known(control)
    first, second, total = _windows(w1, w2, capacity)
    gap = np.abs(second - first)
    if control == "aimd":
        return same(gap + 0 * total)
    if control == "iiad":
        return same(gap * (first + second) / total)
    return same(gap * np.abs(2 - total / (first + second)))


def fairness_epochs(control: Control, beta: Value, gap: Value, epsilon: Value, capacity: Value) -> Value:
    """The epochs until the difference of the windows has fallen from `gap` to `epsilon`.

    Appendix C.2: an epoch leaves 1 - beta of the gap for AIMD, 1 - 2 beta for SIMD, at least
    1 - 2 beta / capacity for IIAD. Not rounded to whole epochs; 0 if the gap is not above epsilon.

    Args:
        control: name of the control.
        beta: constant of the decrease, above 0 and below 1, below 1/2 for SIMD.
        gap: difference of the windows in segments, at least 0.
        epsilon: bound of the difference in segments, above 0.
        capacity: W in segments, above 0; for IIAD above 2 beta.

    Raises:
        ValueError: an argument is outside its domain, or there is no such control.
    """
    loss, total = _control(control, beta, capacity)
    bound = array("epsilon", epsilon, above=0)
    ratio = np.maximum(array("gap", gap, at_least=0) / bound, 1)
    taken = {"aimd": loss, "iiad": 2 * loss / total, "simd": 2 * loss}[control]
    return same(-np.log(ratio) / np.log1p(-taken) + 0 * total)


def epoch_rounds(control: Control, beta: Value, capacity: Value) -> Value:
    """The round trips of an epoch when the windows are nearly equal.

    Appendix C.2: (2 - beta) W / 6 for AIMD, W / 3 for IIAD, sqrt(2) W / 3 for SIMD, the last two for small
    beta. Arguments as in `fairness_epochs`.

    Raises:
        ValueError: an argument is outside its domain, or there is no such control.
    """
    loss, total = _control(control, beta, capacity)
    factor = {"aimd": (2 - loss) / 6, "iiad": 1 / 3 + 0 * loss, "simd": np.sqrt(2) / 3 + 0 * loss}[control]
    return same(factor * total)


def fairness_rounds(control: Control, beta: Value, gap: Value, epsilon: Value, capacity: Value) -> Value:
    """T_2, the round trips until the difference of the windows has fallen from `gap` to `epsilon`.

    Table 2 and appendix C.2: `fairness_epochs` times `epoch_rounds`. Arguments as in `fairness_epochs`.

    Raises:
        ValueError: an argument is outside its domain, or there is no such control.
    """
    epochs = fairness_epochs(control, beta, gap, epsilon, capacity)
    return same(np.asarray(epochs) * np.asarray(epoch_rounds(control, beta, capacity)))


def convergence_rounds(
    control: Control, beta: Value, w1: Value, w2: Value, epsilon: Value, capacity: Value
) -> Value:
    """T_1 + T_2, the round trips from the windows `w1` and `w2` to efficiency and fairness.

    Spectrum, section 4.2: T_2 starts from the gap at the end of T_1. Arguments as in `efficiency_rounds` and
    `fairness_epochs`.

    Raises:
        ValueError: an argument is outside its domain, or there is no such control.
    """
    gap = gap_at_efficiency(control, w1, w2, capacity)
    first = np.asarray(efficiency_rounds(control, beta, w1, w2, capacity))
    return same(first + fairness_rounds(control, beta, gap, epsilon, capacity))


def region(
    first: Control = "simd",
    second: Control = "aimd",
    *,
    beta: float = 1 / 16,
    second_beta: float | None = None,
    epsilon: float = 1.0,
    capacity: float = 100.0,
    points: int = 100,
) -> Region:
    """The region in which `first` converges faster than `second`; by default the map of fig 4c.

    Spectrum, section 4.2: the ratio of T_1 + T_2 of the two on a grid of initial windows, at the centres of
    `points` by `points` equal cells of (0, capacity)^2.

    Args:
        first: one control.
        second: the other.
        beta: constant of the decrease of the first control.
        second_beta: that of the second; the same if absent.
        epsilon: bound of the difference of the windows in segments, above 0.
        capacity: W in segments.
        points: cells per axis, at least 1.

    Raises:
        ValueError: an argument is outside its domain, or there is no such control.
    """
    total = number("capacity", capacity, above=0)
    cells = int(number("points", points, at_least=1))
    axis: Array = (np.arange(cells, dtype=np.float64) + 0.5) * (total / cells)
    w1, w2 = np.meshgrid(axis, axis, indexing="ij")
    inside = w1 + w2 < total * (1 - 1e-12)
    ratio = np.full((cells, cells), np.nan)
    other = beta if second_beta is None else second_beta
    slow = np.asarray(convergence_rounds(second, other, w1[inside], w2[inside], epsilon, total))
    fast = np.asarray(convergence_rounds(first, beta, w1[inside], w2[inside], epsilon, total))
    ratio[inside] = slow / fast
    return Region(axis, axis.copy(), ratio)


def _known(control: str) -> None:
    if control not in get_args(Control):
        raise ValueError(f"control must be one of {', '.join(get_args(Control))}, not {control!r}")


def _control(control: str, beta: Value, capacity: Value) -> tuple[Array, Array]:
    _known(control)
    loss = array("beta", beta, above=0, below=0.5 if control == "simd" else 1)
    total = array("capacity", capacity, above=0)
    if control == "iiad":
        array("2 beta / capacity", 2 * loss / total, below=1)
    return loss, total


def _windows(w1: Value, w2: Value, capacity: Value) -> tuple[Array, Array, Array]:
    first, second = array("w1", w1, above=0), array("w2", w2, above=0)
    total = array("capacity", capacity, above=0)
    array("capacity - w1 - w2", total - first - second, above=0)
    return first, second, total

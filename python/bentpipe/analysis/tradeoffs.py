"""Smoothness, aggressiveness and responsiveness of AIMD, IIAD, SIMD and AIAD in closed form.

Spectrum (see `bentpipe.analysis.spectrum`), section 5, table 3 and appendix D. The controls are "aimd",
"iiad", "simd" and "aiad", all TCP-friendly; standard TCP is "aimd" with beta = 1/2. `w` is the window in
segments, `beta` the share of the window that a loss takes for AIMD and SIMD, segments for IIAD and AIAD.

`bentpipe.analysis.traces` measures the same in traces.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias, get_args

import numpy as np

from bentpipe.analysis._values import Array, Value, array, same

Control: TypeAlias = Literal["aimd", "iiad", "simd", "aiad"]
"""The controls of table 3."""


def smoothness(control: Control, beta: Value, w: Value) -> Value:
    """The coefficient of variation of the window within an epoch, under random losses.

    Table 3 and appendix D.1: sqrt(1/6) beta / (1 - beta/2) for AIMD, sqrt(1/6) beta / (w - beta/2) for IIAD
    and AIAD, sqrt(8/15) beta / (1 - 2 beta/3)^2 for SIMD; the paper rounds the roots to 0.41 and 0.73. For
    AIMD and SIMD it does not depend on `w`, for SIMD it needs beta w much smaller than w.

    Args:
        control: name of the control.
        beta: constant of the decrease, above 0 and below 1.
        w: mean window in segments, above 0; above beta for IIAD and AIAD.

    Raises:
        ValueError: an argument is outside its domain, or there is no such control.
    """
    loss, window = _arguments(control, beta, w)
    if control == "simd":
        return same(math.sqrt(8 / 15) * loss / (1 - 2 * loss / 3) ** 2 + 0 * window)
    share = loss + 0 * window if control == "aimd" else loss / window
    return same(math.sqrt(1 / 6) * share / (1 - share / 2))


def rounds_to_grow(control: Control, beta: Value, w: Value, m: Value = 2.0, *, exact: bool = False) -> Value:
    """The round trips in which the window grows from `w` to `m` times that: 1 / aggressiveness.

    Table 3 and appendix D.2: 2 (m-1) w / (3 beta) for AIMD, (m^2-1) w^2 / (3 beta) for IIAD,
    sqrt((m-1) / beta) 2 sqrt(2) w / 3 for SIMD, where the first root ends before the 2, as table 5 confirms,
    2 (m-1) w^2 / (3 beta) for AIAD.

    Args:
        control: name of the control.
        beta: constant of the decrease, above 0 and below 1.
        w: window at the start in segments, above 0; above beta for IIAD and AIAD.
        m: factor by which the available bandwidth grows, at least 1.
        exact: with alpha and c as in eq 4 and 5, not as in eq 6 and 7, which the table uses. Standard TCP,
            AIMD with beta = 1/2, then gains 1 segment per round trip and not 3/4.

    Raises:
        ValueError: an argument is outside its domain, or there is no such control.
    """
    loss, window = _arguments(control, beta, w)
    factor = array("m", m, at_least=1)
    if control == "simd":
        room = 1 - 2 * loss / 3 if exact else 1.0
        return same(room * np.sqrt((factor - 1) / loss) * math.sqrt(8) / 3 * window)
    share = loss if control == "aimd" else loss / window
    alpha = 3 * loss / (2 - share) if exact else 1.5 * loss
    if control == "aimd":
        return same((factor - 1) * window / alpha)
    if control == "iiad":
        return same((factor**2 - 1) * window**2 / (2 * alpha))
    return same((factor - 1) * window**2 / alpha)


def losses_to_shrink(control: Control, beta: Value, w: Value, m: Value = 2.0) -> Value:
    """The losses that bring the window from `w` down to an `m`-th of that: 1 / responsiveness.

    Table 3 and appendix D.3: log(1/m) / log(1 - beta) for AIMD and SIMD, (w - w/m) / beta for IIAD and AIAD.
    The result is not rounded to whole losses.

    Args:
        control: name of the control.
        beta: constant of the decrease, above 0 and below 1.
        w: window at the start in segments, above 0; above beta for IIAD and AIAD.
        m: factor by which the available bandwidth shrinks, at least 1.

    Raises:
        ValueError: an argument is outside its domain, or there is no such control.
    """
    loss, window = _arguments(control, beta, w)
    factor = array("m", m, at_least=1)
    if control in ("aimd", "simd"):
        return same(-np.log(factor) / np.log1p(-loss) + 0 * window)
    return same(window * (1 - 1 / factor) / loss)


def aggressiveness(control: Control, beta: Value, w: Value, m: Value = 2.0, *, exact: bool = False) -> Value:
    """The inverse of `rounds_to_grow`, per round trip; `m` must be above 1.

    Raises:
        ValueError: an argument is outside its domain, or there is no such control.
    """
    return same(1 / np.asarray(rounds_to_grow(control, beta, w, array("m", m, above=1), exact=exact)))


def responsiveness(control: Control, beta: Value, w: Value, m: Value = 2.0) -> Value:
    """The inverse of `losses_to_shrink`, per loss; `m` must be above 1.

    Raises:
        ValueError: an argument is outside its domain, or there is no such control.
    """
    return same(1 / np.asarray(losses_to_shrink(control, beta, w, array("m", m, above=1))))


def _arguments(control: str, beta: Value, w: Value) -> tuple[Array, Array]:
    if control not in get_args(Control):
        raise ValueError(f"control must be one of {', '.join(get_args(Control))}, not {control!r}")
    loss, window = array("beta", beta, above=0, below=1), array("w", w, above=0)
    if control in ("iiad", "aiad"):
        array("beta / w", loss / window, below=1)
    return loss, window

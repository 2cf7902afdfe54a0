"""Arguments and results that may be numbers or arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bentpipe.stats import jain as jain

Array: TypeAlias = NDArray[np.float64]
"""An array of float64 of any shape."""

Value: TypeAlias = float | Array
"""A number, or an array that broadcasts against the other arguments."""


def array(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    infinite: bool = False,
) -> Array:
    """`value` as an array, each element checked against the bounds that are given.

    Raises:
        ValueError: an element is not a number, is infinite unless `infinite`, or is out of bounds.
    """
    try:
        given = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number or an array of numbers, not {value!r}") from None
    bad = np.isnan(given)
    if not infinite:
        bad |= np.isinf(given)
    words = []
    for word, bound, outside in (
        ("above", above, np.less_equal),
        ("at least", at_least, np.less),
        ("below", below, np.greater_equal),
        ("at most", at_most, np.greater),
    ):
        if bound is not None:
            words.append(f"{word} {bound:g}")
            bad |= outside(given, bound)
    if bad.any():
        domain = " and ".join(words) if words else "a finite number"
        raise ValueError(f"{name} must be {domain}, not {float(given[bad].flat[0]):g}")
    return given


def same(result: Any) -> Value:
    """A float if `result` has no dimensions, the array otherwise."""
    found: Array = np.asarray(result, dtype=np.float64)
    return float(found) if found.ndim == 0 else found


def series(name: str, value: Any, **bounds: Any) -> Array:
    """`value` as a checked array of one dimension; see `array`.

    Raises:
        ValueError: as `array`, or it has not exactly one dimension.
    """
    given = array(name, value, **bounds)
    if given.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {given.ndim}")
    return given


def number(name: str, value: Any, **bounds: Any) -> float:
    """`value` as a checked number; see `array`.

    Raises:
        ValueError: as `array`, or it is not a single number.
    """
    given = array(name, value, **bounds)
    if given.ndim != 0:
        raise ValueError(f"{name} must be a single number, not an array of shape {given.shape}")
    return float(given)

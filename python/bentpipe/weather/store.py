"""Values of weather that were computed before, in files whose names are sums of all inputs of the values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bentpipe.caches import Cache, digest

KEPT = Cache("weather", most=500)
_FORM = 2
"""Counted up when a method changes, so that earlier values are not used."""


def kept(kind: str, inputs: dict[str, Any], make: Callable[[], Any]) -> Any:
    """The value of `make`, which depends on nothing but `inputs`: from its file, or made and written there.

    Args:
        kind: the beginning of the file's name.
        inputs: all that the value depends on, as JSON.
        make: computes the value, as JSON.
    """
    name = f"{kind}-{digest({'form': _FORM, 'inputs': inputs})[:32]}"
    try:
        value, _ = KEPT.read(name)
    except LookupError:
        value = make()
        KEPT.write(name, value)
    return value

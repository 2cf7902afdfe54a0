"""Tests that take long have a quick form; `make nightly` runs the long one."""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")
LONG = os.environ.get("BENTPIPE_TESTS") == "long"


def form(quick: T, long: T) -> T:
    """What belongs to the form that is run."""
    return long if LONG else quick

"""CPU time of the processes that a benchmark starts."""

from __future__ import annotations

import resource


def of_children() -> float:
    """User and system seconds of all processes that this one has started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

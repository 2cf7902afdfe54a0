"""Start of the steady part of a series."""

from __future__ import annotations

from collections.abc import Iterable

from bentpipe.stats.sample import read, size_of, spread_of

_BATCH = 5
_LEAST_BATCHES = 10
_KEPT_BATCHES = 3


def warm_up(series: Iterable[float]) -> int:
    """The number of rows to leave out at the start of a series: those of start-up, by MSER-5.

    MSER leaves out the number of rows that minimises the standard error of the mean of the rest (K. P. White,
    An Effective Truncation Heuristic for Bias Reduction in Simulation Output, Simulation 69, 1997). MSER-5
    does so with means of five rows, which hides single odd rows (K. P. White, M. J. Cobb, S. C. Spratt, A
    Comparison of Five Steady-State Truncation Heuristics for Simulation, Winter Simulation Conference 2000).
    The answer is a multiple of five. Rows must be equally far apart in time; incomplete batches at the end
    are not used.

    How to read it: the mean of `series[warm_up(series):]` is close to that of the steady state.

    When it is wrong: a window that rises and falls in few large sawteeth has no steady part for it; give it
    the goodput of each second, not cwnd. A path that changes for good in the middle of a run is cut there.
    Nothing should be left out of a transfer of a known size: its user waits for the start-up too.

    Raises:
        ValueError: there are fewer than 50 rows, one is not finite, or the steady part would begin in the
            second half, so that the run is too short to show it.
    """
    import numpy as np

    rows = read(series, "rows")
    n = len(rows) // _BATCH
    if n < _LEAST_BATCHES:
        raise ValueError(f"MSER-5 needs at least {_BATCH * _LEAST_BATCHES} rows, but there are {len(rows)}")
    if spread_of(rows, size_of(rows)) == 0:
        return 0
    batches = np.array(rows[: n * _BATCH]).reshape(n, _BATCH).mean(axis=1)
    # The last few batches always stay: two or three of them can be close together by chance.
    errors = [batches[left_out:].var() / (n - left_out) for left_out in range(n - _KEPT_BATCHES)]
    best = int(np.argmin(errors))
    if best > n / 2:
        raise ValueError(
            f"the series has not settled: its steady part would begin at row {best * _BATCH} of {len(rows)}; "
            "a longer run is needed"
        )
    return best * _BATCH

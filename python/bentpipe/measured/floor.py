"""The least of many round trips, and how much less the path's own may be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_CONFIDENCE = 0.95
_MOST = 10
"""Number of least values that give the spacing: more would include queueing."""


def floor(trips: NDArray[np.float64]) -> tuple[float, float]:
    """The least value, and the lower end of the 95 % interval of the least possible one.

    From the least k values x1 to xk the end is x1 - F (xk - x1) / (k - 1), with F the 95 % point of the F
    distribution of 2 and 2 (k - 1) degrees of freedom. For k = 2, F is 19, the rule of D. S. Robson,
    J. H. Whitlock, Estimation of a Truncation Point, Biometrika 51, 1964. It supposes that values close to
    the least possible one are about as frequent as somewhat larger ones: spacings are then exponential.

    Args:
        trips: round-trip times in seconds, at least one.
    """
    from scipy.special import fdtri

    count = min(len(trips), _MOST)
    least = np.sort(np.partition(trips, count - 1)[:count])
    first = float(least[0])
    if count < 2:
        return first, first
    spacing = float(least[-1] - first) / (count - 1)
    return first, max(first - float(fdtri(2, 2 * (count - 1), _CONFIDENCE)) * spacing, 0.0)

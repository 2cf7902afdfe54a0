"""The few of many flows that a page shows."""

from __future__ import annotations

from collections.abc import Mapping

#: Flows that a page shows at once.
SHOWN = 8
#: The part of a new rate in the mean that ranks flows.
_NEW = 0.1


class Largest:
    """Rates of flows from their delivered bytes, and the flows with the greatest recent rates."""

    def __init__(self, most: int = SHOWN) -> None:
        self._most = most
        self._t_s = 0.0
        self._bytes: dict[str, float] = {}
        self._means: dict[str, float] = {}

    def rates(self, t_s: float, delivered: Mapping[str, float]) -> dict[str, float]:
        """Rates of the largest since the last call, in bit/s; all are 0 at the first.

        Args:
            t_s: the time of now, in seconds.
            delivered: bytes of each flow since its beginning. A flow that is missing has gone.
        """
        past, self._t_s = t_s - self._t_s, t_s
        rates = {}
        for name, now in delivered.items():
            # Data that a flow delivered before it was first seen has no time.
            rate = 8 * max(now - self._bytes.get(name, now), 0) / past if past > 0 else 0.0
            rates[name] = rate
            mean = self._means.get(name)
            self._means[name] = rate if mean is None else mean + _NEW * (rate - mean)
        self._means = {name: self._means[name] for name in delivered}
        self._bytes = dict(delivered)
        largest = sorted(delivered, key=lambda name: (-self._means[name], -delivered[name]))[: self._most]
        return {name: rates[name] for name in delivered if name in set(largest)}

"""Fit of links to measured transfers, simulated on each link: the evidence, and the work that it takes.

The weight of a link shows early. So the beginning of the cheapest transfer is simulated first, then each
transfer whole, and a link that fails one of them is not simulated with the others (D. Prangle, Lazy ABC,
Statistics and Computing 26, 2016, stops simulations likewise; here those that are stopped count as bad).
Work is counted in packets, not in seconds: the same question does the same, however busy the machine is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from bentpipe import _core
from bentpipe.measured.transfers import RUN, Floats, IperfTest, Played, log_fit, log_fit_at_start, scenario
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.lab import Lab

_WHOLE_LINKS = 250
"""Transfers are simulated whole if the work suffices for this number of links ..."""
_LEAST_LINKS = 60
"""... and not at such length that fewer than these can be."""
_HOPELESS = 10.0
"""A link whose weight after the first simulation is exp(-10) of the best's is not simulated further."""
_START_S, _START_TRIPS = 10.0, 20.0
"""The beginning of a transfer, in seconds or round trips: slow start meets the buffer in it."""
_WORTH_IT = 2.0
"""It is simulated by itself if the whole transfer is at least this multiple of its work."""
_PASSING = 0.5
"""The share of links that come through to the next simulation, before it is known."""


class Fitting:
    """Transfers that are simulated on links.

    Args:
        tests: the transfers.
        beside: how many flows of others run beside them.
        rtt_s: about how long the round trip is.
        most: the work available for all links, in packets.

    Attributes:
        worked: the work that was done.
    """

    def __init__(self, tests: Sequence[IperfTest], beside: int, rtt_s: float, most: float) -> None:
        few, many = (most / links / len(tests) for links in (_WHOLE_LINKS, _LEAST_LINKS))
        lasts = [test.played_s(few, many, rtt_s, beside) for test in tests]
        costs = [test.cost(lasted_s, beside) for test, lasted_s in zip(tests, lasts, strict=True)]
        order = np.argsort(costs, kind="stable")
        self._parts = [(tests[i], lasts[i], log_fit) for i in order]
        work = [costs[i] for i in order]
        first, lasted_s, _ = self._parts[0]
        start_s = first.start_s(max(_START_S, _START_TRIPS * rtt_s))
        self._starts = start_s is not None and work[0] >= _WORTH_IT * first.cost(start_s, beside)
        if self._starts:
            assert start_s is not None
            self._parts.insert(0, (first, start_s, log_fit_at_start))
            work.insert(0, first.cost(start_s, beside))
        self.worked = 0.0
        self._links = 0
        self._planned = sum(cost * _PASSING**number for number, cost in enumerate(work))

    @property
    def each(self) -> float:
        """The work of a link: as it was so far, or as it is planned."""
        return self.worked / self._links if self._links else self._planned

    def __call__(self, links: Sequence[Played], progress: Callable[[int], None]) -> Floats:
        """The logarithm of each link's weight; calls `progress` with the number of links done."""
        found = np.zeros(len(links))
        alive = np.arange(len(links))
        for number, (test, lasted_s, fit) in enumerate(self._parts):
            more = partial(self._share_done, progress, number * len(links))
            new = self._simulated(test, [links[int(i)] for i in alive], lasted_s, fit, more)
            starting = self._starts and number == 0
            found[alive] = new if starting else (found[alive] if number > self._starts else 0.0) + new
            hopeless = alive[found[alive] < found[alive].max() - _HOPELESS]
            # The transfers that it is spared are taken to fit as badly.
            found[hopeless] *= (len(self._parts) - self._starts) / max(number + 1 - self._starts, 1)
            alive = np.setdiff1d(alive, hopeless)
        self._links += len(links)
        progress(len(links))
        return found

    def _share_done(self, progress: Callable[[int], None], before: int, done: int) -> None:
        """Converts progress within the transfers of a link into a part of that link."""
        progress((before + done) // len(self._parts))

    def _simulated(
        self,
        test: IperfTest,
        links: Sequence[Played],
        lasted_s: float,
        fit: Callable[[IperfTest, _core.RawResult, float], float],
        progress: Callable[[int], None],
    ) -> Floats:
        """The fit of one transfer on each link."""
        cases = [Case({}, scenario(test, link, lasted_s).to_dict()) for link in links]
        found = np.zeros(len(cases))
        done = 0
        with Lab(near=True) as lab:
            for over in lab.each(cases):
                for ran in over:
                    if ran.raw is None:
                        raise ran.failure or RuntimeError(ran.error)
                    found[ran.number] = fit(test, ran.raw, lasted_s)
                    self.worked += RUN + json.loads(ran.raw.json)["packets"]
                done += len(over)
                progress(done)
        return found

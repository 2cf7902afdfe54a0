"""Estimates from the pings that a Starlink dish sends to its point of presence each second."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bentpipe.io.foreign import refuse
from bentpipe.measured.counters import Found
from bentpipe.measured.hypotheses import Count
from bentpipe.measured.quantities import Estimate, floor, share
from bentpipe.timeline.traces import dish


def estimates(path: Path) -> Found:
    """Round trip without queues, and the losses outside outages.

    Raises:
        ScenarioError: it is no history of a dish, or has no pings.
        OSError: it cannot be read.
    """
    seconds = dish.seconds(path)
    trips = np.array([one.rtt_s for one in seconds if one.rtt_s is not None])
    if not trips.size:
        refuse(path, None, "it is the history of a Starlink dish without popPingLatencyMs")
    least, low = floor(trips)
    how = f"least of {trips.size} seconds of the dish's pings; to their 5th percentile"
    found = [Estimate("rtt_s", least, low, float(np.percentile(trips, 5)), how, path)]
    # How many pings a second has is unknown: each counts as one, which makes the range wide enough.
    outside = [one.drop for one in seconds if one.drop < 1]
    lost = sum(outside)
    value = lost / len(outside)
    _, low, high = share(min(round(lost), len(outside)), len(outside))
    how = f"{100 * value:.2g} % of the dish's pings in {len(outside)} seconds, either way, without outages"
    found.append(Estimate("loss", value, min(low, value), max(high, value), how, path))
    return found, [Count(round(lost), len(outside), float(len(outside)), path)]

"""Estimates from probes: ping and irtt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bentpipe.foreign import refuse
from bentpipe.measured.floor import floor
from bentpipe.measured.hypotheses import Watched
from bentpipe.measured.losses import share
from bentpipe.measured.quantities import Estimate
from bentpipe.timeline.traces.probes import OUTAGE_S, Probe, dark

_ALMOST = 5.0
"""The least round trips, in percent: those below are of the path with almost no queue."""


def estimates(path: Path, sent: Sequence[Probe], digits: int | None = None) -> list[Estimate]:
    """Round-trip time without queues, and loss outside outages.

    Args:
        path: the file, for messages.
        sent: its probes.
        digits: number of significant digits to which the program rounds times above a millisecond; None if
            exact.

    Raises:
        ScenarioError: no probe came back.
    """
    trips = np.array([probe.rtt_s for probe in sent if probe.rtt_s is not None])
    if not trips.size:
        refuse(path, None, f"none of {len(sent)} probes came back")
    least, low = floor(trips)
    almost = float(np.percentile(trips, _ALMOST))
    rounded = _rounding(least, digits)
    how = f"least of {trips.size} round trips; to their 5th percentile"
    found = [Estimate("rtt_s", least, max(low - rounded, 0.0), almost + rounded, how, path)]
    unseen = dark(sent, OUTAGE_S)
    outside = [probe for probe, is_dark in zip(sent, unseen, strict=True) if not is_dark]
    lost = sum(probe.rtt_s is None for probe in outside)
    value, low, high = share(lost, len(outside))
    outages = f", without {sum(unseen)} in outages" if any(unseen) else ""
    how = f"{lost} of {len(outside)} probes, either way, Wilson's interval{outages}"
    found.append(Estimate("loss", value, low, high, how, path, weight=2))
    return found


def watched(path: Path, sent: Sequence[Probe]) -> Watched:
    """The probes that were lost, outages included."""
    lost = np.array([probe.rtt_s is None for probe in sent])
    trips = np.array([math.nan if probe.rtt_s is None else probe.rtt_s for probe in sent])
    return Watched(lost, np.array([probe.sent_s for probe in sent]), path, trips)


def _rounding(value: float, digits: int | None) -> float:
    """Half of the last digit that is shown of a time, seconds."""
    if digits is None or value < 1e-3:
        return 0.0
    places = math.floor(math.log10(value * 1e3)) - digits + 1
    return 0.5e-3 * 10.0 ** min(places, 0)

"""What probes say: ping and irtt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bentpipe.measured.losses import share
from bentpipe.measured.quantities import Estimate
from bentpipe.timeline.traces.probes import OUTAGE_S, Probe, dark
from bentpipe.timeline.traces.samples import refuse

_ALMOST = 5.0
"""The least round trips, in percent: what lies below is the path with next to no queue."""


def estimates(path: Path, sent: Sequence[Probe]) -> list[Estimate]:
    """Round-trip time without queues, and loss outside outages.

    Raises:
        ScenarioError: no probe came back.
    """
    trips = np.array([probe.rtt_s for probe in sent if probe.rtt_s is not None])
    if not trips.size:
        refuse(path, None, f"none of {len(sent)} probes came back")
    least = float(trips.min())
    almost = float(np.percentile(trips, _ALMOST))
    found = [
        Estimate(
            "rtt_s",
            least,
            least,
            almost,
            f"least of {trips.size} round trips, and their 5th percentile",
            path,
        )
    ]
    unseen = dark(sent, OUTAGE_S)
    outside = [probe for probe, is_dark in zip(sent, unseen, strict=True) if not is_dark]
    lost = sum(probe.rtt_s is None for probe in outside)
    value, low, high = share(lost, len(outside))
    outages = f", without {sum(unseen)} in outages" if any(unseen) else ""
    how = f"{lost} of {len(outside)} probes, either way, Wilson's interval{outages}"
    found.append(Estimate("loss", value, low, high, how, path, weight=2))
    return found

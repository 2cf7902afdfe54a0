"""Probes that come back or not, as ping, irtt and RIPE Atlas send them: delays, outages and losses.

The JSON of irtt (`irtt client -o FILE`) may be compressed by gzip. Source: the manual page irtt-client(1),
section "JSON format": round_trips with seqno, lost, timestamps, delay. Results of RIPE Atlas are a list, or
one on each line. Source: "Measurement Result Format" in its documentation, "Ping / v6 Ping": timestamp is
when the probes of a result began to be sent, a second apart; each of result has rtt (ms), or x or error.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

import polars as pl

from bentpipe.io.foreign import decoded, documents, refuse, unpacked, value
from bentpipe.io.kinds import lacking
from bentpipe.timeline.traces.samples import GAP_STEPS, Samples

OUTAGE_S = 1.0
"""Consecutive probes that are lost for longer than this mean that the path was dark."""
_ATLAS_S = 1.0
"""How far apart RIPE Atlas sends the probes of a result."""


@dataclass(frozen=True)
class Probe:
    """One probe: its line in the file, its time of sending, its round-trip time (None if it was lost)."""

    line: int | None
    sent_s: float
    rtt_s: float | None


def frame(path: Path, probes: Sequence[Probe], outage_s: float | None, gap_s: float | None) -> pl.DataFrame:
    """Half of each round trip as the one-way delay at the instant when its probe was sent.

    Of lost ones, a run in which nothing came back for longer than `outage_s` is an outage: from the first
    that was lost until the next that was not, `up` is false. The others are a rate of loss, the same over
    the whole time line: their share of the probes outside outages. It counts losses of either way.

    Raises:
        ScenarioError: no probe came back, times go back, or there is a gap.
    """
    longest = OUTAGE_S if outage_s is None else outage_s
    if all(probe.rtt_s is None for probe in probes):
        refuse(path, None, f"none of {len(probes)} probes came back" if probes else "it holds no probe")
    unseen = dark(probes, longest)
    outside = [probe for probe, is_dark in zip(probes, unseen, strict=True) if not is_dark]
    lost = sum(probe.rtt_s is None for probe in outside)
    samples = Samples(path)
    for probe, is_dark in zip(probes, unseen, strict=True):
        values: dict[str, float | bool | None] = {
            "delay_s": None if probe.rtt_s is None else probe.rtt_s / 2,
        }
        if lost:
            values["loss_rate"] = lost / len(outside)
        if any(unseen):
            values["up"] = not is_dark
        samples.add(probe.line, probe.sent_s, **values)
    found = samples.frame(gap_s)
    # A lost probe has no delay: a straight line bridges it.
    kept = pl.Series([probe.rtt_s is not None for probe in probes])
    if any(unseen):
        kept |= found["up"] != found["up"].shift(1, fill_value=True)
    kept[0] = True
    return found.filter(kept)


def dark(probes: Sequence[Probe], longest: float) -> list[bool]:
    """For each probe, whether it was lost in an outage: a run of lost ones of more than `longest` seconds."""
    found: list[bool] = []
    for is_lost, run in groupby(probes, key=lambda probe: probe.rtt_s is None):
        lost = list(run)
        # The length of a run that ends with the trace is unknown; its visible part counts.
        after = probes[min(len(found) + len(lost), len(probes) - 1)]
        found += [is_lost and after.sent_s - lost[0].sent_s > longest] * len(lost)
    return found


def irtt(path: Path, *, outage_s: float | None = None, gap_s: float | None = None) -> pl.DataFrame:
    """Half of each round trip as delay; lost probes as outages, or as loss (see `frame`).

    Times are those at which the client sent, by its monotonic clock.

    Raises:
        ScenarioError: it is not such JSON, or damaged, no probe came back, or there is a gap.
        OSError: it cannot be read.
    """
    return frame(path, irtt_probes(path), outage_s, gap_s)


def irtt_probes(path: Path) -> list[Probe]:
    """Every probe of irtt, in the order of the file.

    Raises:
        ScenarioError: it is not such JSON, or damaged.
        OSError: it cannot be read.
    """
    content = unpacked(path)
    if not content.strip():
        refuse(path, None, "the file is empty")
    report = value(path, content)
    trips = report.get("round_trips") if isinstance(report, dict) else None
    if not isinstance(trips, list) or not trips:
        refuse(path, None, lacking(path, "it has no round_trips", "irtt", "the JSON of irtt client"))
    found = []
    for place, trip in enumerate(trips):
        try:
            sent = float(trip["timestamps"]["client"]["send"]["monotonic"]) / 1e9
            lost = trip["lost"] not in ("false", False)
            rtt = None if lost else float(trip["delay"]["rtt"]) / 1e9
        except (KeyError, OverflowError, TypeError, ValueError):
            refuse(path, None, f"round_trips[{place}] has no time of sending, or no round-trip time")
        if rtt is not None and rtt < 0:
            refuse(path, None, f"round_trips[{place}]: the round-trip time is negative")
        found.append(Probe(None, sent, rtt))
    return found


def atlas(path: Path, *, outage_s: float | None = None, gap_s: float | None = None) -> pl.DataFrame:
    """Half of each round trip as delay; lost probes as outages, or as loss (see `frame`).

    Raises:
        ScenarioError: it is not such JSON, or damaged, or of several probes of Atlas, or there is a gap.
        OSError: it cannot be read.
    """
    probes, apart_s = atlas_probes(path)
    dark_s = atlas_outage(apart_s) if outage_s is None else outage_s
    return frame(path, probes, dark_s, GAP_STEPS * apart_s if gap_s is None and apart_s else gap_s)


def atlas_outage(apart_s: float) -> float:
    """The time beyond which lost probes mean an outage: a whole result, for nothing is sent between two."""
    return max(OUTAGE_S, apart_s + 2 * _ATLAS_S)


def atlas_probes(path: Path) -> tuple[list[Probe], float]:
    """Every probe in the pings of RIPE Atlas, in the order of sending, and how far apart results begin.

    Raises:
        ScenarioError: it is not such JSON, or damaged, or the results are of several places.
        OSError: it cannot be read.
    """
    found = documents(path, decoded(path, unpacked(path)).encode())
    results = found[0] if len(found) == 1 and isinstance(found[0], list) else found
    sent: list[Probe] = []
    places: list[set[str]] = [set(), set(), set()]
    for place, one in enumerate(results):
        try:
            begin, probes = float(one["timestamp"]), one["result"]
            for known, name in zip(places, ("prb_id", "from", "dst_addr"), strict=True):
                known.add(str(one.get(name)))
            trips = [None if probe.get("rtt") is None else float(probe["rtt"]) / 1000 for probe in probes]
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
            refuse(path, None, f"result {place + 1} is no ping of RIPE Atlas: it needs timestamp and result")
        if any(trip is not None and trip < 0 for trip in trips):
            refuse(path, None, f"result {place + 1}: a round-trip time is negative")
        sent += [Probe(None, begin + number * _ATLAS_S, trip) for number, trip in enumerate(trips)]
    probes, addresses, ends = (len(known) for known in places)
    if min(probes, addresses) > 1 or ends > 1:
        refuse(
            path, None, f"it has the results of {probes} probes towards {ends} addresses, which are several "
            "paths; keep those with one prb_id and one dst_addr",
        )  # fmt: skip
    begins = sorted(float(one["timestamp"]) for one in results)
    steps = [later - sooner for sooner, later in pairwise(begins)]
    return sorted(sent, key=lambda probe: probe.sent_s), statistics.median(steps) if steps else 0.0

"""Estimates from a qlog of a QUIC connection: JSON text sequences, JSON lines, or one JSON with all traces.

Source: draft-ietf-quic-qlog-main-schema (the file schemas, RFC 7464 for sequences, time in milliseconds, the
formats of time) and draft-ietf-quic-qlog-quic-events (packet_sent, packet_received, packet_lost,
recovery_metrics_updated, called metrics_updated until 2024); draft-00 for events that are lists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bentpipe.io.foreign import documents, refuse, unpacked
from bentpipe.measured.counters import FILLED, Found, joined, rate, round_trip, sent_again

_MS = 1e-3
_HEADERS = 28
"""Bytes of IPv4 and UDP before each packet of QUIC."""
_LEAST_S = 1.0
_DELTAS = ("delta", "relative_to_previous_event")


def estimates(path: Path) -> Found:
    """Round trip without queues; an upper bound of the losses; a lower bound of the rate, by the larger way.

    Raises:
        ScenarioError: it is damaged, or has neither round trips nor packets.
        OSError: it cannot be read.
    """
    times: dict[str, list[float]] = {"packet_sent": [], "packet_received": []}
    sizes: dict[str, list[float]] = {"packet_sent": [], "packet_received": []}
    trips: list[float] = []
    counts: Counter[str] = Counter()
    try:
        for now, name, data in _events(documents(path, unpacked(path))):
            counts[name] += 1
            if name in sizes:
                times[name].append(now)
                sizes[name].append(_size(data))
            trips += [float(data[key]) * _MS for key in ("min_rtt", "latest_rtt") if data.get(key)]
    except (AttributeError, KeyError, IndexError, OverflowError, TypeError, ValueError):
        refuse(path, None, "an event is not as qlog has it: it needs time, name and data")
    found: list[Found] = []
    if trips:
        how = f"least of {len(trips)} round trips of the connection"
        found.append(([round_trip(path, min(trips), how)], []))
    way = max(sizes, key=lambda name: sum(sizes[name]))
    span = (max(times[way]) - min(times[way])) if times[way] else 0.0
    if way == "packet_sent" and counts[way]:
        found.append(sent_again(path, counts["packet_lost"], counts[way], span))
    if span > 0 and sum(sizes[way]) > 0:
        filled = bool(trips) and way == "packet_received" and max(trips) > (1 + FILLED) * min(trips)
        kept = 1 - counts["packet_lost"] / counts[way] if way == "packet_sent" else 1.0
        bins = max(int(span / _LEAST_S), 1)
        total, _ = np.histogram(times[way], bins=bins, weights=np.asarray(sizes[way]) + _HEADERS)
        of = (
            "of what this end received"
            if way == "packet_received"
            else "of what this end sent and did not lose"
        )
        rates = [8 * kept * size / (span / bins) for size in total]
        found.append(([rate(path, rates, of, filled=filled)], []))
    if not found:
        refuse(path, None, "it is a qlog without round trips and without packets")
    return joined(*found)


def _size(data: Mapping[str, Any]) -> float:
    """The bytes of a packet; 0 if the event does not say."""
    raw, head = data.get("raw") or {}, data.get("header") or {}
    return float(raw.get("length") or raw.get("payload_length") or head.get("packet_size") or 0)


def _events(found: Sequence[Any]) -> Iterator[tuple[float, str, Mapping[str, Any]]]:
    """The time in seconds, the name without its category, and the data of each event."""
    head = found[0]
    traces = head.get("traces")
    if traces is None:
        yield from _of_trace(head.get("trace") or {}, [one for one in found[1:] if "name" in one])
        return
    for trace in traces:
        yield from _of_trace(trace, trace.get("events") or ())


def _of_trace(
    trace: Mapping[str, Any], events: Sequence[Any]
) -> Iterator[tuple[float, str, Mapping[str, Any]]]:
    common, fields = (
        trace.get("common_fields") or {},
        [str(one).lower() for one in trace.get("event_fields") or ()],
    )
    unit = _MS * (1e-3 if (trace.get("configuration") or {}).get("time_units") == "us" else 1)
    passed = 0.0
    for one in events:
        if fields:
            row = dict(zip(fields, one, strict=False))
            one = {
                "time": row.get("relative_time", row.get("time", row.get("delta_time"))),
                "name": row.get("event_type", row.get("event")), "data": row["data"],
            }  # fmt: skip
        now = float(one["time"]) * unit
        if common.get("time_format") in _DELTAS or "delta_time" in fields:
            passed += now
            now = passed
        name = str(one["name"]).lower().rpartition(":")[2]
        yield now, name, one.get("data") or {}

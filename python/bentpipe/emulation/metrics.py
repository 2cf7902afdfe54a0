"""The counters of an emulated link, as metrics of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bentpipe.io.prometheus import Metric

_OF_WAY = {
    "delivered_packets": ("delivered_packets_total", "Packets that came out of the link."),
    "delivered_bytes": ("delivered_bytes_total", "Bytes that came out of the link."),
    "dropped_queue": ("dropped_packets_total", "Packets that the queue has dropped."),
    "dropped_error": ("lost_packets_total", "Packets lost to errors of the link."),
    "marked": ("marked_packets_total", 'Packets marked "congestion experienced".'),
    "queue_packets": ("queue_packets", "Packets that wait now."),
    "queue_bytes": ("queue_bytes", "Bytes that wait now."),
}
"""Values of a way: their metric and what it is."""


def metrics(found: Mapping[str, Any], link: str) -> Iterator[Metric]:
    """Those of a snapshot or a report of `Emulation` of a link of this name."""
    for key, (name, about) in _OF_WAY.items():
        metric = Metric(f"emulation_{name}", about)
        for way in ("forward", "reverse"):
            metric.add(found[way].get(key), link=link, direction=way)
        yield metric
    late = Metric("emulation_lateness_seconds", "How late packets came out of the link.")
    for way in ("forward", "reverse"):
        for key, percentile in (("p50", "50"), ("p99", "99"), ("max", "100")):
            late.add(found[way].get(f"lateness_{key}_s"), link=link, direction=way, percentile=percentile)
    yield late
    relay = found.get("relay") or {}
    for key, about in (("connections", "TCP connections split."), ("bytes", "Bytes that it has carried.")):
        metric = Metric(f"emulation_relay_{key}_total", f"The relay: {about}")
        metric.add(relay.get(key), link=link)
        yield metric
    time = Metric("emulation_time_seconds", "Time that the link has run.")
    time.add(found["t_s"], link=link)
    kept = Metric("emulation_kept_time", "Whether packets were in time; there when the emulation is over.")
    kept.add(found.get("kept_time"), link=link)
    status = Metric("emulation_exit_status", "Exit status of the program; there when the emulation is over.")
    status.add(found.get("exit_status"), link=link)
    yield from (time, kept, status)

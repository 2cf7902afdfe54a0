"""What is attached to the kernel, as metrics of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bentpipe.io.prometheus import Metric

INFINITE = 2**31 - 1
"""A slow-start threshold that there is none (Linux, TCP_INFINITE_SSTHRESH)."""
_OF_FLOW = {
    "cwnd_segments": ("cwnd_bytes", "Congestion window."),
    "ssthresh_segments": ("ssthresh_bytes", "Slow-start threshold; absent before the first congestion."),
    "in_flight_segments": ("in_flight_bytes", "Data in flight."),
    "pacing_bps": ("pacing_bytes_per_second", "Rate at which segments are paced."),
    "srtt_s": ("srtt_seconds", "Smoothed round-trip time."),
    "rtt_min_s": ("rtt_min_seconds", "Smallest round-trip time."),
    "delivered_bytes": ("delivered_bytes_total", "Data that was acknowledged."),
    "orders": ("orders_total", "Decisions of the agent that reached the kernel."),
    "order_age_s": ("order_age_seconds", "Time since the last of them."),
    "fallbacks": ("fallbacks_total", "Times that the fallback took over because no decision came."),
}
"""Values of a flow: their metric and what it is."""


def metrics(attached: Sequence[Mapping[str, Any]]) -> Iterator[Metric]:
    """Those of the controllers, as `records.status` gives them, and of their flows."""
    up = Metric("kernel_controller_up", "Whether it steers connections: 0 if its agent has ended.")
    flows = Metric("kernel_flows", "Connections that use the controller.")
    reports = Metric("kernel_reports_total", "Reports of acknowledgements to the agent.")
    dropped = Metric("kernel_dropped_reports_total", "Reports that the agent has missed.")
    latency = Metric("kernel_decision_latency_seconds", "Time from an ACK to the decision in force.")
    for one in attached:
        of = {"controller": str(one["name"]), "cc": str(one["cc"])}
        up.add(one["agent"] == "running", **of)
        flows.add(None if one.get("flows") is None else len(one["flows"]), **of)
        reports.add(one.get("reports"), **of)
        dropped.add(one.get("dropped_reports"), **of)
        times = (one.get("latency") or {}).get("ack_to_applied_s") or {}
        for name, percentile in (("p50", "50"), ("p90", "90"), ("p99", "99")):
            latency.add(times.get(name), **of, percentile=percentile)
    yield from (up, flows, reports, dropped, latency)
    for key, (name, about) in _OF_FLOW.items():
        metric = Metric(f"kernel_flow_{name}", about)
        for one in attached:
            for flow in one.get("flows") or []:
                ends = {"local": str(flow.get("local", "")), "remote": str(flow.get("remote", ""))}
                metric.add(_value(key, flow), controller=str(one["name"]), **ends)
        yield metric


def _value(key: str, flow: Mapping[str, Any]) -> float | int | None:
    """A value in base units; None if there is none."""
    value: float | int | None = flow.get(key)
    if value is None:
        return None
    if key.endswith("_segments"):
        return None if value >= INFINITE or not flow.get("mss") else value * flow["mss"]
    return value / 8 if key == "pacing_bps" else value

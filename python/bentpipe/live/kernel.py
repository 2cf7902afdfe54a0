"""Live page of the kernel's flows that one of our algorithms controls."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from bentpipe.live.board import Family, LiveChart, LivePage, Reading
from bentpipe.live.flows import Largest


def page(title: str, lead: str = "") -> LivePage:
    """The page; `title` names the algorithm."""
    return LivePage(
        title,
        [
            LiveChart("Rate.", "rate, Mbit/s", Family("bps/", 1e-6), "Data that the receiver acknowledged."),
            LiveChart(
                "Congestion window.", "congestion window, segments", Family("cwnd/"), "As the kernel has it."
            ),
            LiveChart("Smoothed RTT.", "smoothed RTT, ms", Family("rtt/", 1e3)),
            LiveChart("In flight.", "in flight, segments", Family("flight/"), "Sent and not acknowledged."),
            LiveChart(
                "Age of the last order.",
                "age, ms",
                Family("age/", 1e3),
                "Since the agent last told the kernel a window. Not there for programs in the kernel.",
            ),
        ],
        readings=[
            Reading("flows", "flows"),
            Reading("rate", "rate of all", "Mbit/s", 1e-6),
            Reading("fallbacks", "fallbacks"),
            Reading("dropped", "reports dropped"),
            Reading("applied", "99 % of orders applied in", "ms", 1e3),
        ],
        lead=lead,
        rank="bps/",
    )


class KernelSource:
    """The current numbers of the kernel's flows."""

    def __init__(
        self, status: Callable[[], Mapping[str, Any]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`status` gives the output of `bentpipe kernel status --json` for one algorithm."""
        self._status, self._clock = status, clock
        self._largest = Largest()
        self._before: tuple[float, dict[str, float]] | None = None

    def __call__(self) -> dict[str, float | None]:
        """Names and numbers, as `page` uses them."""
        t_s, status = self._clock(), self._status()
        flows = {f"{flow['local']} → {flow['remote']}": flow for flow in status["flows"]}
        delivered = {name: float(flow["delivered_bytes"]) for name, flow in flows.items()}
        numbers: dict[str, float | None] = {
            "flows": len(flows),
            "fallbacks": sum(flow.get("fallbacks") or 0 for flow in flows.values()),
            "dropped": status.get("dropped_reports"),
            "applied": ((status.get("latency") or {}).get("ack_to_applied_s") or {}).get("p99"),
        }
        if self._before is not None and t_s > self._before[0]:
            past, before = t_s - self._before[0], self._before[1]
            more = sum(max(now - before.get(name, now), 0) for name, now in delivered.items())
            numbers["rate"] = 8 * more / past
        self._before = t_s, delivered
        for name, bps in self._largest.rates(t_s, delivered).items():
            flow = flows[name]
            numbers[f"bps/{name}"] = bps
            numbers[f"cwnd/{name}"] = flow["cwnd_segments"]
            numbers[f"rtt/{name}"] = flow["srtt_s"]
            numbers[f"flight/{name}"] = flow["in_flight_segments"]
            numbers[f"age/{name}"] = flow.get("order_age_s")
        return numbers

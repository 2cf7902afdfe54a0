"""Veno as Linux has it, which is the module in ns-2.35: the RTT is that of the latest ACK.

The controller `veno` takes the smallest RTT of the last round trip instead. Where a queue comes and goes
within a round trip, as with ACKs and data in one queue, that smallest RTT hides it. Written down as a
controller, the module's rule shows that it explains the difference (docs/validation.md).
"""

from __future__ import annotations

from bentpipe.controller import AckReport, Controller, FlowState

BETA, KEEP, SAMPLES = 3.0, 0.8, 3


class LatestVeno(Controller):
    """Grows once per ACK, as profile `paper` does."""

    def __init__(self, mss: int, initial_window: float) -> None:
        super().__init__(mss, initial_window)
        self.base: float | None = None
        self.latest = 0.0
        self.samples = 0

    def queued(self) -> float | None:
        """Segments on the network; None before enough samples."""
        if self.base is None or self.samples < SAMPLES:
            return None
        return self.cwnd * (1.0 - self.base / self.latest)

    def on_ack(self, flow: FlowState, ack: AckReport) -> None:
        rtt = ack["rtt_min_s"]
        if rtt is not None:
            self.base = rtt if self.base is None else min(self.base, rtt)
            self.latest = rtt
            self.samples += 1
        if flow["phase"] != "open" or ack["acked"] == 0 or not flow["cwnd_limited"]:
            return
        queued = self.queued()
        if self.cwnd < self.ssthresh:
            self.cwnd += 1.0
        else:
            self.cwnd += (0.5 if queued is not None and queued >= BETA else 1.0) / self.cwnd

    def on_congestion(self, flow: FlowState, why: str) -> None:
        queued = self.queued()
        self.ssthresh = max(2.0, self.cwnd * (KEEP if queued is not None and queued < BETA else 0.5))
        self.cwnd = 1.0 if why == "timeout" else self.ssthresh

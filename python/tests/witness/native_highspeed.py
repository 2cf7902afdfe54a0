"""HighSpeed as ns-2.35 evaluates the formulas of RFC 3649 itself (`windowOption_ 8`).

It interpolates p(w) between (38, 1.5 / 38^2) and (83000, 10^-7) on logarithmic scales, where the controller
`highspeed` takes the 0.078 / w^1.2 that the RFC prints for the same line. So its growth is 3 % faster, which
a full buffer shows in the number of drops: as many as the window has grown in the round trip before.
"""

from __future__ import annotations

import math

from bentpipe.controller import AckReport, Controller, FlowState

LOW, HIGH = 38.0, 83000.0
"""Windows between which the line is drawn."""
LOW_P, HIGH_P = 1.5 / LOW**2, 1e-7
HIGH_DECREASE = 0.1


class NativeHighSpeed(Controller):
    """Reno up to 38 segments."""

    def on_ack(self, flow: FlowState, ack: AckReport) -> None:
        if flow["phase"] == "recovery" or ack["acked"] <= ack["uncounted"] or not flow["cwnd_limited"]:
            return
        segments = (ack["acked"] - ack["uncounted"]) / self.mss
        if self.cwnd < self.ssthresh:
            self.cwnd += segments
        else:
            self.cwnd += segments * self.increase() / self.cwnd

    def share(self) -> float:
        """Of the way from the low to the high window, on a logarithmic scale."""
        return math.log(self.cwnd / LOW) / math.log(HIGH / LOW)

    def decrease(self) -> float:
        """b(w)."""
        return 0.5 if self.cwnd <= LOW else 0.5 + (HIGH_DECREASE - 0.5) * self.share()

    def increase(self) -> float:
        """a(w) in segments per round trip."""
        if self.cwnd <= LOW:
            return 1.0
        p = LOW_P * (HIGH_P / LOW_P) ** self.share()
        b = self.decrease()
        return self.cwnd**2 * p * 2 * b / (2 - b)

    def on_congestion(self, flow: FlowState, why: str) -> None:
        self.ssthresh = max(2.0, int(self.cwnd * (1 - self.decrease())))
        self.cwnd = 1.0 if why == "timeout" else self.ssthresh

"""Vegas as `Agent/TCP/Vegas` of ns-2.35 has it: growth goes on in the round trip after a recovery.

The controller `vegas` measures no round trip that touches a recovery and grows only after a measured one,
so it rests for two after each loss. ns-2 decides at the very ACK that ends the recovery, by the round
trips measured before the loss. Written down as a controller, its rule shows that it explains the
difference.
"""

from __future__ import annotations

import math

from bentpipe.controller import AckReport, Controller, FlowState

ALPHA, BETA, GAMMA = 1.0, 3.0, 1.0


class NativeVegas(Controller):
    """Decides once a round trip; slow start doubles every other one; a loss costs a quarter of the window."""

    def __init__(self, mss: int, initial_window: float) -> None:
        super().__init__(mss, initial_window)
        self.base = math.inf
        self.total, self.samples = 0.0, 0
        self.marked = 0
        self.began = 0.0
        self.step = 0.0
        self.doubles = True

    def on_ack(self, flow: FlowState, ack: AckReport) -> None:
        if ack["rtt_s"] is not None:
            self.total += ack["rtt_s"]
            self.samples += 1
        if ack["acked"] <= ack["uncounted"]:
            return
        if flow["delivered"] > self.marked:
            self.decide(flow)
        if self.step == 1.0 and self.cwnd >= self.ssthresh:
            self.step = 0.0
        outstanding = flow["in_flight"] / self.mss
        if self.step > 0.0 and self.cwnd - outstanding <= 2.0:
            self.cwnd += self.step

    def decide(self, flow: FlowState) -> None:
        sent = flow["delivered"] + flow["in_flight"]
        rtt = self.total / self.samples if self.samples else flow["now_s"] - self.began
        in_round = (sent - self.marked) / self.mss
        if rtt > 0.0:
            if rtt < self.base or in_round <= 1:
                self.base = rtt
            queued = math.floor(flow["in_flight"] / self.mss - in_round * self.base / rtt + 0.5)
            if self.cwnd < self.ssthresh:
                self.doubles = not self.doubles
                self.step = 1.0 if self.doubles else 0.0
                if self.doubles and queued > GAMMA:
                    self.ssthresh, self.step = 2.0, 0.0
                    self.cwnd = max(2.0, self.cwnd * 7 / 8)
            elif queued > BETA:
                self.cwnd, self.step = max(2.0, self.cwnd - 1), 0.0
            else:
                self.step = 1.0 / self.cwnd if queued < ALPHA else 0.0
        self.total, self.samples = 0.0, 0
        self.marked, self.began = sent, flow["now_s"]

    def on_congestion(self, flow: FlowState, why: str) -> None:
        window = int(self.cwnd)
        if why == "timeout":
            self.ssthresh, self.cwnd = max(2.0, window / 2), 2.0
        else:
            self.ssthresh, self.cwnd = 2.0, max(2.0, window - window // 4)

"""Vegas as Linux 2.6.22 had it, which is what the module in ns-2.35 is made from.

It differs from later kernels, and from the controller `vegas` with `rules = "linux"`, in one thing that
matters: a step starts from the window at the end of the previous round, before that round's own step. So the
second of two steps in the same direction is lost, and the window grows in every other round trip. Later
kernels (commit 8d3a564da34e, 2008) step from the present window. Written down as a controller, the old rule
shows that it explains the difference between ns-2's module and the controller `vegas`.
"""

from __future__ import annotations

import math

from bentpipe.controller import AckReport, Controller, FlowState

ALPHA, BETA, GAMMA = 2.0, 4.0, 1.0
SAMPLES = 3


class OldVegas(Controller):
    """Book-keeping by round trips of its own, as the kernel module does it; no growth outside them."""

    def __init__(self, mss: int, initial_window: float) -> None:
        super().__init__(mss, initial_window)
        self.base = math.inf
        self.window_before = initial_window
        self.acked_before = 0
        self.round_started = 0
        self.round_ends = 0
        self.smallest = math.inf
        self.samples = 0

    def on_ack(self, flow: FlowState, ack: AckReport) -> None:
        if ack["rtt_min_s"] is not None:
            self.base = min(self.base, ack["rtt_min_s"])
            self.smallest = min(self.smallest, ack["rtt_min_s"])
            self.samples += 1
        if flow["phase"] == "recovery" or ack["acked"] == 0:
            return
        limited = flow["cwnd_limited"] and ack["acked"] > ack["uncounted"]
        if flow["phase"] == "loss":
            if limited:
                self.reno(flow, ack)
        elif flow["delivered"] > self.round_ends:
            self.end_of_round(flow, ack)
        elif self.cwnd <= self.ssthresh and limited:
            self.cwnd += ack["acked"] / self.mss

    def reno(self, flow: FlowState, ack: AckReport) -> None:
        segments = ack["acked"] / self.mss
        self.cwnd += segments if self.cwnd <= self.ssthresh else segments / self.cwnd

    def end_of_round(self, flow: FlowState, ack: AckReport) -> None:
        sent = (self.round_ends - self.round_started) / self.mss
        stale, self.window_before = self.window_before, self.cwnd
        self.round_started, self.round_ends = self.round_ends, flow["delivered"] + flow["in_flight"]
        if self.samples < SAMPLES:
            self.reno(flow, ack)
        else:
            target = sent * self.base / self.smallest
            queued = sent - target
            if self.cwnd <= self.ssthresh:
                if queued > GAMMA:
                    self.ssthresh = 2.0
                    self.cwnd = min(self.cwnd, math.floor(target) + 1.0)
                self.cwnd += ack["acked"] / self.mss
            else:
                step = -1.0 if queued > BETA else 1.0 if queued < ALPHA else 0.0
                wanted = stale + step
                if wanted != self.cwnd:
                    self.cwnd += 1.0 if wanted > self.cwnd else -1.0
            self.cwnd = max(self.cwnd, 2.0)
        self.smallest, self.samples = math.inf, 0

    def on_congestion(self, flow: FlowState, why: str) -> None:
        self.ssthresh = max(math.floor(self.cwnd / 2.0), 2.0)
        self.cwnd = 1.0 if why == "timeout" else self.ssthresh

    def on_life(self, flow: FlowState, what: str) -> None:
        if what == "recovered":
            self.round_ends = flow["delivered"] + flow["in_flight"]
            self.smallest, self.samples = math.inf, 0

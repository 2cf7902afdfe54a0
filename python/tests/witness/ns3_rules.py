"""Congestion control as ns-3 (3.37, 3.44) has it, where its rules are not those of the controllers here.

Each class states the rules of one of its senders as a controller in Python, so that a difference between
ns-3 and a registered controller can be traced to a rule: with the rule, the goodputs agree
(docs/validation/ns3.md). What they have in common is in `Sender`: a controller never sees an RTT sample, but
the *smoothed* RTT of the sender (RFC 6298: an eighth of each sample), which begins with the handshake's and
comes from timestamps of whole milliseconds; and the ACK that ends a recovery counts for growth with all that
it acknowledges.
"""

from __future__ import annotations

import math
from abc import abstractmethod

from bentpipe.controller import AckReport, Controller, FlowState


def whole_ms(now: float, rtt: float) -> float:
    """What timestamps of whole milliseconds make of an RTT that was measured at `now`; in seconds."""
    # A clock tick is not to be lost to rounding.
    return (math.floor(now * 1e3 + 1e-6) - math.floor((now - rtt) * 1e3 + 1e-6)) / 1e3


class Sender(Controller):
    """What every sender of ns-3 does."""

    def __init__(self, mss: int, initial_window: float) -> None:
        super().__init__(mss, initial_window)
        self.srtt: float | None = None
        self.least = math.inf
        self.since_advance = 0

    def on_ack(self, flow: FlowState, ack: AckReport) -> None:
        if self.srtt is None and flow["rtt_min_s"] is not None:
            # The handshake's: the smallest so far, and the only one without a full segment.
            self.srtt = self.least = whole_ms(flow["rtt_min_s"], flow["rtt_min_s"])
        advanced = flow["cwnd_limited"] and ack["acked"] > ack["uncounted"]
        if ack["rtt_s"] is not None and self.srtt is not None and ack["acked"] > 0:
            self.srtt += (whole_ms(flow["now_s"], ack["rtt_s"]) - self.srtt) / 8
            self.least = min(self.least, self.srtt)
        if self.srtt is not None:
            self.measure(flow, self.srtt)
        self.since_advance += ack["acked"]
        if flow["phase"] == "recovery" or not advanced:
            if advanced:
                self.last_advance, self.since_advance = self.since_advance, 0
            return
        self.since_advance = 0
        self.increase(flow, max(1, ack["acked"] // self.mss))

    def on_congestion(self, flow: FlowState, why: str) -> None:
        self.ssthresh = max(2.0, self.threshold(flow))
        self.cwnd = 1.0 if why == "timeout" else self.ssthresh
        self.state(flow, "loss" if why == "timeout" else "recovery")

    def on_life(self, flow: FlowState, what: str) -> None:
        if what == "recovered":
            self.state(flow, "open")
            self.cwnd = self.ssthresh
            self.increase(flow, self.last_advance // self.mss)
            self.since_advance = 0

    def threshold(self, flow: FlowState) -> float:
        """Segments: of what is in flight without what is lost, not of the window."""
        return flow["in_flight"] / self.mss / 2

    def measure(self, flow: FlowState, srtt: float) -> None:
        """Every ACK, with the smoothed RTT."""

    def state(self, flow: FlowState, phase: str) -> None:
        """The sender is in another phase."""

    def increase(self, flow: FlowState, segments: int) -> None:
        """An ACK for so many segments, outside recovery."""
        if self.cwnd < self.ssthresh:
            self.cwnd += 1
        else:
            self.avoid(flow, segments)

    @abstractmethod
    def avoid(self, flow: FlowState, segments: int) -> None:
        """The same in congestion avoidance."""


class NewReno(Sender):
    """One segment per round trip."""

    def avoid(self, flow: FlowState, segments: int) -> None:
        self.cwnd += 1 / self.cwnd


class Vegas(NewReno):
    """A loss costs what the window lies above the threshold, which is 3/4 of it or one segment less.

    Base RTT and the round's RTT are smoothed ones: the base is the handshake's, without the transmission of a
    segment, and a queue of the last burst of slow start is still in the average when the next one begins.
    """

    ALPHA, BETA, GAMMA = 2, 4, 1

    def __init__(self, mss: int, initial_window: float) -> None:
        super().__init__(mss, initial_window)
        self.on = True
        self.mark = 0
        self.base = self.smallest = math.inf
        self.samples = 0

    def measure(self, flow: FlowState, srtt: float) -> None:
        self.base = min(self.base, srtt)
        self.smallest = min(self.smallest, srtt)
        self.samples += 1

    def state(self, flow: FlowState, phase: str) -> None:
        self.on = phase == "open"
        if self.on:
            self.new_round(flow)

    def new_round(self, flow: FlowState) -> None:
        self.mark = flow["delivered"] + flow["in_flight"]
        self.samples, self.smallest = 0, math.inf

    def threshold(self, flow: FlowState) -> float:
        return min(self.ssthresh, self.cwnd - 1)

    def increase(self, flow: FlowState, segments: int) -> None:
        if not self.on and flow["phase"] == "open":
            # Duplicate ACKs that led to no recovery, or a timeout's repair is over.
            self.state(flow, "open")
        if not self.on:
            super().increase(flow, segments)
        elif flow["delivered"] < self.mark:
            if self.cwnd < self.ssthresh:
                self.cwnd += 1
        elif self.samples <= 2:
            self.new_round(flow)
            super().increase(flow, segments)
        else:
            self.decide(flow)
            self.new_round(flow)

    def decide(self, flow: FlowState) -> None:
        """Once a round trip."""
        w = int(self.cwnd)
        target = int(w * self.base / self.smallest)
        queued = w - target
        if self.cwnd < self.ssthresh:
            if queued > self.GAMMA:
                self.cwnd = min(w, target + 1)
                self.ssthresh = max(2.0, self.threshold(flow))
            else:
                self.cwnd += 1
        elif queued > self.BETA:
            self.cwnd = w - 1
            self.ssthresh = max(2.0, self.threshold(flow))
        elif queued < self.ALPHA:
            self.cwnd = w + 1
        self.ssthresh = max(self.ssthresh, 3 * self.cwnd / 4)


class Hybla(NewReno):
    """rho is worked out at an ACK whose smoothed RTT is the smallest ever, to the nanosecond.

    The smallest is the handshake's, which no full segment reaches, so rho stays 1.
    """

    RTT0 = 0.06

    def __init__(self, mss: int, initial_window: float) -> None:
        super().__init__(mss, initial_window)
        self.rho = 1.0
        self.part = 0.0

    def measure(self, flow: FlowState, srtt: float) -> None:
        if srtt == self.least:
            self.rho = max(1.0, self.least / self.RTT0)

    def increase(self, flow: FlowState, segments: int) -> None:
        if self.cwnd < self.ssthresh:
            self.cwnd = min(self.cwnd + 2**self.rho - 1, self.ssthresh)
        else:
            self.avoid(flow, segments)

    def avoid(self, flow: FlowState, segments: int) -> None:
        self.part += segments * self.rho**2 / int(self.cwnd)
        self.cwnd += int(self.part)
        self.part %= 1


class Cubic(Sender):
    """Whole segments, and a counter of ACKs that nothing clears.

    What the counter has gathered while the window rested, and the whole window that the last ACK of a
    recovery acknowledges, is spent one segment an ACK as soon as the cubic allows growth.
    """

    C, BETA = 0.4, 0.7

    def __init__(self, mss: int, initial_window: float) -> None:
        super().__init__(mss, initial_window)
        self.count = 0
        self.last_max = 0
        self.origin = 0
        self.k = 0.0
        self.start: float | None = None
        self.delay: float | None = None
        self.acked = self.reno = 0

    def measure(self, flow: FlowState, srtt: float) -> None:
        if self.start is None or flow["now_s"] - self.start >= 0.01:
            self.delay = srtt if self.delay is None else min(self.delay, srtt)

    def state(self, flow: FlowState, phase: str) -> None:
        if phase == "loss":
            self.last_max, self.origin, self.k, self.delay = 0, 0, 0.0, None

    def threshold(self, flow: FlowState) -> float:
        w = int(self.cwnd)
        self.last_max = int(w * (1 + self.BETA) / 2) if w < self.last_max else w
        self.start = None
        return int(w * self.BETA)

    def increase(self, flow: FlowState, segments: int) -> None:
        if self.cwnd < self.ssthresh:
            self.cwnd += segments
        else:
            self.avoid(flow, segments)

    def avoid(self, flow: FlowState, segments: int) -> None:
        self.count += segments
        every = self.acks(flow["now_s"], segments)
        if self.count >= every:
            self.cwnd += 1
            self.count -= every

    def acks(self, now: float, segments: int) -> int:
        """ACKs for one segment of growth."""
        w = int(self.cwnd)
        self.acked += segments
        if self.start is None:
            self.start, self.acked, self.reno = now, segments, w
            self.origin = max(w, self.last_max)
            self.k = math.cbrt((self.origin - w) / self.C)
        t = now + (self.delay or 0.0) - self.start
        delta = int(self.C * abs(t - self.k) ** 3)
        target = self.origin - delta if t < self.k else self.origin + delta
        every = w // (target - w) if target > w else 100 * w
        if self.last_max == 0:
            every = min(every, 20)
        step = w * int(8 * (1 + self.BETA) / 3 / (1 - self.BETA)) >> 3
        while self.acked > step:
            self.acked -= step
            self.reno += 1
        if self.reno > w:
            every = min(every, w // (self.reno - w))
        return max(every, 2)

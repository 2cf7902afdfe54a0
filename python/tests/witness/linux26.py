"""The modules of `Agent/TCP/Linux` in ns-2.35, which are those of Linux 2.6.22, where they differ from ours.

Each class states one module's rules as a controller in Python, so that a difference between ns-2 and a
registered controller can be traced to a rule: with the rule, the goodputs agree (docs/validation/ns2.md). All
of them have in common what `Module` does:

* the window is a whole number, and growth is counted in ACKs: `every` ACKs are counted and the *next* one
  adds a segment, so that growth by one takes one ACK more than the formula says;
* slow start goes on at a window equal to the threshold;
* a cut goes to a whole number, rounded down;
* in recovery the window falls by one segment for two ACKs, until it is `lowest`: the threshold, but half
  the threshold with modules that take Reno's lower bound. From there slow start leads back to the
  threshold. Above `lowest` it is at most one segment more than what is in flight, so that an ACK sends one
  segment at most.
"""

from __future__ import annotations

import math
from abc import abstractmethod

from bentpipe.controller import AckReport, Controller, FlowState


class Module(Controller):
    """A window in whole segments, and the counter of ACKs that makes it grow."""

    lowest_share = 1.0
    """Down to which share of the new threshold the window goes during recovery."""

    def __init__(self, mss: int, initial_window: float) -> None:
        super().__init__(mss, initial_window)
        self.count = 0
        self.lowest = 0.0
        self.repaired = 0

    def on_ack(self, flow: FlowState, ack: AckReport) -> None:
        self.observe(flow, ack)
        if flow["phase"] == "recovery":
            self.repaired += 1
            if self.repaired % 2 == 0 and self.cwnd > self.lowest:
                self.cwnd -= 1
            self.cwnd = max(self.lowest, min(self.cwnd, flow["in_flight"] // self.mss + 1))
            return
        if ack["acked"] <= ack["uncounted"] or not flow["cwnd_limited"]:
            return
        if self.cwnd <= self.ssthresh:
            self.start_slowly(flow)
        else:
            self.avoid(flow, ack)

    def start_slowly(self, flow: FlowState) -> None:
        """An ACK in slow start."""
        self.cwnd += 1

    def grow(self, every: int) -> None:
        """One segment more at the ACK that follows `every` others."""
        if self.count >= every:
            self.cwnd += 1
            self.count = 0
        else:
            self.count += 1

    def on_congestion(self, flow: FlowState, why: str) -> None:
        self.repaired, self.count = 0, 0
        self.ssthresh = max(2, self.cut(flow, why))
        self.lowest = int(self.ssthresh * self.lowest_share)
        if why == "timeout":
            self.cwnd = 1

    def on_life(self, flow: FlowState, what: str) -> None:
        if what == "recovered" and self.cwnd > 1:
            self.cwnd = self.lowest
            if self.cwnd < self.ssthresh:
                self.cwnd = min(self.ssthresh, flow["in_flight"] // self.mss + 3)

    def observe(self, flow: FlowState, ack: AckReport) -> None:
        """Every ACK, whatever the phase."""

    @abstractmethod
    def avoid(self, flow: FlowState, ack: AckReport) -> None:
        """An ACK in congestion avoidance."""

    @abstractmethod
    def cut(self, flow: FlowState, why: str) -> int:
        """The threshold after congestion."""


class HighSpeed(Module):
    """Takes a(w) and b(w) from the row of RFC 3649's table above the window: 2 and 0.44 from 39 on.

    The table gives the window from which on a(w) is 2, 118; between 38 and 118 the formula of section 5
    gives 1 to 2.
    """

    lowest_share = 0.5
    ROWS = (
        (38, 128),
        (118, 112),
        (221, 104),
        (347, 98),
        (495, 93),
        (663, 89),
        (851, 86),
        (1058, 83),
        (1284, 81),
    )

    def row(self) -> int:
        return next((i for i, (most, _) in enumerate(self.ROWS) if self.cwnd <= most), len(self.ROWS) - 1)

    def avoid(self, flow: FlowState, ack: AckReport) -> None:
        self.grow_by_row()

    def grow_by_row(self) -> None:
        """One ACK's growth in congestion avoidance."""
        self.count += self.row() + 1
        if self.count >= self.cwnd:
            self.count -= int(self.cwnd)
            self.cwnd += 1

    def cut(self, flow: FlowState, why: str) -> int:
        return int(self.cwnd) - (int(self.cwnd) * self.ROWS[self.row()][1] >> 8)


class Westwood(Module):
    """Westwood+ with threshold and window set apart at a loss, and the rate in whole bytes per millisecond.

    The threshold is half the window, as Reno's; the window goes to rate times RTTmin, up as well as down.
    Both stages of the filter round down, so that each comes to rest up to 7 bytes per millisecond below a
    rate that has risen. Growth counts bytes (RFC 3465) without a limit per ACK, and the ACK that ends a
    recovery brings all that was sent meanwhile: the window grows at each of the next one or two ACKs.
    """

    def __init__(self, mss: int, initial_window: float) -> None:
        super().__init__(mss, initial_window)
        self.rough = self.rate = self.acked = 0
        self.beyond = self.counted = 0
        self.since: int | None = None
        self.least = 0

    def observe(self, flow: FlowState, ack: AckReport) -> None:
        if flow["phase"] == "recovery":
            self.counted += ack["acked"]
        else:
            self.beyond = self.beyond + ack["acked"] if ack["acked"] <= ack["uncounted"] else 0
        if flow["srtt_s"] is None:
            return
        now, srtt = int(flow["now_s"] * 1000), int(flow["srtt_s"] * 1000)
        if self.since is None:
            self.since, self.least = now, srtt
            return
        took = now - self.since
        if took > max(srtt, 50):
            sample = self.acked // took
            if self.rate == 0 == self.rough:
                self.rough = self.rate = sample
            else:
                self.rough = (7 * self.rough + sample) >> 3
                self.rate = (7 * self.rate + self.rough) >> 3
            self.acked, self.since = 0, now
        self.acked += ack["acked"]
        self.least = min(self.least, srtt)

    def start_slowly(self, flow: FlowState) -> None:
        self.counted = 0
        super().start_slowly(flow)

    def avoid(self, flow: FlowState, ack: AckReport) -> None:
        self.counted += ack["acked"]
        if self.counted >= self.cwnd * self.mss:
            self.counted -= int(self.cwnd) * self.mss
            self.cwnd += 1

    def cut(self, flow: FlowState, why: str) -> int:
        return int(self.cwnd) // 2

    def on_congestion(self, flow: FlowState, why: str) -> None:
        super().on_congestion(flow, why)
        # What was selectively acknowledged before the loss was known comes with the last ACK, too.
        self.counted = self.beyond
        self.lowest = max(2, self.rate * self.least // self.mss)


class Bic(Module):
    """BIC with twice the growth: an estimate of the segments per ACK that begins at 2 and sticks at 31/16.

    It is meant to undo delayed ACKs. Its update adds the segments of an ACK less the *whole* part of the
    estimate, which is 1 below 2: with an ACK for each segment it moves from 2 to 31/16 and no further.
    """

    RATIO = 31
    """In sixteenths."""

    def __init__(self, mss: int, initial_window: float) -> None:
        super().__init__(mss, initial_window)
        self.last_max = 0
        self.lost = False
        self.asked_at = -math.inf
        self.asked_window = 0.0
        self.every = 0

    def due(self, flow: FlowState) -> bool:
        """Is it time to work out the growth anew? Not again within 1/32 s at the same window."""
        now = flow["now_s"]
        if self.asked_window == self.cwnd and now - self.asked_at <= 1 / 32:
            return False
        self.asked_window, self.asked_at = self.cwnd, now
        return True

    def avoid(self, flow: FlowState, ack: AckReport) -> None:
        if self.due(flow):
            self.every = (
                max(1, self.acks(int(self.cwnd)) * 16 // self.RATIO) if self.cwnd > 14 else int(self.cwnd)
            )
        self.grow(self.every)

    def acks(self, w: int) -> int:
        """ACKs for one segment of growth."""
        below, above = (self.last_max - w) // 4, w - self.last_max
        if w < self.last_max:
            every = w // 16 if below > 16 else w * 20 // 4 if below <= 1 else w // below
        elif above < 4:
            every = w * 20 // 4
        else:
            every = w * 3 // above if above < 48 else w // 16
        return every if self.lost else min(every, 20)

    def cut(self, flow: FlowState, why: str) -> int:
        w = int(self.cwnd)
        self.last_max = w * (1024 + 819) // 2048 if w < self.last_max else w
        self.lost = True
        if why == "timeout":
            self.last_max, self.lost = 0, False
        return w // 2 if w <= 14 else w * 819 // 1024


class Cubic(Bic):
    """CUBIC before RFC 8312: 31/16 as in `Bic`, Reno's growth never reaches 1, a cap above the origin.

    Above the origin it adds at most 16 segments in 100 ms. The window that Reno would have grows by 8/23
    of a segment per round trip for ever.
    """

    def __init__(self, mss: int, initial_window: float) -> None:
        super().__init__(mss, initial_window)
        self.start: float | None = None
        self.origin = self.k = 0.0
        self.least = 0.0
        self.acked = 0
        self.reno = 0.0

    def observe(self, flow: FlowState, ack: AckReport) -> None:
        rtt = ack["rtt_min_s"]
        if rtt is not None and (self.start is None or flow["now_s"] - self.start >= 1.0):
            self.least = min(self.least or math.inf, math.floor(rtt * 1000) / 1000)

    def avoid(self, flow: FlowState, ack: AckReport) -> None:
        self.acked += 1
        if self.due(flow):
            self.every = max(1, self.acks_at(flow["now_s"]) * 16 // self.RATIO)
        self.grow(self.every)

    def acks_at(self, now: float) -> int:
        """ACKs for one segment of growth."""
        w = int(self.cwnd)
        if self.start is None:
            self.start, self.acked, self.reno = now, 1, w
            self.origin = max(w, self.last_max)
            self.k = math.cbrt((self.origin - w) / 0.400390625)
        t = now + self.least - self.start
        target = self.origin + 0.400390625 * (t - self.k) ** 3
        target = math.ceil(target) if t < self.k else math.floor(target)
        every = w // (target - w) if target > w else 100 * w
        if self.least > 0 and t >= self.k:
            every = max(every, int(w * 0.1 / (16 * self.least)))
        if not self.lost:
            every = 50
        step = w * 23 >> 3
        while self.acked > step:
            self.acked -= step
            self.reno += 1
        if self.reno > w:
            every = min(every, w // int(self.reno - w))
        return every

    def cut(self, flow: FlowState, why: str) -> int:
        w = int(self.cwnd)
        super().cut(flow, why)
        self.start = None
        if why == "timeout":
            self.least = 0.0
        return w * 819 // 1024


class Scalable(Module):
    """Adds a segment at the ACK after min(W, 50); sends half in recovery, though its threshold is 7/8."""

    lowest_share = 0.5

    def avoid(self, flow: FlowState, ack: AckReport) -> None:
        self.grow(int(min(self.cwnd, 50)))

    def cut(self, flow: FlowState, why: str) -> int:
        return int(self.cwnd) - (int(self.cwnd) >> 3)


class Htcp(Module):
    """H-TCP in whole numbers: growth of 1, 2, 3 ... and the scaling by RTT in eighths, both rounded down.

    Growth is worked out anew only when the window has grown.
    """

    def __init__(self, mss: int, initial_window: float) -> None:
        super().__init__(mss, initial_window)
        self.alpha, self.beta = 128, 64
        self.since = 0.0
        self.least = self.most = 0
        self.switched = False
        self.packets, self.lasttime = 0.0, 0.0
        self.mean = self.largest = self.before = 0

    def rounds(self, now: float) -> int:
        return int((now - self.since) * 1000) // self.least if self.least else 0

    def observe(self, flow: FlowState, ack: AckReport) -> None:
        now = flow["now_s"]
        if flow["phase"] != "open":
            self.packets, self.lasttime = 0.0, now
            return
        self.packets += ack["acked"] / self.mss
        took = int((now - self.lasttime) * 1000)
        if self.least and self.packets >= self.cwnd - max(1, self.alpha >> 7) and took >= self.least:
            sample = int(self.packets * 1000) // took
            if self.rounds(now) <= 3:
                self.mean = self.largest = sample
            else:
                self.mean = (3 * self.mean + sample) // 4
                self.largest = max(self.largest, self.mean)
            self.packets, self.lasttime = 0.0, now

    def avoid(self, flow: FlowState, ack: AckReport) -> None:
        assert flow["srtt_s"] is not None
        srtt = int(flow["srtt_s"] * 1000)
        self.least = min(self.least or srtt, srtt)
        if self.rounds(flow["now_s"]) > 3:
            self.most = max(self.most, self.least)
            if self.most < srtt <= self.most + 20:
                self.most = srtt
        if self.count * self.alpha >> 7 >= self.cwnd:
            self.cwnd += 1
            self.count = 0
            self.renew(flow["now_s"])
        else:
            self.count += 1

    def renew(self, now: float) -> None:
        """alpha, in 128ths of a segment per round trip."""
        late = int((now - self.since) * 1000) - 1000
        factor = 1
        if late > 0:
            factor = 1 + (10 * late + (late // 2) ** 2 // 1000) // 1000
        if self.least:
            factor = max(1, factor * 8 // min(max(8000 // (10 * self.least), 4), 80))
        self.alpha = 2 * factor * (128 - self.beta) or 128

    def cut(self, flow: FlowState, why: str) -> int:
        largest, before, self.before = self.largest, self.before, self.largest
        if not 4 * before <= 5 * largest <= 6 * before:
            self.beta, self.switched = 64, False
        elif self.switched and self.least > 10 and self.most:
            self.beta = min(max(self.least * 128 // self.most, 64), 102)
        else:
            self.beta, self.switched = 64, True
        self.renew(flow["now_s"])
        if self.most > self.least > 0:
            self.most = self.least + (self.most - self.least) * 95 // 100
        self.since = flow["now_s"]
        return int(self.cwnd) * self.beta >> 7

    def on_life(self, flow: FlowState, what: str) -> None:
        super().on_life(flow, what)
        if what == "recovered":
            self.since = flow["now_s"]


class Hybla(Module):
    """Hybla with the window of recovery of this module: down to half of what is sent, however few are lost.

    rho counts in eighths and growth in 128ths of a segment, both rounded down.
    """

    lowest_share = 0.5

    def __init__(self, mss: int, initial_window: float) -> None:
        super().__init__(mss, initial_window)
        self.eighths = 8
        self.least = math.inf
        self.part = 0

    def observe(self, flow: FlowState, ack: AckReport) -> None:
        srtt = flow["srtt_s"]
        if srtt is not None and srtt < self.least:
            self.least = srtt
            self.eighths = max(8, int(srtt * 8000) // 25)

    def start_slowly(self, flow: FlowState) -> None:
        if flow["phase"] == "loss":
            super().start_slowly(flow)
        elif self.cwnd == self.ssthresh:
            self.avoid(flow, None)
        else:
            self.cwnd = min(self.ssthresh, self.cwnd + 2 ** (min(self.eighths, 128) / 8) - 1)

    def avoid(self, flow: FlowState, ack: AckReport | None) -> None:
        if flow["phase"] == "loss":
            self.grow(int(self.cwnd))
            return
        self.part += 2 * self.eighths**2 // int(self.cwnd)
        self.cwnd += self.part >> 7
        self.part &= 127

    def cut(self, flow: FlowState, why: str) -> int:
        return int(self.cwnd) // 2

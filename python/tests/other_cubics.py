"""CUBIC by RFC 9438, and the rules by which quinn's differs from it, each to be switched on by its name.

With all of them it is quinn's `congestion/cubic.rs` (quinn-proto 0.11.19), in whole bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import bentpipe as bp
from bentpipe.vectors.replay import Answered

C, BETA = 0.4, 0.7
ALPHA = 3 * (1 - BETA) / (1 + BETA)
RULES = ("loss", "K", "W_est", "target", "whole", "data", "timeout", "bytes")
"""The rules of quinn: t counts from the loss; K follows from W_max alone; W_est is RFC 8312's line; no
bound on the target; growth by whole segments; time without data counts; its answer to a timeout; a window of
bytes."""
ROW_OF = {
    "data": "losses, short of data",
    "timeout": "losses and timeouts",
    "bytes": "losses, other segments",
}
"""The row of docs/vectors.md in which a rule shows; "losses" for the others."""


class Cubic:
    rules: frozenset[str] = frozenset()

    def __init__(self, given: dict[str, Any], flow: dict[str, Any]) -> None:
        assert given["initial_ssthresh_segments"] is None
        self.mss = flow["mss"]
        self.window = float(given["initial_window_segments"])
        self.threshold = math.inf
        self.start: float | None = None
        self.w_max: float | None = None
        self.prior: float | None = None
        self.k = self.w_est = self.seen = self.waits = 0.0
        self.silent = self.begun = False

    def ack(self, flow: dict[str, Any], given: dict[str, Any]) -> None:
        now = flow["now_ns"] / 1e9
        if not flow["cwnd_limited"] and self.start is not None and "data" not in self.rules:
            self.start += now - self.seen  # section 5.8
        self.seen = now
        self.silent = False
        if flow["phase"] == "recovery" or not flow["cwnd_limited"] or given.get("ce"):
            return
        left = given["acked"]
        size = self.mss if "whole" in self.rules else left
        while left > 0:
            self.grow(min(left, size) / self.mss, now, (flow["srtt_ns"] or 0) / 1e9)
            left -= min(left, size)

    def grow(self, segments: float, now: float, srtt: float) -> None:
        room = self.threshold - self.window
        if room > 0:
            if "whole" in self.rules:
                self.window += segments  # to the last byte of the packet
                return
            self.window = min(self.window + segments, self.threshold)
            segments = int((segments - min(segments, room)) * self.mss) / self.mss
            if not segments:
                return
        if not self.begun:
            self.begin(now)
        assert self.start is not None and self.w_max is not None
        t = now - self.start
        if "W_est" in self.rules:
            self.w_est = self.w_max * BETA + ALPHA * t / max(srtt, 1e-9)
        else:
            alpha = 1.0 if self.prior is None or self.w_est >= self.prior else ALPHA
            self.w_est += alpha * segments / self.window
        line = self.cubic(t + srtt) if "W_est" in self.rules else self.cubic(t)
        if line < self.w_est:
            more = max(self.w_est - self.window, 0.0)
        else:
            target = max(self.cubic(t + srtt), self.window)
            if "target" not in self.rules:
                target = min(target, 1.5 * self.window)
            share = 1.0 if "whole" in self.rules else segments
            more = share * (target - self.window) / self.window
            more = more if "target" in self.rules else min(more, target - self.window)
        if "whole" not in self.rules:
            self.window += more
            return
        self.waits += int(more * self.mss) / self.mss
        if self.waits >= 1:
            self.window, self.waits = self.window + 1, 0.0

    def cubic(self, t: float) -> float:
        assert self.w_max is not None
        return C * (t - self.k) ** 3 + self.w_max

    def begin(self, now: float) -> None:
        """The first acknowledgement of an epoch: section 4.2, with 4.8 and 4.10."""
        self.begun = True
        self.w_est = self.window
        if self.prior is None:
            self.prior = self.window
        anew = self.start is None and {"loss", "timeout"} <= self.rules
        self.start = now if self.start is None else self.start
        if self.w_max is None or anew or (self.w_max <= self.window and "K" not in self.rules):
            self.k, self.w_max = 0.0, self.window
        elif "K" not in self.rules:
            self.k = math.cbrt((self.w_max - self.window) / C)

    def congestion(self, flow: dict[str, Any], given: str) -> None:
        if self.silent:
            return
        old = self.window
        lower = self.w_max is not None and old < self.w_max
        self.w_max = old * (1 + BETA) / 2 if lower else old  # section 4.7
        self.prior = old
        kept = flow["reduced"] and given == "timeout" and "timeout" not in self.rules
        if not kept or self.threshold == math.inf:
            self.threshold = max(old * BETA, 2.0)
        self.begun = False
        self.window = max(old * BETA, 2.0 if given == "loss" or "whole" in self.rules else 1.0)
        if "whole" in self.rules:
            self.threshold = max(int(old * self.mss * BETA) / self.mss, 2.0)
            self.window, self.waits = self.threshold, int(self.waits * self.mss * BETA) / self.mss
        self.start = flow["now_ns"] / 1e9 if "loss" in self.rules else None
        self.seen = flow["now_ns"] / 1e9
        if "K" in self.rules:
            self.k = math.cbrt(self.w_max * (1 - BETA) / C)
        if given != "timeout":
            return
        self.silent = True
        self.start = None
        if "timeout" in self.rules:
            self.w_max = self.window
            self.threshold = max(int(self.window * BETA * self.mss) / self.mss, 2.0)
            self.window, self.waits = 2.0, 0.0
        else:
            self.w_max, self.window = None, 1.0

    def idle_restart(self, flow: dict[str, Any], given: None) -> None:
        if self.start is not None and "data" not in self.rules:
            self.start += flow["now_ns"] / 1e9 - self.seen
        self.seen = flow["now_ns"] / 1e9

    def mss_changed(self, flow: dict[str, Any], given: None) -> None:
        if "bytes" in self.rules:
            ratio = self.mss / flow["mss"]
            for name in ("window", "threshold", "w_max", "waits"):
                value = getattr(self, name)
                setattr(self, name, None if value is None else value * ratio)
            self.window = max(self.window, 2.0)
        self.mss = flow["mss"]

    def answer(self) -> dict[str, Any]:
        return {"cwnd": int(self.window * self.mss + 1e-6)}


EVENTS = {
    "nothing but acknowledgements": (),
    "losses": ("loss",),
    "losses and marks": ("loss", "ecn"),
    "losses, short of data": ("loss", "limited", "idle_restart"),
    "losses and timeouts": ("loss", "timeout"),
    "losses, other segments": ("loss", "mss_changed"),
}
"""What may happen in the sequences of a row of docs/vectors.md."""


def vectors(row: str) -> list[str]:
    """The random sequences of a row."""
    without = [event for event in bp.vectors.EVENTS if event not in EVENTS[row]]
    lines = bp.vectors.of("cubic", seed=9, sequences=60, calls=400, without=without).splitlines()
    return lines[: 60 * 400]


def compared(steps: Iterable[Answered]) -> str:
    """The cells of a row, from `sequences` on: theirs is to ours."""
    sequences = acks = within = cuts = alike = 0
    largest = 0.0
    before = (1, 1)
    for step in steps:
        windows = step.right["cwnd"], step.answer["cwnd"]
        segments = (windows[1] - windows[0]) / step.flow["mss"]
        if step.call == "start":
            sequences += 1
        elif step.call == "ack" and step.flow["phase"] != "recovery":
            acks += 1
            within += abs(segments) <= 1
            largest = max(largest, segments, key=abs)
        elif step.call == "congestion":
            cuts += 1
            alike += abs(windows[0] / before[0] - windows[1] / before[1]) < 0.01
        before = windows
    shares = [f"{100 * part / of:.1f} %" if of else "-" for part, of in ((within, acks), (alike, cuts))]
    return f"{sequences} | {acks} | {shares[0]} | {largest:+.1f} | {cuts} | {shares[1]}"


def with_rules(*rules: str) -> type[Cubic]:
    """CUBIC with some of quinn's rules."""
    return type("WithRules", (Cubic,), {"rules": frozenset(rules)})

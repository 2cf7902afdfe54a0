"""The set-up of the spectrum paper as scenarios: its given values, and those that its text leaves open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from bentpipe.studies import design
from bentpipe.studies.design import Choices

#: Table 4: packets of 1000 bytes, and 500 bytes in section 6.3, headers included.
PACKET_BYTES, CHAIN_PACKET_BYTES, HEADER_BYTES = 1000, 500, 40
MAX_WINDOW = 128
#: Table 4: queue limits in bandwidth-delay products.
RED_BDP, DROP_TAIL_BDP = 2.5, 1.5
#: ns-2 marks only while its random share is below `mark_p_` and the mean queue below maxth; above, it drops
#: (red.cc 1.57 of June 2001: `if (setbit && ect && v_ave < th_max)`; `mark_p_` 0.1 in ns-2.35).
RED = {"min": 0.15, "max": 0.5, "weight": 0.002, "max_p": 0.1, "mark_p": 0.1, "gentle": True, "wait": True}

#: The queues of section 6.1.2: marking, dropping early, dropping when full.
QUEUES = {"red-ecn": "RED with ECN", "red": "RED", "drop-tail": "drop-tail"}
BETA, SUBTRACT = 1 / 16, 2 / 3


class Control(NamedTuple):
    """A control of the paper: its id here, its name in tables, and its parameters."""

    cc: str
    label: str
    options: Mapping[str, float]


ALGORITHMS = {
    "tcp": Control("aimd", "TCP", {"a": 1.0, "b": 0.5}),
    "aimd": Control("aimd", "AIMD(1/10,1/16)", {"a": 0.1, "b": BETA}),
    "aimd-8": Control("aimd", "AIMD(1/5,1/8)", {"a": 0.2, "b": 1 / 8}),
    "iiad": Control("iiad", "IIAD(1,2/3)", {"alpha": 1.0, "beta": SUBTRACT}),
    "simd": Control("simd", "SIMD(1/16)", {"beta": BETA}),
    "simd-8": Control("simd", "SIMD(1/8)", {"beta": 1 / 8}),
    "simd-4": Control("simd", "SIMD(1/4)", {"beta": 1 / 4}),
    "aiad": Control("aiad", "AIAD(2/3)", {"beta": SUBTRACT}),
}
LABELS = {name: of.label for name, of in ALGORITHMS.items()}
#: The smooth controls that figures 14 to 17 show beside TCP, and all five of figure 19.
SMOOTH = ("aimd", "iiad", "simd", "aiad")
FIVE = ("tcp", *SMOOTH)
FRIENDLY = ("tcp", "simd", "simd-8", "simd-4", "aimd-8")
CHAIN = ("tcp", "aimd", "iiad", "simd")
#: The controls that were ns-2's own senders in 2001; SIMD and AIAD were the authors' code.
NS2_CODE = ("tcp", "aimd", "aimd-8", "iiad")


class Chain(NamedTuple):
    """Section 6.3: rates of the outer links, Mbit/s, and the background flows over each."""

    x_mbps: float
    y_mbps: float
    c1: int
    c2: int


#: The experiments: figure 7, figures 8 to 17, figure 18, figure 19, figures 21 and 22.
LOADS = ("share", "smooth")
STEPS = {"load-doubles": "start", "load-halves": "stop"}
CHAINS = {"chain-1": Chain(6.0, 6.0, 15, 0), "chain-2": Chain(6.0, 10.0, 11, 3)}
#: The part of `SpectrumSize.after_s` that each control needs: the slowest, IIAD, needs all of it.
AFTER = {"tcp": 0.25, "aimd": 0.5, "simd": 0.3, "iiad": 1.0}

#: From this loss rate on, a flow of figure 7 mostly waits for its timer and sends little: its runs are longer
#: by a factor, else the ratio of two of them is noise.
OFTEN_LOST, LONGER = 0.1, 5
SQUARE_MBPS, SQUARE_HALF_S = 1.5, 30.0
FAST_MBPS = 60.0
#: Share of the propagation of the dumbbell that is the bottleneck's.
MIDDLE = 2 / 3

#: Flows of a dumbbell: name, control, how many, and when they start or stop if not with the run.
Group = tuple[str, str, int, Mapping[str, str]]


@dataclass(frozen=True)
class SpectrumSetup(Choices):
    """The choices that the text leaves open."""

    #: As in appendix E: per ACK, or by eq 1.
    mode: str = "paper"
    #: A loss in slow start takes this share, or that of congestion avoidance if 0; the first loss takes half.
    ss_beta: float = 0.5
    halve_first: bool = True
    #: The controls whose windows are cut to whole numbers.
    whole: tuple[str, ...] = NS2_CODE
    limited_transmit: bool = False
    #: ns-2 of 2001 bounds the timeout by two ticks of its timer, which table 4 gives; it begins with 6 s.
    min_rto_s: float = 0.2
    granularity_s: float = 0.1
    initial_rto_s: float = 6.0
    #: Loss recovery of all flows but those of figure 19; "" leaves the profile's, SACK.
    recovery: str = ""
    #: Round trip of figure 7.
    friendly_rtt_s: float = 0.1
    #: Propagation of the dumbbell: mean at 60 Mbit/s and at lower rates, half the range of the flows.
    fast_rtt_s: float = 0.08
    slow_rtt_s: float = 0.065
    dumbbell_spread_s: float = 0.01
    #: Length of the runs of figures 8 to 13, seconds; the mode's if 0.
    share_s: float = 0.0
    #: The round trip by which the limits of table 4 are computed; the propagation of the bottleneck if 0.
    bdp_rtt_s: float = 0.0
    #: Link of figures 18a and 18b, Mbit/s.
    step_mbps: float = 15.0
    #: Propagation of the round trip of figure 19 and table 5, and its queue.
    square_rtt_s: float = 0.07
    square_queue: str = "red"
    square_recovery: str = "newreno"
    #: Link b2-b3 of figure 20, and the propagation of the two flows' round trip.
    middle_mbps: float = 5.0
    chain_rtt_s: float = 0.062
    #: Propagation of the background flows beside that of their link, in hops of it.
    background_extra: float = 0.0

    def control(self, name: str) -> dict[str, Any]:
        """The scenario's ``cc`` of a control under these choices."""
        of = ALGORITHMS[name]
        cuts = {"ss_beta": self.ss_beta, "halve_first": self.halve_first, "whole_cuts": name in self.whole}
        mode = {"mode": self.mode} if of.cc in ("simd", "aiad") else {}
        return {"name": of.cc, **of.options, **cuts, **mode}

    def common(self, packet: int = PACKET_BYTES, *, ecn: bool = False) -> dict[str, Any]:
        """The options of every TCP flow: table 4."""
        recovery = {"recovery": self.recovery} if self.recovery else {}
        return recovery | {
            "profile": "paper",
            "mss": f"{packet - HEADER_BYTES} bytes",
            "header": f"{HEADER_BYTES} bytes",
            "ack_size": f"{HEADER_BYTES} bytes",
            "receive_window": f"{MAX_WINDOW} segments",
            "initial_ssthresh": MAX_WINDOW,
            "limited_transmit": self.limited_transmit,
            "initial_rto": f"{self.initial_rto_s:g} s",
            "granularity": f"{self.granularity_s:g} s",
            "min_rto": f"{self.min_rto_s:g} s",
            "ecn": ecn,
        }

    def queue(self, kind: str, mbps: float, rtt_s: float, packet: int = PACKET_BYTES) -> dict[str, Any]:
        """A queue of table 4 for a link of ``mbps`` and round trips of ``rtt_s``."""
        bdp = mbps * 1e6 * (self.bdp_rtt_s or rtt_s) / (8 * packet)
        size = DROP_TAIL_BDP if kind == "drop-tail" else RED_BDP
        limit = f"{max(2, round(size * bdp))} packets"
        if kind == "drop-tail":
            return {"kind": kind, "limit": limit}
        ecn = kind == "red-ecn"
        return {"kind": "red", "limit": limit, **RED, "ecn": ecn, "mean_packet": f"{packet} bytes"}

    def friendly(self, name: str, p: float, seed: int, rounds: int) -> dict[str, Any]:
        """Figure 7: one flow over a link without a queue that loses packets at random."""
        link = {
            "rate": "10 Gbit/s",
            "delay": f"{self.friendly_rtt_s / 2:g} s",
            "queue": {"kind": "drop-tail", "limit": "100000 packets"},
            "loss": {"kind": "packet-error", "rate": p},
        }
        flow = {"name": "x", "cc": self.control(name), "path": ["fat"], **self.common()}
        title = f"{LABELS[name]}, packets lost at random with probability {p:g}"
        return design.scenario(title, rounds * self.friendly_rtt_s, seed, {"fat": link}, [flow])

    def dumbbell(
        self, groups: Iterable[Group], queue: str, mbps: float, seed: int, duration_s: float, every: str
    ) -> dict[str, Any]:
        """Flows over one link, and 4 TCP flows over the link back that their ACKs take."""
        rtt = self.fast_rtt_s if mbps >= FAST_MBPS else self.slow_rtt_s
        spread = self.dumbbell_spread_s
        link = _link(mbps, rtt / 2 * MIDDLE, self.queue(queue, mbps, rtt))
        common = self.common(ecn=queue == "red-ecn")
        draw = Random(seed)
        flows: list[dict[str, Any]] = []
        for name, control, count, times in (*groups, ("back", "tcp", 4, {})):
            path, ack_path = ("back", "out") if name == "back" else ("out", "back")
            for i in range(count):
                private = rtt * (1 - MIDDLE) / 2 + spread / 2 * (2 * draw.random() - 1)
                flow = {"name": f"{name}-{i + 1}", "cc": self.control(control), **times, **common}
                flow |= {"path": [path], "ack_path": [ack_path]}
                flows.append(flow | {"start_jitter": "1 s", "extra_delay": f"{private:.6f} s"})
        title = f"dumbbell of {mbps:g} Mbit/s, {QUEUES[queue]}"
        return design.scenario(title, duration_s, seed, {"out": link, "back": link}, flows, every)

    def square(self, name: str, seed: int, cycles: int) -> dict[str, Any]:
        """Figure 19 and table 5: one flow against constant-rate traffic that comes and goes."""
        rtt, half = self.square_rtt_s, f"{SQUARE_HALF_S:g} s"
        link = _link(SQUARE_MBPS, rtt / 2, self.queue(self.square_queue, SQUARE_MBPS, rtt))
        flow = {"name": "x", "cc": self.control(name), "path": ["out"], **self.common()}
        flow |= {"start_jitter": "1 s", "recovery": self.square_recovery}
        wave = {"kind": "cbr", "rate": "0.75 Mbit/s", "packet": f"{PACKET_BYTES} bytes"}
        cbr = {"name": "cbr", "path": ["out"], "traffic": wave | {"on": half, "off": half}}
        title = f"{LABELS[name]} and a square wave of 0.75 Mbit/s"
        return design.scenario(title, cycles * 2 * SQUARE_HALF_S, seed, {"out": link}, [flow, cbr], "change")

    def chain(self, name: str, of: Chain, seed: int, switch_s: float, after_s: float) -> dict[str, Any]:
        """Figure 20: b1-b2-b3-b4, where the background flows of the outer links end at ``switch_s``."""
        packet, hop, control = CHAIN_PACKET_BYTES, self.chain_rtt_s / 8, self.control(name)
        links = {
            link: _link(mbps, hop, self.queue("red", mbps, self.chain_rtt_s, packet))
            for link, mbps in (("b1-b2", of.x_mbps), ("b2-b3", self.middle_mbps), ("b3-b4", of.y_mbps))
        }
        # Both flows cross two links and have the same propagation; the background crosses one.
        common = {"cc": control, "start_jitter": "1 s", **self.common(packet)}
        near = {**common, "extra_delay": f"{2 * hop:g} s"}
        far = {**common, "extra_delay": f"{self.background_extra * hop:g} s", "stop": f"{switch_s:g} s"}
        flows = [
            {"name": "s1", "path": ["b1-b2", "b2-b3"], **near},
            {"name": "s2", "path": ["b2-b3", "b3-b4"], **near},
        ]
        for link, count in (("b1-b2", of.c1), ("b3-b4", of.c2)):
            flows += [{"name": f"{link}-{i + 1}", "path": [link], **far} for i in range(count)]
        title = f"two {LABELS[name]} flows after the background ended"
        return design.scenario(title, switch_s + after_s, seed, links, flows, "100 ms")


def _link(mbps: float, delay_s: float, queue: Mapping[str, Any]) -> dict[str, Any]:
    return {"rate": f"{mbps:g} Mbit/s", "delay": f"{delay_s:g} s", "queue": queue}


BASE = SpectrumSetup()

"""The set-up of the spectrum study: algorithms, queues, topologies, and every choice the text leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

#: Table 4: packets of 1000 bytes, and 500 bytes in section 6.3, headers included.
PACKET_BYTES = 1000
CHAIN_PACKET_BYTES = 500
HEADER_BYTES = 40
MAX_WINDOW = 128
GRANULARITY_S = 0.1
#: Table 4: queue limits in bandwidth-delay products.
RED_BDP = 2.5
DROP_TAIL_BDP = 1.5
RED = {"min": 0.15, "max": 0.5, "weight": 0.002, "max_p": 0.1, "gentle": True, "wait": True}

#: The queues of section 6.1.2: marking, dropping early, dropping when full.
QUEUES = {"red-ecn": "RED with ECN", "red": "RED", "drop-tail": "drop-tail"}
BETA = 1 / 16
SUBTRACT = 2 / 3


@dataclass(frozen=True)
class Algorithm:
    """A control of the paper: its id here, its parameters, and its name in tables."""

    cc: str
    label: str
    options: Mapping[str, float | str] = field(default_factory=dict)


ALGORITHMS = {
    "tcp": Algorithm("reno", "TCP"),
    "aimd": Algorithm("aimd", "AIMD(1/10,1/16)", {"a": 0.1, "b": BETA}),
    "aimd-8": Algorithm("aimd", "AIMD(1/5,1/8)", {"a": 0.2, "b": 1 / 8}),
    "iiad": Algorithm("iiad", "IIAD(1,2/3)", {"alpha": 1.0, "beta": SUBTRACT}),
    "simd": Algorithm("simd", "SIMD(1/16)", {"beta": BETA}),
    "simd-8": Algorithm("simd", "SIMD(1/8)", {"beta": 1 / 8}),
    "simd-4": Algorithm("simd", "SIMD(1/4)", {"beta": 1 / 4}),
    "aiad": Algorithm("aiad", "AIAD(2/3)", {"beta": SUBTRACT}),
}
#: The four smooth controls that figures 14 to 17 show beside TCP, and all five of figures 18 and 19.
SMOOTH = ("aimd", "iiad", "simd", "aiad")
FIVE = ("tcp", *SMOOTH)
FRIENDLY = ("tcp", "simd", "simd-8", "simd-4", "aimd-8")
CHAIN = ("tcp", "aimd", "iiad", "simd")


def label(name: str) -> str:
    """The name of a control in tables and figures."""
    return ALGORITHMS[name].label


@dataclass(frozen=True)
class Setup:
    """The choices that the text leaves open. Every field's default is the base."""

    #: As in appendix E: per ACK, or by eq 1.
    mode: str = "paper"
    #: A loss in slow start takes the share of congestion avoidance (0) or this one.
    ss_beta: float = 0.0
    #: ns-2 of 2001 bounds the timeout by two ticks of its timer.
    min_rto_s: float = 0.2
    granularity_s: float = GRANULARITY_S
    #: Loss recovery of all flows but those of figure 19; "" leaves the profile's, SACK.
    recovery: str = ""
    #: Round trip of figure 7.
    friendly_rtt_s: float = 0.1
    #: Propagation of the dumbbell's round trips: mean and half the range of the flows.
    dumbbell_rtt_s: float = 0.07
    dumbbell_spread_s: float = 0.01
    #: Length of the runs of figures 8 to 13, seconds; the mode's if 0.
    share_s: float = 0.0
    #: Link, Mbit/s, and queue of the runs that ask where AIMD loses its share (claim K5).
    busy_mbps: float = 15.0
    busy_queue: str = "red"
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

    def changed(self, **fields: Any) -> Setup:
        """A copy with some choices changed."""
        return replace(self, **fields)

    def control(self, name: str) -> dict[str, Any]:
        """The scenario's ``cc`` of a control under these choices."""
        of = ALGORITHMS[name]
        options: dict[str, Any] = dict(of.options)
        if of.cc != "reno":
            options["ss_beta"] = self.ss_beta
        if of.cc in ("simd", "aiad"):
            options["mode"] = self.mode
        return {"name": of.cc, **options}

    def common(self, packet: int = PACKET_BYTES, *, ecn: bool = False) -> dict[str, Any]:
        """The options of every TCP flow: table 4."""
        recovery = {"recovery": self.recovery} if self.recovery else {}
        return recovery | {
            "profile": "paper",
            "mss": f"{packet - HEADER_BYTES} bytes",
            "header": f"{HEADER_BYTES} bytes",
            "ack_size": f"{HEADER_BYTES} bytes",
            "receive_window": f"{MAX_WINDOW} segments",
            "granularity": f"{self.granularity_s:g} s",
            "min_rto": f"{self.min_rto_s:g} s",
            "ecn": ecn,
        }

    def queue(self, kind: str, mbps: float, rtt_s: float, packet: int = PACKET_BYTES) -> dict[str, Any]:
        """A queue of table 4 for a link of ``mbps`` and round trips of ``rtt_s``."""
        bdp = mbps * 1e6 * (self.bdp_rtt_s or rtt_s) / (8 * packet)
        if kind == "drop-tail":
            return {"kind": "drop-tail", "limit": f"{max(2, round(DROP_TAIL_BDP * bdp))} packets"}
        limit = f"{max(2, round(RED_BDP * bdp))} packets"
        return {
            "kind": "red",
            "limit": limit,
            **RED,
            "ecn": kind == "red-ecn",
            "mean_packet": f"{packet} bytes",
        }

    def friendly(self, name: str, p: float, seed: int, rounds: int) -> dict[str, Any]:
        """Figure 7: one flow over a link without a queue that loses packets at random."""
        return {
            "title": f"{label(name)}, packets lost at random with probability {p:g}",
            "duration": f"{rounds * self.friendly_rtt_s:g} s",
            "seed": seed,
            "link": {
                "fat": {
                    "rate": "10 Gbit/s",
                    "delay": f"{self.friendly_rtt_s / 2:g} s",
                    "queue": {"kind": "drop-tail", "limit": "100000 packets"},
                    "loss": {"kind": "packet-error", "rate": p},
                }
            },
            "flow": [{"name": "x", "cc": self.control(name), "path": ["fat"], **self.common()}],
        }

    def dumbbell(
        self, groups: list[dict[str, Any]], queue: str, mbps: float, seed: int, duration_s: float, every: str
    ) -> dict[str, Any]:
        """Flows over one link, and 4 TCP flows over the link back that their ACKs take.

        ``groups``: each ``name``, control ``of``, ``count``, and optional ``start`` and ``stop``.
        """
        share = 2 / 3
        delay = self.dumbbell_rtt_s / 2 * share
        link = {
            "rate": f"{mbps:g} Mbit/s",
            "delay": f"{delay:g} s",
            "queue": self.queue(queue, mbps, self.dumbbell_rtt_s),
        }
        draw = Random(seed)
        common = self.common(ecn=queue == "red-ecn")
        flows: list[dict[str, Any]] = []
        for group in groups:
            for i in range(group["count"]):
                private = (self.dumbbell_rtt_s * (1 - share) / 2) + self.dumbbell_spread_s / 2 * (
                    2 * draw.random() - 1
                )
                forward = group["name"] != "back"
                flows.append(
                    {
                        "name": f"{group['name']}-{i + 1}",
                        "cc": self.control(group["of"]),
                        "path": ["out" if forward else "back"],
                        "ack_path": ["back" if forward else "out"],
                        "start_jitter": "1 s",
                        "extra_delay": f"{private:.6f} s",
                        **{k: group[k] for k in ("start", "stop") if k in group},
                        **common,
                    }
                )
        return {
            "title": f"dumbbell of {mbps:g} Mbit/s, {QUEUES[queue]}",
            "duration": f"{duration_s:g} s",
            "seed": seed,
            "record": {"interval": every},
            "link": {"out": link, "back": link},
            "flow": flows,
        }

    def square(self, name: str, seed: int, cycles: int) -> dict[str, Any]:
        """Figure 19 and table 5: one flow against constant-rate traffic that comes and goes."""
        link = {
            "rate": "1.5 Mbit/s",
            "delay": f"{self.square_rtt_s / 2:g} s",
            "queue": self.queue(self.square_queue, 1.5, self.square_rtt_s),
        }
        half = SQUARE_HALF_S
        return {
            "title": f"{label(name)} and a square wave of 0.75 Mbit/s",
            "duration": f"{cycles * 2 * half:g} s",
            "seed": seed,
            "record": {"interval": "change"},
            "link": {"out": link},
            "flow": [
                {
                    "name": "x",
                    "cc": self.control(name),
                    "path": ["out"],
                    **self.common(),
                    "start_jitter": "1 s",
                    "recovery": self.square_recovery,
                },
                {
                    "name": "cbr",
                    "path": ["out"],
                    "traffic": {
                        "kind": "cbr",
                        "rate": "0.75 Mbit/s",
                        "packet": f"{PACKET_BYTES} bytes",
                        "on": f"{half:g} s",
                        "off": f"{half:g} s",
                    },
                },
            ],
        }

    def chain(self, name: str, experiment: int, seed: int, switch_s: float, after_s: float) -> dict[str, Any]:
        """Figure 20: b1-b2-b3-b4, where the background flows of the outer links end at ``switch_s``."""
        of = CHAIN_OF[experiment]
        packet = CHAIN_PACKET_BYTES
        hop = self.chain_rtt_s / 8
        common = self.common(packet)

        def link(mbps: float) -> dict[str, Any]:
            return {
                "rate": f"{mbps:g} Mbit/s",
                "delay": f"{hop:g} s",
                "queue": self.queue("red", mbps, self.chain_rtt_s, packet),
            }

        # Both flows cross two links and have the same propagation; the background crosses one.
        near = {"extra_delay": f"{2 * hop:g} s", "start_jitter": "1 s", **common}
        far = {"extra_delay": f"{of.background_extra * hop:g} s", "start_jitter": "1 s", **common}
        control = self.control(name)
        flows = [
            {"name": "s1", "cc": control, "path": ["b1-b2", "b2-b3"], **near},
            {"name": "s2", "cc": control, "path": ["b2-b3", "b3-b4"], **near},
        ]
        stop = f"{switch_s:g} s"
        for where, count in (("b1-b2", of.c1), ("b3-b4", of.c2)):
            flows += [
                {"name": f"{where}-{i + 1}", "cc": control, "path": [where], "stop": stop, **far}
                for i in range(count)
            ]
        return {
            "title": f"two {label(name)} flows after the background ended",
            "duration": f"{switch_s + after_s:g} s",
            "seed": seed,
            "record": {"interval": "100 ms"},
            "link": {"b1-b2": link(of.x_mbps), "b2-b3": link(self.middle_mbps), "b3-b4": link(of.y_mbps)},
            "flow": flows,
        }


@dataclass(frozen=True)
class Chain:
    """Section 6.3: background flows and rates of the outer links."""

    c1: int
    c2: int
    x_mbps: float
    y_mbps: float
    #: Private delay of the background flows, in hops of the chain.
    background_extra: float


CHAIN_OF = {1: Chain(15, 0, 6.0, 6.0, 1.0), 2: Chain(11, 3, 6.0, 10.0, 1.0)}
SQUARE_HALF_S = 30.0
BASE = Setup()

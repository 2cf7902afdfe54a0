"""The set-up of the spectrum paper as scenarios: its given values, and those that its text leaves open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from typing import Any, NamedTuple

from bentpipe.studies import design
from bentpipe.studies.design import Choices, Design, Keys, Origin, Reading, Replication, Variant, where
from bentpipe.studies.study import Key

#: Table 4: packets of 1000 bytes, and 500 bytes in section 6.3, headers included.
PACKET_BYTES, CHAIN_PACKET_BYTES, HEADER_BYTES = 1000, 500, 40
MAX_WINDOW = 128
#: Table 4: queue limits in bandwidth-delay products.
RED_BDP, DROP_TAIL_BDP = 2.5, 1.5
RED = {"min": 0.15, "max": 0.5, "weight": 0.002, "max_p": 0.1, "gentle": True, "wait": True}

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

CUTS_RUNS = where(
    experiment=("friendly", "share", "smooth", "load-doubles", "load-halves", "square", "chain-1", "chain-2")
)
IIAD_RUNS = where(
    experiment=("smooth", "load-doubles", "load-halves", "square", "chain-1", "chain-2"), cc="iiad"
)
OWN_CUTS_RUNS = where(
    experiment=("friendly", "share", "smooth", "load-doubles", "load-halves", "square", "chain-1", "chain-2"),
    cc=("simd", "simd-8", "simd-4", "aiad"),
)
AIAD_RUNS = where(experiment=("share", "smooth", "square"), cc="aiad")
LOSSY_RUNS = where(experiment=("friendly", "smooth", "square"))
GROWTH_RUNS = where(
    experiment=("friendly", "share", "square", "chain-1", "chain-2"), cc=("simd", "simd-8", "simd-4", "aiad")
)
SHARES_RUNS = where(experiment="share")
FRIENDLY_RUNS = where(experiment="friendly")
SLOW_RUNS = where(experiment=("share", "smooth"))
LIMITS_RUNS = where(experiment=("square", "chain-1", "chain-2"))
STEPS_RUNS = where(experiment=("load-doubles", "load-halves"))
SQUARES_RUNS = where(experiment="square")
CHAINS_RUNS = where(experiment=("chain-1", "chain-2"))

#: The choices that are tried beside the base.
VARIANTS = (
    Variant("own-cuts", "a loss in slow start and the first loss cut as any other",
        replace(BASE, ss_beta=0.0, halve_first=False), CUTS_RUNS, evidence=Origin.PAPER,
        source="appendix E has one rule of decrease and no exception"),
    Variant("real-cuts", "no cut to whole numbers", replace(BASE, whole=()), CUTS_RUNS,
        source="ns-2 since 2006"),
    Variant("iiad-real", "IIAD cut to fractions, too", replace(BASE, whole=("tcp", "aimd", "aimd-8")),
        IIAD_RUNS, evidence=Origin.IMPLIED, source="sections 6.2.1 and 6.2.4: AIAD is as smooth as IIAD"),
    Variant("whole-cuts", "SIMD and AIAD cut to whole numbers, too",
        replace(BASE, whole=("tcp", "aimd", "aimd-8", "iiad", "simd", "simd-8", "simd-4", "aiad")),
        OWN_CUTS_RUNS, evidence=Origin.DEFAULT,
        source="TcpAgent::slowdown without precisionReduce_, ns-2's default until 2006"),
    Variant("aiad-whole", "AIAD cut to whole numbers, too",
        replace(BASE, whole=("tcp", "aimd", "aimd-8", "iiad", "aiad")), AIAD_RUNS, evidence=Origin.IMPLIED,
        source="sections 6.2.1 and 6.2.4: AIAD is as smooth as IIAD"),
    Variant("limited-transmit", "limited transmit", replace(BASE, limited_transmit=True), LOSSY_RUNS,
        source="ns-2 since November 2001 (singledup_)"),
    Variant("closed", "SIMD and AIAD by equation 1, not per ACK", replace(BASE, mode="closed"), GROWTH_RUNS,
        evidence=Origin.PAPER, source="section 2"),
    Variant("share-160s", "figures 8 to 13 from runs of 160 s", replace(BASE, share_s=160.0), SHARES_RUNS,
        quick=True, source="shorter"),
    Variant("min-rto-1s", "least timeout 1 s", replace(BASE, min_rto_s=1.0), LOSSY_RUNS,
        source="RFC 2988, of 2000"),
    Variant("newreno", "NewReno recovery", replace(BASE, recovery="newreno"), FRIENDLY_RUNS, quick=True,
        evidence=Origin.PAPER,
        source='section 6: "similar results for other mechanisms (e.g. Reno, newReno)"'),
    Variant("reno", "Reno recovery", replace(BASE, recovery="reno"), FRIENDLY_RUNS, evidence=Origin.PAPER,
        source='section 6: "similar results for other mechanisms (e.g. Reno, newReno)"'),
    Variant("rtt-200ms", "figure 7 with round trips of 200 ms", replace(BASE, friendly_rtt_s=0.2),
        FRIENDLY_RUNS, source="longer"),
    Variant("slow-40ms", "15 Mbit/s with 40 ms of propagation", replace(BASE, slow_rtt_s=0.04), SLOW_RUNS,
        evidence=Origin.IMPLIED, source="nearly 5 % lost at 15 Mbit/s, at the price of the 0.1 s"),
    Variant("bdp-100ms", "limits of the queues by a round trip of 100 ms", replace(BASE, bdp_rtt_s=0.1),
        LIMITS_RUNS, source="the measured one"),
    Variant("step-30", "figure 18 with a link of 30 Mbit/s", replace(BASE, step_mbps=30.0), STEPS_RUNS,
        source="the text gives no rate"),
    Variant("square-drop-tail", "square wave over a drop-tail queue", replace(BASE, square_queue="drop-tail"),
        SQUARES_RUNS, source="ns-2's queue"),
    Variant("square-sack", "square wave with SACK", replace(BASE, square_recovery="sack"), SQUARES_RUNS,
        quick=True, evidence=Origin.PAPER,
        source='section 6.2.4: SACK "does not qualitatively change the conclusion"'),
    Variant("square-90ms", "square wave with 90 ms of propagation", replace(BASE, square_rtt_s=0.09),
        SQUARES_RUNS, source="longer"),
    Variant("chain-50ms", "chain with 50 ms of propagation", replace(BASE, chain_rtt_s=0.05), CHAINS_RUNS,
        source="shorter"),
    Variant("chain-5.5", "middle link of 5.5 Mbit/s", replace(BASE, middle_mbps=5.5), CHAINS_RUNS,
        source="below the 6 beside it"),
    Variant("chain-far", "background with a hop of its own", replace(BASE, background_extra=1.0), CHAINS_RUNS,
        source="an access link"),
)  # fmt: skip

#: The paper read as a whole.
READINGS = (
    Reading("as-printed", "one rule of decrease and equation 1", ("own-cuts", "closed")),
    Reading("defensible", "IIAD cut to fractions, as AIAD, with which it varies alike", ("iiad-real",)),
    Reading("congested",
        "figures 14 to 17 with AIAD cut to whole numbers, as IIAD, and 40 ms of propagation at 15 Mbit/s",
        ("aiad-whole", "slow-40ms"), where(experiment="smooth")),
)  # fmt: skip

#: The seed whose runs the figures of single runs draw.
TRACE_SEED = 1


@dataclass(frozen=True)
class SpectrumSize(design.Size):
    """The amount of runs of a mode. Times in seconds of simulated time."""

    #: Figure 18 measures one flow at one change per run, and takes more seeds.
    step_seeds: int = 40
    #: Section 6.3 takes one sample of the windows per run, and takes more seeds, too.
    chain_seeds: int = 24
    #: Figures 8 to 17: runs of many flows, long enough to forget the start, take fewer.
    load_seeds: int = 4
    #: Figure 7: loss rates, and length in round trips.
    loss_rates: tuple[float, ...] = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
    rounds: int = 3000
    #: Figures 8 to 13: link rates in Mbit/s with the numbers of flows of each kind and of seeds; length.
    shares: tuple[tuple[float, tuple[int, ...], int], ...] = (
        (15.0, (1, 2, 4, 8, 16, 32, 64), 4),
        (60.0, (8, 32), 4),
    )
    #: Seeds of figures 8 to 17 under each changed choice, which runs every number of flows at 15 Mbit/s.
    few_load_seeds: int = 2
    share_s: float = 400.0
    #: Figures 14 to 17: link rates and length.
    smooth_mbps: tuple[float, ...] = (60.0, 15.0)
    #: The paper draws 250 to 270 s of 500 s; later times cannot change them.
    smooth_s: float = 270.0
    #: Figure 18: when the load changes, and how long the run continues.
    step_at_s: float = 200.0
    step_after_s: float = 100.0
    #: Figure 19: periods of the square wave.
    cycles: int = 21
    #: Section 6.3: when the background ends, and how long the run of the slowest control continues.
    switch_s: float = 400.0
    after_s: float = 450.0

    @property
    def fewer(self) -> str:
        """The number of seeds of the faster links of figures 8 to 13, in words."""
        return "".join(f" ({seeds} at {mbps:g} Mbit/s)" for mbps, _, seeds in self.shares[1:])


#: The amount of runs of a quick study.
QUICK = SpectrumSize(
    seeds=4,
    sensitivity_seeds=2,
    step_seeds=4,
    chain_seeds=4,
    load_seeds=2,
    loss_rates=(0.002, 0.01, 0.05, 0.15, 0.3),
    rounds=2000,
    shares=((15.0, (2, 8, 32), 2),),
    share_s=180.0,
    smooth_s=100.0,
    step_at_s=120.0,
    step_after_s=60.0,
    cycles=11,
    switch_s=80.0,
    after_s=330.0,
)


def points(of: Replication[SpectrumSetup, SpectrumSize]) -> Iterator[Keys]:
    """The keys of every run of one seed; ``p`` is a loss rate, or the time at which the load changes."""
    choice, size = of.setup, of.size
    shares = size.shares
    if not of.variant.whole:  # a choice: the smaller link, where losses are high and low
        shares = tuple((mbps, counts, size.few_load_seeds) for mbps, counts, _ in shares[:1])

    def runs(experiment: str, controls: Iterable[str], queue: str = "red", **more: Key) -> Iterator[Keys]:
        for cc in controls:
            least = {"mbps": 0.0, "n": 1, "p": 0.0}
            yield {"experiment": experiment, "cc": cc, "queue": queue, **least, **more}

    for p in size.loss_rates:
        yield from runs("friendly", FRIENDLY, "none", p=p)
    for mbps, counts, seeds in shares:
        for n, queue in product(counts if of.seed <= seeds else (), QUEUES):
            yield from runs("share", ("simd", "aiad"), queue, mbps=mbps, n=n)
    for mbps, queue in product(size.smooth_mbps, ("red-ecn", "red")):
        yield from runs("smooth", SMOOTH, queue, mbps=mbps, n=16)
    for experiment in STEPS:
        yield from runs(experiment, CHAIN, mbps=choice.step_mbps, n=8, p=size.step_at_s)
    yield from runs("square", FIVE, choice.square_queue, mbps=SQUARE_MBPS)
    for experiment in CHAINS:
        yield from runs(experiment, CHAIN, mbps=choice.middle_mbps, p=size.switch_s)


def scenario(
    of: Replication[SpectrumSetup, SpectrumSize],
    experiment: str,
    cc: str,
    queue: str,
    mbps: float,
    n: int,
    p: float,
) -> dict[str, Any]:
    """One run."""
    choice, size, seed = of.setup, of.size, of.seed
    if experiment == "friendly":
        return choice.friendly(cc, p, seed, size.rounds * (LONGER if p >= OFTEN_LOST else 1))
    if experiment == "square":
        return choice.square(cc, seed, size.cycles)
    if experiment in CHAINS:
        return choice.chain(cc, CHAINS[experiment], seed, size.switch_s, AFTER[cc] * size.after_s)
    if experiment in STEPS:
        joins = {STEPS[experiment]: f"{size.step_at_s:g} s"}
        groups: list[Group] = [("x", cc, 1, {}), ("tcp", "tcp", n - 1, {}), ("other", "tcp", n, joins)]
        return choice.dumbbell(groups, queue, mbps, seed, size.step_at_s + size.step_after_s, "100 ms")
    groups = [("x", cc, n, {}), ("tcp", "tcp", n, {})]
    share_s = choice.share_s or size.share_s
    length, every = {
        "share": (share_s, f"{min(20.0, share_s / 2):g} s"),
        "smooth": (size.smooth_s, "200 ms"),
    }[experiment]
    return choice.dumbbell(groups, queue, mbps, seed, length, every)


def order(
    base: Variant[SpectrumSetup], variants: Sequence[Variant[SpectrumSetup]], size: SpectrumSize
) -> Iterator[tuple[Variant[SpectrumSetup], int]]:
    """The base, whose experiments have seeds of their own, and the variants."""
    yield base.only(experiment=("friendly", "square")), size.seeds
    yield base.only(experiment=CHAINS), size.chain_seeds
    yield base.only(experiment=LOADS), size.load_seeds
    yield base.only(experiment=STEPS), size.step_seeds
    yield from ((variant, size.sensitivity_seeds) for variant in variants)


DESIGN = Design(
    BASE,
    VARIANTS,
    {"quick": QUICK, "full": SpectrumSize(10, 3)},
    points,
    scenario,
    note="{size.seeds} seeds for every value, but {size.load_seeds}{size.fewer} for figures 8 to 17, "
    "{size.step_seeds} for figure 18, {size.chain_seeds} for table 6 and {size.sensitivity_seeds} for "
    "each changed choice. A seed draws when the flows start, their private delays, what the random queues "
    "and links drop.",
    keeps=lambda keys, seed: seed == TRACE_SEED and keys["experiment"] != "friendly",
    order=order,
    # A variant repeats the whole of a control's experiment, at fewer loads or over another link.
    identity=("experiment", "cc"),
    readings=READINGS,
)

"""The set-up of the HSWA-TCP paper as scenarios: its given values, and our choices; the measures of a run.

The paper gives ns-2 with its default TCP settings, 100 Mbit/s, three round-trip propagation delays, one FTP
flow and the bit error rates. Its set-up names neither packet size (the 1500 bytes of section II belong to an
example of 1 Gbit/s), buffer, receive window, loss recovery nor run length; `HswaSetup` holds one choice of
each.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from bentpipe.studies import design
from bentpipe.studies.design import Choices, Design, Keys, Origin, Reading, Replication, Variant, where
from bentpipe.studies.study import Case, Key, Measures

if TYPE_CHECKING:
    import polars as pl

RATE_BPS = 100e6
#: Round-trip propagation delay of each orbit, s (section IV-A).
RTT_S = {"LEO": 0.010, "MEO": 0.250, "GEO": 0.500}
#: The ends of the paper's range, and the decades between: the claims are checked at these.
BERS = (1e-8, 1e-7, 1e-6, 1e-5)
#: Also drawn in the figures of the full study.
BETWEEN = (3e-8, 3e-7, 3e-6)
#: (algorithm, orbit) of the throughput runs: figure 3 compares over GEO, figure 4 shows HSWA over all three.
PAIRS = (("scps", "GEO"), ("hswa", "GEO"), ("hswa", "MEO"), ("hswa", "LEO"))
#: Length of a run, s. SCPS-TP grows by one packet per round trip and at a BER of 1e-8 loses one in about a
#: minute, so it takes the longest to forget its start.
SPAN_S = {("scps", "GEO"): 1000.0, ("hswa", "GEO"): 300.0, ("hswa", "MEO"): 300.0, ("hswa", "LEO"): 60.0}
#: The share of a run that is warm-up: throughput is measured after it.
WARM_UP = 0.4
#: A packet on the wire: ns-2's packetSize_, from which its native Vegas, the kin of SCPS-TP, takes the
#: header.
PACKET_BYTES, HEADER_BYTES = 1000, 40

#: The run that drives the controller's increment through all of figure 1 (H7).
INCREMENT_RATE_BPS, INCREMENT_RTT_S, INCREMENT_SPAN_S = 5e6, 0.5, 60.0
#: Rows of its trace come more often than packets do (1.6 ms), so that each ACK is seen.
INCREMENT_SAMPLE_S = 1e-3


@dataclass(frozen=True)
class HswaSetup(Choices):
    """One choice of the values that the paper leaves open."""

    #: Whether the error rate is per bit, as in the paper, or per byte, as an ns-2 ErrorModel of unit byte.
    unit: Literal["bit", "byte"] = "bit"
    #: Bytes of a data packet on the wire, header included.
    packet_bytes: int = PACKET_BYTES
    #: The rate of the link.
    rate_bps: float = RATE_BPS
    #: Length of the queue, as a scenario gives it.
    buffer: str = "1 bdp"
    #: Receive window, the cwnd_lim of eq. 4, in packets: "a constant", so one for all orbits. None: it never
    #: binds.
    window: int | None = None
    initial_window: int = 2
    #: The channel also loses ACKs, by the same error rate.
    lossy_acks: bool = False
    #: Throughput of the whole run, slow start included, instead of that after the warm-up.
    from_start: bool = False
    #: Length of every run, s; `SPAN_S` if None.
    span_s: float | None = None
    #: A packet is lost with this probability, whatever the error rate; HSWA knows the error rate.
    loss: float | None = None
    #: Options of the flow that differ from profile paper.
    flow: Mapping[str, Any] = field(default_factory=dict)

    def packet_loss(self, ber: float) -> float:
        """Probability that a data packet is lost at the error rate ``ber``."""
        if self.loss is not None:
            return self.loss
        trials = self.packet_bytes * (8 if self.unit == "bit" else 1)
        return 1.0 - (1.0 - ber) ** trials

    def scenario(self, cc: str, orbit: str, ber: float, seed: int) -> dict[str, Any]:
        """One run: a bulk flow of ``cc`` alone on the link of ``orbit``."""
        loss: dict[str, Any] = {"kind": "bit-error", "rate": ber}
        known: dict[str, Any] = {}
        if self.unit == "byte" or self.loss is not None:
            loss = {"kind": "packet-error", "rate": self.packet_loss(ber)}
            if cc == "hswa":
                known = {"ber": ber}  # else it gets the bit error rate of its path
        more: dict[str, Any] = {}
        if self.lossy_acks:
            share = 1.0 - (1.0 - ber) ** (HEADER_BYTES * (8 if self.unit == "bit" else 1))
            more["reverse"] = {"loss": {"kind": "packet-error", "rate": share}}
        controller, payload = self.controller(cc, **known), self.packet_bytes - HEADER_BYTES
        flow = design.flow("x", controller, ["sat"], payload, HEADER_BYTES, **self.flow)
        flow["initial_window"] = self.initial_window
        if self.window is not None:
            flow["receive_window"] = f"{self.window} segments"
        title = f"{cc} over {orbit}, {self.unit} error rate {ber:g}"
        link = design.link(self.rate_bps, _one_way(RTT_S[orbit]), self.buffer, loss=loss, **more)
        span = self.span_s or SPAN_S[cc, orbit]
        return design.scenario(title, span, seed, {"sat": link}, [flow], "1 s")


def bdp_packets(orbit: str, setup: HswaSetup) -> float:
    """Bandwidth-delay product of the path of ``orbit``, packets."""
    return RATE_BPS * RTT_S[orbit] / 8 / setup.packet_bytes


def increment_scenario(ber: float, seed: int) -> dict[str, Any]:
    """A run in which the RTT rises and falls: HSWA with ``ber``, beside a source that comes and goes.

    No packet is lost: the buffer is long. The reverse direction is fast, so that an ACK takes half the
    propagation delay to within a microsecond.
    """
    traffic = {"kind": "cbr", "rate": f"{(2 + seed % 3) * 1.0:g} Mbit/s", "packet": f"{PACKET_BYTES} bytes"}
    traffic |= {"on": "6 s", "off": "6 s"}
    title = f"the increment of HSWA at a bit error rate of {ber:g}"
    delay = _one_way(INCREMENT_RTT_S)
    link = design.link(INCREMENT_RATE_BPS, delay, "50 bdp", reverse={"rate": "10 Gbit/s"})
    controller, payload = {"name": "hswa", "ber": ber}, PACKET_BYTES - HEADER_BYTES
    flow = design.flow("x", controller, ["sat"], payload, HEADER_BYTES, initial_ssthresh=100)
    cross = {"name": "cross", "path": ["sat"], "start": "2 s", "start_jitter": "8 s", "traffic": traffic}
    every = f"{INCREMENT_SAMPLE_S * 1e3:g} ms"
    return design.scenario(title, INCREMENT_SPAN_S, seed, {"sat": link}, [flow, cross], every)


def _one_way(rtt_s: float) -> str:
    return f"{rtt_s / 2 * 1e3:g} ms"


BASE = HswaSetup()
#: The reading under which most of the paper's numbers are near; drawn beside the base in the figures.
BYTES = BASE.changed(unit="byte")
#: The variant of this reading, which has as many seeds as the base.
BESIDE = "byte"
#: The choices that are tried beside the base.
VARIANTS = (
    Variant("byte", "error rate per byte (ns-2's unit byte)", replace(BASE, unit="byte"), quick=True,
        evidence=Origin.IMPLIED,
        source="6.3 and 44 Mbit/s at 1e-8 by the square-root law; ns-2's ErrorModel has a unit byte"),
    Variant("packet-1500", "packets of 1500 bytes", replace(BASE, packet_bytes=1500), quick=True,
        evidence=Origin.PAPER,
        source="section II, in an example of 1 Gbit/s; the set-up has 'the default values in NS2'"),
    Variant("buffer-50", "buffer 50 packets", replace(BASE, buffer="50 packets"), quick=True,
        evidence=Origin.DEFAULT, source="Queue limit_ of ns-2"),
    Variant("buffer-geo", "buffer 6250 packets (1 BDP of GEO) in every orbit",
        replace(BASE, buffer="6250 packets")),
    Variant("byte-buffer-50", "error rate per byte, buffer 50 packets",
        replace(BASE, unit="byte", buffer="50 packets")),
    Variant("window-geo", "window of 6250 packets (1 BDP of GEO)", replace(BASE, window=6250)),
    Variant("window-2000", "window of 2000 packets", replace(BASE, window=2000), evidence=Origin.FITTED,
        source="with 1500 bytes 48 Mbit/s over GEO, where the paper has 44"),
    Variant("newreno", "NewReno recovery, no SACK", replace(BASE, flow={"recovery": "newreno"}), quick=True),
    Variant("reno", "Reno recovery, no SACK", replace(BASE, flow={"recovery": "reno"})),
    Variant("prr", "SACK with proportional rate reduction", replace(BASE, flow={"prr": True})),
    Variant("byte-prr", "error rate per byte, PRR", replace(BASE, unit="byte", flow={"prr": True})),
    Variant("delayed-ack", "delayed ACKs", replace(BASE, flow={"delayed_ack": True})),
    Variant("initial-10", "initial window 10", replace(BASE, initial_window=10)),
    Variant("min-rto", "least timeout 1 s", replace(BASE, flow={"min_rto": "1 s"})),
    Variant("lossy-acks", "ACKs lost too", replace(BASE, lossy_acks=True)),
    Variant("from-start", "whole run, slow start included", replace(BASE, from_start=True)),
    Variant("span-100", "the first 100 s of a flow, slow start included",
        replace(BASE, from_start=True, span_s=100.0)),
    Variant("hswa-average", "AvgRTT of HSWA over the whole connection",
        BASE.tuned("hswa", {"average": "connection"}), evidence=Origin.PAPER,
        source="section II: 'until currently transmitted segments'"),
    Variant("average-connection", "AvgRTT of SCPS-TP over the whole connection",
        BASE.tuned("scps", {"average": "connection"}), evidence=Origin.PAPER,
        source="section II: 'until currently transmitted segments'"),
    Variant("ln", "natural logarithm in eq. 5", BASE.tuned("hswa", {"lg": "ln"}),
        source="the function log of C++; no printed value of S tells"),
    Variant("per-ack", "eq. 4 for each ACK, window of 6250 packets",
        replace(BASE.tuned("hswa", {"eq4": "ack"}), window=6250), quick=True, evidence=Origin.PAPER,
        source="algorithm 1 read as one update for each ACK"),
    Variant("byte-ln", "error rate per byte, natural logarithm in eq. 5",
        replace(BASE.tuned("hswa", {"lg": "ln"}), unit="byte"),
        source="the function log of C++; no printed value of S tells"),
    Variant("byte-per-ack", "error rate per byte, eq. 4 for each ACK, window of 6250 packets",
        replace(BASE.tuned("hswa", {"eq4": "ack"}), unit="byte", window=6250), evidence=Origin.PAPER,
        source="algorithm 1 read as one update for each ACK"),
)  # fmt: skip

#: The paper read as a whole.
READINGS = (
    Reading("defensible",
        "errors per bit as printed, eq. 4 for each ACK, 1500 bytes, the first 100 s, a queue of 1 BDP of GEO",
        ("per-ack", "packet-1500", "buffer-geo", "span-100")),
    Reading("implied", "by its numbers over GEO at 1e-8: errors per byte, packets of 1500 bytes",
        ("byte", "packet-1500"), quick=True),
    Reading("natural", "by its numbers over LEO: errors per byte, packets of 1500 bytes, natural logarithm",
        ("byte", "packet-1500", "ln")),
    Reading("each-ack", "eq. 4 for each ACK, with a window and a queue of 1 BDP of GEO in every orbit",
        ("per-ack", "buffer-geo")),
    Reading("fitted",
        "fitted: errors per byte, packets of 1500 bytes, natural logarithm, window of 2000 packets",
        ("byte", "packet-1500", "ln", "window-2000")),
)  # fmt: skip

#: The runs of figure 1, which no choice of the set-up touches.
INCREMENT = Variant("increment", "", BASE)

#: The values of A that its footnote 1 compares with 10, and the runs of HSWA with them.
AMPLITUDES = (3.0, 30.0, 100.0)
OTHER_A = tuple(
    Variant(f"a-{a:g}", "", BASE.tuned("hswa", {"a": a}), where(cc="hswa", orbit="GEO")) for a in AMPLITUDES
)
#: The runs of a sentence that section I quotes: legacy TCP over a link of 1.5 Mbit/s.
LEGACY_BPS, LEGACY_BER = 1.5e6, 1e-6
LEGACY = Variant("legacy", "", BASE.changed(rate_bps=LEGACY_BPS, span_s=300.0))
#: The names of the runs that no choice of the set-up touches.
APART = (INCREMENT.name, LEGACY.name, *(variant.name for variant in OTHER_A))

#: The scan of the packet loss rate that asks which one gives the numbers printed for an error rate.
SCAN_LOSS = (0.002, 0.004, 0.007, 0.015, 0.03, 0.07, 0.113, 0.15, 0.2)
SCAN_BYTES = (1000, 1500)
SCAN_BER = 1e-5
SCAN_SEEDS = 3
#: A shorter run than `SPAN_S` will do, since losses are many.
SCAN_SPAN_S = 120.0


def scan_name(packet_bytes: int, loss: float) -> str:
    """The name of one of `SCAN`."""
    return f"scan-{packet_bytes}-{loss:g}"


SCAN = tuple(
    Variant(scan_name(size, loss), "", BASE.changed(packet_bytes=size, loss=loss, span_s=SCAN_SPAN_S))
    for size in SCAN_BYTES
    for loss in SCAN_LOSS
)


@dataclass(frozen=True)
class HswaSize(design.Size):
    """The amount of runs of a mode, and the error rates of the base and of `BESIDE`."""

    bers: tuple[float, ...] = BERS


def points(of: Replication[HswaSetup, HswaSize]) -> Iterator[Keys]:
    """Algorithm, orbit and error rate of every run of one seed."""
    name = of.variant.name
    if name == LEGACY.name:
        yield {"cc": "reno", "orbit": "GEO", "ber": LEGACY_BER}
        return
    pairs = (("hswa", "GEO"),) if name == INCREMENT.name else PAIRS
    bers = of.size.bers if of.variant.whole or name == BESIDE else BERS
    for ber in bers if of.setup.loss is None else (SCAN_BER,):
        for cc, orbit in pairs:
            yield {"cc": cc, "orbit": orbit, "ber": ber}


def scenario(of: Replication[HswaSetup, HswaSize], cc: str, orbit: str, ber: float) -> dict[str, Any]:
    """One run."""
    if of.variant.name == INCREMENT.name:
        return increment_scenario(ber, of.seed)
    return of.setup.scenario(cc, orbit, ber, of.seed)


def order(
    base: Variant[HswaSetup], variants: Sequence[Variant[HswaSetup]], size: HswaSize
) -> Iterator[tuple[Variant[HswaSetup], int]]:
    """The runs of figure 1, section I and footnote 1, the base, the scan, the variants.

    `BESIDE` has all seeds too.
    """
    for variant in (INCREMENT, LEGACY, *OTHER_A):
        yield variant, size.seeds
    yield base, size.seeds
    for variant in SCAN if variants else ():
        yield variant, SCAN_SEEDS
    for variant in variants:
        yield variant, size.seeds if variant.name == BESIDE else size.sensitivity_seeds


NO_THROUGHPUT: Measures = dict.fromkeys(
    ("mbps", "cwnd", "rtt_s", "sent", "lost_error", "lost_queue", "timeouts"), math.nan
)
NO_INCREMENT: Measures = {**dict.fromkeys(("at_base", "zero", "linear", "beyond"), math.nan), "rounds": ""}

#: Rounds that BaseTD looks back (eq. 2).
HISTORY = 10


def measure(case: Case, result: Mapping[str, Any], trace: pl.DataFrame | None) -> Measures:
    """The scalars of one run: of `throughput` and of `increment`, NaN where it is of the other kind.

    The increment runs read off a trace the input of the controller (the RTT of each ACK) and its output (the
    window's growth). TD and BaseTD follow by eq. 2 and 3 of the paper; the rule between them, eq. 4, is not
    computed here.
    """
    if trace is None:
        raise ValueError("this study measures what traces show, so its runs record one")
    if case.keys["variant"] == INCREMENT.name:
        return increment(trace)
    return throughput(case.settings, result, trace)


def throughput(settings: Mapping[str, Key], result: Mapping[str, Any], trace: pl.DataFrame) -> Measures:
    """A throughput run, with the settings ``from_start`` and ``packet_bytes`` of its set-up.

    ``mbps``: rate of in-order packets, headers included, after the warm-up, Mbit/s. Over the whole run:
    ``cwnd``: mean window, segments; ``rtt_s``: mean RTT; ``sent``: data packets; ``lost_error``,
    ``lost_queue``: those lost by errors and at the queue; ``timeouts``.
    """
    length = float(result["simulated_s"])
    t, got = (trace[c].to_numpy() for c in ("t_s", "delivered_bytes"))
    first = 0 if settings["from_start"] else int(np.searchsorted(t, WARM_UP * length - 1e-6))
    packet_bytes = int(settings["packet_bytes"])
    on_wire = packet_bytes / (packet_bytes - HEADER_BYTES)
    rate = (float(got[-1]) - float(got[first])) * 8 / (float(t[-1]) - float(t[first]))
    flow = result["flows"][0]
    link = next(k for k in result["links"] if k["direction"] == "forward")
    return {
        **NO_INCREMENT,
        "mbps": rate * on_wire / 1e6,
        "cwnd": float(flow["cwnd_mean_segments"]),
        "rtt_s": float(flow["rtt_mean_s"]),
        "sent": float(flow["sent_packets"]),
        "lost_error": float(link["dropped_error"]),
        "lost_queue": float(link["dropped_queue"]),
        "timeouts": float(flow["timeouts"]),
    }


def increment(trace: pl.DataFrame) -> Measures:
    """An increment run.

    ``rounds``: [TD / BaseTD, growth in segments] of each round trip, as JSON. By a line fitted to the round
    trips with 1 < TD / BaseTD < 2: ``at_base``: growth at TD = BaseTD, segments per round trip; ``zero``: TD
    / BaseTD at which it is zero; ``linear``: share of the variance that the line explains. ``beyond``: mean
    growth at TD >= 2 BaseTD.
    """
    return {**NO_THROUGHPUT, **line(growths(trace))}


class Growth(NamedTuple):
    """A round trip: TD / BaseTD of the round before it, and by how many segments the window grew in it."""

    ratio: float
    segments: float


def growths(trace: pl.DataFrame) -> list[Growth]:
    """The round trips of flow ``x`` in congestion avoidance; every ACK must have a row of its own.

    A round ends with the ACK of the first segment sent after the last round's end. The growth is for a whole
    window's worth of ACKs. Nothing may be lost. The trace has the data at the receiver; the sender learns of
    it half a propagation delay later.
    """
    x = trace.filter(trace["flow"] == "x").sort("t_s")
    late = round(INCREMENT_RTT_S / 2 / INCREMENT_SAMPLE_S)
    window, flight, rtt, slow = (x[c].to_numpy() for c in ("cwnd", "in_flight", "rtt_s", "ssthresh"))
    got = x["delivered_bytes"].to_numpy() / (PACKET_BYTES - HEADER_BYTES)
    acked = np.concatenate([np.zeros(late), got[:-late]])
    sent = acked + flight
    acks = np.flatnonzero(np.diff(acked) > 0) + 1
    if len(acks) == 0 or np.diff(acked).max() > 1.5:
        raise ValueError("the trace must have a row for each ACK")
    found: list[Growth] = []
    history: list[float] = []
    before: float | None = None
    ratio = np.nan
    start, mark = int(acks[0]) - 1, 0.0
    while (end := int(np.searchsorted(acked, mark + 0.5))) < len(acked):
        share = (acked[end] - acked[start]) / window[start]
        if window[start] > slow[start] and np.isfinite(ratio):
            found.append(Growth(float(ratio), float((window[end] - window[start]) / share)))
        samples = rtt[acks[(acks > start) & (acks <= end)]]
        least = float(samples.min())
        td = float(samples.mean()) - (least if before is None else before) / 2  # eq. 3
        before = least
        history = [*history, td][-HISTORY:]
        ratio = td / min(history)  # eq. 2
        mark, start = float(sent[end - 1]), end
    return found


def line(found: list[Growth]) -> Measures:
    """The line through the round trips in the pre-congestion sub-phase, and the mean beyond it."""
    x, y = np.array(found).T
    inside, beyond = (x > 1.0) & (x < 2.0), x >= 2.0
    if inside.sum() < 3 or not beyond.any():
        raise ValueError("too few round trips at one of the sub-phases of eq. 4")
    slope, level = np.polyfit(x[inside], y[inside], 1)
    rest = y[inside] - (slope * x[inside] + level)
    return {
        "at_base": float(slope + level),
        "zero": float(-level / slope),
        "linear": float(1.0 - rest.var() / y[inside].var()),
        "beyond": float(y[beyond].mean()),
        "rounds": json.dumps([[round(g.ratio, 4), round(g.segments, 3)] for g in found]),
    }


DESIGN = Design(
    BASE,
    VARIANTS,
    {"quick": HswaSize(3, 2), "full": HswaSize(12, 5, tuple(sorted(BERS + BETWEEN)))},
    points,
    scenario,
    measure,
    note="{size.seeds} seeds (1 to {size.seeds}) for every value; {size.sensitivity_seeds} seeds for each "
    "other choice. A seed draws the packets that are lost, and in the runs of figure 1 when the cross "
    "traffic begins.",
    keeps=lambda keys, seed: False,
    order=order,
    always=APART,
    readings=READINGS,
    settings=lambda of: {"from_start": of.from_start, "packet_bytes": of.packet_bytes},
)

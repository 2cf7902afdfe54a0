"""The set-up of the TCP-STAR paper as scenarios: its given values, and our choices; the measures of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bentpipe.stats import jain
from bentpipe.studies import design
from bentpipe.studies.design import (
    Choices,
    Design,
    Keys,
    Origin,
    Reading,
    Replication,
    Variant,
    base_and_variants,
    where,
)
from bentpipe.studies.study import Case, Measures
from bentpipe.studies.tolerance import Tolerance

if TYPE_CHECKING:
    import polars as pl

#: The protocols compared, in the order of the paper; "reno" is Reno's window with RFC 6582 recovery, NewReno.
ALGORITHMS = ("star", "tcp-j", "westwood-br", "reno")
#: Those of the fairness runs, which share with NewReno or with their own kind.
SHARERS = ALGORITHMS[:3]

#: Bit error rates of figure 6, and the two of the fairness runs.
BERS = (0.0, 1e-8, 1e-7, 1e-6, 1e-5)
RARE, OFTEN = 1e-8, 1e-6
#: That of section 4.3's footnote, between the two.
BETWEEN = 1e-7
#: Numbers of connections of figures 9 to 11.
COUNTS = (10, 20, 30, 40, 50)

RATE_BPS = 10e6
ONE_WAY_S = 0.25
#: The paper's data segment and its ACK, which is all header: TCP and IP with the timestamp option.
SEGMENT_BYTES, HEADER_BYTES = 1448, 52
#: The paper's bandwidth-delay product in segments, and its small buffer.
BDP, SMALL = 432, 64
#: The ACKs sent between these times are lost in figure 8.
OUTAGE = (10.0, 12.0)
#: Length of the start-up and the outage runs, and the interval of their traces.
STARTUP_S, OUTAGE_RUN_S, INTERVAL_S = 20.0, 40.0, 0.05

#: In section 4.2.2's second case ACKs sent between these times come later than usual, by this many timeouts.
LATE_BY = 1.5

#: The kinds of runs: figures 6, 7 and 8, section 4.2.2's late ACKs, figures 9 and 10, figure 11.
PARTS = ("loss", "startup", "outage", "late", "mixed", "same")
#: TCP-STAR without its probe, beside which the runs with late ACKs are judged.
NO_AEN = "star-no-aen"


@dataclass(frozen=True)
class TcpStarSetup(Choices):
    """One choice of the values that the paper leaves open."""

    #: Bytes of a data segment on the wire, header included.
    segment_bytes: int = SEGMENT_BYTES
    #: Sender and receiver buffers of a lone flow and of the flows that share, in segments.
    sockets: int = BDP
    shared_sockets: int = SMALL
    #: The link's queue in the same two cases, in segments.
    queue: int = BDP
    shared_queue: int = BDP
    #: Loss recovery of TCP-STAR, TCP-J and WestwoodBR; and of NewReno.
    recovery: str = "sack"
    reno_recovery: str = "newreno"
    #: The end of a recovery in NewReno (RFC 6582 section 3.2 step 3): option 2, or with "flight-size" option
    #: 1.
    newreno_exit: str = "ssthresh"
    initial_window: int = 2
    delayed_ack: bool = True
    byte_counting: bool = False
    min_rto_s: float = 1.0
    granularity_s: float = 0.01
    #: Do bit errors also hit ACKs?
    ack_errors: bool = False
    #: TCP-STAR's probe after a timeout, and what it is: one byte, or as printed a data segment.
    aen: bool = True
    aen_probe: Literal["byte", "segment"] = "byte"
    #: Length of the throughput and the fairness runs, as a multiple of the mode's.
    longer: float = 1.0

    def flow(self, cc: str, name: str, count: int, *, shared: bool) -> dict[str, Any]:
        """``count`` flows of ``cc``."""
        aen, cc = self.aen and cc != NO_AEN, "star" if cc == NO_AEN else cc
        recovery = self.reno_recovery if cc == "reno" else self.recovery
        more: dict[str, Any] = {"newreno_exit": self.newreno_exit} if recovery == "newreno" else {}
        if self.delayed_ack:
            more["delayed_ack_timeout"] = "100 ms"
        if cc == "star":
            more["aen"] = aen
            if aen and self.aen_probe != "byte":
                more["aen_probe"] = self.aen_probe
        return design.flow(
            name,
            self.controller(cc),
            ["sat"],
            self.segment_bytes - HEADER_BYTES,
            HEADER_BYTES,
            count=count,
            ack_size=f"{HEADER_BYTES} bytes",
            receive_window=f"{self.shared_sockets if shared else self.sockets} segments",
            initial_window=self.initial_window,
            recovery=recovery,
            delayed_ack=self.delayed_ack,
            byte_counting=self.byte_counting,
            timestamps=True,
            min_rto=f"{self.min_rto_s * 1e3:g} ms",
            granularity=f"{self.granularity_s * 1e3:g} ms",
            start_jitter="1 s" if shared else "100 ms",
            **more,
        )

    def late(self) -> list[list[str]]:
        """The delay of ACKs whose lateness makes the sender time out once, as steps."""
        usual = f"{ONE_WAY_S * 1e3:g} ms"
        late_s = ONE_WAY_S + LATE_BY * max(self.min_rto_s, 2 * ONE_WAY_S)
        begin, end = (f"{at:g} s" for at in OUTAGE)
        return [["0 s", usual], [begin, f"{late_s * 1e3:g} ms"], [end, usual]]

    def scenario(self, part: str, cc: str, ber: float, n: int, seed: int, length_s: float) -> dict[str, Any]:
        """One run of a part: ``n`` flows of ``cc``, or half of them and as many of NewReno."""
        shared = part in ("mixed", "same")
        seconds = {"startup": STARTUP_S, "outage": OUTAGE_RUN_S, "late": OUTAGE_RUN_S}.get(
            part, length_s * self.longer
        )
        queue = self.shared_queue if shared else self.queue
        link = design.link(RATE_BPS, f"{ONE_WAY_S * 1e3:g} ms", f"{queue} packets")
        errors = [{"kind": "bit-error", "rate": ber}] if ber else []
        outage = [{"kind": "outage", "from": f"{OUTAGE[0]:g} s", "to": f"{OUTAGE[1]:g} s"}]
        if errors:
            link["loss"] = errors
        if back := (errors if self.ack_errors else []) + (outage if part == "outage" else []):
            link["reverse"] = {"loss": back}
        if part == "late":
            link["reverse"] = link.get("reverse", {}) | {"delay": self.late()}
        flows = [self.flow(cc, "x", n // 2 if part == "mixed" else n, shared=shared)]
        if part == "mixed":
            flows.append(self.flow("reno", "newreno", n - n // 2, shared=True))
        title = f"{n} x {cc}, {part}, bit error rate {ber:g}"
        traced = part in ("startup", "outage")
        interval = f"{INTERVAL_S * 1e3:g} ms"
        record: dict[str, Any] = {"record": {"interval": interval, "links": False}} if traced else {}
        return design.scenario(title, seconds, seed, {"sat": link}, flows, **record)


BASE = TcpStarSetup()
#: TCP-STAR that slow-starts after a timeout to ssthresh without its estimate.
SLOW_STARTS = BASE.changed(options={"star": {"after_timeout": "slow-start"}})
ALONE = where(part=("loss", "startup", "outage", "late"))
SHARED = where(part=("mixed", "same"))
LOSSY = where(part=("loss", "outage", "late", "mixed", "same"))
LONG = where(part=("loss", "mixed", "same"))

#: The choices that are tried beside the base.
VARIANTS = (
    Variant("newreno", "NewReno recovery for all", replace(BASE, recovery="newreno"), quick=True,
        evidence=Origin.PAPER,
        source="a hint: section 3.3 speaks of 'the normal action of TCP-Reno receiver', which sends no SACK"),
    Variant("reno", "Reno recovery for TCP-STAR, TCP-J and WestwoodBR", replace(BASE, recovery="reno")),
    Variant("newreno-option-1",
        "NewReno doubles from what is in flight at the end of a recovery (RFC 6582, option 1)",
        replace(BASE, newreno_exit="flight-size")),
    Variant("sack", "SACK for NewReno too", replace(BASE, reno_recovery="sack")),
    Variant("no-delayed-ack", "no delayed ACK", replace(BASE, delayed_ack=False), quick=True),
    Variant("initial-1", "initial window 1", replace(BASE, initial_window=1), ALONE),
    Variant("initial-10", "initial window 10", replace(BASE, initial_window=10), ALONE),
    Variant("byte-counting", "growth counts bytes (RFC 3465)", replace(BASE, byte_counting=True)),
    Variant("wire-1500", "1500 bytes on the wire (1448 of data)", replace(BASE, segment_bytes=1500),
        quick=True, evidence=Origin.PAPER, source="table 1 read without headers: 'data segment size 1448'"),
    Variant("queue-64", "64 segments in the link's queue, sockets 432",
        replace(BASE, shared_sockets=432, queue=64, shared_queue=64), quick=True, evidence=Origin.PAPER,
        source="table 1: buffer size 64, read as the link's queue"),
    Variant("both-64", "64 segments in the link's queue and in the sockets of flows that share",
        replace(BASE, shared_queue=64), SHARED),
    Variant("sockets-864", "sockets of 864 segments (2 BDP)", replace(BASE, sockets=864), ALONE),
    Variant("min-rto-200ms", "least RTO 0.2 s", replace(BASE, min_rto_s=0.2)),
    Variant("min-rto-2s", "least RTO 2 s", replace(BASE, min_rto_s=2.0), quick=True, evidence=Origin.IMPLIED,
        source="figure 8: a restart at 13 s by an answered probe, which leaves at 11 s + RTO - 0.5 s"),
    Variant("tick-500ms", "timer granularity 0.5 s", replace(BASE, granularity_s=0.5)),
    Variant("bw-reset", "a timeout resets TCP-STAR's estimate",
        BASE.tuned("star", {"bw_at_timeout": "reset"}), LOSSY, quick=True),
    Variant("slow-start", "after a timeout TCP-STAR slow-starts to ssthresh without the estimate",
        BASE.tuned("star", {"after_timeout": "slow-start"}), LOSSY, quick=True, evidence=Origin.PAPER,
        source="section 4.2.1: nearly equal because a timeout sets one segment; section 3.3 (I)"),
    Variant("no-aen", "TCP-STAR without AEN", replace(BASE, aen=False), LOSSY, quick=True),
    Variant("data-probe", "AEN's probe is the oldest segment", replace(BASE, aen_probe="segment"), LOSSY,
        quick=True, evidence=Origin.PAPER, source="section 3.3: the probe retransmits a data segment"),
    Variant("lda", "TCP-STAR tells errors from congestion by the LDA of WestwoodBR",
        BASE.tuned("star", {"lda": True}), where(part=("mixed", "same"), cc="star"),
        source="section 5 considers it for the fairness under heavy congestion"),
    Variant("lda-rtt", "the same by the RTT alone", BASE.tuned("star", {"lda": True, "gap": 10.0}),
        where(part=("mixed", "same"), cc="star"), source="ABE is above the window most of the time"),
    Variant("ack-errors", "bit errors hit ACKs too", replace(BASE, ack_errors=True), LOSSY),
    Variant("j-raise", "TCP-J goes up to its estimate at a loss", BASE.tuned("tcp-j", {"raise": True}),
        LOSSY),
    Variant("br-always", "WestwoodBR repeats all after any error",
        BASE.tuned("westwood-br", {"repeat": "always"}), LOSSY),
    Variant("br-keep", "WestwoodBR keeps its window at an error's timeout",
        BASE.tuned("westwood-br", {"keep_w_on_rto": True}), LOSSY),
    Variant("short", "runs of 30 s", replace(BASE, longer=0.3), LONG),
    Variant("long", "runs of 300 s", replace(BASE, longer=3.0), LONG),
)  # fmt: skip

#: The paper read as a whole.
READINGS = (
    Reading("as-printed", "as printed: a TCP-Reno receiver, so NewReno recovery for all", ("newreno",)),
    Reading("defensible",
        "TCP-Reno receivers, the RTO that figure 8 implies, and one segment and slow start after a timeout",
        ("newreno", "min-rto-2s", "slow-start")),
    Reading("slow-timer", "for S1 to S4: NewReno recovery for all, least RTO 2 s, timer granularity 0.5 s",
        ("newreno", "min-rto-2s", "tick-500ms")),
    Reading("short-timer", "for S8: a least RTO of 0.2 s, which does not bind", ("min-rto-200ms",),
        where(part="outage", cc="reno")),
)  # fmt: skip
#: Least RTOs tried in figure 8's scenario, s.
RTOS = (0.2, 0.5, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 3.0)


def rto_name(rto: float, *, aen: bool, slow: bool = False) -> str:
    """The name of one of `RTO_VARIANTS`."""
    return f"rto-{rto:g}s" + ("" if aen else "-no-aen") + ("-slow-start" if slow else "")


#: The runs of the tables on what decides claim S4: least RTO, AEN, and TCP-STAR's rule after a timeout.
RTO_VARIANTS = tuple(
    Variant(
        rto_name(rto, aen=aen, slow=slow),
        "",
        (SLOW_STARTS if slow else BASE).changed(min_rto_s=rto, aen=aen),
        where(part="outage", cc="star"),
    )
    for rto, aen, slow in product(RTOS, (True, False), (False, True))
)


@dataclass(frozen=True)
class TcpStarSize(design.Size):
    """The amount of runs of a mode, and the length of a run of throughput or fairness."""

    duration_s: float = 100.0


def points(_: Replication[TcpStarSetup, TcpStarSize]) -> Iterator[Keys]:
    """Part, protocol, bit error rate and number of flows of every run of one seed."""
    alone = [("loss", cc, ber, 1) for cc in ALGORITHMS for ber in BERS]
    traced = [(part, cc, 0.0, 1) for part in ("startup", "outage") for cc in ALGORITHMS]
    traced += [("late", cc, 0.0, 1) for cc in ("star", NO_AEN)]
    mixed = [("mixed", cc, ber, n) for cc, ber, n in product(SHARERS, (RARE, OFTEN), COUNTS)]
    mixed += [("mixed", cc, BETWEEN, COUNTS[0]) for cc in SHARERS]
    same = [("same", cc, OFTEN, n) for cc in SHARERS for n in COUNTS]
    for part, cc, ber, n in (*alone, *traced, *mixed, *same):
        yield {"part": part, "cc": cc, "ber": ber, "n": n}


def scenario(
    of: Replication[TcpStarSetup, TcpStarSize], part: str, cc: str, ber: float, n: int
) -> dict[str, Any]:
    """One run."""
    return of.setup.scenario(part, cc, ber, n, of.seed, of.size.duration_s)


BACK = Tolerance(
    0.9,
    "S4: a flow is back at its rate, or window, if it has this share of that before the outage",
    "a window of some segments less is no slow start",
)
#: The rate before the outage is measured from here on, s.
BEFORE_S = 7.0
#: Width of the interval over which a rate is measured after the outage, s: a round trip.
RATE_S = 0.5
#: The paper's time by which TCP-STAR is back, s: the rate is measured over the second before.
BACK_BY_S = 16.0
#: The measures of `after_outage`.
AFTER = ("before_mbps", "restart_s", "restart_window", "by_16_mbps", "recovery_s", "rto_rtt")


def measure(case: Case, result: Mapping[str, Any], trace: pl.DataFrame | None) -> Measures:
    """The scalars of one run.

    In all: ``x_mbps`` mean goodput of a flow of the protocol, ``reno_mbps`` of a NewReno flow beside it (NaN
    if there is none), Mbit/s; ``jain`` of all flows; ``timeouts`` per flow of the protocol; ``resent``, data
    segments sent again over segments sent; ``queue_drops`` packets; ``queue`` mean length, packets;
    ``utilisation``; ``rwnd_share``, share of the time for which the receiver's window held the protocol back.
    Start-up: ``full_s``, time until the sending window is `BDP`, s. Outage: see `after_outage`.
    """
    x = [f for f in result["flows"] if f["name"].startswith("x")]
    reno = [f for f in result["flows"] if f["name"].startswith("newreno")]
    link = next(k for k in result["links"] if k["direction"] == "forward")
    found: Measures = {
        "x_mbps": fmean(f["goodput_bps"] for f in x) / 1e6,
        "reno_mbps": fmean(f["goodput_bps"] for f in reno) / 1e6 if reno else float("nan"),
        "jain": jain(f["goodput_bps"] for f in result["flows"]),
        "timeouts": fmean(f["timeouts"] for f in x),
        "resent": sum(f["retransmitted_packets"] for f in x) / max(1, sum(f["sent_packets"] for f in x)),
        "queue_drops": float(link["dropped_queue"]),
        "queue": float(link["queue_mean_packets"]),
        "utilisation": float(link["utilisation"]),
        "rwnd_share": fmean(f["limited"]["rwnd"] for f in x),
        **dict.fromkeys(("full_s", *AFTER), float("nan")),
    }
    part = case.keys["part"]
    if part in ("startup", "outage"):
        if trace is None:
            raise ValueError("the start-up and the outage runs record a trace")
        if part == "outage":
            return found | after_outage(trace)
        full = trace.filter(trace["cwnd"] >= BDP)["t_s"].to_list()
        end = full[0] if full else float(result["simulated_s"])
        found["full_s"] = end - float(x[0]["start_s"])
    elif part != "mixed" and reno:
        raise ValueError("only the mixed runs have NewReno flows")
    return found


def after_outage(trace: pl.DataFrame) -> Measures:
    """The recovery of one flow from an outage of the ACKs.

    ``before_mbps``: rate at the receiver before it; ``restart_s``: when the first new data after it reaches
    the receiver (time of the run); ``restart_window``: largest amount in flight in the round trip after that,
    over that before the outage; ``by_16_mbps``: rate from 15 s to 16 s; ``recovery_s``: time from the
    outage's end to the end of the first `RATE_S` at `BACK` of the rate before, or to the end of the run;
    ``rto_rtt``: the retransmission timeout, from the last ACK to the first retransmission, over the smoothed
    RTT then; infinite without a retransmission.
    """
    t = trace["t_s"].to_numpy()
    got = trace["delivered_bytes"].to_numpy().astype(float)
    flight = trace["in_flight"].to_numpy()

    def rate(start: float, end: float) -> float:
        first, last = np.searchsorted(t, [start - INTERVAL_S / 2, end - INTERVAL_S / 2])
        return float((got[last] - got[first]) * 8 / 1e6 / (t[last] - t[first]))

    before = rate(BEFORE_S, OUTAGE[0])
    # Data sent before the outage still arrives in its first second.
    moved = (np.diff(got) > 0) & (t[1:] > OUTAGE[0] + 1)
    restart = float(t[1:][moved][0]) if moved.any() else float(t[-1])
    at_once = (t >= restart - INTERVAL_S / 2) & (t <= restart + RATE_S)
    steady = (t >= BEFORE_S) & (t <= OUTAGE[0])
    step = round(RATE_S / INTERVAL_S)
    rates = (got[step:] - got[:-step]) * 8 / 1e6 / RATE_S
    full = (t[:-step] >= OUTAGE[1] - INTERVAL_S / 2) & (rates >= BACK * before)
    back = float(t[step:][full][0]) if full.any() else float(t[-1])
    silent = t >= OUTAGE[0] + ONE_WAY_S - INTERVAL_S / 2
    resent = trace["retransmitted_packets"].to_numpy()
    again = silent & (resent > resent[~silent][-1])
    rto = float(t[again][0]) - OUTAGE[0] - ONE_WAY_S if again.any() else float("inf")
    return {
        "before_mbps": before,
        "restart_s": restart,
        "restart_window": float(flight[at_once].max() / flight[steady].max()),
        "by_16_mbps": rate(BACK_BY_S - 1, BACK_BY_S),
        "recovery_s": back - OUTAGE[1],
        "rto_rtt": rto / float(trace["srtt_s"].to_numpy()[~silent][-1]),
    }


DESIGN = Design(
    BASE,
    VARIANTS,
    {"quick": TcpStarSize(6, 2), "full": TcpStarSize(24, 12)},
    points,
    scenario,
    measure,
    note="{size.seeds} seeds (1 to {size.seeds}) for every value, {size.sensitivity_seeds} for each changed "
    "choice; throughput and fairness over {size.duration_s:g} s. A seed draws the bit errors and the "
    "starts of the flows.",
    keeps=lambda keys, seed: keys["part"] in ("startup", "outage"),
    order=lambda base, variants, size: base_and_variants(base, [*variants, *RTO_VARIANTS], size),
    readings=READINGS,
)

"""The set-up of the A-LIAD paper as scenarios: its given values, and our choices; the measures of a run.

The paper gives a dumbbell with a bottleneck of 10 or 50 Mbit/s, round-trip times, packet error rates, the
BDP in packets, and SACK. It does not give the buffer, the sender's window, delayed ACKs, most durations, or
how its comparison algorithms are parametrised; `ALiadSetup` holds one choice of each. A choice follows from
the paper's own numbers, else from ns-2.35, the simulator's last version before 2014.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bentpipe.stats import jain
from bentpipe.studies import design
from bentpipe.studies.design import (
    Choices,
    Design,
    Keys,
    Origin,
    Reading,
    Replication,
    Size,
    Variant,
    Where,
    where,
)
from bentpipe.studies.study import Case, Measures
from bentpipe.studies.tolerance import Tolerance

if TYPE_CHECKING:
    import polars as pl

#: The algorithms of the comparison, in the order of the figures. "reno" is NewReno.
ALGORITHMS = ("a-liad", "liad", "reno", "westwood", "cubic", "bic", "scalable", "highspeed")
#: Those of figure 7, without SACK.
WITHOUT_SACK = ("a-liad", "westwood", "cubic")

GEO_S, SHORT_S, INTRA_S = 0.6, 0.025, 0.1
#: Round-trip times of the sweeps of figures 1 and 9, seconds.
RTTS_S = (0.05, 0.1, 0.2, 0.4, 0.6)
LINK_MBPS, INTRA_MBPS = 10.0, 50.0
#: Packet error rates of figures 8, 10 and 11.
NONE, LOW, HIGH = 0.0, 1e-3, 1e-2
#: The one of figure 1, where no packet of a run this long is lost.
RARE = 1e-8
#: Lengths of the runs: the two durations that the paper names.
START_UP_S, LONG_S = 30.0, 300.0
INTRA_FLOWS, NEWRENO_FLOWS = 6, 5
HEADER_BYTES = 40
#: Payload for which a BDP of 10 Mbit/s and 600 ms is 701 packets; the paper says 700.
MSS_BYTES = 1030
#: The default length of a queue in ns-2, packets (``Queue set limit_``).
NS2_QUEUE = 50
#: The experiments in which flows compete.
COMPETING = ("intra", "friend", "two-rtts")
#: The round-trip times of two flows of one algorithm that compete, seconds.
NEAR_S, FAR_S = 0.1, 0.6
#: Values of delta beside the paper's 1.93, from "always slow" to "never slow" over a queue of one BDP.
DELTAS = (1.1, 1.5, 2.0, 2.5, 4.0)
#: The seed whose windows the figures draw, and the experiments drawn; the first two of them record windows.
TRACE_SEED = 1
DRAWN = ("start-up", "no-sack", "loss")


@dataclass(frozen=True)
class RunKey:
    """The key of one run: the experiment, the algorithm under test, the path's RTT and loss."""

    experiment: str
    cc: str
    rtt_s: float
    per: float

    @property
    def delta(self) -> float | None:
        """The delta of A-LIAD's eq 3; None: the paper's."""
        return {delta_name(delta): delta for delta in DELTAS}.get(self.experiment)

    @property
    def rate_mbps(self) -> float:
        """Rate of the bottleneck."""
        return INTRA_MBPS if self.experiment == "intra" else LINK_MBPS


def delta_name(delta: float) -> str:
    """The experiment with one of `DELTAS`."""
    return f"delta-{delta:g}"


def experiments() -> list[RunKey]:
    """Every run of one seed."""
    runs = [RunKey("fig1", "liad", rtt, per) for per in (RARE, LOW, HIGH) for rtt in RTTS_S]
    runs += [RunKey("start-up", cc, GEO_S, NONE) for cc in ALGORITHMS]
    runs += [RunKey("no-sack", cc, GEO_S, NONE) for cc in WITHOUT_SACK]
    runs += [RunKey("intra", "a-liad", INTRA_S, per) for per in (NONE, LOW, HIGH)]
    runs += [RunKey("rtt", cc, rtt, NONE) for cc in ("a-liad", "cubic") for rtt in RTTS_S]
    runs += [RunKey("loss", cc, GEO_S, per) for per in (NONE, LOW, HIGH) for cc in ALGORITHMS]
    runs += [RunKey("friend", cc, rtt, NONE) for rtt in (SHORT_S, GEO_S) for cc in ALGORITHMS]
    runs += [RunKey("two-rtts", cc, FAR_S, per) for per in (NONE, LOW) for cc in ("a-liad", "liad", "cubic")]
    runs += [RunKey(delta_name(d), "a-liad", GEO_S, per) for d in DELTAS for per in (NONE, LOW, HIGH)]
    return runs


@dataclass(frozen=True)
class ALiadSetup(Choices):
    """One choice of the values that the paper leaves open."""

    #: Length of the bottleneck's queue in BDPs of the run, and the shortest that it is, packets.
    buffer_bdp: float = 1.0
    buffer_least: int = NS2_QUEUE
    #: ns-2's ``window_``, packets: where a sender's first slow start ends. 0: no limit; none: the smallest
    #: that fills link and queue over GEO.
    window: int | None = None
    #: It bounds the outstanding data, too. ns-2's ``TCP/Linux`` bounds only the congestion window by it.
    bounded: bool = False
    mss_bytes: int = MSS_BYTES
    initial_window: int = 1
    delayed_ack: bool = False
    #: Recovery of all flows except NewReno's, and of NewReno's.
    recovery: str = "sack"
    newreno_recovery: str = "sack"
    #: ACKs are lost at random as data is.
    acks_lost: bool = False
    #: Length of the runs for which the paper gives none.
    long_s: float = LONG_S
    #: Packet error rate of the RTT sweep of figure 9.
    sweep_per: float = NONE
    #: The RTT of a run is drawn between this share below the nominal one and that; 0: as printed.
    spread: float = 0.0
    #: Each flow of a run draws its own.
    own_rtts: bool = False
    #: ssthresh at the start, by algorithm, where it is not ``window``.
    initial_ssthresh: Mapping[str, int] = field(default_factory=dict)

    @property
    def wire_bytes(self) -> int:
        """Length of a data packet on the link."""
        return self.mss_bytes + HEADER_BYTES

    def bdp(self, rate_mbps: float, rtt_s: float) -> float:
        """The bandwidth-delay product in packets."""
        return rate_mbps * 1e6 * rtt_s / (8 * self.wire_bytes)

    def queue_packets(self, run: RunKey) -> int:
        """Length of the bottleneck's queue in the run."""
        return max(self.buffer_least, round(self.buffer_bdp * self.bdp(run.rate_mbps, run.rtt_s)))

    def window_packets(self) -> int:
        """Window at which a sender's first slow start ends, packets; 0: without limit."""
        if self.window is not None:
            return self.window
        geo = RunKey("start-up", "a-liad", GEO_S, NONE)
        return round(self.bdp(geo.rate_mbps, geo.rtt_s)) + self.queue_packets(geo)

    def duration_s(self, run: RunKey) -> float:
        """Length of the run."""
        if run.experiment in ("start-up", "no-sack") or (run.delta and run.per == NONE):
            return START_UP_S
        return LONG_S if run.experiment in ("friend", "two-rtts") else self.long_s

    def scenario(self, run: RunKey, seed: int, *, trace: bool) -> dict[str, Any]:
        """The run as a scenario; ``trace`` records windows."""
        per = self.sweep_per if run.experiment == "rtt" else run.per
        least_s = NEAR_S if run.experiment == "two-rtts" else run.rtt_s
        delay = f"{least_s / 2 * (1 - self.spread) * 1e3:.6f} ms"
        link = design.link(run.rate_mbps * 1e6, delay, f"{self.queue_packets(run)} packets")
        if per > 0:
            link["loss"] = {"kind": "packet-error", "rate": per}
            if self.acks_lost:
                link["reverse"] = {"loss": {"kind": "packet-error", "rate": per}}
        named = {f"x-{i + 1}": run.cc for i in range(INTRA_FLOWS if run.experiment == "intra" else 1)}
        if run.experiment == "friend":
            named |= {f"newreno-{i + 1}": "reno" for i in range(NEWRENO_FLOWS)}
        if run.experiment == "two-rtts":
            named |= {"x-2": run.cc}
        # The same for every algorithm, so that differences can be paired by seed.
        draw = Random(f"{run.experiment} {run.rtt_s:g} {seed}")
        extra = [draw.uniform(0, run.rtt_s / 2 * self.spread) for _ in named]
        extra = extra if self.own_rtts else [extra[0]] * len(named)
        if run.experiment == "two-rtts":
            extra = [0.0, (FAR_S - NEAR_S) / 2]
        flows = [self._flow(*of, run, own) for of, own in zip(named.items(), extra, strict=True)]
        title = f"{run.experiment}: {run.cc}, RTT {run.rtt_s:g} s, packet error rate {per:g}"
        every = ("500 ms" if run.experiment == "loss" else "100 ms") if trace else ""
        return design.scenario(title, self.duration_s(run), seed, {"bottleneck": link}, flows, every)

    def _flow(self, name: str, cc: str, run: RunKey, extra_s: float) -> dict[str, Any]:
        recovery = self.newreno_recovery if cc == "reno" else self.recovery
        more: dict[str, Any] = {"start_jitter": "1 s"} if run.experiment in COMPETING else {}
        if window := self.window_packets():
            more["initial_ssthresh"] = window
            if self.bounded:
                more["receive_window"] = f"{window} segments"
        if cc in self.initial_ssthresh:
            more["initial_ssthresh"] = self.initial_ssthresh[cc]
        return design.flow(
            name,
            self.controller(cc, **({"delta": run.delta} if run.delta else {})),
            ["bottleneck"],
            self.mss_bytes,
            HEADER_BYTES,
            ack_size=f"{HEADER_BYTES} bytes",
            initial_window=self.initial_window,
            delayed_ack=self.delayed_ack,
            recovery="newreno" if run.experiment == "no-sack" else recovery,
            extra_delay=f"{extra_s * 1e3:.6f} ms",
            **more,
        )


#: The modules of ns-2.35's ``TCP/Linux``, those of Linux 2.6.22, behind the rivals.
MODULES: Mapping[str, Mapping[str, Any]] = {
    "westwood": {"name": "westwood-plus", "rules": "ns-2"},
    "cubic": {"rules": "linux-2.6.22"},
    "bic": {"ack_ratio": 31 / 16},
    "scalable": {"a": 0.02, "at_least_reno": True},
    "highspeed": {"form": "linux"},
}
BASE = ALiadSetup(options=MODULES)
#: The bandwidth-delay product over GEO, packets.
BDP = BASE.bdp(LINK_MBPS, GEO_S)


def _has_newreno(keys: Keys) -> bool:
    # NewReno's flows are in every run of the comparison with it.
    return keys["cc"] == "reno" or keys["experiment"] == "friend"


CUBICS = where(cc=("cubic", "bic"))


def judged(*cc: str) -> Where:
    """The runs that claims are about; with names, those of these controllers."""
    return where(
        experiment=("start-up", "no-sack", "intra", "rtt", "loss", "friend", "two-rtts"),
        **({"cc": cc} if cc else {}),
    )


#: All runs, also those of figure 1, which only the queue and the length decide.
EVERY = where()
SHORT = where(rtt_ms=25)
LOSSY = where(experiment=("intra", "loss"))
UNSAID = where(experiment=("fig1", "intra", "rtt", "loss"))
SWEEP = where(experiment="rtt")
RIVALS = where(experiment=("intra", "friend"))

#: The choices that are tried beside the base.
VARIANTS = (
    Variant("eq6", "A-LIAD: eq 2, 3 and 6 per ACK", BASE.tuned("a-liad liad", {"ack_mode": "eq6"}),
        judged("a-liad", "liad"), quick=True, evidence=Origin.PAPER, source="as printed"),
    Variant("lifetime", "A-LIAD: RTTmax is the largest ever",
        BASE.tuned("a-liad liad", {"decrease": "lifetime"}), judged("a-liad", "liad"), evidence=Origin.PAPER,
        source='eq 7: the extreme RTTs "experienced by the flow"'),
    Variant("uncapped", "A-LIAD: beta of eq 7 without a bound", BASE.tuned("a-liad liad", {"beta_max": 1.0}),
        judged("a-liad", "liad"), evidence=Origin.PAPER, source="as printed"),
    Variant("probe", "A-LIAD: slow probing by eq 3", BASE.tuned("a-liad liad", {"probe": "eq3"}),
        judged("a-liad", "liad"), evidence=Origin.PAPER, source="as printed"),
    Variant("at-w-max", "A-LIAD: max-probing again at a Wmax without a loss",
        BASE.tuned("a-liad liad", {"at_w_max": "probe"}), judged("a-liad", "liad"), quick=True,
        source="the paper is silent"),
    Variant("standard", "A-LIAD: standard slow start", BASE.tuned("a-liad liad", {"start": "standard"}),
        judged("a-liad", "liad"), source="what eq 2 replaces"),
    Variant("westwood", "Westwood of 2001 in place of Westwood+",
        replace(BASE, options={**BASE.options, "westwood": {}}), judged("westwood"), quick=True,
        evidence=Origin.PAPER, source='section 2 calls it "TCP-Westwood [12]" and tells Westwood+ from it'),
    Variant("westwood-ns2", "Westwood of 2001 with the filter of its authors' ns-2 module",
        replace(BASE, options={**BASE.options, "westwood": {"filter": "constant"}}), judged("westwood"),
        source="a module that ns-2 lacks"),
    Variant("cubic-rfc", "CUBIC of RFC 9438", replace(BASE, options={**BASE.options, "cubic": {}}),
        judged("cubic"), quick=True, source="a rule of 2023"),
    Variant("highspeed-own", "HighSpeed of ns-2's own sender: the formulas of RFC 3649",
        replace(BASE, options={**BASE.options, "highspeed": {}}), judged("highspeed"),
        evidence=Origin.DEFAULT, source="Agent/TCP/Sack1 set windowOption_ 8"),
    Variant("old-cubic", "CUBIC and BIC of Linux 2.6.16: ssthresh 100 at the start",
        replace(BASE, initial_ssthresh={"cubic": 100, "bic": 100}), CUBICS,
        source="Linux 2.6.16, not ns-2.35"),
    Variant("stcp-kelly", "Scalable as published: Reno up to 16 packets, 0.01 per packet above",
        replace(BASE, options={**BASE.options, "scalable": {"legacy_window": 16}}), judged("scalable"),
        source="T. Kelly, 2003"),
    Variant("window-1500", "window_ of 1500 packets", replace(BASE, window=1500), judged(),
        evidence=Origin.FITTED, source="1410 to 1500 meet most checks of 1402 (base) to 2400"),
    Variant("window-none", "first slow start without a limit", replace(BASE, window=0), judged(),
        source="real senders have no such limit"),
    Variant("bounded", "window_ bounds what is outstanding", replace(BASE, bounded=True), judged(),
        evidence=Origin.DEFAULT, source="TcpAgent::send_much, which TCP/Linux overrides"),
    Variant("buffer-bdp", "buffer 1 BDP at 25 ms, too", replace(BASE, buffer_least=2), SHORT,
        evidence=Origin.IMPLIED, source="delta = 1.93"),
    Variant("buffer-50", "buffer 50 packets", replace(BASE, buffer_bdp=0.0), EVERY,
        evidence=Origin.DEFAULT, source="Queue set limit_"),
    Variant("buffer-two", "buffer two BDPs", replace(BASE, buffer_bdp=2.0), EVERY, source="a larger one"),
    *(
        Variant(f"buffer-{bdp:g}", f"buffer {bdp:g} BDP", replace(BASE, buffer_bdp=bdp), EVERY,
            source="between ns-2's 50 packets and 1 BDP")
        for bdp in (0.5, 0.75)
    ),
    Variant("mss-1000", "1000-byte packets", replace(BASE, mss_bytes=1000), judged(), evidence=Origin.DEFAULT,
        source="Agent/TCP set packetSize_"),
    Variant("delayed-ack", "delayed ACKs", replace(BASE, delayed_ack=True), judged(),
        source="as receivers do"),
    Variant("no-sack", "no SACK in any run", replace(BASE, recovery="newreno", newreno_recovery="newreno"),
        judged(), source="figure 7 only"),
    Variant("newreno", "NewReno without SACK", replace(BASE, newreno_recovery="newreno"), _has_newreno,
        evidence=Origin.DEFAULT, source="Agent/TCP/Newreno"),
    Variant("acks-lost", "ACKs lost at the same rate", replace(BASE, acks_lost=True), LOSSY,
        source="a lossy way back"),
    Variant("length-100", "100 s where no length is given", replace(BASE, long_s=100.0), UNSAID,
        source="a shorter run"),
    Variant("sweep-loss", "packet error rate 0.1 % in the RTT sweep of figure 9",
        replace(BASE, sweep_per=0.001), SWEEP, quick=True, evidence=Origin.IMPLIED,
        source="the least that section 4.3 names"),
    Variant("rtt-spread", "RTT up to 4 % below the nominal one, by seed", replace(BASE, spread=0.04),
        judged(), source="one RTT to the last digit may be an accident of phases"),
    Variant("own-rtts", "competing flows differ in RTT by up to 4 %",
        replace(BASE, spread=0.04, own_rtts=True), RIVALS, source="real paths"),
)  # fmt: skip

#: One that only readings use.
ONLY_JOINT = (
    Variant("sweep-0.03", "packet error rate 0.03 % in figure 9", replace(BASE, sweep_per=0.0003), SWEEP,
        evidence=Origin.FITTED, source="0.01 to 0.1 % were tried for figure 9"),
)  # fmt: skip

#: The paper read as a whole.
READINGS = (
    Reading("as-printed", "eq 2, 3, 6 and 7 to the letter, and Westwood as cited",
        ("eq6", "lifetime", "uncapped", "probe", "westwood")),
    Reading("defensible", "NewReno without SACK, a loss of 0.1 % in figure 9", ("newreno", "sweep-loss"),
        quick=True),
    Reading("outstanding", "window_ of 1500 bounds what is outstanding, as in ns-2's own senders",
        ("bounded", "window-1500")),
    Reading("short-queue", "ns-2's queue of 50 packets everywhere", ("buffer-50",)),
    Reading("figure-1", "figure 1 by runs of 100 s over ns-2's queue of 50 packets",
        ("buffer-50", "length-100"), where(experiment="fig1")),
    Reading("delayed-acks", "receivers that delay ACKs", ("delayed-ack",)),
    Reading("half-queue", "receivers that delay ACKs, and a queue of half a BDP",
        ("delayed-ack", "buffer-0.5")),
    Reading("fitted",
        "NewReno without SACK, CUBIC of RFC 9438, window_ of 1500 and a loss of 0.03 % in figure 9",
        ("newreno", "cubic-rfc", "window-1500", "sweep-0.03")),
)  # fmt: skip


def points(of: Replication[ALiadSetup, Size]) -> Iterator[Keys]:
    """Experiment, algorithm, RTT, error rate and payload of every run of one seed."""
    for run in experiments():
        keys: Keys = {"experiment": run.experiment, "cc": run.cc, "rtt_ms": round(run.rtt_s * 1e3)}
        yield {**keys, "per": run.per, "mss": of.setup.mss_bytes}


def scenario(
    of: Replication[ALiadSetup, Size], experiment: str, cc: str, rtt_ms: int, per: float, mss: int
) -> dict[str, Any]:
    """One run."""
    drawn = of.variant.is_base and of.seed == TRACE_SEED and experiment in DRAWN
    run = RunKey(experiment, cc, rtt_ms / 1e3, per)
    return of.setup.scenario(run, of.seed, trace=drawn or experiment in DRAWN[:2])


#: Elapsed times of figure 5, seconds.
ELAPSED_S = (5, 10, 15, 20, 25, 30)
CUT = Tolerance(
    0.1,
    "A3: a window is reduced if it falls by more than this share",
    "less than the least cut at a loss, Scalable's eighth",
)


def measure(case: Case, result: Mapping[str, Any], trace: pl.DataFrame | None) -> Measures:
    """The scalars of one run; all runs have the first group, the others NaN where they do not apply.

    ``mbps``: goodput of the algorithm under test; ``share``: its share of the bottleneck in per cent, headers
    counted; ``cwnd``: its mean window, segments; ``drops``: packets lost, ``overflow``: dropped by the full
    queue; ``timeouts``; ``used``: per cent of the link in use, retransmissions counted; ``jain`` of all
    flows.

    ``far_mbps``: goodput of the flow of 600 ms beside one of 100 ms, which is ``mbps`` there.

    ``newreno_mbps``: goodput of all NewReno flows together; ``flow_1`` to ``flow_6``: goodput of the flows of
    the intra-fairness runs, from the slowest to the fastest.

    Start-up runs: ``at_5`` to ``at_30``: as ``share``, up to 5 s to 30 s; ``exit``: window at the end of slow
    start (the first that reaches ssthresh, or before the first reduction); ``peak``: largest window;
    ``cuts``: reductions of the window; ``late``: mean window of the second half, over what link and queue
    hold.
    """
    flows = [f for f in result["flows"] if f["name"].startswith("x-")]
    reno = [f for f in result["flows"] if f["name"].startswith("newreno-")]
    link = next(k for k in result["links"] if k["direction"] == "forward")
    rate = float(link["rate_bps"])
    mss = int(case.keys["mss"])
    wire = (mss + HEADER_BYTES) / mss
    x = flows[0]
    rates = [float(f["goodput_bps"]) for f in [*flows, *reno]]
    got: Measures = {
        "mbps": x["goodput_bps"] / 1e6,
        "share": x["goodput_bps"] * wire / rate * 100,
        "cwnd": float(x["cwnd_mean_segments"]),
        "drops": int(x["dropped_packets"]),
        "overflow": int(link["dropped_queue"]),
        "timeouts": int(x["timeouts"]),
        "used": float(link["utilisation"]) * 100,
        "jain": jain(rates),
        "far_mbps": rates[1] / 1e6 if case.keys["experiment"] == "two-rtts" else float("nan"),
        "newreno_mbps": sum(f["goodput_bps"] for f in reno) / 1e6 if reno else float("nan"),
    }
    ranked = sorted(f["goodput_bps"] / 1e6 for f in flows)
    for i in range(INTRA_FLOWS):
        got[f"flow_{i + 1}"] = ranked[i] if len(flows) == INTRA_FLOWS else float("nan")
    starts = case.keys["experiment"] in ("start-up", "no-sack")
    if not starts:
        return got | _BLANK
    if trace is None:
        raise ValueError("the start-up runs measure windows over time, so they record a trace")
    seconds = wire * 8 / rate
    queue = case.scenario["link"]["bottleneck"]["queue"]["limit"].removesuffix(" packets")
    room = float(case.keys["rtt_ms"]) / 1e3 / (mss * seconds) + int(queue)
    return got | _start_up(trace, seconds, room)


_BLANK: Measures = dict.fromkeys(
    [*(f"at_{t}" for t in ELAPSED_S), "exit", "peak", "cuts", "late"], float("nan")
)


def _start_up(trace: pl.DataFrame, seconds_per_byte: float, room: float) -> Measures:
    rows = trace.sort("t_s")
    got: Measures = {}
    for t in ELAPSED_S:
        until = rows.filter(rows["t_s"] <= t + 1e-9)
        delivered = float(until["delivered_bytes"][-1]) if until.height else 0.0
        got[f"at_{t}"] = delivered * seconds_per_byte / min(t, START_UP_S) * 100
    cwnd, ssthresh = rows["cwnd"].to_list(), rows["ssthresh"].to_list()
    falls = [i for i in range(1, len(cwnd)) if cwnd[i] < (1 - CUT) * cwnd[i - 1]]
    first = falls[0] if falls else len(cwnd)
    reached = (i for i in range(first) if cwnd[i] >= ssthresh[i] - 1)
    end = float(cwnd[next(reached, first - 1)])
    late = rows.filter(rows["t_s"] > START_UP_S / 2)["cwnd"].to_list() or [float("nan")]
    more = {"exit": end, "peak": float(max(cwnd)), "cuts": float(len(falls)), "late": fmean(late) / room}
    return got | more


DESIGN = Design(
    BASE,
    VARIANTS,
    {"quick": Size(3, 2), "full": Size(10, 4)},
    points,
    scenario,
    measure,
    note="{size.seeds} seeds (1 to {size.seeds}) for every value, {size.sensitivity_seeds} for each changed "
    "choice. A seed draws the start of flows that compete and the packets that are lost; a single flow "
    "without random loss is the same run under every seed, so its intervals have no width.",
    keeps=lambda keys, seed: seed == TRACE_SEED and keys["experiment"] in DRAWN,
    identity=("experiment", "cc", "rtt_ms", "per", "seed"),
    readings=READINGS,
    only_joint=ONLY_JOINT,
)

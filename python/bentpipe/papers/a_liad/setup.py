"""The set-up of the A-LIAD paper as scenarios: its given values, and our choices.

The paper gives a dumbbell with a bottleneck of 10 or 50 Mbit/s, round-trip times, packet error rates, the
BDP in packets, and SACK. It does not give the buffer, the sender's window, delayed ACKs, most durations, or
how its comparison algorithms are parametrised; `ALiadSetup` holds one choice of each. A choice follows from
the paper's own numbers, else from ns-2.35, the simulator's last version before 2014.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from bentpipe.studies import design
from bentpipe.studies.declared import read_variants
from bentpipe.studies.design import Choices, Design, Keys, Replication, Size

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
COMPETING = ("intra", "friend")
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
    def rate_mbps(self) -> float:
        """Rate of the bottleneck."""
        return INTRA_MBPS if self.experiment == "intra" else LINK_MBPS


def experiments() -> list[RunKey]:
    """Every run of one seed; no claim is about those of figure 1."""
    runs = [RunKey("fig1", "liad", rtt, per) for per in (RARE, LOW, HIGH) for rtt in RTTS_S]
    runs += [RunKey("start-up", cc, GEO_S, NONE) for cc in ALGORITHMS]
    runs += [RunKey("no-sack", cc, GEO_S, NONE) for cc in WITHOUT_SACK]
    runs += [RunKey("intra", "a-liad", INTRA_S, per) for per in (NONE, LOW, HIGH)]
    runs += [RunKey("rtt", cc, rtt, NONE) for cc in ("a-liad", "cubic") for rtt in RTTS_S]
    runs += [RunKey("loss", cc, GEO_S, per) for per in (LOW, HIGH) for cc in ALGORITHMS]
    runs += [RunKey("friend", cc, rtt, NONE) for rtt in (SHORT_S, GEO_S) for cc in ALGORITHMS]
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
        if run.experiment in ("start-up", "no-sack"):
            return START_UP_S
        return LONG_S if run.experiment == "friend" else self.long_s

    def scenario(self, run: RunKey, seed: int, *, trace: bool) -> dict[str, Any]:
        """The run as a scenario; ``trace`` records windows."""
        per = self.sweep_per if run.experiment == "rtt" else run.per
        delay = f"{run.rtt_s / 2 * (1 - self.spread) * 1e3:.6f} ms"
        link = design.link(run.rate_mbps * 1e6, delay, f"{self.queue_packets(run)} packets")
        if per > 0:
            link["loss"] = {"kind": "packet-error", "rate": per}
            if self.acks_lost:
                link["reverse"] = {"loss": {"kind": "packet-error", "rate": per}}
        named = {f"x-{i + 1}": run.cc for i in range(INTRA_FLOWS if run.experiment == "intra" else 1)}
        if run.experiment == "friend":
            named |= {f"newreno-{i + 1}": "reno" for i in range(NEWRENO_FLOWS)}
        # The same for every algorithm, so that differences can be paired by seed.
        draw = Random(f"{run.experiment} {run.rtt_s:g} {seed}")
        extra = [draw.uniform(0, run.rtt_s / 2 * self.spread) for _ in named]
        extra = extra if self.own_rtts else [extra[0]] * len(named)
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
            self.controller(cc),
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


VARIANTS, READINGS, ONLY_JOINT = read_variants(__file__, BASE, {"has-newreno": _has_newreno})


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


DESIGN = Design(
    BASE,
    VARIANTS,
    {"quick": Size(3, 2), "full": Size(10, 4)},
    points,
    scenario,
    note="{size.seeds} seeds (1 to {size.seeds}) for every value, {size.sensitivity_seeds} for each changed "
    "choice. A seed draws the start of flows that compete and the packets that are lost; a single flow "
    "without random loss is the same run under every seed, so its intervals have no width.",
    keeps=lambda keys, seed: seed == TRACE_SEED and keys["experiment"] in DRAWN,
    identity=("experiment", "cc", "rtt_ms", "per", "seed"),
    readings=READINGS,
    only_joint=ONLY_JOINT,
)

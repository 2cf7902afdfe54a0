"""The set-up of the A-LIAD paper as scenarios: what it gives, and what had to be chosen.

The paper gives a dumbbell with a bottleneck of 10 or 50 Mbit/s, round-trip times, packet error rates, the
BDP in packets, and SACK. It does not give the buffer, the initial window, delayed ACKs, most durations, or
how its comparison algorithms are parametrised; `Setup` holds one choice of each.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

#: The algorithms of the comparison, in the order of the figures. "reno" is NewReno: it recovers without SACK.
ALGORITHMS = ("a-liad", "liad", "reno", "westwood", "cubic", "bic", "scalable", "highspeed")
#: Those of figure 7, without SACK.
WITHOUT_SACK = ("a-liad", "westwood", "cubic")

GEO_S = 0.6
SHORT_S = 0.025
INTRA_S = 0.1
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


@dataclass(frozen=True)
class Run:
    """What one run is of: the experiment, the algorithm under test, the path's RTT and loss."""

    experiment: str
    cc: str
    rtt_s: float
    per: float

    @property
    def rate_mbps(self) -> float:
        """Rate of the bottleneck."""
        return INTRA_MBPS if self.experiment == "intra" else LINK_MBPS


def experiments() -> list[Run]:
    """Every run of one seed."""
    runs = [Run("fig1", "liad", rtt, per) for per in (RARE, LOW, HIGH) for rtt in RTTS_S]
    runs += [Run("start-up", cc, GEO_S, NONE) for cc in ALGORITHMS]
    runs += [Run("no-sack", cc, GEO_S, NONE) for cc in WITHOUT_SACK]
    runs += [Run("intra", "a-liad", INTRA_S, per) for per in (NONE, LOW, HIGH)]
    runs += [Run("rtt", cc, rtt, NONE) for cc in ("a-liad", "cubic") for rtt in RTTS_S]
    runs += [Run("loss", cc, GEO_S, per) for per in (LOW, HIGH) for cc in ALGORITHMS]
    runs += [Run("friend", cc, rtt, NONE) for rtt in (SHORT_S, GEO_S) for cc in ALGORITHMS]
    return runs


@dataclass(frozen=True)
class Setup:
    """One choice of everything that the paper leaves open."""

    #: Length of the bottleneck's queue in BDPs of the run, or in packets.
    buffer_bdp: float = 1.0
    buffer_packets: int | None = None
    mss_bytes: int = MSS_BYTES
    initial_window: int = 1
    delayed_ack: bool = False
    #: Recovery of all flows except NewReno's, and of NewReno's.
    recovery: str = "sack"
    newreno_recovery: str = "newreno"
    #: ACKs are lost at random as data is.
    acks_lost: bool = False
    #: Length of the runs for which the paper gives none.
    long_s: float = LONG_S
    #: Packet error rate of the RTT sweep of figure 9.
    sweep_per: float = NONE
    #: The RTT of a run is drawn between this share below the nominal one and that.
    spread: float = 0.04
    #: Each flow of a run draws its own.
    own_rtts: bool = False
    #: ssthresh at the start, by algorithm; none means unlimited.
    initial_ssthresh: Mapping[str, int] = field(default_factory=dict)
    #: Name (where another stands in) and parameters of algorithms that are not the registry's defaults.
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {"scalable": KELLY})

    def changed(self, **values: Any) -> Setup:
        """The same with some choices changed."""
        return replace(self, **values)

    def with_options(self, **algorithms: Mapping[str, Any]) -> Setup:
        """The same with parameters of algorithms set (``_`` in a name stands for ``-``)."""
        new = {name.replace("_", "-"): value for name, value in algorithms.items()}
        return replace(self, options={**self.options, **new})

    @property
    def wire_bytes(self) -> int:
        """Length of a data packet on the link."""
        return self.mss_bytes + HEADER_BYTES

    def bdp(self, rate_mbps: float, rtt_s: float) -> float:
        """The bandwidth-delay product in packets."""
        return rate_mbps * 1e6 * rtt_s / (8 * self.wire_bytes)

    def queue_packets(self, run: Run) -> int:
        """Length of the bottleneck's queue in the run."""
        if self.buffer_packets is not None:
            return self.buffer_packets
        return max(2, round(self.buffer_bdp * self.bdp(run.rate_mbps, run.rtt_s)))

    def duration_s(self, run: Run) -> float:
        """Length of the run."""
        if run.experiment in ("start-up", "no-sack"):
            return START_UP_S
        return LONG_S if run.experiment == "friend" else self.long_s

    def scenario(self, run: Run, seed: int, *, trace: bool) -> dict[str, Any]:
        """The run as a scenario; ``trace`` records windows."""
        per = self.sweep_per if run.experiment == "rtt" else run.per
        link: dict[str, Any] = {
            "rate": f"{run.rate_mbps:g} Mbit/s",
            "delay": f"{run.rtt_s / 2 * (1 - self.spread) * 1e3:.6f} ms",
            "queue": {"kind": "drop-tail", "limit": f"{self.queue_packets(run)} packets"},
        }
        if per > 0:
            link["loss"] = {"kind": "packet-error", "rate": per}
            if self.acks_lost:
                link["reverse"] = {"loss": {"kind": "packet-error", "rate": per}}
        named = [(f"x-{i + 1}", run.cc) for i in range(INTRA_FLOWS if run.experiment == "intra" else 1)]
        if run.experiment == "friend":
            named += [(f"newreno-{i + 1}", "reno") for i in range(NEWRENO_FLOWS)]
        # The same for every algorithm, so that differences can be paired by seed.
        draw = Random(f"{run.experiment} {run.rtt_s:g} {seed}")
        extra = [draw.uniform(0, run.rtt_s / 2 * self.spread) for _ in named]
        flows = [
            self._flow(name, cc, run, extra[i if self.own_rtts else 0]) for i, (name, cc) in enumerate(named)
        ]
        scenario = {
            "title": f"{run.experiment}: {run.cc}, RTT {run.rtt_s:g} s, packet error rate {per:g}",
            "duration": f"{self.duration_s(run):g} s",
            "seed": seed,
            "link": {"bottleneck": link},
            "flow": flows,
        }
        if trace:
            scenario["record"] = {"interval": "100 ms" if run.experiment != "loss" else "500 ms"}
        return scenario

    def _flow(self, name: str, cc: str, run: Run, extra_s: float) -> dict[str, Any]:
        options = self.options.get(cc)
        recovery = self.newreno_recovery if cc == "reno" else self.recovery
        flow: dict[str, Any] = {
            "name": name,
            "cc": {"name": cc, **options} if options else cc,
            "path": ["bottleneck"],
            "profile": "paper",
            "mss": f"{self.mss_bytes} bytes",
            "header": f"{HEADER_BYTES} bytes",
            "ack_size": f"{HEADER_BYTES} bytes",
            "initial_window": self.initial_window,
            "delayed_ack": self.delayed_ack,
            "recovery": "newreno" if run.experiment == "no-sack" else recovery,
            "extra_delay": f"{extra_s * 1e3:.6f} ms",
        }
        if cc in self.initial_ssthresh:
            flow["initial_ssthresh"] = self.initial_ssthresh[cc]
        if run.experiment in ("intra", "friend"):
            flow["start_jitter"] = "1 s"
        return flow


#: Scalable TCP is Reno up to this window, in its own paper.
KELLY: Mapping[str, Any] = {"legacy_window": 16}

BASE = Setup()


@dataclass(frozen=True)
class Variant:
    """One choice changed against the base, for the sensitivity table.

    Only runs that it touches are repeated: those of ``experiments`` and of ``algorithms`` (empty: all). For
    the others the base's runs stand.
    """

    name: str
    choice: str
    setup: Setup
    experiments: Collection[str] = ()
    algorithms: Collection[str] = ()
    #: Also run in quick mode.
    quick: bool = False

    def touches(self, run: Run) -> bool:
        """Whether the run differs from the base's."""
        named = not self.experiments or run.experiment in self.experiments
        # In the comparison with NewReno, NewReno is in every run.
        has = not self.algorithms or run.cc in self.algorithms
        if "reno" in self.algorithms and run.experiment == "friend":
            has = True
        return named and has


def liad(**options: Any) -> Setup:
    """The base with parameters of A-LIAD and LIAD set."""
    return BASE.with_options(a_liad=options, liad=options)


LIADS = ("a-liad", "liad")
LOSSY = ("fig1", "intra", "loss")
WITH_LENGTH = ("fig1", "intra", "rtt", "loss")

VARIANTS: Sequence[Variant] = (
    Variant(
        "eq6",
        "A-LIAD: eq 2, 3 and 6 per ACK as printed",
        liad(ack_mode="eq6"),
        algorithms=LIADS,
        quick=True,
    ),
    Variant(
        "lifetime",
        "A-LIAD: RTTmax of eq 7 is the largest ever",
        liad(decrease="lifetime"),
        algorithms=LIADS,
        quick=True,
    ),
    Variant(
        "literal",
        "A-LIAD: both, the most literal reading",
        liad(ack_mode="eq6", decrease="lifetime"),
        algorithms=LIADS,
    ),
    Variant("probe", "A-LIAD: slow probing as eq 3 prints it", liad(probe="eq3"), algorithms=LIADS),
    Variant("standard", "A-LIAD: standard slow start", liad(start="standard"), algorithms=LIADS),
    Variant(
        "westwood-ns2",
        "Westwood: the constant filter of ns-2's module",
        BASE.with_options(westwood={"filter": "constant"}),
        algorithms=("westwood",),
        quick=True,
    ),
    Variant(
        "westwood-plus",
        "Westwood+ for Westwood",
        BASE.with_options(westwood={"name": "westwood-plus"}),
        algorithms=("westwood",),
    ),
    Variant(
        "old-cubic",
        "CUBIC and BIC of 2006 Linux: beta 0.8, ssthresh 100 at the start",
        BASE.with_options(cubic={"beta": 0.8}).changed(initial_ssthresh={"cubic": 100, "bic": 100}),
        algorithms=("cubic", "bic"),
        quick=True,
    ),
    Variant(
        "stcp-pure",
        "Scalable without Reno at small windows",
        BASE.with_options(scalable={"legacy_window": 0}),
        algorithms=("scalable",),
    ),
    Variant(
        "stcp-linux",
        "Scalable of 2006 Linux: a = 0.02, never slower than Reno",
        BASE.with_options(scalable={"a": 0.02, "at_least_reno": True}),
        algorithms=("scalable",),
    ),
    Variant("buffer-half", "buffer half a BDP", BASE.changed(buffer_bdp=0.5)),
    Variant("buffer-two", "buffer two BDPs", BASE.changed(buffer_bdp=2.0)),
    Variant("buffer-50", "buffer 50 packets (ns-2's default)", BASE.changed(buffer_packets=50)),
    Variant("mss-1000", "1000-byte packets (ns-2's default)", BASE.changed(mss_bytes=1000)),
    Variant("window-10", "initial window 10", BASE.changed(initial_window=10)),
    Variant("delayed-ack", "delayed ACKs", BASE.changed(delayed_ack=True)),
    Variant("no-sack", "no SACK in any run", BASE.changed(recovery="newreno")),
    Variant("newreno-sack", "NewReno with SACK", BASE.changed(newreno_recovery="sack"), algorithms=("reno",)),
    Variant("acks-lost", "ACKs lost at the same rate", BASE.changed(acks_lost=True), experiments=LOSSY),
    Variant(
        "length-100", "100 s where no length is given", BASE.changed(long_s=100.0), experiments=WITH_LENGTH
    ),
    Variant(
        "sweep-loss",
        "packet error rate 0.1 % in the RTT sweep of figure 9",
        BASE.changed(sweep_per=LOW),
        experiments=("rtt",),
        quick=True,
    ),
    Variant(
        "own-rtts",
        "competing flows differ in RTT by up to 4 %",
        BASE.changed(own_rtts=True),
        experiments=("intra", "friend"),
    ),
)

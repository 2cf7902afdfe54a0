"""The set-up of the Vegas-L paper as scenarios: its given values, and our choices; the measures of a run.

The paper gives the cities of the terminals, 5 Mbit/s links, drop-tail, 1024-byte packets, 1000 s and two
packet error rates. Its settings name no orbit, no number of satellites or hops, no longitude and no buffer;
`VegasLSetup` holds one choice of each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Literal

from bentpipe.stats import jain
from bentpipe.studies import design
from bentpipe.studies.design import Choices, Design, Keys, Origin, Reading, Replication, Variant
from bentpipe.studies.study import Case, Measures
from bentpipe.studies.tolerance import Tolerance

if TYPE_CHECKING:
    import polars as pl

#: The algorithms of flow 1, in the order of the paper's figures.
ALGORITHMS = ("vegas", "vegas-a", "veno", "vegas-l")
#: Packet error rates: the paper's low and high.
LOW, HIGH = 1e-6, 1e-3
DURATION_S = 1000.0
RATE_BPS = 5e6
MSS_BYTES = 1024
#: TCP and IP in ns-2 (40 bytes), and the bytes that its satellite link layer adds to each packet (16 bytes).
TCP_IP_BYTES, LINK_BYTES = 40, 16
#: ns-2's Agent/TCP/Vegas, on which Vegas-A and Vegas-L build, sends packets of `packetSize_` as it is;
#: Newreno and TCP/Linux, the only one that has a Veno, add `TCP_IP_BYTES`.
WITHOUT_HEADER = ("vegas", "vegas-a", "vegas-l")
#: Length of a queue in ns-2 unless a script sets another, in packets; it counts the packet in transmission.
NS2_QUEUE = 50

#: Between these longitudes (degrees east) a satellite is at least 28 degrees above the horizon of Beijing
#: and Shanghai, where both senders are.
ASIA = (75.0, 120.0)
#: Speed of light, km/s, and radius of the geostationary orbit, km, as in the simulator's own geometry.
LIGHT_KM_PER_S, GEO_RADIUS_KM = 299_792.458, 42_164.17
#: Vegas's fixed thresholds, packets; Vegas-A begins with them and keeps them apart by the same two packets.
ALPHA, APART = 1.0, 2.0
#: Vegas-A as in figure 1, which prints < on both sides: Diff equal to alpha or beta changes nothing.
FIGURE_1 = {"equal_diff": "hold"}

#: Places of the terminals: latitude and longitude, degrees. The relay is halfway between the two satellites
#: in longitude, in view of both.
STATIONS = {
    "beijing": (39.4, 116.4),
    "new-york": (40.7, -74.0),
    "shanghai": (31.2, 121.5),
    "washington-as-printed": (28.9, 77.0),
    "washington-dc": (38.9, -77.0),
    "relay": (30.0, 42.5),
}
#: The terminals of flow 1 and of flow 2: source and receiver.
ENDS = (("beijing", "new-york"), ("shanghai", "washington"))


#: The connection between the two satellites of a flow that needs both: by a relay station on the ground, or
#: by a link between the satellites.
Between = Literal["relay", "satellites"]


@dataclass(frozen=True)
class VegasLSetup(Choices):
    """One choice of the values that the paper leaves open."""

    #: Degrees east between which the satellite's longitude is drawn anew for each seed: a few degrees decide
    #: which flow loses packets at a full drop-tail queue, so one longitude would say little about the others.
    satellite: tuple[float, float] = ASIA
    #: Degrees east of the second satellite, the one that the receivers see, where there are two.
    second_satellite: float = -15.0
    #: Satellites that the data of flow 1 and of flow 2 passes, 1 or 2.
    hops: tuple[int, int] = (1, 1)
    between: Between = "relay"
    destination: str = "washington-dc"
    #: Length of every queue as ns-2 counts it, the packet in transmission included.
    buffer_packets: int = NS2_QUEUE
    #: Controllers whose sender in ns-2 counts the header in `packetSize_`.
    without_header: tuple[str, ...] = WITHOUT_HEADER
    link_bytes: int = LINK_BYTES
    #: Do ACKs go through the satellite's transmitter, as data does? Otherwise they pass it by.
    acks_share: bool = True
    #: Packets that are lost at random: every packet on a satellite's downlink ("downlink"), only the data
    #: there ("data"), or packets on the downlink and on every uplink ("every").
    lossy: Literal["downlink", "data", "every"] = "downlink"
    #: Loss recovery of flow 1; flow 2 is NewReno by the paper.
    recovery: str = "sack"
    #: Controllers of flow 1 that answer every loss as Tahoe does, by one segment and a slow start.
    without_fast_recovery: tuple[str, ...] = ()
    #: The end of a recovery in NewReno (RFC 6582 section 3.2 step 3): option 2, as in ns-2, or "flight-size".
    newreno_exit: str = "ssthresh"
    initial_window: int = 2
    options: Mapping[str, Mapping[str, Any]] = field(
        default_factory=lambda: {
            "veno": {"rtt": "latest"},
            "vegas-a": FIGURE_1,
            "vegas-l": {**FIGURE_1, "line_15": "one"},
        },
        kw_only=True,
    )

    def longitude(self, seed: int) -> float:
        """The satellite's longitude in the runs of ``seed``, degrees east, to a hundredth of a degree."""
        return round(Random(seed).uniform(*self.satellite), 2)

    def header_bytes(self, cc: str) -> int:
        """Bytes on the wire beside the 1024 bytes of a packet of ``cc``."""
        return self.link_bytes + (0 if cc in self.without_header else TCP_IP_BYTES)

    def links(self, per: float, seed: int) -> dict[str, dict[str, Any]]:
        """The links of the runs of ``seed``, by name. ``per`` is the packet error rate.

        ``up-X`` is the transmitter of the terminal X with the way up to its satellite, ``sat`` the one
        transmitter of the satellite, ``down-X`` the way down from there to X. ``between`` and
        ``between-back`` are the transmitters of a link between two satellites.
        """
        rate = f"{RATE_BPS / 1e6:g} Mbit/s"
        # A scenario's limit does not count the packet in transmission.
        queue = {"kind": "drop-tail", "limit": f"{self.buffer_packets - 1} packets"}
        loss = {"loss": {"kind": "packet-error", "rate": per}}

        def up(station: str, satellite: float) -> dict[str, Any]:
            link = {"rate": rate, "queue": queue, "from": station, "satellite": _geo(satellite)}
            return link | loss if self.lossy == "every" else link

        def down(station: str, satellite: float, *, data: bool = False) -> dict[str, Any]:
            # Only propagation: nothing queues here, the satellite's transmitter is a link of its own.
            link = {"rate": "1 Gbit/s", "queue": queue, "to": station, "satellite": _geo(satellite)}
            return link | loss if data and self.lossy == "data" else link

        def transmitter(delay_s: float = 0.0, *, lossy: bool) -> dict[str, Any]:
            link = {"rate": rate, "queue": queue, "delay": f"{delay_s * 1e3:.3f} ms"}
            return link | loss if lossy else link

        first = self.longitude(seed)
        links = {"sat": transmitter(lossy=self.lossy != "data")}
        for (source, sink), hops in zip(ENDS, self.hops, strict=True):
            last = first if hops == 1 else self.second_satellite
            links[f"up-{source}"] = up(source, first)
            links[f"down-{source}"] = down(source, first)
            place = self.destination if sink == "washington" else sink
            links[f"up-{sink}"] = up(place, last)
            links[f"down-{sink}"] = down(place, last, data=True)
        if 2 in self.hops and self.between == "satellites":
            # Data comes down from the second satellite only, so that is where the receivers' errors are.
            links["second-sat"] = transmitter(lossy=self.lossy != "data")
            apart = between_satellites_s(first, self.second_satellite)
            links |= {name: transmitter(apart, lossy=False) for name in ("between", "between-back")}
        elif 2 in self.hops:
            links["second-sat"] = transmitter(lossy=self.lossy == "every")
            links["down-relay"] = down("relay", first)
            links["up-relay"] = up("relay", self.second_satellite)
            links["down-relay-back"] = down("relay", self.second_satellite)
            links["up-relay-back"] = up("relay", first)
        return links

    def path(self, flow: int) -> list[str]:
        """The links that the data of flow 1 or 2 crosses, in order."""
        source, sink = ENDS[flow - 1]
        relayed = ["sat", "down-relay", "up-relay", "second-sat"]
        two = ["between", "second-sat"] if self.between == "satellites" else relayed
        return [f"up-{source}", *(two if self.hops[flow - 1] == 2 else ["sat"]), f"down-{sink}"]

    def ack_path(self, flow: int) -> list[str]:
        """The links that the ACKs of flow 1 or 2 cross, in order: back through the same satellites."""
        source, sink = ENDS[flow - 1]
        relayed = ["second-sat", "down-relay-back", "up-relay-back", "sat"]
        two = ["between-back", "sat"] if self.between == "satellites" else relayed
        way = [f"up-{sink}", *(two if self.hops[flow - 1] == 2 else ["sat"]), f"down-{source}"]
        return way if self.acks_share else [link for link in way if link not in ("sat", "second-sat")]

    def flow(self, number: int, name: str, cc: str, recovery: str) -> dict[str, Any]:
        """Flow ``number``, 1 or 2."""
        more = {"newreno_exit": self.newreno_exit} if recovery == "newreno" else {}
        return design.flow(
            name,
            self.controller(cc),
            self.path(number),
            MSS_BYTES,
            self.header_bytes(cc),
            ack_path=self.ack_path(number),
            ack_size=f"{TCP_IP_BYTES + self.link_bytes} bytes",
            initial_window=self.initial_window,
            recovery=recovery,
            start_jitter="1 s",
            **more,
        )

    def scenario(self, cc: str, per: float, seed: int, duration_s: float) -> dict[str, Any]:
        """One run: flow 1 is ``cc``, flow 2 NewReno, both starting within the first second."""
        recovery = "tahoe" if cc in self.without_fast_recovery else self.recovery
        flows = [self.flow(1, "x", cc, recovery), self.flow(2, "newreno", "reno", "newreno")]
        stations = {name: {"lat": lat, "lon": lon} for name, (lat, lon) in STATIONS.items()}
        title = f"{cc} and NewReno by satellite, packet error rate {per:g}"
        record = {"interval": "1 s", "probes": True}
        return design.scenario(
            title, duration_s, seed, self.links(per, seed), flows, record=record, station=stations
        )


def between_satellites_s(one: float, other: float) -> float:
    """Propagation time of light between two geostationary satellites, s; their longitudes in degrees east."""
    return 2 * GEO_RADIUS_KM * abs(math.sin(math.radians(one - other) / 2)) / LIGHT_KM_PER_S


def _geo(longitude: float) -> dict[str, Any]:
    # ns-2 does not ask whether a station sees the satellite, so neither does this; the simulator warns.
    return {"geo": f"{abs(longitude):g}{'E' if longitude >= 0 else 'W'}", "min_elevation": -90.0}


BASE = VegasLSetup()

#: The choices that are tried beside the base.
VARIANTS = (
    Variant("washington-as-printed", "flow 2 to the printed 28.9N 77E, near New Delhi",
        replace(BASE, destination="washington-as-printed"), quick=True, evidence=Origin.PAPER,
        source="section IV-A prints these coordinates and names Washington"),
    Variant("two-satellites", "both flows by two satellites with a link between them",
        replace(BASE, hops=(2, 2), between="satellites"), quick=True, evidence=Origin.IMPLIED,
        source="350 packets at 2.9 Mbit/s are a round trip of 0.99 s"),
    Variant("two-satellites-flow-1", "flow 1 by two satellites with a link between them",
        replace(BASE, hops=(2, 1), between="satellites"), evidence=Origin.IMPLIED,
        source="350 packets at 2.9 Mbit/s are a round trip of 0.99 s; NewReno's 0.5 Mbit/s at 1e-3 one of "
        "0.63 s at most"),
    Variant("two-hops", "both flows by two hops, with a relay station between the satellites",
        replace(BASE, hops=(2, 2)), evidence=Origin.IMPLIED,
        source="350 packets at 2.9 Mbit/s are a round trip of 0.99 s"),
    Variant("no-acks", "ACKs do not share the downlink", replace(BASE, acks_share=False), quick=True),
    Variant("satellite-95W", "satellite at 95W for every seed", replace(BASE, satellite=(-95.0, -95.0)),
        evidence=Origin.DEFAULT, source="the GEO satellite of ns-2's example sat-repeater.tcl"),
    Variant("satellite-pacific", "satellite over the Pacific (180 to 135W), between Beijing and New York",
        replace(BASE, satellite=(-180.0, -135.0))),
    Variant("satellite-americas", "satellite over the Americas (115W to 70W), above the receivers",
        replace(BASE, satellite=(-115.0, -70.0))),
    Variant("satellite-anywhere", "satellite at any longitude", replace(BASE, satellite=(-180.0, 180.0)),
        quick=True),
    Variant("buffer-25", "buffer 25 packets", replace(BASE, buffer_packets=25)),
    Variant("buffer-40", "buffer 40 packets", replace(BASE, buffer_packets=40), evidence=Origin.FITTED),
    Variant("buffer-100", "buffer 100 packets", replace(BASE, buffer_packets=100)),
    Variant("buffer-300", "buffer 300 packets (1 BDP)", replace(BASE, buffer_packets=300)),
    Variant("line-15-scaled", "Vegas-L's cases scale line 15 of figure 1 as well",
        BASE.tuned("vegas-l", {"line_15": "scaled"}), quick=True,
        source="they would then scale every step up; line 15 does not have their condition"),
    Variant("ns2-diff",
        "Diff as in ns-2's Vegas: a whole number, and equal to alpha or beta counts as between them",
        BASE.tuned("vegas-a vegas-l", {"equal_diff": "inside", "diff": "rounded"}), quick=True,
        evidence=Origin.DEFAULT, source="ns-2.35 tcp/tcp-vegas.cc, on which Vegas-A builds"),
    Variant("rounded-diff", "Vegas-A and Vegas-L round Diff, and Diff equal to alpha or beta changes nothing",
        BASE.tuned("vegas-a vegas-l", {"diff": "rounded"}), evidence=Origin.DEFAULT,
        source="ns-2.35 tcp/tcp-vegas.cc, on which Vegas-A builds"),
    Variant("alpha-kept", "Vegas-A and Vegas-L keep alpha at a timeout",
        BASE.tuned("vegas-a vegas-l", {"alpha_at_timeout": "keep"}), evidence=Origin.PAPER,
        source="figures 1 and 2 change alpha nowhere else"),
    Variant("vegas-a-tahoe", "Vegas-A answers a loss by one segment and a slow start, as Tahoe",
        replace(BASE, without_fast_recovery=("vegas-a",)), quick=True,
        source="neither figure 1 nor figure 2 has an answer to a loss"),
    Variant("vegas-a-half", "Vegas-A keeps half of the window at a loss, as Linux's Vegas",
        BASE.tuned("vegas-a", {"at_loss": "half"}), source="neither figure has an answer to a loss"),
    Variant("both-half", "Vegas-A and Vegas-L keep half of the window at a loss",
        BASE.tuned("vegas-a vegas-l", {"at_loss": "half"}), source="neither figure has an answer to a loss"),
    Variant("both-tahoe", "Vegas-A and Vegas-L answer a loss by one segment and a slow start",
        replace(BASE, without_fast_recovery=("vegas-a", "vegas-l")),
        source="neither figure has an answer to a loss"),
    Variant("reading-a", "Vegas-L's cases replace Vegas-A's steps (reading A)",
        BASE.tuned("vegas-l", {"reading": "A"}), evidence=Origin.PAPER,
        source="figure 2 to the letter, without figure 1"),
    Variant("a1-dec", "Vegas-A and Vegas-L step down on delay at alpha = 1 too",
        BASE.tuned("vegas-a vegas-l", {"a1_dec": True})),
    Variant("veno-round", "Veno judges by the smallest RTT of the last round trip",
        BASE.tuned("veno", {"rtt": "round"}), quick=True,
        source="the paper of Veno; ns-2's only Veno takes that of the latest ACK"),
    Variant("newreno", "flow 1 recovers as NewReno does", replace(BASE, recovery="newreno")),
    Variant("newreno-option-1", "NewReno ends a recovery by option 1 of RFC 6582",
        replace(BASE, newreno_exit="flight-size")),
    Variant("equal-sizes", "packets of one size, 1080 bytes on the wire", replace(BASE, without_header=())),
    Variant("no-link-header", "no link-layer header", replace(BASE, link_bytes=0)),
    Variant("loss-data", "no ACK lost at random", replace(BASE, lossy="data")),
    Variant("loss-every-link", "packets lost on the uplinks too", replace(BASE, lossy="every")),
)  # fmt: skip

#: The paper read as a whole.
READINGS = (
    Reading("as-printed", "as printed: flow 2 to 28.9N 77E; alpha kept at a timeout",
        ("washington-as-printed", "alpha-kept"), quick=True),
    Reading("implied", "by its own numbers: flow 1 by two linked satellites, flow 2 by one to 28.9N 77E",
        ("washington-as-printed", "two-satellites-flow-1")),
    Reading("physical",
        "a path that light can take: both flows by two linked satellites in view of their stations",
        ("two-satellites",), quick=True),
    Reading("defensible", "Diff as in ns-2's Vegas", ("ns2-diff",), quick=True),
    Reading("two-hops-ns2",
        "both flows by two hops with a relay station between, which 350 packets at 2.9 Mbit/s imply, and "
        "Diff as in ns-2's Vegas", ("two-hops", "ns2-diff")),
    Reading("tahoe", "Vegas-A, whose answer to a loss is not printed, answers as Tahoe", ("vegas-a-tahoe",),
        quick=True),
    Reading("fitted", "fitted: Diff as in ns-2's Vegas, a buffer of 40 packets", ("ns2-diff", "buffer-40")),
)  # fmt: skip

#: The seed whose windows figure 4 draws.
TRACE_SEED = 1


@dataclass(frozen=True)
class VegasLSize(design.Size):
    """The amount of runs of a mode, and the length of a run."""

    duration_s: float = DURATION_S


def points(_: Replication[VegasLSetup, VegasLSize]) -> Iterator[Keys]:
    """Error rate and algorithm of flow 1 of every run of one seed."""
    return ({"cc": cc, "per": per} for per in (LOW, HIGH) for cc in ALGORITHMS)


def scenario(of: Replication[VegasLSetup, VegasLSize], cc: str, per: float) -> dict[str, Any]:
    """One run."""
    return of.setup.scenario(cc, per, of.seed, of.size.duration_s)


#: The paper's "first 150 seconds" of 1000, as a share of the run.
EARLY = 0.15
#: The steady part of a run begins here, as a share of it: the windows have had half the run to settle.
STEADY = 0.5
CUT = Tolerance(
    0.1,
    "V4: a window is cut if it falls by more than this share from one second to the next",
    "less than the least cut at a loss, Veno's fifth",
)


def measure(case: Case, result: Mapping[str, Any], trace: pl.DataFrame | None) -> Measures:
    """The scalars of one run.

    ``x_mbps``, ``newreno_mbps``: goodput, Mbit/s; ``jain`` of the two; ``cwnd_early``, ``cwnd_steady``: mean
    window of flow 1, segments; ``cwnd_cv``: standard deviation over mean of its steady window; ``cuts``:
    falls of its window by more than a tenth, per 100 s; ``x_rtt_s``, ``newreno_rtt_s``: mean RTT;
    ``x_rtt_min_s``, ``newreno_rtt_min_s``; ``x_lost``, ``newreno_lost``: data packets lost; ``x_timeouts``;
    ``newreno_uplink_lost``: those of NewReno that its own uplink's full queue dropped; ``queue``: mean queue
    of the shared downlink, data and ACKs; ``utilisation`` of it; and `inside` of flow 1.
    """
    import polars as pl

    if trace is None:
        raise ValueError("this study measures windows over time, so its runs record a trace")
    x, newreno = ({f["name"]: f for f in result["flows"]}[n] for n in ("x", "newreno"))
    links = {k["name"]: k for k in result["links"] if k["direction"] == "forward"}
    shared = links["sat"]
    length = float(result["simulated_s"])
    window = trace.filter(pl.col("flow") == "x").sort("t_s")
    early = window.filter(pl.col("t_s") < EARLY * length)["cwnd"].to_list()
    steady = window.filter(pl.col("t_s") >= STEADY * length)["cwnd"].to_list()
    falls = window["cwnd"].diff() / window["cwnd"].shift(1)
    steady_mean = fmean(steady)
    return {
        "x_mbps": x["goodput_bps"] / 1e6,
        "newreno_mbps": newreno["goodput_bps"] / 1e6,
        "jain": jain([x["goodput_bps"], newreno["goodput_bps"]]),
        "cwnd_early": fmean(early),
        "cwnd_steady": steady_mean,
        "cwnd_cv": stdev(steady) / steady_mean,
        "cuts": int((falls < -CUT).sum()) / length * 100,
        "x_rtt_s": float(x["rtt_mean_s"]),
        "newreno_rtt_s": float(newreno["rtt_mean_s"]),
        "x_rtt_min_s": float(x["rtt_min_s"]),
        "newreno_rtt_min_s": float(newreno["rtt_min_s"]),
        "x_lost": int(x["dropped_packets"]),
        "newreno_lost": int(newreno["dropped_packets"]),
        "x_timeouts": int(x["timeouts"]),
        "newreno_uplink_lost": int(links["up-shanghai"]["dropped_queue"]),
        "newreno_timeouts": int(newreno["timeouts"]),
        "queue": float(shared["queue_mean_packets"]),
        "utilisation": float(shared["utilisation"]),
        **inside(window),
    }


def inside(window: pl.DataFrame) -> Measures:
    """Results of the probes of Vegas and its family in a run; empty for Veno, which has no alpha.

    ``alpha_above``, ``diff_above``: the shares of the samples with alpha, or Diff, above the alpha of 1
    packet that all begin with; ``base_rtt_s``: baseRTT at the end.
    """
    if "alpha_segments" not in window.columns:
        return {}

    def above(probe: str) -> float:
        return int((window[probe].fill_nan(None) > ALPHA).sum()) / window.height

    return {
        "alpha_above": above("alpha_segments"),
        "diff_above": above("diff_segments"),
        "base_rtt_s": float(window["base_rtt_s"][-1]),
    }


DESIGN = Design(
    BASE,
    VARIANTS,
    {"quick": VegasLSize(4, 2), "full": VegasLSize(24, 10)},
    points,
    scenario,
    measure,
    note="{size.seeds} seeds (1 to {size.seeds}) of {size.duration_s:g} s for every value; "
    "{size.sensitivity_seeds} seeds for each changed choice. A seed draws the satellite's longitude, the "
    "start of each flow and the packets that are lost.",
    keeps=lambda keys, seed: seed == TRACE_SEED,
    readings=READINGS,
)

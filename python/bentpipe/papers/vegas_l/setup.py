"""The set-up of the Vegas-L paper as scenarios: what it gives, and what had to be chosen.

The paper gives the ground stations, 5 Mbit/s links, drop-tail, 1024-byte packets, 1000 s and two packet error
rates. It does not give the satellite's longitude, the number of hops, or the buffer; `Setup` holds one choice
of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from bentpipe.studies import design, parts
from bentpipe.studies.design import Choices, Design, Keys, Replication

#: The algorithms of flow 1, in the order of the paper's figures.
ALGORITHMS = ("vegas", "vegas-a", "veno", "vegas-l")
#: Packet error rates: the paper's low and high.
LOW, HIGH = 1e-6, 1e-3
DURATION_S = 1000.0
RATE_BPS = 5e6
MSS_BYTES = 1024
#: TCP and IP in ns-2 (40 bytes), and what its satellite link layer adds to each packet (16 bytes).
TCP_IP_BYTES, LINK_BYTES = 40, 16
#: Length of a queue in ns-2 unless a script sets another, in packets; it counts the packet in transmission.
NS2_QUEUE = 50

#: Between these longitudes (degrees east) a satellite stands at least 25 degrees above the horizon of
#: Beijing, Shanghai and 28.9N 77E.
ASIA = (75.0, 120.0)

STATIONS = {
    "beijing": (39.4, 116.4),
    "new-york": (40.7, -74.0),
    "shanghai": (31.2, 121.5),
    "washington-as-printed": (28.9, 77.0),
    "washington-dc": (38.9, -77.0),
    # Halfway between the two satellites in longitude, in view of both.
    "relay": (30.0, 42.5),
}


#: The terminals of flow 1 and of flow 2: source and receiver.
ENDS = (("beijing", "new-york"), ("shanghai", "washington"))


@dataclass(frozen=True)
class Setup(Choices):
    """One choice of everything that the paper leaves open."""

    #: Degrees east between which the satellite's longitude is drawn anew for each seed: a few degrees decide
    #: who loses packets at a full drop-tail queue, so one longitude would say little about the others.
    satellite: tuple[float, float] = ASIA
    #: Degrees east of the second satellite, the one that New York sees, where there are two hops.
    second_satellite: float = -15.0
    #: Satellite hops of flow 1 and of flow 2, 1 or 2.
    hops: tuple[int, int] = (1, 1)
    destination: str = "washington-as-printed"
    #: Length of every queue as ns-2 counts it, the packet in transmission included.
    buffer_packets: int = NS2_QUEUE
    header_bytes: int = TCP_IP_BYTES + LINK_BYTES
    #: Do ACKs go through the satellite's transmitter, as data does? Otherwise they pass it by.
    acks_share: bool = True
    #: What is lost at random: every packet on the satellite's downlink ("downlink"), only the data there
    #: ("data"), or packets on the downlink and on every uplink ("every").
    lossy: Literal["downlink", "data", "every"] = "downlink"
    #: Loss recovery of flow 1; flow 2 is NewReno by the paper.
    recovery: str = "sack"

    def longitude(self, seed: int) -> float:
        """The satellite's longitude in the runs of ``seed``, degrees east, to a hundredth of a degree."""
        return round(Random(seed).uniform(*self.satellite), 2)

    def links(self, per: float, seed: int) -> dict[str, dict[str, Any]]:
        """The links of the runs of ``seed``, by name. ``per`` is the packet error rate.

        ``up-X`` is the transmitter of the terminal X with the way up to its satellite, ``sat`` the one
        transmitter of the satellite, ``down-X`` the way down from there to X.
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

        def transmitter(*, lossy: bool) -> dict[str, Any]:
            link = {"rate": rate, "queue": queue, "delay": "0 s"}
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
        if 2 in self.hops:
            links["second-sat"] = transmitter(lossy=self.lossy == "every")
            links["down-relay"] = down("relay", first)
            links["up-relay"] = up("relay", self.second_satellite)
            links["down-relay-back"] = down("relay", self.second_satellite)
            links["up-relay-back"] = up("relay", first)
        return links

    def path(self, flow: int) -> list[str]:
        """The links that the data of flow 1 or 2 crosses, in order."""
        source, sink = ENDS[flow - 1]
        relay = ["down-relay", "up-relay", "second-sat"] if self.hops[flow - 1] == 2 else []
        return [f"up-{source}", "sat", *relay, f"down-{sink}"]

    def ack_path(self, flow: int) -> list[str]:
        """The links that the ACKs of flow 1 or 2 cross, in order: back through the same satellites."""
        source, sink = ENDS[flow - 1]
        relay = ["second-sat", "down-relay-back", "up-relay-back"] if self.hops[flow - 1] == 2 else []
        way = [f"up-{sink}", *relay, "sat", f"down-{source}"]
        return way if self.acks_share else [link for link in way if link not in ("sat", "second-sat")]

    def scenario(self, cc: str, per: float, seed: int, duration_s: float) -> dict[str, Any]:
        """One run: flow 1 is ``cc``, flow 2 NewReno, both starting within the first second."""
        sizes = (MSS_BYTES, self.header_bytes)
        common = {"ack_size": f"{self.header_bytes} bytes", "start_jitter": "1 s"}
        both = ((1, "x", self.controller(cc), self.recovery), (2, "newreno", "reno", "newreno"))
        flows = [
            parts.flow(name, of, self.path(i), *sizes, ack_path=self.ack_path(i), recovery=how, **common)
            for i, name, of, how in both
        ]
        stations = {name: {"lat": lat, "lon": lon} for name, (lat, lon) in STATIONS.items()}
        title = f"{cc} and NewReno over GEO, packet error rate {per:g}"
        record = {"interval": "1 s"}
        return parts.scenario(
            title, duration_s, seed, self.links(per, seed), flows, record=record, station=stations
        )


def _geo(longitude: float) -> dict[str, Any]:
    # ns-2 does not ask whether a station sees the satellite, so neither does this; the simulator warns.
    return {"geo": f"{abs(longitude):g}{'E' if longitude >= 0 else 'W'}", "min_elevation": -90.0}


BASE = Setup()


TWO_HOPS = BASE.changed(hops=(2, 1))

VARIANTS = (
    BASE.variant("no-acks", "ACKs do not share the downlink", quick=True, acks_share=False),
    BASE.variant("satellite-100E", "satellite at 100E for every seed", satellite=(100.0, 100.0)),
    BASE.variant(
        "satellite-pacific",
        "satellite over the Pacific (180 to 135W), between Beijing and New York",
        satellite=(-180.0, -135.0),
    ),
    BASE.variant(
        "satellite-americas", "satellite over the Americas (115W to 70W)", satellite=(-115.0, -70.0)
    ),
    BASE.variant("two-hops", "flow 1 by two hops", quick=True, hops=(2, 1)),
    TWO_HOPS.variant(
        "two-hops-no-acks", "flow 1 by two hops, ACKs do not share the downlink", acks_share=False
    ),
    BASE.variant(
        "washington-dc",
        "flow 2 to Washington, D.C. (38.9N 77W); both flows by two hops",
        quick=True,
        hops=(2, 2),
        destination="washington-dc",
    ),
    BASE.variant(
        "washington-dc-one-hop",
        "flow 2 to Washington, D.C., both flows by one hop",
        destination="washington-dc",
    ),
    BASE.variant(
        "washington-dc-buffer-100",
        "flow 2 to Washington, D.C.; both flows by two hops; buffer 100 packets",
        hops=(2, 2),
        destination="washington-dc",
        buffer_packets=100,
    ),
    BASE.variant("buffer-25", "buffer 25 packets", buffer_packets=25),
    BASE.variant("buffer-100", "buffer 100 packets", buffer_packets=100),
    BASE.variant("buffer-300", "buffer 300 packets (1 BDP)", buffer_packets=300),
    BASE.variant(
        "reading-a",
        "Vegas-L's cases replace Vegas-A's steps (reading A)",
        quick=True,
        options={"vegas-l": {"reading": "A"}},
    ),
    BASE.variant(
        "a1-dec",
        "Vegas-A and Vegas-L step down on delay at alpha = 1 too",
        options={"vegas-a": {"a1_dec": True}, "vegas-l": {"a1_dec": True}},
    ),
    BASE.variant(
        "veno-latest",
        "Veno judges by the RTT of the latest ACK, as in ns-2",
        quick=True,
        options={"veno": {"rtt": "latest"}},
    ),
    BASE.variant("newreno", "flow 1 recovers as NewReno does", recovery="newreno"),
    BASE.variant("header-40", "no link-layer header", header_bytes=TCP_IP_BYTES),
    BASE.variant("loss-data", "no ACK lost at random", lossy="data"),
    BASE.variant("loss-every-link", "packets lost on the uplinks too", lossy="every"),
)

#: The seed whose windows figure 4 draws.
TRACE_SEED = 1


@dataclass(frozen=True)
class Size(design.Size):
    """How much a mode runs, and how long a run is."""

    duration_s: float = DURATION_S


def points(_: Replication[Setup, Size]) -> Iterator[Keys]:
    """Error rate and algorithm of flow 1 of every run of one seed."""
    return ({"cc": cc, "per": per} for per in (LOW, HIGH) for cc in ALGORITHMS)


def scenario(of: Replication[Setup, Size], cc: str, per: float) -> dict[str, Any]:
    """One run."""
    return of.setup.scenario(cc, per, of.seed, of.size.duration_s)


DESIGN = Design(
    BASE,
    VARIANTS,
    {"quick": Size(8, 4), "full": Size(24, 10)},
    points,
    scenario,
    note=(
        "{size.seeds} seeds (1 to {size.seeds}) of {size.duration_s:g} s for every value; "
        "{size.sensitivity_seeds} seeds for each changed choice. A seed draws the satellite's longitude, "
        "the start of each flow and the packets that are lost."
    ),
    keeps=lambda keys, seed: seed == TRACE_SEED,
)

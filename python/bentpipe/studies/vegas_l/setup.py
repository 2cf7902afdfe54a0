"""The set-up of the Vegas-L paper as scenarios: what it gives, and what had to be chosen.

The paper gives the ground stations, 5 Mbit/s links, drop-tail, 1024-byte packets, 1000 s and two packet error
rates. It does not give the satellite's longitude, the number of hops, or the buffer; `Setup` holds one choice
of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

#: The algorithms of flow 1, in the order of the paper's figures.
ALGORITHMS = ("vegas", "vegas-a", "veno", "vegas-l")
#: Packet error rates: the paper's low and high.
LOW, HIGH = 1e-6, 1e-3
DURATION_S = 1000.0
RATE_BPS = 5e6
MSS_BYTES = 1024
#: TCP and IP in ns-2 (40 bytes), and what its satellite link layer adds to each packet (16 bytes).
TCP_IP_BYTES, LINK_BYTES = 40, 16
#: Length of a queue in ns-2 unless a script sets another, in packets.
NS2_QUEUE = 50
#: ACKs per second that share the downlink with data: one per data packet at about 4 Mbit/s, what the two
#: flows get together at the low error rate. (At the high rate they get less, but then there is no queue.)
ACKS_PER_S = 500

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


@dataclass(frozen=True)
class Setup:
    """One choice of everything that the paper leaves open."""

    #: Degrees east between which the satellite's longitude is drawn anew for each seed: a few degrees decide
    #: who loses packets at a full drop-tail queue, so one longitude would say little about the others.
    satellite: tuple[float, float] = ASIA
    #: Degrees east of the second satellite, the one that New York sees, where there are two hops.
    second_satellite: float = -15.0
    #: Satellite hops of flow 1 and of flow 2, 1 or 2.
    hops: tuple[int, int] = (1, 1)
    destination: str = "washington-as-printed"
    buffer_packets: int = NS2_QUEUE
    header_bytes: int = TCP_IP_BYTES + LINK_BYTES
    #: Small packets per second that cross the shared downlink in place of the ACKs.
    acks_per_s: int = ACKS_PER_S
    #: Where packets are lost: on the shared downlink only, or on every link that data crosses.
    lossy_links: str = "shared"
    #: Loss recovery of flow 1; flow 2 is NewReno by the paper.
    recovery: str = "sack"
    #: Parameters of algorithms, by id, where they differ from the registry's defaults.
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def changed(self, **values: Any) -> Setup:
        """The same with some choices changed."""
        return replace(self, **values)

    def longitude(self, seed: int) -> float:
        """The satellite's longitude in the runs of ``seed``, degrees east, to a hundredth of a degree."""
        return round(Random(seed).uniform(*self.satellite), 2)

    def links(self, per: float, seed: int) -> dict[str, dict[str, Any]]:
        """The links of the runs of ``seed``, by name. ``per`` is the packet error rate."""
        shared = self.longitude(seed)
        queue = {"kind": "drop-tail", "limit": f"{self.buffer_packets} packets"}
        rate = f"{RATE_BPS / 1e6:g} Mbit/s"
        loss = {"kind": "packet-error", "rate": per}

        def up(station: str, satellite: float) -> dict[str, Any]:
            link = {"rate": rate, "queue": queue, "from": station, "satellite": _geo(satellite)}
            return {**link, "loss": loss} if self.lossy_links == "every" else link

        def down(station: str, satellite: float) -> dict[str, Any]:
            # Only the propagation of the downlink; its transmitter is a link of its own, shared by all
            # receivers.
            return {"rate": "1 Gbit/s", "queue": queue, "to": station, "satellite": _geo(satellite)}

        def transmitter(*, lossy: bool) -> dict[str, Any]:
            link = {"rate": rate, "queue": queue, "delay": "0 s"}
            return {**link, "loss": loss} if lossy else link

        last = [shared if n == 1 else self.second_satellite for n in self.hops]
        links = {
            "up-beijing": up("beijing", shared),
            "up-shanghai": up("shanghai", shared),
            "sat": transmitter(lossy=True),
            "down-new-york": down("new-york", last[0]),
            "down-washington": down(self.destination, last[1]),
        }
        if 2 in self.hops:
            links["down-relay"] = down("relay", shared)
            links["up-relay"] = up("relay", self.second_satellite)
            links["second-sat"] = transmitter(lossy=self.lossy_links == "every")
        return links

    def path(self, flow: int) -> list[str]:
        """The links that the data of flow 1 or 2 crosses, in order."""
        source, sink = (("up-beijing", "down-new-york"), ("up-shanghai", "down-washington"))[flow - 1]
        relay = ["down-relay", "up-relay", "second-sat"] if self.hops[flow - 1] == 2 else []
        return [source, "sat", *relay, sink]

    def scenario(self, cc: str, per: float, seed: int, duration_s: float) -> dict[str, Any]:
        """One run: flow 1 is ``cc``, flow 2 NewReno, both starting within the first second."""
        options = self.options.get(cc)
        common = {
            "profile": "paper",
            "mss": f"{MSS_BYTES} bytes",
            "header": f"{self.header_bytes} bytes",
            "ack_size": f"{self.header_bytes} bytes",
            "start_jitter": "1 s",
        }
        acks = {
            "name": "acks",
            "path": ["sat"],
            "traffic": {
                "kind": "cbr",
                "rate": f"{self.acks_per_s * self.header_bytes * 8 / 1e3:g} kbit/s",
                "packet": f"{self.header_bytes} bytes",
            },
            "profile": "paper",
            "header": "0 bytes",
            "start_jitter": "1 s",
        }
        return {
            "title": f"{cc} and NewReno over GEO, packet error rate {per:g}",
            "duration": f"{duration_s:g} s",
            "seed": seed,
            "record": {"interval": "1 s"},
            "station": {name: {"lat": lat, "lon": lon} for name, (lat, lon) in STATIONS.items()},
            "link": self.links(per, seed),
            "flow": [
                {
                    "name": "x",
                    "cc": {"name": cc, **options} if options else cc,
                    "path": self.path(1),
                    "recovery": self.recovery,
                    **common,
                },
                {"name": "newreno", "cc": "reno", "path": self.path(2), "recovery": "newreno", **common},
                *([acks] if self.acks_per_s else []),
            ],
        }


def _geo(longitude: float) -> dict[str, Any]:
    # ns-2 does not ask whether a station sees the satellite, so neither does this; the simulator warns.
    return {"geo": f"{abs(longitude):g}{'E' if longitude >= 0 else 'W'}", "min_elevation": -90.0}


BASE = Setup()


@dataclass(frozen=True)
class Variant:
    """One choice changed against the base, for the sensitivity table."""

    name: str
    choice: str
    setup: Setup
    #: Also run in quick mode.
    quick: bool = False


TWO_HOPS = BASE.changed(hops=(2, 1))

VARIANTS = (
    Variant("no-acks", "ACKs do not share the downlink", BASE.changed(acks_per_s=0), quick=True),
    Variant("satellite-100E", "satellite at 100E for every seed", BASE.changed(satellite=(100.0, 100.0))),
    Variant(
        "satellite-pacific",
        "satellite over the Pacific (180 to 135W), between Beijing and New York",
        BASE.changed(satellite=(-180.0, -135.0)),
    ),
    Variant(
        "satellite-americas",
        "satellite over the Americas (115W to 70W)",
        BASE.changed(satellite=(-115.0, -70.0)),
    ),
    Variant("two-hops", "flow 1 by two hops", TWO_HOPS, quick=True),
    Variant(
        "two-hops-no-acks",
        "flow 1 by two hops, ACKs do not share the downlink",
        TWO_HOPS.changed(acks_per_s=0),
    ),
    Variant(
        "washington-dc",
        "flow 2 to Washington, D.C. (38.9N 77W); both flows by two hops",
        BASE.changed(hops=(2, 2), destination="washington-dc"),
    ),
    Variant("buffer-25", "buffer 25 packets", BASE.changed(buffer_packets=25)),
    Variant("buffer-100", "buffer 100 packets", BASE.changed(buffer_packets=100)),
    Variant("buffer-300", "buffer 300 packets (1 BDP)", BASE.changed(buffer_packets=300)),
    Variant(
        "reading-a",
        "Vegas-L's cases replace Vegas-A's steps (reading A)",
        BASE.changed(options={"vegas-l": {"reading": "A"}}),
        quick=True,
    ),
    Variant(
        "a1-dec",
        "Vegas-A and Vegas-L step down on delay at alpha = 1 too",
        BASE.changed(options={"vegas-a": {"a1_dec": True}, "vegas-l": {"a1_dec": True}}),
    ),
    Variant("newreno", "flow 1 recovers as NewReno does", BASE.changed(recovery="newreno")),
    Variant("header-40", "no link-layer header", BASE.changed(header_bytes=TCP_IP_BYTES)),
    Variant("loss-every-link", "packets lost on the uplinks too", BASE.changed(lossy_links="every")),
)

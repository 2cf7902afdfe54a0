"""The links that a search may try: their bounds, and the scenario that each becomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from bentpipe import _core
from bentpipe.breaking.search import Between, OneOf, Point
from bentpipe.document.spans import Span, merged
from bentpipe.registry import unknown
from bentpipe.units import PACKET

LEAST_PACKETS = 5
"""No queue holds less."""
INTERVAL = "100 ms"
"""The interval of traces; measures over time are as fine as this."""
LINK = "sat"
"""The name of the link."""
FIRST, SECOND, CROSS = "first", "second", "cross"
"""Names of the flows: that of the algorithm, another TCP flow, and unresponsive traffic."""
STEADY = 0.5
"""Unresponsive traffic without pauses takes this share of the link's least rate at most."""
PULSES = 5
"""A run about pulses has this number of them at least."""
QUEUES = ("drop-tail", "codel", "fq-codel", "pie", "red")
"""Kinds of queues that are tried; the first is the plain one."""
BOUNDS = {
    "rate": Span("rate", 1.0, 10.0, "Mbit/s"),
    "rtt": Span("rtt", 10.0, 600.0, "ms"),
    "buffer": Span("buffer", 0.2, 4.0, "bdp"),
}
"""Bounds of rate, round trip and buffer, unless the caller gives others."""
PARTS = {
    "queue": "a queue that manages itself",
    "losses": "packets lost at random, up to 3 %, alone or in bursts of up to 30",
    "ack-losses": "acknowledgements lost at random, up to 10 %",
    "jitter": "acknowledgements held for a random time of up to 100 ms, of all flows or of the first",
    "outages": "outages of 50 ms to 3 s, every 2 s to 20 s, of a fifth of the time at most",
    "cross": "unresponsive traffic: always, up to half of the least rate; or in pulses of up to 150 %",
    "offset": "the second flow has a longer path, by up to half of the round trip",
    "late": "the second flow begins later, within the first third",
    "changes": "instants at which the rate, the delay or the presence of the path changes",
}
"""Parts of a link beyond rate, round trip and buffer; `without` takes these names."""


@dataclass(frozen=True)
class Change:
    """A change of the path at an instant.

    Attributes:
        at_s: when.
        kind: "rate" (bit/s from then on), "delay" (s, one way, from then on) or "down" (s without a path).
        value: in the unit of its kind.
    """

    at_s: float
    kind: str
    value: float


@dataclass(frozen=True)
class Conditions:
    """A link and what goes on over it. The defaults are a plain link; shares and times of 0 mean absence.

    Attributes:
        duration_s: simulated time.
        rate_bps: rate of both directions.
        rtt_s: round trip without queues.
        buffer_bdp: limit of the queue in bandwidth-delay products.
        queue: its kind.
        loss_rate: share of data packets lost at random.
        burst: mean length of a run of lost packets; 1: they are independent.
        ack_loss_rate: share of acknowledgements lost at random.
        jitter_s: longest time for which an acknowledgement is held.
        jitter_all: whether that concerns all flows, or the first alone.
        outage_s: length of an outage, in which all data sent is lost.
        outage_every_s: time from one to the next.
        cross_share: rate of the unresponsive traffic while it is on, as a share of the link's.
        cross_on_s: length of a pulse.
        cross_off_s: pause between two pulses; 0: it is always on.
        offset_s: what the second flow's round trip is longer.
        late_s: when the second flow begins.
        changes: the time line, in the order of time.
    """

    duration_s: float
    rate_bps: float = 10e6
    rtt_s: float = 0.1
    buffer_bdp: float = 1.0
    queue: str = "drop-tail"
    loss_rate: float = 0.0
    burst: float = 1.0
    ack_loss_rate: float = 0.0
    jitter_s: float = 0.0
    jitter_all: bool = True
    outage_s: float = 0.0
    outage_every_s: float = 10.0
    cross_share: float = 0.0
    cross_on_s: float = 0.5
    cross_off_s: float = 0.0
    offset_s: float = 0.0
    late_s: float = 0.0
    changes: tuple[Change, ...] = ()

    def unlike_plain(self) -> list[str]:
        """The names of the fields that differ from those of a plain link, the duration apart."""
        plain = Conditions(self.duration_s)
        off = {
            "burst": not self.loss_rate,
            "jitter_all": not self.jitter_s,
            "outage_every_s": not self.outage_s,
            "cross_on_s": not self.cross_share or not self.cross_off_s,
            "cross_off_s": not self.cross_share,
        }
        names = [field.name for field in fields(self)]
        return [n for n in names if getattr(self, n) != getattr(plain, n) and not off.get(n, False)]

    def tidy(self) -> Conditions:
        """The same link, with the values of a plain one in fields that have no effect."""
        kept = {name: getattr(self, name) for name in self.unlike_plain()}
        return Conditions(self.duration_s, **kept)

    def packets(self) -> int:
        """The limit of the queue in packets."""
        return max(LEAST_PACKETS, round(self.buffer_bdp * self.rate_bps * self.rtt_s / 8 / PACKET))


@dataclass(frozen=True)
class Bounds:
    """The bounds of a search.

    Attributes:
        spans: ranges of rate, rtt and buffer; those that are missing are the ones of `BOUNDS`.
        without: names of `PARTS` that no link has.
        changes: most changes of the time line.
        duration_s: simulated time of a run.

    Raises:
        ScenarioError: a name or a unit is wrong.
    """

    duration_s: float
    spans: Mapping[str, Span]
    without: Sequence[str] = ()
    changes: int = 3

    def __post_init__(self) -> None:
        for name in self.without:
            if name not in PARTS:
                raise _core.ScenarioError(unknown("part of a link", name, list(PARTS)))
        if (buffer := self.spans.get("buffer")) is not None and buffer.unit != "bdp":
            raise _core.ScenarioError(
                f'buffer: {buffer} is not in bandwidth-delay products; write "0.5..2 bdp"'
            )

    def variables(self, *, two: bool, cross: bool) -> list[Between | OneOf]:
        """The space of the search.

        Args:
            two: whether a second flow shares the link.
            cross: whether there is always unresponsive traffic, in pulses.
        """
        found: list[Between | OneOf] = []
        for name, usual in BOUNDS.items():
            span = self.spans.get(name, usual)
            if not span.known:
                found.append(Between(name, span.low, span.high, log=True))
        has = {name for name in PARTS if name not in self.without}
        if "queue" in has:
            found.append(OneOf("queue", QUEUES))
        if "losses" in has:
            found += [
                OneOf("losses", ("none", "single", "bursts")),
                Between("loss_rate", 1e-4, 0.03, log=True), Between("burst", 2, 30, log=True),
            ]  # fmt: skip
        if "ack-losses" in has:
            found += [OneOf("ack-losses", ("none", "some")), Between("ack_loss_rate", 0.01, 0.1, log=True)]
        if "jitter" in has:
            found += [
                OneOf("jitter", ("none", "first", "all") if two else ("none", "all")),
                Between("jitter_s", 0.001, 0.1, log=True),
            ]
        if "outages" in has:
            found += [
                OneOf("outages", ("none", "some")),
                Between("outage_s", 0.05, 3.0, log=True), Between("outage_every_s", 2.0, 20.0, log=True),
            ]  # fmt: skip
        if cross or "cross" in has:
            kinds = () if cross else (OneOf("cross", ("none", "steady", "pulses")),)
            found += [
                *kinds, Between("cross_share", 0.05, 1.5, log=True),
                Between("cross_on_s", 0.02, 3.0, log=True), Between("cross_off_s", 0.1, 10.0, log=True),
            ]  # fmt: skip
        if two and "offset" in has:
            found += [OneOf("offset", ("none", "some")), Between("offset_share", 0.01, 0.5, log=True)]
        if two and "late" in has:
            found += [OneOf("late", ("none", "some")), Between("late_share", 0.01, 1 / 3)]
        for i in range(self.changes if "changes" in has else 0):
            found += [
                OneOf(f"change {i}", ("none", "rate", "delay", "down")),
                Between(f"change {i} at", 0.05, 0.9), Between(f"change {i} size", 0.0, 1.0),
            ]  # fmt: skip
        return found

    def conditions(self, point: Point, *, cross: bool) -> Conditions:
        """The link of a point of that space."""
        given = {name: float(value) for name, value in point.items() if not isinstance(value, str)}
        at = {name: self.spans.get(name, usual) for name, usual in BOUNDS.items()}
        base = {name: given.get(name, span.low) * span.factor for name, span in at.items()}
        found = Conditions(
            self.duration_s, rate_bps=base["rate"], rtt_s=base["rtt"], buffer_bdp=base["buffer"],
            queue=str(point.get("queue", QUEUES[0])),
        )  # fmt: skip
        if point.get("losses", "none") != "none":
            burst = given["burst"] if point["losses"] == "bursts" else 1.0
            found = replace(found, loss_rate=given["loss_rate"], burst=burst)
        if point.get("ack-losses", "none") != "none":
            found = replace(found, ack_loss_rate=given["ack_loss_rate"])
        if point.get("jitter", "none") != "none":
            found = replace(found, jitter_s=given["jitter_s"], jitter_all=point["jitter"] == "all")
        if point.get("outages", "none") != "none":
            every = given["outage_every_s"]
            found = replace(found, outage_s=min(given["outage_s"], every / 5), outage_every_s=every)
        kind = "pulses" if cross else point.get("cross", "none")
        if kind != "none":
            off = given["cross_off_s"] if kind == "pulses" else 0.0
            on = given["cross_on_s"]
            # Of pulses that are too rare the period is shortened, not their share of the time.
            rare = (on + off) * PULSES / self.duration_s if cross else 1.0
            on, off = on / max(1.0, rare), off / max(1.0, rare)
            found = replace(found, cross_share=given["cross_share"], cross_on_s=on, cross_off_s=off)
        if point.get("offset", "none") != "none":
            found = replace(found, offset_s=given["offset_share"] * found.rtt_s)
        if point.get("late", "none") != "none":
            found = replace(found, late_s=given["late_share"] * self.duration_s)
        changes = sorted(self._changes(point, given, found), key=lambda change: change.at_s)
        least = min([found.rate_bps, *(change.value for change in changes if change.kind == "rate")])
        most = 1.5 if found.cross_off_s else STEADY * least / found.rate_bps
        return replace(found, changes=tuple(changes), cross_share=min(found.cross_share, most))

    def _changes(self, point: Point, given: Mapping[str, float], base: Conditions) -> list[Change]:
        found = []
        for i in range(self.changes):
            kind = str(point.get(f"change {i}", "none"))
            if kind == "none":
                continue
            at_s, size = given[f"change {i} at"] * self.duration_s, given[f"change {i} size"]
            value = {
                "rate": base.rate_bps * Between("", 0.1, 3.0, log=True).at(size),
                "delay": base.rtt_s / 2 * Between("", 0.5, 3.0, log=True).at(size),
                "down": Between("", 0.1, 5.0, log=True).at(size),
            }[kind]
            found.append(Change(at_s, kind, value))
        return found


def scenario(
    on: Conditions,
    cc: Any,
    seed: int,
    *,
    second: Any = None,
    queue: str | None = None,
    profile: str | None = None,
) -> dict[str, Any]:
    """The scenario as plain data.

    Args:
        on: the link.
        cc: the algorithm of the first flow, as a flow has it.
        seed: of the run.
        second: the algorithm of a second flow, if there is one.
        queue: the kind of queue that the algorithm needs, in place of the link's.
        profile: the options of all connections; None for the default.
    """
    link: dict[str, Any] = {
        "rate": _rate(on.rate_bps),
        "delay": _time(on.rtt_s / 2),
        "queue": {"kind": queue or on.queue, "limit": f"{on.packets()} packets"},
    }
    for key, text, first in (("rate", _rate, on.rate_bps), ("delay", _time, on.rtt_s / 2)):
        course = [(0.0, first), *((c.at_s, c.value) for c in on.changes if c.kind == key)]
        if len(course) > 1:
            link[key] = [[_time(at), text(value)] for at, value in course]
    downs = merged([(c.at_s, c.at_s + c.value) for c in on.changes if c.kind == "down"])
    if downs:
        link["up"] = [["0 s", True]]
        for begin, end in downs:
            link["up"] += [[_time(begin), False], [_time(end), True]]
    lost: list[dict[str, Any]] = []
    if on.loss_rate and on.burst > 1:
        lost.append(
            {"kind": "bernoulli-burst", "rate": rounded(on.loss_rate), "mean_length": rounded(on.burst)}
        )
    elif on.loss_rate:
        lost.append({"kind": "packet-error", "rate": rounded(on.loss_rate)})
    if on.outage_s:
        lost.append({"kind": "outage", "every": _time(on.outage_every_s), "length": _time(on.outage_s)})
    if lost:
        link["loss"] = lost if len(lost) > 1 else lost[0]
    if on.ack_loss_rate:
        link["reverse"] = {"loss": {"kind": "packet-error", "rate": rounded(on.ack_loss_rate)}}
    flows = [{"name": FIRST, "cc": cc, "path": [LINK]}]
    if second is not None:
        flows.append({"name": SECOND, "cc": second, "path": [LINK]})
        if on.offset_s:
            flows[1]["extra_delay"] = _time(on.offset_s / 2)
        if on.late_s:
            flows[1]["start"] = _time(on.late_s)
    if on.jitter_s:
        for flow in flows if on.jitter_all else flows[:1]:
            flow["ack_jitter"] = _time(on.jitter_s)
    if profile is not None:
        for flow in flows:
            flow["profile"] = profile
    if on.cross_share:
        traffic: dict[str, Any] = {"kind": "cbr", "rate": _rate(on.cross_share * on.rate_bps)}
        if on.cross_off_s:
            traffic |= {"on": _time(on.cross_on_s), "off": _time(on.cross_off_s)}
        flows.append({"name": CROSS, "path": [LINK], "traffic": traffic})
    return {
        "duration": _time(on.duration_s),
        "seed": seed,
        "record": {"interval": INTERVAL},
        "link": {LINK: link},
        "flow": flows,
    }


def rounded(value: float, digits: int = 4) -> float:
    """A number to `digits` significant digits."""
    return float(f"{value:.{digits}g}")


def steps(values: Any) -> list[tuple[str, str]]:
    """The values of a key of the link over time: the instant of each, and the value from then on."""
    return [tuple(step) for step in values] if isinstance(values, list) else [("0 s", values)]


def losses(link: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The loss models of a link, none, one or several."""
    found = link.get("loss", [])
    return found if isinstance(found, list) else [found]


def _rate(bps: float) -> str:
    """A rate to four digits: "1.25 Mbit/s"."""
    if bps >= 1e6:
        return f"{rounded(bps / 1e6):g} Mbit/s"
    return f"{rounded(max(bps, 1000.0) / 1e3):g} kbit/s"


def _time(seconds: float) -> str:
    """A time to four digits: "12.5 ms"."""
    if seconds >= 1 or seconds == 0:
        return f"{rounded(seconds):g} s"
    return f"{rounded(seconds * 1e3):g} ms"


def in_words(scenario: Mapping[str, Any]) -> list[str]:
    """The link of one of these scenarios in words, and each part that a plain link lacks."""
    link, flows = scenario["link"][LINK], {flow["name"]: flow for flow in scenario["flow"]}
    (rate, *rates), (delay, *delays) = steps(link["rate"]), steps(link["delay"])
    queue = link["queue"]
    found = [
        f"{rate[1]}, {delay[1]} each way, "
        f"{'a queue' if queue['kind'] == QUEUES[0] else queue['kind']} of {queue['limit']}"
    ]
    for loss in losses(link):
        if loss["kind"] == "outage":
            found.append(f"an outage of {loss['length']} every {loss['every']}")
        else:
            burst = f", in bursts of {loss['mean_length']:g} on average" if "mean_length" in loss else ""
            found.append(f"{100 * loss['rate']:.4g} % of the data packets lost{burst}")
    if "reverse" in link:
        found.append(f"{100 * link['reverse']['loss']['rate']:.4g} % of the acknowledgements lost")
    held = [name for name, flow in flows.items() if "ack_jitter" in flow]
    if held:
        whose = "" if len(held) == len(flows) - (CROSS in flows) else " of the first flow"
        found.append(f"acknowledgements{whose} held for up to {flows[held[0]]['ack_jitter']}")
    if CROSS in flows:
        traffic = flows[CROSS]["traffic"]
        when = f"for {traffic['on']} with pauses of {traffic['off']}" if "off" in traffic else "all the time"
        found.append(f"{traffic['rate']} of other traffic {when}")
    if "extra_delay" in flows.get(SECOND, {}):
        found.append(f"the second flow has {flows[SECOND]['extra_delay']} more each way")
    if "start" in flows.get(SECOND, {}):
        found.append(f"the second flow begins at {flows[SECOND]['start']}")
    found += [f"at {at} the rate becomes {value}" for at, value in rates]
    found += [f"at {at} the delay becomes {value}" for at, value in delays]
    ups = link.get("up", [])
    found += [f"no path from {ups[i][0]} to {ups[i + 1][0]}" for i in range(1, len(ups) - 1, 2)]
    return found

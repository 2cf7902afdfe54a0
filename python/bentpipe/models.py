"""The parts of a link: queues, loss models and link layers; what to record; and the kinds of all parts.

Values carry their unit in a string ("432 packets", "10 s", "1 Mbit/s"); a plain number has none. Nothing is
checked here: a scenario is checked as a whole by the core, which names the key and what would be right.
Traffic is in `bentpipe.traffic`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from bentpipe.plain import Model
from bentpipe.traffic import (
    Bulk,
    Cbr,
    Exponential,
    LogNormal,
    OnOff,
    Pareto,
    ParetoCount,
    Requests,
    ShortFlows,
    SizeFile,
    SizeList,
    Video,
    Web,
)


@dataclass(frozen=True)
class DropTail(Model):
    """A first-in, first-out queue that drops what does not fit.

    Args:
        limit: "N packets", "N bytes", "N kB", "N MB" or "N bdp" (times the link's bandwidth-delay product).
    """

    kind = "drop-tail"
    limit: str = "1 bdp"


@dataclass(frozen=True)
class Red(Model):
    """Random early detection (Floyd and Jacobson 1993) by the rules of ns-2.

    It drops or marks packets before the queue is full, as its average length says.

    Args:
        limit: room, as for `DropTail`; in bytes, the average counts bytes, too.
        min: average below which nothing is dropped: a part of the limit (0.15) or a size ("5 packets").
        max: average at which the probability of a drop is `max_p`: a part of the limit (0.5) or a size.
        weight: weight of the newest packet in the average, default 0.002.
        max_p: probability of a drop at `max`, default 0.1.
        gentle: from `max` to twice `max` the probability climbs to 1 instead of jumping, default true.
        wait: some packets always pass between two drops, default true.
        by_size: drop with a probability in proportion to the packet's size, default false.
        ecn: mark packets of flows with `ecn` instead of dropping them early, default false.
        hard_drop: drop even those where the average asks for all packets, default true; false marks them, as
            Linux does without `harddrop`.
        mark_p: drop even those where the average asks for this probability or more, default: no such bound.
        mean_packet: size of packets by which the average falls while the link is idle, default "1000 bytes".
    """

    kind = "red"
    limit: str = "1 bdp"
    min: float | str | None = None
    max: float | str | None = None
    weight: float | None = None
    max_p: float | None = None
    gentle: bool | None = None
    wait: bool | None = None
    by_size: bool | None = None
    ecn: bool | None = None
    hard_drop: bool | None = None
    mark_p: float | None = None
    mean_packet: str | None = None


@dataclass(frozen=True)
class Codel(Model):
    """Controlled delay (RFC 8289): drops or marks at the head once waits were too long for an interval.

    Args:
        limit: room, as for `DropTail`.
        target: waiting time that may stand, default "5 ms".
        interval: for how long a longer one is taken for a burst, default "100 ms"; about the longest
            round-trip time of the flows.
        ecn: mark packets of flows with `ecn` instead of dropping them, default false.
    """

    kind = "codel"
    limit: str = "1 bdp"
    target: str | None = None
    interval: str | None = None
    ecn: bool | None = None


@dataclass(frozen=True)
class FqCodel(Model):
    """Queues by flow, served byte by byte in turn, each governed by CoDel (RFC 8290).

    Args:
        limit: room of all queues together, as for `DropTail`.
        target: as for `Codel`.
        interval: as for `Codel`.
        queues: number of queues that flows are hashed into, default 1024.
        quantum: what a queue may send in a round, default "1514 bytes".
        ecn: as for `Codel`.
    """

    kind = "fq-codel"
    limit: str = "10240 packets"
    target: str | None = None
    interval: str | None = None
    queues: int | None = None
    quantum: str | None = None
    ecn: bool | None = None


@dataclass(frozen=True)
class Pie(Model):
    """Proportional integral controller enhanced (RFC 8033).

    It drops or marks on arrival with a probability that follows the waiting time.

    Args:
        limit: room, as for `DropTail`.
        target: waiting time that it aims at, default "15 ms".
        update: time between two computations of the probability, default "15 ms".
        alpha: weight of the distance from the target, per second, default 0.125.
        beta: weight of the change between two computations, per second, default 1.25.
        burst: how long a burst passes without drops, default "150 ms".
        ecn: mark packets of flows with `ecn` instead of dropping them, default false.
        mark_p: drop even those at this probability or more, default 0.1.
    """

    kind = "pie"
    limit: str = "1 bdp"
    target: str | None = None
    update: str | None = None
    alpha: float | None = None
    beta: float | None = None
    burst: str | None = None
    ecn: bool | None = None
    mark_p: float | None = None


@dataclass(frozen=True)
class DualPi2(Model):
    """Two coupled queues (RFC 9332): packets of flows with `ect1` are marked early, others dropped or marked.

    Args:
        limit: room of both queues together, as for `DropTail`.
        target: waiting time of classic packets that it aims at, default "15 ms".
        update: time between two computations of the base probability, default "16 ms".
        alpha: weight of the distance from the target, per second, default 0.16.
        beta: weight of the change between two computations, per second, default 3.2.
        coupling: factor between the base probability and the marks of L4S packets, default 2.
        step: waiting time at which marks of L4S packets begin, default "1 ms".
        ramp: by how much longer one waits that is always marked, default "0 s".
        classic_share: part of the rate for classic packets while both kinds wait, default 0.1.
    """

    kind = "dualpi2"
    limit: str = "1 bdp"
    target: str | None = None
    update: str | None = None
    alpha: float | None = None
    beta: float | None = None
    coupling: float | None = None
    step: str | None = None
    ramp: str | None = None
    classic_share: float | None = None


@dataclass(frozen=True)
class Priority(Model):
    """Strict priorities: a band sends only while all before it are empty; `Flow.priority` is a flow's band.

    Extra segments (the dummy segments of TCP-Peach) go to the last band.

    Args:
        limit: room of each band, as for `DropTail`; what finds none is dropped.
        bands: number of bands, default 2.
    """

    kind = "priority"
    limit: str = "1 bdp"
    bands: int | None = None


@dataclass(frozen=True)
class Xcp(Model):
    """The explicit control protocol: tells flows of controller `xcp` by how much to change their throughput.

    Args:
        limit: room, as for `DropTail`; what finds none is dropped.
        alpha: share of the spare capacity that is given out in a control interval, default 0.4.
        beta: share of the persistent queue that is taken back in a control interval, default 0.226.
        gamma: share of the traffic that changes hands in a control interval, default 0.1.
    """

    kind = "xcp"
    limit: str = "1 bdp"
    alpha: float | None = None
    beta: float | None = None
    gamma: float | None = None


@dataclass(frozen=True)
class Vcp(Model):
    """The variable-structure congestion control protocol: tells flows of controller `vcp` its load in 2 bits.

    Args:
        limit: room, as for `DropTail`; what finds none is dropped.
        update: time between two computations of the load, default "200 ms".
        utilisation: share of the capacity that counts as full load, default 0.98.
        kappa: share of the persistent queue that counts as traffic, default 0.5.
    """

    kind = "vcp"
    limit: str = "1 bdp"
    update: str | None = None
    utilisation: float | None = None
    kappa: float | None = None


@dataclass(frozen=True)
class Rcp(Model):
    """The rate control protocol: tells all flows of controller `rcp` one rate, at which they share the link.

    Args:
        limit: room, as for `DropTail`; what finds none is dropped.
        update: time between two computations of the rate, default "10 ms".
        alpha: share of the spare capacity that is given out in a mean RTT, default 0.4.
        beta: share of the queue that is taken back in a mean RTT, default 0.4.
        utilisation: share of the capacity that it gives out, default 1.
        first: share of the capacity that is the rate at the start, default 0.05.
    """

    kind = "rcp"
    limit: str = "1 bdp"
    update: str | None = None
    alpha: float | None = None
    beta: float | None = None
    utilisation: float | None = None
    first: float | None = None


@dataclass(frozen=True)
class PacketError(Model):
    """Loses each packet on its own with probability `rate` (0 to 1)."""

    kind = "packet-error"
    rate: float


@dataclass(frozen=True)
class BitError(Model):
    """Loses a packet of n bits with probability 1 - (1 - rate)^n; `rate` is the bit error rate (0 to 1)."""

    kind = "bit-error"
    rate: float


@dataclass(frozen=True)
class GilbertElliott(Model):
    """A channel with a good and a bad state, changing per packet (Gilbert 1960, Elliott 1963).

    Args:
        p: probability to go from good to bad.
        r: probability to go from bad to good.
        good_loss: loss probability in the good state, default 0.
        bad_loss: loss probability in the bad state, default 1.
    """

    kind = "gilbert-elliott"
    p: float
    r: float
    good_loss: float | None = None
    bad_loss: float | None = None


@dataclass(frozen=True)
class BernoulliBurst(Model):
    """Loses runs of packets, which begin independently of each other and have geometric lengths.

    Args:
        rate: share of all packets that is lost (0 to 1).
        mean_length: mean length of a run in packets, from 1; with 1 the losses are independent.
    """

    kind = "bernoulli-burst"
    rate: float
    mean_length: float


@dataclass(frozen=True)
class Outage(Model):
    """Loses everything during an interval.

    Either once, from `from_` to `to`; or again and again, `every` so often for a `length`, from `first` on.
    """

    kind = "outage"
    from_: str | None = None
    to: str | None = None
    every: str | None = None
    length: str | None = None
    first: str | None = None


@dataclass(frozen=True)
class LossTrace(Model):
    """Loses the packets whose 0-based index stands in a text file, one index per line."""

    kind = "trace"
    file: str


@dataclass(frozen=True)
class Dama(Model):
    """Access by demand assignment, the return channel of a VSAT (DVB-RCS2): a terminal asks for slots.

    Args:
        frame: length of a frame, "26.5 ms".
        slots: slots of a frame, of equal length, of which the terminal may get some or all.
        cra: slots of each frame that it always has.
        vbdc: most slots of a frame that it gets on request; by default all that `cra` leaves.
        free: most slots of a frame that it gets without request, of those that are left.
        grant_delay: from a request to the first frame that may carry what it asks for; by default the
            propagation delay of both directions and one frame.
    """

    kind = "dama"
    frame: str
    slots: int
    cra: int = 0
    vbdc: int | None = None
    free: int = 0
    grant_delay: str | None = None


@dataclass(frozen=True)
class Arq(Model):
    """Repeats of packets that are lost on a link, by its link layer: selective repeat.

    Args:
        tries: most transmissions of a packet, the first one included.
        round_trip: from the end of a transmission to when its sender knows that it failed; by default the
            propagation delay of both directions.
        in_order: the far end hands packets on in order, and holds those behind a missing one.
    """

    tries: int
    round_trip: str | None = None
    in_order: bool = True


@dataclass(frozen=True)
class AckThinning(Model):
    """Thinning of acknowledgements that wait in a queue (RFC 3449 section 5.2.1).

    Args:
        keep: plain acknowledgements of a flow that may wait; a newer one takes their place.
    """

    keep: int = 1


@dataclass(frozen=True)
class Record(Model):
    """What a run records over time.

    Args:
        interval: time between rows, "100 ms", or "change" (the default): a row whenever cwnd or ssthresh
            changes.
        flows: record each flow (`Result.trace`).
        links: record each link (`Result.link_trace`); needs an interval of time.
        segments: record each segment sent, lost and acknowledged (`Result.segments`), about 30 bytes each.
        transfers: record each short flow, burst, response, page and segment (`Result.transfers`).
        probes: record the quantities inside each controller that it names (`Result.probes`); with
            interval = "change", each whenever its value changes.
    """

    interval: str | None = None
    flows: bool | None = None
    links: bool | None = None
    segments: bool | None = None
    transfers: bool | None = None
    probes: bool | None = None


KINDS: dict[str, type[Model]] = {
    str(m.kind): m
    for m in (
        DropTail,
        Red,
        Codel,
        FqCodel,
        Pie,
        DualPi2,
        Priority,
        Xcp,
        Vcp,
        Rcp,
        PacketError,
        BitError,
        GilbertElliott,
        BernoulliBurst,
        Outage,
        LossTrace,
        Dama,
        Bulk,
        Cbr,
        ShortFlows,
        OnOff,
        Requests,
        Web,
        Video,
        Exponential,
        Pareto,
        ParetoCount,
        LogNormal,
        SizeList,
        SizeFile,
    )
}
"""Every model with a kind, by the kind's name in a scenario."""


Queue = DropTail | Red | Codel | FqCodel | Pie | DualPi2 | Priority | Xcp | Vcp | Rcp
"""Any of the queues."""


def from_plain(value: Any) -> Any:
    """The reverse of `to_plain`: tables of a known kind become models, others stay tables."""
    if isinstance(value, list):
        return [from_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    model = KINDS.get(value.get("kind", ""))
    if model is None:
        return value
    names = {field.name.rstrip("_"): field.name for field in dataclasses.fields(model)}
    if not set(value) <= {"kind", *names}:
        return value
    return model(**{names[key]: from_plain(item) for key, item in value.items() if key != "kind"})

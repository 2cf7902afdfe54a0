"""The classes of bentpipe/models.py for editors and type checkers.

Written by scripts/models_py.py: change the comments in crates/sim, and use `make docs`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from bentpipe.document.plain import Model, OnPath

Steps = Sequence[Sequence[Any]]
"""Instants, and a value from each of them on: [["0 s", "20 ms"], ["15 s", "25 ms"]]."""

@dataclass(frozen=True)
class DropTail(Model):
    """First in, first out: a packet that finds no room is dropped.

    Args:
        limit: Room, the packet in transmission not counted. As a time, the bytes that the link sends in it at
            the rate of the instant; in an outage, at the last rate before it. A room or time such as
            "432 packets" (packets, bytes, kB, MB, bdp or ms). Default: "1 bdp".
    """

    kind = "drop-tail"
    limit: str = "1 bdp"

@dataclass(frozen=True)
class DropFront(Model):
    """First in, first out: packets at the head are dropped until there is room for the packet that enters.

    Measurements of delay and loss report that Starlink's access network does so (arXiv:2605.27717).

    Args:
        limit: Room, the packet in transmission not counted. As a time, the bytes that the link sends in it at
            the rate of the instant; in an outage, at the last rate before it. A room or time such as
            "432 packets" (packets, bytes, kB, MB, bdp or ms). Default: "1 bdp".
    """

    kind = "drop-front"
    limit: str = "1 bdp"

@dataclass(frozen=True)
class Red(Model):
    """Random early detection (Floyd and Jacobson 1993) by the rules of ns-2.

    First in, first out, but some packets are dropped or marked before the queue is full, as its average
    length says. Where the defaults are not those of ns-2 2.35, these are given.

    Args:
        limit: Room, the packet in transmission not counted. In bytes, the average counts bytes, too (ns-2
            `queue_in_bytes_`), and the last packet may exceed it. A room such as "432 packets" (packets,
            bytes, kB, MB or bdp). Default: "1 bdp".
        min: Average below which nothing is dropped: a part of the limit, or a size (ns-2 `thresh_`: 5
            packets, or 2.5 ms of the rate). A number from 0 to 1 or a room such as "432 packets" (packets,
            bytes, kB, MB or bdp). Default: 0.15.
        max: Average at which packets are dropped with probability `max_p`: a part of the limit, or a size
            (ns-2 `maxthresh_`: three times the minimum). A number from 0 to 1 or a room such as "432 packets"
            (packets, bytes, kB, MB or bdp). Default: 0.5.
        weight: Weight of the newest packet in the average (ns-2 `q_weight_`: set from the rate). A number
            from 1e-09 to 1. Default: 0.002.
        max_p: Probability of a drop at `max` (ns-2: 1 / `linterm_`). A number from 1e-09 to 1. Default: 0.1.
        gentle: Above `max` the probability climbs to 1 at twice `max`; otherwise all are dropped there.
            Default: True.
        wait: Some packets always pass between two drops, so that none follow each other closely. Default:
            True.
        by_size: A packet is dropped with a probability in proportion to its size (ns-2 `bytes_`: yes).
            Default: False.
        ecn: Marks packets of flows with `ecn` where it would drop them early; a full queue or an average
            above `max` (twice that if gentle) still drops. Default: False.
        hard_drop: An average at which all packets are dropped drops even those that could be marked; false
            marks them all, as Linux's `red` does without `harddrop`. With a `min` just below `max` and
            without `gentle` that is TCP Jersey's congestion warning (Xu, Tian and Ansari 2004), which marks
            every packet while the average is above one threshold. Default: True.
        mark_p: Drops even packets of flows with `ecn` when the average asks for this probability or more;
            without it there is no such bound (ns-2 `mark_p_`: 0.1). A number from 0 to 1.
        mean_packet: Size of packets by which the average falls while the link is idle (ns-2 `mean_pktsize_`:
            500). A size such as "1448 bytes". Default: "1000 bytes".
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
    """Controlled delay (RFC 8289).

    First in, first out; packets are dropped or marked at the head when they have waited too long for a whole
    interval.

    Args:
        limit: Room, the packet in transmission not counted. A room such as "432 packets" (packets, bytes, kB,
            MB or bdp). Default: "1 bdp".
        target: Waiting time that is accepted. A time such as "250 ms". Default: "5 ms".
        interval: Time for which a longer wait counts as a burst; about the longest round-trip time of the
            flows. A time such as "250 ms". Default: "100 ms".
        ecn: Marks packets of flows with `ecn` where it would drop them; a full queue still drops. Default:
            False.
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
        limit: Room of all queues together, the packet in transmission not counted. A room such as
            "432 packets" (packets, bytes, kB, MB or bdp). Default: "10240 packets".
        target: Waiting time that is accepted. A time such as "250 ms". Default: "5 ms".
        interval: Time for which a longer wait counts as a burst; about the longest round-trip time of the
            flows. A time such as "250 ms". Default: "100 ms".
        queues: Number of queues that flows are hashed into. A whole number from 1 to 65536. Default: 1024.
        quantum: What a queue may send in a round. A size such as "1448 bytes". Default: "1514 bytes".
        ecn: Marks packets of flows with `ecn` where CoDel would drop them; a lack of room still drops. Off
            unless given, as for every queue here (RFC 8290 section 5.2: on). Default: False.
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

    First in, first out; packets are dropped or marked on arrival with a probability that follows the waiting
    time.

    Args:
        limit: Room, the packet in transmission not counted. A room such as "432 packets" (packets, bytes, kB,
            MB or bdp). Default: "1 bdp".
        target: Waiting time that it aims at. A time such as "250 ms". Default: "15 ms".
        update: Time between two computations of the probability, at least 100 us. A time such as "250 ms".
            Default: "15 ms".
        alpha: Weight of the distance from the target, per second. A number from 0 to 1000. Default: 0.125.
        beta: Weight of the change between two computations, per second. A number from 0 to 1000. Default:
            1.25.
        burst: How long a burst passes without drops. A time such as "250 ms". Default: "150 ms".
        ecn: Marks packets of flows with `ecn` where it would drop them; a full queue still drops. Default:
            False.
        mark_p: Drops even packets of flows with `ecn` at this probability or more. A number from 0 to 1.
            Default: 0.1.
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
    """Two coupled queues (RFC 9332).

    Packets of flows with `ect1` wait for a millisecond or so and are marked early. Those of all other flows
    are dropped, or marked if the flow has `ecn`, with a probability that follows the waiting time. A flow
    whose window falls with the share of its marks gets about the rate of one that is dropped.

    Args:
        limit: Room of both queues together, the packet in transmission not counted (RFC 9332: 250 ms of the
            rate). A room such as "432 packets" (packets, bytes, kB, MB or bdp). Default: "1 bdp".
        target: Waiting time of classic packets that it aims at. A time such as "250 ms". Default: "15 ms".
        update: Time between two computations of the base probability, at least 100 us. A time such as
            "250 ms". Default: "16 ms".
        alpha: Weight of the distance from the target, per second. RFC 9332: 0.1 `update` / R^2, R being the
            longest round trip. A number from 0 to 1000. Default: 0.16.
        beta: Weight of the change between two computations, per second. RFC 9332: 0.3 / R. A number from 0 to
            1000. Default: 3.2.
        coupling: The factor k between the base probability and the marks of L4S packets. A number from 0.1 to
            100. Default: 2.0.
        step: Waiting time at which marks of L4S packets begin. A time such as "250 ms". Default: "1 ms".
        ramp: By how much longer an L4S packet waits that is always marked; between the two the probability
            climbs (RFC 9332: a step of 800 us and a ramp of 400 us). A time such as "250 ms". Default: "0 s".
        classic_share: Part of the rate that classic packets get at least while both kinds wait. A number from
            0 to 1. Default: 0.1.
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
    """Strict priorities: a band sends only while all before it are empty.

    A flow's `priority` is its band; each is first in, first out, and what finds no room in it is lost. Extra
    segments (the dummy segments of TCP-Peach) go to the last band.

    Args:
        limit: Room of each band, the packet in transmission not counted. A room such as "432 packets"
            (packets, bytes, kB, MB or bdp). Default: "1 bdp".
        bands: Number of bands. A whole number from 1 to 64. Default: 2.
    """

    kind = "priority"
    limit: str = "1 bdp"
    bands: int | None = None

@dataclass(frozen=True)
class Xcp(Model):
    """The explicit control protocol.

    First in, first out; the headers of packets tell each flow of controller `xcp` by how much it may change
    its throughput. What finds no room is lost.

    Args:
        limit: Room, the packet in transmission not counted. A room such as "432 packets" (packets, bytes, kB,
            MB or bdp). Default: "1 bdp".
        alpha: Share of the spare capacity that is given out in a control interval. A number from 0 to 2.
            Default: 0.4.
        beta: Share of the persistent queue that is taken back in a control interval. A number from 0 to 2.
            Default: 0.226.
        gamma: Share of the traffic that changes hands in a control interval. A number from 0 to 1. Default:
            0.1.
    """

    kind = "xcp"
    limit: str = "1 bdp"
    alpha: float | None = None
    beta: float | None = None
    gamma: float | None = None

@dataclass(frozen=True)
class Vcp(Model):
    """The variable-structure congestion control protocol.

    First in, first out; two bits tell flows of controller `vcp` whether the load is low, high or too high.
    What finds no room is lost.

    Args:
        limit: Room, the packet in transmission not counted. A room such as "432 packets" (packets, bytes, kB,
            MB or bdp). Default: "1 bdp".
        update: Time between two computations of the load, at least 100 us; the controller's `t_rho` is the
            same. A time such as "250 ms". Default: "200 ms".
        utilisation: Share of the capacity that counts as full load. A number from 0.01 to 1. Default: 0.98.
        kappa: Share of the persistent queue that counts as traffic. A number from 0 to 10. Default: 0.5.
    """

    kind = "vcp"
    limit: str = "1 bdp"
    update: str | None = None
    utilisation: float | None = None
    kappa: float | None = None

@dataclass(frozen=True)
class Rcp(Model):
    """The rate control protocol.

    First in, first out; all flows of controller `rcp` learn one rate, at which they share the link. What
    finds no room is lost.

    Args:
        limit: Room, the packet in transmission not counted. A room such as "432 packets" (packets, bytes, kB,
            MB or bdp). Default: "1 bdp".
        update: Time between two computations of the rate, at least 100 us; less where the mean RTT is less. A
            time such as "250 ms". Default: "10 ms".
        alpha: Share of the spare capacity that is given out in a mean RTT. A number from 0 to 2. Default:
            0.4.
        beta: Share of the queue that is taken back in a mean RTT. A number from 0 to 2. Default: 0.4.
        utilisation: Share of the capacity that it gives out. A number from 0.01 to 1. Default: 1.0.
        first: Share of the capacity that is the rate at the start. A number from 0.0001 to 1. Default: 0.05.
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
    """Each packet is lost with probability `rate`, independently of the others.

    Args:
        rate: Packet error rate. A number from 0 to 1.
    """

    kind = "packet-error"
    rate: float

@dataclass(frozen=True)
class BitError(Model):
    """Each bit is in error with probability `rate`.

    A packet with an error is lost: one of n bits with probability 1 - (1 - `rate`)^n.

    Args:
        rate: Bit error rate. A number from 0 to 1.
    """

    kind = "bit-error"
    rate: float

@dataclass(frozen=True)
class GilbertElliott(Model):
    """A channel with a good and a bad state, which may change with each packet (Gilbert 1960, Elliott 1963).

    Args:
        p: Probability of going from good to bad. A number from 0 to 1.
        r: Probability of going from bad to good. A number from 0 to 1.
        good_loss: Loss probability in the good state. A number from 0 to 1. Default: 0.0.
        bad_loss: Loss probability in the bad state. A number from 0 to 1. Default: 1.0.
    """

    kind = "gilbert-elliott"
    p: float
    r: float
    good_loss: float | None = None
    bad_loss: float | None = None

@dataclass(frozen=True)
class BernoulliBurst(Model):
    """Runs of lost packets: they begin independently of each other, and their lengths are geometric.

    Args:
        rate: Share of all packets that is lost. A number from 0 to 1.
        mean_length: Mean length of a run in packets. With 1 the losses are independent. A number from 1 to
            1000000.
    """

    kind = "bernoulli-burst"
    rate: float
    mean_length: float

@dataclass(frozen=True)
class Outage(Model):
    """All packets sent in an interval are lost: once (`from`, `to`), or again and again (`every`, `length`).

    Args:
        from_: Start of a single outage. A time such as "250 ms".
        to: End of a single outage. A time such as "250 ms".
        every: Time from the start of one outage to the start of the next. A time such as "250 ms".
        length: Length of each repeated outage. A time such as "250 ms".
        first: Start of the first repeated outage. A time such as "250 ms". Default: one period after the
            start of the run.
    """

    kind = "outage"
    from_: str | None = None
    to: str | None = None
    every: str | None = None
    length: str | None = None
    first: str | None = None

@dataclass(frozen=True)
class LossTrace(Model):
    """The packets whose numbers a file lists are lost.

    Args:
        file: Text file with one number per line, counted from 0 in this direction; empty lines and what
            follows `#` are skipped. A relative name starts from the directory of the scenario file.
    """

    kind = "trace"
    file: str | Path

@dataclass(frozen=True)
class Dama(Model):
    """Demand assignment in frames of slots: the return channel of a VSAT.

    The rules are those of DVB-RCS2 (ETSI EN 301 545-2 section 9). At the start of each frame the terminal
    asks for what waits (VBDC); a slot carries the bytes that the link's rate sends in it, rounded down.

    Args:
        frame: Length of a frame. A time such as "26.5 ms".
        slots: Slots of a frame, all of equal length. This terminal may be assigned some or all of them. A
            whole number from 1 to 10000.
        cra: Slots of each frame that the terminal always has (CRA). A whole number from 0 to 10000. Default:
            0.
        vbdc: Most slots of a frame that are assigned on request (VBDC). A whole number from 0 to 10000.
            Default: all that `cra` leaves.
        free: Most slots of a frame that are assigned without request (FCA), of those that are left. A whole
            number from 0 to 10000. Default: 0.
        grant_delay: From the start of the frame in which the terminal asks, to the first frame that may carry
            what it asks for. A time such as "250 ms". Default: the propagation delay of both directions and
            one frame, in which the hub decides.
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
    """Automatic repeat request of a link layer: selective repeat (RFC 3366).

    A packet that a loss model strikes is sent again.

    Args:
        tries: Most transmissions of a packet, the first one included. A whole number from 1 to 1000.
        round_trip: From the end of a transmission to when its sender knows that it failed. A time such as
            "250 ms". Default: the propagation delay of both directions.
        in_order: Does the far end hand packets on in order, and hold those behind a missing one? Default:
            True.
    """

    tries: int
    round_trip: str | None = None
    in_order: bool = True

@dataclass(frozen=True)
class AckThinning(Model):
    """Thinning of acknowledgements that wait (ACK filtering, RFC 3449 section 5.2.1).

    Args:
        keep: Plain acknowledgements of a flow that may wait; a newer one takes the place of the newest, and
            the oldest is dropped. Duplicates and those with SACK blocks or echoes of marks are kept. A whole
            number from 1 to 1000000. Default: 1.
    """

    keep: int = 1

@dataclass
class Link(Model):
    """A link: two directions, which are alike unless `reverse` says otherwise.

    Args:
        rate: Bits per second on the wire: one rate, or a list such as [["0 s", "100 Mbit/s"], ["15 s",
            "60 Mbit/s"]]. Rate 0 in a list holds packets in the transmitter. A rate such as "10 Mbit/s" or
            steps. Must be given, or a timeline.
        delay: Propagation delay, one way, or a list as for `rate`. Either this, or `satellite` with `from`,
            `to` or both. A time such as "250 ms" or steps. Must be given, or a satellite or timeline.
        timeline: A file with rate, delay, losses and handovers over time: its name, or a table with options.
            Or a line that is drawn for each seed: { generator = "starlink" }. A dict with "delay", "file",
            "offset", "repeat" or a dict with "blackout", "direction", "generator", "profile", "rate_median",
            "seed", "share".
        up: Is the path there? A list such as [["0 s", true], ["14.5 s", false], ["15 s", true]]; while it is
            not, nothing is sent. Default: yes.
        nominal: Rate and delay by which `1 bdp` of a queue is computed. Nothing else follows them. A dict
            with "delay", "rate". Default: those of the link; where they change, a plain `rate` or `delay`
            beside a file that sets it, or else the values at 0 s, with a warning.
        reorder: May a packet overtake another when the delay shrinks? Default no: a packet that would do so
            arrives its own transmission time after the packet ahead (ns-2's `avoidReordering_`). So after a
            step down a link that is always busy keeps the delay of before until a pause or an outage; with
            yes it does not. Default: no.
        handover: What happens when the path changes hands, and when it does. A dict with "at", "every",
            "first", "in_flight", "outage", "queue".
        from_: Ground station that sends up to the satellite; without `to` the link is the up hop alone.
        to: Ground station that receives from the satellite; without `from` the link is the down hop alone.
        satellite: The satellite between them. A dict with "geo", "min_elevation".
        queue: Queue in front of each direction. `DropTail`, `DropFront`, `Red`, `Codel`, `FqCodel`, `Pie`,
            `DualPi2`, `Priority`, `Xcp`, `Vcp` or `Rcp`. Default: drop-tail with a limit of 1 bdp.
        loss: Loss of the forward direction: one model or a list; a packet is lost if any of them says so.
            `PacketError`, `BitError`, `GilbertElliott`, `BernoulliBurst`, `Outage` or `LossTrace`.
        opportunities: Instants at which the forward direction may send, as mahimahi records them: a text file
            with one number of milliseconds a line. At each, 1504 bytes may be sent; what finds nothing
            waiting is lost, and after the last line all begin again. `rate` is then only that of `1 bdp` in a
            queue's limit.
        access: How the forward direction gets the right to send. `Dama`. Default: it may always send.
        arq: Repeats of what the forward direction loses. `Arq`. Default: none.
        ack_thinning: Thinning of acknowledgements in the queue of the forward direction. `AckThinning`.
            Default: none.
        reverse: What differs in the return direction. A dict with "access", "ack_thinning", "arq", "delay",
            "handover", "loss", "nominal", "opportunities", "queue", "rate", "reorder", "timeline", "up".
            Default: as forward, without losses.
    """

    _: KW_ONLY
    rate: str | Steps | None = None
    delay: str | Steps | None = None
    timeline: str | Path | dict[str, Any] | None = None
    up: Steps | None = None
    nominal: dict[str, Any] | None = None
    reorder: bool | None = None
    handover: dict[str, Any] | None = None
    from_: str | None = None
    to: str | None = None
    satellite: dict[str, Any] | None = None
    queue: Queue | dict[str, Any] | None = None
    loss: Loss | dict[str, Any] | Sequence[Loss | dict[str, Any]] | None = None
    opportunities: str | Path | None = None
    access: Access | dict[str, Any] | None = None
    arq: Arq | dict[str, Any] | None = None
    ack_thinning: AckThinning | dict[str, Any] | None = None
    reverse: dict[str, Any] | None = None

@dataclass(frozen=True)
class Exponential(Model):
    """Lengths of time of an exponential law.

    Sizes of an exponential law.

    Args:
        mean: Mean. A time such as "5 s" or a size such as "100 kB".
    """

    kind = "exponential"
    mean: str

@dataclass(frozen=True)
class Pareto(Model):
    """Sizes of a Pareto law: many small ones, and few that hold most of the bytes.

    Args:
        least: The smallest size. A size such as "10 kB".
        shape: Tail index. Below 2 the variance has no bound, and up to 1 nor has the mean, which is `least` *
            `shape` / (`shape` - 1) above. A number from 0.1 to 100.
        most: The largest size: a bounded Pareto law. A size such as "1448 bytes". Default: no bound.
    """

    kind = "pareto"
    least: str
    shape: float
    most: str | None = None

@dataclass(frozen=True)
class LogNormal(Model):
    """Sizes whose natural logarithm is normal.

    Args:
        median: Median. A size such as "10 kB".
        sigma: Standard deviation of the natural logarithm. A number from 0 to 10.
        least: The smallest size: what is drawn below is drawn again. A size such as "1448 bytes". Default: no
            bound.
        most: The largest size: what is drawn above is drawn again. A size such as "1448 bytes". Default: no
            bound.
    """

    kind = "log-normal"
    median: str
    sigma: float
    least: str | None = None
    most: str | None = None

@dataclass(frozen=True)
class SizeList(Model):
    """One of these sizes, drawn in proportion to its weight.

    Args:
        sizes: The sizes. A size such as ["1 kB", "10 kB", "1 MB"].
        weights: How often each is drawn, in proportion. A number. Default: equally often.
    """

    kind = "list"
    sizes: Sequence[str]
    weights: Sequence[float] | None = None

@dataclass(frozen=True)
class SizeFile(Model):
    """One of the sizes in a file, all equally often.

    Args:
        file: Text file with one number of bytes per line; empty lines and what follows `#` are skipped. A
            relative name starts from the directory of the scenario file.
    """

    kind = "file"
    file: str | Path

@dataclass(frozen=True)
class ParetoCount(Model):
    """A Pareto law less its smallest value, so the smallest number is 0.

    All above the bound counts as the bound.

    Args:
        least: The smallest value of the law. A number from 0.001 to 1000000.
        shape: Tail index. A number from 0.1 to 100.
        most: The bound. A number from 0.001 to 1000000.
    """

    kind = "pareto-count"
    least: float
    shape: float
    most: float

@dataclass(frozen=True)
class Bulk(Model):
    """A transfer that always has data to send: without end, or `size` of it.

    Args:
        size: Payload to transfer; without it, there is no end. A size such as "1448 bytes".
    """

    kind = "bulk"
    carriage = "connection"
    size: str | None = None

@dataclass(frozen=True)
class Cbr(Model):
    """Unresponsive traffic at a constant bit rate, without TCP.

    Args:
        rate: Bits per second on the wire while on. A rate such as "1 Mbit/s".
        packet: Size of each packet on the wire. A size such as "1448 bytes". Default: "1000 bytes".
        on: Length of a period of sending; without it, there is no pause. A time such as "250 ms" or
            `Exponential`.
        off: Length of the pause after it. A time such as "250 ms" or `Exponential`.
    """

    kind = "cbr"
    carriage = "datagrams"
    rate: str
    packet: str | None = None
    on: str | LengthLaw | dict[str, Any] | None = None
    off: str | LengthLaw | dict[str, Any] | None = None

@dataclass(frozen=True)
class Voice(Model):
    """One side of a call: talk spurts and silences of exponential lengths, without TCP.

    In a spurt a packet leaves at a constant interval. It begins with a spurt. The transfers of the result are
    its packets, so `completion_p95_s` is a percentile of their one-way delay.

    Args:
        payload: Payload of each packet. A size such as "20 bytes". Default: "160 bytes".
        header: Bytes on the wire added to each packet: IPv4, UDP and RTP, less if a link compresses them. A
            size such as "1448 bytes". Default: "40 bytes".
        interval: From one packet of a spurt to the next. A time such as "250 ms". Default: "20 ms".
        spurt: Mean length of a talk spurt. A time such as "1.2 s". Default: "1004 ms".
        silence: Mean length of a silence. A time such as "1.8 s". Default: "1587 ms".
    """

    kind = "voice"
    carriage = "datagrams"
    payload: str | None = None
    header: str | None = None
    interval: str | None = None
    spurt: str | None = None
    silence: str | None = None

@dataclass(frozen=True)
class Ping(Model):
    """Echo requests without TCP, as ping sends them (RFC 792).

    The transfers of the result are its packets, so `completion_p50_s` is the median of their round-trip
    times.

    Args:
        interval: From one packet to the next. A time such as "250 ms". Default: "1 s".
        packet: Size of each packet on the wire, and of its echo: IPv4 20 bytes, ICMP 8, and data. A size such
            as "1448 bytes". Default: "84 bytes".
    """

    kind = "ping"
    carriage = "datagrams"
    interval: str | None = None
    packet: str | None = None

@dataclass(frozen=True)
class ShortFlows(Model):
    """A new connection for each transfer, at the instants of a Poisson process.

    The result has one row for all.

    Args:
        size: Payload of each connection. A size such as "1448 bytes", `Exponential`, `Pareto`, `LogNormal`,
            `SizeList` or `SizeFile`.
        per_second: Connections a second on average. Either this or `load`. A number from 1e-06 to 1000000000.
        load: Payload offered, as a part of the rate of the slowest link of the path (at the start, if it
            changes). Either this or `per_second`. A number from 1e-06 to 100.
    """

    kind = "short-flows"
    carriage = "connection"
    size: str | SizeLaw | dict[str, Any]
    per_second: float | None = None
    load: float | None = None

@dataclass(frozen=True)
class OnOff(Model):
    """One connection on which an application sends, is silent, and so on.

    Args:
        off: For how long it is silent. A time such as "250 ms" or `Exponential`.
        on: For how long it sends as much as TCP carries. Either this or `size`. A time such as "250 ms" or
            `Exponential`.
        size: How much it sends at once, rounded up to whole segments. It is silent from the last
            acknowledgement on. A size such as "1448 bytes", `Exponential`, `Pareto`, `LogNormal`, `SizeList`
            or `SizeFile`.
    """

    kind = "on-off"
    carriage = "application"
    off: str | LengthLaw | dict[str, Any]
    on: str | LengthLaw | dict[str, Any] | None = None
    size: str | SizeLaw | dict[str, Any] | None = None

@dataclass(frozen=True)
class Requests(Model):
    """One connection on which a client asks and a server answers, one request at a time.

    `path` is that of the responses; requests take the way of acknowledgements. The result has a row for each
    way, NAME/requests and NAME/responses.

    Args:
        response: Payload of a response. Several segments are all full ones. A size such as "1448 bytes",
            `Exponential`, `Pareto`, `LogNormal`, `SizeList` or `SizeFile`.
        request: Payload of a request, rounded up to whole segments if it needs several. A size such as
            "1448 bytes". Default: "100 bytes".
        think: From the end of a response to the next request. Either this or `every`. A time such as "250 ms"
            or `Exponential`.
        every: From one request to the next; a request waits for the response before. Either this or `think`.
            A time such as "250 ms".
    """

    kind = "requests"
    carriage = "dialogue"
    response: str | SizeLaw | dict[str, Any]
    request: str | None = None
    think: str | LengthLaw | dict[str, Any] | None = None
    every: str | None = None

@dataclass(frozen=True)
class Web(Model):
    """A browser that loads page after page: a main object and, when that is parsed, its embedded objects.

    Without keys it is the model of 3GPP2 C.R1002. `path` is that of the responses. The result has a row for
    each way, NAME/requests and NAME/responses; the transfers of the latter are the pages.

    Args:
        main: Payload of a main object. A size such as "1448 bytes", `Exponential`, `Pareto`, `LogNormal`,
            `SizeList` or `SizeFile`. Default: log-normal, median "4230 bytes", sigma 1.37, from "100 bytes"
            to "2 MB".
        objects: Number of embedded objects. Default: pareto-count, least 2, shape 1.1, most 55: 5.6 on
            average. A whole number from 0 or `ParetoCount`.
        embedded: Payload of an embedded object. A size such as "1448 bytes", `Exponential`, `Pareto`,
            `LogNormal`, `SizeList` or `SizeFile`. Default: log-normal, median "478 bytes", sigma 2.36, from
            "50 bytes" to "2 MB".
        parsing: From the end of the main object to the requests for the others. A time such as "250 ms" or
            `Exponential`. Default: exponential, mean "130 ms".
        reading: From the end of a page to the request for the next one. A time such as "250 ms" or
            `Exponential`. Default: exponential, mean "30 s".
        connections: Most connections. With 1, the default, all embedded objects are asked for at once on the
            one connection (HTTP/2). With more, each carries one object at a time, and they stay open
            (HTTP/1.1). A whole number from 1 to 32.
        request: Payload of a request, rounded up to whole segments if it needs several. A size such as
            "1448 bytes". Default: "350 bytes".
    """

    kind = "web"
    carriage = "dialogue"
    main: str | SizeLaw | dict[str, Any] | None = None
    objects: int | CountLaw | dict[str, Any] | None = None
    embedded: str | SizeLaw | dict[str, Any] | None = None
    parsing: str | LengthLaw | dict[str, Any] | None = None
    reading: str | LengthLaw | dict[str, Any] | None = None
    connections: int | None = None
    request: str | None = None

@dataclass(frozen=True)
class Video(Model):
    """A player of adaptive video that chooses the bitrate of each segment by the level of its buffer (BBA-0).

    It is silent while the buffer is full. `path` is that of the video. The result has a row for each way,
    NAME/requests and NAME/responses; the transfers of the latter are the segments, and its columns
    `video_...` say how the video was seen.

    Args:
        ladder: The bitrates. A rate such as ["1 Mbit/s", "3 Mbit/s", "8 Mbit/s"]. Default: 235, 375, 560,
            750, 1050, 1750, 2350, 3000, 4300 and 5800 kbit/s.
        segment: How much video a segment holds. A time such as "250 ms". Default: "4 s".
        buffer: Most video that is kept. A time such as "250 ms". Default: "240 s".
        reservoir: The level up to which the least bitrate is chosen. A time such as "250 ms". Default: 3/8 of
            the buffer.
        cushion: How far above that the largest one is chosen, with a straight line between. A time such as
            "250 ms". Default: 21/40 of the buffer.
        startup: The level from which it plays, at first and after a stall. A time such as "250 ms". Default:
            one segment.
        length: How much video there is, rounded up to whole segments. A time such as "250 ms". Default: no
            end.
        request: Payload of a request, rounded up to whole segments if it needs several. A size such as
            "1448 bytes". Default: "350 bytes".
    """

    kind = "video"
    carriage = "dialogue"
    ladder: Sequence[str] | None = None
    segment: str | None = None
    buffer: str | None = None
    reservoir: str | None = None
    cushion: str | None = None
    startup: str | None = None
    length: str | None = None
    request: str | None = None

@dataclass
class Flow(OnPath):
    """One TCP connection, or `count` equal ones.

    Args:
        cc: Congestion controller; every flow has one unless its traffic is "cbr". The name of an algorithm,
            {"name": "simd", "beta": 0.0625} with parameters, or a `Controller` subclass. Must be given,
            unless the traffic has none.
        path: What the data crosses, in order: the name of a link for its forward direction, "NAME/reverse"
            for the other one. Acknowledgements return over the opposite directions.
        name: Unique name, which has no "/". Copies get -1, -2 and so on. Default: that of the controller.
        from_: In place of a path, the station of the constellation at which the sender is, by its name.
        to: The station at which the receiver is.
        pairs: In place of `from` and `to`, many pairs of stations, each with such a flow: "permutation",
            "all", a number drawn by inhabitants, or a file. "permutation", "all", a dict with "gravity" or a
            dict with "file".
        ack_path: What the acknowledgements cross, in order and named as in `path`, where they do not return
            over the opposite directions: a satellite's one transmitter sends data and acknowledgements alike.
            Default: the opposite of `path`.
        start: When it starts. A time such as "250 ms". Default: "0 s".
        stop: When its source stops producing data. A time such as "250 ms". Default: never.
        start_jitter: A uniform random part of this is added to the start. A time such as "250 ms". Default:
            "0 s".
        count: How many such flows there are. A whole number from 1 to 100000. Default: 1.
        traffic: What it sends, and when. `Bulk`, `Cbr`, `Voice`, `Ping`, `ShortFlows`, `OnOff`, `Requests`,
            `Web` or `Video`. Default: bulk data without end.
        profile: Defaults of all the options below. "modern", "paper", "linux", "scps" or "ns3". Default:
            "modern".
        extra_delay: Private propagation delay in front of the path, one way, both directions. A time such as
            "250 ms". Default: "0 s".
        ack_jitter: Each acknowledgement is held for a random time, uniform from 0 to this, and none overtakes
            another. A time such as "250 ms". Default: "0 s".
        priority: Band of its packets in queues of kind "priority", data and acknowledgements alike; 0 goes
            first. A whole number from 0 to 63. Default: 0.
        mss: Payload of a full segment. A size such as "1448 bytes". Default: paper 1460 bytes, else 1448
            bytes.
        header: Bytes on the wire added to each data segment; the header of XCP, RCP or TEAR comes on top. A
            size such as "1448 bytes". Default: paper 40 bytes, else 52 bytes.
        ack_size: Bytes on the wire of an acknowledgement. A size such as "1448 bytes". Default: paper 40
            bytes; else 52 bytes, and the SACK option where there is one.
        initial_window: Initial window in segments. A number from 1 to 1000000. Default: paper 1, else 10 (RFC
            6928).
        initial_ssthresh: Initial slow-start threshold in segments. A number from 2 to 1e+12. Default: none.
        receive_window: Receive window. With `acks = "linux"` it grows as the kernel's unless it is given. A
            window such as "432 segments". Default: it never binds, but a run in which a flow has more than
            2^22 segments outstanding ends in an error.
        read_rate: The receiving application reads no faster than this, in payload. `receive_window` is then
            its buffer, and the window shrinks by what waits in it (RFC 9293 section 3.8.6). A rate such as
            "10 Mbit/s". Default: it reads at once.
        relay: Ends the connection on its way and opens another (a split connection, RFC 3135). A dict with
            "at", "buffer", "cc", "initial_window". Default: none.
        subflow: Further subflows: the connection begins on `path`, and its data is spread over all of them
            (Multipath TCP, RFC 8684). `receive_window` is then shared. A dict with "ack_path", "cc", "path".
            Default: none.
        scheduler: With `subflow`, which of them sends the next segment. "min-rtt" or "round-robin". Default:
            "min-rtt".
        opportunistic: With `subflow`: where the shared receive window holds a subflow back, it sends the
            oldest segment that another subflow still has under way. The window of that subflow is halved, at
            most once per round trip. Default: no.
        both_ways: Both ends write over one connection: data in the other direction, too, which carries the
            acknowledgements of this one, as this one carries its own (RFC 9293 section 3.8.6.3). Yes for the
            same there and back, or a table of what differs. True, False or a dict with "cc",
            "initial_window", "size". Default: no.
        recovery: Loss recovery. "sack", "newreno", "reno" or "tahoe". Default: "sack".
        rack: Loss detection by the times of sending (RACK, RFC 8985); needs SACK. Default: paper no, else
            yes.
        tlp: Tail loss probe (RFC 8985); needs SACK. Default: paper no, else yes.
        dsack: Duplicates are reported (RFC 2883), and a fast recovery that they show to be needless is
            undone; needs SACK. Default: paper no, else yes.
        sack_restarts_rto: A SACK restarts the retransmission timer, too, if its data was sent before the
            oldest segment was sent last; needs RACK. Linux yes, else no.
        snack: The receiver tells which segments it misses (SNACK, CCSDS 714.0-B-2), and the sender sends them
            again at once, without three duplicates; needs recovery = "newreno", which is then the default.
            Default: scps yes, else no.
        snack_vector: Most octets of the bit vector in a SNACK, which shows further holes, a bit for each
            segment. Default 0: one hole per acknowledgement. A whole number from 0 to 16.
        newreno_exit: Window at the end of a recovery without SACK (RFC 6582). "flight-size" or "ssthresh".
            Default: paper "ssthresh", else "flight-size".
        prr: Proportional rate reduction (RFC 9937). Default: paper no, else yes.
        byte_counting: Growth counts bytes (RFC 3465) rather than ACKs (RFC 5681). Default: paper no, else
            yes.
        slow_start_limit: With byte counting, in slow start an ACK counts for two segments at most (RFC 3465
            section 2.2). Default: linux no, else yes.
        limited_transmit: Limited transmit (RFC 3042). Default: yes.
        delayed_ack: Acknowledge every second segment. Default: paper no, else yes.
        delayed_ack_timeout: Longest delay of an acknowledgement. A time such as "250 ms". Default: linux
            "40 ms", else "200 ms".
        acks: Which acknowledgements are delayed, with `delayed_ack`. "rfc5681" or "linux". Default: linux
            "linux", else "rfc5681".
        timestamps: Timestamps (RFC 7323). The header does not follow: set it, too. Default: paper no, else
            yes.
        ecn: Explicit congestion notification, and how the receiver tells of marks: no, yes (which means
            "rfc3168"), or a name. True, False, "rfc3168", "dctcp" or "accecn". Default: what the controller
            asks for, else no.
        ect1: Data carries ECT(1), by which queues know L4S traffic (RFC 9331), instead of ECT(0); needs
            `ecn`. The response to marks stays that of RFC 3168. Default: no.
        handshake: Open the connection with three segments before data is sent, and close it when all is
            acknowledged (RFC 9293). Default: paper no, else yes.
        initial_rto: Retransmission timeout before the first RTT sample. A time such as "250 ms". Default:
            paper "3 s", else "1 s".
        rto: How the retransmission timeout follows from round-trip times, and whether one in a recovery sets
            ssthresh anew. "rfc6298" or "linux". Default: paper "rfc6298", else "linux".
        min_rto: Smallest retransmission timeout; with `rto = "linux"` what it adds to the smoothed round-trip
            time at least. A time such as "250 ms". Default: paper and linux "200 ms", modern "1 s".
        max_rto: Largest retransmission timeout. A time such as "250 ms". Default: linux "120 s", else "60 s".
        granularity: Granularity of the retransmission timer's clock. A time such as "250 ms". Default: paper
            "10 ms", modern "1 ms", linux "1 us".
        spurious: Detection of spurious timeouts. "none", "f-rto" or "eifel". Default: paper "none", else
            "f-rto".
        idle_restart: What becomes of a window that was not used. It does not hold for controllers that set
            their window in every phase, such as BBR. "none", "rfc5681" or "linux". Default: modern "rfc5681",
            linux "linux", else "none".
        app_limited: When the rates of what is sent count as limited by the application. "draft" or "linux".
            Default: linux "linux", else "draft".
        pacing: Spread segments over the round trip when the controller leaves it to the sender. Default: no.
        aen: Probe after a timeout to tell lost data from lost acknowledgements (TCP-STAR). Default: what the
            controller asks for.
        aen_probe: What AEN probes with; needs `aen`. "byte" or "segment". Default: "byte".
        bulk_repeat: Retransmit everything outstanding when the controller says so. Default: what the
            controller asks for.
        fixed_rto: Do not double the timeout at consecutive timeouts. Default: what the controller asks for.
        thin_linear_timeouts: The first six timeouts in a row do not double the timeout while fewer than four
            segments are outstanding and the first slow start is over (Linux, `tcp_thin_linear_timeouts`).
            Default: no.
        path_hints: The host of the sender learns when a link of the path, there or back, changes hands, and
            tells the controller. The satellite terminal next to the host can know that. Default: yes, if the
            controller uses it.
        rate_hints: The host of the sender learns when the rate of the slowest link on the way of the data
            changes by a time line, from which rate to which, and tells the controller. A modem that follows
            the weather knows that. `path_change = "reset"` of a controller then lowers the window with the
            rate. Default: no.
        quality_hints: The host of the sender learns when the errors on the way of the data change by a time
            line, and tells the controller the bit error rate. A modem that decodes them knows it. Default:
            yes, if the controller uses it.
        hint_delay: The host learns so long after each handover, change of rate or of errors: for a host that
            is not next to the terminal. A time such as "250 ms". Default: "0 s".
        hint_lead: The host learns so long ahead of each handover, change of rate or of errors: the terminal
            foresees it. A time such as "250 ms". Default: "0 s".
    """

    cc: Any = None
    path: Sequence[str] | None = None
    _: KW_ONLY
    name: str | None = None
    from_: str | None = None
    to: str | None = None
    pairs: str | dict[str, Any] | None = None
    ack_path: Sequence[str] | None = None
    start: str | None = None
    stop: str | None = None
    start_jitter: str | None = None
    count: int | None = None
    traffic: Traffic | dict[str, Any] | None = None
    profile: str | None = None
    extra_delay: str | None = None
    ack_jitter: str | None = None
    priority: int | None = None
    mss: str | None = None
    header: str | None = None
    ack_size: str | None = None
    initial_window: float | None = None
    initial_ssthresh: float | None = None
    receive_window: str | None = None
    read_rate: str | None = None
    relay: dict[str, Any] | None = None
    subflow: Sequence[dict[str, Any]] | None = None
    scheduler: str | None = None
    opportunistic: bool | None = None
    both_ways: bool | dict[str, Any] | None = None
    recovery: str | None = None
    rack: bool | None = None
    tlp: bool | None = None
    dsack: bool | None = None
    sack_restarts_rto: bool | None = None
    snack: bool | None = None
    snack_vector: int | None = None
    newreno_exit: str | None = None
    prr: bool | None = None
    byte_counting: bool | None = None
    slow_start_limit: bool | None = None
    limited_transmit: bool | None = None
    delayed_ack: bool | None = None
    delayed_ack_timeout: str | None = None
    acks: str | None = None
    timestamps: bool | None = None
    ecn: bool | str | None = None
    ect1: bool | None = None
    handshake: bool | None = None
    initial_rto: str | None = None
    rto: str | None = None
    min_rto: str | None = None
    max_rto: str | None = None
    granularity: str | None = None
    spurious: str | None = None
    idle_restart: str | None = None
    app_limited: str | None = None
    pacing: bool | None = None
    aen: bool | None = None
    aen_probe: str | None = None
    bulk_repeat: bool | None = None
    fixed_rto: bool | None = None
    thin_linear_timeouts: bool | None = None
    path_hints: bool | None = None
    rate_hints: bool | None = None
    quality_hints: bool | None = None
    hint_delay: str | None = None
    hint_lead: str | None = None

@dataclass(frozen=True)
class Record(Model):
    """What a traced run records.

    Args:
        interval: Time between two rows, or "change" (the default) for a row whenever cwnd or ssthresh of a
            flow changes. A interval such as "100 ms". Default: "change".
        flows: Record each flow (in Python `Result.trace`). Default: True.
        links: Record each link (in Python `Result.link_trace`); needs an interval of time. Default: False.
        segments: Record every segment sent, lost and acknowledged (in Python `Result.segments`), about 30
            bytes each. Default: False.
        transfers: Record every transfer (in Python `Result.transfers`): each short flow, burst, response,
            page and segment, with its size and how long it took. Default: False.
        probes: Record the probes of the controllers (in Python `Result.probes`): the quantities inside each
            that it names, as Vegas-A's alpha_segments. With `interval = "change"`, each whenever its value
            changes. Default: False.
    """

    interval: str | None = None
    flows: bool | None = None
    links: bool | None = None
    segments: bool | None = None
    transfers: bool | None = None
    probes: bool | None = None

Queue = DropTail | DropFront | Red | Codel | FqCodel | Pie | DualPi2 | Priority | Xcp | Vcp | Rcp
"""A queue."""

Loss = PacketError | BitError | GilbertElliott | BernoulliBurst | Outage | LossTrace
"""A loss model of one direction."""

Access = Dama
"""How a terminal gets the right to send."""

LengthLaw = Exponential
"""A law of lengths of time."""

SizeLaw = Exponential | Pareto | LogNormal | SizeList | SizeFile
"""A law of sizes."""

CountLaw = ParetoCount
"""A law of numbers."""

Traffic = Bulk | Cbr | Voice | Ping | ShortFlows | OnOff | Requests | Web | Video
"""What a flow sends."""

KINDS: Mapping[str, type[Model]]
"""Every class with a kind, by the kind's name in a scenario."""

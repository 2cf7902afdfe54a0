"""Live page of an emulation: both ways of the link, and the connections over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bentpipe import terminal
from bentpipe.connections import Connection, Connections
from bentpipe.live.board import Family, LiveChart, LivePage, Reading, Series
from bentpipe.live.flows import Largest
from bentpipe.live.server import Shown, serve

if TYPE_CHECKING:
    from bentpipe.emulation.session import Emulation

_WAYS = ("forward", "reverse")
_LEGS = ("first", "second")
#: Bytes by which the far end must be ahead before a connection is its own: handshakes and short questions.
_SMALL = 3000
_DROPS = {"dropped_queue": "queue", "dropped_error": "error"}


def page(title: str, lead: str = "", *, relay: bool = False) -> LivePage:
    """The page; `title` names the link, `lead` is the command. With a relay both of its sides are shown."""
    ways = [f"{leg} {way}" for leg in _LEGS for way in _WAYS] if relay else list(_WAYS)

    def each(what: str, scale: float = 1.0) -> list[Series]:
        return [Series(f"{way}/{what}", way, scale) for way in ways]

    half = " /first is the half before the relay, /second the half behind it." if relay else ""
    return LivePage(
        title,
        [
            LiveChart("Rate.", "rate, Mbit/s", each("rate", 1e-6), "What the link delivered, as IP packets."),
            LiveChart("Queue.", "queue, packets", each("queue"), "Packets that wait before the link."),
            LiveChart(
                "Smoothed RTT.",
                "smoothed RTT, ms",
                Family("rtt/", 1e3),
                "Of each connection, where its data is sent; named by the ports of both ends." + half,
            ),
            LiveChart(
                "Congestion window.", "congestion window, segments", Family("cwnd/"), "As the kernel has it."
            ),
            LiveChart(
                "Losses.",
                "losses, packets/s",
                [Series(f"{way}/{drop}", f"{way}, {word}") for way in ways for drop, word in _DROPS.items()],
                "Dropped by a full queue or its rule, and lost by errors on the way.",
            ),
            LiveChart(
                "Lateness.",
                "lateness, ms",
                [
                    Series("late/p50", "50 % of packets", 1e3),
                    Series("late/p99", "99 %", 1e3),
                    Series("late/max", "all", 1e3),
                ],
                "How much later than due packets were delivered at most, the worse way, since the beginning.",
                log=True,
            ),
        ],
        readings=[
            Reading("rate", "rate, forward", "Mbit/s", 1e-6),
            Reading("back", "rate, reverse", "Mbit/s", 1e-6),
            Reading("queue", "queue, forward", "packets"),
            Reading("lost", "lost so far", "packets"),
            Reading("late/p99", "99 % late by less than", "ms", 1e3),
        ],
        lead=lead,
        rank="bps/",
    )


@contextmanager
def watching(address: str, emulation: Emulation, title: str, lead: str = "") -> Iterator[Shown]:
    """Serves the page of an emulation that runs, and says on standard error where.

    Args:
        address: ``"127.0.0.1:8000"``; port 0 is any that is free.
        emulation: inside its `with` block.
        title: the name of the link.
        lead: the command.

    Raises:
        ScenarioError: the address is not of this machine's loopback, or it is taken.
    """
    ends: dict[str, Connections] = {side: emulation.within(side, Connections) for side in emulation.sides}
    shown = page(title, lead, relay="relay" in ends)
    try:
        with serve(address, shown, EmulationSource(emulation.snapshot, ends)) as served:
            terminal.note(f"{served.address} shows the link while the command runs")
            yield served
    finally:
        for end in ends.values():
            end.close()


class EmulationSource:
    """The current numbers of an emulation."""

    def __init__(self, snapshot: Callable[[], Mapping[str, Any]], ends: Mapping[str, Connections]) -> None:
        """`snapshot` is that of an `Emulation`; `ends` are "near", "far", and "relay" where there is one."""
        self._snapshot, self._ends = snapshot, ends
        self._before: Mapping[str, Any] | None = None
        self._largest = Largest()

    def __call__(self) -> dict[str, float]:
        """Names and numbers, as `page` uses them."""
        now = self._snapshot()
        before, self._before = self._before, now
        past = now["t_s"] - before["t_s"] if before else 0.0
        numbers: dict[str, float] = {}
        for name, row in _rows(now).items():
            numbers[f"{name}/queue"] = row["queue_packets"]
            if before and past > 0:
                old = _rows(before)[name]
                numbers[f"{name}/rate"] = 8 * (row["delivered_bytes"] - old["delivered_bytes"]) / past
                for what in _DROPS:
                    numbers[f"{name}/{what}"] = (row[what] - old[what]) / past
        if before and past > 0:
            for name, way in (("rate", "forward"), ("back", "reverse")):
                numbers[name] = 8 * (now[way]["delivered_bytes"] - before[way]["delivered_bytes"]) / past
        numbers["queue"] = now["forward"]["queue_packets"]
        numbers["lost"] = sum(now[way][what] for way in _WAYS for what in _DROPS)
        for part in ("p50", "p99", "max"):
            numbers[f"late/{part}"] = max(now[way][f"lateness_{part}_s"] for way in _WAYS)
        connections = sending({end: _over_the_link(at) for end, at in self._ends.items()})
        rates = self._largest.rates(now["t_s"], {name: at.acked_bytes for name, at in connections.items()})
        for name, bps in rates.items():
            numbers[f"bps/{name}"] = bps
            numbers[f"cwnd/{name}"] = connections[name].cwnd_segments
            numbers[f"rtt/{name}"] = connections[name].srtt_s
        return numbers


def _over_the_link(end: Connections) -> list[Connection]:
    return [connection for connection in end.read() if not connection.over_loopback]


def _rows(snapshot: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The numbers of each way, of each leg if there are two, by the names of the page."""
    legs = snapshot.get("legs")
    if legs is None:
        return {way: snapshot[way] for way in _WAYS}
    return {f"{name} {way}": leg[way] for name, leg in zip(_LEGS, legs, strict=True) for way in _WAYS}


def sending(ends: Mapping[str, Sequence[Connection]]) -> dict[str, Connection]:
    """Each connection at that of its two ends which sends more of the data, by a name that says which.

    Args:
        ends: the connections of "near" and "far", and of "relay" where there is one.
    """
    near = [(at, "/first" if "relay" in ends else "", True) for at in ends["near"]]
    far = [(at, "/second" if "relay" in ends else "", False) for at in ends["far"]]
    # The relay has the near end's address on its far side, and the other way round.
    behind = {at.local.address for at in ends["near"]}
    for at in ends.get("relay", ()):
        first = at.remote.address in behind
        (far if first else near).append((at, "/first" if first else "/second", not first))
    found: dict[str, tuple[str, Connection]] = {}
    for at, half, is_near in near + far:
        here, there = (at.local, at.remote) if is_near else (at.remote, at.local)
        pair = f"{here} {there} {half}"
        other = found.get(pair)
        if other is None or at.acked_bytes > other[1].acked_bytes + _SMALL:
            way = "→" if is_near else "←"
            found[pair] = f"{here.port} {way} {there.port}{half}", at
    return dict(found.values())

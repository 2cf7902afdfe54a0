"""Sources of the numbers of live pages, with their pages: an emulation, and the flows of the kernel."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bentpipe import terminal
from bentpipe.live.board import BoardNumber, Family, LiveChart, LivePage, Series
from bentpipe.live.server import ServedPage, serve
from bentpipe.machine.connections import Connection, Connections

if TYPE_CHECKING:
    from bentpipe.emulation.session import Emulation

_WAYS = ("forward", "reverse")
_LEGS = ("first", "second")
#: Bytes by which the far end must be ahead before a connection is its own: handshakes and short questions.
_SMALL = 3000
_DROPS = {"dropped_queue": "queue", "dropped_error": "error"}
#: Flows that a page shows at once.
SHOWN = 8
#: The part of a new rate in the mean that ranks flows.
_NEW = 0.1
_WINDOWS = LiveChart(
    "Congestion window.", "congestion window, segments", Family("cwnd/"), "As the kernel has it."
)


def emulation_page(title: str, lead: str = "", *, relay: bool = False) -> LivePage:
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
            _WINDOWS,
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
            BoardNumber("rate", "rate, forward", "Mbit/s", 1e-6),
            BoardNumber("back", "rate, reverse", "Mbit/s", 1e-6),
            BoardNumber("queue", "queue, forward", "packets"),
            BoardNumber("lost", "lost so far", "packets"),
            BoardNumber("late/p99", "99 % late by less than", "ms", 1e3),
        ],
        lead=lead,
        rank="bps/",
    )


@contextmanager
def watching(address: str, emulation: Emulation, title: str, lead: str = "") -> Iterator[ServedPage]:
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
    shown = emulation_page(title, lead, relay="relay" in ends)
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
        """Names and numbers, as `emulation_page` uses them."""
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
        ends = {end: [c for c in at.read() if not c.over_loopback] for end, at in self._ends.items()}
        connections = sending(ends)
        rates = self._largest.rates(now["t_s"], {name: at.acked_bytes for name, at in connections.items()})
        for name, bps in rates.items():
            numbers[f"bps/{name}"] = bps
            numbers[f"cwnd/{name}"] = connections[name].cwnd_segments
            numbers[f"rtt/{name}"] = connections[name].srtt_s
        return numbers


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


def kernel_page(title: str) -> LivePage:
    """The page; `title` names the algorithm."""
    return LivePage(
        title,
        [
            LiveChart("Rate.", "rate, Mbit/s", Family("bps/", 1e-6), "Data that the receiver acknowledged."),
            _WINDOWS,
            LiveChart("Smoothed RTT.", "smoothed RTT, ms", Family("rtt/", 1e3)),
            LiveChart("In flight.", "in flight, segments", Family("flight/"), "Sent and not acknowledged."),
            LiveChart(
                "Age of the last order.",
                "age, ms",
                Family("age/", 1e3),
                "Since the agent last gave the kernel a window. Not there for programs in the kernel.",
            ),
        ],
        readings=[
            BoardNumber("flows", "flows"),
            BoardNumber("rate", "rate of all", "Mbit/s", 1e-6),
            BoardNumber("fallbacks", "fallbacks"),
            BoardNumber("dropped", "reports dropped"),
            BoardNumber("applied", "99 % of orders applied in", "ms", 1e3),
        ],
        rank="bps/",
    )


class KernelSource:
    """The current numbers of the kernel's flows."""

    def __init__(
        self, status: Callable[[], Mapping[str, Any]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`status` gives the output of `bentpipe kernel status --json` for one algorithm."""
        self._status, self._clock = status, clock
        self._largest = Largest()
        self._before: tuple[float, dict[str, float]] | None = None

    def __call__(self) -> dict[str, float | None]:
        """Names and numbers, as `kernel_page` uses them."""
        t_s, status = self._clock(), self._status()
        flows = {f"{flow['local']} → {flow['remote']}": flow for flow in status["flows"]}
        delivered = {name: float(flow["delivered_bytes"]) for name, flow in flows.items()}
        numbers: dict[str, float | None] = {
            "flows": len(flows),
            "fallbacks": sum(flow.get("fallbacks") or 0 for flow in flows.values()),
            "dropped": status.get("dropped_reports"),
            "applied": ((status.get("latency") or {}).get("ack_to_applied_s") or {}).get("p99"),
        }
        if self._before is not None and t_s > self._before[0]:
            past, before = t_s - self._before[0], self._before[1]
            more = sum(max(now - before.get(name, now), 0) for name, now in delivered.items())
            numbers["rate"] = 8 * more / past
        self._before = t_s, delivered
        for name, bps in self._largest.rates(t_s, delivered).items():
            flow = flows[name]
            numbers[f"bps/{name}"] = bps
            numbers[f"cwnd/{name}"] = flow["cwnd_segments"]
            numbers[f"rtt/{name}"] = flow["srtt_s"]
            numbers[f"flight/{name}"] = flow["in_flight_segments"]
            numbers[f"age/{name}"] = flow.get("order_age_s")
        return numbers


class Largest:
    """Rates of flows from their delivered bytes, and the flows with the greatest recent rates."""

    def __init__(self, most: int = SHOWN) -> None:
        self._most = most
        self._t_s = 0.0
        self._bytes: dict[str, float] = {}
        self._means: dict[str, float] = {}

    def rates(self, t_s: float, delivered: Mapping[str, float]) -> dict[str, float]:
        """Rates of the largest since the last call, in bit/s; all are 0 at the first.

        Args:
            t_s: the time of now, in seconds.
            delivered: bytes of each flow since its beginning. A flow that is missing has gone.
        """
        past, self._t_s = t_s - self._t_s, t_s
        rates = {}
        for name, now in delivered.items():
            # Data that a flow delivered before it was first seen has no time.
            rate = 8 * max(now - self._bytes.get(name, now), 0) / past if past > 0 else 0.0
            rates[name] = rate
            mean = self._means.get(name)
            self._means[name] = rate if mean is None else mean + _NEW * (rate - mean)
        self._means = {name: self._means[name] for name in delivered}
        self._bytes = dict(delivered)
        largest = sorted(delivered, key=lambda name: (-self._means[name], -delivered[name]))[: self._most]
        return {name: rates[name] for name in delivered if name in set(largest)}

"""What the page of an emulation shows: both ways of the link, and the connections over it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bentpipe.live.board import Family, LiveChart, LivePage, Reading, Series
from bentpipe.live.connections import Connection, Connections
from bentpipe.live.flows import Largest

_WAYS = ("forward", "reverse")


def page(title: str, lead: str = "") -> LivePage:
    """The page; `title` names the link, `lead` is the command."""

    def both(what: str, scale: float = 1.0) -> list[Series]:
        return [Series(f"{way}/{what}", way, scale) for way in _WAYS]

    return LivePage(
        title,
        [
            LiveChart("Rate.", "rate, Mbit/s", both("rate", 1e-6), "What the link delivered, as IP packets."),
            LiveChart("Queue.", "queue, packets", both("queue"), "Packets that wait before the link."),
            LiveChart(
                "Smoothed RTT.",
                "smoothed RTT, ms",
                Family("rtt/", 1e3),
                "Of each connection, where its data is sent. By the ports of the near and the far end.",
            ),
            LiveChart(
                "Congestion window.", "congestion window, segments", Family("cwnd/"), "As the kernel has it."
            ),
            LiveChart(
                "Losses.",
                "losses, packets/s",
                [
                    Series("forward/dropped_queue", "forward, queue"),
                    Series("forward/dropped_error", "forward, error"),
                    Series("reverse/dropped_queue", "reverse, queue"),
                    Series("reverse/dropped_error", "reverse, error"),
                ],
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
            Reading("forward/rate", "rate, forward", "Mbit/s", 1e-6),
            Reading("reverse/rate", "rate, reverse", "Mbit/s", 1e-6),
            Reading("forward/queue", "queue, forward", "packets"),
            Reading("lost", "lost so far", "packets"),
            Reading("late/p99", "99 % late by less than", "ms", 1e3),
        ],
        lead=lead,
        rank="bps/",
    )


class EmulationSource:
    """The numbers of this moment of an emulation."""

    def __init__(
        self,
        snapshot: Callable[[], Mapping[str, Any]],
        enter: Sequence[Callable[[], None]] = (),
    ) -> None:
        """`snapshot` is `Emulation.snapshot`; `enter` moves a thread to the near end and to the far end.

        Raises:
            OSError: an end cannot be entered.
        """
        self._snapshot = snapshot
        self._ends = [Connections(end) for end in enter]
        self._before: Mapping[str, Any] | None = None
        self._largest = Largest()

    def close(self) -> None:
        """Looks at the connections no more."""
        for end in self._ends:
            end.close()

    def __call__(self) -> dict[str, float]:
        """Names and numbers, as `page` uses them."""
        now = self._snapshot()
        before, self._before = self._before, now
        past = now["t_s"] - before["t_s"] if before else 0.0
        numbers: dict[str, float] = {}
        for way in _WAYS:
            numbers[f"{way}/queue"] = now[way]["queue_packets"]
            if before and past > 0:

                def rate(what: str, way: str = way) -> float:
                    return float(now[way][what] - before[way][what]) / past

                numbers[f"{way}/rate"] = 8 * rate("delivered_bytes")
                for what in ("dropped_queue", "dropped_error"):
                    numbers[f"{way}/{what}"] = rate(what)
        numbers["lost"] = sum(now[way][what] for way in _WAYS for what in ("dropped_queue", "dropped_error"))
        for part in ("p50", "p99", "max"):
            numbers[f"late/{part}"] = max(now[way][f"lateness_{part}_s"] or 0.0 for way in _WAYS)
        connections = self._connections()
        rates = self._largest.rates(now["t_s"], {name: at.acked_bytes for name, at in connections.items()})
        for name, bps in rates.items():
            numbers[f"bps/{name}"] = bps
            numbers[f"cwnd/{name}"] = connections[name].cwnd_segments
            numbers[f"rtt/{name}"] = connections[name].srtt_s
        return numbers

    def _connections(self) -> dict[str, Connection]:
        """Each connection at the end that sends more of the data, by a name that says which."""
        found: dict[tuple[Any, Any], tuple[str, Connection]] = {}
        for end, near in zip(self._ends, (True, False), strict=False):
            for at in end.read():
                pair = (at.local, at.remote) if near else (at.remote, at.local)
                other = found.get(pair)
                if other is None or at.acked_bytes > other[1].acked_bytes:
                    way = "→" if near else "←"
                    found[pair] = f"{pair[0].port} {way} {pair[1].port}", at
        return {f"{name}": at for name, at in found.values()}

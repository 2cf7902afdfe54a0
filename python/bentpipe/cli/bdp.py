"""The verb `bentpipe bdp`: the window that a link demands, and what TCP needs to have it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from bentpipe import terminal, units
from bentpipe.cli.verbs import Json, argument, option, probability
from bentpipe.units import MSS, PACKET

LOSSES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
INITIAL_WINDOW = 10
"""Segments (RFC 6928)."""


def bdp(rate_bps: float, rtt_s: float, losses: Sequence[float] = LOSSES) -> dict[str, Any]:
    """The bandwidth-delay product of a link, and what follows from it.

    Returns:
        bdp_bytes, on the wire, and bdp_segments of `PACKET` bytes; window_bytes, their payload, which windows
        count; window_scale, the shift of the window field that it needs (RFC 7323,
        section 2.3); slow_start_s, the time from ten segments to it, doubled each round trip; recovery_s, the
        time from a loss at that window to the same window, of Reno (RFC 5681, section 3.1) and CUBIC (RFC
        9438, eq 2); and goodput_bps of both by loss rate, of `analysis.aimd_window` and `cubic_window` for
        losses at equal distances, at most the payload that the rate carries. Random losses leave CUBIC about
        a quarter more.
    """
    from bentpipe.analysis.highspeed import cubic_window
    from bentpipe.analysis.response import aimd_window

    size = rate_bps * rtt_s / 8
    segments = size / PACKET
    window = segments * MSS
    reno_s = segments / 2 * rtt_s
    return {
        "bdp_bytes": size,
        "bdp_segments": segments,
        "window_bytes": window,
        "window_scale": min(14, max(0, math.ceil(math.log2(window / 65_535)))),
        "slow_start_s": rtt_s * max(0, math.ceil(math.log2(segments / INITIAL_WINDOW))),
        "recovery_s": {"reno": reno_s, "cubic": min(reno_s, math.cbrt(0.3 * segments / 0.4))},
        "goodput_bps": {
            f"{p:g}": {
                name: min(rate_bps * MSS / PACKET, float(mean) * MSS * 8 / rtt_s)
                for name, mean in (("reno", aimd_window(p)), ("cubic", cubic_window(p, rtt_s)))
            }
            for p in losses
        },
    }


def bdp_verb(
    rate: Annotated[str, argument("RATE", '"20 Mbit/s".')],
    rtt: Annotated[str, argument("RTT", 'Round trip without queues, "600 ms".')],
    per: Annotated[
        list[str] | None, option("P", 'Goodput at this loss rate: 1e-4 or "0.01 %". Repeatable.', "--per")
    ] = None,
    json: Json = False,
) -> None:
    """Say what window a link demands, what it takes to have it, and what losses leave."""
    losses = [probability(text) for text in per or []]
    if 0 in losses:
        raise typer.BadParameter("--per 0: these formulas are for a loss rate above 0")
    found = bdp(
        units.positive("rate", rate.strip(), "RATE"),
        units.positive("time", rtt.strip(), "RTT"),
        losses or LOSSES,
    )

    def show() -> None:
        size, window, recovery = found["bdp_bytes"], found["window_bytes"], found["recovery_s"]
        rows = [
            (
                "bandwidth-delay product",
                f"{size:,.0f} bytes on the wire, {units.digits(found['bdp_segments'])} segments of {PACKET}",
            ),
            ("window that fills it", f"{window:,.0f} bytes of payload"),
            ("window scale of the receiver", f"{found['window_scale']} or more"),
            (
                "buffers of the sockets, tcp_rmem and tcp_wmem",
                f"{2 * window:,.0f} bytes: Linux offers half as window",
            ),
            ("slow start from 10 segments to it", f"{units.digits(found['slow_start_s'])} s"),
            ("from a loss there to it again, Reno", f"{units.digits(recovery['reno'])} s"),
            ("the same, CUBIC", f"{units.digits(recovery['cubic'])} s"),
        ]
        terminal.show_whole(f"{rate}, {rtt}", ["<quantity", "<value"], rows)
        losses = [[p, *(units.rate(of) for of in by.values())] for p, by in found["goodput_bps"].items()]
        terminal.show_whole("Goodput at a loss rate, by formula", ["<loss rate", "Reno", "CUBIC"], losses)

    terminal.give(lambda: found, show, json=json)

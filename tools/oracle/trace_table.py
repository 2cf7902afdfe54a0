"""Conversion of a guest's trace to the small table that the tests of crates/cc replay.

A line of the table is an event; its first cell gives the kind. An empty cell has the value of the line of
this kind before. docs/oracle.md lists the cells.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

INFINITE = 0x7FFFFFFF

# `enum tcp_ca_state`: less than CWR is open or disorder; after a timeout.
CWR = 2
LOSS = 4

# `enum tcp_ca_ack_event_flags`.
SLOW_PATH = 1

# `enum tcp_ca_event`: something is sent while nothing is in flight.
TX_START = 0

# A table ends after this number of lines, to keep the test data small.
MOST = 750

_LINE = re.compile(r"^.*\[\d+\] \S+ +([\d.]+): (\w+): (.*)$", re.MULTILINE)
_CELL = re.compile(r"(\w+)=(\S+)")


class Unusable(Exception):
    """A trace that contradicts itself; the message says where."""


@dataclass
class Event:
    """One line of the kernel's trace."""

    kind: str
    time: str
    cells: dict[str, str]

    def __getitem__(self, name: str) -> int:
        return int(self.cells[name], 0)


def events(text: str) -> list[Event]:
    """All events of a trace buffer, in order."""
    if lost := re.search(r"entries-in-buffer/entries-written: (\d+)/(\d+)", text):
        if lost[1] != lost[2]:
            raise Unusable(f"the trace buffer was too small: {lost[1]} of {lost[2]} events are left")
    return [Event(m[2], m[1], dict(_CELL.findall(m[3]))) for m in _LINE.finditer(text)]


def _check(found: list[Event]) -> None:
    """The probe of tcp_probe and the samples of pkts_acked must agree with the kernel probes."""
    sample: Event | None = None
    for event in found:
        if event.kind == "sample":
            sample = event
        elif event.kind == "ack":
            if sample is not None and sample["t"] == event["t"] and sample["rtt"] != event["rtt"]:
                raise Unusable(
                    f"at {event.time} s pkts_acked has RTT {sample['rtt']} and the ACK {event['rtt']}"
                )
            sample = None
    previous: Event | None = None
    for event in found:
        if event.kind == "ack" and previous is not None and previous.kind == "tcp_probe":
            # The end of a recovery sets the window to the threshold between the two.
            same = event["cwnd"] in (previous["snd_cwnd"], event["ssthresh"])
            if event["state"] < CWR and not same:
                raise Unusable(
                    f"at {event.time} s tcp_probe has window {previous['snd_cwnd']}, not {event['cwnd']}"
                )
        if event.kind in ("ack", "tcp_probe"):
            previous = event


def _after(found: list[Event], index: int) -> tuple[int, int]:
    """Window and threshold after the event at `index`: as the next event shows them."""
    for event in found[index + 1 :]:
        if event.kind == "tcp_probe":
            return event["snd_cwnd"], event["ssthresh"]
        if event.kind in ("ack", "ask", "sample", "state"):
            return event["cwnd"], event["ssthresh"]
    raise IndexError


def table(text: str, about: str, *, smoothed: bool, ticks: bool) -> str:
    """The table of a trace; `about` becomes its first line.

    `smoothed` and `ticks`: with the smoothed RTT, and with clock ticks.

    Raises Unusable if the trace is not whole.
    """
    found = events(text)
    _check(found)
    acks = [index for index, event in enumerate(found) if event.kind == "ack"]
    if len(acks) < 2:
        raise Unusable("nothing was sent")
    start, begin = found[acks[0]], acks[1]  # the first ACK is the handshake's
    first = found[begin]
    una, nxt, clock = start["una"], start["una"], first["t"]
    srtt, rtt = start["srtt"], start["srtt"] // 8
    rows = [f"# {about}", f"# start,{first['cwnd']},{srtt}"]
    last: dict[str, list[str]] = {}

    tick = start["ticks"] if ticks else 0

    slow_path = ""

    def row(kind: str, event: Event, *cells: str) -> None:
        nonlocal clock, tick
        time = event["t"]
        if ticks:
            cells += (str(event["ticks"] - tick), slow_path if kind == "A" else "")
            tick = event["ticks"]
        seen = last.get(kind, [""] * len(cells))
        short = ["" if cell == old else cell for cell, old in zip(cells, seen, strict=True)]
        last[kind] = list(cells)
        rows.append(",".join([kind, str(time - clock), *short]).rstrip(","))
        clock = time

    for index in range(acks[0] + 1, len(found)):
        event = found[index]
        if event.kind == "ack":
            try:
                cwnd, ssthresh = _after(found, index)
            except IndexError:
                break
            if event["rtt"] >= 0:
                sample, rtt = str(event["rtt"] - rtt), event["rtt"]
            else:
                sample = "-"
            slow = event["cwnd"] < event["ssthresh"]
            limited = event["limited"] == 1 or slow and event["cwnd"] < 2 * event["most"]
            flight = event["out"] - event["sacked"] - event["gone"] + event["again"]
            row(
                "A",
                event,
                str((event["una"] - una) % 2**32),
                str((event["nxt"] - nxt) % 2**32),
                str(event["delivered"]),
                str(event["lost"]),
                sample,
                str(event["srtt"] - srtt) if smoothed else "",
                str(flight),
                str(event["state"]),
                str(int(limited)),
                str(cwnd),
                "inf" if ssthresh == INFINITE else str(ssthresh),
            )
            una, nxt, srtt = event["una"], event["nxt"], event["srtt"]
            if len(rows) >= MOST:
                break
        elif event.kind == "in_ack":
            slow_path = str(event["what"] & SLOW_PATH)
        elif event.kind == "ask":
            answer = next(e for e in found[index:] if e.kind == "cut")
            row("C", event, str(answer["value"]))
        elif event.kind == "state" and (event["to"] != event["state"] or event["to"] == LOSS):
            sent = 0
            if event["to"] == LOSS:  # the timer's: a probe may have gone out since the last ACK
                sent, nxt = (event["nxt"] - nxt) % 2**32, event["nxt"]
            row("S", event, str(event["to"]), str(event["cwnd"]), str(sent))
        elif event.kind == "event" and event["what"] == TX_START and index > begin:
            row("E", event)
    return "\n".join(rows) + "\n"

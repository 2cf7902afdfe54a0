"""A run of a found failure with the kernel's TCP behind the emulated link, in real time.

The link is that of the scenario. It begins a little before the flows, so all instants of the scenario are
later by `LEAD_S`. The measures are those of a simulation (`observation.observe`), from what the programs at
the ends count:

- Bytes delivered are those that the receiving program has read.
- Lost packets are those sent until the end that never came. Those still on the way then may yet come.
- Round trips are the kernel's smoothed ones; no program learns of the latest.

Each flow has an address of its own at the far end, by which the emulator knows whose `extra_delay` and
`ack_jitter` a packet has.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from socket import AF_INET, SOCK_DGRAM, socket
from threading import Event
from typing import Any

import numpy as np

from bentpipe.breaking.conditions import CROSS, INTERVAL, LINK, losses, steps
from bentpipe.breaking.observation import Trace, bits, observe, seconds
from bentpipe.emulation.session import Emulation, Side
from bentpipe.truth import real as transfers
from bentpipe.truth.real import PORT, PROGRAM, TransferFailed
from bentpipe.truth.side import Column, held

OWN = ("name", "extra_delay", "ack_jitter")
"""Keys of a flow that the emulated link has for it alone. The name selects the stream of its jitter."""

LEAD_S = 3.0
"""From the begin of the emulated link to that of the run: by then all programs must be ready."""
DRAIN_S = 8.0
"""How long a packet that is on its way at the end may take."""
EVERY_S = 0.025
"""Distance of the samples at the ends."""
LOOK_S = 0.1
"""How often the programs are looked at."""
STOPPED = "it was stopped"
PACKET = 1000
"""Bytes of a datagram of traffic of kind `cbr`, as in a simulation."""


@dataclass(frozen=True)
class PlayedRun:
    """A run.

    Attributes:
        row: its measures, as `observe` has them.
        traces: of each flow, by its name.
        kept_time: whether the emulator kept time; None if nothing crossed the link.
    """

    row: Mapping[str, Any]
    traces: Mapping[str, Trace]
    kept_time: bool | None


def play(scenario: Mapping[str, Any], names: Mapping[str, str], folder: Path, stop: Event) -> PlayedRun:
    """Makes a run, which takes the duration of the scenario and some seconds.

    Args:
        scenario: as plain data.
        names: the kernel's name of the congestion control of each TCP flow.
        folder: a folder of its own, for files of the programs.
        stop: ends the run early, within a fraction of a second.

    Raises:
        OSError: the machine or the privileges do not allow an emulated link.
        TransferFailed: a program failed, or was not ready in time; or the run was stopped.
    """
    if stop.is_set():
        raise TransferFailed(STOPPED)
    end = seconds(scenario["duration"])
    with ExitStack() as stack:
        emulation = stack.enter_context(Emulation(delayed(scenario)))
        began = time.monotonic() - emulation.snapshot()["t_s"]
        programs = []
        for number, flow in enumerate(scenario["flow"]):
            at, port, peer = seconds(flow.get("start", "0 s")), PORT + number, emulation.peers[number]
            for side, words in _programs(flow, names, port, end - at, folder, peer).items():
                pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
                command = [sys.executable, "-I", "-S", *words]
                program = emulation.popen(command, side=side, text=True, **pipes)
                stack.callback(transfers.end, program)
                programs.append((program, began + LEAD_S + at))
            if flow["name"] == CROSS:  # nobody reads there, but nothing answers either
                sink = stack.enter_context(emulation.within("far", lambda: socket(AF_INET, SOCK_DGRAM)))
                sink.bind((peer, port))
        _begin(programs)
        _wait(programs, began + LEAD_S + end + DRAIN_S + transfers.PATIENCE_S, stop)
    counts, traces = {}, {}
    for flow in scenario["flow"]:
        if flow["name"] != CROSS:
            said = [json.loads((folder / f"{flow['name']}.{side}").read_text()) for side in ("near", "far")]
            counts[flow["name"]], traces[flow["name"]] = _measured(flow, said[0], said[1], end)
    ended = {"simulated_s": end, "flows": list(counts.values())}
    return PlayedRun(observe(scenario, ended, traces), traces, emulation.report()["kept_time"])


def delayed(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario of the emulated link, which waits for `LEAD_S` in the state in which it begins."""
    link = dict(scenario["link"][LINK])
    for key in ("rate", "delay", "up"):
        if isinstance(link.get(key), list):
            (_, first), *rest = steps(link[key])
            link[key] = [["0 s", first], *([_later(at), value] for at, value in rest)]
    if lost := losses(link):
        link["loss"] = [
            {**loss, "first": _later(loss["every"])} if loss["kind"] == "outage" else loss for loss in lost
        ]
    return {
        "duration": _later(scenario["duration"]),
        "seed": scenario["seed"],
        "link": {LINK: link},
        "flow": [_ends(flow) for flow in scenario["flow"]],
    }


def _ends(flow: Mapping[str, Any]) -> dict[str, Any]:
    """What the emulated link plays of a flow; its traffic is that of the programs."""
    return {"cc": "reno", "path": flow["path"]} | {key: flow[key] for key in OWN if key in flow}


def _later(at: str) -> str:
    return f"{seconds(at) + LEAD_S:.9g} s"


def _programs(
    flow: Mapping[str, Any], names: Mapping[str, str], port: int, length: float, folder: Path, peer: str
) -> dict[Side, list[str]]:
    """The programs of a flow, by the end at which each runs."""
    shared = ["--port", str(port), "--for", repr(length)]
    if flow["name"] == CROSS:
        traffic = flow["traffic"]
        on, off = (seconds(traffic[key]) if "off" in traffic else length for key in ("on", "off"))
        given = {"rate": bits(traffic["rate"]), "packet": PACKET, "on": on, "off": off}
        options = [word for name, value in given.items() for word in (f"--{name}", repr(value))]
        return {"near": [PROGRAM, "datagrams", peer, *options, *shared]}
    shared += ["--every", str(EVERY_S), "--out"]
    near, far = (str(folder / f"{flow['name']}.{side}") for side in ("near", "far"))
    return {
        "far": [PROGRAM, "receive", "--drain", str(DRAIN_S), *shared, far],
        "near": [PROGRAM, "send", peer, "--cc", names[flow["name"]], *shared, near],
    }


def _begin(programs: list[tuple[subprocess.Popen[str], float]]) -> None:
    """Gives each program its first instant, once all are ready."""
    for program, _ in programs:
        assert program.stdout is not None
        if program.stdout.readline().strip() != "ready":
            raise TransferFailed(_complaint(program))
    if time.monotonic() > min(at for _, at in programs):
        raise TransferFailed(f"its programs took more than {LEAD_S:g} s to start: the machine is too busy")
    for program, at in programs:
        assert program.stdin is not None
        program.stdin.write(f"{at!r}\n")
        program.stdin.flush()


def _wait(programs: list[tuple[subprocess.Popen[str], float]], until: float, stop: Event) -> None:
    for program, _ in programs:
        while program.poll() is None:
            if stop.wait(LOOK_S):
                raise TransferFailed(STOPPED)
            if time.monotonic() > until:
                raise TransferFailed("a program at an end of the link did not end")
        if program.returncode:
            raise TransferFailed(_complaint(program))


def _complaint(program: subprocess.Popen[str]) -> str:
    """Why a program has ended."""
    program.kill()
    _, wrong = program.communicate()
    return transfers.last_line(wrong) or f"a program at an end of the link ended with {program.returncode}"


def _measured(
    flow: Mapping[str, Any], near: Mapping[str, Any], far: Mapping[str, Any], end: float
) -> tuple[dict[str, Any], dict[str, Column]]:
    """The counts of a flow as in a result, and its trace."""
    if near["failed"]:
        raise TransferFailed(f"the connection failed (errno {near['failed']})")
    begin = seconds(flow.get("start", "0 s"))
    t = np.arange(0.0, end, seconds(INTERVAL))
    seen = {name: np.asarray(values, dtype=float) for name, values in near["samples"].items()}
    came = {name: np.asarray([0.0, *values]) for name, values in far["samples"].items()}
    sent = near["last"]["sent"]
    counts = {
        "name": flow["name"],
        "half": None,
        "delivered_bytes": far["bytes"],
        "sent_packets": sent,
        "dropped_packets": max(0, sent - far["segments"]),
    }
    at = begin + seen["t_s"]
    return counts, {
        "t_s": t,
        "cwnd": held(t, at, seen["cwnd"]),
        "in_flight": held(t, at, seen["unacked"]),
        "rtt_s": held(t, at, seen["rtt_us"]) / 1e6,
        "delivered_bytes": held(t, begin + came["t_s"], came["bytes"]),
    }

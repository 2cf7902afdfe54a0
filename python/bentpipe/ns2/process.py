"""Running ns-2, and reading its output."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentpipe.machine.memory import peak_bytes
from bentpipe.ns2.agents import Agent
from bentpipe.ns2.script import script
from bentpipe.scenario import Scenario

MISSING = "ns-2 is not installed (apt install ns2)"


@dataclass(frozen=True)
class FlowRun:
    """One flow of one run.

    Attributes:
        start_s: when it started.
        goodput_bps: in-order payload bits per second of its life, as in a result of Bentpipe.
        delivered: data packets acknowledged.
        sent: data packets, retransmissions included.
        retransmitted: retransmissions.
        timeouts: of the retransmission timer.
        cuts: reductions of the window.
        received: data packets that reached the receiving application, in order; those whose acknowledgement
            is on its way are among them.
    """

    start_s: float
    goodput_bps: float
    delivered: int
    sent: int
    retransmitted: int
    timeouts: int
    cuts: int
    received: int


@dataclass(frozen=True)
class LinkRun:
    """A watched direction of a link: packets that arrived, were dropped by the queue, marked; mean queue."""

    arrived: int
    dropped: int
    marked: int
    queue_mean_packets: float


@dataclass(frozen=True)
class Run:
    """The result of one run of ns-2.

    Attributes:
        flows: in the order of the scenario.
        links: the watched directions by name.
        windows: for each flow samples of (time in s, cwnd, ssthresh in segments), if it is recorded.
        cpu_s: user and system time of the process.
        setup_s: the part of it before the simulation began; None where the system does not report it.
        peak_bytes: most memory that the process held; None likewise.
    """

    flows: list[FlowRun]
    links: dict[str, LinkRun]
    windows: list[list[tuple[float, float, float]]]
    cpu_s: float
    setup_s: float | None
    peak_bytes: int | None


def available() -> bool:
    """Whether the command `ns` exists and is ns-2."""
    found = shutil.which("ns")
    if found is None:
        return False
    probe = subprocess.run(
        [found, "/dev/stdin"],
        input="puts [info commands remove-all-packet-headers]; exit 0",
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return "remove-all-packet-headers" in probe.stdout


@dataclass(frozen=True)
class Used:
    """The cost of a process: user and system time, and peak memory; None where not reported."""

    cpu_s: float
    peak_bytes: int | None


def execute(text: str, timeout: float = 600.0) -> tuple[str, Used]:
    """Runs a Tcl script; returns its output, and the cost of the process.

    Raises:
        FileNotFoundError: ns-2 is not installed.
        RuntimeError: ns-2 failed or took longer than `timeout` seconds.
    """
    found = shutil.which("ns")
    if found is None:
        raise FileNotFoundError(MISSING)
    with tempfile.TemporaryDirectory(prefix="bentpipe-ns2-") as folder:
        path = Path(folder, "run.tcl")
        path.write_text(text, encoding="utf-8")
        with open(Path(folder, "out"), "w+", encoding="utf-8") as out:
            with subprocess.Popen(
                [found, str(path)], stdout=out, stderr=subprocess.STDOUT, cwd=folder
            ) as child:
                status, used = _wait(child, time.monotonic() + timeout)
            out.seek(0)
            printed = out.read()
    if status != 0:
        raise RuntimeError(f"ns-2 ended with status {status}: {printed.strip()[-500:] or 'no output'}")
    return printed, used


def _wait(child: subprocess.Popen[bytes], until: float) -> tuple[int, Used]:
    """Exit status of `child` and its cost; it is killed if it still runs at the time `until`."""
    peak = None
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid != 0:
            child.returncode = os.waitstatus_to_exitcode(status)
            return child.returncode, Used(usage.ru_utime + usage.ru_stime, peak)
        peak = peak_bytes(child.pid) or peak
        if time.monotonic() > until:
            child.kill()
            raise RuntimeError("ns-2 did not finish in time")
        time.sleep(0.005)


def run(
    scenario: Scenario | Mapping[str, Any],
    *,
    agents: Agent | Mapping[str, Agent] | None = None,
    watch: Sequence[str] = (),
    scheduler: str = "Calendar",
    timeout: float = 600.0,
) -> Run:
    """Carries out a scenario in ns-2; the arguments are those of `script`.

    Raises:
        ScenarioError: ns-2 cannot follow the scenario.
        FileNotFoundError: ns-2 is not installed.
        RuntimeError: ns-2 failed, printed no counts, or took longer than `timeout` seconds.
    """
    printed, used = execute(script(scenario, agents=agents, watch=watch, scheduler=scheduler), timeout)
    flows = [
        FlowRun(float(start), float(goodput), *(int(n) for n in counts.split()))
        for start, goodput, counts in re.findall(r"^flow (\S+) (\S+) ((?:\d+ ?){6})$", printed, re.MULTILINE)
    ]
    if not flows:
        raise RuntimeError(f"ns-2 printed no counts: {printed.strip()[-500:] or 'no output'}")
    links: dict[str, LinkRun] = {}
    windows: list[list[tuple[float, float, float]]] = [[] for _ in flows]
    for name, arrived, dropped, marked, waited in re.findall(
        r"^link (\S+) (\d+) (\d+) (\d+) (\S+)$", printed, re.MULTILINE
    ):
        links[name] = LinkRun(int(arrived), int(dropped), int(marked), float(waited))
    for at, flow, cwnd, ssthresh in re.findall(r"^window (\S+) (\d+) (\S+) (\S+)$", printed, re.MULTILINE):
        windows[int(flow)].append((float(at), float(cwnd), float(ssthresh)))
    setup = re.search(r"^setup (\d+)$", printed, re.MULTILINE)
    setup_s = None if setup is None else int(setup[1]) / 1e9
    return Run(flows, links, windows, used.cpu_s, setup_s, used.peak_bytes)

"""Runs of Hypatia as scenarios: the settings and schedules that its ns-3 programs read.

A run is a folder with config_ns3.properties and the schedules that this names (Kassing et al., IMC 2020; the
formats are those of the modules basic-sim and satellite-network). Ports have the rates and limits of the
settings, TCP has the options of ns-3, and its flows are a CSV of pairs beside the scenario.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.io.files import csv_text, replace_text
from bentpipe.io.foreign import lines
from bentpipe.orbit import hypatia
from bentpipe.registry import unknown

CONTROLLERS = {
    "TcpNewReno": "reno", "TcpLinuxReno": "reno", "TcpCubic": "cubic", "TcpVegas": "vegas", "TcpVeno": "veno",
    "TcpBbr": "bbr", "TcpBic": "bic", "TcpHighSpeed": "highspeed", "TcpHtcp": "htcp", "TcpHybla": "hybla",
    "TcpIllinois": "illinois", "TcpLedbat": "ledbat", "TcpLp": "lp", "TcpScalable": "scalable",
    "TcpWestwood": "westwood", "TcpWestwoodPlus": "westwood-plus", "TcpYeah": "yeah", "TcpDctcp": "dctcp",
}  # fmt: skip
"""The controllers of ns-3 that the registry has."""
_WITHOUT_END = 10**12
"""Bytes from which on a flow has no end: Hypatia's own runs write this number."""
_BURST = 1500, 1502
"""Bytes by which a burst of UDP is paced, and bytes on the wire: PPP adds two."""
_PING = 42
"""Bytes on the wire of a ping: PPP 2, IPv4 20, UDP 8, payload 12."""


@dataclass(frozen=True)
class HypatiaRun:
    """A run of Hypatia.

    Attributes:
        scenario: the table of a scenario; flows of TCP are pairs in the file `pairs`, if there are any.
        pairs: the text of that file, None without flows of TCP.
    """

    scenario: dict[str, Any]
    pairs: str | None


def read(folder: Path, pairs: str) -> HypatiaRun:
    """Reads the folder of a run; `pairs` is the name that the file of pairs will have.

    Raises:
        ScenarioError: a file or a line is not as Hypatia writes it; the message names it.
        OSError: a file cannot be read.
    """
    file = folder / "config_ns3.properties"
    said = dict(_setting(file, number, line) for number, line in enumerate(lines(file), 1) if "=" in line)

    def setting(name: str) -> str:
        if name not in said:
            raise _core.ScenarioError(f"{file}: no line {name}=VALUE")
        return said[name]

    network = folder / setting("satellite_network_dir")
    stations = [point.name for point in hypatia.read(network).stations]
    first = len([line for line in lines(network / "tles.txt") if line.startswith("1 ")])
    names = dict(enumerate(stations, first))
    ports = {
        port: {
            "rate": f"{setting(f'{kind}_data_rate_megabit_per_s')} Mbit/s",
            "queue": {"kind": "drop-tail", "limit": f"{setting(f'{kind}_max_queue_size_pkts')} packets"},
        }
        for port, kind in (("isl", "isl"), ("gsl", "gsl"))
    }
    flows: list[dict[str, Any]] = []
    text = None
    if said.get("enable_tcp_flow_scheduler") == "true":
        kind = setting("tcp_socket_type")
        if kind not in CONTROLLERS:
            raise _core.ScenarioError(f"{file}: {unknown('controller of ns-3', kind, list(CONTROLLERS))}")
        rows = _schedule(folder / setting("tcp_flow_schedule_filename"), names)
        text = csv_text([["from", "to", "start_s", "bytes"], *map(_pair, rows)])
        flows.append({"cc": CONTROLLERS[kind], "profile": "ns3", "pairs": {"file": pairs}})
    if said.get("enable_udp_burst_scheduler") == "true":
        schedule = _schedule(folder / setting("udp_burst_schedule_filename"), names)
        flows += [_burst(number, *row) for number, row in enumerate(schedule)]
    if said.get("enable_pingmesh_scheduler") == "true":
        flows += _pings(file, setting("pingmesh_endpoint_pairs"), setting("pingmesh_interval_ns"), names)
    if not flows:
        raise _core.ScenarioError(f"{file}: no schedule of TCP, UDP or pings is enabled")
    scenario = {
        "title": f"Hypatia's run {folder.resolve().name}",
        "duration": f"{setting('simulation_end_time_ns')} ns",
        "network": {"hypatia": str(network.resolve()), **ports},
        "flow": flows,
    }
    return HypatiaRun(scenario, text)


def write(run: HypatiaRun, scenario: Path, pairs: Path) -> None:
    """Writes a scenario as JSON, and its file of pairs beside it.

    Raises:
        OSError: one cannot be written.
    """
    if run.pairs is not None:
        replace_text(pairs, run.pairs)
    replace_text(scenario, json.dumps(run.scenario, indent=2) + "\n")


def _setting(file: Path, number: int, line: str) -> tuple[str, str]:
    found = re.fullmatch(r'\s*(\w+)\s*=\s*"?([^"]*?)"?\s*', line)
    if found is None:
        raise _core.ScenarioError(f"{file}, line {number}: expected NAME=VALUE")
    return found[1], found[2]


def _schedule(file: Path, names: dict[int, str]) -> list[tuple[str, str, float, int, int]]:
    """From, to, size or rate, start in ns, and duration in ns (0 for TCP) of each line of a schedule."""
    rows = []
    for number, line in enumerate(lines(file), 1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split(",")]
        try:
            start, to, amount, begin = int(cells[1]), int(cells[2]), float(cells[3]), int(cells[4])
            duration = int(cells[5]) if len(cells) > 7 else 0
        except (ValueError, IndexError):
            raise _core.ScenarioError(
                f"{file}, line {number}: expected number, from, to, bytes or Mbit/s, start in ns"
            ) from None
        for node in (start, to):
            if node not in names:
                raise _core.ScenarioError(f"{file}, line {number}: node {node} is no ground station")
        rows.append((names[start], names[to], amount, begin, duration))
    return rows


def _pair(row: tuple[str, str, float, int, int]) -> list[object]:
    start, to, size, begin, _ = row
    return [start, to, begin / 1e9, "" if size == 0 or size >= _WITHOUT_END else int(size)]


def _burst(number: int, start: str, to: str, mbps: float, begin: int, duration: int) -> dict[str, Any]:
    paced, packet = _BURST
    interval_ns = math.ceil(paced * 8000 / mbps)
    traffic = {
        "kind": "cbr",
        "rate": f"{round(packet * 8e9 / interval_ns)} bit/s",
        "packet": f"{packet} bytes",
    }
    times = {"start": f"{begin} ns", "stop": f"{begin + duration} ns"}
    return {"name": f"burst {number}", "from": start, "to": to, **times, "traffic": traffic}


def _pings(file: Path, given: str, interval: str, names: dict[int, str]) -> list[dict[str, Any]]:
    pairs = [(int(a), int(b)) for a, b in re.findall(r"(\d+)->(\d+)", given)]
    if not pairs or not set(sum(pairs, ())) <= set(names):
        raise _core.ScenarioError(f"{file}: pingmesh_endpoint_pairs={given!r}; expected set(1156->1157,...)")
    traffic = {"kind": "ping", "interval": f"{interval} ns", "packet": f"{_PING} bytes"}
    return [
        {"name": f"ping {number}", "from": names[a], "to": names[b], "traffic": traffic}
        for number, (a, b) in enumerate(pairs)
    ]

"""ns-3 as a witness: a scenario whose flows cross one chain of links, carried out by the program ns3.cc.

Debian's package libns3-dev (3.37) has the libraries, optimised and without assertions. The program is
compiled once, into target/ns3, so this works in a checkout of the repository alone.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from bentpipe.scenario import Scenario
from bentpipe.units import quantity

_SOURCE = Path(__file__).with_name("ns3.cc")
_CLONE = Path(__file__).parents[3]
_LIBRARIES = ("applications", "internet", "point-to-point", "traffic-control", "network", "core")
SOCKETS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "reno": ("ns3::TcpNewReno", {}),
    "cubic": ("ns3::TcpCubic", {"ns3::TcpCubic::HyStart": "false"}),
}
"""The sender of a controller, and attributes of ns-3 with which both have the same rules."""


def missing() -> str | None:
    """What it lacks here, None if nothing."""
    if not (_CLONE / "Cargo.toml").is_file():
        return "only a checkout of the repository can compile its program"
    if not Path("/usr/include/ns3/core-module.h").is_file() or shutil.which("g++") is None:
        return "its libraries are not here (Debian: libns3-dev)"
    return None


@cache
def program() -> Path:
    """The compiled program, which takes ten seconds the first time.

    Raises:
        RuntimeError: it could not be compiled.
    """
    made = _CLONE / "target" / "ns3" / "run"
    if not made.is_file() or made.stat().st_mtime < _SOURCE.stat().st_mtime:
        made.parent.mkdir(parents=True, exist_ok=True)
        libraries = [f"-lns3-{name}" for name in _LIBRARIES]
        command = ["g++", "-std=c++17", "-O3", "-o", str(made), str(_SOURCE), *libraries]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"ns-3's program could not be compiled: {done.stderr.strip()[-500:]}")
    return made


def arguments(scenario: Scenario, socket: str, settings: Mapping[str, str]) -> list[str]:
    """The arguments of the program for a scenario.

    Args:
        scenario: its first flow, with `count`, crosses links with drop-tail queues and no losses but packet
            errors.
        socket: ns-3's sender, "ns3::TcpCubic".
        settings: attributes of ns-3 by name, "ns3::TcpCubic::HyStart".

    Raises:
        ScenarioError: a quantity is not as this program needs it.
    """
    plan = json.loads(scenario.to_json())
    flow = plan["flow"][0]
    links = [plan["link"][name] for name in flow["path"]]
    mss, count = round(quantity("size", flow["mss"], "mss")), flow["count"]
    trip_s = sum(quantity("time", way["delay"], "delay") for link in links for way in (link, link["reverse"]))

    def room(way: Mapping[str, Any]) -> int:
        number, unit = way["queue"]["limit"].split()
        if unit == "bdp":
            packet = mss + quantity("size", flow["header"], "header")
            return int(float(number) * quantity("rate", way["rate"], "rate") * trip_s / 8 / packet)
        return int(number)

    chain, narrow = [], min(links, key=lambda link: quantity("rate", link["rate"], "rate"))
    for link in links:
        rates = [round(quantity("rate", way["rate"], "rate")) for way in (link, link["reverse"])]
        delay = round(1e9 * quantity("time", link["delay"], "delay"))
        chain += [rates[0], delay, room(link), rates[1], room(link["reverse"])]
    # Pipe and queue, twice, shared by the flows: ns-3's cost per packet grows with the room for segments.
    pipe = quantity("rate", narrow["rate"], "rate") * trip_s / 8 / mss + room(narrow)
    window = int(flow.get("receive_window", f"{pipe * min(2, 8 / count):.0f} segments").split()[0])
    per = next((loss["rate"] for link in links for loss in link.get("loss", [])), 0.0)
    defaults = {
        "ns3::TcpL4Protocol::SocketType": socket,
        "ns3::TcpSocket::SegmentSize": mss,
        "ns3::TcpSocket::InitialCwnd": round(flow["initial_window"]),
        "ns3::TcpSocket::DelAckCount": 2 if flow["delayed_ack"] else 1,
        "ns3::TcpSocket::SndBufSize": window * mss,
        "ns3::TcpSocket::RcvBufSize": window * mss,
        "ns3::TcpSocketBase::Timestamp": str(flow["timestamps"]).lower(),
        "ns3::TcpSocketBase::MinRto": f"{quantity('time', flow['min_rto'], 'min_rto')}s",
        "ns3::BulkSendApplication::SendSize": mss,
        **settings,
    }
    if flow.get("initial_ssthresh") is not None:
        defaults["ns3::TcpSocket::InitialSlowStartThreshold"] = round(flow["initial_ssthresh"] * mss)
    own = {
        "links": ",".join(map(str, chain)),
        "per": per,
        "flows": count,
        "spread": quantity("time", flow["start_jitter"], "start_jitter"),
        "duration": quantity("time", plan["duration"], "duration"),
        "run": plan["seed"],
    }
    return [f"--{name}={value}" for name, value in {**own, **defaults}.items()]


def run(scenario: Scenario, socket: str, settings: Mapping[str, str]) -> int:
    """Bytes that reached the applications in ns-3; the arguments are those of `arguments`.

    Raises:
        RuntimeError: ns-3 failed.
    """
    command = [str(program()), *arguments(scenario, socket, settings)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not done.stdout.strip().isdigit():
        raise RuntimeError(f"ns-3 failed: {done.stderr.strip()[-300:] or 'no answer'}")
    return int(done.stdout)

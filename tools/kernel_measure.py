"""Measures the cost of the `bentpipe kernel` agent: reports a second, CPU per 100 Mbit/s, decision latency.

    sudo .venv/bin/python tools/kernel_measure.py [--cc reno] [--for 30] [--json]

One connection over emulated links of 100 Mbit/s, RTT 500 ms and 20 ms. Needs root, and iperf3. Other work on
the machine makes the tails longer, so that this is not part of the checks.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.emulation.session import Emulation

RATE_MBIT = 100
WAIT_S = 20


def link(rtt_ms: int) -> dict[str, Any]:
    """One link whose queue holds a bandwidth-delay product, 100 packets at least."""
    packets = max(RATE_MBIT * 1000 * rtt_ms // (8 * 1500), 100)
    sat = {
        "rate": f"{RATE_MBIT} Mbit/s",
        "delay": f"{rtt_ms / 2} ms",
        "queue": {"kind": "drop-tail", "limit": f"{packets} packets"},
    }
    return {"duration": "10 min", "link": {"sat": sat}, "flow": [{"cc": "reno", "path": ["sat"]}]}


def cpu_s(name: str) -> float:
    """Processor time of this process's thread of that name."""
    for task in Path("/proc/self/task").iterdir():
        if (task / "comm").read_text().strip() == name:
            fields = (task / "stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def measure(cc: str, rtt_ms: int, seconds: float) -> dict[str, Any]:
    """One transfer through the agent."""
    with Emulation(link(rtt_ms)) as emulation, _core.KernelAgent(cc, name="bp_measured") as agent:
        for side in ("near", "far"):
            memory = ["net.ipv4.tcp_rmem=4096 131072 67108864", "net.ipv4.tcp_wmem=4096 65536 67108864"]
            emulation.popen(["sysctl", "-qw", *memory], side).wait(WAIT_S)
        emulation.popen(["iperf3", "-s", "-1"], "far", stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        began = time.monotonic()
        command = ["iperf3", "-c", emulation.peer, "-t", str(seconds), "-C", agent.name]
        emulation.popen(command, stdout=subprocess.DEVNULL).wait(seconds + WAIT_S)
        took = time.monotonic() - began
        used, status = cpu_s(agent.name), json.loads(agent.status())
        mbit = emulation.snapshot()["forward"]["delivered_bytes"] * 8 / 1e6
    return {
        "cc": cc,
        "rtt_ms": rtt_ms,
        "seconds": took,
        "mbit_per_s": mbit / took,
        "reports_per_s": status["reports"] / took,
        "dropped_reports": status["dropped_reports"],
        "agent_cpu_share": used / took,
        "agent_cpu_share_per_100_mbit_per_s": used / mbit * 100,
        "latency": status["latency"],
        "load": os.getloadavg()[0],
    }


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cc", default="reno", help="the controller")
    parser.add_argument("--for", dest="seconds", type=float, default=30, help="seconds of each transfer")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    rows = [measure(given.cc, rtt_ms, given.seconds) for rtt_ms in (500, 20)]
    if given.json:
        print(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        print(
            f"RTT {row['rtt_ms']} ms: {row['mbit_per_s']:.1f} Mbit/s, {row['reports_per_s']:.0f} reports/s, "
            f"agent {100 * row['agent_cpu_share_per_100_mbit_per_s']:.1f} % of a core per 100 Mbit/s, "
            f"{row['dropped_reports']} reports merged, load {row['load']:.1f}"
        )
        for name, latency in row["latency"].items():
            times = ", ".join(f"{key} {1e6 * latency[key]:.0f} us" for key in ("p50", "p90", "p99", "max"))
            print(f"  {name.removesuffix('_s').replace('_', ' ')}: {times} of {latency['count']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

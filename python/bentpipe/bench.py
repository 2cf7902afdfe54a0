"""Speed beside ns-2: data packets delivered per CPU second, on the same scenario, on the same machine.

    python -m bentpipe.bench [--pairs 5] [--duration 300] [--out bench.json]

One SACK flow over a link of 100 Mbit/s with a round-trip time of 500 ms and a buffer of one
bandwidth-delay product. A pair is a run of ns-2 followed by one run here of the dumbbell (access link,
bottleneck, access link, as in ns-2) and one of the bottleneck alone, so that whatever else the machine
does falls on all of them. CPU time is user plus system: of the whole process for ns-2 (start-up included,
about 35 ms), of the call for Bentpipe.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bentpipe import ns2
from bentpipe.ns2.dumbbell import packets
from bentpipe.scenario import Scenario

TARGET = 5.0
"""Packets per CPU second that Bentpipe owes, as a multiple of ns-2's."""


@dataclass(frozen=True)
class Timing:
    """One timed run: data packets delivered in order and CPU seconds."""

    packets: int
    cpu_s: float

    @property
    def speed(self) -> float:
        """Packets per CPU second."""
        return self.packets / self.cpu_s


@dataclass(frozen=True)
class Pair:
    """One run of each program, back to back."""

    ns2: Timing | None
    dumbbell: Timing
    single: Timing


def scenario_a(duration: float, *, access: bool = True) -> Scenario:
    """One flow, 100 Mbit/s, 500 ms, buffer of one BDP, no window limit; with or without the access links."""
    bdp = packets(100e6, 0.5)
    return ns2.dumbbell(
        ns2.AGENTS["sack"], rate=100e6, rtt=0.5, buffer=bdp - 1, duration=duration, access=access
    )


def time_bentpipe(scenario: Scenario) -> Timing:
    """CPU time of one call of the simulator."""
    from bentpipe import _core

    text = scenario.to_json()
    begin = time.process_time()
    raw = _core.run(text)
    cpu = time.process_time() - begin
    return Timing(int(json.loads(raw.json)["packets"]), cpu)


def measure(pairs: int, duration: float) -> list[Pair]:
    """`pairs` alternations; the ns-2 side is absent when ns-2 is not installed."""
    three, one = scenario_a(duration), scenario_a(duration, access=False)
    witness = ns2.available()
    result = []
    for _ in range(pairs):
        theirs = None
        if witness:
            run = ns2.run(three)
            theirs = Timing(run.flows[0].delivered, run.cpu_s)
        result.append(Pair(theirs, time_bentpipe(three), time_bentpipe(one)))
    return result


def summary(values: Sequence[float]) -> dict[str, float]:
    """Median, smallest and largest."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def report(pairs: list[Pair], duration: float) -> dict[str, Any]:
    """All timings and, per program, packets per CPU second; ratios are taken within pairs."""
    speeds: dict[str, dict[str, float]] = {
        "dumbbell": summary([p.dumbbell.speed for p in pairs]),
        "single": summary([p.single.speed for p in pairs]),
    }
    ratios: dict[str, dict[str, float]] = {}
    timed = [(p.ns2, p) for p in pairs if p.ns2 is not None]
    if timed:
        speeds["ns2"] = summary([t.speed for t, _ in timed])
        ratios["dumbbell"] = summary([p.dumbbell.speed / t.speed for t, p in timed])
        ratios["single"] = summary([p.single.speed / t.speed for t, p in timed])
    return {
        "scenario": "one SACK flow, 100 Mbit/s, RTT 500 ms, buffer one BDP",
        "duration_s": duration,
        "machine": {
            "machine": platform.machine(),
            "system": platform.system(),
            "python": platform.python_version(),
        },
        "pairs": [asdict(p) for p in pairs],
        "packets_per_cpu_s": speeds,
        "ratio_to_ns2": ratios,
        "target_ratio": TARGET,
    }


def show(data: dict[str, Any]) -> str:
    """The report as text."""
    names = {"ns2": "ns-2, three links", "dumbbell": "Bentpipe, three links", "single": "Bentpipe, one link"}
    packets = {k: v["packets"] for k, v in data["pairs"][0].items() if v is not None}
    lines = [f"{data['scenario']}, {data['duration_s']:g} s, {len(data['pairs'])} pairs"]
    for key, name in names.items():
        speed = data["packets_per_cpu_s"].get(key)
        if speed is None:
            lines.append(f"  {name:22} {ns2.MISSING}")
            continue
        line = (
            f"  {name:22} {packets[key]:>9,} packets  {speed['median'] / 1e6:6.2f} M packets per CPU second"
        )
        line += f"  ({speed['min'] / 1e6:.2f} to {speed['max'] / 1e6:.2f})"
        ratio = data["ratio_to_ns2"].get(key)
        if ratio is not None:
            line += f"  {ratio['median']:.1f} x ns-2 ({ratio['min']:.1f} to {ratio['max']:.1f})"
        lines.append(line)
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; exit status 1 if the median ratio on the dumbbell misses the target."""
    parser = argparse.ArgumentParser(prog="python -m bentpipe.bench", description="Speed beside ns-2.")
    parser.add_argument("--pairs", type=int, default=5, help="alternations of ns-2 and Bentpipe (default 5)")
    parser.add_argument("--duration", type=float, default=300.0, help="simulated seconds (default 300)")
    parser.add_argument("--out", type=Path, help="write all timings as JSON to this file")
    given = parser.parse_args(arguments)
    if given.pairs < 1 or given.duration <= 0.0:
        parser.error("--pairs must be at least 1 and --duration positive")
    data = report(measure(given.pairs, given.duration), given.duration)
    print(show(data))
    if given.out is not None:
        given.out.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    ratio = data["ratio_to_ns2"].get("dumbbell")
    return 1 if ratio is not None and ratio["median"] < TARGET else 0


if __name__ == "__main__":
    sys.exit(main())

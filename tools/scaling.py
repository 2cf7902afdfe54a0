"""Measures the time of many runs against the number of workers: the numbers of docs/scaling.md.

    python tools/scaling.py [--ray ADDRESS] [--runs N] [--times N]

A run is one CUBIC flow of 60 s over 10 Mbit/s with a round trip of 500 ms. Each row is the fastest of some
repetitions, because other work on the machine only makes them slower. A worker's start is not counted, as
each repetition comes after a short one with the same executor. Processor time is that of all processes that
take part, Ray's own included, and depends less on other work. The short runs take next to no time themselves:
they show the cost of handing a run to a worker and back.
"""

import argparse
import os
import platform
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bentpipe.sweeps.case import Case
from bentpipe.sweeps.execution import BATCH, Executor, Processes, RunBatch, Threads, share_out
from bentpipe.sweeps.ray import Ray


def cases(number: int, duration: str) -> list[Case]:
    """Runs that differ in their seeds."""
    link = {"rate": "10 Mbit/s", "delay": "250 ms", "queue": {"kind": "drop-tail", "limit": "1 bdp"}}
    flow = {"path": ["sat"], "cc": "cubic"}
    return [
        Case({}, {"duration": duration, "seed": seed, "link": {"sat": link}, "flow": [flow]})
        for seed in range(1, number + 1)
    ]


def processor_s() -> float:
    """Processor time so far of this process, of those that it has started, and of Ray's on this machine."""
    found: dict[int, tuple[int, float, bool]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
                command = (entry / "cmdline").read_text()
            except OSError:  # it has ended meanwhile
                continue
            ours = (
                int(entry.name) == os.getpid() or command.startswith("ray::") or "/ray/core/src/" in command
            )
            found[int(entry.name)] = int(stat[1]), int(stat[11]) + int(stat[12]), ours
    ticks = sum(spent for parent, spent, ours in found.values() if ours or parent == os.getpid())
    return ticks / os.sysconf("SC_CLK_TCK")


def seconds(executor: Executor, given: list[Case], batch: int) -> tuple[float, float]:
    """The time that an executor takes for some runs, in batches of this size, and processor time, s."""
    began, spent = time.perf_counter(), processor_s()
    batches = (
        RunBatch(range(at, at + len(some)), some)
        for at in range(0, len(given), batch)
        if (some := given[at : at + batch])
    )
    over = [ran for runs in share_out(executor, batches) for ran in runs]
    assert len(over) == len(given) and not any(ran.error for ran in over), over[0].error
    return time.perf_counter() - began, processor_s() - spent


def main() -> None:
    """Measures and prints."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--ray", metavar="ADDRESS", help="a cluster, whose processors are all used")
    asked.add_argument("--runs", type=int, default=128)
    asked.add_argument("--times", type=int, default=5)
    options = asked.parse_args()
    kinds: list[tuple[str, Callable[[], Executor], int]] = []
    for workers in (1, 2):
        kinds.append((f"threads, {workers}", partial(Threads, workers), 1))
        kinds.append((f"processes, {workers}", partial(Processes, workers), BATCH))
    if options.ray:
        kinds.append(("Ray", lambda: Ray(options.ray), BATCH))
    print(f"{platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print("| workers | 60 s runs, 1/s | ms of a processor each | short runs, 1/s | ms of a processor each |")
    print("|---|---:|---:|---:|---:|")
    for name, make, batch in kinds:
        executor = make()
        try:
            row = [f"{name} of {executor.size}"]
            for duration, number in (("60 s", options.runs), ("10 ms", 20 * options.runs)):
                given = cases(number, duration)
                seconds(executor, given[: 4 * batch], batch)
                took = [seconds(executor, given, batch) for _ in range(options.times)]
                row.append(f"{number / min(wall for wall, _ in took):,.0f}")
                row.append(f"{min(spent for _, spent in took) / number * 1e3:.2f}")
            print(f"| {' | '.join(row)} |", flush=True)
        finally:
            executor.stop()


if __name__ == "__main__":
    main()

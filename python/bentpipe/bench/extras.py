"""Measurements besides speed: parallel runs, environments of agents, memory, and start-up time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bentpipe.bench.cases import Case
from bentpipe.bench.machine import cpu_of_children

IDLE = Case("idle connections with links of their own", "idle", ns2=False, quick="60 s")
FLIGHT = Case("packets in flight", "flight", ns2=False, quick="20 s")
SHORT = Case("short runs", "e", quick="100 s", runs=200, quick_runs=20)

COMMANDS = {
    "python": ["-c", "pass"],
    "import bentpipe": ["-c", "import bentpipe"],
    "bentpipe --version": ["-m", "bentpipe.cli", "--version"],
}
"""The commands that are started, by the name in the report: arguments of the Python interpreter."""


def measure(*, pairs: int, quick: bool, tell: Callable[[str], None]) -> dict[str, Any]:
    """All measurements of this file."""
    found: dict[str, Any] = {"parallel": parallel(pairs, quick=quick)}
    tell("parallel runs: done")
    found["environments"] = environments(pairs, quick=quick)
    tell("environments: done")
    found["memory"] = {
        "idle": memory(IDLE, 1000 if quick else 100_000, 1, quick=quick),
        "flight": memory(FLIGHT, 10 if quick else 1000, 10_000, quick=quick),
    }
    tell("memory: done")
    found["start"] = start(2 * pairs)
    tell("start-up: done")
    return found


def parallel(pairs: int, *, quick: bool) -> dict[str, Any]:
    """Short runs on one thread and on two, in turns, CPU and wall seconds of `run_many`.

    The CPU seconds of both are equal if threads do not get in each other's way; wall seconds are valid
    only for a machine that has nothing else to do.
    """
    from bentpipe.bench.measure import ask

    threads = min(2, os.cpu_count() or 1)
    scenarios = SHORT.scenarios(quick=quick)
    taken = []
    for _ in range(pairs):
        one, several = (ask(scenarios, threads=n) for n in (1, threads))
        taken.append({"one": _times(one), "several": _times(several)})
    return {"threads": threads, "runs": len(scenarios), "pairs": taken}


def _times(answer: dict[str, Any]) -> dict[str, float]:
    return {"cpu_s": answer["cpu_s"], "wall_s": answer["wall_s"]}


def environments(pairs: int, *, quick: bool) -> dict[str, Any]:
    """Steps of Aurora's task with each transport, on one thread and on two, in turns: CPU and wall seconds.

    Rates follow random actions of a fixed seed. What counts is the call that advances all environments; the
    episodes begin before.
    """
    from bentpipe.gym.batch import Batch
    from bentpipe.gym.task import TRANSPORTS, aurora

    count, steps = 128, 40 if quick else 400
    threads = min(2, os.cpu_count() or 1)
    actions = np.random.default_rng(1).normal(size=(steps, count))

    def advance(transport: str, threads: int) -> dict[str, float]:
        batch = Batch(aurora(transport=transport), count, threads)
        batch.begin({i: np.random.default_rng(i) for i in range(count)})
        before, began = time.process_time(), time.perf_counter()
        for row in actions:
            batch.step(row)
        return {"cpu_s": time.process_time() - before, "wall_s": time.perf_counter() - began}

    taken: dict[str, list[dict[str, Any]]] = {transport: [] for transport in TRANSPORTS}
    for _ in range(pairs):
        for transport, times in taken.items():
            times.append({"one": advance(transport, 1), "several": advance(transport, threads)})
    return {"threads": threads, "count": count, "steps": steps, "transports": taken}


def memory(case: Case, flows: int, each: int, *, quick: bool) -> dict[str, Any]:
    """The growth of a run's process, with this many flows that count for `each` things."""
    from bentpipe.bench.measure import ask

    scenarios = case.scenarios(quick=quick)
    for flow in scenarios[0].flows:
        flow.count = flows
    answer = ask(scenarios)
    return {"things": flows * each, "grown_bytes": answer["grown_bytes"], "peak_bytes": answer["peak_bytes"]}


def start(times: int) -> dict[str, list[dict[str, float]]]:
    """CPU and wall seconds of each of `COMMANDS`, again and again."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in COMMANDS}
    for _ in range(times):
        for name, arguments in COMMANDS.items():
            before, began = cpu_of_children(), time.perf_counter()
            subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
            wall = time.perf_counter() - began
            found[name].append({"cpu_s": cpu_of_children() - before, "wall_s": wall})
    return found

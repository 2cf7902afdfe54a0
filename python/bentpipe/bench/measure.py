"""Runs the benchmark: one process a measurement, ns-2, ns-3 and Bentpipe in turns.

Besides speed it measures parallel runs, environments of agents, memory, and start-up time.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from bentpipe import _core, ns2
from bentpipe.bench import in_page, ns3
from bentpipe.bench.cases import BenchCase
from bentpipe.bench.page import SCHEMA
from bentpipe.bench.worker import segment_bytes
from bentpipe.kernel import machine
from bentpipe.scenario import Scenario

_NS2_LIMIT_S = 1800.0

IDLE = BenchCase("idle connections with links of their own", "idle", ns2=False, quick="60 s")
FLIGHT = BenchCase("packets in flight", "flight", ns2=False, quick="20 s")
CONSTELLATION = BenchCase("a constellation under load", "network/kuiper", ns2=False, quick="1 s")
SHORT = BenchCase("short runs", "e", quick="100 s", runs=200, quick_runs=20)

COMMANDS = {
    "python": ["-c", "pass"],
    "import bentpipe": ["-c", "import bentpipe"],
    "bentpipe --version": ["-m", "bentpipe", "--version"],
    "bentpipe run geo --json": ["-m", "bentpipe", "run", "geo", "--json"],
}
"""The commands that are started, by the name in the report: arguments of the Python interpreter."""


def children_cpu_s() -> float:
    """User and system seconds of all processes that this one has started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _given(command: list[str], job: Any) -> tuple[subprocess.CompletedProcess[str], float]:
    """A program that got a job as JSON on its standard input, and the CPU seconds that it took."""
    before = children_cpu_s()
    done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, check=False)
    return done, children_cpu_s() - before


def ask(scenarios: Sequence[Scenario], *, threads: int = 1) -> dict[str, Any]:
    """The results of `worker.work` in a process of its own, and its CPU seconds, `whole_cpu_s`.

    Raises:
        RuntimeError: the process failed.
    """
    job = {"scenarios": [json.loads(s.as_written()) for s in scenarios], "threads": threads}
    done, whole = _given([sys.executable, "-m", "bentpipe.bench.worker"], job)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise RuntimeError(f"a measurement failed: {last}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer | {"whole_cpu_s": whole}


def here(case: BenchCase, *, quick: bool) -> dict[str, Any]:
    """One measurement of Bentpipe."""
    if case.in_page:
        return in_page.run(case, quick=quick)
    took = ask(case.scenarios(quick=quick))
    return {
        "packets": took["packets"],
        "cpu_s": took["whole_cpu_s"] if case.whole else took["cpu_s"],
        "events": took["events"],
        "peak_bytes": took["peak_bytes"],
        "grown_bytes": took["grown_bytes"],
    }


def there(case: BenchCase, *, quick: bool) -> dict[str, Any]:
    """One measurement of ns-2, a process a run; Splay is its fastest queue of events in every case."""
    runs = [
        ns2.run(scenario, scheduler="Splay", timeout=_NS2_LIMIT_S) for scenario in case.scenarios(quick=quick)
    ]
    return {
        "packets": sum(flow.received for run in runs for flow in run.flows),
        "cpu_s": sum(run.cpu_s for run in runs),
        "setup_s": sum(run.setup_s or 0.0 for run in runs),
        "peak_bytes": max(run.peak_bytes or 0 for run in runs) or None,
    }


def by_ns3(case: BenchCase, tell: Callable[[str], None]) -> dict[str, Any] | None:
    """One measurement of ns-3, a whole process; None, and a line, if it fails: it is one witness of two."""
    scenario = case.scenarios(quick=False)[0]
    scenario.duration = case.ns3 or scenario.duration
    cc = scenario.flows[0].cc
    try:
        ns3.program()
        before = children_cpu_s()
        received = ns3.run(scenario, *ns3.SOCKETS[cc])
    except (OSError, RuntimeError) as failure:
        tell(str(failure))
        return None
    packets = received // segment_bytes(scenario.to_json())
    return {"packets": packets, "cpu_s": children_cpu_s() - before}


def measure(
    cases: Mapping[str, BenchCase],
    *,
    pairs: int = 5,
    quick: bool = False,
    more: bool = True,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """All timings as they were taken, in the form that is stored.

    Args:
        cases: the cases to run, by name.
        pairs: how often; every case is run once before any is run again.
        quick: shorter runs, in which start-up and slow start weigh more.
        more: measure parallel runs, memory and start-up as well.
        tell: called with a line after each step.

    Raises:
        RuntimeError: a run failed.
    """
    if any(case.in_page for case in cases.values()) and (lacks := in_page.missing()):
        tell(f"not measured, the module of the page: {lacks}")
        cases = {key: case for key, case in cases.items() if not case.in_page}
    witness = ns2.available()
    if not witness and any(case.ns2 for case in cases.values()):
        tell(ns2.MISSING)
    if any(case.ns3 for case in cases.values()) and (lacks := ns3.missing()):
        tell(f"not measured, ns-3: {lacks}")
    taken: dict[str, list[dict[str, Any]]] = {key: [] for key in cases}
    for turn in range(pairs):
        for key, case in cases.items():
            theirs = there(case, quick=quick) if witness and case.ns2 else None
            third = by_ns3(case, tell) if case.ns3 and not ns3.missing() else None
            ours = here(case, quick=quick)
            taken[key].append({"here": ours, "ns2": theirs, "ns3": third})
            tell(f"pair {turn + 1} of {pairs}, {key}: {_speeds(ours, theirs)}")
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "quick": quick,
        "machine": describe(),
        "cases": {
            key: {"what": case.what(case.scenarios(quick=quick)), "pairs": taken[key]}
            for key, case in cases.items()
        },
    }
    if more:
        found |= _more(pairs=pairs, quick=quick, tell=tell)
    return found


def _speeds(ours: dict[str, Any], theirs: dict[str, Any] | None) -> str:
    """Packets per CPU second, as they come."""
    text = f"{ours['packets'] / ours['cpu_s'] / 1e6:.2f} M packets per CPU second"
    if theirs is None:
        return text
    return f"{text}, ns-2 {theirs['packets'] / theirs['cpu_s'] / 1e6:.2f} M"


def _more(*, pairs: int, quick: bool, tell: Callable[[str], None]) -> dict[str, Any]:
    """All measurements besides speed."""
    found: dict[str, Any] = {"parallel": parallel(pairs, quick=quick)}
    tell("parallel runs: done")
    found["constellation"] = constellation(pairs, quick=quick)
    tell("constellation: done")
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
    scenarios = SHORT.scenarios(quick=quick)
    found, _ = _in_turns(scenarios, pairs)
    return found | {"runs": len(scenarios)}


def constellation(pairs: int, *, quick: bool) -> dict[str, Any]:
    """One run over a constellation on one thread and on two, in turns, and the packets over single links."""
    found, answer = _in_turns(CONSTELLATION.scenarios(quick=quick), pairs)
    return found | {"hops": answer["hops"]}


def _in_turns(scenarios: Sequence[Scenario], pairs: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Scenarios on one thread and on two, in turns: the times, and the last answer of one thread."""
    threads = min(2, os.cpu_count() or 1)
    taken, answer = [], {}
    for _ in range(pairs):
        answer, several = (ask(scenarios, threads=n) for n in (1, threads))
        taken.append({"one": _times(answer), "several": _times(several)})
    return {"threads": threads, "pairs": taken}, answer


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


def memory(case: BenchCase, flows: int, each: int, *, quick: bool) -> dict[str, Any]:
    """The growth of a run's process, with this many flows that count for `each` things."""
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
            before, began = children_cpu_s(), time.perf_counter()
            subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
            wall = time.perf_counter() - began
            found[name].append({"cpu_s": children_cpu_s() - before, "wall_s": wall})
    return found


def describe() -> dict[str, str]:
    """Host, date and system of a measurement; a value is "unknown" where the system does not report it."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "bentpipe": _core.__version__,
        "processor": _field("/proc/cpuinfo", "model name") or platform.machine(),
        "processors": str(os.cpu_count() or "unknown"),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "rustc": (machine.first_line(["rustc", "--version"]) or "unknown")
        .removeprefix("rustc ")
        .split(" ")[0],
        "load": f"{os.getloadavg()[0]:.1f} at the beginning",
    }


def _field(path: str, name: str) -> str | None:
    """The value of the first line that begins with `name`."""
    lines = machine.text(path).splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), None)


def _memory() -> str:
    found = _field("/proc/meminfo", "MemTotal")
    return f"{int(found.split()[0]) / (1 << 20):.0f} GiB" if found else "unknown"

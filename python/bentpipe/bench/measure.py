"""Runs the benchmark: one process a measurement, ns-2 and Bentpipe in turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bentpipe import ns2
from bentpipe.bench import extras
from bentpipe.bench.cases import Case
from bentpipe.bench.machine import cpu_of_children, describe
from bentpipe.bench.numbers import SCHEMA
from bentpipe.scenario import Scenario

_NS2_LIMIT_S = 1800.0

NS3_PROGRAM = Path(__file__).parents[2] / "tests" / "witness" / "ns3_runs.py"
MSS = 1448
_BDP = 416
_EDGE = [10**9, 10**6, 1_000_000]
_NS3_CELL = {
    "cc": "ns3::TcpNewReno",
    "settings": {},
    "seed": 1,
    "mss": MSS,
    "ssthresh": 1_000_000,
    # Pipe and queue, twice: ns-3's cost per packet grows with the room for segments.
    "window": 4 * _BDP,
    "per": 0.0,
    "links": [_EDGE, [10**7, 248_000_000, _BDP], _EDGE],
}
"""The smallest scenario of the benchmark, e, as ns-3 runs it: a larger one takes minutes to hours."""


def ask(scenarios: Sequence[Scenario], *, threads: int = 1) -> dict[str, Any]:
    """The results of `worker.work` in a process of its own, and its CPU seconds, `whole_cpu_s`.

    Raises:
        RuntimeError: the process failed.
    """
    job = {"scenarios": [json.loads(s.as_written()) for s in scenarios], "threads": threads}
    before = cpu_of_children()
    done = subprocess.run(
        [sys.executable, "-m", "bentpipe.bench.worker"],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=False,
    )
    whole = cpu_of_children() - before
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise RuntimeError(f"a measurement failed: {last}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer | {"whole_cpu_s": whole}


def here(case: Case, *, quick: bool) -> dict[str, Any]:
    """One measurement of Bentpipe."""
    took = ask(case.scenarios(quick=quick))
    return {
        "packets": took["packets"],
        "cpu_s": took["whole_cpu_s"] if case.whole else took["cpu_s"],
        "events": took["events"],
        "peak_bytes": took["peak_bytes"],
        "grown_bytes": took["grown_bytes"],
    }


def there(case: Case, *, quick: bool) -> dict[str, Any]:
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


def measure(
    cases: Mapping[str, Case],
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
    witness = ns2.available()
    if not witness:
        tell(ns2.MISSING)
    taken: dict[str, list[dict[str, Any]]] = {key: [] for key in cases}
    for turn in range(pairs):
        for key, case in cases.items():
            theirs = there(case, quick=quick) if witness and case.ns2 else None
            ours = here(case, quick=quick)
            taken[key].append({"here": ours, "ns2": theirs})
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
    if "e" in cases:
        try:
            found["ns3"] = ns3()
        except (OSError, RuntimeError) as failure:
            # One witness more is not worth a quarter of an hour of timings.
            tell(str(failure))
            found["ns3"] = None
    if more:
        found |= extras.measure(pairs=pairs, quick=quick, tell=tell)
    return found


def _speeds(ours: dict[str, Any], theirs: dict[str, Any] | None) -> str:
    """Packets per CPU second, as they come."""
    text = f"{ours['packets'] / ours['cpu_s'] / 1e6:.2f} M packets per CPU second"
    if theirs is None:
        return text
    return f"{text}, ns-2 {theirs['packets'] / theirs['cpu_s'] / 1e6:.2f} M"


def ns3() -> dict[str, Any] | None:
    """Packets and CPU seconds of one run of 100 s, without the start of ns-3; None if ns-3 is not there.

    The environment variable BENTPIPE_NS3_PYTHON names a Python that has ns-3 (pip install ns3). The program
    that it runs belongs to the tests, so this works in a checkout of the repository alone.

    Raises:
        RuntimeError: ns-3 is named and fails.
    """
    python = os.environ.get("BENTPIPE_NS3_PYTHON")
    if python is None or not NS3_PROGRAM.exists():
        return None
    _, start = _run_ns3(python, 0.001)
    packets, spent = _run_ns3(python, 100.0)
    return {"packets": packets, "cpu_s": spent - start, "start_s": start}


def _run_ns3(python: str, duration: float) -> tuple[int, float]:
    before = cpu_of_children()
    done = subprocess.run(
        [python, str(NS3_PROGRAM), "1"],
        input=json.dumps([_NS3_CELL | {"duration": duration}]),
        capture_output=True,
        text=True,
        check=False,
    )
    spent = cpu_of_children() - before
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not answers or answers[0]["bytes"] is None:
        raise RuntimeError(f"ns-3 failed: {done.stderr.strip()[-300:] or 'no answer'}")
    return answers[0]["bytes"] // MSS, spent

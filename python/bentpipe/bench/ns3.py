"""ns-3 on the smallest scenario of the benchmark, e: a run of a larger one takes minutes to hours.

The environment variable BENTPIPE_NS3_PYTHON names a Python that has ns-3 (pip install ns3). The program that
it runs belongs to the tests, so this works in a checkout of the repository alone.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from bentpipe.bench.machine import cpu_of_children

PROGRAM = Path(__file__).parents[2] / "tests" / "witness" / "ns3_runs.py"
MSS = 1448
_BDP = 416
_EDGE = [10**9, 10**6, 1_000_000]
_CELL = {
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


def measure() -> dict[str, Any] | None:
    """Packets and CPU seconds of one run of 100 s, without the start of ns-3; None if ns-3 is not there.

    Raises:
        RuntimeError: ns-3 is named and fails.
    """
    python = os.environ.get("BENTPIPE_NS3_PYTHON")
    if python is None or not PROGRAM.exists():
        return None
    _, start = _run(python, 0.001)
    packets, spent = _run(python, 100.0)
    return {"packets": packets, "cpu_s": spent - start, "start_s": start}


def _run(python: str, duration: float) -> tuple[int, float]:
    before = cpu_of_children()
    done = subprocess.run(
        [python, str(PROGRAM), "1"],
        input=json.dumps([_CELL | {"duration": duration}]),
        capture_output=True,
        text=True,
        check=False,
    )
    spent = cpu_of_children() - before
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not answers or answers[0]["bytes"] is None:
        raise RuntimeError(f"ns-3 failed: {done.stderr.strip()[-300:] or 'no answer'}")
    return answers[0]["bytes"] // MSS, spent

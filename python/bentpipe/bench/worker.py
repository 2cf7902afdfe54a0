"""A process that runs scenarios and reports the cost: a job as JSON comes in, the answer goes out.

    echo '{"scenarios": [{...}], "threads": 1}' | python -m bentpipe.bench.worker

`measure.py` starts this file, one process a measurement, so that memory and start-up are its own.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from bentpipe import _core
from bentpipe.machine.memory import peak_bytes


def delivered(raw: _core.RawResult) -> int:
    """Data packets that reached the applications, in order."""
    payload = sum(flow["delivered_bytes"] for flow in json.loads(raw.json)["flows"])
    return int(payload // segment_bytes(raw.scenario))


def hops(raw: _core.RawResult) -> int:
    """Packets over single links, data and acknowledgements."""
    return sum(link["delivered_packets"] for link in json.loads(raw.json)["links"])


def segment_bytes(resolved: str) -> int:
    """Bytes of payload in a full segment of a scenario with every key."""
    sizes = {flow["mss"] for flow in json.loads(resolved)["flow"]}
    if len(sizes) != 1:
        raise ValueError(f"the flows of a benchmark have segments of one size, not of {sorted(sizes)}")
    return int(sizes.pop().removesuffix(" bytes"))


def run_all(texts: list[str], threads: int) -> list[_core.RawResult]:
    """Runs scenarios on this number of threads."""
    pool = _core.Threads(threads)
    for number, text in enumerate(texts):
        pool.start(number, text)
    found: dict[int, _core.RawResult] = {}
    while len(found) < len(texts):
        for number, given in pool.finished(1.0):
            if isinstance(given, Exception):
                raise given
            found[number] = given
    pool.stop()
    return [found[number] for number in range(len(texts))]


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Runs the scenarios of a job: one by itself, several on this number of threads."""
    texts = [json.dumps(scenario) for scenario in job["scenarios"]]
    looks = 0

    def look(_: float) -> None:
        nonlocal looks
        looks += 1

    held = peak_bytes()
    wall, cpu = time.perf_counter(), time.process_time()
    if len(texts) == 1:
        raw = [_core.run(texts[0], None, look, None, job["threads"])]
    else:
        raw = run_all(texts, job["threads"])
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = peak_bytes()
    return {
        "packets": sum(map(delivered, raw)),
        "hops": sum(map(hops, raw)),
        "cpu_s": cpu,
        "wall_s": wall,
        "events": _core.EVENTS_PER_PROGRESS * looks if len(texts) == 1 else None,
        "peak_bytes": peak,
        "grown_bytes": peak - held if peak is not None and held is not None else None,
    }


if __name__ == "__main__":
    json.dump(work(json.load(sys.stdin)), sys.stdout)

"""Runs on a real Ray cluster: two nodes on this machine, each with one processor, a folder and ports of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bentpipe import _core
from bentpipe.sweeps.ray import Ray, named_files

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None,
    reason='the extra "ray" is not installed: pip install "bentpipe[ray]"',
)

PATIENCE_S = 30


def children(pid: int) -> list[int]:
    """The processes that a process has started, directly or not."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has ended meanwhile
                continue
    found = [pid]
    for known in found:
        found += [child for child, parent in parents.items() if parent == known]
    return found[1:]


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


@dataclass
class Node:
    """A node of a cluster: the process `ray start --block`, and what it has started."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def raylet(self) -> int:
        return next(pid for pid in children(self.process.pid) if "raylet/raylet " in command(pid))

    def end(self) -> None:
        started = [self.process.pid, *children(self.process.pid)]
        for pid in started:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()
        until(lambda: not any(command(pid) for pid in started))


def until(done) -> None:
    """Waits for something, and fails if it does not come."""
    last = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < last, "it takes too long"
        time.sleep(0.05)


@dataclass
class Cluster:
    address: str
    nodes: list[Node]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    folder = Path(tempfile.mkdtemp(prefix="bp-ray-", dir="/tmp"))  # the names of sockets must be short
    nodes: list[Node] = []

    def start(*options: str) -> Node:
        name = folder / str(len(nodes))
        log = name.with_suffix(".log")
        with log.open("wb") as output:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1"),
                    *(
                        "--object-store-memory=80000000",
                        "--include-log-monitor=false",
                        "--disable-usage-stats",
                    ),
                    *(f"--temp-dir={name}", *options),
                ],
                env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": os.pathsep.join(sys.path)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        nodes.append(Node(process, log))
        until(lambda: b"block" in log.read_bytes() or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        return nodes[-1]

    try:
        head = start("--head", "--port=0", "--include-dashboard=false")
        address = head.log.read_text().partition("--address='")[2].partition("'")[0]
        start(f"--address={address}")
        yield Cluster(address, nodes)
    finally:
        for node in nodes:
            node.end()
        shutil.rmtree(folder)


# A driver is a process of its own: what Ray leaves behind in a process would disturb other tests.
DRIVER = """
import json, os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import mine
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.engine import work_off
from bentpipe.sweeps.ray import Ray

def case(seed):
    cc = ["cubic", "python:Mine"][seed % 2]
    link = {"rate": "10 Mbit/s", "delay": "30 ms", "loss": [{"kind": "trace", "file": "losses.txt"}]}
    scenario = {"duration": "40 s", "seed": seed, "link": {"a": link}, "flow": [{"path": ["a"], "cc": cc}]}
    return Case({"seed": seed}, scenario, controllers={"Mine": mine.Mine} if seed % 2 else {})

def line(ran):
    report = json.loads(ran.report)
    return [ran.number, ran.error, {**report, "wall_s": 0}, dict(ran.measures)["segments"]]

def main(address, victim):
    cases = [case(seed) for seed in range(1, 41)]
    local = [ran for some in work_off(cases, range(40), measure=mine.measure) for ran in some]
    found, nodes = [], set()
    for some in work_off(cases, range(40), measure=mine.measure, executor=Ray(address)):
        found += some
        nodes |= {ran.measures["node"] for ran in some}
        if victim and len(nodes) == 2:
            os.kill(victim, signal.SIGKILL)
            print("killed after", len(found), flush=True)
            victim = 0
    assert len(nodes) == 2, nodes
    assert sorted(map(line, found)) == sorted(map(line, local))
    print("equal", len(found))

main(sys.argv[2], int(sys.argv[3]))
"""

# A module that the nodes cannot import: it must travel, and so must the one beside it.
MINE = """
import bentpipe as bp
import beside

class Mine(bp.Controller):
    def on_ack(self, flow, ack):
        self.cwnd += beside.GAIN * ack["acked"] / flow["mss"] / self.cwnd

    def on_congestion(self, flow, why):
        self.cwnd = self.ssthresh = max(self.cwnd / 2, 2)

def measure(case, result, trace):
    import sys
    node = ""
    if "ray" in sys.modules and sys.modules["ray"].is_initialized():
        node = sys.modules["ray"].get_runtime_context().get_node_id()
    return {"node": node, "segments": result["flows"][0]["sent_packets"]}
"""


def run_driver(text: str, folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a driver in a folder; it has half a minute."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run(
        [sys.executable, "-c", text, *map(str, arguments)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


@needs_ray
def test_a_node_that_is_killed_half_way_leaves_no_trace_in_the_result(
    cluster: Cluster, tmp_path: Path
) -> None:
    """Files and Python code travel with the tasks, results come back by the object store."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "mine.py").write_text(MINE)
    (source / "beside.py").write_text("GAIN = 1.5\n")
    (tmp_path / "losses.txt").write_text("100\n2000\n2001\n")
    done = run_driver(DRIVER, tmp_path, source, cluster.address, cluster.nodes[1].raylet)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 2, done.stdout + done.stderr
    killed, equal = done.stdout.splitlines()
    assert 0 < int(killed.removeprefix("killed after ")) < 40
    assert equal == "equal 40"
    cluster.nodes[1].process.wait(PATIENCE_S)

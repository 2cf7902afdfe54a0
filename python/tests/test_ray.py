"""Runs on a real Ray cluster: nodes on this machine, each with one processor, and a folder of its own."""

from __future__ import annotations

import importlib.util
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import toy_study
from test_study_all import results

import bentpipe
from bentpipe.sweeps.fingerprint import named_files

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None,
    reason="the package ray is not installed: pip install ray",
)

#: How long a step may take on a machine that is busy, s.
PATIENCE_S = 60


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


def until(done: Callable[[], bool]) -> None:
    """Waits for something, and fails if it does not come."""
    last = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < last, "it takes too long"
        time.sleep(0.05)


#: Ray's own numbers make it a quarter of a minute until a node counts as lost.
QUICK = {
    "RAY_health_check_initial_delay_ms": "500",
    "RAY_health_check_period_ms": "300",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
}


class Cluster:
    """Nodes with one processor each; nobody without the token of this cluster can use it."""

    def __init__(self, folder: Path) -> None:
        self.nodes: list[Node] = []
        self.folder = folder
        self.environment = {
            **os.environ,
            **QUICK,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(16),
        }
        self.address = ""

    def begin(self) -> None:
        """Starts the head."""
        head = self.start(sys.path, "--head", "--port=0", "--include-dashboard=false")
        self.address = head.log.read_text().partition("--address='")[2].partition("'")[0]

    def join(self, path: list[str]) -> Node:
        """One more node."""
        return self.start(path, f"--address={self.address}")

    def start(self, path: list[str], *options: str) -> Node:
        name = self.folder / str(len(self.nodes))
        log = name.with_suffix(".log")
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1"]
        command += ["--node-ip-address=127.0.0.2"]  # of the loopback, as 127.0.0.1 would not be
        command += ["--object-store-memory=80000000", "--include-log-monitor=false", f"--temp-dir={name}"]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, *options],
                env={**self.environment, "PYTHONPATH": os.pathsep.join(filter(None, path))},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.nodes.append(Node(process, log))
        until(lambda: b"block" in log.read_bytes() or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        return self.nodes[-1]

    def driver(self, text: str, folder: Path, *arguments: object) -> subprocess.Popen[str]:
        """A process that uses the cluster: what Ray leaves behind in a process would disturb other tests."""
        # Ctrl-C may strike while Ray has made a socket and not yet connected it.
        strict = ["-W", "error", "-W", "ignore:unclosed <socket:ResourceWarning"]
        return subprocess.Popen(
            [sys.executable, *strict, "-c", text, self.address, *map(str, arguments)],
            cwd=folder,
            env={**self.environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    folder = Path(tempfile.mkdtemp(prefix="bp-ray-", dir="/tmp"))  # the names of sockets must be short
    cluster = Cluster(folder)
    try:
        cluster.begin()
        yield cluster
    finally:
        for node in cluster.nodes:
            node.end()
        shutil.rmtree(folder)


@pytest.fixture
def second(cluster: Cluster) -> Iterator[Node]:
    """The second node; the head is the first."""
    node = cluster.join(sys.path)
    yield node
    node.end()


def ended(driver: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit status, output and errors, without Ray's own log of objects that a killed node had."""
    with driver:
        out, errors = driver.communicate(timeout=PATIENCE_S)
        ours = re.sub(
            r"^\[.*\bcore_worker\.cc:.*: Attempting to recover .*\n", "", errors, flags=re.MULTILINE
        )
        return driver.returncode, out, ours


KILL = '''
import importlib, os, signal, sys
sys.path.insert(0, sys.argv[2])
import mine
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.lab import Lab
from bentpipe.sweeps.ray import Ray

def case(seed):
    cc = ["cubic", "python:Mine"][seed % 2]
    link = {"rate": "10 Mbit/s", "delay": "30 ms", "loss": [{"kind": "trace", "file": 'loss "1".txt'}]}
    scenario = {"duration": "40 s", "seed": seed, "link": {"a": link}, "flow": [{"path": ["a"], "cc": cc}],
                "record": {"interval": "10 ms"}}
    return Case({"seed": seed}, scenario, seed % 4 == 0, controllers={"Mine": mine.Mine} if seed % 2 else {})

def warm():
    """Starts a worker on each node: otherwise the first to be there may do all."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On
    nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
    start = ray.remote(num_cpus=1)(importlib.import_module)
    begun = [start.options(scheduling_strategy=On(node, soft=False)).remote("polars") for node in nodes]
    ray.wait(begun, num_returns=len(nodes), timeout=30)

def line(ran):
    trace = None if ran.trace is None else ran.trace.write_csv()
    return [ran.number, ran.error, {**ran.result, "wall_s": 0}, ran.measures["segments"], trace]

def main(address, victim):
    cases = [case(seed) for seed in range(1, 41)]
    with Lab() as lab:
        local = [ran for some in lab.each(cases, far=mine.measure) for ran in some]
    found, nodes, executor = [], set(), Ray(address)
    warm()
    with Lab(executor=lambda: executor) as lab:
        for some in lab.each(cases, far=mine.measure):
            found += some
            nodes |= {ran.measures["node"] for ran in some}
            if victim and len(nodes) == 2:
                os.kill(victim, signal.SIGKILL)
                print("killed after", len(found))
                victim = 0
    assert len(nodes) == 2, nodes
    assert sorted(map(line, found), key=str) == sorted(map(line, local), key=str)
    print("equal", len(found), sum(ran.trace is not None for ran in found))

main(sys.argv[1], int(sys.argv[3]))
'''

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


@needs_ray
def test_a_node_that_is_killed_half_way_leaves_no_trace_in_the_result(
    cluster: Cluster, second: Node, tmp_path: Path
) -> None:
    """Files and Python code travel with the tasks, results come back by the object store."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "mine.py").write_text(MINE)
    (source / "beside.py").write_text("GAIN = 1.5\n")
    (tmp_path / 'loss "1".txt').write_text("100\n2000\n2001\n")
    status, out, errors = ended(cluster.driver(KILL, tmp_path, source, second.raylet))
    assert (status, errors) == (0, "")
    killed, equal = out.splitlines()
    assert 0 < int(killed.removeprefix("killed after ")) < 40
    assert equal == "equal 40 10"
    second.process.wait(PATIENCE_S)


STUDY = """
import os, sys
from pathlib import Path
import toy_study
from bentpipe import studies
from bentpipe.sweeps.ray import Ray

os.environ["TOY_LOG"] = "log"
for place, executor in (("here", None), ("there", lambda: Ray(sys.argv[1]))):
    studies.run_plan(toy_study.STUDY, toy_study.plan("quick"), Path(place), executor=executor)
"""


@needs_ray
def test_a_study_on_a_cluster_gives_the_bits_of_one_here(cluster: Cluster, tmp_path: Path) -> None:
    status, out, errors = ended(cluster.driver(STUDY, tmp_path))
    assert (status, out, errors) == (0, "", "")
    assert results(tmp_path / "there") == results(tmp_path / "here")
    # The nodes do not have the variable that asks for it.
    assert len((tmp_path / "log").read_text().splitlines()) == toy_study.RUNS


MANY = """
import sys
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.lab import Lab
from bentpipe.sweeps.ray import Ray

link = {"rate": "50 Mbit/s", "delay": "30 ms"}
flow = {"path": ["a"], "cc": "cubic"}
tell = lambda state: state.done and print(state.done, flush=True)
cases = [Case({}, {"duration": "60 s", "seed": s, "link": {"a": link}, "flow": [flow]}) for s in range(2000)]
try:
    with Lab(executor=lambda: Ray(sys.argv[1]), progress=tell) as lab:
        made = lab.rows(cases)
    print("stopped", made.stopped, len(made.rows))
except BaseException as stopped:
    print(type(stopped).__name__, stopped)
"""


def after_the_first(driver: subprocess.Popen[str]) -> None:
    """Waits until a driver has told of runs."""
    assert driver.stdout is not None
    driver.stdout.readline()


@needs_ray
def test_ctrl_c_ends_what_is_under_way_and_keeps_what_is_finished(cluster: Cluster, tmp_path: Path) -> None:
    driver = cluster.driver(MANY, tmp_path)
    after_the_first(driver)
    driver.send_signal(signal.SIGINT)
    status, out, errors = ended(driver)
    assert (status, errors) == (0, "")
    assert re.fullmatch(r"stopped True \d{1,3}", out.splitlines()[-1])
    until(lambda: not any("ray::_serve" in command(pid) for pid in children(cluster.nodes[0].process.pid)))


@needs_ray
def test_a_node_with_another_simulator_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    assert bentpipe.__file__ is not None
    copy = tmp_path / "bentpipe"
    shutil.copytree(Path(bentpipe.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (simulator,) = copy.glob("_core*.so")
    with simulator.open("ab") as file:
        file.write(b"another")
    other = cluster.join([str(tmp_path), *sys.path])
    try:
        status, out, errors = ended(cluster.driver(MANY, tmp_path.parent))
    finally:
        other.end()
    assert (status, errors) == (0, "")
    said = out.splitlines()[-1]
    hashes = r"has another simulator \(\w{12}, here \w{12}\); install the same wheel there"
    assert re.fullmatch(rf"ScenarioError --ray: node \S+ \(\S+\) {hashes}", said)


@needs_ray
def test_a_head_that_is_gone_is_said(cluster: Cluster, tmp_path: Path) -> None:
    driver = cluster.driver(MANY, tmp_path)
    after_the_first(driver)
    cluster.nodes[0].end()
    _, out, _ = ended(driver)
    assert re.search(r"^ScenarioError --ray \S+: the cluster's head is gone", out, re.MULTILINE)


@needs_ray
@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("nonsense", "write HOST:PORT, the address that `ray start` prints, or auto"),
        ("127.0.0.1:1", "no cluster answers there .*refused.*; docs/scaling.md says how to start one"),
    ],
)
def test_an_address_without_a_cluster_is_refused(address: str, why: str) -> None:
    assert re.fullmatch(f"ScenarioError --ray {address}: {why}\n", alone(MANY, address))


def test_without_ray_it_is_said_how_to_install_it() -> None:
    said = alone("import sys; sys.modules['ray'] = None" + MANY, "127.0.0.1:1")
    assert said == "ScenarioError --ray needs the package ray: pip install ray\n"


def alone(text: str, *arguments: str) -> str:
    """What a driver without a cluster says."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", text, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def test_files_are_found_wherever_a_scenario_names_them() -> None:
    link = {
        "loss": [{"kind": "trace", "file": "a.txt"}],
        "return": {"opportunities": "b.txt"},
        "rate": "1 Mbit/s",
    }
    scenario = {"link": {"a": link, "b": {"timeline": {"file": "c.csv"}}, "c": {"timeline": "d.csv"}}}
    assert sorted(named_files(scenario)) == ["a.txt", "b.txt", "c.csv", "d.csv"]

"""A Ray cluster as an executor of runs: `--ray ADDRESS`.

A batch of runs is a task. The inputs of a run travel with it. Its results come back through Ray's object
store, and the process that the user started writes it. So the nodes need no disk in common. Ray repeats tasks
whose worker or node was lost, and a repeated run gives the same bits.

Files that a scenario names are sent as their contents. Code that is not Bentpipe's own nor of an installed
package (a user's controllers, the measures of a user's study) is sent itself. The rest must be the same on
both machines, which `versions` checks.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import platform
import socket
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import bentpipe
from bentpipe import _core
from bentpipe.machine import extras
from bentpipe.sweeps.execution import Ran, RunBatch, run_case
from bentpipe.sweeps.fingerprint import LIBRARIES, named_files, simulator_hash, with_files

#: Repetitions of a task whose worker or node was lost, before its run counts as failed.
RETRIES = 5
#: Interval between queries for the number of processors of the cluster, s.
COUNT_S = 1.0


class Ray:
    """The processors of a Ray cluster, each with one run at a time.

    Args:
        address: HOST:PORT of the head, or "auto" for the cluster that this machine belongs to.

    Raises:
        ScenarioError: Ray is not installed, or no cluster answers at the address.
    """

    def __init__(self, address: str) -> None:
        self._ray, self._ours = _connect(address)
        self._task = self._ray.remote(num_cpus=1, max_retries=RETRIES)(_serve)
        self._address = str(self._ray.get_runtime_context().gcs_address)
        self._size, self._counted = 1, float("-inf")
        self._gone = False
        #: Batches by the references to their future results.
        self._in_hand: dict[Any, RunBatch] = {}
        #: References to the contents of files that scenarios name; None for one that cannot be read.
        self._stored: dict[str, Any] = {}

    @property
    def size(self) -> int:
        """The processors of all nodes that are alive.

        Raises:
            ScenarioError: the head is gone.
        """
        if time.monotonic() > self._counted + COUNT_S:
            try:  # Ray itself would wait for it for a minute, and then end this process.
                _knock(self._address)
            except OSError as failure:
                self._gone = True
                raise _core.ScenarioError(
                    f"--ray {self._address}: the cluster's head is gone ({_last_line(failure)})"
                ) from None
            self._size = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
            self._counted = time.monotonic()
        return self._size

    @property
    def free(self) -> int:
        """The number of startable batches. One waits for each that is worked on, so no processor does."""
        return max(0, 2 * self.size - len(self._in_hand))

    def start(self, batch: RunBatch) -> None:
        """Begins a batch."""
        names = sorted({name for case in batch.cases for name in named_files(case.scenario)})
        files = {name: self._file(name) for name in names}
        files = {name: stored for name, stored in files.items() if stored is not None}
        self._in_hand[self._task.remote(versions(), pack(batch, list(files)), *files.values())] = batch

    def finished(self, timeout_s: float) -> Sequence[Ran]:
        """Runs that are over; waits for a batch, or as long as that.

        Raises:
            ScenarioError: a node cannot run Bentpipe, or has another simulator than this machine.
        """
        waiting = list(self._in_hand)
        if not waiting:
            return []
        ready, _ = self._ray.wait(waiting, num_returns=1, timeout=timeout_s)
        if ready:
            ready, _ = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)
        return [ran for reference in ready for ran in self._taken(reference)]

    def stop(self) -> None:
        """Ends the runs in hand, and leaves the cluster if this joined it."""
        if self._gone:
            return
        for reference in self._in_hand:
            self._ray.cancel(reference, force=True)
        self._in_hand.clear()
        self._stored.clear()
        if self._ours:
            self._ray.shutdown()

    def _taken(self, reference: Any) -> Sequence[Ran]:
        """The results of a finished task. A batch that was lost too often is tried run by run."""
        batch = self._in_hand.pop(reference)
        errors = self._ray.exceptions
        try:
            refused, over = self._ray.get(reference)
        except errors.RayTaskError as failure:  # runs do not raise: the node cannot load their function
            raise _core.ScenarioError(
                f"--ray: a node cannot run Bentpipe ({_last_line(failure)}); "
                "install the same wheel on every node"
            ) from None
        except errors.RayError as failure:
            if len(batch.numbers) > 1:
                for number, case in zip(batch.numbers, batch.cases, strict=True):
                    self.start(RunBatch([number], [case], batch.measure))
                return []
            why = f"its worker was lost {RETRIES + 1} times: {_last_line(failure)}"
            return [Ran(batch.numbers[0], error=why)]
        if refused:
            raise _core.ScenarioError(refused)
        return list(over)

    def _file(self, name: str) -> Any:
        if name not in self._stored:
            try:
                self._stored[name] = self._ray.put(Path(name).read_bytes())
            except OSError:  # the run reports it, as on one machine
                self._stored[name] = None
        return self._stored[name]


def on_ray(address: str | None) -> Callable[[], Ray] | None:
    """A function that makes the executor for `--ray ADDRESS`; None without."""
    return None if address is None else lambda: Ray(address)


def _connect(address: str) -> tuple[Any, bool]:
    """The package Ray, connected; and whether this did it, or the caller had done so before."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # How long Ray looks for a node on this machine, s, and how often it tries to reach the head: its own
    # numbers make minutes, which look as if it hung.
    os.environ.setdefault("RAY_gcs_server_request_timeout_seconds", "10")
    os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "1")
    # Ray warns of its own future versions, which does not concern the user of a sweep.
    try:
        with warnings.catch_warnings(action="ignore"):
            ray: Any = import_module("ray")
            worker: Any = import_module("ray._private.worker")
            import_module("ray.exceptions")
    except ImportError:
        raise extras.missing("--ray", "ray") from None
    if ray.is_initialized():
        return ray, False
    host, _, port = address.rpartition(":")
    if address != "auto":
        if not host or not port.isdigit():
            raise _core.ScenarioError(
                f"--ray {address}: write HOST:PORT, the address that `ray start` prints, or auto"
            )
        # Ray itself would try for minutes.
        try:
            _knock(address)
        except (OSError, OverflowError) as failure:
            raise _core.ScenarioError(
                f"--ray {address}: no cluster answers there ({_last_line(failure)}); "
                "docs/scaling.md says how to start one"
            ) from None
    # Ray writes of lost nodes to the standard output, which is for results. It has no setting for that.
    worker._worker_logs_enabled = False
    try:
        with warnings.catch_warnings(action="ignore"):
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except Exception as failure:  # of many kinds
        raise _core.ScenarioError(
            f"--ray {address}: {' '.join(str(failure).split())[:300]}; give the command on a node of the "
            "cluster (docs/scaling.md)"
        ) from None
    return ray, True


def _knock(address: str) -> None:
    """Raises OSError or OverflowError unless something listens at HOST:PORT."""
    host, _, port = address.rpartition(":")
    socket.create_connection((host, int(port)), timeout=3).close()


def _serve(wanted: dict[str, str], packed: bytes, *contents: bytes) -> tuple[str, list[Ran]]:
    """A node's task: why it is refused, or else its runs."""
    here = versions()
    for what, there in wanted.items():
        if here.get(what) != there:
            ray: Any = import_module("ray")
            node = f"{socket.gethostname()} ({ray.util.get_node_ip_address()})"
            return (
                f"--ray: node {node} has another {what} ({here.get(what)}, here {there}); "
                "install the same wheel there",
                [],
            )
    return "", run_packed(packed, contents)


def _last_line(failure: BaseException) -> str:
    """The essential message of a failure: Ray's messages are pages with a traceback."""
    lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
    return lines[-1] if lines else type(failure).__name__


def pack(batch: RunBatch, files: Sequence[str]) -> bytes:
    """A batch, and the names of the files that go with it, as bytes."""
    cloudpickle: Any = import_module("ray.cloudpickle")
    cases = [replace(case, controllers={}) for case in batch.cases]
    controllers = [dict(case.controllers) for case in batch.cases]
    measure = getattr(batch.measure, "__self__", batch.measure)
    classes = [cls for some in controllers for cls in some.values()]
    by_value = _own_modules([*classes, *([] if measure is None else [measure])])
    for module in by_value:
        cloudpickle.register_pickle_by_value(module)
    try:
        given = (list(batch.numbers), cases, controllers, batch.measure, list(files))
        packed: bytes = cloudpickle.dumps(given)
        return packed
    finally:
        for module in by_value:
            cloudpickle.unregister_pickle_by_value(module)


def run_packed(packed: bytes, contents: Sequence[bytes]) -> list[Ran]:
    """Runs a batch that came as bytes, with the contents of its files, in their order."""
    # polars shares out its sums over its threads: their number must be the same on every machine.
    os.environ["POLARS_MAX_THREADS"] = "1"
    numbers, cases, controllers, measure, files = pickle.loads(packed)
    over = []
    with tempfile.TemporaryDirectory(prefix="bentpipe-") as folder:
        here = {}
        for i, (name, content) in enumerate(zip(files, contents, strict=True)):
            here[name] = str(Path(folder, f"{i}-{Path(name).name}"))
            Path(here[name]).write_bytes(content)
        for number, case, classes in zip(numbers, cases, controllers, strict=True):
            moved = replace(
                case,
                scenario=with_files(case.scenario, lambda name: here.get(name, name)),
                controllers=classes,
            )
            over.append(_as_named(run_case(number, moved, measure), here))
    return over


@cache
def versions() -> dict[str, str]:
    """The inputs of a run's bits beside its case, with their versions or hashes on this machine."""
    assert bentpipe.__file__ is not None
    package = Path(bentpipe.__file__).parent
    code = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        code.update(f"{path.relative_to(package)} ".encode() + hashlib.sha256(path.read_bytes()).digest())
    return {
        "simulator": simulator_hash()[:12],
        "Python code of Bentpipe": code.hexdigest()[:12],
        "Python": platform.python_version(),
        **{library: version(library) for library in LIBRARIES},
    }


def _own_modules(things: Iterable[Any]) -> list[ModuleType]:
    """The user's modules that classes and functions come from, and those of the same folders."""
    folders = set()
    for thing in things:
        module = sys.modules.get(getattr(thing, "__module__", None) or type(thing).__module__)
        if module is not None and not _installed(module):
            with suppress(AttributeError, TypeError):
                folders.add(Path(module.__file__).resolve().parent)  # type: ignore[arg-type]
    if not folders:
        return []
    return [
        module
        for module in list(sys.modules.values())
        if isinstance(getattr(module, "__file__", None), str)
        and not _installed(module)
        and not folders.isdisjoint(Path(str(module.__file__)).resolve().parents)
    ]


def _installed(module: ModuleType) -> bool:
    """Whether every machine has a module: Bentpipe's, and those of packages."""
    top = module.__name__.partition(".")[0]
    return (
        top in ("bentpipe", "__main__")
        or top in sys.stdlib_module_names
        or "site-packages" in str(module.__file__)
    )


def _as_named(ran: Ran, here: Mapping[str, str]) -> Ran:
    """The result of a run, with the user's names for the files in its texts."""
    report, error = ran.report, ran.error
    for name, path in here.items():
        as_text = json.dumps(name, ensure_ascii=False)[1:-1]
        report = None if report is None else report.replace(path, as_text)
        error = None if error is None else error.replace(path, name)
    return replace(ran, report=report, error=error, raw=None, failure=None)

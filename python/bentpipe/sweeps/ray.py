"""A Ray cluster as what computes runs: `--ray ADDRESS`.

A batch of runs is a task. What a run needs travels with it: the scenario, the contents of the files that it
names, and the code of controllers and measures that are not Bentpipe's own. What it gives comes back through
Ray's object store, and the process that the user started writes it. So the nodes need no disk in common. Ray
repeats tasks whose worker or node was lost, and a repeated run gives the same bits.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from bentpipe import _core
from bentpipe.sweeps.execution import Batch, Ran, run_case

#: How often a task is repeated whose worker or node was lost, before its run counts as failed.
RETRIES = 5


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
        self._simulator = simulator_hash()
        #: Batches by the reference to what they will give.
        self._in_hand: dict[Any, Batch] = {}
        #: References to the contents of files that scenarios name; None for one that cannot be read.
        self._stored: dict[str, Any] = {}

    @property
    def size(self) -> int:
        """The processors of all nodes that are alive."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    @property
    def free(self) -> int:
        """How many batches can be started. One waits for each that is worked on, so no processor does."""
        return max(0, 2 * self.size - len(self._in_hand))

    def start(self, batch: Batch) -> None:
        """Begins a batch."""
        names = sorted({name for case in batch.cases for name in named_files(case.scenario)})
        files = {name: self._file(name) for name in names}
        files = {name: stored for name, stored in files.items() if stored is not None}
        packed = _packed(batch, list(files))
        self._in_hand[self._task.remote(self._simulator, packed, *files.values())] = batch

    def finished(self, timeout_s: float) -> Sequence[Ran]:
        """Runs that are over; waits for a batch, or as long as that.

        Raises:
            ScenarioError: a node cannot run Bentpipe, or has another simulator than this machine.
        """
        waiting = list(self._in_hand)
        ready, _ = self._ray.wait(waiting, num_returns=1, timeout=timeout_s)
        if ready:
            ready, _ = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)
        return [ran for reference in ready for ran in self._taken(reference)]

    def stop(self) -> None:
        """Ends what is being worked on, and leaves the cluster if this joined it."""
        for reference in self._in_hand:
            self._ray.cancel(reference, force=True)
        self._in_hand.clear()
        self._stored.clear()
        if self._ours:
            self._ray.shutdown()

    def _taken(self, reference: Any) -> Sequence[Ran]:
        """What a task gave that is over. A batch that was lost too often is tried run by run."""
        batch = self._in_hand.pop(reference)
        errors = self._ray.exceptions
        try:
            refused, over = self._ray.get(reference)
        except errors.RayTaskError as failure:  # runs do not raise: the node cannot load what runs them
            raise _core.ScenarioError(
                f"--ray: a node cannot run Bentpipe ({_last_line(failure)}); "
                "install the same wheel on every node"
            ) from None
        except errors.RayError as failure:
            if len(batch.numbers) > 1:
                for number, case in zip(batch.numbers, batch.cases, strict=True):
                    self.start(Batch([number], [case], batch.measure))
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
            except OSError:  # the run says so, as it does on one machine
                self._stored[name] = None
        return self._stored[name]


def named_files(scenario: Any) -> Iterator[str]:
    """The names of files in a scenario: those under the keys `file`, `opportunities` and `timeline`."""
    if isinstance(scenario, Mapping):
        for key, value in scenario.items():
            if key in _FILE_KEYS and isinstance(value, str):
                yield value
            else:
                yield from named_files(value)
    elif isinstance(scenario, list | tuple):
        for value in scenario:
            yield from named_files(value)


@cache
def simulator_hash() -> str:
    """The hash of the compiled simulator, in hexadecimal."""
    assert _core.__file__ is not None
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()


_FILE_KEYS = ("file", "opportunities", "timeline")


def _connect(address: str) -> tuple[ModuleType, bool]:
    """The package Ray, connected; and whether this did it, or the caller had done so before."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        with _quietly():
            import ray
            import ray.exceptions
    except ImportError:
        raise _core.ScenarioError('--ray needs the package ray: pip install "bentpipe[ray]"') from None
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
            socket.create_connection((host, int(port)), timeout=3).close()
        except (OSError, OverflowError) as failure:
            raise _core.ScenarioError(
                f"--ray {address}: no cluster answers there ({_last_line(failure)}); "
                "docs/scaling.md says how to start one"
            ) from None
    try:
        with _quietly():
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except Exception as failure:  # of many kinds
        raise _core.ScenarioError(f"--ray {address}: {' '.join(str(failure).split())[:300]}") from None
    return ray, True


@contextmanager
def _quietly() -> Iterator[None]:
    """Ray warns of its own future versions, which is nothing to whoever sweeps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _packed(batch: Batch, files: list[str]) -> bytes:
    """A batch and the names of the files that go with it as bytes, with code that is not Bentpipe's own."""
    from ray import cloudpickle

    cases = [replace(case, controllers={}) for case in batch.cases]
    controllers = [dict(case.controllers) for case in batch.cases]
    measure = getattr(batch.measure, "__self__", batch.measure)
    classes = [cls for some in controllers for cls in some.values()]
    by_value = _own_modules([*classes, *([] if measure is None else [measure])])
    for module in by_value:
        cloudpickle.register_pickle_by_value(module)
    try:
        given = (list(batch.numbers), cases, controllers, batch.measure, files)
        packed: bytes = cloudpickle.dumps(given)
        return packed
    finally:
        for module in by_value:
            cloudpickle.unregister_pickle_by_value(module)


def _own_modules(things: Iterable[Any]) -> list[ModuleType]:
    """The user's modules that classes and functions come from, and those of the same folders."""
    folders = set()
    for thing in things:
        module = sys.modules.get(getattr(thing, "__module__", None) or type(thing).__module__)
        if module is not None and not _installed(module):
            with suppress(AttributeError, TypeError):
                folders.add(Path(module.__file__).resolve().parent)  # type: ignore[arg-type]
    return [
        module
        for module in list(sys.modules.values())
        if isinstance(getattr(module, "__file__", None), str)
        and not _installed(module)
        and not folders.isdisjoint(Path(str(module.__file__)).resolve().parents)
    ]


def _installed(module: ModuleType) -> bool:
    """Whether every node has a module: Bentpipe's, and those of packages."""
    top = module.__name__.partition(".")[0]
    return (
        top in ("bentpipe", "__main__")
        or top in sys.stdlib_module_names
        or "site-packages" in str(module.__file__)
    )


def _serve(simulator: str, packed: bytes, *contents: bytes) -> tuple[str, list[Ran]]:
    """A node's task: why it is refused, or else its runs."""
    if simulator != simulator_hash():
        import ray

        return (
            f"--ray: node {socket.gethostname()} ({ray.util.get_node_ip_address()}) has another simulator "
            f"({simulator_hash()[:12]}, here {simulator[:12]}); install the same wheel there",
            [],
        )
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
            moved = replace(case, scenario=_moved(case.scenario, here), controllers=classes)
            over.append(_as_named(run_case(number, moved, measure), here))
    return "", over


def _moved(scenario: Any, here: Mapping[str, str]) -> Any:
    """A scenario with the names of files replaced."""
    if isinstance(scenario, Mapping):
        return {
            key: here.get(value, value)
            if key in _FILE_KEYS and isinstance(value, str)
            else _moved(value, here)
            for key, value in scenario.items()
        }
    return [_moved(value, here) for value in scenario] if isinstance(scenario, list | tuple) else scenario


def _as_named(ran: Ran, here: Mapping[str, str]) -> Ran:
    """What a run gave, with files called in its words as the user calls them."""
    report, error = ran.report, ran.error
    for name, path in here.items():
        report = None if report is None else report.replace(path, name)
        error = None if error is None else error.replace(path, name)
    return replace(ran, report=report, error=error, raw=None, failure=None)


def _last_line(failure: BaseException) -> str:
    """What a failure says in the end: Ray's messages are pages with a traceback."""
    lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
    return lines[-1] if lines else type(failure).__name__

"""Runs that go to another machine: a batch as bytes, with the files and the code that it needs.

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
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import bentpipe
from bentpipe.source import FILE_KEYS
from bentpipe.sweeps.execution import Batch, Ran, run_case
from bentpipe.sweeps.fingerprint import simulator_hash
from bentpipe.sweeps.sources import LIBRARIES


def pack(batch: Batch, files: Sequence[str]) -> bytes:
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
            moved = replace(case, scenario=_moved(case.scenario, here), controllers=classes)
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


def _moved(scenario: Any, here: Mapping[str, str]) -> Any:
    """A scenario with the names of files replaced."""
    if isinstance(scenario, Mapping):
        return {
            key: here.get(value, value)
            if key in FILE_KEYS and isinstance(value, str)
            else _moved(value, here)
            for key, value in scenario.items()
        }
    return [_moved(value, here) for value in scenario] if isinstance(scenario, list | tuple) else scenario


def _as_named(ran: Ran, here: Mapping[str, str]) -> Ran:
    """The result of a run, with the user's names for the files in its texts."""
    report, error = ran.report, ran.error
    for name, path in here.items():
        as_text = json.dumps(name, ensure_ascii=False)[1:-1]
        report = None if report is None else report.replace(path, as_text)
        error = None if error is None else error.replace(path, name)
    return replace(ran, report=report, error=error, raw=None, failure=None)

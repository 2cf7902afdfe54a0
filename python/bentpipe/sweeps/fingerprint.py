"""Hash of all inputs of a run: scenario, files that it names, controllers in Python, the simulator.

Two runs with the same key give the same rows, bit for bit. So a run that is on disk under its key is not
run again, and one under another key is not taken for it.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.drawn.lines import code_hash, recipes
from bentpipe.source import FILE_KEYS
from bentpipe.sweeps.case import Case, source_file

#: Keys of a scenario that its results do not depend on, and the seed, which is kept apart from the rest.
_ASIDE = ("title", "seed")


@cache
def simulator_hash() -> str:
    """The hash of the compiled simulator, in hexadecimal."""
    assert _core.__file__ is not None
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()


def named_files(scenario: Any) -> Iterator[str]:
    """The names of files in a scenario: those under the keys `file`, `opportunities` and `timeline`."""
    if isinstance(scenario, Mapping):
        for key, value in scenario.items():
            if key in FILE_KEYS and isinstance(value, str):
                yield value
            else:
                yield from named_files(value)
    elif isinstance(scenario, list | tuple):
        for value in scenario:
            yield from named_files(value)


class Fingerprints:
    """Hashes of scenarios. Files and controllers are read once.

    Args:
        controllers: those in Python, by the name that represents each in the scenarios.
    """

    def __init__(self, controllers: Mapping[str, Callable[..., Any]] | None = None) -> None:
        #: The hash of each controller, "" if a change of it could not be noticed.
        self.controllers = {name: source_hash(cls) for name, cls in (controllers or {}).items()}
        #: The hash of each file that a scenario named so far.
        self.files: dict[str, str] = {}
        self._base = hashlib.sha256(simulator_hash().encode())

    def point(self, scenario: Mapping[str, Any]) -> str:
        """The hash of a scenario whatever its seed and title, 24 hexadecimal digits."""
        found = self._base.copy()
        kept = {key: value for key, value in scenario.items() if key not in _ASIDE}
        text = json.dumps(kept, sort_keys=True)
        found.update(text.encode())
        if any(recipes(kept)):
            found.update(f"\n{code_hash()}".encode())
        for name in sorted(set(named_files(kept))):
            if name not in self.files:
                self.files[name] = _file_hash(name)
            found.update(f"\n{name} {self.files[name]}".encode())
        for name, source in sorted(self.controllers.items()):
            if f'"python:{name}"' in text:
                found.update(f"\n{name} {source}".encode())
        return found.hexdigest()[:24]

    def case(self, case: Case, code: str) -> str:
        """The key of the measures of a run; `code` is the hash of the code that measures it."""
        for name, cls in case.controllers.items():
            if name not in self.controllers:
                self.controllers[name] = source_hash(cls)
        beside = [dict(case.keys), dict(case.settings), case.keep_trace, code]
        return run_key(self.point({**case.scenario, "": beside}), case.seed)


def run_key(point: str, seed: int) -> str:
    """The key of a run: the hash of its scenario, and its seed."""
    return f"{point}-{seed}"


def source_hash(cls: Callable[..., Any]) -> str:
    """The hash of the code of a controller; "" if it has no source.

    For one from a file, the hash covers the file, the files beside it that it imports, and those that it
    reads (`Controller.files_read`); comments and layout do not count. For one from a notebook or from the
    script itself, it covers the definitions that its code refers to there.
    """
    file = source_file(cls)
    if file is None or cls.__module__ == "__main__":
        found = hashlib.sha256()
        for text in _told(cls):
            if not text:
                return ""
            found.update(text.encode())
        return found.hexdigest()
    found = hashlib.sha256(getattr(cls, "__qualname__", "").encode())
    for path in _files_of(file.resolve()):
        try:
            code = ast.unparse(ast.parse(path.read_bytes()))
        except (SyntaxError, ValueError):
            code = path.read_text(errors="replace")
        found.update(code.encode())
    for name in getattr(cls, "files_read", list)():
        found.update(_file_hash(str(name)).encode())
    return found.hexdigest()


def _told(cls: Callable[..., Any]) -> Iterator[str]:
    """The source of a class, and of the functions, classes and constants of its module that it names."""
    there = vars(sys.modules.get(cls.__module__, object))
    waiting: list[Any] = [cls]
    for thing in waiting:
        try:
            text = textwrap.dedent(inspect.getsource(thing))
            tree = ast.parse(text)
        except (OSError, TypeError, SyntaxError):
            yield ""
            return
        yield text
        for name in sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}):
            value = there.get(name)
            if getattr(value, "__module__", None) == cls.__module__ and value not in waiting:
                waiting.append(value)
            elif isinstance(value, bool | int | float | str | tuple):
                yield f"{name} = {value!r}"


def _files_of(file: Path) -> list[Path]:
    """A file and the modules in its folder that it imports, directly or not."""
    known = [file]
    for path in known:
        for name in _imported(path):
            parts = name.split(".")
            for at in (file.parent.joinpath(*parts[:n]) for n in range(len(parts), 0, -1)):
                for found in (at.with_suffix(".py"), at / "__init__.py"):
                    if found.is_file() and found not in known:
                        known.append(found)
    return sorted(known)


def _imported(path: Path) -> list[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return []
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names += [f"{base}.{alias.name}".strip(".") for alias in node.names]
    return names


def _file_hash(name: str) -> str:
    try:
        with Path(name).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as failure:  # the run reports it, too
        return f"cannot be read: {failure.strerror}"

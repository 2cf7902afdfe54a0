"""Hashes of all inputs of a run and of its measures: scenario, files, controllers, simulator, code.

Two runs with the same key give the same rows, bit for bit. So a run that is on disk under its key is not
run again, and one under another key is not taken for it.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import json
import platform
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.document.source import FILE_KEYS
from bentpipe.sweeps.case import Case, source_file

#: Keys of a scenario that its results do not depend on, and the seed, which is kept apart from the rest.
_ASIDE = ("title", "seed")
LIBRARIES = ("numpy", "polars", "scipy")
"""The libraries that compute measures."""


@cache
def simulator_hash() -> str:
    """The hash of the compiled simulator, in hexadecimal."""
    assert _core.__file__ is not None
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()


def with_files(scenario: Any, change: Callable[[str], Any]) -> Any:
    """A scenario with other names of files.

    They are under the keys `file`, `opportunities` and `timeline`, and in `tle` and `stations` of a network.
    """
    if isinstance(scenario, Mapping):
        return {key: _with_files(key, value, change) for key, value in scenario.items()}
    if isinstance(scenario, list | tuple):
        return [with_files(value, change) for value in scenario]
    return scenario


def _with_files(key: str, value: Any, change: Callable[[str], Any]) -> Any:
    if key in {*FILE_KEYS, "tle"} and isinstance(value, str):
        return change(value)
    if key == "tle" and isinstance(value, list | tuple):
        return [_with_files(key, file, change) for file in value]
    if key == "stations" and isinstance(value, list | tuple):
        return [_station_with_files(one, change) if isinstance(one, str) else one for one in value]
    return with_files(value, change)


def _station_with_files(station: str, change: Callable[[str], Any]) -> str:
    """A station may be a file, with a name before it: "Liner = track.csv"."""
    name, sign, place = station.rpartition("=")
    return f"{name}{sign}{change(place.strip())}" if place.strip().lower().endswith(".csv") else station


def named_files(scenario: Any) -> list[str]:
    """The names of files in a scenario."""
    found: list[str] = []
    with_files(scenario, found.append)
    return found


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
        folder = (kept.get("network") or {}).get("hypatia")
        for name in sorted({*named_files(kept), *([] if folder is None else [folder])}):
            if name not in self.files:
                self.files[name] = _file_hash(name)
            found.update(f"\n{name} {self.files[name]}".encode())
        for name, source in sorted(self.controllers.items()):
            if f'"python:{name}"' in text:
                found.update(f"\n{name} {source}".encode())
        return found.hexdigest()[:24]


class RowKeys(Fingerprints):
    """The keys of rows: hashes of the inputs of runs and of the code that measures them.

    Args:
        measures: the functions that make a row. Their code is read when the first key is asked for.
    """

    def __init__(self, *measures: Callable[..., Any]) -> None:
        super().__init__()
        self._measures = measures

    @cached_property
    def _code(self) -> str:
        return "".join(map(code_version, self._measures))

    def of(self, cases: Sequence[Case]) -> Callable[[int], str]:
        """The keys of cases by their numbers, as a `Lot` asks for them."""
        return lambda number: self.case(cases[number])

    def case(self, case: Case) -> str:
        """The key of a run's row; "" for a run with a controller whose change could not be noticed."""
        for name, cls in case.controllers.items():
            if name not in self.controllers:
                self.controllers[name] = source_hash(cls)
            if not self.controllers[name]:
                return ""
        beside = [dict(case.keys), dict(case.settings), case.keep_trace, self._code]
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
    """The hash of a file, or of all files of a folder."""
    try:
        if Path(name).is_dir():
            parts = sorted(path for path in Path(name).rglob("*") if path.is_file())
            text = "".join(f"{path.relative_to(name)} {_file_hash(str(path))}\n" for path in parts)
            return hashlib.sha256(text.encode()).hexdigest()
        with Path(name).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as failure:  # the run reports it, too
        return f"cannot be read: {failure.strerror}"


def code_version(measure: Callable[..., Any]) -> str:
    """The hash of all code that a run's measures depend on, in hexadecimal.

    Two runs of one case have the same measures if this hash is the same. It covers the module that defines
    the study's ``measure``, every module of its package and of Bentpipe that this one imports, directly or
    not, the TOML files beside a module that it names, the compiled simulator, and the versions of Python and
    of the libraries that compute. Comments and layout do not count. Nor does code that draws and explains, as
    ``measure`` does not import it: a figure can be changed and drawn again without running anything.
    """
    found = hashlib.sha256()
    for name, path in modules(measure.__module__, "bentpipe.sweeps.execution").items():
        found.update(f"{name} {_code_hash(path, path.stat().st_mtime_ns)}\n".encode())
    found.update(f"{measure.__qualname__} python {platform.python_version()}\n".encode())
    for library in LIBRARIES:
        found.update(f"{library} {version(library)}\n".encode())
    return found.hexdigest()


@cache
def _code_hash(path: Path, _: int) -> str:
    """The hash of a file as it was at a time of change."""
    code = path.read_bytes()
    return hashlib.sha256(_without_words(code) if path.suffix == ".py" else code).hexdigest()


def _without_words(code: bytes) -> bytes:
    """Python code without comments, layout and docstrings: what they say changes no result."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [one for one in node.body if not _is_text(one)] or [ast.Pass()]
    return ast.unparse(tree).encode()


def _is_text(one: ast.stmt) -> bool:
    return isinstance(one, ast.Expr) and isinstance(getattr(one.value, "value", None), str)


def modules(*names: str) -> dict[str, Path]:
    """The modules and all that they import from their own packages and from Bentpipe, with their files.

    The TOML files beside a module that it names are among them.

    Raises:
        ValueError: a module has no file whose contents could be compared.
    """
    tops = {"bentpipe", *(name.partition(".")[0] for name in names)}
    found: dict[str, Path] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None or not Path(spec.origin).is_file():
            raise ValueError(f"the module {name} has no file, so a change of it could not be noticed")
        found[name] = Path(spec.origin)
        if found[name].suffix == ".py":
            tables = re.findall(r"""["']([\w.-]+\.toml)["']""", found[name].read_text(encoding="utf-8"))
            beside = (found[name].with_name(table) for table in tables)
            found |= {f"{name} {file.name}": file for file in beside if file.is_file()}
            package = name if spec.submodule_search_locations is not None else name.rpartition(".")[0]
            waiting += _imports(found[name], found[name].stat().st_mtime_ns, package, frozenset(tops))
    return dict(sorted(found.items()))


@cache
def _imports(path: Path, _: int, package: str, tops: frozenset[str]) -> Sequence[str]:
    """The names of the modules that a file imports, anywhere in it, except imports for type checkers alone.

    Those of other packages than `tops` are left out, and not looked for: that would load the packages.
    """
    found: list[str] = []
    waiting: list[ast.AST] = [ast.parse(path.read_bytes(), str(path))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names if alias.name.partition(".")[0] in tops)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            base = importlib.util.resolve_name(base, package) if node.level else base
            for alias in node.names if base.partition(".")[0] in tops else ():
                part = f"{base}.{alias.name}"
                found.append(part if _is_module(part, base) else base)
        elif isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)
    return found


def _is_module(name: str, parent: str) -> bool:
    """Whether `name` is a module; asked only of packages, whose parts may be modules."""
    spec = importlib.util.find_spec(parent)
    if spec is None or spec.submodule_search_locations is None:
        return False
    return importlib.util.find_spec(name) is not None

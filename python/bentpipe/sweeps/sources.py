"""The version of the code behind a run's measures: a hash of all that they depend on.

Two runs of one case have the same measures if this hash is the same. It covers the module that defines the
study's ``measure``, every module of its package and of Bentpipe that this one imports, directly or not, the
TOML files beside a module that it names, the compiled simulator, and the versions of Python and of the
libraries that compute. Comments and layout do not count. Nor does code that draws and explains, as
``measure`` does not import it: a figure can be changed and drawn again without running anything.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import platform
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

LIBRARIES = ("numpy", "polars", "scipy")


def code_version(measure: Callable[..., Any]) -> str:
    """The hash of the code of a measure, in hexadecimal."""
    found = hashlib.sha256()
    for name, path in modules(measure.__module__, "bentpipe.sweeps.execution").items():
        found.update(f"{name} {_hash(path, path.stat().st_mtime_ns)}\n".encode())
    found.update(f"{measure.__qualname__} python {platform.python_version()}\n".encode())
    for library in LIBRARIES:
        found.update(f"{library} {version(library)}\n".encode())
    return found.hexdigest()


@cache
def _hash(path: Path, _: int) -> str:
    """The hash of a file as it was at a time of change."""
    code = path.read_bytes()
    return hashlib.sha256(_without_words(code) if path.suffix == ".py" else code).hexdigest()


def _without_words(code: bytes) -> bytes:
    """Python code without comments, layout and docstrings: what they say changes no result."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            words = [isinstance(one, ast.Expr) and _is_text(one.value) for one in node.body]
            node.body = [one for one, word in zip(node.body, words, strict=True) if not word] or [ast.Pass()]
    return ast.unparse(tree).encode()


def _is_text(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


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
            waiting += _imported(found[name], found[name].stat().st_mtime_ns, package, frozenset(tops))
    return dict(sorted(found.items()))


@cache
def _imported(path: Path, _: int, package: str, tops: frozenset[str]) -> Sequence[str]:
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

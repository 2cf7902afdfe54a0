"""One run among many: its keys, its scenario as plain data, and its controllers by name."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from bentpipe.controller import load_controller

Key = str | int | float | bool


@dataclass(frozen=True)
class Case:
    """One run. Studies, sweeps, comparisons and searches use this same class.

    It can be pickled if its controllers can be found by name from another process (`portable`).
    """

    #: The keys that name the run in tables: a column each.
    keys: Mapping[str, Key]
    #: As `Scenario.to_dict` or a TOML file has it, seed included.
    scenario: Mapping[str, Any]
    #: Whether its trace is kept, if its scenario records one.
    keep_trace: bool = False
    #: Inputs of a measure of the run, beside the scenario.
    settings: Mapping[str, Key] = field(default_factory=dict)
    #: Controllers written in Python: "NAME" for a flow whose `cc` is "python:NAME" (`Scenario.controllers`).
    controllers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        """The seed of the run; a scenario without one has 1."""
        return int(self.scenario.get("seed", 1))

    @property
    def text(self) -> str:
        """The scenario as the simulator reads it."""
        return json.dumps(self.scenario)

    def __getstate__(self) -> dict[str, Any]:
        names = {key: name_class(cls) for key, cls in self.controllers.items()}
        return {**vars(self), "keys": dict(self.keys), "controllers": names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state["controllers"] = {key: load_class(name) for key, name in state["controllers"].items()}
        vars(self).update(state)


class ClassName(NamedTuple):
    """The place of a class: a module that can be imported, or a file."""

    module: str
    file: str
    name: str


def source_file(cls: Callable[..., Any]) -> Path | None:
    """The file that a class is written in; None if it was typed in."""
    for value in vars(cls).values():
        if inspect.isfunction(value):
            file = Path(value.__code__.co_filename)
            return file if file.is_file() else None
    try:
        return Path(inspect.getfile(cls))
    except (OSError, TypeError):
        return None


def portable(cls: Callable[..., Any]) -> bool:
    """Whether another process can load a class: not one of a notebook, the script itself, or a function."""
    try:
        name_class(cls)
    except ValueError:
        return False
    return True


def name_class(cls: Callable[..., Any]) -> ClassName:
    """The name of a class.

    Raises:
        ValueError: another process could not load it.
    """
    file = source_file(cls)
    if cls.__module__ == "__main__" or "<locals>" in cls.__qualname__ or file is None:
        raise ValueError(
            f"the class {cls.__qualname__} stands in a notebook, in the script itself or in a function; "
            "other processes can load it from a file of its own"
        )
    spec = None if cls.__module__.startswith("bentpipe_user_") else _spec(cls.__module__)
    if spec is not None and spec.origin is not None and Path(spec.origin).resolve() == file.resolve():
        return ClassName(cls.__module__, "", cls.__qualname__)
    return ClassName("", str(file.resolve()), cls.__qualname__)


@cache
def load_class(name: ClassName) -> type:
    """The class of that name.

    Raises:
        ScenarioError: its file does not load, or the class is not a controller.
        ImportError, AttributeError: its module is not there, or has no such class.
    """
    if name.file:
        return load_controller(f"{name.file}:{name.name}")
    found = attrgetter(name.name)(importlib.import_module(name.module))
    assert isinstance(found, type)
    return found


def _spec(module: str) -> importlib.machinery.ModuleSpec | None:
    """The place of a module; None if it is not found by its name."""
    try:
        return importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return getattr(sys.modules.get(module), "__spec__", None)

"""One run among many: its keys, and its scenario as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bentpipe.drawn.lines import as_json
from bentpipe.sweeps.portable import load_class, name_class

Key = str | int | float | bool


@dataclass(frozen=True)
class Case:
    """One run. Studies, sweeps, comparisons and searches use this same class.

    It can be pickled if its controllers can be found by name from another process (`portable.py`).
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
        """The scenario as the simulator reads it, with the time lines that are drawn for its seed."""
        return as_json(self.scenario)

    def __getstate__(self) -> dict[str, Any]:
        names = {key: name_class(cls) for key, cls in self.controllers.items()}
        return {**vars(self), "keys": dict(self.keys), "controllers": names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state["controllers"] = {key: load_class(name) for key, name in state["controllers"].items()}
        vars(self).update(state)

"""Planned runs as a dataset needs them, and a plan made of a list of cases."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

from bentpipe import _core
from bentpipe.sweeps.case import Case, Key
from bentpipe.sweeps.fingerprint import Fingerprints, simulator_hash
from bentpipe.sweeps.rows import Types, key_types


class Planned(Sequence[Case]):
    """Cases, each called by a number and by a key that identifies the inputs of its results."""

    @property
    @abstractmethod
    def types(self) -> Types:
        """The columns that name a run, with their types."""

    @abstractmethod
    def run_key(self, number: int) -> str:
        """The inputs of the results of a run: its scenario with all that belongs to it, and its seed."""

    @abstractmethod
    def named(self, number: int) -> tuple[Mapping[str, Key], int, int]:
        """The columns that name a run, its number and its seed."""

    @abstractmethod
    def take_over(self, keys: Iterable[str]) -> Mapping[str, int]:
        """The numbers of runs that are on disk, by their keys; none for those that are not of this plan."""

    @abstractmethod
    def about(self) -> Mapping[str, Any]:
        """Its description for `sweep.json`."""


class CaseList(Planned):
    """A list of cases. Two of the same scenario, seed and keys are one run too many.

    Raises:
        ScenarioError: there are two such cases.
    """

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cases = cases
        self._types = key_types(cases)
        self._fingerprints = found = Fingerprints()
        self._keys = [found.case(case) for case in cases]
        self._numbers = {key: number for number, key in enumerate(self._keys)}
        if len(self._numbers) < len(cases):
            raise _core.ScenarioError("two of the cases are alike: the same scenario, seed and keys")

    def __len__(self) -> int:
        return len(self._cases)

    @overload
    def __getitem__(self, number: int) -> Case: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Case]: ...
    def __getitem__(self, number: int | slice) -> Case | Sequence[Case]:
        return self._cases[number]

    @property
    def types(self) -> Types:
        """The type of each key."""
        return self._types

    def run_key(self, number: int) -> str:
        """The key of a run on disk."""
        return self._keys[number]

    def named(self, number: int) -> tuple[Mapping[str, Key], int, int]:
        """The keys of a case, its number and its seed."""
        return self._cases[number].keys, number, self._cases[number].seed

    def take_over(self, keys: Iterable[str]) -> dict[str, int]:
        """The numbers of cases that are on disk."""
        return {key: self._numbers[key] for key in keys if key in self._numbers}

    def about(self) -> dict[str, Any]:
        """Its description for `sweep.json`: the columns, and the simulator of the runs."""
        return {
            "title": "",
            "runs": len(self),
            "keys": [
                {"key": name, "column": name, "type": kind.__name__, "unit": ""}
                for name, kind in self._types.items()
            ],
            "bentpipe": _core.__version__,
            "simulator": simulator_hash(),
            "files": self._fingerprints.files,
            "controllers": self._fingerprints.controllers,
        }

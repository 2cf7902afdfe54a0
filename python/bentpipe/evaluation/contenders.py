"""The algorithms of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bentpipe import _core
from bentpipe.controller import check_controller, named_algorithm
from bentpipe.registry import find
from bentpipe.sweeps import vary

STANDARDS = ("cubic", "reno")
"""The algorithms whose numbers are shown beside those of every other one: RFC 9438 and RFC 5681."""


@dataclass(frozen=True)
class Contender:
    """An algorithm of an evaluation: the one under evaluation, or a standard one."""

    label: str  #: its display name, unique in the evaluation.
    cc: Any  #: its value for `Flow.cc`.
    id: str  #: its registered name with its parameters, or the name of its class.

    @property
    def style(self) -> str:
        """By which name figures know it (`plot.looks.look`)."""
        return self.id.split()[0]


def contenders(algorithm: Any) -> list[Contender]:
    """The algorithm, and then the standard ones that it is not.

    Args:
        algorithm: a registered name, one with parameters, a class, or "FILE.py:CLASS".

    Raises:
        ScenarioError: there is no such algorithm.
    """
    subject = _subject(named_algorithm(algorithm))
    standards = [Contender(find(name)["label"], name, name) for name in STANDARDS if name != subject.id]
    if subject.label in [standard.label for standard in standards]:
        subject = Contender(f"{subject.label} (own)", subject.cc, subject.id)
    return [subject, *standards]


def _subject(cc: Any) -> Contender:
    if isinstance(cc, type):
        check_controller(cc, cc.__qualname__)
        return Contender(cc.__name__, cc, cc.__name__)
    if isinstance(cc, str) or (isinstance(cc, Mapping) and "name" in cc):
        name, *given = vary.words(cc).split(" ")
        return Contender(" ".join([find(name)["label"], *given]), cc, vary.words(cc))
    raise _core.ScenarioError(f"cc: {cc!r} is no algorithm; give a name, a class or FILE.py:CLASS")

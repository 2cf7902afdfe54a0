"""Numbers that decide checks and stand in no paper: each with the checks that it decides, and its reason."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Self

from bentpipe.papers import PAPERS


class Tolerance(float):
    """A number of ours that decides checks; as a number it is that number.

    Args:
        value: the number, in the unit of what it bounds.
        decides: which checks, and how, in words.
        why: the reason of the value, a sentence without its full stop.
    """

    decides: str
    why: str

    def __new__(cls, value: float, decides: str, why: str) -> Self:
        """Raises ValueError if no reason is given."""
        if not (decides and why):
            raise ValueError(f"the tolerance {value:g} needs the checks that it decides and a reason")
        made = super().__new__(cls, value)
        made.decides, made.why = decides, why
        return made

    # For pickling.
    def __getnewargs__(self) -> tuple[float, str, str]:  # type: ignore[override]
        return float(self), self.decides, self.why


def tolerances(modules: Iterable[ModuleType]) -> dict[str, dict[str, Tolerance]]:
    """The tolerances of some modules, by module and name; one that is imported counts where it is first."""
    seen: set[int] = set()
    found: dict[str, dict[str, Tolerance]] = {}
    for module in modules:
        of = {n: v for n, v in vars(module).items() if isinstance(v, Tolerance) and id(v) not in seen}
        seen |= set(map(id, of.values()))
        found[module.__name__] = of
    return found


def every() -> dict[str, dict[str, Tolerance]]:
    """All that any study uses, by what uses it: ``"rule"`` for all papers, else a paper's study."""
    found = {"rule": tolerances([import_module("bentpipe.studies.claim")])["bentpipe.studies.claim"]}
    shared = set(map(id, found["rule"].values()))
    for paper in PAPERS:
        package = f"bentpipe.papers.{paper}"
        names = ["measure", "closed_forms", "claims"]
        some = [import_module(f"{package}.{n}") for n in names if find_spec(f"{package}.{n}") is not None]
        mine = tolerances(some).values()
        found[paper.replace("_", "-")] = {
            name: value for of in mine for name, value in of.items() if id(value) not in shared
        }
    return found

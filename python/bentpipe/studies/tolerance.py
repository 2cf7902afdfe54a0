"""Limits that decide checks and that no paper prints, each with its checks and its reason."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Self

from bentpipe.studies import PAPERS


class Tolerance(float):
    """A number of ours that decides checks; as a number it is that number.

    Args:
        value: the number, in the unit of the quantity that it bounds.
        decides: the checks, and the rule, in words.
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


def every() -> dict[str, list[Tolerance]]:
    """All that any study uses, in the order of the source: those of all papers as ``"rule"``, then by study.

    One that several modules know counts where it is first.
    """
    seen: set[int] = set()
    found = {"rule": _of("bentpipe.studies.claim", seen)}
    for paper in PAPERS:
        modules = [f"bentpipe.papers.{paper}.{name}" for name in ("measure", "closed_forms", "claims")]
        there = [name for name in modules if find_spec(name) is not None]
        found[paper.replace("_", "-")] = [of for name in there for of in _of(name, seen)]
    return found


def _of(module: str, seen: set[int]) -> list[Tolerance]:
    """Those of a module that are not among the seen, which they join."""
    mine = vars(import_module(module)).values()
    new = [of for of in mine if isinstance(of, Tolerance) and id(of) not in seen]
    seen |= set(map(id, new))
    return new

"""Limits that decide checks and that no paper prints, each with its checks and its reason."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Self


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


def every(papers: Iterable[str]) -> dict[str, list[Tolerance]]:
    """All that the studies of some papers use: those of all papers as ``"rule"``, then by study.

    Those that measures use come first, in the order of the source, and then those of ``paper.toml``. Measures
    have them in their code, so a change repeats the runs.
    """
    from bentpipe.studies.claim import TOLERANCES
    from bentpipe.studies.declared import Declared

    found = {"rule": list(TOLERANCES.values())}
    for paper in papers:
        measure = import_module(f"bentpipe.papers.{paper}.measure")
        own = [of for of in vars(measure).values() if isinstance(of, Tolerance)]
        found[paper.replace("_", "-")] = own + Declared.beside(measure.__file__ or "").limits()
    return found

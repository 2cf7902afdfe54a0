"""A limit of ours that decides checks. The set-ups have some, so nothing that judges is here."""

from __future__ import annotations

from typing import Self


class Tolerance(float):
    """A number of ours that decides checks and that no paper prints; as a number it is that number.

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

"""Contents of a live page, as plain data: charts, their curves, and the readings above them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Series:
    """A curve that is always there: the number called ``name``, times ``scale``.

    Without a colour it has one of its own by its place in the chart.
    """

    name: str
    label: str
    scale: float = 1.0
    colour: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for the script."""
        return asdict(self)


@dataclass(frozen=True)
class Family:
    """Curves that come and go: one for every number whose name begins with ``prefix``.

    The rest of the name is its label. A flow has the same label in all families of a page and so the same
    colour. Of more than ``most`` labels in the view those with the largest sum in the page's ``rank`` are
    shown, and the page says so.
    """

    prefix: str
    scale: float = 1.0
    most: int = 8

    def as_dict(self) -> dict[str, Any]:
        """Plain values for the script."""
        return asdict(self)


@dataclass(frozen=True)
class LiveChart:
    """A chart over time: the first words of its caption, the label of its vertical axis, its curves.

    A logarithmic axis leaves out values that are not above zero.
    """

    title: str
    label: str
    curves: Sequence[Series] | Family
    caption: str = ""
    log: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plain values for the script."""
        family = isinstance(self.curves, Family)
        return {
            "label": self.label,
            "log": self.log,
            "family": self.curves.as_dict() if isinstance(self.curves, Family) else None,
            "series": [] if family else [series.as_dict() for series in self.curves],  # type: ignore[union-attr]
        }


@dataclass(frozen=True)
class Reading:
    """A number above the charts, as it is now: ``name`` times ``scale``, with its label and its unit."""

    name: str
    label: str
    unit: str = ""
    scale: float = 1.0

    def as_dict(self) -> dict[str, Any]:
        """Plain values for the script."""
        return {"name": self.name, "unit": self.unit, "scale": self.scale}


@dataclass(frozen=True)
class LivePage:
    """The whole page: a title, charts, readings, a paragraph under the title.

    ``rank`` is the prefix of the family by which the largest flows are found; see `Family`.
    """

    title: str
    charts: Sequence[LiveChart]
    readings: Sequence[Reading] = ()
    lead: str = ""
    rank: str = ""
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for the script."""
        return {
            "charts": [chart.as_dict() for chart in self.charts],
            "readings": [reading.as_dict() for reading in self.readings],
            "rank": self.rank,
        }


#: The data of a source: names and numbers. A number that is None or not finite is a gap.
Numbers = Mapping[str, float | int | None]

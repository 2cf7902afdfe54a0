"""Declarations of a paper's study that are no code: the file ``paper.toml`` beside its modules.

``note`` is that of its `Design`. ``[tolerances.NAME]`` has the arguments of a `Tolerance`. The module `judge`
reads ``[claims.ID]``, `places` ``[figures."TITLE"]``, and `tables` ``[numbers]``. The modules of the
paper read ``[given]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from bentpipe.studies.tolerance import Tolerance
from bentpipe.toml_tables import beside

#: The name of the file.
FILE = "paper.toml"


@dataclass(frozen=True)
class Declared:
    """The tables of the file, by their names."""

    note: str
    tolerances: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    claims: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    figures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    numbers: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def beside(cls, module: str) -> Self:
        """Those of the file beside a module (its ``__file__``).

        Raises:
            OSError: it cannot be read.
            ValueError: it is no TOML.
            TypeError: it has an unknown table.
        """
        return cls(**beside(module, FILE))

    def limits(self, *names: str) -> list[Tolerance]:
        """The tolerances of these names; all of them without any name."""
        return [Tolerance(**self.tolerances[name]) for name in names or self.tolerances]

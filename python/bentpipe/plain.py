"""The parts of a scenario as the plain tables that a scenario file holds."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar


@dataclass(frozen=True)
class Model:
    """A part of a scenario that is written as a table, with the key `kind` if there are several kinds."""

    kind: ClassVar[str | None] = None

    def to_dict(self) -> dict[str, Any]:
        """The table: fields that are None are left out, and `from_` is written `from`."""
        table: dict[str, Any] = {} if self.kind is None else {"kind": self.kind}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                table[field.name.rstrip("_")] = value
        return table


def to_plain(value: Any) -> Any:
    """`value` with every model in it turned into the table that a scenario holds."""
    if isinstance(value, Model):
        return to_plain(value.to_dict())
    if isinstance(value, dict):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value

"""The parts of a scenario as the plain tables that a scenario file holds."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar


class Checked:
    """A dataclass whose attributes are its fields: a misspelt one is refused where it is set."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets a field. It is called for each field of a new object, so it does little.

        Raises:
            AttributeError: there is no such field; the message has those that are near.
        """
        if name not in self.__dataclass_fields__ and not name.startswith("_"):
            from bentpipe.registry import unknown

            raise AttributeError(unknown("argument", name, sorted(self.__dataclass_fields__)))
        object.__setattr__(self, name, value)


class Model(Checked):
    """A part of a scenario that is written as a table, with the key `kind` if there are several kinds.

    Each is a dataclass, made in `bentpipe.document.keys` of the JSON Schema.
    """

    kind: ClassVar[str | None] = None
    carriage: ClassVar[str | None] = None
    """The carrier of traffic: "connection", "application" (on a connection), "dialogue" or "datagrams"."""

    def to_dict(self) -> dict[str, Any]:
        """The table: fields that are None are left out, and `from_` is written `from`."""
        table: dict[str, Any] = {} if self.kind is None else {"kind": self.kind}
        return table | filled(self)


class OnPath(Model):
    """A part of a scenario with a `path`, for which the name of one link will do."""

    path: Sequence[str] | None

    def __post_init__(self) -> None:
        if isinstance(self.path, str):
            self.path = [self.path]


def is_datagrams(traffic: Any) -> bool:
    """Whether traffic does without TCP, and so without a controller."""
    return isinstance(traffic, Model) and traffic.carriage == "datagrams"


def filled(item: Any) -> dict[str, Any]:
    """The fields of a dataclass that are not None, under the names that a scenario uses."""
    found = {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}
    return {name.rstrip("_"): value for name, value in found.items() if value is not None}


def to_plain(value: Any) -> Any:
    """`value` with every model in it turned into the table that a scenario holds."""
    if isinstance(value, Model):
        return to_plain(value.to_dict())
    if isinstance(value, dict):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def toml(value: Any, key: Callable[[str], str] = json.dumps) -> str:
    """A value as TOML, in one line.

    Args:
        value: of plain data.
        key: how a key of a table is written: quoted, or bare by `str`.

    Raises:
        TypeError: TOML has no word for it.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case int():
            return str(value)
        case float():
            return repr(value)
        case Mapping():
            inner = ", ".join(f"{key(str(name))} = {toml(member, key)}" for name, member in value.items())
            return f"{{ {inner} }}"
        case list() | tuple():
            return f"[{', '.join(toml(member, key) for member in value)}]"
    if hasattr(value, "item"):  # a scalar of NumPy
        return toml(value.item())
    raise TypeError(f"a value of type {type(value).__name__}")


def value_of(text: str) -> Any:
    """The value of a text in TOML; other text is text."""
    if "\n" in text:
        return text
    try:
        found = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
    value = found["value"]
    return value if len(found) == 1 and isinstance(value, str | bool | int | float | list | dict) else text


def document(table: Mapping[str, Any]) -> str:
    """A scenario's table as a file in TOML: values, then a table for each link and each flow."""
    lines, tables = [], []
    for name, value in table.items():
        match value:
            case Mapping() if value and all(isinstance(inner, Mapping) for inner in value.values()):
                tables += [(f"[{name}.{_key(part)}]", inner) for part, inner in value.items()]
            case list() | tuple() if value and all(isinstance(inner, Mapping) for inner in value):
                tables += [(f"[[{name}]]", inner) for inner in value]
            case _:
                lines.append(f"{_key(name)} = {toml(value, _key)}")
    for head, inner in tables:
        lines += ["", head, *(f"{_key(key)} = {toml(value, _key)}" for key, value in inner.items())]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    """A key of TOML, in quotes where it needs them."""
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else json.dumps(name)

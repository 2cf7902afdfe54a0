"""Differences between two set-ups: fields, and within fields that are mappings the entries that differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, Final, TypeVar

S = TypeVar("S")

#: The place of a value: a field, or with it the keys of an entry: ``("options", "star", "aen")``.
Path = tuple[str, ...]
#: The values that differ, by their place; `UNSET` for an entry that is no longer there.
Change = Mapping[Path, Any]


class _Unset:
    def __repr__(self) -> str:
        return "unset"


UNSET: Final = _Unset()


def change(base: Any, other: Any) -> dict[Path, Any]:
    """The fields of ``other``, a dataclass like ``base``, that differ from it."""
    before, after = (dict(_values(of)) for of in (base, other))
    found = {path: value for path, value in after.items() if path not in before or before[path] != value}
    return found | {path: UNSET for path in before if path not in after and not _under(path, after)}


def changed(base: S, what: Change) -> S:
    """``base`` with the values of a change."""
    values: dict[str, Any] = {}
    for (name, *keys), value in what.items():
        held = values[name] if name in values else getattr(base, name)
        values[name] = _set(held, keys, value)
    return replace(base, **values)  # type: ignore[type-var]


def clash(one: Change, other: Change) -> Path | None:
    """A place to which two changes give different values; None if they can be applied together."""
    for path, value in one.items():
        for at, given in other.items():
            shared = min(len(path), len(at))
            if path[:shared] == at[:shared] and (path != at or value != given):
                return max(path, at, key=len)
    return None


def place(path: Path) -> str:
    """A place in words: ``"options.star.aen"``."""
    return ".".join(map(str, path))


def _values(of: Any) -> Iterator[tuple[Path, Any]]:
    for field in fields(of):
        yield from _entries((field.name,), getattr(of, field.name))


def _entries(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _entries((*path, key), entry)
    else:
        yield path, value


def _under(path: Path, values: Change) -> bool:
    """Whether a value in the place of ``path``'s mapping, or below it, has taken its place."""
    return any(path[: len(at)] == at or at[: len(path)] == path for at in values)


def _set(held: Any, keys: list[str], value: Any) -> Any:
    if not keys:
        return value
    first, *rest = keys
    entries = dict(held) if isinstance(held, Mapping) else {}
    if value is UNSET and not rest:
        entries.pop(first, None)
    else:
        entries[first] = _set(entries.get(first, {}), rest, value)
        if entries[first] == {}:
            del entries[first]
    return entries

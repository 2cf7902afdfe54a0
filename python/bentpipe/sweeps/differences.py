"""Differences between two sweeps, in words: the reasons why existing runs are not the requested ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bentpipe.sweeps.fingerprint import simulator_hash

#: Differences that a message names.
_SHOWN = 3


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The first few differences between the descriptions of two datasets."""
    if not old:
        return []
    found = []
    if old.get("simulator") not in (None, simulator_hash()):
        found.append("they were made by another build of the simulator")
    for what in ("files", "controllers"):
        before, now = old.get(what, {}), new.get(what, {})
        found += [f"{name} has changed" for name in before if name in now and before[name] != now[name]]
    varied = {key for about in (old, new) for axis in about.get("vary", []) for key in axis["keys"]}
    before, now = _flat(old.get("scenario")), _flat(new.get("scenario"))
    for key in {**before, **now}:
        if before.get(key) != now.get(key) and key not in ("title", "seed"):
            if not any(key == v or key.startswith(f"{v}.") for v in varied):
                found.append(f"{key} was {before.get(key)} and is {now.get(key)}")
    was = {tuple(axis["keys"]): axis["values"] for axis in old.get("vary", [])}
    for axis in new.get("vary", []):
        gone = [row for row in was.get(tuple(axis["keys"]), []) if row not in axis["values"]]
        if gone:
            shown = ", ".join(str(value) for row in gone[:_SHOWN] for value in row)
            found.append(f"{' with '.join(axis['keys'])} had {shown}, too")
    more = len(found) - _SHOWN
    return found[:_SHOWN] + ([f"and {more} more"] if more > 0 else [])


def _flat(value: Any, at: str = "") -> dict[str, Any]:
    """The values of a tree by dotted key."""
    if isinstance(value, Mapping):
        members: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, list):
        members = enumerate(value)
    else:
        return {at: value}
    return {k: v for name, one in members for k, v in _flat(one, f"{at}.{name}" if at else str(name)).items()}

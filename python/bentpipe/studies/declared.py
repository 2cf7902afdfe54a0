"""The choices of a paper: ``variants.toml`` beside its modules.

``variants.toml`` has the choices that are tried, and the joint readings: a table ``[variants.NAME]`` is a
`Variant`, ``[readings.NAME]`` a `Reading`. ``declared.toml`` lists their keys; ``[where]`` gives
names to conditions on runs.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from bentpipe.studies.design import Keys, Origin, Reading, S, Variant, Where, where
from bentpipe.toml_tables import beside

#: The name of the file.
VARIANTS_FILE = "variants.toml"

#: The keys of a variant and of a reading, and what each is.
VARIANT, READING = beside(__file__, "declared.toml").values()


def read_variants(
    module: str, base: S, conditions: Mapping[str, Callable[[Keys], bool]] | None = None
) -> tuple[tuple[Variant[S], ...], tuple[Reading, ...], tuple[Variant[S], ...]]:
    """The variants, the readings, and the variants that only readings use.

    Args:
        module: the ``__file__`` of the module beside which the file is.
        base: the set-up that the variants change.
        conditions: what ``where`` may name beside the conditions of ``[where]``.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no TOML; it has an unknown key, field, condition or evidence; a text is missing.
    """
    path = Path(module).with_name(VARIANTS_FILE)
    given = tomllib.loads(path.read_text(encoding="utf-8"))
    named = {name: where(**keys) for name, keys in given.pop("where", {}).items()} | dict(conditions or {})
    tried: dict[bool, list[Variant[S]]] = {False: [], True: []}
    for name, keys in given.pop("variants", {}).items():
        place = f"{path.parent.name}/{path.name}, variant {name!r}"
        _check(place, keys, VARIANT, "choice")
        tried[keys.get("only_joint", False)].append(_variant(place, name, keys, base, named))
    readings = []
    for name, keys in given.pop("readings", {}).items():
        place = f"{path.parent.name}/{path.name}, reading {name!r}"
        _check(place, keys, READING, "title", "variants")
        touches = _touched(place, keys, named) if "where" in keys else None
        readings.append(
            Reading(name, keys["title"], tuple(keys["variants"]), touches, keys.get("quick", False))
        )
    if given:
        raise ValueError(f"{path.parent.name}/{path.name}: what is {', '.join(given)}?")
    return tuple(tried[False]), tuple(readings), tuple(tried[True])


def _check(place: str, keys: Mapping[str, Any], known: Mapping[str, str], *needed: str) -> None:
    """Raises ValueError if a key is unknown or missing."""
    if strange := [key for key in keys if key not in known]:
        raise ValueError(f"{place} has no key {strange[0]!r}; there are: {', '.join(known)}")
    if missing := [key for key in needed if key not in keys]:
        raise ValueError(f"{place} needs {missing[0]!r}: {known[missing[0]]}")


def _variant(
    place: str,
    name: str,
    keys: Mapping[str, Any],
    base: S,
    named: Mapping[str, Callable[[Keys], bool]],
) -> Variant[S]:
    changes = {field: _plain(value) for field, value in keys.get("set", {}).items()}
    known = [field.name for field in fields(base)]
    if strange := [field for field in changes if field not in known]:
        raise ValueError(f"{place}: the set-up has no {strange[0]!r}; it has: {', '.join(known)}")
    options = dict(base.options)
    options |= {cc: of for names, of in keys.get("options", {}).items() for cc in names.split()}
    for names, of in keys.get("more", {}).items():
        options |= {cc: {**options.get(cc, {}), **of} for cc in names.split()}
    evidence = keys.get("evidence", "ours").upper()
    if evidence not in Origin.__members__:
        ways = ", ".join(of.lower() for of in Origin.__members__)
        raise ValueError(f"{place}: no evidence is called {evidence.lower()!r}; there are: {ways}")
    return Variant(
        name,
        keys["choice"],
        base.changed(options=options, **changes),
        _touched(place, keys, named),
        keys.get("quick", False),
        Origin[evidence],
        keys.get("source", ""),
    )


def _touched(
    place: str, keys: Mapping[str, Any], named: Mapping[str, Callable[[Keys], bool]]
) -> Callable[[Keys], bool]:
    """The condition of ``where`` and ``cc``."""
    given = keys.get("where", {})
    if isinstance(given, str) and given not in named:
        raise ValueError(f"{place}: no condition is called {given!r}; there are: {', '.join(named)}")
    touches = named[given] if isinstance(given, str) else where(**given)
    if "cc" not in keys:
        return touches
    if not isinstance(touches, Where):
        raise ValueError(f"{place}: {given!r} cannot be joined with cc")
    return Where(where(cc=keys["cc"]).values + touches.values)


def _plain(value: Any) -> Any:
    """A value of TOML as a set-up has it: tuples in place of lists."""
    return tuple(map(_plain, value)) if isinstance(value, list) else value

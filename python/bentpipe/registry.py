"""Lists of algorithms and of queues, from the registries of the core, and of shipped scenarios."""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from bentpipe import _core

SCENARIOS = Path(__file__).parent / "scenarios"
"""The scenarios that come with the package, one TOML file each."""
GRADES = {
    "A": "rules read in an authority: paper, RFC or reference code",
    "B": "from knowledge of a published standard or paper",
    "C": "a reconstruction; the original could not be obtained",
}
"""The degree to which an algorithm is specified."""


@cache
def _entries() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(_core.controllers()))


def controllers() -> list[dict[str, Any]]:
    """Every algorithm, in the order of tables and legends.

    Each is a dict with id, label, about, source, reference, grade, colour, marker, sender (its requirements
    on the connection: aen, bulk_repeat, fixed_rto, dctcp, l4s), params (name, kind, default, min, max,
    choices, unit, about, from_path, and shared: whether all algorithms take it), refuses_slow_start (why it
    cannot start by HyStart++ or another choice of slow_start; None if it can), uses_path_hints (whether it
    answers a hint that the path changes hands), header (bytes of the congestion header that its packets
    carry) and queue (the kind of queue that computes for it, or None).
    """
    return [dict(entry) for entry in _entries()]


def find(name: str) -> dict[str, Any]:
    """The algorithm with this id, in any case.

    Raises:
        ScenarioError: there is none; the message gives the nearest names.
    """
    return _find("algorithm", "id", name, _entries())


def check_parameters(cc: str, names: Iterable[str]) -> None:
    """Checks that an algorithm may have parameters of these names; the simulator checks their values.

    Raises:
        ScenarioError: no algorithm shares one of them, nor has this one; the message gives the near names.
    """
    shared = {one["name"] for entry in _entries() for one in entry["params"] if one["shared"]}
    own = [one["name"] for one in find(cc)["params"]]
    for name in names:
        if name not in {*own, *shared}:
            hint = _known("parameter", name, own)
            raise _core.ScenarioError(f'{cc} has no parameter "{name}"; {hint}; see bentpipe cc show {cc}')


MOST_NAMES, _SOME_NAMES = 20, 8
"""A message has all names if there are no more than the first number, else as many as the second."""
_LISTS = {"algorithm": "cc", "scenario": "scenario", "queue": "queue", "study": "study"}
"""The verbs that list all names of a kind."""
VALUES = {
    "queue-size": "packets, bytes, kB, MB or bdp",
    "queue-room": "packets, bytes, kB, MB, bdp or ms",
    "duration": "ns, us, ms or s",
    "size": "bytes, kB or MB",
    "boolean": "true, false",
}
"""The values of a queue's key that is not a number: the units of a text, or words."""


@cache
def _kinds() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(_core.queues()))


def queues() -> list[dict[str, Any]]:
    """Every kind of queue, in the order of tables.

    Each is a dict with kind, label, about, source, reference and keys (name, takes, default, min, max and
    about; takes lists "number", "integer", "boolean" and names of quantities, such as "duration").
    """
    return [dict(entry) for entry in _kinds()]


def find_queue(kind: str) -> dict[str, Any]:
    """The queue of this kind, in any case.

    Raises:
        ScenarioError: there is none; the message gives the nearest names.
    """
    return _find("queue", "kind", kind, _kinds())


def allowed(key: dict[str, Any]) -> str:
    """The values that a queue's key takes, in words."""
    numbers = f"{key['min']:.10g} to {key['max']:.10g}" if key["min"] is not None else "any number"
    return "; ".join(VALUES.get(word, numbers) for word in key["takes"])


OWN_COLOURS = ("#c020a0", "#7a4a1e", "#8855ff", "#0033ff")
"""Colours of controllers that are not registered. None is CUBIC's black, nor near a common algorithm's."""
OWN_MARKERS = ("o", "s", "^", "D", "v", "P", "p", "h")
"""Their markers, drawn hollow."""


def style(cc: str) -> dict[str, str]:
    """Label, colour and marker of an algorithm; and fill, "full", or "none" for one that is not registered.

    A controller of one's own, "python:Mine" or "Mine", has one of 32 looks, the same whenever it is drawn:
    its name decides.
    """
    for entry in _entries():
        if entry["id"] == cc:
            return {"fill": "full"} | {key: entry[key] for key in ("label", "colour", "marker")}
    name = cc.removeprefix("python:")
    at = zlib.crc32(name.encode())
    marker = OWN_MARKERS[at // len(OWN_COLOURS) % len(OWN_MARKERS)]
    return {"label": name, "colour": OWN_COLOURS[at % len(OWN_COLOURS)], "marker": marker, "fill": "none"}


_NEAR = 50.0
"""Colours nearer to each other than this, by `_distance`, are taken for one."""


def apart(colour: str, taken: Collection[str]) -> str:
    """The colour; if one of those taken is near it, the algorithms' colour that is farthest from them."""

    def nearest(one: str) -> float:
        return min((_distance(one, other) for other in taken), default=math.inf)

    if nearest(colour) >= _NEAR:
        return colour
    known: dict[str, None] = dict.fromkeys([*(entry["colour"] for entry in _entries()), *OWN_COLOURS])
    return max(known, key=nearest)


def colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each algorithm of a figure, that of `style` unless an earlier one's is near it."""
    found: dict[str, str] = {}
    for name in names:
        if name not in found:
            found[name] = apart(style(name)["colour"], found.values())
    return found


def _distance(one: str, other: str) -> float:
    """How different two colours "#rrggbb" look, from 0 to 765 (T. Riemersma, Colour metric, 2019)."""
    first, second = ([int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in (one, other))
    red, green, blue = (x - y for x, y in zip(first, second, strict=True))
    mean = (first[0] + second[0]) / 2
    return math.sqrt((2 + mean / 256) * red**2 + 4 * green**2 + (2 + (255 - mean) / 256) * blue**2)


def _find(what: str, key: str, name: str, entries: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The entry whose `key` is `name`, or an error that names `what` and the nearest names."""
    known = {entry[key]: entry for entry in entries}
    found = known.get(name.lower())  # names ignore case
    if found is None:
        if what == "algorithm" and name.endswith(".py"):
            raise _core.ScenarioError(f"{name} is a file; name the class in it, too: {name}:CLASS")
        if what == "algorithm" and "," in name:
            raise _core.ScenarioError(f"{name}: one algorithm is needed here; bentpipe compare takes several")
        raise _core.ScenarioError(unknown(what, name, list(known)))
    return dict(found)


def chooses(key: str) -> bool:
    """Whether a key of a scenario or a sweep chooses an algorithm: "flow.0.cc", "flow.star.cc.name"."""
    return key in ("cc", "key.cc") or re.fullmatch(r"flow\.[^.]+\.cc(\.name)?", key) is not None


def unknown(what: str, name: str, known: list[str]) -> str:
    """One line that says that `name` is unknown and lists near names, or all names if none is near."""
    return f"no {what} is called {name!r}; {_known(what, name, known)}"


def _known(what: str, name: str, known: list[str]) -> str:
    """The names near an unknown one, or all names if none is near."""
    if near := _core.nearest(name, known):
        return f"did you mean {' or '.join(near)}?"
    if len(known) > MOST_NAMES:
        verb = _LISTS.get(what)
        where = f"; bentpipe {verb} list has all" if verb else ""
        return f"there are {len(known)}, for example {', '.join(known[:_SOME_NAMES])}{where}"
    return f"there are {', '.join(known) or 'none'}"


def shipped_files() -> dict[str, Path]:
    """The files of the scenarios that come with the package, by name."""
    return {path.stem: path for path in sorted(SCENARIOS.glob("*.toml"))}

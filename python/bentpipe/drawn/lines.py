"""Links whose time line is drawn for each run.

A link has `timeline = { generator = "starlink", ... }`. `with_lines` is the only place that resolves it: just
before the simulator reads a scenario, the table becomes a file in the cache folder, drawn with the seed of
the run. Everything before that, such as sweeps and stored results, keeps the table.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from bentpipe import files
from bentpipe.units import seconds

MOST_FILES = 4000
"""Drawn files that are kept; the oldest go first."""
_CHANGED = ("timeline", "loss", "nominal")
"""Keys of a direction that a drawn time line sets."""
_USUAL = "60 s"
"""The duration of a scenario without one."""


def is_recipe(line: object) -> bool:
    """Whether the `timeline` of a link is to be drawn."""
    return isinstance(line, Mapping) and "generator" in line


def recipes(table: Mapping[str, Any]) -> Iterator[tuple[str, bool, dict[str, Any]]]:
    """The recipes of a scenario: name of the link, whether it is of its reverse direction, and the table."""
    links = table.get("link")
    for name, link in links.items() if isinstance(links, Mapping) else ():
        if not isinstance(link, Mapping):
            continue
        if is_recipe(link.get("timeline")):
            yield name, False, link["timeline"]
        back = link.get("reverse")
        if isinstance(back, Mapping) and is_recipe(back.get("timeline")):
            yield name, True, back["timeline"]


def place(name: str, *, back: bool) -> str:
    """The key of a recipe."""
    return f"link.{name}.reverse.timeline" if back else f"link.{name}.timeline"


def with_lines(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """The scenario with a file in place of each recipe, and the outages among the losses.

    An outage strikes both directions of a link, also one that has no recipe of its own. A direction keeps
    its own losses, and its own `nominal` if it has one.

    Raises:
        ScenarioError: a recipe or the duration is wrong.
        OSError: the cache folder cannot be written to.
    """
    found = list(recipes(table))
    if not found:
        return table
    from bentpipe.drawn.recipe import Recipe

    whole: dict[str, Any] = copy.deepcopy(dict(table))
    seed, duration_s = int(whole.get("seed", 1)), seconds(str(whole.get("duration", _USUAL)), "duration")
    drawn = {(name, back) for name, back, _ in found}
    for name, back, given in found:
        recipe, link = Recipe.of(given, place(name, back=back)), whole["link"][name]
        reverse = link["reverse"] = link.get("reverse") or {}
        own, other = (reverse, link) if back else (link, reverse)
        own["timeline"] = str(_file(recipe, seed, duration_s))
        own.setdefault("nominal", recipe.nominal)
        outages = recipe.outages(seed, duration_s)
        for direction in (own,) if (name, not back) in drawn else (own, other):
            _lose(direction, outages)
    return whole


def as_json(table: Mapping[str, Any]) -> str:
    """The scenario as the simulator reads it."""
    return json.dumps(with_lines(table))


def sample(given: Mapping[str, Any], key: str) -> Path:
    """A file with the first second of a draw.

    Raises:
        ScenarioError: the recipe is wrong; `key` is its place.
        OSError: the cache folder cannot be written to.
    """
    from bentpipe.drawn.recipe import Recipe

    return _file(Recipe.of(given, key), 1, 1.0)


def _lose(direction: dict[str, Any], outages: list[tuple[float, float]]) -> None:
    own = direction.get("loss") or []
    lost = [
        {"kind": "outage", "from": f"{begin * 1e3:.0f} ms", "to": f"{end * 1e3:.0f} ms"}
        for begin, end in outages
    ]
    direction["loss"] = [*([own] if isinstance(own, Mapping) else own), *lost]


def without_lines(whole: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """The reverse of `with_lines` on a scenario that the simulator has filled with its defaults.

    Args:
        whole: that scenario.
        table: the one with recipes.
    """
    if not any(recipes(table)):
        return dict(whole)
    found = copy.deepcopy(dict(whole))
    for name in {name for name, _, _ in recipes(table)}:
        given, link = table["link"][name], found["link"][name]
        for to, of in ((link, given), (link.get("reverse") or {}, given.get("reverse") or {})):
            for key in _CHANGED:
                to.pop(key, None)
                if key in of:
                    to[key] = copy.deepcopy(of[key])
    return found


@cache
def code_hash() -> str:
    """The hash of the generators' code: runs and drawn files of other code are not those of this."""
    folder = Path(__file__).parent
    found = hashlib.sha256()
    for name in ("profiles.py", "profiles.toml", "recipe.py", "starlink.py"):
        found.update((folder / name).read_bytes())
    return found.hexdigest()


def _file(recipe: Any, seed: int, duration_s: float) -> Path:
    """The file of a drawn time line: from the cache folder, or drawn and written there."""
    inputs = json.dumps([code_hash(), vars(recipe), seed if recipe.seed is None else 0, duration_s])
    folder = files.cache_folder("timeline")
    path = folder / f"{hashlib.sha256(inputs.encode()).hexdigest()[:32]}.csv"
    try:
        os.utime(path)  # the oldest go first
    except OSError:
        text = recipe.line(seed, duration_s).write_csv()
        files.replace_text(path, text)
        files.keep_newest(folder, ".csv", MOST_FILES)
    return path

"""The scenario of an emulation, and the links that it uses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.scenario import Scenario
from bentpipe.source import Source

_LENGTH = "1 h"
"""The time for which a scenario without a duration is worked out: orbits, rain."""


def prepared(
    scenario: Scenario | Mapping[str, Any] | str | Path,
    overrides: Mapping[str, Any] | Sequence[tuple[str, str]] = (),
    *,
    path: Sequence[str] | None = None,
    seed: int | None = None,
    duration: str | None = None,
) -> str:
    """The scenario as JSON, checked, whose first flow gives the route.

    Flows are not needed. Without them the route is the only link, or `path`.

    Args:
        scenario: a scenario, or an argument of `bentpipe.source.Source`.
        overrides: values by dotted key, or pairs of a key and its value as TOML.
        path: the directions that are crossed from the near end to the far end, instead of the first flow's.
        seed: instead of the scenario's.
        duration: instead of the scenario's.

    Raises:
        ScenarioError: it is not correct, or it has several links and none is selected.
    """
    given = scenario.to_dict() if isinstance(scenario, Scenario) else scenario
    source = Source(given)
    if isinstance(overrides, Mapping):
        overrides = [(key, json.dumps(value)) for key, value in overrides.items()]
    pairs = list(overrides)
    raw = source.raw()
    set_ = {key for key, _ in pairs}
    if path is None and not raw.get("flow") and "flow" not in set_:
        links = list(raw.get("link") or ())
        if len(links) > 1:
            raise _core.ScenarioError(
                f"{source.name} has no flows and several links, {', '.join(links)}; "
                f"say which to cross, for example --path {links[0]}"
            )
        path = links
    if path is not None:
        if not path:
            raise _core.ScenarioError("a path crosses at least one link")
        pairs.append(("flow", f'[{{ cc = "reno", path = {json.dumps(list(path))} }}]'))
    if duration is not None:
        pairs.append(("duration", json.dumps(duration)))
    elif "duration" not in raw and "duration" not in set_:
        pairs.append(("duration", json.dumps(_LENGTH)))
    if seed is not None:
        pairs.append(("seed", json.dumps(seed)))
    return json.dumps(source.load(pairs))

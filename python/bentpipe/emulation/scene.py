"""The scenario of an emulation, the links that it uses, and the place of a relay that splits connections."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.document.relays import place_on, relay_of
from bentpipe.document.source import Source
from bentpipe.kernel.choice import kernel_names
from bentpipe.scenario import Scenario

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
        scenario: a scenario, or an argument of `bentpipe.document.source.Source`.
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


@dataclass(frozen=True)
class Split:
    """The path of the first flow in two halves, with a relay between them."""

    #: The scenario as JSON, checked, with the relay.
    scenario: str
    legs: tuple[list[str], list[str]]
    #: The kernel's names of the controller with which the relay sends, the best first; empty: the default.
    controllers: list[str]


def split(
    scenario: Scenario | Mapping[str, Any] | str | Path,
    overrides: Mapping[str, Any] | Sequence[tuple[str, str]] = (),
    *,
    path: Sequence[str] | None = None,
    relay: Mapping[str, str] | str | None = None,
    seed: int | None = None,
    duration: str | None = None,
) -> Split | None:
    """The place at which the path is split; None without a relay.

    Args:
        scenario: as for `prepared`, like arguments that are not named here.
        overrides: values by dotted key.
        path: instead of the first flow's; it has no relay then, unless `relay` is given.
        relay: keys of a flow's `relay`, or an argument of `relay_of`, instead of that of the first flow.
        seed: instead of the scenario's.
        duration: instead of the scenario's.

    Raises:
        ScenarioError: the scenario is not correct, or there is no such place on the path.
    """
    whole = prepared(scenario, overrides, path=path, seed=seed, duration=duration)
    table = json.loads(whole)
    flow = table["flow"][0]
    if isinstance(relay, str):
        relay = relay_of(relay, flow.get("relay"), flow["path"])
    if relay is not None:
        flow["relay"] = dict(relay)
        flow.pop("traffic", None)  # programs make their own
        table["flow"] = [flow]
        whole = json.dumps(Source(table).load([]))
    given = json.loads(whole)["flow"][0].get("relay")
    if not given:
        return None
    names = flow["path"]
    at = place_on(names, given["at"])  # a place that is not on the path has been refused
    return Split(whole, (names[: at + 1], names[at + 1 :]), kernel_names(given.get("cc")))

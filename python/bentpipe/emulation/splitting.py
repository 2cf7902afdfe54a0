"""A relay on the path: its place, and the treatment of the connections that it splits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentpipe.emulation.scene import prepared
from bentpipe.relays import place_on, relay_of
from bentpipe.scenario import Scenario
from bentpipe.source import Source


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
        scenario: as for `bentpipe.emulation.scene.prepared`, like arguments that are not named here.
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


def kernel_names(cc: str | Mapping[str, Any] | None) -> list[str]:
    """The names that the kernel may have for a controller: our native program, our agent's, its own."""
    if cc is None:
        return []
    from bentpipe.kernel.choice import kernel_name

    name = cc if isinstance(cc, str) else str(cc["name"])
    return [kernel_name(name, native=True), kernel_name(name), name.replace("-", "_")]

"""A relay on the path: where it stands, and how the emulation treats the connections that it splits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.emulation.scene import prepared
from bentpipe.scenario import Scenario
from bentpipe.source import Source

BUFFER = "4 MB"
"""A relay's buffer, if nobody says another: some six bandwidth-delay products of 10 Mbit/s and 500 ms."""


@dataclass(frozen=True)
class Split:
    """The path of the first flow in two halves, with a relay between them."""

    #: The scenario as JSON, checked, with the relay.
    scenario: str
    legs: tuple[list[str], list[str]]
    #: The kernel's names of the controller with which the relay sends, the best first; empty: the default.
    controllers: list[str]


def relay_of(text: str) -> dict[str, str]:
    """What `--relay` says: "gateway", or "gateway, buffer=8 MB, cc=hybla".

    Raises:
        ScenarioError: it says something else.
    """
    place, *rest = (part.strip() for part in text.split(","))
    given = dict(part.partition("=")[::2] for part in rest)
    given = {key.strip(): value.strip() for key, value in given.items()}
    if not place or "=" in place or not all(given.values()) or set(given) - {"buffer", "cc"}:
        raise _core.ScenarioError(
            f'--relay {text}: write where it stands, and what is to differ: "gateway, buffer=8 MB, cc=hybla"'
        )
    return {"at": place, "buffer": BUFFER, **given}


def split(
    scenario: Scenario | Mapping[str, Any] | str | Path,
    overrides: Mapping[str, Any] | Sequence[tuple[str, str]] = (),
    *,
    path: Sequence[str] | None = None,
    relay: Mapping[str, str] | None = None,
    seed: int | None = None,
    duration: str | None = None,
) -> Split | None:
    """Where the path is split; None without a relay.

    Args:
        scenario: as for `bentpipe.emulation.scene.prepared`, like what is not named here.
        overrides: values by dotted key.
        path: instead of the first flow's; it has no relay then, unless `relay` is given.
        relay: keys of a flow's `relay`, instead of that of the first flow.
        seed: instead of the scenario's.
        duration: instead of the scenario's.

    Raises:
        ScenarioError: the scenario is not correct, or there is no such place on the path.
    """
    whole = prepared(scenario, overrides, path=path, seed=seed, duration=duration)
    table = json.loads(whole)
    flow = table["flow"][0]
    if relay is not None:
        flow["relay"] = dict(relay)
        flow.pop("traffic", None)  # programs make their own
        table["flow"] = [flow]
        whole = json.dumps(Source(table).load([]))
    given = json.loads(whole)["flow"][0].get("relay")
    if not given:
        return None
    names = flow["path"]
    plain = [name.removesuffix("/forward").removesuffix("/reverse") for name in names]
    # A place that is not on the path has been refused.
    at = 0 if given["at"] == "gateway" and "gateway" not in plain else plain.index(_plain(given["at"]))
    return Split(whole, (names[: at + 1], names[at + 1 :]), kernel_names(given.get("cc")))


def kernel_names(cc: str | Mapping[str, Any] | None) -> list[str]:
    """What the kernel may call a controller: our native program, our agent's, its own."""
    if cc is None:
        return []
    from bentpipe.kernel.choice import kernel_name

    name = cc if isinstance(cc, str) else str(cc["name"])
    return [kernel_name(name, native=True), kernel_name(name), name.replace("-", "_")]


def _plain(name: str) -> str:
    return name.removesuffix("/forward").removesuffix("/reverse")

"""Resolution of a controller's name: its name in the kernel, and the features that the kernel lacks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.controller import load_controller, named_algorithm
from bentpipe.kernel import machine
from bentpipe.registry import controllers

LONGEST_NAME = 15
"""Characters of an algorithm's name in the kernel (TCP_CA_NAME_MAX without its final zero)."""


@dataclass(frozen=True)
class Choice:
    """A controller to put into the kernel.

    Attributes:
        given: the user's text.
        cc: identifier in the registry, or the name of a class of the user's.
        spec: the argument of `_core.KernelAgent`: the algorithm as in a scenario, or None for a class.
        source: "FILE.py:CLASS" with an absolute path, or None.
        native: the program without an agent.
        name: its name in the kernel.
    """

    given: str
    cc: str
    spec: str | dict[str, Any] | None
    source: str | None
    native: bool
    name: str

    def agent_spec(self) -> Any:
        """The argument of `_core.KernelAgent`: an algorithm as in a scenario, a native program, or the class.

        Raises:
            ScenarioError: the file of the class does not load.
        """
        if self.native:
            return self.cc
        if self.source is None:
            return self.spec
        return load_controller(self.source)


def choose(given: str, sets: Sequence[str] = (), *, native: bool = False) -> Choice:
    """The controller that a user names as `bentpipe run --cc` does, with the parameters of `--set`.

    Args:
        given: `star`, `"vegas alpha=2"` or `my.py:Mine`.
        sets: "PARAMETER=VALUE" each.
        native: the program that needs no agent.

    Raises:
        ScenarioError: there is none, a parameter is wrong, or there is no native program of it.
    """
    made: Any = named_algorithm(" ".join([given, *sets]) if ":" not in given else given)
    if isinstance(made, type):
        if sets:
            raise _core.ScenarioError(f"--set {sets[0]}: {given} is a class of yours; write its values in it")
        if native:
            raise _core.ScenarioError(f"{given}: --native is for algorithms of the registry; leave it out")
        file, _, name = given.rpartition(":")
        return Choice(given, name, None, f"{Path(file).resolve()}:{name}", False, kernel_name(name))
    cc = made if isinstance(made, str) else made["name"]
    if native:
        _check_native(cc, made)
    else:
        _check_parameters(made)
    return Choice(given, cc, made, None, native, kernel_name(cc, native=native))


def kernel_name(cc: str, *, native: bool = False) -> str:
    """The name of an algorithm in the kernel: `bp_star`, or `bpn_star` for the native program."""
    plain = re.sub(r"[^a-z0-9]+", "_", cc.lower()).strip("_")
    return f"{'bpn' if native else 'bp'}_{plain}"[:LONGEST_NAME].rstrip("_")


def kernel_names(cc: str | Mapping[str, Any] | None) -> list[str]:
    """The names that the kernel may have for a controller: our native program, our agent's, its own."""
    if cc is None:
        return []
    name = cc if isinstance(cc, str) else str(cc["name"])
    return [kernel_name(name, native=True), kernel_name(name), name.replace("-", "_")]


def gaps(choice: Choice) -> list[str]:
    """Features of a controller that the kernel cannot support, a sentence each; empty for a user's class."""
    return [] if choice.source is not None else [*_core.kernel_gaps(choice.cc)]


def natives() -> list[str]:
    """Identifiers of the algorithms that have a native program in this build."""
    there = set(machine.support().get("natives", []))
    return [entry["id"] for entry in controllers() if entry["id"] in there]


def offered() -> list[dict[str, Any]]:
    """Attachable controllers: id, label, name (in the kernel), native (that program's name) and gaps."""
    there = set(natives())
    return [
        {
            "id": entry["id"],
            "label": entry["label"],
            "name": kernel_name(entry["id"]),
            "native": kernel_name(entry["id"], native=True) if entry["id"] in there else None,
            "gaps": [*_core.kernel_gaps(entry["id"])],
        }
        for entry in controllers()
    ]


def _check_native(cc: str, made: str | dict[str, Any]) -> None:
    known = natives()
    if cc not in known:
        names = ", ".join(known)
        raise _core.ScenarioError(
            f"{cc} has no native program{f'; there are {names}' if names else ' in this build'}: "
            "leave out --native"
        )
    if not isinstance(made, str) and len(made) > 1:
        raise _core.ScenarioError(
            f"{cc}: a native program has the defaults; leave out --native or the parameters"
        )


def _check_parameters(made: str | dict[str, Any]) -> None:
    """Lets the simulator check the parameters: it has the ranges.

    Raises:
        ScenarioError: one is unknown or out of range.
    """
    link, flow = {"rate": "1 Mbit/s", "delay": "1 ms"}, {"cc": made, "path": ["a"]}
    _core.check(json.dumps({"duration": "1 s", "link": {"a": link}, "flow": [flow]}))

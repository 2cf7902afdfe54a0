"""Routes whose connections use an algorithm: `ip route change ... congctl NAME`, and back."""

from __future__ import annotations

import ipaddress
import os
import subprocess
from dataclasses import dataclass

from bentpipe._core import ScenarioError

_STATES = {"linkdown", "dead", "onlink-dead", "offload", "trap", "rt_offload", "rt_trap", "notify"}
"""State in the output of `ip route show` that `ip route change` does not accept."""


@dataclass(frozen=True)
class RouteChange:
    """One route before and after, as `ip route` writes it.

    Attributes:
        family: "-4" or "-6".
        old: the route as it was.
        new: the same with our algorithm.
        name: the algorithm.
    """

    family: str
    old: list[str]
    new: list[str]
    name: str

    def __str__(self) -> str:
        return " ".join(self.new)


def plan(asked: str, name: str) -> RouteChange:
    """Plans the change of one route; nothing is changed yet.

    Args:
        asked: a route as `ip route show` takes it: "default", "10.0.0.0/8", "default dev eth0"; "lock" at
            the end forbids programs to choose another algorithm.
        name: the kernel's name of the algorithm.

    Raises:
        ScenarioError: there is no such route, or there are several.
    """
    words = asked.split()
    lock = words[-1:] == ["lock"]
    words = words[:-1] if lock else words
    if not words:
        raise ScenarioError("--congctl: write a route, for example default, or 10.0.0.0/8")
    family = "-6" if ":" in words[0] or words[0] == "-6" else "-4"
    words = [word for word in words if word not in ("-4", "-6")]
    first, *rest = words or ["default"]
    destination = _destination(first, asked)
    table = _table(rest)
    # Not filtered by ip, which then omits the filtered fields from its answer.
    said = _ip([family, "route", "show", *table])
    if said.returncode != 0:
        raise ScenarioError(f"--congctl {asked}: {_reason(said)}")
    wanted = list(zip(rest[::2], rest[1::2], strict=False))
    lines = [line.split() for line in said.stdout.splitlines()]
    found = [
        line
        for line in lines
        if line[:1] == [destination]
        if all(pair in zip(line, line[1:], strict=False) for pair in wanted if pair[0] != "table")
    ]
    if len(found) != 1:
        here = (
            "there is no such route"
            if not found
            else f"there are {len(found)} such routes; add via, dev or metric"
        )
        raise ScenarioError(f"--congctl {asked}: {here} (ip {family} route show)")
    after = lines[lines.index(found[0]) + 1 :]
    if after and after[0][:1] == ["nexthop"]:
        raise ScenarioError(f"--congctl {asked}: a route with several next hops is not supported")
    old = [*clean(found[0]), *table]
    return RouteChange(family, old, [*without(old), "congctl", *["lock"] * lock, name], name)


def _destination(word: str, asked: str) -> str:
    """A destination as `ip route show` writes it."""
    if word == "default":
        return word
    try:
        network = ipaddress.ip_network(word)
    except ValueError as error:
        raise ScenarioError(f"--congctl {asked}: {error}; write for example default, or 10.0.0.0/8") from None
    if network.prefixlen == 0:
        return "default"
    return str(network.network_address) if network.prefixlen == network.max_prefixlen else str(network)


def clean(words: list[str]) -> list[str]:
    """A route as `ip route change` takes it, from the output of `ip route show`."""
    pairs = zip(["", *words], words, strict=False)
    return [word for before, word in pairs if word not in _STATES and "expires" not in (before, word)]


def without(words: list[str]) -> list[str]:
    """A route without the algorithm that it names."""
    if "congctl" not in words:
        return words
    at = words.index("congctl")
    return words[:at] + words[at + (3 if words[at + 1 : at + 2] == ["lock"] else 2) :]


def apply(change: RouteChange) -> None:
    """Changes the route.

    Raises:
        OSError: the kernel refuses.
    """
    said = _ip([change.family, "route", "change", *change.new])
    if said.returncode != 0:
        raise OSError(f"ip route change {change}: {_reason(said)}")


def choose_everywhere(name: str) -> None:
    """Has all routes of the network namespace of this thread use an algorithm, except IPv6's link-local ones.

    Those are alike on all devices, and a change of one replaces another's.

    Raises:
        OSError: the kernel refuses.
    """
    for family in ("-4", "-6"):
        for line in _ip([family, "route", "show"]).stdout.splitlines():
            old = clean(line.split())
            if not old[0].startswith("fe80:"):
                apply(RouteChange(family, old, [*without(old), "congctl", name], name))


def undo(change: RouteChange) -> str | None:
    """Changes the route back if it still has our algorithm; returns the obstacle, if there is one."""
    table = _table(change.old)
    lines = _ip([change.family, "route", "show", *table]).stdout.splitlines()
    ours = [line.split() for line in lines if f" {change.name} " in f"{line} " and " congctl " in line]
    if not any([*without(clean(words)), *table] == without(change.old) for words in ours):
        return f"route {' '.join(change.old)}: it is not as it was left, so it stays as it is"
    said = _ip([change.family, "route", "change", *change.old])
    return None if said.returncode == 0 else f"route {' '.join(change.old)}: {_reason(said)}"


def namespace() -> int:
    """The inode of the network namespace of this process."""
    return os.stat("/proc/self/ns/net").st_ino


def _table(words: list[str]) -> list[str]:
    """The words that name the table of a route, which `ip route show` leaves out."""
    at = words.index("table") if "table" in words else len(words)
    return words[at : at + 2]


def _ip(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["ip", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise ScenarioError("changing routes takes the program ip: apt install iproute2") from None


def _reason(said: subprocess.CompletedProcess[str]) -> str:
    return " ".join((said.stderr or said.stdout).split()) or f"ip ended with status {said.returncode}"

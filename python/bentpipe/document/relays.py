"""The relay of a flow as given by options: none, or its place and its algorithm (RFC 3135)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bentpipe import _core
from bentpipe.registry import controllers

BUFFER = "4 MB"
"""A relay's buffer, by default: some six bandwidth-delay products of 10 Mbit/s and 500 ms."""
GATEWAY = "gateway"
"""The place between the two links of a path, as the simulator calls it."""
NONE = "none"
"""The word for no relay."""
_KEYS = ("buffer", "cc")
_EXAMPLE = '"none", "hybla", or "gateway, buffer=8 MB, cc=hybla"'


def relay_of(
    text: str,
    own: Mapping[str, Any] | None = None,
    path: Sequence[str] = (),
    *,
    option: str = "--relay",
) -> dict[str, Any] | None:
    """The relay of `--relay`: keys of a flow's `relay`; None for "none".

    "gateway, buffer=8 MB, cc=hybla" is a place, and changed keys. Without `cc` both halves have the
    algorithm of the flow. "hybla" is the algorithm of the second half, at the place and with the buffer of
    the flow's own relay, or at the gateway if it has none.

    Args:
        text: the user's text.
        own: the relay of the flow in the scenario.
        path: the directions that the flow crosses; a name of theirs is a place.
        option: what messages call the text.

    Raises:
        ScenarioError: the text is none of these.
    """
    head, *rest = (part.strip() for part in text.split(","))
    given = {key.strip(): value.strip() for key, _, value in (part.partition("=") for part in rest)}
    if head == NONE and not given:
        return None
    wrong = head in ("", NONE) or re.match(r"\w*\s*=", head)
    if wrong or not all(given.values()) or set(given) - set(_KEYS):
        raise _core.ScenarioError(f"{option} {text}".rstrip() + f": write {_EXAMPLE}")
    if path and not _is_place(head, path) and not _is_algorithm(head):
        places = [GATEWAY, *map(plain_name, path[:-1])]
        near = _core.nearest(head, [*places, *(entry["id"] for entry in controllers())])
        more = f"did you mean {' or '.join(near)}?" if near else "bentpipe cc list has the algorithms"
        raise _core.ScenarioError(
            f"{option}: {head!r} is no algorithm and no place of this path, whose places are "
            f"{' and '.join(places)}; {more}"
        )
    if len(path) == 1:
        raise _core.ScenarioError(
            f"{option}: a path of one link has no place for a relay; "
            "`bentpipe scenario show geo-pep` is a path of two"
        )
    if _is_place(head, path) or not _is_algorithm(head):
        return {"at": head, "buffer": BUFFER, **given}
    if "cc" in given:
        raise _core.ScenarioError(f"{option} {text}: {head} and {given['cc']} are two algorithms; write one")
    return {"at": GATEWAY, "buffer": BUFFER, **(own or {}), **given, "cc": head}


def listed(text: str) -> list[str]:
    """The relays of a list with commas between: "none, hybla, gateway, buffer=8 MB, cc=bbr" are three."""
    found: list[str] = []
    for part in text.split(","):
        if found and part.partition("=")[0].strip() in _KEYS:
            found[-1] += f",{part}"
        else:
            found.append(part.strip())
    return found


def place_on(path: Sequence[str], at: str) -> int:
    """The direction of a path behind which an existing relay is placed."""
    plain = [plain_name(name) for name in path]
    return 0 if at == GATEWAY and GATEWAY not in plain else plain.index(plain_name(at))


def plain_name(direction: str) -> str:
    """The name of the link of a direction."""
    return direction.removesuffix("/forward").removesuffix("/reverse")


def _is_place(head: str, path: Sequence[str]) -> bool:
    return plain_name(head) in (GATEWAY, *map(plain_name, path))


def _is_algorithm(head: str) -> bool:
    return head.split()[0].lower() in (entry["id"] for entry in controllers())

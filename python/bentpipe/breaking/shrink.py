"""Shrinks a link to the fewest differences from a plain one, by delta debugging.

A difference is taken away if the failure stays without it, until none can be taken away alone (1-minimal: A.
Zeller and R. Hildebrandt, Simplifying and Isolating Failure-Inducing Input, IEEE Transactions on Software
Engineering 28(2), 2002). Then the run is made shorter, and numbers are rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from bentpipe.breaking.conditions import Change, Conditions, rounded

T = TypeVar("T", Conditions, Change)
Stays = Callable[[Sequence[Conditions]], list[bool]]
"""For each of some links, whether the failure stays there."""
_SHORTEST_S = 5.0
"""No run is made shorter than this."""
_NUMBERS = (
    "rate_bps", "rtt_s", "buffer_bdp", "loss_rate", "burst", "ack_loss_rate", "jitter_s", "outage_s",
    "outage_every_s", "cross_share", "cross_on_s", "cross_off_s", "offset_s", "late_s",
)  # fmt: skip


def shrink(found: Conditions, stays: Stays, tell: Callable[[str], None], *, pulses: int = 0) -> Conditions:
    """A link with fewer and rounder differences from a plain one, on which the failure stays.

    Args:
        found: the link.
        stays: whether the failure stays on other links; on this one it does.
        tell: called with the current work.
        pulses: pulses of unresponsive traffic that a run must have.
    """

    def holds(links: Sequence[Conditions]) -> list[bool]:
        """As given, where a run has its pulses."""
        there = [pulses * (on.cross_on_s + on.cross_off_s) <= on.duration_s for on in links]
        answers = iter(stays([on for on, enough in zip(links, there, strict=True) if enough]))
        return [enough and next(answers) for enough in there]

    while True:
        tell(f"shrinking: {len(list(_simpler(found)))} differences")
        simpler = _first(_simpler(found), holds)
        if simpler is None:
            break
        found = simpler
    tell("shrinking: a shorter run")
    while found.duration_s / 2 >= _SHORTEST_S:
        half = _shorter(found, rounded(found.duration_s / 2, 2))
        if half is None or not holds([half])[0]:
            break
        found = half
    return _rounded(found.tidy(), holds, tell)


def _first(links: Iterator[Conditions], stays: Stays) -> Conditions | None:
    """The first of these links on which the failure stays. All are tried at once."""
    tried = list(links)
    return next((link for link, holds in zip(tried, stays(tried), strict=True) if holds), None)


def _simpler(found: Conditions) -> Iterator[Conditions]:
    """The links with one difference less, those with the greatest effect first."""
    plain = Conditions(found.duration_s)
    if len(found.changes) > 1:
        yield replace(found, changes=())
    for i in range(len(found.changes)):
        yield replace(found, changes=(*found.changes[:i], *found.changes[i + 1 :]))
    without = [name for name in found.unlike_plain() if name not in _BASE and name != "changes"]
    for name in (*without, *(name for name in _BASE if name in found.unlike_plain())):
        if name == "cross_off_s":
            continue  # without pauses there is more of it, not less
        yield _set(found, name, getattr(plain, name))


_BASE = ("outage_every_s", "cross_on_s", "burst", "jitter_all", "buffer_bdp", "rtt_s", "rate_bps")
"""Fields that say how large something is, which are set to those of a plain link last."""


def _shorter(found: Conditions, duration_s: float) -> Conditions | None:
    """The same in half of the time; None if a change would be at or behind its end."""
    if any(change.at_s >= duration_s for change in found.changes) or found.late_s >= duration_s / 2:
        return None
    return replace(found, duration_s=duration_s)


def _rounded(found: Conditions, stays: Stays, tell: Callable[[str], None]) -> Conditions:
    """Each number with as few digits as the failure allows."""
    tell("shrinking: rounder numbers")
    names = [f.name for f in fields(found) if f.name in _NUMBERS and f.name in found.unlike_plain()]
    for name in names:
        found = _first(
            (_set(found, name, rounded(getattr(found, name), digits)) for digits in (1, 2, 3)), stays
        ) or found  # fmt: skip
    for i, change in enumerate(found.changes):
        for key in ("at_s", "value"):
            now = found.changes[i]
            others = (_set(now, key, rounded(getattr(change, key), digits)) for digits in (1, 2, 3))
            found = _first((_with(found, i, other) for other in others), stays) or found
    return found


def _set(found: T, name: str, value: Any) -> T:
    """The link, or the change, with another value of a field."""
    return replace(found, **{name: value})


def _with(found: Conditions, i: int, change: Change) -> Conditions:
    """The link with another change in this place."""
    return replace(found, changes=(*found.changes[:i], change, *found.changes[i + 1 :]))

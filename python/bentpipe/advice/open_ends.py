"""The open ends of the measurement behind a link that is drawn: each run takes another value of them.

The ranges are those of the profile (timeline.drawn.PROFILES; docs/starlink.md, "The model").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bentpipe.document.plain import to_plain
from bentpipe.document.spans import radical_inverse
from bentpipe.models import DropTail, GilbertElliott
from bentpipe.timeline.drawn import constants
from bentpipe.timeline.drawn import is_drawn as line_is_drawn
from bentpipe.units import short

if TYPE_CHECKING:
    from bentpipe.models import Link


def is_drawn(link: Link) -> bool:
    """Whether a direction of the link is drawn for each run."""
    return bool(line_is_drawn(link.timeline) or line_is_drawn((link.reverse or {}).get("timeline")))


def has_large_buffer(n: int) -> bool:
    """Whether run `n` has the large buffer and the small share; the other half of the runs has neither."""
    return radical_inverse(n + 1, 2) >= 0.5


def vary(link: Link, n: int, *, buffer: bool, loss: bool) -> None:
    """Gives the drawn directions of a link the values of run `n`, instead of those of its file.

    Args:
        link: the link; it is changed.
        n: number of the run.
        buffer: vary the buffer and the share of the rate, where the queue is drop-tail and the recipe has
            no share.
        loss: vary the losses.
    """
    if line_is_drawn(link.timeline):
        own = {"timeline": link.timeline, "queue": link.queue}
        for key, value in _values(own, n, buffer=buffer, loss=loss):
            setattr(link, key, value)
    back = dict(link.reverse or {})
    if line_is_drawn(back.get("timeline")):
        back.update(_values({"queue": link.queue, **back}, n, buffer=buffer, loss=loss))
        link.reverse = back


def _values(own: Mapping[str, Any], n: int, *, buffer: bool, loss: bool) -> Iterator[tuple[str, Any]]:
    """The keys of one direction that run `n` changes."""
    recipe = own["timeline"]
    known, down = constants(recipe), recipe.get("direction", "down") == "down"
    queue = to_plain(own["queue"]) or {"kind": "drop-tail"}
    if buffer and down and "share" not in recipe and queue["kind"] == "drop-tail":
        large = has_large_buffer(n)
        bdp = known.buffer_bdp.high if large else known.buffer_bdp.low
        yield "timeline", {**recipe, "share": known.share.low if large else known.share.high}
        yield "queue", DropTail(f"{bdp:g} bdp")
    if loss:
        events = known.loss_down if down else known.loss_up
        packets = known.loss_down_packets if down else known.loss_up_packets
        p = events.low * (events.high / events.low) ** radical_inverse(n + 1, 3)
        yield "loss", [GilbertElliott(p=float(f"{p:.3g}"), r=1 / packets.value)]


def notes(name: str, link: Link, *, buffer: bool, loss: bool) -> list[str]:
    """What is said of a drawn link: which values the runs take, and what nobody measured."""
    recipe = link.timeline if line_is_drawn(link.timeline) else (link.reverse or {})["timeline"]
    assert isinstance(recipe, Mapping)
    known = constants(recipe)
    ends = []
    if buffer:
        ends.append(
            f"the buffer and the share of the rate ({known.buffer_bdp.low:g} BDP and all, or "
            f"{known.buffer_bdp.high:g} BDP and {100 * known.share.low:.0f} %)"
        )
    if loss:
        down, up = (
            f"{short(events.low, 2, powers_below=1)} to {short(events.high, 2, powers_below=1)}"
            for events in (known.loss_down, known.loss_up)
        )
        ends.append(f"loss events per packet ({down} down, {up} up)")
    said = [
        f"{name} is drawn anew for each seed from the model {recipe['generator']} "
        f"({recipe.get('profile', 'car-2024')}): {known.measured}."
    ]
    if ends:
        said.append(
            f"The measurement leaves open {' and '.join(ends)}. Each seed has another point of these, the "
            "same for all algorithms, and the file's own values are not used."
        )
    said.append(
        "Not known: a dish that stays in its place, other years, the queue's discipline, and CUBIC over "
        "this downlink, which was measured with BBR alone (docs/starlink.md)."
    )
    return said

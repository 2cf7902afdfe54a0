"""What makes an algorithm fast and reckless: it takes what it has from others, or from the link itself.

Each threshold is a number of ours, chosen so that CUBIC, Reno and their like stay far below it.
docs/advise.md gives the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bentpipe.advice.question import Question
from bentpipe.advice.trials import Trials

LOSS_TIMES = 3.0
"""Own losses count as reckless from so many times those of CUBIC on, on the same link and seeds ..."""
LOSS_LEAST = 0.02
"""... and from this share of the packets sent on, which is where BBRv3 stops probing (its LossThresh)."""
HARM_MOST = 0.5
"""The most that a CUBIC flow may lose against what it has beside another CUBIC flow, if the one beside it
then has more than it: one that leaves the link to nobody takes nothing."""
HARM_LEAST_SHARE = 0.05
"""A rival that has less than this share of the link beside its own kind cannot use it: nothing is taken."""
QUEUE_TIMES = 2.0
"""A median queueing delay of so many times that of CUBIC is a standing queue ..."""
QUEUE_LEAST_S = 0.05
"""... if it is at least this long. Conversation suffers from less (ITU-T G.114 allows 150 ms in all)."""


@dataclass(frozen=True)
class Flag:
    """One reason not to recommend an algorithm: what kind, and one clause with the numbers."""

    kind: str
    text: str


def flags(one: Trials, all_trials: Mapping[str, Trials], *, shared: bool, endless: bool = True) -> list[Flag]:
    """Why this algorithm is reckless on the link, or nothing.

    Args:
        one: what was measured of it, with the harm that it does.
        all_trials: of all algorithms by id; CUBIC's is what it is held against.
        shared: do flows of others use the link? If not, harm to CUBIC is no reason.
        endless: do the flows have data all the time? If not, there is start-up alone, and what it drops and
            queues does not stay.
    """
    cubic = all_trials["cubic"]
    found = []
    lost, usual = one.mean("own_loss"), cubic.mean("own_loss")
    if endless and lost >= LOSS_LEAST and lost > LOSS_TIMES * usual:
        found.append(
            Flag("loss", f"it drops {_percent(lost)} of its packets at the queue, CUBIC {_percent(usual)}")
        )
    damage = one.mean("harm_cubic")
    takes = one.mean("beside_cubic_bps") > one.mean("cubic_bps")
    room = cubic.mean("cubic_bps") >= HARM_LEAST_SHARE * max(
        (t.mean("goodput_bps") for t in all_trials.values()), default=math.nan
    )
    if shared and room and takes and damage > HARM_MOST:
        found.append(Flag("harm", f"a CUBIC flow beside it loses {_percent(damage)} of its goodput"))
    waits, cubic_waits = one.mean("queue_p50_s"), cubic.mean("queue_p50_s")
    if endless and waits >= QUEUE_LEAST_S and waits > QUEUE_TIMES * cubic_waits:
        found.append(
            Flag(
                "queue",
                f"half of its packets wait {1e3 * waits:.0f} ms or more, CUBIC's {1e3 * cubic_waits:.0f}",
            )
        )
    return found


def all_flags(trials: Mapping[str, Trials], question: Question) -> dict[str, list[Flag]]:
    """Those that are reckless, by id, with the reasons; nobody before CUBIC, the measure, was run."""
    if "cubic" not in trials:
        return {}
    shared, endless = question.shared, question.endless
    found = {name: flags(one, trials, shared=shared, endless=endless) for name, one in trials.items()}
    return {name: some for name, some in found.items() if some}


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.095 else f"{100 * share:.0f} %"

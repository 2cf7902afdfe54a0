"""Rules that flag an algorithm as fast and reckless: its speed comes at the expense of others or of the link.

The thresholds are our own choice, set so that CUBIC, Reno and their like stay far below it. docs/advise.md
gives the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bentpipe.advice.question import Question
from bentpipe.advice.trials import Trials

LOSS_TIMES = 3.0
"""Own losses count as reckless from this multiple of CUBIC's, on the same link and seeds ..."""
LOSS_LEAST = 0.02
"""... and from this share of the packets sent on, which is where BBRv3 stops probing (its LossThresh)."""
HARM_MOST = 0.5
"""The greatest loss allowed to a CUBIC flow against its share beside another CUBIC flow, if the flow beside
it then has more than it: a flow that leaves capacity unused takes nothing from others."""
HARM_LEAST_SHARE = 0.05
"""A rival that has less than this share of the link beside its own kind cannot use it: nothing is taken."""
QUEUE_TIMES = 2.0
"""A median queueing delay of this multiple of CUBIC's is a standing queue ..."""
QUEUE_LEAST_S = 0.05
"""... if it is at least this long. Conversation suffers from less (ITU-T G.114 allows 150 ms in all)."""


@dataclass(frozen=True)
class Flag:
    """One reason not to recommend an algorithm: its kind, and one clause with the numbers."""

    kind: str
    text: str


def flags(one: Trials, all_trials: Mapping[str, Trials], *, shared: bool, endless: bool = True) -> list[Flag]:
    """The reasons why this algorithm is reckless on the link; empty if it is not.

    Args:
        one: its measurements, with the harm that it does.
        all_trials: of all algorithms by id; CUBIC's are the reference.
        shared: whether flows of others use the link. If not, harm to CUBIC is no reason.
        endless: whether the flows have data all the time. If not, there is start-up alone, and its drops and
            queues do not last.
    """
    cubic = all_trials["cubic"]
    ours, theirs = _means(one), _means(cubic)
    found = []
    if endless and _drops(ours, theirs):
        lost, usual = _percent(ours["own_loss"]), _percent(theirs["own_loss"])
        found.append(Flag("loss", f"it drops {lost} of its packets at the queue, CUBIC {usual}"))
    room = cubic.mean("cubic_bps") >= HARM_LEAST_SHARE * max(
        (t.mean("goodput_bps") for t in all_trials.values()), default=math.nan
    )
    if shared and room and _harms(ours):
        harm = _percent(ours["harm_cubic"])
        found.append(Flag("harm", f"a CUBIC flow beside it loses {harm} of its goodput"))
    if endless and _waits(ours, theirs):
        waits, usual = (f"{1e3 * values['queue_p50_s']:.0f}" for values in (ours, theirs))
        found.append(Flag("queue", f"half of its packets wait {waits} ms or more, CUBIC's {usual}"))
    return found


def reckless_runs(one: Trials, cubic: Trials, *, shared: bool, endless: bool) -> tuple[list[bool], float]:
    """Reckless runs of role "alone", and the share of reckless runs beside CUBIC; NaN if it has none.

    The runs may be over different links.
    """
    pairs = zip(_by_run(one, "own_loss"), _by_run(cubic, "own_loss"), strict=False)
    alone = [endless and (_drops(*pair) or _waits(*pair)) for pair in pairs]
    if not shared:
        return alone, 0.0
    beside = [_harms(ours) for ours in _by_run(one, "harm_cubic")]
    return alone, sum(beside) / len(beside) if beside else math.nan


_Values = Mapping[str, float]
_NAMES = ("own_loss", "harm_cubic", "beside_cubic_bps", "cubic_bps", "queue_p50_s")


def _means(one: Trials) -> _Values:
    return {name: one.mean(name) for name in _NAMES}


def _by_run(one: Trials, name: str) -> list[_Values]:
    """The values of each run that has this quantity; NaN for others that it lacks."""
    rows = {other: one.values.get(other, []) for other in _NAMES}
    return [
        {other: values[n] if n < len(values) else math.nan for other, values in rows.items()}
        for n in range(len(rows[name]))
    ]


def _drops(own: _Values, cubic: _Values) -> bool:
    return own["own_loss"] >= LOSS_LEAST and own["own_loss"] > LOSS_TIMES * cubic["own_loss"]


def _harms(own: _Values) -> bool:
    return own["harm_cubic"] > HARM_MOST and own["beside_cubic_bps"] > own["cubic_bps"]


def _waits(own: _Values, cubic: _Values) -> bool:
    return own["queue_p50_s"] >= QUEUE_LEAST_S and own["queue_p50_s"] > QUEUE_TIMES * cubic["queue_p50_s"]


def all_flags(trials: Mapping[str, Trials], question: Question) -> dict[str, list[Flag]]:
    """The reckless algorithms by id, with the reasons; empty before CUBIC, the reference, has run."""
    if "cubic" not in trials:
        return {}
    shared, endless = question.shared, question.endless
    found = {name: flags(one, trials, shared=shared, endless=endless) for name, one in trials.items()}
    return {name: some for name, some in found.items() if some}


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.095 else f"{100 * share:.0f} %"

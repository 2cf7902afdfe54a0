"""Rules that flag an algorithm as fast and reckless: its speed comes at the expense of others or of the link.

The thresholds are our own choice, set so that CUBIC, Reno and their like stay far below it. docs/advise.md
gives the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from statistics import NormalDist

from bentpipe.advice.question import Question
from bentpipe.advice.trials import Trials
from bentpipe.stats.sample import standard_error
from bentpipe.units import in_percent

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


LATER = " after start-up"
"""The window of drops and queues: the losses of a whole run are another number."""
RISK = 1 / 3
"""Over measured links an algorithm is flagged if it is reckless with more than this probability: it
breaks a rule on this share of the possible links, or the mean over them and its error make it as likely."""
_DOUBT = NormalDist().inv_cdf(1 - RISK)


@dataclass(frozen=True)
class Flag:
    """One reason not to recommend an algorithm: its kind, a clause with the numbers, and the bound."""

    kind: str
    text: str
    bound: str = ""

    def __str__(self) -> str:
        return f"{self.text}{f'; the bound is {self.bound}' if self.bound else ''}"


def flags(
    one: Trials, all_trials: Mapping[str, Trials], *, shared: bool, endless: bool = True, drawn: bool = False
) -> list[Flag]:
    """The reasons why this algorithm is reckless on the link; empty if it is not.

    Args:
        one: its measurements, with the harm that it does.
        all_trials: of all algorithms by id; CUBIC's are the reference.
        shared: whether flows of others use the link. If not, harm to CUBIC is no reason.
        endless: whether the flows have data all the time. If not, there is start-up alone, and its drops and
            queues do not last.
        drawn: whether each run is over another of the links that are possible after measurements.
    """
    cubic = all_trials["cubic"]
    ours, theirs = _means(one), _means(cubic)
    often = _often(one, cubic) if drawn else ""
    found = []
    if endless and (_drops(ours, theirs) or often == "own_loss"):
        lost, usual = _percent(ours["own_loss"]), _percent(theirs["own_loss"])
        text = f"it drops {lost} of its packets at the queue{LATER}, CUBIC {usual}"
        found.append(Flag("loss", text, _percent(max(LOSS_LEAST, LOSS_TIMES * theirs["own_loss"]))))
    room = cubic.mean("cubic_bps") >= HARM_LEAST_SHARE * max(
        (t.mean("goodput_bps") for t in all_trials.values()), default=math.nan
    )
    doubt = _DOUBT * _error(one.of("harm_cubic")) if drawn else 0.0
    if shared and room and _harms(ours, doubt):
        harm = _percent(ours["harm_cubic"])
        more = "" if _harms(ours, 0.0) else ", perhaps more than half"
        text = f"a CUBIC flow beside it loses {harm} of its goodput{more}"
        found.append(Flag("harm", text, _percent(HARM_MOST)))
    if endless and (_waits(ours, theirs) or often == "queue_p50_s"):
        waits, usual = (f"{1e3 * values['queue_p50_s']:.0f}" for values in (ours, theirs))
        text = f"half of its packets wait {waits} ms or more, CUBIC's {usual}"
        most_s = max(QUEUE_LEAST_S, QUEUE_TIMES * theirs["queue_p50_s"])
        found.append(Flag("queue", text, f"{1e3 * most_s:.0f} ms"))
    return found


_Values = Mapping[str, float]
_NAMES = ("own_loss", "harm_cubic", "beside_cubic_bps", "cubic_bps", "queue_p50_s")


def _means(one: Trials) -> _Values:
    return {name: one.mean(name) for name in _NAMES}


def _error(values: list[float]) -> float:
    """The standard error of a mean; 0 for one value, whose error is not known."""
    return standard_error(values) if len(values) > 1 else 0.0


def _often(one: Trials, cubic: Trials) -> str:
    """The quantity whose rule it breaks most often, if more than `RISK` of the runs break any; else ""."""
    rules = {"own_loss": _drops, "queue_p50_s": _waits}
    broken = {
        name: [
            rule({name: mine}, {name: usual})
            for mine, usual in zip(one.values.get(name, []), cubic.values.get(name, []), strict=False)
        ]
        for name, rule in rules.items()
    }
    runs = [any(some) for some in zip_longest(*broken.values())]
    if sum(runs) <= RISK * len(runs):
        return ""
    return max(broken, key=lambda name: sum(broken[name]))


def _drops(own: _Values, cubic: _Values) -> bool:
    return own["own_loss"] >= LOSS_LEAST and own["own_loss"] > LOSS_TIMES * cubic["own_loss"]


def _harms(own: _Values, doubt: float) -> bool:
    return own["harm_cubic"] + doubt > HARM_MOST and own["beside_cubic_bps"] > own["cubic_bps"]


def _waits(own: _Values, cubic: _Values) -> bool:
    return own["queue_p50_s"] >= QUEUE_LEAST_S and own["queue_p50_s"] > QUEUE_TIMES * cubic["queue_p50_s"]


def all_flags(trials: Mapping[str, Trials], question: Question) -> dict[str, list[Flag]]:
    """The reckless algorithms by id, with the reasons; empty before CUBIC, the reference, has run."""
    if "cubic" not in trials:
        return {}
    asked = {"shared": question.shared, "endless": question.endless, "drawn": bool(question.draws)}
    found = {name: flags(one, trials, **asked) for name, one in trials.items()}
    return {name: some for name, some in found.items() if some}


def _percent(share: float) -> str:
    return in_percent(share, ".1f" if share < 0.095 else ".0f")

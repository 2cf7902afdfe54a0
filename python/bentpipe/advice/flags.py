"""What makes an algorithm fast and reckless: it takes what it has from others, or from the link itself.

Each threshold is a number of ours, chosen so that CUBIC, Reno and their like stay far below it.
docs/advise.md gives the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
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
MANY = 0.25
"""An algorithm that is reckless on more than this share of the links that measurements leave possible is not
recommended: the one that is there may well be among them."""


@dataclass(frozen=True)
class Flag:
    """One reason not to recommend an algorithm: what kind, and one clause with the numbers."""

    kind: str
    text: str


Values = Mapping[str, float]
"""Quantities of `Trials`: their means over all runs, or those of one run."""


def flags(
    one: Trials,
    all_trials: Mapping[str, Trials],
    *,
    shared: bool,
    endless: bool = True,
    several: bool = False,
) -> list[Flag]:
    """Why this algorithm is reckless on the link, or nothing.

    Args:
        one: what was measured of it, with the harm that it does.
        all_trials: of all algorithms by id; CUBIC's is what it is held against.
        shared: do flows of others use the link? If not, harm to CUBIC is no reason.
        endless: do the flows have data all the time? If not, there is start-up alone, and what it drops and
            queues does not stay.
        several: is each run over another link that measurements leave possible? Then it is reckless if it is
            so on more than `MANY` of them; else by the means of all runs.
    """
    cubic = all_trials["cubic"]
    most = max((t.mean("goodput_bps") for t in all_trials.values()), default=math.nan)
    room = cubic.mean("cubic_bps") >= HARM_LEAST_SHARE * most
    pairs = _by_run(one, cubic) if several else [(_means(one), _means(cubic))]
    found = []
    if endless and (some := _often(pairs, _drops, "own_loss")):
        lost, usual = (_percent(value) for value in some)
        found.append(Flag("loss", f"it drops {lost} of its packets at the queue, CUBIC {usual}"))
    if shared and room and (some := _often(pairs, _harms, "harm_cubic")):
        found.append(Flag("harm", f"a CUBIC flow beside it loses {_percent(some[0])} of its goodput"))
    if endless and (some := _often(pairs, _waits, "queue_p50_s")):
        ours, theirs = (f"{1e3 * value:.0f}" for value in some)
        found.append(Flag("queue", f"half of its packets wait {ours} ms or more, CUBIC's {theirs}"))
    return found


def _drops(own: Values, cubic: Values) -> bool:
    return own["own_loss"] >= LOSS_LEAST and own["own_loss"] > LOSS_TIMES * cubic["own_loss"]


def _harms(own: Values, cubic: Values) -> bool:
    return own["harm_cubic"] > HARM_MOST and own["beside_cubic_bps"] > own["cubic_bps"]


def _waits(own: Values, cubic: Values) -> bool:
    return own["queue_p50_s"] >= QUEUE_LEAST_S and own["queue_p50_s"] > QUEUE_TIMES * cubic["queue_p50_s"]


_NEEDED = ("own_loss", "harm_cubic", "beside_cubic_bps", "cubic_bps", "queue_p50_s")


def _means(one: Trials) -> Values:
    return {name: one.mean(name) for name in _NEEDED}


def _by_run(one: Trials, cubic: Trials) -> list[tuple[Values, Values]]:
    """The values of each run and those of CUBIC over the same link; NaN where there is none."""

    def of(some: Trials, n: int) -> Values:
        rows = {name: some.values.get(name, []) for name in _NEEDED}
        return {name: values[n] if n < len(values) else math.nan for name, values in rows.items()}

    runs = min(len(some.values.get("own_loss", [])) for some in (one, cubic))
    return [(of(one, n), of(cubic, n)) for n in range(runs)]


def _often(
    pairs: Sequence[tuple[Values, Values]], reckless: Callable[[Values, Values], bool], name: str
) -> tuple[float, float] | None:
    """The quantity's means, its own and CUBIC's, where it is reckless; None if that is not often enough."""
    known = [pair for pair in pairs if not math.isnan(pair[0][name])]
    some = [pair for pair in known if reckless(*pair)]
    if len(some) <= MANY * len(known):
        return None
    own, cubic = (math.fsum(pair[i][name] for pair in some) / len(some) for i in (0, 1))
    return own, cubic


def all_flags(trials: Mapping[str, Trials], question: Question) -> dict[str, list[Flag]]:
    """Those that are reckless, by id, with the reasons; nobody before CUBIC, the measure, was run."""
    if "cubic" not in trials:
        return {}
    shared, endless = question.shared, question.endless
    several = bool(question.draws)
    found = {
        name: flags(one, trials, shared=shared, endless=endless, several=several)
        for name, one in trials.items()
    }
    return {name: some for name, some in found.items() if some}


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.095 else f"{100 * share:.0f} %"

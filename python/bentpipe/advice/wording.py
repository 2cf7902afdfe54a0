"""The advice in sentences, and the assumptions that it rests on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bentpipe.advice import open_ends, standing
from bentpipe.advice.flags import HARM_MOST
from bentpipe.advice.quantities import QUANTITIES
from bentpipe.advice.question import GOALS, Question
from bentpipe.machine import linux
from bentpipe.registry import find
from bentpipe.units import digits

if TYPE_CHECKING:
    from bentpipe.advice.race import Race
    from bentpipe.advice.schedule import Schedule
    from bentpipe.advice.verdict import Advice

_NAMED = 3
"""Ties and reckless algorithms that are named in the sentences; the table has all."""
_FEW = 12
"""With no more algorithms to judge, naming fewer saves little time."""
_STARLINK = (
    "If this is Starlink: this link has neither its outages nor its random loss, and with them the order is "
    "another. Over a measured downlink, with outages and one random loss in 170,000 to 10,000 packets, "
    "simulated CUBIC gets 15 to 55 % of what UDP gets and BBR 58 to 84 % (docs/starlink.md). In the field, "
    "of 14 algorithms of Linux measured at Karlstad (Applied Networking Research Workshop 2025), BBR v1 and "
    "v3 outperform CUBIC. Measure before you change a server."
)
_LIKE_STARLINK = ("starlink", "leo")
_PLAYED = {"buffer": False, "loss": False}
"""Nothing varies over a link of a whole scenario."""


def sentences(advice: Advice) -> list[str]:
    """The sentences: the recommendation, better but unavailable ones, equally good ones, ones to avoid."""
    chosen = advice.recommended
    if advice.silent:
        whom = " for the worse-off of two flows" if advice.question.goal == "fair" else ""
        return [
            f"Nothing can be recommended: in runs of {advice.plan.run_s:g} s nothing arrives after the first "
            f"half{whom}. --for changes the length."
        ]
    if chosen is None:
        none = "Nothing can be recommended: each algorithm takes what it has from others or from the link."
        return [none, *_measured(advice), *_reckless(advice)]
    said = [*_doubts(advice), _use(advice, chosen), *_parts(advice, chosen)]
    said += [standing.sentence(advice.standing)] if advice.standing is not None else []
    said += _cure(advice)
    said += _ends(advice, chosen)
    if advice.question.draws and advice.question.goal == "throughput":
        said.append(_shares(advice, chosen))
    if linux.way(chosen).kind == "attach":
        said += _of_linux(advice)
    said += _measured(advice)
    said += _beyond_reach(advice, chosen)
    ties = [one for one in advice.group_of(chosen) if one != chosen and linux.way(one).had]
    if ties:
        names = _some([_label(advice, one) for one in ties], "and")
        said.append(f"Tied with {_label(advice, chosen)}: {names}.")
    if _relayed(advice.question.link_of(0)[1].relay):
        other = "bentpipe compare with --relay none,cubic,hybla,bbr"
        said.append(f"They send as far as the relay; for what the relay sends with: {other} on this link.")
    said += _reckless(advice)
    return [*said, *(f"Check first: {line}." for line in advice.warnings)]


def keeping(advice: Advice) -> tuple[str, list[str]]:
    """Where the settings of an answer are kept, and the lines of that file; none if Linux has them."""
    lines = advice.sysctl
    buffers = any("mem" in line for line in lines)
    ends = ", at both ends: tcp_rmem counts at the receiver, tcp_wmem at the sender" if buffers else ""
    return f"To keep it, in /etc/sysctl.d/90-satellite.conf{ends}:", lines


def _cure(advice: Advice) -> list[str]:
    """The queue that is worth more than any algorithm, if there is one."""
    cure = advice.cure
    if cure is None or not cure["worth"]:
        return []
    got, usual = (
        digits(bps / 1e6, 3)
        for bps in (cure["goodput_bps"]["centre"], advice.trials["cubic"].mean("goodput_bps"))
    )
    where = " and ".join(cure["directions"])
    return [
        f"Cure the queue of the return link first: acknowledgements wait at {where} behind the data of "
        f"others. With FQ-CoDel there CUBIC has {got} Mbit/s in place of {usual}, and no algorithm has as "
        "much without it."
    ]


def _doubts(advice: Advice) -> list[str]:
    """Why it is not yet known, and what would make it known."""
    if not advice.doubts:
        return []
    more = "--thorough tells more"
    if advice.too_little_time:
        more = "give a longer --budget, or --thorough"
        if advice.asked > _FEW:
            more = f"judge only names that matter (--cc cubic,bbr,hybla), or {more}"
    return [f"Not yet known: {' and '.join(advice.doubts)}; {more}."]


def _parts(advice: Advice, chosen: str) -> list[str]:
    """What all flows together have, flow by flow, if there are several."""
    count, trials = advice.question.connections, advice.trials[chosen]
    if count < 2 or not trials.of("jain"):
        return []
    together = f"{digits(trials.mean('goodput_bps') / 1e6, 3)} Mbit/s are the sum of {count} flows"
    said = f"{together}; Jain's index of their goodputs is {trials.mean('jain'):.2f}"
    if trials.of("first_flow_bps"):
        first = digits(trials.mean("first_flow_bps") / 1e6, 3)
        said += f", and the first, which takes the algorithm, has {first} Mbit/s of it"
    return [f"{said}."]


def _of_linux(advice: Advice) -> list[str]:
    """The best that Linux has, where the recommended one is put into it; and who may be better."""
    plain = advice.recommended_in_linux
    if plain is None:
        return []
    perhaps = advice.doubtful_in_linux
    said = f"Of what Linux itself has, {_label(advice, plain)} is best"
    if not perhaps:
        return [f"{said}: {_got(advice, plain)}."]
    one = perhaps[0]
    better = f"{_label(advice, one)} has {_got(advice, one, of_what=False)}, and {_harm(advice, one)}"
    return [f"{said} so far: {_got(advice, plain)}. {better}."]


def _harm(advice: Advice, one: str) -> str:
    """Its harm with its interval, where that contains the bound."""
    found = QUANTITIES["harm_cubic"].interval(advice.trials[one].of("harm_cubic"))
    ends = (
        ""
        if math.isnan(found.low)
        else f", {100 * found.low:.0f} to {100 * found.high:.0f} % with 95 % confidence"
    )
    return (
        f"it is not known whether a CUBIC flow beside it loses more than {100 * HARM_MOST:.0f} % "
        f"({100 * found.centre:.0f} % in {found.n} runs{ends})"
    )


def _measured(advice: Advice) -> list[str]:
    """What each measured transfer received, what its algorithm gets here, and why it is in or out."""
    received: dict[str, list[float]] = {}
    for cc, bps in advice.question.tests:
        received.setdefault(cc, []).append(bps)
    said = []
    for cc, rates in received.items():
        got = " and ".join(digits(bps / 1e6, 3) for bps in rates)
        transfers = "transfer" if len(rates) == 1 else "transfers"
        if cc not in advice.trials:
            label = find(cc)["label"]
            said.append(
                f"Your {transfers} by {label} received {got} Mbit/s. No time was left to judge {label}."
            )
            continue
        label = _label(advice, cc)
        here = (
            _got(advice, cc)
            if advice.trials[cc].of(GOALS[advice.question.goal].quantity)
            else "nothing known"
        )
        fate = _fate(advice, cc)
        said.append(
            f"Your {transfers} by {label} received {got} Mbit/s. Simulated, {label} has {here}, and {fate}."
        )
    return said


def _fate(advice: Advice, one: str) -> str:
    """Why an algorithm is recommended or not."""
    chosen = advice.recommended
    if one == chosen:
        return "is recommended"
    if one in advice.flagged:
        open_one = one in {*advice.doubtful_in_linux, *advice.perhaps_harmless(chosen, lambda way: way.had)}
        why = _harm(advice, one) if open_one else "; ".join(map(str, advice.flagged[one]))
        return f"is not recommended: {why}"
    if chosen is None:
        return "is not recommended"
    if one in advice.left:
        return f"left the race after {advice.left[one]} seeds, clearly behind the best"
    if one in advice.group_of(chosen):
        return f"is tied with {_label(advice, chosen)}"
    if advice.as_good(one, chosen):
        return f"is as good as {_label(advice, chosen)}"
    return f"is behind {_label(advice, chosen)}"


def _use(advice: Advice, one: str) -> str:
    """The sentence of the recommendation."""
    doubts = bool(advice.doubts)
    if one == "cubic":
        fit = "fit to share a link " if advice.question.shared else ""
        begin = (
            "CUBIC, the default of Linux, is best so far" if doubts else "Keep CUBIC, the default of Linux"
        )
        return f"{begin}: {_got(advice, one)}, and nothing {fit}that can be had is clearly better."
    usual = _got(advice, "cubic", of_what=False)
    rest = ""
    if "cubic" in advice.flagged:
        rest = ", and is reckless"
    elif "cubic" in advice.group_of(one):
        rest = ", which these runs cannot tell apart"
    begin = f"{_label(advice, one)} is best so far" if doubts else f"Use {_label(advice, one)}"
    return f"{begin} ({linux.way(one).text}): {_got(advice, one)}; CUBIC has {usual}{rest}."


def _shares(advice: Advice, chosen: str) -> str:
    """The means by which algorithms are compared over measured links."""
    shares = {one: advice.compared[one].mean("goodput_bps") for one in dict.fromkeys((chosen, "cubic"))}
    got = " and ".join(f"{_label(advice, one)} {100 * share:.0f} %" for one, share in shares.items())
    return f"Average share of the rate over the links that the measurements leave possible: {got}."


def _ends(advice: Advice, chosen: str) -> list[str]:
    """The goodput at both ends of what the measurement behind a drawn link leaves open."""
    question = advice.question
    links = question.link_of(0)[0].links.values()
    if question.whole or not question.opened["buffer"] or not any(map(open_ends.is_drawn, links)):
        return []
    got = []
    for large in (False, True):
        means = []
        for one in dict.fromkeys((chosen, "cubic")):
            every = enumerate(advice.trials[one].values.get("goodput_bps", []))
            at_end = [value for n, value in every if open_ends.has_large_buffer(n) is large]
            if not at_end:
                return []
            means.append(f"{_label(advice, one)} {digits(sum(at_end) / len(at_end) / 1e6, 3)} Mbit/s")
        got.append(" and ".join(means))
    return [
        f"The answer spans both explanations of the measurement: with the small buffer {got[0]}, with the "
        f"large one and a smaller share {got[1]}."
    ]


def _beyond_reach(advice: Advice, chosen: str) -> list[str]:
    """The better algorithms that are not available."""
    best = advice.best
    if best is None or linux.way(best).had or advice.as_good(chosen, best):
        return []
    return [f"{_label(advice, best)} would be better, {_got(advice, best)}, but {linux.way(best).text}."]


def _reckless(advice: Advice) -> list[str]:
    """The fast ones that must not be used, each with its number, its reason and the bound."""
    named = advice.to_avoid[:_NAMED]
    if not named:
        return []
    got = {one: _got(advice, one, of_what=False) for one in named}
    if len(named) == 1:
        one = named[0]
        flag = advice.flagged[one][0]
        return [f"Do not use {_label(advice, one)}, good as it looks: it has {got[one]}, but {flag}."]
    each = [f"{_label(advice, one)} ({got[one]}): {advice.flagged[one][0]}" for one in named]
    more = len(advice.to_avoid) - len(named)
    rest = f" {more} more {'is' if more == 1 else 'are'} in the table." if more else ""
    return [f"Do not use these, good as they look. {'. '.join(each)}.{rest}"]


def _got(advice: Advice, one: str, *, of_what: bool = True) -> str:
    """The quantity of the goal in words: "46.61 ± 0.02 Mbit/s goodput", or without the last word."""
    goal = GOALS[advice.question.goal]
    values = advice.trials[one].of(goal.quantity)
    if not values:
        return "no file was finished"
    head, bracket, rest = goal.measure.shown(values).partition(" (")
    what = f" {goal.words}" if of_what else ""
    return f"{head} {goal.measure.unit}{what}{bracket}{rest}"


def _label(advice: Advice, one: str) -> str:
    return advice.trials[one].candidate.label


def _some(names: list[str], word: str) -> str:
    """A few of the names: "A, B and C", "A, B, C and 5 more"."""
    if len(names) > _NAMED + 1:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    return f"{', '.join(names[:-1])} {word} {names[-1]}" if len(names) > 1 else names[0]


def left_out(race: Race) -> list[str]:
    """The algorithms that left the race, with their numbers of seeds."""
    if not race.left:
        return []
    labels = {one.id: one.label for one in race.asked}
    least, most = min(race.left.values()), max(race.left.values())
    after = f"{least}" if least == most else f"{least} to {most}"
    names = ", ".join(labels[name] for name in race.left)
    return [f"Left the race after {after} seeds, clearly behind the best: {names}."]


def assumptions(question: Question, made: Schedule, rtt_s: float) -> list[str]:
    """The assumptions of the answer."""
    base, model = question.link_of(0)
    said = [*question.notes]
    drawn = {name: link for name, link in base.links.items() if open_ends.is_drawn(link)}
    for name, link in drawn.items():
        said += open_ends.notes(name, link, **(_PLAYED if question.whole else question.opened))
    if not drawn and any(name in question.name.lower() for name in _LIKE_STARLINK):
        said.insert(0, _STARLINK)
    known = [f"{name} {value}" for name, value in question.spans.items() if value.known]
    ranges = [f"{name} {value}" for name, value in question.spans.items() if not value.known]
    said += [f"Taken: {', '.join(known)}."] if known else []
    if ranges:
        said.append(
            f"Taken as a range: {'; '.join(ranges)}. Each seed has another point, the same for all "
            "algorithms, so intervals of means are wide where comparisons seed by seed are not."
        )
    for name, link in base.links.items():
        said += _unsaid(name, link)
    said.append(
        f"The least round-trip time seen is {digits(1e3 * rtt_s)} ms; queueing delay counts from that of "
        "each seed."
    )
    flows = f"{question.flows} flows" if question.flows > 1 else "one flow"
    if question.whole:
        judged = f"all its {question.connections} flows together" if question.connections > 1 else "its flow"
        said.append(
            "The scenario is played as it is; its first flow takes each algorithm. Goodput, delay and losses "
            f"are those of {judged}."
        )
    elif question.endless:
        said.append(f"Goodput is that of {flows} with data to send all the time.")
    else:
        said.append(
            f"Goodput is that of {flows} with the traffic of the scenario, start-up included. "
            "For a link alone (--rate and --rtt) it is that of a long transfer."
        )
    said += _unplayed(question)
    said += _relayed(model.relay)
    lasts = f"A run lasts {made.run_s:g} s of simulated time, {round(made.run_s / rtt_s):,} round trips."
    half = (
        "Goodput, queueing delay and drops at the queue are those of its second half: start-up has a column "
        "of its own. Lost and resent packets are those of the whole run."
    )
    said.append(f"{lasts} {half}" if question.endless else lasts)
    said += _windows(question, made)
    said += [f"Beside them are {count} flows of {cc} all the time." for cc, count in question.competing]
    said.append(
        "Other flows use the link as well, so harm to a CUBIC flow counts."
        if question.shared
        else "No flows of others use the link, so harm to CUBIC and Reno is reported and does not count."
    )
    if model.profile not in (None, "modern"):
        said.append(f"Senders have the profile {model.profile!r}.")
    said.append(
        "Algorithms are simulated by the rules of their papers and RFCs; "
        "a kernel's version of one can differ."
    )
    return said


def _unplayed(question: Question) -> list[str]:
    """The flows of the scenario that are not in the runs."""
    ways = Counter(", ".join(flow.path or ()) for flow in question.unplayed)
    if not ways:
        return []
    counted = "; ".join(f"{count} over {way}" for way, count in ways.items())
    return [
        f"The scenario's other flows are not played ({counted}). --scenario plays them, with the values of "
        "the file."
    ]


def _relayed(relay: Mapping[str, Any] | None) -> list[str]:
    """The algorithm of a relay that has one of its own: the judged algorithm ends there."""
    cc = relay.get("cc") if relay is not None else None
    if cc is None:
        return []
    name = cc["name"] if isinstance(cc, Mapping) else cc
    return [
        f"The relay splits each connection and sends on by {name}. The algorithms here are those of the "
        "server, up to the relay; --relay NAME chooses another for the relay, and --relay none removes it."
    ]


def _windows(question: Question, made: Schedule) -> list[str]:
    """The part of a time line that was played."""
    line_s = question.line_s
    if line_s is None:
        return []
    if line_s <= made.run_s:
        return [f"The time line of {line_s:g} s is played whole."]
    return [
        f"Each seed plays another {made.run_s:g} s of the time line's {line_s:g} s, drawn evenly over it; "
        f'--for "{line_s:g} s" plays it whole.'
    ]


def _unsaid(name: str, link: Any) -> Sequence[str]:
    said = []
    if link.queue is None:
        said.append(f"Nobody gave the buffer of {name}: one bandwidth-delay product, drop-tail.")
    if not link.loss and link.timeline is None:
        said.append(f"Link {name} loses nothing by itself: no error rate was given.")
    return said

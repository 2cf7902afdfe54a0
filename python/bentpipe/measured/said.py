"""Conclusions from the links that are consistent with the measurements, in sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from bentpipe.document.spans import Span
from bentpipe.measured.draws import SAME, Draw, Possible, Weighed
from bentpipe.measured.transfers import SEEKERS
from bentpipe.units import digits

_ENDS = (5, 95)
_CLEARLY = 3.0
_SURE = 0.9
"""A hypothesis of losses with this weight needs no measurement of its own."""
_LOADED = 0.2
"""Other traffic is named if this share of the links has some: more than before anything was measured."""
_NOT_WORTH = math.log(1.2)
"""A quantity that changes a goodput by less is not worth a measurement."""
_CLEAR = 20
"""Probes for each loss that is to be seen: with that many lost, the share is known to a quarter."""
_USUAL_BITS = 12_000
_TRANSFERS = {cc: f"a transfer by iperf3 -C {cc} -t 60 --json from the sender" for cc in ("bbr", "cubic")}
_CAPTURE = "a capture (tcpdump -s 100 -w FILE) at the sender of an upload"


def sentences(found: Possible, given: Mapping[str, Span]) -> list[str]:
    """The links that the transfers ruled out, the range taken, the loss process, and what to measure next."""
    said = [] if found.weighed is None else [_weighed(found.weighed, found.effort)]
    said.append(
        f"Taken are {len(found.draws)} links, as often as they are likely, the same for all algorithms; "
        f"90 % of them have {', '.join(_ranges(found))}."
    )
    said += _hypotheses(found)
    said += _loads(found)
    more = _next(found, given)
    return [*said, f"One more measurement would narrow most {more}."] if more else said


def typical(found: Possible) -> Draw:
    """The link of the likeliest loss hypothesis that is nearest to the middle of all quantities.

    Independent losses, which are the simplest, give way only to a hypothesis that is `_CLEARLY` likelier. It
    has traffic of others if most of the links have.
    """
    shares = {one.name: share for one, share in found.hypotheses.items()}
    if "independent" in shares:
        shares["independent"] *= _CLEARLY
    likeliest = max(shares, key=lambda name: shares[name])
    loaded = loads(found) > 0.5
    alike = [one for one in found.draws if (one.load is not None) is loaded]
    some = [one for one in alike if one.hypothesis == likeliest] or alike
    off = np.zeros(len(some))
    for _, of, _ in _QUANTITIES.values():
        values = np.array([of(one) for one in some])
        off += np.abs(np.log(np.maximum(values, 1e-12)) - np.log(max(float(np.median(values)), 1e-12)))
    return some[int(off.argmin())]


def title(found: Possible, given: Mapping[str, Span]) -> str:
    """A few words for the link, without the user's values: "measured, 47 to 52 Mbit/s, 507 ms"."""
    named = [(name, of) for name, (key, _, of) in _QUANTITIES.items() if key in {"rate", "rtt"} - set(given)]
    parts = [of(*ends(found, name)) for name, of in named]
    return ", ".join(["a measured link", *parts])


def ends(found: Possible, name: str) -> tuple[float, float]:
    """The 5th and 95th percentile of "rate", "round trip", "buffer" or "loss": bit/s, s, bytes, a share."""
    _, of, _ = _QUANTITIES[name]
    low, high = np.percentile([of(one) for one in found.draws], _ENDS)
    return float(low), float(high)


def _weighed(by: Weighed, effort: float) -> str:
    tests = f"transfer{'s' if len(by.tests) > 1 else ''} {', and '.join(map(str, by.tests))}"
    if by.widened is None:
        return (
            f"No link in these ranges explains the {tests}, so it was not used: something else held it "
            "back, such as other traffic, a relay or a small buffer of a host."
        )
    wide = "" if by.widened <= 1 + SAME else f", with tolerances {by.widened:.2g} times as wide as usual"
    if effort < 1 and wide:
        wide += ", for the time had room for no more links; a longer --budget has"
    out = f"{100 * by.ruled_out:.0f} %"
    return (
        f"Of the links that the files leave open, {by.links} were simulated with the measured {tests}: that "
        f"rules out {out}, and the rest is worth {by.effective:.0f} of equal weight{wide}."
    )


def _ranges(found: Possible) -> list[str]:
    shown = [name for name in _QUANTITIES if name != "buffer" or found.draws[0].buffer is not None]
    return [f"{name} {_QUANTITIES[name][2](*ends(found, name))}" for name in shown]


def _hypotheses(found: Possible) -> list[str]:
    """The probability of each loss hypothesis."""
    if len(found.hypotheses) < 2:
        return []
    ranked = sorted(found.hypotheses.items(), key=lambda item: -item[1])
    parts = [f"{one.words}{_together(found, one.name)} by {100 * weight:.0f} %" for one, weight in ranked]
    return [f"Losses are {', '.join(parts)}."]


def loads(found: Possible) -> float:
    """The share of the links that other traffic shares."""
    return sum(one.load is not None for one in found.draws) / len(found.draws)


def _loads(found: Possible) -> list[str]:
    """What other traffic there may have been during the transfers."""
    share = loads(found)
    if share < _LOADED:
        return []
    means = [100 * one.load.mean for one in found.draws if one.load is not None]
    low, high = (f"{end:.0f}" for end in np.percentile(means, _ENDS))
    return [
        f"The rate of the transfers swings: on {100 * share:.0f} % of the links other traffic takes {low} to "
        f"{high} % of the rate, with pauses."
    ]


def _together(found: Possible, name: str) -> str:
    """The length of bursts or fades."""
    known = [one.together for one in found.draws if one.hypothesis == name and one.together is not None]
    if not known:
        return ""
    low, high = (float(end) for end in np.percentile(known, _ENDS))
    unit = "packets" if name == "bursts" else "s"
    return f" ({digits(low, 2)} to {digits(high, 2)} {unit})"


def _next(found: Possible, given: Mapping[str, Span]) -> str:
    """The quantity whose range moves a goodput most, and the command that narrows it."""
    known = {*given, "per"} if "ber" in given else set(given)
    worth = {name: value for name, value in _worth(found).items() if _QUANTITIES[name][0] not in known}
    name = max(worth, key=lambda one: worth[one], default="")
    if not name or worth[name] < _NOT_WORTH:
        return ""
    if (transfer := _other_transfer(found)) is not None:
        return transfer
    low, high = ends(found, name)
    match name:
        case "rate":
            return f"the rate: {_TRANSFERS['bbr']}"
        case "round trip":
            return "the round trip: ping -D -i 0.01 -c 30000 while nothing else is sent"
        case "buffer":
            return f"the buffer: {_CAPTURE} that fills the link"
    return f"the losses: {_for_losses(found, high)}"


def _for_losses(found: Possible, high: float) -> str:
    """A capture if the loss process is unknown, else the number of packets that the share requires."""
    unsure = max(found.hypotheses.values()) < _SURE
    count = math.ceil(_CLEAR / max(high, 1e-9))
    if unsure and high > 1e-3:
        return f"{_CAPTURE}, or ping -D -i 0.01 -c 30000"
    half = float(np.median([one.rate_bps for one in found.draws])) / 2
    lasts = min(max(math.ceil(count * _USUAL_BITS / half), 60), 600)
    return f"iperf3 -u -b {half / 1e6:.3g}M -t {lasts} --json"


def _other_transfer(found: Possible) -> str | None:
    """The kind of transfer that is missing, and its benefit; None if there is one of either kind."""
    tests = () if found.weighed is None else found.weighed.tests
    seeking = {test.cc in SEEKERS for test in tests}
    if len(seeking) != 1:
        return None
    if seeking == {False}:
        return f"what a sender that ignores losses can get: {_TRANSFERS['bbr']}"
    return f"the queue and the losses: {_TRANSFERS['cubic']}"


def _worth(found: Possible) -> dict[str, float]:
    """By how much, in its logarithm, the range of each quantity moves the goodput of a loss-based sender.

    That is in proportion to 1 / rtt and to 1 / sqrt(loss) (M. Mathis, J. Semke, J. Mahdavi, T. Ott, The
    Macroscopic Behavior of the TCP Congestion Avoidance Algorithm, Computer Communication Review 27, 1997),
    until the link is full. The buffer is reckoned as the loss.
    """

    def wide(name: str, least: float = 1e-12) -> float:
        low, high = (max(end, least) for end in ends(found, name))
        return math.log(high / low)

    window = float(np.median([one.rate_bps * one.rtt_s / _USUAL_BITS for one in found.draws]))
    return {
        "rate": wide("rate"),
        "round trip": wide("round trip"),
        "buffer": wide("buffer") / 2 if found.draws[0].buffer is not None else 0.0,
        "loss": wide("loss", 1.5 / max(window, 1.0) ** 2) / 2,
    }


def _range(low: float, high: float, scale: float, unit: str, count: int = 3) -> str:
    """As "47.1 to 52.3 Mbit/s", or one value if the ends are nearly the same."""
    first, last = digits(low / scale, count), digits(high / scale, count)
    return f"{last} {unit}" if high - low <= SAME * high else f"{first} to {last} {unit}"


def _rates(low: float, high: float) -> str:
    return _range(low, high, *((1e6, "Mbit/s") if high >= 1e6 else (1e3, "kbit/s")))


def _times(low: float, high: float) -> str:
    return _range(low, high, 1e-3, "ms")


def _sizes(low: float, high: float) -> str:
    return _range(low, high, *((1e6, "MB") if high >= 1e6 else (1e3, "kB")))


def _shares(low: float, high: float) -> str:
    return f"{low:.1g} to {high:.1g}"


_QUANTITIES: Mapping[str, tuple[str, Callable[[Draw], float], Callable[[float, float], str]]] = {
    "rate": ("rate", lambda one: one.rate_bps, _rates),
    "round trip": ("rtt", lambda one: one.rtt_s, _times),
    "buffer": ("buffer", lambda one: one.buffer_bytes or 0.0, _sizes),
    "loss": ("per", lambda one: one.loss, _shares),
}
"""Of each quantity its key in a question, its value of a link, and how a range of it is shown."""

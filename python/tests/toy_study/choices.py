"""A toy with choices: how many packets a lossless flow gets, by rate, delay and length of the run.

The paper that it stands for has 3 Mbit/s; no single choice of the toy gives all its checks.
"""

from dataclasses import dataclass

import polars as pl

from bentpipe.studies import design
from bentpipe.studies.assembly import Assembly, Explanation
from bentpipe.studies.claim import above, number
from bentpipe.studies.design import Choices, Design, Origin, Reading, Variant, Where, where
from bentpipe.studies.judge import Sentence, column
from bentpipe.studies.places import Place
from toy_study.measure import counted


@dataclass(frozen=True)
class Setup(Choices):
    mbps: int = 1
    delay_ms: int = 50
    short_s: int = 2
    #: What the measure of the window multiplies by.
    times: int = 1


BASE = Setup()


def variant(name, choice, touches=None, base=BASE, evidence=Origin.OURS, source="", **values):
    """A set-up with some values changed."""
    setup = base.changed(**values)
    return Variant(name, choice, setup, touches or Where(), evidence=evidence, source=source)


VARIANTS = (
    variant("rate-2", "2 Mbit/s", mbps=2, evidence=Origin.DEFAULT, source="the simulator's own."),
    variant("rate-3", "3 Mbit/s", mbps=3, evidence=Origin.FITTED),
    variant("delay-90", "a delay of 90 ms", where(part="window"), delay_ms=90),
    variant("long", "runs of 3 s", where(part="rate"), short_s=3),
    variant("slow", "runs of 3 s at 3 Mbit/s", short_s=3, mbps=3),
)
ONLY_JOINT = (variant("thrice", "counted thrice", where(part="window"), times=3),)


def points(_):
    return [{"part": part} for part in ("rate", "window")]


def scenario(of, part):
    setup = of.setup
    return {
        "duration": f"{setup.short_s if part == 'rate' else 1} s",
        "seed": of.seed,
        "link": {"sat": {"rate": f"{setup.mbps} Mbit/s", "delay": f"{setup.delay_ms} ms"}},
        "flow": [{"traffic": {"kind": "cbr", "rate": "10 Mbit/s"}, "path": ["sat"]}],
    }


DESIGN = Design(
    BASE,
    VARIANTS,
    {"quick": design.Size(3, 2), "full": design.Size(4, 2)},
    points,
    scenario,
    measure=counted,
    note="Seeds 1 to {size.seeds}.",
    keeps=lambda keys, seed: False,
    readings=(Reading("fitted", "what a search found", ("rate-3", "thrice"), quick=True),),
    only_joint=ONLY_JOINT,
    settings=lambda setup: {"times": setup.times},
)


def _rate(runs):
    got = column(runs, "mbps", part="rate")
    return [number("rate", got, 5.8), above("more than 3", got, [3.0] * len(got))]


def _window(runs):
    got = column(runs, "mbps", part="window")
    return [number("thrice the rate", got, 8.5), above("never", [0.0] * len(got), got)]


def _because(found):
    return "a reason", ["A paragraph."]


CLAIMS = [
    Sentence("R", "Rate", "the rate is 2.9 Mbit/s.", _rate, _because, where(part="rate")),
    Sentence("W", "Window", "three times as much.", _window, _because, where(part="window")),
]


def sections(found):
    from bentpipe.studies.tables import choices_section, set_up

    given = [
        ["Rate", "1 Mbit/s", "[ours] a guess"],
        ["Delay, length", "50 ms, 2 s", "[paper, ours] table 1; the length is not given"],
    ]
    return [set_up(given), choices_section(found, "Text.")]


def figure(found):
    from bentpipe.studies import draw
    from bentpipe.studies.study import Figure

    fig, (ax,) = draw.figure(1.5)
    ax.plot([0, 1], [0, 1])
    return Figure("figure-1", "Figure 1.", "A caption.", "A line", fig, pl.DataFrame({"x": [1]}))


PLACES = (Place("1", "a line", figure),)
build = Assembly(DESIGN, CLAIMS, Explanation(), PLACES, sections, previews=("figure-1",))

"""Joint readings of a paper: which changes go together, how free they are, and what is run of them."""

from dataclasses import dataclass, field, replace

import pytest
from test_study_design import DESIGN, points, scenario

from bentpipe.studies import design
from bentpipe.studies.change import UNSET, change, changed, clash
from bentpipe.studies.design import Choices, Design, Evidence, Reading, where


@dataclass(frozen=True)
class Setup(Choices):
    buffer: int = 50
    window: int | None = None
    flow: dict = field(default_factory=dict)


BASE = Setup(options={"star": {"aen": True}})
BUFFER = BASE.variant("buffer", "a buffer of 100", where(part="queue"), buffer=100)
SHORT = BASE.variant(
    "short", "a buffer of 10", buffer=10, evidence=Evidence.DEFAULT, source="ns-2's default."
)
WINDOW = BASE.variant("window", "a window of 9", where(part="loss"), window=9, evidence=Evidence.FITTED)
BOTH = BASE.variant("both", "both, and ECN", buffer=100, window=9, flow={"ecn": True})
AEN = BASE.tuned("star", aen=False).variant("aen", "no AEN")
GAIN = BASE.changed(options={"star": {"aen": True, "gain": 2}}).variant("gain", "a gain of 2")
VARIANTS = (BUFFER, SHORT, WINDOW, BOTH, AEN)


def made(*readings, only_joint=(GAIN,), **more):
    return Design(
        BASE,
        VARIANTS,
        {"quick": design.Size(3, 2), "full": design.Size(5, 2)},
        points,
        lambda of, **keys: {**scenario(of, **keys), "window": of.setup.window},
        note="",
        keeps=lambda keys, seed: False,
        readings=readings,
        only_joint=only_joint,
        **more,
    )


def test_a_change_is_what_differs_and_can_be_applied_to_another():
    assert BOTH.change(BASE) == {("buffer",): 100, ("window",): 9, ("flow", "ecn"): True}
    assert AEN.change(BASE) == {("options", "star", "aen"): False}
    bare = Setup()
    assert change(BASE, bare) == {("options", "star", "aen"): UNSET}
    assert changed(BASE, change(BASE, bare)) == bare
    assert changed(BASE, {**AEN.change(BASE), **GAIN.change(BASE)}).options == {
        "star": {"aen": False, "gain": 2}
    }


def test_changes_contradict_each_other_only_by_other_values_in_one_place():
    assert clash(BUFFER.change(BASE), SHORT.change(BASE)) == ("buffer",)
    assert clash(BUFFER.change(BASE), BOTH.change(BASE)) is None
    assert clash(AEN.change(BASE), GAIN.change(BASE)) is None
    with pytest.raises(ValueError, match="'buffer' and 'short' contradict each other: both set buffer"):
        made(Reading("fitted", "x", ("buffer", "short")))


@pytest.mark.parametrize(
    ("reading", "wrong"),
    [
        (Reading("fitted", "x", ("long",)), "no variant is called 'long'; there are: buffer"),
        (Reading("aen", "x", ("buffer",)), "two variants or readings are called 'aen'"),
        (Reading("fitted", "x", ()), "changes nothing"),
        (Reading("as-printed", "x", ("window",)), "cannot rest on 'window', which a search found"),
    ],
)
def test_a_reading_that_cannot_be_is_refused(reading, wrong):
    with pytest.raises(ValueError, match=wrong):
        made(reading)


def test_a_reading_runs_what_its_variants_touch_with_all_seeds_of_the_base():
    of = made(Reading("fitted", "both", ("buffer", "window")), Reading("as-printed", "q", ("buffer",)))
    runs = [c for c in of.plan("full").cases if c.keys["variant"] == "fitted"]
    assert {(c.keys["part"], c.keys["seed"]) for c in runs} == {
        (part, seed) for part in ("queue", "loss") for seed in (1, 2, 3, 4, 5)
    }
    assert all((c.scenario["buffer"], c.scenario["window"]) == (100, 9) for c in runs)
    printed = [c for c in of.plan("full").cases if c.keys["variant"] == "as-printed"]
    assert {c.keys["part"] for c in printed} == {"queue"}
    quick = made(Reading("fitted", "both", ("buffer",), quick=True), Reading("as-printed", "q", ("aen",)))
    assert {c.keys["variant"] for c in quick.plan("quick").cases} == {"base", "fitted"}
    assert not any(c.keys["variant"] == "gain" for c in of.plan("full").cases)


def test_other_seeds_of_a_reading_begin_after_a_given_one():
    of = made()
    cases = list(of.cases(of.joined("buffer", "aen"), of.sizes["quick"], after=1000))
    assert {c.keys["seed"] for c in cases} == {c.scenario["seed"] for c in cases} == {1001, 1002, 1003}


def test_free_choices_are_counted_once_and_by_their_parts():
    of = made()
    assert [of.free(n) for n in (["short"], ["buffer"], ["buffer", "aen"], ["short", "window"])] == [
        0,
        1,
        2,
        1,
    ]
    # "both" is the buffer, the window, and one more value.
    assert of.free(["both"]) == of.free(["both", "buffer"]) == 3


def test_a_plan_without_readings_is_as_it_was():
    assert DESIGN.plan("full").cases == replace(DESIGN, readings=()).plan("full").cases

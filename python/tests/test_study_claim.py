"""The rule from measured values to verdicts, on numbers made up for it."""

import math

import pytest

from bentpipe.studies import claim, draw, page, summary
from bentpipe.studies.claim import Claim, Verdict, verdict

NEAR_TWO = [1.9, 2.0, 2.1, 2.0]
NEAR_THREE = [2.9, 3.1, 3.0, 3.0]


def made(*checks: claim.Check) -> Claim:
    return Claim("X1", "title", "statement", list(checks))


def test_everything_holds_is_reproduced():
    found = made(claim.number("rate", NEAR_TWO, 2.2), claim.above("order", NEAR_THREE, NEAR_TWO))
    assert found.verdict == Verdict.REPRODUCED
    assert found.tally() == "2 of 2 checks hold"


def test_a_wrong_number_with_the_right_order_is_same_order():
    found = made(claim.number("rate", NEAR_TWO, 3.0), claim.above("order", NEAR_THREE, NEAR_TWO))
    assert found.verdict == Verdict.SAME_ORDER


def test_a_wrong_order_is_not_reproduced_even_with_the_right_number():
    found = made(claim.number("rate", NEAR_TWO, 2.0), claim.above("order", NEAR_TWO, NEAR_THREE))
    assert found.verdict == Verdict.NOT_REPRODUCED


def test_a_wrong_number_without_any_order_is_not_reproduced():
    assert made(claim.number("rate", NEAR_TWO, 4.0)).verdict == Verdict.NOT_REPRODUCED


def test_orders_alone_are_reproduced_or_not():
    up = claim.above("up", NEAR_THREE, NEAR_TWO)
    down = claim.above("down", NEAR_TWO, NEAR_THREE)
    assert verdict([up, up]) == Verdict.REPRODUCED
    assert verdict([up, down]) == Verdict.NOT_REPRODUCED


def test_no_check_has_no_verdict():
    with pytest.raises(ValueError, match="without checks"):
        verdict([])


@pytest.mark.parametrize(
    ("paper", "outcome"),
    [
        # The interval is 2 ± 0.13: t(0.975, 3) = 3.182, standard error 0.0408. The range is 0.8 to 1.2 paper.
        (2.0, "yes"),
        (2.33, "yes"),  # from 1.864
        (2.35, "undecided"),  # from 1.88
        (2.65, "undecided"),  # from 2.12
        (2.67, "no"),  # from 2.136
        (1.78, "yes"),  # to 2.136
        (1.77, "undecided"),  # to 2.124
        (1.55, "no"),  # to 1.86
    ],
)
def test_a_number_holds_if_its_interval_lies_within_a_fifth_of_the_printed_value(paper, outcome):
    assert claim.number("rate", NEAR_TWO, paper).outcome == outcome


def test_an_absolute_tolerance_replaces_the_relative_one():
    assert claim.number("index", [0.85, 0.85], 0.80, within=0.051).holds
    assert claim.number("index", [0.85, 0.85], 0.80, within=0.049).outcome == "no"


def test_an_order_needs_the_interval_of_the_paired_difference_above_zero():
    # Mean difference 0.1, but it changes its sign from seed to seed.
    assert not claim.above("order", [1.0, 2.0, 3.0], [1.5, 1.2, 3.0]).holds
    # The same spread between seeds, but every pair differs by about 0.1.
    assert claim.above("order", [1.1, 2.11, 3.09], [1.0, 2.0, 3.0]).holds


def test_highest_and_lowest_are_tested_against_the_nearest_rival():
    groups = {"a": [1.0, 1.1, 0.9], "b": [2.0, 2.1, 1.9], "c": [3.0, 3.1, 2.9]}
    top = claim.highest("c above", groups, "c")
    assert top.what == "c above b"
    assert top.holds
    assert top.measured.centre == pytest.approx(1.0)
    assert claim.lowest("a below", groups, "a").holds
    middle = claim.highest("b above", groups, "b")
    assert middle.what == "b above c"
    assert not middle.holds


def test_alike_compares_the_largest_with_the_smallest_mean():
    assert claim.alike("same", {"a": [1.0, 1.0], "b": [1.2, 1.2]}).holds
    far = claim.alike("same", {"a": [1.0, 1.0], "b": [1.3, 1.3], "c": [1.1, 1.1]})
    assert not far.holds
    assert far.measured.centre == pytest.approx(1.3)
    assert far.what == "same: b / a"
    with pytest.raises(ValueError, match="positive"):
        claim.alike("same", {"a": [0.0, 0.0], "b": [1.0, 1.0]})


def test_alike_needs_the_whole_interval_of_the_ratio_below_its_bound():
    """The means have the ratio 1.2 in all three; the pairs scatter by 0.02, by 0.5 or not at all."""
    one = [1.0, 1.0, 1.0, 1.0]
    assert claim.alike("same", {"a": one, "b": [1.19, 1.21, 1.2, 1.2]}).holds
    wide = claim.alike("same", {"a": one, "b": [0.7, 1.7, 1.2, 1.2]})
    assert (wide.outcome, wide.measured.centre) == ("undecided", pytest.approx(1.2))
    # What the seeds have in common is not noise: every pair has the ratio 1.2.
    common = claim.alike("same", {"a": [1.0, 2.0, 3.0], "b": [1.2, 2.4, 3.6]})
    assert (common.holds, common.measured.half_width) == (True, pytest.approx(0.0))


def test_near_and_ratio_at_least():
    assert claim.near("tied", [0.955, 0.956], [0.96, 0.96], 0.02).holds
    assert not claim.near("tied", [0.92, 0.93], [0.96, 0.96], 0.02).holds
    assert claim.near("tied", [0.92, 0.98], [0.95, 0.95], 0.02).outcome == "undecided"
    assert claim.ratio_at_least("smaller", [4.2, 4.2], [2.0, 2.0], 2.0).holds
    assert claim.ratio_at_least("smaller", [3.8, 3.9], [2.0, 2.0], 2.0).outcome == "undecided"
    assert claim.ratio_at_least("smaller", [3.8, 3.8], [2.0, 2.0], 2.0).outcome == "no"


def test_no_interval_ends_beyond_the_possible_range():
    """By Student's t alone 79.5 ± 47.3 % and 1 ± 4.3 Mbit/s. A difference may be negative."""
    share = claim.number("share", [60.2, 80.1, 98.2], 60, unit="%", most=100).measured
    assert (share.low, share.high) == (pytest.approx(32.2, abs=0.1), 100.0)
    rate = claim.number("rate", [0.0, 0.0, 3.0], 1, unit="Mbit/s").measured
    assert rate.low == 0.0 and rate.high == pytest.approx(5.3, abs=0.01)
    assert claim.interval([0.0, 0.0, 3.0]).low == 0.0
    assert claim.above("gain", [1.0, 1.0, 4.0], [1.0, 1.0, 1.0]).measured.low < -3
    assert claim.number("gain", [0.0, 0.0, 3.0], 1, unit="%").measured.low < -3
    _, (axes,) = draw.figure(2.0)
    draw.bars(axes, [0], [share], 0.5)
    draw.curve(axes, [0], [claim.interval([0.0, 0.0, 3.0])])
    ends = [y for lines in axes.collections for path in lines.get_paths() for y in path.vertices[:, 1]]
    assert min(ends) == pytest.approx(0) and max(ends) == pytest.approx(100)


def test_the_interval_is_students_t():
    got = claim.interval([1.0, 2.0, 3.0, 4.0, 5.0])
    # t(0.975, 4) = 2.776445; standard error sqrt(2.5 / 5).
    assert got.centre == pytest.approx(3.0)
    assert got.half_width == pytest.approx(2.776445 * math.sqrt(0.5), rel=1e-6)


@pytest.mark.parametrize("samples", [[], [1.0], [1.0, math.nan], [1.0, math.inf]])
def test_no_interval_from_too_few_or_infinite_values(samples):
    with pytest.raises(ValueError, match="seeds|finite"):
        claim.interval(samples)


def test_a_claim_as_a_row_shows_the_first_check_that_fails_and_keeps_all():
    met, order = claim.number("met", NEAR_TWO, 2.0), claim.above("o", NEAR_THREE, NEAR_TWO)
    failing = claim.number("rate", NEAR_TWO, 3.0, unit="Mbit/s")
    assert made(met, order).headline == 0
    assert made(met.unprinted(), order, failing).headline == 2
    assert made(order, failing.unprinted()).headline == 0
    assert made(met, failing).as_dict()["paper"] == "rate: 3 Mbit/s"
    row = made(failing, order).as_dict()
    assert {"id", "paper", "measured", "ci95", "verdict", "note", "title"} <= row.keys()
    assert (row["paper"], row["verdict"]) == ("rate: 3 Mbit/s", "same order")
    assert row["ci95"][0] < row["measured"] < row["ci95"][1]
    assert [c["holds"] for c in row["checks"]] == [False, True]


def test_an_order_whose_interval_contains_zero_is_undecided_and_so_is_its_claim():
    wide = claim.above("order", [1.0, 2.0, 3.0], [0.5, 2.2, 2.5])
    wrong = claim.above("order", NEAR_TWO, NEAR_THREE)
    right = claim.above("order", NEAR_THREE, NEAR_TWO)
    number = claim.number("rate", NEAR_TWO, 4.0)
    assert [of.outcome for of in (wide, wrong, right)] == ["undecided", "no", "yes"]
    assert claim.above("equal", NEAR_TWO, NEAR_TWO).outcome == "no"
    assert (made(wide).verdict, made(wide).held) == (Verdict.UNDECIDED, 0)
    assert made(wide, right).possible == (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED)
    # Another order fails: whatever the wide one is, the claim is not reproduced.
    assert made(wide, wrong).verdict == Verdict.NOT_REPRODUCED
    assert made(wide, number).possible == (Verdict.SAME_ORDER, Verdict.NOT_REPRODUCED)
    assert made(right, claim.number("rate", NEAR_TWO, 2.5)).possible == (
        Verdict.REPRODUCED,
        Verdict.SAME_ORDER,
    )
    # The table shows what fails before what is undecided.
    assert (made(right, wide, wrong).headline, made(right, wide).headline, made(right).headline) == (2, 1, 0)


def test_many_orders_are_corrected_together():
    """By hand: differences of 1, 2, 3 have t = 3.46 and p = 0.0742; of 2, 3, 4 t = 5.20, p = 0.0351.

    Alone an order with p = 0.0351 is decided. Beside another undecided one it has to be below 0.05 / 2.
    """

    def order(*differences: float) -> claim.Check:
        return claim.above("order", differences, [0.0] * len(differences))

    strong, weak, other = order(9.0, 9.1, 9.2), order(2.0, 3.0, 4.0), order(1.0, 2.0, 3.0)
    assert weak.p == pytest.approx(0.0351, abs=1e-4) and other.p == pytest.approx(0.0742, abs=1e-4)
    alone, pair = [made(strong, weak)], [made(strong, weak), made(other)]
    claim.corrected(alone)
    claim.corrected(pair)
    assert [check.outcome for check in alone[0].checks] == ["yes", "yes"]
    assert [check.outcome for of in pair for check in of.checks] == ["yes", "undecided", "undecided"]
    assert pair[0].checks[1].remark == "not decided among 3 orders: p = 0.035 > 0.05 / 2"
    # What does not count is no test, and an order that all seeds give exactly needs none.
    apart = [made(strong, weak), made(order(1.0, 1.0), other.unprinted())]
    claim.corrected(apart)
    assert [check.outcome for of in apart for check in of.checks] == ["yes", "yes", "yes", "undecided"]


def test_a_check_that_the_paper_does_not_print_is_shown_and_not_counted():
    off = claim.number("rate", NEAR_TWO, 4.0).unprinted()
    found = made(claim.above("order", NEAR_THREE, NEAR_TWO), off)
    assert found.verdict == Verdict.REPRODUCED
    assert found.tally() == "1 of 1 checks hold"
    assert [c["counted"] for c in found.as_dict()["checks"]] == [True, False]
    with pytest.raises(ValueError, match="without checks"):
        made(off).verdict  # noqa: B018


def test_a_quotation_has_no_verdict_and_counts_nowhere():
    found = Claim("X1", "title", "statement", [claim.number("rate", NEAR_TWO, 4.0)], reference=True)
    assert found.verdict == Verdict.REFERENCE
    assert (found.held, found.counted, found.possible) == (0, [], ("reference", "reference"))
    rows = [found.as_dict(), made(claim.number("rate", NEAR_TWO, 2.0)).as_dict()]
    assert summary.held(rows) == (1, 1)
    assert page.count(page.row(of).verdict for of in rows) == {
        "reproduced": 1,
        "same order": 0,
        "undecided": 0,
        "not reproduced": 0,
    }


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        ([1.0, 1.1, 1.2, 1.3], "1 to 1.3"),
        ([3.1, 0.9, 3.0, 1.0], "0.9 to 3.1 in two groups: 0.9 to 1 (2 seeds) and 3 to 3.1 (2)"),
        ([1.0, 1.1, 1.0, 9.0], "1 to 9"),
        ([2.0, 2.0], "2 to 2"),
    ],
)
def test_the_range_over_seeds_says_whether_there_are_two_groups(samples, said):
    assert claim.spread(samples) == said


def test_a_number_of_one_run_tells_the_range_of_ours():
    check = claim.number("rate", [1.0, 2.0], 1.5, unit="Mbit/s", one_run=True)
    assert check.as_dict()["remark"] == "the paper prints one run; ours give 1 to 2 Mbit/s"
    assert claim.number("rate", [1.0, 2.0], 1.5).remark == ""


def test_what_the_paper_contradicts_is_shown_and_not_counted():
    holds, fails = claim.number("a", [1.0, 1.0], 1.0), claim.number("b", [2.0, 2.0], 1.0)
    set_aside = fails.contradicted("table 2 has 2")
    assert claim.verdict([holds, set_aside]) == "reproduced"
    assert (set_aside.basis, set_aside.counted, set_aside.holds) == (claim.Basis.CONTRADICTED, False, False)
    assert set_aside.remark == "the paper itself: table 2 has 2"
    assert set_aside.as_dict()["basis"] == "printed, contradicted by the paper itself"
    assert fails.unprinted().as_dict()["basis"] == "not printed"

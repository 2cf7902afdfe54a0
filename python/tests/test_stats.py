"""Means, intervals and fairness against values known from elsewhere."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bentpipe import stats


def test_the_interval_of_a_textbook_sample():
    # t(0.975, 4) = 2.776445; the sample 1..5 has mean 3 and standard deviation sqrt(2.5).
    found = stats.mean([1, 2, 3, 4, 5])
    assert found.mean == 3
    assert found.half_width == pytest.approx(2.776445105 * math.sqrt(2.5 / 5), rel=1e-8)
    assert (found.low, found.high) == pytest.approx((3 - 1.963243, 3 + 1.963243), abs=1e-6)
    assert found.n == 5


def test_two_values_have_the_widest_interval():
    # t(0.975, 1) = 12.7062047; the standard error of 0 and 2 is 1.
    assert stats.mean([0, 2]).half_width == pytest.approx(12.7062047362, rel=1e-9)


def test_another_confidence():
    # t(0.95, 9) = 1.833112933
    sample = [10.0, 12.0] * 5
    error = math.sqrt(10 / 9 / 10)
    assert stats.mean(sample, 0.9).half_width == pytest.approx(1.833112933 * error, rel=1e-8)


def test_agrees_with_scipy():
    from scipy import stats as reference

    sample = [3.1, 2.7, 9.4, -1.0, 5.5, 0.2, 8.8]
    low, high = reference.t.interval(
        0.95, len(sample) - 1, loc=sum(sample) / len(sample), scale=reference.sem(sample)
    )
    found = stats.mean(sample)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)


def test_one_value_says_nothing_about_spread():
    found = stats.mean([7.0])
    assert found.mean == 7
    assert math.isnan(found.half_width)


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 2])
def test_a_confidence_out_of_range_is_refused(confidence):
    with pytest.raises(ValueError, match="confidence"):
        stats.mean([1, 2], confidence)


def test_nothing_has_no_mean_and_no_fairness():
    with pytest.raises(ValueError, match="no values"):
        stats.mean([])
    with pytest.raises(ValueError, match="no shares"):
        stats.jain([])


def test_a_negative_share_is_refused():
    with pytest.raises(ValueError, match="negative"):
        stats.jain([1, -1])


@pytest.mark.parametrize(
    ("shares", "index"),
    [
        ([1, 1, 1, 1], 1),
        ([1, 0, 0, 0], 0.25),
        ([1, 2, 3], 36 / 42),
        ([5], 1),
        ([0, 0], 1),
        ([1e300, 1e300], 1),
    ],
)
def test_known_fairness(shares, index):
    assert stats.jain(shares) == pytest.approx(index, rel=1e-12)


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=50))
def test_fairness_lies_between_one_nth_and_one(shares):
    assert 1 / len(shares) - 1e-9 <= stats.jain(shares) <= 1 + 1e-9


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20), st.floats(1e-3, 1e3))
def test_fairness_does_not_depend_on_the_unit(shares, factor):
    assert stats.jain([factor * s for s in shares]) == pytest.approx(stats.jain(shares), rel=1e-6)

"""Means, intervals and fairness against values known from elsewhere."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bentpipe import stats


def test_the_interval_of_a_textbook_sample():
    # t(0.975, 4) = 2.776445; the sample 1..5 has mean 3 and standard deviation sqrt(2.5).
    found = stats.interval([1, 2, 3, 4, 5])
    assert found.centre == 3
    assert found.half_width == pytest.approx(2.776445105 * math.sqrt(2.5 / 5), rel=1e-8)
    assert (found.low, found.high) == pytest.approx((3 - 1.963243, 3 + 1.963243), abs=1e-6)
    assert found.n == 5


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 95])
def test_a_confidence_out_of_range_is_refused(confidence):
    with pytest.raises(ValueError, match="confidence"):
        stats.interval([1, 2], confidence=confidence)


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


# Intervals

SAMPLE = [3.1, 2.7, 9.4, -1.0, 5.5, 0.2, 8.8]


def test_a_t_interval_is_that_of_scipy():
    from scipy import stats as reference

    centre, error = sum(SAMPLE) / len(SAMPLE), reference.sem(SAMPLE)
    for confidence in (0.8, 0.95):
        found = stats.interval(SAMPLE, confidence=confidence)
        expected = reference.t.interval(confidence, len(SAMPLE) - 1, loc=centre, scale=error)
        assert found[:3] == pytest.approx((centre, *expected), rel=1e-12)
        assert (found.n, found.alike) == (7, False)


@pytest.mark.parametrize(("of", "method"), [("mean", "BCa"), ("median", "percentile")])
def test_a_bootstrap_is_that_of_scipy_and_the_same_every_time(of, method):
    import numpy as np
    from scipy.stats import bootstrap

    found = stats.interval(SAMPLE, of=of, by="bootstrap")
    assert found == stats.interval(SAMPLE, of=of, by="bootstrap")
    other_seed = bootstrap((SAMPLE,), getattr(np, of), method=method, rng=1).confidence_interval
    # The ends of two bootstraps of 9999 resamples differ by a small part of the width.
    assert found[1:3] == pytest.approx(tuple(other_seed), abs=0.05 * (found.high - found.low))


def test_a_median_has_its_own_interval():
    found = stats.interval([1, 2, 3, 4, 1000], of="median")
    assert found.centre == 3
    assert (found.low, found.high) == (1, 1000)  # P(a resample's median is the least of five) is 5.8 %
    with pytest.raises(ValueError, match=r"by='bootstrap'"):
        stats.interval([1, 2, 3], of="median", by="t")


def test_no_end_goes_beyond_the_possible_range():
    shares = [0.99, 1.0, 0.95, 1.0, 0.9]
    assert stats.interval(shares).high > 1
    clipped = stats.interval(shares, least=0.5, most=1)
    assert clipped.high == 1
    assert clipped.low == stats.interval(shares).low
    assert stats.interval([0.1, 5, 0.2], least=0).low == 0
    # A value itself may lie outside by dust only.
    assert stats.interval([1 + 1e-12, 1 + 1e-12], most=1)[:3] == (1, 1, 1)
    with pytest.raises(ValueError, match=r"1\.2 lies beyond the possible range, 0 to 1"):
        stats.interval([0.5, 1.2], least=0, most=1)


def test_one_run_has_no_interval():
    for by in ("t", "bootstrap"):
        found = stats.interval([9.43], by=by)
        assert found[0] == 9.43 and math.isnan(found.low) and math.isnan(found.high)
        assert (found.n, found.alike) == (1, False)


def test_dust_is_no_difference_and_one_packet_in_a_million_is():
    # Sums of the same numbers in other orders: 4.5e-14 was shown as an interval once.
    dusty = [9.43, 9.43 + 4.5e-14, 9.43 - 1e-14]
    for by in ("t", "bootstrap"):
        found = stats.interval(dusty, by=by)
        assert found.alike and found.low == found.high == found.centre
    assert stats.interval(dusty).half_width == 0
    assert stats.interval([0.0, 0.0]).alike
    assert not stats.interval([1e7, 1e7 + 10]).alike
    # The same loss share, which is small, is not dust.
    assert not stats.interval([1e-12, 2e-12]).alike


def test_values_that_are_none_are_refused():
    with pytest.raises(ValueError, match="finite"):
        stats.interval([1.0, math.nan])
    with pytest.raises(ValueError, match="no values"):
        stats.interval([])
    with pytest.raises(ValueError, match="no shares"):
        stats.jain([])
    with pytest.raises(ValueError, match="negative"):
        stats.jain([1, -1])


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        (stats.Interval(9.4312, 9.4132, 9.4492, 5, False), "9.431 ± 0.018"),
        (stats.Interval(9.4312, 9.4112, 9.4512, 5, False), "9.43 ± 0.02"),
        (stats.Interval(9.4312, 9.4112 - 0.0003, 9.4515, 5, False), "9.43 ± 0.02"),
        (stats.Interval(0.9812, 0.91, 1.0, 5, False), "0.98 (0.91 to 1.00)"),
        (stats.Interval(12345.0, 12300.0, 12390.0, 5, False), "12345 ± 45"),
        (stats.Interval(9.43, math.nan, math.nan, 1, False), "9.43 (one run)"),
        (stats.Interval(9.43, 9.43, 9.43, 5, True), "9.43 (all runs alike)"),
        (stats.Interval(0.0, 0.0, 0.0, 5, True), "0 (all runs alike)"),
    ],
)
def test_an_interval_in_words(interval, words):
    assert stats.shown(interval) == words


# Comparisons. W. S. Gosset's sleep data (Student 1908, as in R's `sleep`): hours gained with two drugs.

DRUG_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
DRUG_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def test_the_paired_comparison_of_student_1908():
    # R's t.test(paired = TRUE) of these data: -1.58, interval -2.4598858 to -0.7001142.
    found = stats.paired(DRUG_1, DRUG_2)
    assert found[:3] == pytest.approx((-1.58, -2.4598858, -0.7001142), abs=5e-8)


def test_pairs_find_what_seeds_have_in_common():
    a, b = [1.0, 5.0, 9.0], [0.8, 4.9, 8.8]
    assert stats.interval(a).low < stats.interval(b).high
    assert stats.paired(a, b).low > 0
    with pytest.raises(ValueError, match="3 and 2"):
        stats.paired(a, b[:2])
    # Differences that are alike up to the dust of numbers much larger than they are.
    found = stats.paired([1e7 + 1e-9, 2e7], [1e7, 2e7])
    assert found.alike and found[:3] == (0, 0, 0)
    assert stats.paired([1e7 + 1, 2e7 + 1], [1e7, 2e7]).alike


def test_the_effect_size_is_that_of_mann_and_whitney():
    from scipy.stats import mannwhitneyu

    assert stats.effect_size(DRUG_1, DRUG_2) == mannwhitneyu(DRUG_1, DRUG_2).statistic / 100
    assert stats.effect_size([2, 3], [0, 1]) == 1
    assert stats.effect_size([2, 3], [2, 3]) == 0.5
    assert stats.effect_size([1 + 1e-15], [1]) == 0.5


def test_groups_agree_with_the_tests_of_scipy():
    from scipy.stats import ttest_ind, ttest_rel

    # One pair: Holm's correction does nothing, and the groups are those of the test.
    for samples in ((DRUG_1, DRUG_2), (DRUG_1, [v + 0.1 for v in reversed(DRUG_2)])):
        for paired in (True, False):
            a, b = samples
            p = ttest_rel(a, b).pvalue if paired else ttest_ind(a, b, equal_var=False).pvalue
            named = {"a": a, "b": b}
            for error in (p * 0.999, p * 1.001):
                found = stats.groups(named, confidence=1 - error, paired=paired)
                assert found == ([["b"], ["a"]] if p < error else [["b", "a"]])


def test_holm_asks_more_of_many_than_of_two():
    # Holm's own rule by hand: the least of m p-values against 5 %/m.
    p = 0.002836  # scipy.stats.ttest_rel of the sleep data: 0.00283289
    assert stats.groups({"a": DRUG_1, "b": DRUG_2}, confidence=1 - p) == [["b"], ["a"]]
    mixed = {"a": DRUG_1, "b": DRUG_2, "c": DRUG_2[::-1]}
    assert stats.groups(mixed, confidence=1 - p) == [["b", "c", "a"]]
    assert stats.groups(mixed, confidence=1 - 3 * p)[0] == ["b", "c"]


def test_groups_have_the_best_first_and_ties_together():
    samples = {
        "slow": [1.0, 1.1, 1.2],
        "fast": [9.0, 9.2, 9.1],
        "same": [9.01, 9.19, 9.1],
        "mid": [5, 5.1, 5.3],
    }
    assert stats.groups(samples) == [["fast", "same"], ["mid"], ["slow"]]
    assert stats.groups(samples, highest_first=False) == [["slow"], ["mid"], ["fast", "same"]]
    # One run each tells nothing apart; runs that are alike tell everything apart.
    assert stats.groups({"a": [1], "b": [2]}) == [["b", "a"]]
    assert stats.groups({"a": [1, 1], "b": [2, 2]}) == [["b"], ["a"]]
    assert stats.groups({"a": [1, 1], "b": [2, 2], "c": [2, 2 - 1e-14]}, paired=False) == [["b", "c"], ["a"]]
    assert stats.groups({}) == []
    with pytest.raises(ValueError, match="a 1, b 2"):
        stats.groups({"a": [1], "b": [1, 2]})


# Coverage and stopping: docs/statistics.md has the numbers of tools/statistics_coverage.py.


def test_a_t_interval_holds_the_mean_of_normal_values_as_often_as_it_says():
    import numpy as np

    source = np.random.default_rng(1)
    found = [stats.interval(source.normal(10, 1, 5)) for _ in range(2000)]
    held = sum(f.low <= 10 <= f.high for f in found) / 2000
    assert abs(held - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 2000)


def test_equal_algorithms_are_rarely_told_apart():
    import numpy as np

    source = np.random.default_rng(2)
    drawn = [{str(i): list(source.normal(10, 1, 5)) for i in range(6)} for _ in range(300)]
    assert sum(len(stats.groups(d)) > 1 for d in drawn) / 300 < 0.05 + 4 * math.sqrt(0.05 * 0.95 / 300)


def test_enough_runs_are_those_whose_interval_is_narrow():
    values = [10.0, 10.1, 9.9, 10.05, 9.95]
    relative = stats.interval(values).half_width / 10
    assert stats.enough(values, relative * 1.001)
    assert not stats.enough(values, relative * 0.999)
    assert not stats.enough(values[:4], 10)
    assert stats.enough(values[:3], 10, least=3)
    assert stats.enough([0.0] * 5, 0.01)  # all alike
    assert not stats.enough([-1.0, 1.0, -1.0, 1.0, 0.0], 0.5)  # a mean of 0 is never known relatively
    with pytest.raises(ValueError, match="relative"):
        stats.enough(values, 0)


# Warm-up


def test_warm_up_leaves_out_a_start_that_is_lower():
    import numpy as np

    noise = np.random.default_rng(1).normal(10, 1, 400)
    assert stats.warm_up(noise) <= 20
    noise[:60] -= 8
    assert 60 <= stats.warm_up(noise) <= 70
    assert stats.warm_up([7.0] * 50) == 0


def test_warm_up_is_the_rule_of_white_by_hand():
    import numpy as np

    series = np.concatenate([np.linspace(0, 10, 30), np.random.default_rng(3).normal(10, 1, 70)])
    batches = [series[i : i + 5].mean() for i in range(0, 100, 5)]
    rules = [sum((b - np.mean(batches[d:])) ** 2 for b in batches[d:]) / (20 - d) ** 2 for d in range(17)]
    assert stats.warm_up(series) == 5 * rules.index(min(rules)) > 0


def test_a_series_that_does_not_settle_is_said_to():
    with pytest.raises(ValueError, match="not settled"):
        stats.warm_up(range(200))
    with pytest.raises(ValueError, match="at least 50 rows"):
        stats.warm_up([1.0] * 49)

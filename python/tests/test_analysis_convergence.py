"""Two users: tables 2 and 6 of the spectrum paper, its convergence conditions, and trajectories."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bentpipe.analysis import convergence, convergence_time

BETA = 1 / 16
W = 110.0

# Table 6, experiment 1: control, beta, the two windows, T_2 by the analysis, how far it may be off. It prints
# 6684 for IIAD; the formula of table 2 gives 6675.6.
TABLE_6_FAIRNESS = [
    ("aimd", 1 / 2, 6.1, 99.6, 88.7, 0.05),
    ("aimd", BETA, 7.9, 99.2, 1217, 0.5),
    ("iiad", 2 / 3, 7.7, 99.8, 6684, 9),
    ("simd", BETA, 6.6, 96.3, 852, 0.5),
]

# Table 6, experiment 2: control, beta, the two windows, T_1 and Delta by the analysis. AIMD's 342.55 is
# printed as 342.
TABLE_6_EFFICIENCY = [
    ("aimd", 1 / 2, 8.8, 13.8, 43.7, None),
    ("aimd", BETA, 12.7, 31.0, 342, 18.3),
    ("iiad", 2 / 3, 11.8, 31.2, 1242, 7.6),
    ("simd", BETA, 10.2, 33.2, 85.1, 12.3),
]


@pytest.mark.parametrize(("control", "beta", "w1", "w2", "rounds", "tolerance"), TABLE_6_FAIRNESS)
def test_table_6_fairness(control, beta, w1, w2, rounds, tolerance):
    found = convergence_time.fairness_rounds(control, beta, w2 - w1, 10, W)
    assert found == pytest.approx(rounds, abs=tolerance)


def test_table_6_prints_6684_for_iiad():
    assert convergence_time.fairness_rounds("iiad", 2 / 3, 99.8 - 7.7, 10, W) == pytest.approx(
        6675.6, abs=0.1
    )


@pytest.mark.parametrize(("control", "beta", "w1", "w2", "rounds", "gap"), TABLE_6_EFFICIENCY)
def test_table_6_efficiency(control, beta, w1, w2, rounds, gap):
    assert convergence_time.efficiency_rounds(control, beta, w1, w2, W) == pytest.approx(rounds, abs=0.6)
    assert convergence_time.efficiency_rounds(control, beta, w2, w1, W) == pytest.approx(rounds, abs=0.6)
    if gap is not None:
        assert convergence_time.gap_at_efficiency(control, w1, w2, W) == pytest.approx(gap, abs=0.05)


def test_table_6_prints_a_gap_of_6_segments_for_tcp():
    # TCP's gap stays W_2 - W_1, 13.8 - 8.8.
    assert convergence_time.gap_at_efficiency("aimd", 8.8, 13.8, W) == pytest.approx(5.0)


@pytest.mark.parametrize(("w1", "w2", "rounds", "gap"), [(10.2, 33.2, 85.1, 12.3), (33.2, 10.2, 85.1, 12.3)])
def test_a_trajectory_of_simd_agrees_with_table_6(w1, w2, rounds, gap):
    path = convergence.trajectory(w1, w2, W, -0.5, 1, BETA, epochs=5)
    assert path.t[1] == pytest.approx(rounds, abs=0.05)
    assert path.gap[1] == pytest.approx(gap, abs=0.05)
    # Appendix C.2: an epoch leaves 1 - 2 beta of the gap.
    assert path.gap[3::2] / path.gap[1:-2:2] == pytest.approx(np.full(4, 1 - 2 * BETA), rel=1e-9)
    # It crossed the line of equal windows, as table 2 says where W > 2 (W_1 + W_2).
    assert (path.w[1, 0] > path.w[1, 1]) == (w1 < w2)


def test_a_trajectory_of_aimd_agrees_with_table_6():
    path = convergence.trajectory(12.7, 31, W, 0, 1, BETA, epochs=5)
    assert (path.t[1], path.gap[1]) == pytest.approx((342.55, 18.3))
    assert path.gap[3::2] / path.gap[1:-2:2] == pytest.approx(np.full(4, 1 - BETA))
    # The epoch of appendix C.2, (2 - beta) W / 6, does not depend on the gap.
    assert np.diff(path.t[1::2]) == pytest.approx(np.full(4, 1.9375 * W / 6))


def test_a_trajectory_of_iiad_agrees_with_table_6():
    path = convergence.binomial_trajectory(11.8, 31.2, W, 1, 0, 2 / 3, epochs=400)
    assert path.t[1] == pytest.approx(1242, abs=0.6)
    assert path.gap[1] == pytest.approx(7.6, abs=0.05)
    # Appendix C.2: about 1 - 2 beta / W of the gap and W / 3 round trips for an epoch.
    assert path.gap[-2] / path.gap[-4] == pytest.approx(1 - 4 / 3 / W, rel=1e-4)
    assert path.t[-2] - path.t[-4] == pytest.approx(W / 3, rel=0.01)


def test_epochs_are_shorter_while_the_windows_are_unequal():
    # Table 2 takes every epoch as long as the last ones and so calls IIAD's 6684 a lower bound; the
    # trajectory of the same rules needs less, and so does SIMD's.
    iiad = convergence.binomial_trajectory(7.7, 99.8, W, 1, 0, 2 / 3, epochs=300)
    simd = convergence.trajectory(6.6, 96.3, W, -0.5, 1, BETA, epochs=60)
    assert iiad.t[np.argmax(iiad.gap < 10)] < 6000
    assert simd.t[np.argmax(simd.gap < 10)] == pytest.approx(753, abs=1)


def test_the_map_of_figure_4c():
    # Section 4.2: "in most cases SIMD converges faster than AIMD".
    found = convergence_time.region()
    inside = np.isfinite(found.ratio)
    assert inside.mean() == pytest.approx(0.5, abs=0.01)
    assert found.ratio == pytest.approx(found.ratio.T, nan_ok=True)
    assert (found.ratio[inside] > 1).mean() > 0.95
    # It is slower where both start small and where they start equal and near the capacity.
    assert found.ratio[0, 1] < 1
    assert found.ratio[20, 60] > 1


def test_section_4_2_calls_iiad_slowest_in_all_cases():
    # It is where the gap is above epsilon; 1 % of the map has none left when the capacity is full.
    for other in ("aimd", "simd"):
        found = convergence_time.region("iiad", other, beta=2 / 3, second_beta=BETA).ratio
        faster = found > 1
        assert 0 < faster.sum() < 0.015 * np.isfinite(found).sum()
    a, b = np.nonzero(faster)
    assert (convergence_time.gap_at_efficiency("iiad", a + 0.5, b + 0.5, 100) < 1.5).all()


def test_the_intersections_of_footnote_4():
    x1, x2 = np.array([0.1, 0.3]), np.array([0.5, 0.4])
    aimd = np.array([(1 + x1 - x2) / 2, (1 - x1 + x2) / 2])
    simd = np.array([x1 - x2 + x2 / (x1 + x2), x2 - x1 + x1 / (x1 + x2)])
    assert np.array(convergence.increase(x1, x2, 1, 0, 1)) == pytest.approx(aimd)
    assert np.array(convergence.increase(x1, x2, 1, -0.5, 1)) == pytest.approx(simd)
    assert np.array(convergence.increase(x1, x2, 1, 0, 0)) == pytest.approx(simd)


@settings(deadline=None)
@given(st.floats(0.01, 0.98), st.floats(0.01, 0.49))
def test_simd_is_fairer_than_aimd_above_a_third_of_the_capacity(total, share):
    # Section 4.2, area (1) of fig 4a.
    x = share * total, (1 - share) * total
    simd = convergence.fairness_index(*convergence.increase(*x, 1, -0.5, 1))
    aimd = convergence.fairness_index(*convergence.increase(*x, 1, 0, 1))
    if abs(total - 1 / 3) > 1e-3:
        assert (simd < aimd) == (total > 1 / 3)


@pytest.mark.parametrize(
    ("k", "l", "answer"),
    [
        (0, 1, "always"),  # AIMD
        (-0.5, 1, "always"),  # SIMD, a corner of the spectrum
        (-0.51, 1, "never"),
        (1, 0.5, "always"),  # l = 1 / (k + 1)
        (0, 0, "bounded"),  # AIAD
        (0, 0.5, "bounded"),
        (-1 / 3, 0.5, "bounded"),
        (1, 1, "never"),  # the larger user would gain more
        (2, -0.5, "open"),
    ],
)
def test_the_regions_of_figure_2(k, l, answer):  # noqa: E741
    assert convergence.converges(k, l) == answer


def epoch(x1, overshoot, undershoot, k, l):  # noqa: E741
    """The unfairness before and after an epoch that starts at 1 - undershoot."""
    start = x1, 1 - undershoot - x1
    path = convergence.bounded_trajectory(*start, k, l, overshoot=overshoot, undershoot=undershoot, epochs=1)
    return convergence.fairness_index(*start), convergence.fairness_index(*path[-1])


@settings(deadline=None)
@given(
    st.floats(0, 1.9),
    st.floats(0, 0.65),
    st.floats(0.01, 0.49),
    st.floats(0, 1),
    st.floats(-1, 0),
)
def test_bounded_swings_improve_fairness(overshoot, undershoot, share, fall, power):
    # Appendix B: any l in 0..1 and l - 1/(k+1) in -1..0, if Delta_I + 3 Delta_D < 2.
    u = fall - power
    if u < 1e-3 or not overshoot + 3 * undershoot < 1.999:
        return
    assert convergence.bounded_enough(overshoot, undershoot)
    before, after = epoch(share * (1 - undershoot), overshoot, undershoot, 1 / u - 1, fall)
    assert after <= before * (1 + 1e-9)


def test_the_condition_of_appendix_b_is_sharp():
    # k = l = 0, an epoch that crosses the line of equal shares: better below the bound, worse above it.
    assert convergence.bounded_enough(0.49, 0.5)
    before, after = epoch(0.2, 0.49, 0.5, 0, 0)
    assert after < before
    assert not convergence.bounded_enough(0.51, 0.5)
    before, after = epoch(0.2, 0.51, 0.5, 0, 0)
    assert after > before
    assert convergence.bounded_enough(np.array([0.49, 0.51]), 0.5).tolist() == [True, False]


@pytest.mark.parametrize(("k", "l"), [(0, 1), (-0.5, 1), (0, 0), (-1 / 3, 0.5), (1, 0.5)])
def test_trajectories_of_the_spectrum_end_in_fairness(k, l):  # noqa: E741
    path = convergence.trajectory(5, 80, 100, k, l, 0.5, epochs=1500)
    assert path.w[1::2].sum(axis=1) == pytest.approx(np.full(1500, 100))
    assert (np.diff(path.t) >= 0).all()
    assert convergence.fairness_index(*path.w[-1]) < 1.01


def test_additive_decrease_with_equal_increases_never_becomes_fair():
    # Chiu and Jain: both move along the diagonal. As k grows, 1 / (k + 1) falls to 0 and k, l = 0 does that.
    path = convergence.binomial_trajectory(20, 70, 100, 0, 0, 0.5, alpha=1, epochs=50)
    assert path.gap == pytest.approx(np.full(101, 50))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: convergence.fairness_index(0, 1), "x1 must be above 0, not 0"),
        (lambda: convergence.converges(-1, 1), "k must be above -1, not -1"),
        (lambda: convergence.converges([0, 1], 1), "k must be a single number"),
        (lambda: convergence.increase(0.6, 0.6, 1, 0, 1), "total - x1 - x2 must be at least"),
        (lambda: convergence.decrease(0.1, 0.9, 0.5, 0), "share left by the decrease must be above 0"),
        (lambda: convergence.trajectory(60, 60, 100, 0, 1, 0.5), "capacity must be above 2 and at least 120"),
        (lambda: convergence.bounded_enough(0.1, 1), "undershoot must be at least 0 and below 1"),
        (
            lambda: convergence_time.efficiency_rounds("simd", 0.5, 1, 1, 9),
            "beta must be above 0 and below 0.5",
        ),
        (
            lambda: convergence_time.efficiency_rounds("aimd", 0.5, 5, 5, 9),
            "capacity - w1 - w2 must be above 0",
        ),
        (
            lambda: convergence_time.fairness_rounds("aiad", 0.5, 5, 1, 9),
            "control must be one of aimd, iiad, simd",
        ),
        (
            lambda: convergence_time.fairness_epochs("iiad", 0.9, 5, 1, 1.5),
            "2 beta / capacity must be below 1",
        ),
        (lambda: convergence_time.region(points=0), "points must be at least 1"),
    ],
)
def test_a_bad_argument_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_no_gap_takes_no_time():
    assert convergence_time.fairness_epochs("simd", BETA, np.array([0, 0.5, 1]), 1, 100).tolist() == [0, 0, 0]

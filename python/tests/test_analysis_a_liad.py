"""The increase factor of A-LIAD against the constant that its paper prints and values solved elsewhere."""

import math

import numpy as np
import pytest

from bentpipe.analysis import a_liad

# Round-trip time in ms, alpha for beta = 0.46 and for 0.45859, w_max at p = 1e-8.
SOLVED = [
    (25, 1.23876, 1.23870, 1.62e6),
    (50, 1.56792, 1.56776, 3.19e6),
    (75, 2.00030, 2.00000, 4.73e6),
    (100, 2.56481, 2.56428, 6.24e6),
    (200, 7.14407, 7.14112, 1.20e7),
    (300, 20.4824, 20.4695, 1.73e7),
    (500, 176.667, 176.474, 2.71e7),
    (600, 527.056, 526.352, 3.15e7),
]


@pytest.mark.parametrize(("ms", "at_46", "at_4586", "w_max"), SOLVED)
def test_alpha_over_the_round_trip_time(ms, at_46, at_4586, w_max):
    assert a_liad.alpha(ms / 1e3) == pytest.approx(at_46, rel=5e-6)
    assert a_liad.alpha(ms / 1e3, beta=0.45859) == pytest.approx(at_4586, rel=1e-5)
    assert a_liad.window_at_loss(at_46) == pytest.approx(w_max, rel=4e-3)


def test_eq_11_holds():
    # log_alpha(beta w_max) = 1.5787 / rtt, and eq 9 sends 1 / p segments in the epoch.
    rtt = np.array([0.001, 0.025, 0.075, 0.25, 0.6, 3.0])
    alpha = a_liad.alpha(rtt)
    n = 1.5787 / rtt
    w_max = 1e8 / ((n + 1) - 0.46 * alpha / (alpha - 1))
    assert np.log(0.46 * w_max) / np.log(alpha) == pytest.approx(n, rel=1e-9)
    assert a_liad.window_at_loss(alpha) == pytest.approx(w_max, rel=1e-9)
    assert a_liad.rate(alpha, w_max, rtt) * 1.5787 == pytest.approx(np.full(6, 1e8), rel=1e-8)


def test_the_printed_constant_needs_a_beta_of_0_4586():
    # The paper gives alpha = 2, 75 ms and 1.5787, but neither beta nor p.
    assert a_liad.epoch_seconds(2, 0.075, beta=0.45859) == pytest.approx(1.5787, abs=5e-6)
    others = a_liad.epoch_seconds(2, 0.075, beta=np.array([0.45, 0.46, 0.5]))
    assert others == pytest.approx([1.5767, 1.5790, 1.5879], abs=5e-5)


def test_the_fit():
    assert a_liad.alpha_fit(np.array([0.05, 0.075, 0.1, 0.25, 0.55])) == pytest.approx(
        [1.56806, 2.00028, 2.56456, 12.0633, 304.829], rel=5e-6
    )
    # Against values that were solved apart from this module.
    for ms, at_46, _, _ in SOLVED:
        assert a_liad.alpha_fit(ms / 1e3) == pytest.approx(at_46, rel=2e-4)
    assert np.abs(a_liad.fit_error(np.linspace(0.025, 0.6, 200))).max() < 2e-4
    assert 2e-4 < np.abs(a_liad.fit_error(np.linspace(0.005, 1, 200))).max() < 6e-3
    assert a_liad.alpha_fit(np.array([0.005, 0.7, 1.0])) == pytest.approx([1.0385, 1584.0, 4.44e4], rel=6e-3)


def test_an_epoch_counts_its_rounds():
    # alpha = 2 and w_max = 700: the gap of 322 segments halves 8.33 times down to one.
    assert a_liad.rounds(2, 700) == pytest.approx(8.33, abs=0.005)
    # Eq 9 in round numbers: beta w_max = 8, N = 3: 16 (4 - 1) / (3 * 0.5).
    assert a_liad.rate(2, 16, 0.5, beta=0.5) == pytest.approx(32)
    assert isinstance(a_liad.alpha(0.3), float)


def test_eq_9_sums_the_windows_of_eq_4():
    # Eq 4 over rounds 0..N, with N whole: alpha = 3, w_max = 200, beta w_max = 81, N = 4.
    windows = [200 - 81 * 3.0**-i for i in range(5)]
    sent = a_liad.rate(3, 200, 1, beta=0.405) * 4
    # Eq 9 lets the series of gaps run on to infinity: it is short of the sum by 1 / (alpha - 1).
    assert sum(windows) - sent == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: a_liad.alpha(0), "rtt must be above 0, not 0"),
        (lambda: a_liad.alpha(1000), "no alpha below 1e304 has an epoch of 0.0015787 round trips"),
        (lambda: a_liad.alpha_fit([0.1, 1.1]), "rtt must be at least 0.005 and at most 1, not 1.1"),
        (lambda: a_liad.rounds(1, 100), "alpha must be above 1, not 1"),
        (lambda: a_liad.rounds(2, 2), "beta w_max must be at least 1, not 0.92"),
        (lambda: a_liad.window_at_loss(1e9, p=0.99), "p must be small enough"),
        (lambda: a_liad.rate(2, 100, 0.1, beta=math.inf), "beta must be above 0 and below 1, not inf"),
    ],
)
def test_a_bad_argument_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

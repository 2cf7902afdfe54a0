"""The (k, l) controls against the tables of the spectrum paper, and against random losses drawn here."""

import numpy as np
import pytest

from bentpipe.analysis import response, spectrum, tradeoffs

BETA = 1 / 16
W = 50.0


# Table 1: (k, l), the constants of its increase rule and its increase function, and their powers of w_max.
@pytest.mark.parametrize(
    ("k", "l", "alpha", "alpha_power", "c", "c_power", "tolerance"),
    [
        (0, 1, 1.5, 0, 1.5, 0, 1e-12),
        (-1 / 3, 1, 1.89, -1 / 3, 1.4, -1 / 2, 0.017),  # rounded in the paper: see the next test
        (-1 / 2, 1, 3 / np.sqrt(2), -1 / 2, 9 / 8, -1, 1e-12),
        (0, 1 / 2, 1.5, -1 / 2, 1.5, -1 / 2, 1e-12),
        (0, 0, 1.5, -1, 1.5, -1, 1e-12),
        (-1 / 3, 1 / 2, 1.89, -2 / 3, 1.4, -1, 0.017),
    ],
)
def test_table_1(k, l, alpha, alpha_power, c, c_power, tolerance):  # noqa: E741
    assert spectrum.alpha(k, l, BETA, W, simplified=True) == pytest.approx(
        alpha * BETA ** (k + 1) * W**alpha_power, rel=tolerance
    )
    assert spectrum.c(k, l, BETA, W, simplified=True) == pytest.approx(c * BETA * W**c_power, rel=tolerance)


def test_table_1_rounds_gamma():
    # Gamma(5/2) = 3 sqrt(pi) / 4 = 1.32934. With 1.3 in its place 2.25 / 1.3^(2/3) = 1.889, which is printed.
    assert spectrum.gamma_factor(-1 / 3) == pytest.approx(3 * np.sqrt(np.pi) / 4, rel=1e-12)
    assert spectrum.alpha_factor(-1 / 3) == pytest.approx(1.86105, abs=1e-5)
    assert spectrum.c_factor(-1 / 3) == pytest.approx(1.38198, abs=1e-5)
    assert spectrum.alpha_factor(-1 / 3) != pytest.approx(1.89, abs=0.02)
    assert 2.25 / 1.3 ** (2 / 3) == pytest.approx(1.89, abs=0.005)


def test_simd():
    # Eq 8 at w_max = 20, 100, 700 with beta = 1/16, and c = (alpha / 2)^2.
    w = np.array([20.0, 100.0, 700.0])
    assert spectrum.alpha(-0.5, 1, BETA, w) == pytest.approx([0.123741, 0.0553388, 0.020916], abs=1e-6)
    assert spectrum.c(-0.5, 1, BETA, w) == pytest.approx([3.8280e-3, 7.6560e-4, 1.0937e-4], abs=1e-7)
    # The window is regained in (1 - 2 beta / 3) 0.9428 w_max round trips: 678 from 750 segments.
    assert spectrum.epoch_rounds(-0.5, 1, BETA, 750) == pytest.approx(678, abs=0.5)
    assert spectrum.epoch_rounds(0, 1, BETA, 750) == pytest.approx(484, abs=0.5)
    assert spectrum.window(90.35, 93.75, 7.6560e-4, -0.5) == pytest.approx(100, abs=0.001)


def test_aimd_is_the_case_0_1():
    beta = np.array([0.5, 1 / 8, 1 / 16])
    assert spectrum.alpha(0, 1, beta, 1234) == pytest.approx(response.aimd_friendly_alpha(beta))
    assert spectrum.alpha(0, 1, beta, 1234) == pytest.approx([1, 0.2, 0.09677], abs=1e-5)


@pytest.mark.parametrize(
    ("k", "l", "beta"), [(0, 1, 0.5), (-0.5, 1, 1 / 16), (2, 0.2, 0.9), (-0.8, 0.6, 0.3)]
)
def test_periodic_losses_give_the_rate_of_tcp(k, l, beta):  # noqa: E741
    # Appendix A: with eq 10 the rate is sqrt(3 / (2p)) per round trip, p one packet in an epoch.
    w = np.array([5.0, 80.0, 3000.0])
    packets = spectrum.epoch_packets(k, l, beta, w, periodic=True)
    rounds = spectrum.epoch_rounds(k, l, beta, w, periodic=True)
    assert packets / rounds == pytest.approx(np.sqrt(1.5 * packets), rel=1e-12)


def random_losses(k, l, beta, p=1e-3, chains=500, epochs=200, seed=1):  # noqa: E741
    """Mean window, and the window's coefficient of variation in an epoch, with losses at random.

    The windows follow eq 1 and the decrease rule; packets until the loss are exponential with mean 1 / p.
    """
    rng = np.random.default_rng(seed)
    u = 1 / (k + 1)
    w = np.full(chains, np.sqrt(1.5 / p))
    packets = rounds = variance = mean = 0.0
    for epoch in range(epochs):
        start = np.maximum(w - beta * w**l, 1)
        c = spectrum.c(k, l, beta, w)
        sent = rng.exponential(1 / p, chains)
        t = sent / start
        for _ in range(20):  # Newton, on the packets sent up to t
            t -= (start * t + c * t ** (u + 1) / (u + 1) - sent) / (start + c * t**u)
        rise = c * t**u
        w = start + rise
        if epoch >= 50:
            packets, rounds = packets + sent.sum(), rounds + t.sum()
            variance += np.mean(rise**2 * (1 / (2 * u + 1) - 1 / (u + 1) ** 2)) / (epochs - 50)
            mean += np.mean(start + rise / (u + 1)) / (epochs - 50)
    return packets / rounds, np.sqrt(variance) / mean


@pytest.mark.parametrize(
    ("k", "l", "beta"),
    [(0, 1, BETA), (-0.5, 1, BETA), (-1 / 3, 1, BETA), (0, 0.5, 2 / 3), (0, 0, 2 / 3), (1, 0.5, 1 / 3)],
)
def test_random_losses_give_nearly_the_rate_of_tcp(k, l, beta):  # noqa: E741
    # Section 3 promises sqrt(3 / (2p)) for small decreases. Without Gamma SIMD would be 40 % too fast.
    assert random_losses(k, l, beta)[0] == pytest.approx(np.sqrt(1.5e3), rel=0.04)


def test_the_smoothness_of_table_3():
    # The paper's rounded constants: 0.41 and 0.73; the windows of section 6.2.1, about 23 segments.
    assert tradeoffs.smoothness("aimd", BETA, 23) == pytest.approx(0.41 * BETA / (1 - BETA / 2), rel=0.005)
    assert tradeoffs.smoothness("simd", BETA, 23) == pytest.approx(
        0.73 * BETA / (1 - 2 * BETA / 3) ** 2, rel=0.001
    )
    assert tradeoffs.smoothness("iiad", 2 / 3, 23) == pytest.approx(0.41 * (2 / 3) / (23 - 1 / 3), rel=0.005)
    assert tradeoffs.smoothness("aiad", 2 / 3, 23) == tradeoffs.smoothness("iiad", 2 / 3, 23)
    # Its order there: IIAD and AIAD, AIMD, SIMD.
    order = [
        tradeoffs.smoothness(name, b, 23) for name, b in (("iiad", 2 / 3), ("aimd", BETA), ("simd", BETA))
    ]
    assert order == sorted(order)


def test_the_smoothness_of_table_3_under_random_losses():
    assert tradeoffs.smoothness("aimd", BETA, 1) == pytest.approx(random_losses(0, 1, BETA)[1], rel=0.04)
    w = np.sqrt(1.5e3)
    assert tradeoffs.smoothness("aiad", 2 / 3, w) == pytest.approx(random_losses(0, 0, 2 / 3)[1], rel=0.04)
    # SIMD's takes w_0 for the mean window, which costs 18 % at beta = 1/16 and 6 % at 1/64.
    assert 1.1 < tradeoffs.smoothness("simd", BETA, 1) / random_losses(-0.5, 1, BETA)[1] < 1.25
    assert tradeoffs.smoothness("simd", 1 / 64, 1) == pytest.approx(
        random_losses(-0.5, 1, 1 / 64)[1], rel=0.1
    )


def test_section_5_calls_smoothness_comparable_that_differs_by_1_8():
    # "AIMD(1/20, 1/30), SIMD(1/30) and IIAD(1, 2/3) have comparable smoothness" at 20 segments.
    aimd, iiad = tradeoffs.smoothness("aimd", 1 / 30, 20), tradeoffs.smoothness("iiad", 2 / 3, 20)
    assert aimd == pytest.approx(iiad, rel=1e-9)
    assert tradeoffs.smoothness("simd", 1 / 30, 20) / aimd == pytest.approx(1.84, abs=0.01)


# Table 5, analysis: round trips from 11 to 22 segments, losses from 22 to 11.
TABLE_5 = [
    ("aimd", 1 / 2, 14.7, 1),
    ("iiad", 2 / 3, 181.5, 16.5),
    ("simd", BETA, 41.5, 10.7),
    ("aiad", 2 / 3, 121.0, 16.5),
]


@pytest.mark.parametrize(("control", "beta", "rounds", "losses"), TABLE_5)
def test_table_5(control, beta, rounds, losses):
    assert tradeoffs.rounds_to_grow(control, beta, 11) == pytest.approx(rounds, abs=0.05)
    assert tradeoffs.losses_to_shrink(control, beta, 22) == pytest.approx(losses, abs=0.05)
    assert tradeoffs.aggressiveness(control, beta, 11) == pytest.approx(1 / rounds, rel=0.004)
    assert tradeoffs.responsiveness(control, beta, 22) == pytest.approx(1 / losses, rel=0.004)


def test_table_5_prints_117_6_for_aimd():
    # 2 * 11 / (3 / 16) = 117.33; the others of the table follow from 11 segments exactly.
    assert tradeoffs.rounds_to_grow("aimd", BETA, 11) == pytest.approx(117.333, abs=0.001)
    assert tradeoffs.losses_to_shrink("aimd", BETA, 22) == pytest.approx(10.7, abs=0.05)


def test_table_3_takes_3_4_of_a_segment_for_standard_tcp():
    # alpha = 3 beta / 2 is 3/4 at beta = 1/2; standard TCP gains 1 and needs 11 round trips, not 14.7.
    assert tradeoffs.rounds_to_grow("aimd", 0.5, 11, exact=True) == pytest.approx(11)
    assert tradeoffs.rounds_to_grow("aimd", BETA, 750 * 15 / 16, 16 / 15, exact=True) == pytest.approx(
        484.4, abs=0.1
    )
    # SIMD by eq 5 and not eq 7 needs 1 - 2 beta / 3 of the time.
    ratio = tradeoffs.rounds_to_grow("simd", BETA, 11, exact=True) / tradeoffs.rounds_to_grow(
        "simd", BETA, 11
    )
    assert ratio == pytest.approx(23 / 24)


def test_table_3_with_a_factor_of_5():
    # Fig 6: sqrt(64) 2 sqrt(2) 20 / 3, 2 * 4 * 20 * 16 / 3, 24 * 400 / 2; ln 5 / ln(16/15).
    assert tradeoffs.rounds_to_grow("simd", BETA, 20, 5) == pytest.approx(150.849, abs=0.001)
    assert tradeoffs.rounds_to_grow("aimd", BETA, 20, 5) == pytest.approx(853.333, abs=0.001)
    assert tradeoffs.rounds_to_grow("iiad", 2 / 3, 20, 5) == pytest.approx(4800)
    assert tradeoffs.losses_to_shrink("simd", BETA, 20, 5) == pytest.approx(24.937, abs=0.001)


def test_the_mean_increase_of_eq_11_makes_up_for_the_loss():
    # Random losses at p = 3 / (2 w^2) are 1 / (p w) = 2 w / 3 round trips apart; each takes beta w, if small.
    w, beta = 100.0, 1e-4
    for k in (-0.5, -1 / 3, 0, 1):
        between = spectrum.window(2 * w / 3, 0, spectrum.c(k, 1, beta, w), k)
        assert spectrum.gamma_factor(k) * between == pytest.approx(beta * w, rel=1e-3)


def test_the_window_before_the_loss():
    # w - beta w^l: 16 - 16/16 = 15; 9 - (2/3) 3 = 7; 10 - 0.5 = 9.5; 4 - 0.5 / 4 = 3.875.
    found = spectrum.window_before(
        np.array([15, 7, 9.5, 3.875]), np.array([1, 0.5, 0, -1]), np.array([1 / 16, 2 / 3, 0.5, 0.5])
    )
    assert found == pytest.approx([16, 9, 10, 4], rel=1e-10)
    assert isinstance(spectrum.window_before(15, 1, 1 / 16), float)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: spectrum.alpha(-1, 1, 0.1, 10), "k must be above -1, not -1"),
        (lambda: spectrum.alpha(0, 1.5, 0.1, 10), "l must be at most 1, not 1.5"),
        (lambda: spectrum.c(0, 1, 1, 10), "beta must be above 0 and below 1, not 1"),
        (lambda: spectrum.c(0, 0, 0.5, [3, 0.4]), r"beta w_max\^\(l-1\) must be below 1, not 1.25"),
        (lambda: spectrum.window(-1, 1, 1, 0), "t must be at least 0, not -1"),
        (lambda: spectrum.window_before(0.5, 1, 0.5), "w_0 must be at least 1, not 0.5"),
        (
            lambda: tradeoffs.smoothness("reno", 0.5, 10),
            "control must be one of aimd, iiad, simd, aiad, not 'reno'",
        ),
        (lambda: tradeoffs.rounds_to_grow("iiad", 0.5, 0.4), "beta / w must be below 1, not 1.25"),
        (lambda: tradeoffs.aggressiveness("aimd", 0.5, 10, 1), "m must be above 1, not 1"),
        (lambda: tradeoffs.losses_to_shrink("aimd", 0.5, 10, 0.5), "m must be at least 1, not 0.5"),
    ],
)
def test_a_bad_argument_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

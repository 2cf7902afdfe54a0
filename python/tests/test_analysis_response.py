"""Response functions against the tables of RFCs and numbers published for them."""

import math

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.analysis import highspeed, response

# RFC 9438, tables 1 and 2: loss rate, Reno, HSTCP, CUBIC with C = 0.04, 0.4 and 4. RFC 8312 prints 12279
# where RFC 9438 prints 12280: the formula gives 12279.5.
RTT_100_MS = [
    (1e-2, 12, 12, (12, 12, 12)),
    (1e-3, 38, 38, (38, 38, 59)),
    (1e-4, 120, 263, (120, 187, 333)),
    (1e-5, 379, 1795, (593, 1054, 1874)),
    (1e-6, 1200, 12280, (3332, 5926, 10538)),
    (1e-7, 3795, 83981, (18740, 33325, 59261)),
    (1e-8, 12000, 574356, (105383, 187400, 333250)),
]
RTT_10_MS = [
    (1e-3, 38, 38, (38, 38, 38)),
    (1e-5, 379, 1795, (379, 379, 379)),
    (1e-6, 1200, 12280, (1200, 1200, 1874)),
    (1e-7, 3795, 83981, (3795, 5926, 10538)),
    (1e-8, 12000, 574356, (18740, 33325, 59261)),
]


@pytest.mark.parametrize(("rtt", "table"), [(0.1, RTT_100_MS), (0.01, RTT_10_MS)])
def test_the_tables_of_rfc_9438(rtt, table):
    for p, reno, hstcp, cubic in table:
        # 1.2 / sqrt(p) is cut off in the table, 379.47 and 3794.73 once each way: one segment of tolerance.
        assert response.mathis(p, rtt=1, constant=highspeed.RENO_ROUNDED) == pytest.approx(reno, abs=0.6)
        assert highspeed.hstcp_window(p) == pytest.approx(hstcp, abs=0.6)
        found = highspeed.cubic_window(p, rtt, c=np.array([0.04, 0.4, 4]))
        # The table multiplies a rounded constant; five digits hold.
        assert found == pytest.approx(np.array(cubic), rel=2e-5, abs=0.6)


def test_the_loss_rates_of_rfc_9438_table_3():
    # 1500-byte packets, RTT 0.1 s: throughput, window, and the loss rates of Reno, HSTCP and CUBIC.
    for w, hstcp, cubic in [(83.3, 3.9e-4, 2.9e-4), (833.3, 2.5e-5, 1.4e-5), (8333.3, 1.5e-6, 6.3e-7)]:
        assert highspeed.cubic_window(cubic, 0.1, reno=0) == pytest.approx(w, rel=0.02)
        # Two digits are printed, up to 3.3 % off, of p(w), which the rounding sets 3 % apart from w(p).
        assert highspeed.hstcp_window(hstcp) == pytest.approx(w, rel=0.063)
    assert highspeed.hstcp_window(2.0e-2) == pytest.approx(8.3, rel=0.03)


# RFC 3649, appendix B: the smallest window of each increase, and the decrease there.
@pytest.mark.parametrize(
    ("w", "a", "b"),
    [
        (118, 2, 0.44),
        (221, 3, 0.41),
        (347, 4, 0.38),
        (495, 5, 0.37),
        (663, 6, 0.35),
        (1058, 8, 0.33),
        (2378, 13, 0.28),
        (5036, 20, 0.25),
        (10661, 30, 0.21),
        (21013, 42, 0.17),
        (40808, 56, 0.14),
        (53677, 62, 0.12),
        (84035, 71, 0.10),
        (94717, 73, 0.09),
    ],
)
def test_appendix_b_of_rfc_3649(w, a, b):
    # The table gives the first whole window whose a(w), cut off, is `a`, or nearly so in its last rows.
    assert highspeed.hstcp_increase(w) == pytest.approx(a, abs=0.06)
    assert highspeed.hstcp_decrease(w) == pytest.approx(b, abs=0.0051)


def test_hstcp_is_reno_for_small_windows():
    w = np.array([1.0, 10.0, 38.0])
    assert highspeed.hstcp_increase(w).tolist() == [1, 1, 1]
    assert highspeed.hstcp_decrease(w).tolist() == [0.5, 0.5, 0.5]
    assert highspeed.hstcp_decrease(83_000) == pytest.approx(0.1)


def test_scalable_tcp():
    assert highspeed.scalable_window(1e-4) == pytest.approx(748.9, abs=0.1)


def test_cubic_without_the_region_of_reno():
    # RFC 9438, eq 7.
    assert highspeed.cubic_window(1, 1, reno=0) == pytest.approx(1.054, abs=5e-4)


# A round trip of 1 s and a timeout of 4 s: segments per second.
TIMEOUTS = np.array([1e-4, 1e-3, 1e-2, 5e-2]), np.array([122.36, 38.38, 11.23, 3.69])


def test_pftk_rfc_5348_and_aimd_with_timeouts_agree_at_small_loss_rates():
    p, rate = TIMEOUTS
    assert response.pftk(p, 1, 4) == pytest.approx(rate, abs=0.005)
    assert response.tfrc(p, 1) == pytest.approx(rate, abs=0.005)
    assert response.aimd_rate(p, 1, 4, 1, 0.5) == pytest.approx(rate, abs=0.005)


def test_the_share_of_timeouts_is_bounded_in_pftk_but_not_in_rfc_5348():
    # 3 sqrt(3p/8) is 1 at p = 8/27.
    assert response.pftk(8 / 27 * 0.999, 1, 4) == pytest.approx(response.tfrc(8 / 27 * 0.999, 1))
    assert response.pftk(0.5, 1, 4) > 1.25 * response.tfrc(0.5, 1)


def test_the_limits_of_the_full_model():
    # Padhye et al., section 2.1: sqrt(3 / (2 b p)) / rtt for small p; section 2.2: the backoff ends at 64 t0.
    for b in (1, 2):
        assert response.pftk_full(1e-9, 0.5, 1, b=b) * math.sqrt(1e-9) == pytest.approx(
            math.sqrt(3 / (2 * b)) / 0.5, rel=1e-4
        )
    assert response.pftk_full(1 - 1e-7, 0.1, 2) == pytest.approx(1 / (64 * 2), rel=1e-3)
    # Section 2.3: the receiver's window per round trip, if nothing is lost.
    assert response.pftk_full(1e-9, 0.5, 1, w_max=20) == pytest.approx(40, rel=1e-4)
    assert response.pftk(1e-9, 0.5, 1, w_max=20) == 40


def test_the_full_model_by_hand():
    # b = 1, p = 1/4: E[W] = 1 + sqrt(8 + 1) = 4. Q(4) = (37/64)(1 + 27/64 * 1/4) / (175/256) = 10471/11200.
    # Sent: 3 + 4 + 4/3 Q. f(1/4) = 1 + 1/4 + 2/16 + 4/64 + 8/256 + 16/1024 + 32/4096 = 1.4921875.
    q = 10471 / 11200
    expected = (7 + 4 / 3 * q) / (0.5 * 3 + 4 / 3 * q * 2 * 1.4921875)
    assert response.pftk_full(0.25, 0.5, 2) == pytest.approx(expected, rel=1e-12)
    # The receiver's window of 3 ends every loss with a timeout: 3 + 3 + 4/3 sent in 3/8 + 1 + 2 round trips.
    limited = (6 + 4 / 3) / (0.5 * 3.375 + 4 / 3 * 2 * 1.4921875)
    assert response.pftk_full(0.25, 0.5, 2, w_max=3) == pytest.approx(limited, rel=1e-12)


def test_the_approximate_model_is_near_the_full_one():
    p = np.logspace(-5, -2, 20)
    assert response.pftk(p, 0.2, 1) == pytest.approx(response.pftk_full(p, 0.2, 1), rel=0.03)


@pytest.mark.parametrize(
    ("alpha", "beta", "constant"),
    [(1, 0.5, 1.2247), (0.2, 0.125, 1.2247), (1, 0.2, 2.1213), (1, 0.3, 1.6833), (0.5294, 0.3, 1.2247)],
)
def test_the_constants_of_aimd(alpha, beta, constant):
    assert response.aimd_window(1.0, alpha, beta) == pytest.approx(constant, abs=1e-4)
    assert response.aimd_window(1e-4, alpha, beta) == pytest.approx(100 * constant, abs=1e-2)


def test_aimd_under_independent_losses():
    # Ott, Kemperman, Mathis 1996: 1.3098 for Reno. By hand, for beta = 1/2 and q = 1/4, the product is
    # 7/6 * 31/30 * 127/126 * 511/510 * ... = 1.218300, times Gamma(3/2) and sqrt(2); 2 over that.
    assert response.aimd_window_random(1.0) == pytest.approx(1.3098, abs=1e-4)
    assert response.aimd_window_random(1e-4) == pytest.approx(
        2 / (1.218300 * 0.886227 * 2**0.5) * 100, rel=1e-5
    )
    # Drawn at random by the rules: AIMD(1/5, 1/8) 124.8, AIMD(0.09677, 1/16) 123.8 at a loss rate of 1e-4.
    found = response.aimd_window_random(1e-4, np.array([0.2, 0.09677]), np.array([1 / 8, 1 / 16]))
    assert found == pytest.approx([124.8, 123.8], rel=0.01)
    # For small decreases the pattern of the losses does not matter.
    assert response.aimd_window_random(1e-4, 1.0, 1e-3) == pytest.approx(
        response.aimd_window(1e-4, 1.0, 1e-3), rel=2e-4
    )


def test_delayed_acknowledgements_slow_reno():
    assert response.mathis(1e-4, 0.5, 1000, math.sqrt(3 / 4)) == pytest.approx(
        0.8660 * 1000 / 0.5 * 100, rel=1e-4
    )
    assert response.mathis(1e-4, 0.5, 1000) == pytest.approx(1.2247 * 1000 / 0.5 * 100, rel=1e-4)


def test_the_friendly_increase_of_aimd():
    # Spectrum, section 6: AIMD(1/5, 1/8) and about AIMD(1/10, 1/16).
    assert response.aimd_friendly_alpha(np.array([1 / 2, 1 / 8, 1 / 16])) == pytest.approx(
        [1, 0.2, 0.09677], abs=1e-5
    )


def test_binomial_controls():
    # IIAD(1, 2/3) and SQRT(1, 2/3) are TCP-friendly: sqrt(3/2) / sqrt(p).
    for k, l in ((1, 0), (0.5, 0.5)):  # noqa: E741
        assert response.binomial_window(1e-4, 1, 2 / 3, k, l) == pytest.approx(122.47, abs=0.01)
    # Inverse to the cube root of p for k + l = 2.
    assert response.binomial_window(1e-6, 1, 1, 1, 1) == pytest.approx(100)


def test_numbers_give_numbers_and_arrays_give_arrays():
    assert isinstance(response.pftk_full(0.01, 0.1, 1), float)
    assert isinstance(highspeed.hstcp_decrease(100), float)
    grid = response.pftk_full(np.full((2, 1), 0.01), np.full(3, 0.1), 1, w_max=np.inf)
    assert grid.shape == (2, 3)
    assert bp.analysis.response is response
    assert bp.analysis.jain([1, 1]) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: response.mathis(0, 1), "p must be above 0 and at most 1, not 0"),
        (lambda: response.mathis([0.1, 1.5], 1), "p must be above 0 and at most 1, not 1.5"),
        (lambda: response.mathis(0.1, "fast"), "rtt must be a number or an array of numbers, not 'fast'"),
        (lambda: response.mathis(math.nan, 1), "p must be above 0 and at most 1, not nan"),
        (lambda: response.pftk(0.1, math.inf, 1), "rtt must be above 0, not inf"),
        (lambda: response.pftk_full(1.0, 1, 1), "p must be below 1, not 1"),
        (lambda: response.pftk(0.1, 1, 1, b=0.5), "b must be at least 1, not 0.5"),
        (lambda: response.aimd_window(0.1, 1, 1), "beta must be above 0 and below 1, not 1"),
        (lambda: response.binomial_window(0.1, 1, 1, -1, 0), "k . l must be above -1, not -1"),
        (lambda: highspeed.hstcp_increase(6e5), "w must be above 0 and below 567"),
        (lambda: highspeed.cubic_window(0.1, -1), "rtt must be above 0, not -1"),
        (lambda: bp.analysis.nothing, "no attribute 'nothing'"),
    ],
)
def test_a_bad_argument_is_named(call, message):
    with pytest.raises((ValueError, AttributeError), match=message):
        call()

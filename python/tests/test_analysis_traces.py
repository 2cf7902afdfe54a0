"""Quantities of traces: by hand on small ones, against the spectrum paper on drawn ones, and on a run."""

import math

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.analysis import spectrum, traces

SAW = np.array([0, 4, 4, 8, 8, 12.0]), np.array([6, 10, 5, 10, 5, 10.0])
"""A window from 5 to 10 segments in 4 s, cut in half: at 4 s and 8 s."""


def test_a_decrease_over_several_rows_is_one():
    found = traces.cuts(np.array([10, 11, 9, 7, 6, 8, 8, 7.9, 9, 4]))
    assert found.peak.tolist() == [1, 6, 8]
    assert found.after.tolist() == [4, 7, 9]
    # 11 to 6 is 45 %, 8 to 7.9 is 1 %, 9 to 4 is 56 %.
    assert traces.cuts(np.array([10, 11, 9, 7, 6, 8, 8, 7.9, 9, 4]), least=0.05).peak.tolist() == [1, 8]
    assert traces.cuts(np.array([3.0])).peak.size == 0


def test_values_hold_until_the_next_row():
    t, w = SAW
    assert traces.hold(t, w, np.array([0, 3.9, 4, 11, 12, 99])).tolist() == [6, 6, 5, 5, 10, 10]


def test_round_trips_between_two_moments():
    t = np.array([0, 1, 2.0])
    assert traces.rounds_between(t, 0.25, 0.5, 1.5) == pytest.approx(4)
    # Half a second at 0.1 s, one at 0.2 s, half at 0.5 s.
    assert traces.rounds_between(t, np.array([0.1, 0.2, 0.5]), 0.5, 2.5) == pytest.approx(5 + 5 + 1)


def test_the_window_of_a_saw_tooth_varies():
    # Uniform from 5 to 10: 5 / sqrt(12) over 7.5. The part before the first cut is no complete epoch.
    assert traces.epoch_smoothness(*SAW) == pytest.approx(5 / math.sqrt(12) / 7.5, rel=1e-12)


def drawn(k, beta, p, epochs, seed):
    """A window with random losses, two rows per round trip at least, and its round-trip time of 1 s."""
    rng = np.random.default_rng(seed)
    w, now, rows = math.sqrt(1.5 / p), 0.0, []
    for _ in range(epochs):
        start, c, sent = w * (1 - beta), spectrum.c(k, 1, beta, w), rng.exponential(1 / p)
        t = np.linspace(0, sent / start, 40)
        u = 1 / (k + 1)
        total = start * t + c * t ** (u + 1) / (u + 1)
        t = t[: max(2, int(np.searchsorted(total, sent)))]
        window = start + c * t**u
        rows.append(np.column_stack([now + t, window]))
        now, w = now + t[-1], window[-1]
    found = np.concatenate(rows)
    return found[:, 0], found[:, 1]


def test_smoothness_of_random_losses_agrees_with_table_3():
    # Spectrum, table 3 with the paper's 0.41: AIMD(1/16).
    t, w = drawn(0, 1 / 16, 1e-3, 4000, 7)
    assert traces.epoch_smoothness(t, w) == pytest.approx(0.41 / 16 / (1 - 1 / 32), rel=0.06)


def test_smoothness_of_throughput_depends_on_the_scale():
    # 1 and 3 units in turn: 1/2 of the mean at 1 s, nothing at 2 s, sqrt(2)/6 of it at 3 s (5, 7, 5, 7).
    t = np.arange(13.0)
    total = np.concatenate([[0], np.cumsum(np.tile([1, 3], 6))])
    assert traces.smoothness(t, total, 1) == pytest.approx(0.5)
    assert traces.smoothness(t, total, 2) == pytest.approx(0)
    assert traces.smoothness(t, total, 3) == pytest.approx(1 / 6)
    assert traces.smoothness(t, total, 2, start=1, stop=9.5) == pytest.approx(0)
    assert traces.smoothness(t, total, 1, start=0.5) == pytest.approx(0)
    assert math.isnan(traces.smoothness(t, np.zeros(13), 1))


def test_smoothness_of_poisson_arrivals():
    # The number in an interval of mean n varies by 1 / sqrt(n).
    rng = np.random.default_rng(3)
    t = np.arange(0, 4000, 0.1)
    total = np.cumsum(rng.poisson(5.0, t.size))
    for scale, mean in ((0.1, 5), (1.0, 50), (10.0, 500)):
        assert traces.smoothness(t, total, scale) == pytest.approx(1 / math.sqrt(mean), rel=0.08)


def test_two_flows_to_efficiency_and_fairness():
    t = np.array([0, 1, 2, 3, 4, 5, 6.0])
    w1 = np.array([10, 20, 30, 40, 25, 24, 26])
    w2 = np.array([50, 52, 54, 27, 29, 30, 31])
    assert traces.efficiency_seconds(t, w1, w2, 0.5) == pytest.approx(2.5)
    assert traces.efficiency_seconds(t, w1, w2, 3) == pytest.approx(1)
    assert traces.efficiency_seconds(t, w1, w2, 5) == math.inf
    # Differences: 40, 32, 24, 13, 4, 6, 5.
    assert traces.fairness_seconds(t, w1, w2, 1, 10) == pytest.approx(3)
    assert traces.fairness_seconds(t, w1, w2, 1, 5.5) == pytest.approx(5)
    assert traces.fairness_seconds(t, w1, w2, 1, 5.5, stay=1) == pytest.approx(3)
    assert traces.fairness_seconds(t, w1, w2, 1, 5.5, stay=1.1) == math.inf
    assert traces.fairness_seconds(t, w1, w2, 1, 5) == math.inf
    assert traces.fairness_seconds(t, w1, w2, 4.5, 10) == 0


def test_growth_and_shrinking():
    t, w = SAW
    assert traces.rounds_to_grow(t, w, 0.5, 0, 10) == pytest.approx(8)
    assert traces.rounds_to_grow(t, w, 0.5, 4, 11) == pytest.approx(8)
    assert traces.rounds_to_grow(t, w, 0.5, 4, 11, tolerance=0) == math.inf
    assert traces.rounds_to_grow(t, w, 0.5, 0, 7) == 0
    assert traces.aggressiveness(t, w, 0.5, 0, 10) == pytest.approx(1 / 8)
    assert traces.aggressiveness(t, w, 0.5, 4, 20) == 0
    w = np.array([64, 32, 33, 16, 17, 8.0])
    assert traces.losses_to_shrink(t, w, 0, 16) == 2
    assert traces.losses_to_shrink(t, w, 4.5, 9) == 2
    assert traces.losses_to_shrink(t, w, 8.5, 9) == 1
    assert traces.losses_to_shrink(t, w, 0, 3) == math.inf
    assert traces.responsiveness(t, w, 0, 8, 0) == pytest.approx(1 / 3)
    assert traces.responsiveness(t, w, 0, 3) == 0


def scenario(cc, **flow):
    # The path holds far more than any window here, so that the round-trip time stays at 200 ms.
    link = bp.Link(rate="100 Mbit/s", delay="100 ms", queue=bp.DropTail("5000 packets"))
    return bp.Scenario(
        links={"sat": link},
        flows=[bp.Flow(cc, ["sat"], name="one", profile="paper", initial_window=20, **flow)],
        duration="8 s",
        record=bp.Record("change"),
    )


def test_reno_gains_one_segment_per_round_trip():
    # RFC 5681, section 3.1; with an ACK per segment. From 20 segments 21 to 40 takes 19 round trips of 200 ms
    # and the transmission of 20 to 40 segments of 1500 bytes each, 1.6 to 3.2 ms, hardly more.
    result = bp.run(scenario("reno", initial_ssthresh=20))
    t, w, srtt = traces.columns(result.trace, "one", "cwnd", "srtt_s")
    known = srtt > 0
    t, w, srtt = t[known], w[known], srtt[known]
    begin = t[np.argmax(w >= 21)]
    assert traces.rounds_to_grow(t, w, srtt, begin, 40, tolerance=0) == pytest.approx(19, rel=0.06)


def test_the_columns_of_a_flow():
    trace = bp.run(scenario("reno")).trace
    t, w = traces.columns(trace, "one", "cwnd")
    assert t.dtype == w.dtype == np.float64
    assert t.shape == w.shape == (trace.height,)
    with pytest.raises(ValueError, match="the trace has no flow 'two'; it has one"):
        traces.columns(trace, "two", "cwnd")
    with pytest.raises(ValueError, match="the trace has no column 'window'; it has t_s, flow, cwnd"):
        traces.columns(trace, "one", "window")


T = np.array([0, 1, 2.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: traces.hold(T, T[:2], T), "values must have as many rows as t, 3, not 2"),
        (lambda: traces.hold(T[::-1], T, T), "the step from row to row of t must be at least 0, not -1"),
        (lambda: traces.hold(T + 1, T, T), "at must be at least 1, not 0"),
        (lambda: traces.hold(T[:0], T[:0], T), "t must have at least one row"),
        (lambda: traces.cuts(np.array([1, 0.0])), "w must be above 0, not 0"),
        (lambda: traces.cuts(np.ones((2, 2))), "w must have one dimension, not 2"),
        (lambda: traces.rounds_between(T, 0, 0, 1), "rtt must be above 0, not 0"),
        (lambda: traces.rounds_between(T, 1, 1, 0), "stop must be at least 1, not 0"),
        (
            lambda: traces.smoothness(T, T, 0.5),
            "must not be below the largest distance of two rows, 1 s",
        ),
        (lambda: traces.smoothness(T, T, 2), "there must be at least two intervals of 2 s in 2 s"),
        (lambda: traces.smoothness(T, -T, 1), "the growth of delivered must be at least 0, not -1"),
        (lambda: traces.epoch_smoothness(T, T + 1), "at least one epoch between two decreases"),
        (lambda: traces.fairness_seconds(T, T, T, 3, 1), "start must be at least 0 and at most 2, not 3"),
        (lambda: traces.fairness_seconds(T, T, T, 0, 0), "bound must be above 0, not 0"),
        (lambda: traces.rounds_to_grow(T, T + 1, 0.1, 0, 0), "target must be above 0, not 0"),
        (lambda: traces.aggressiveness(T, T + 5, 0.1, 0, 4), "not reached at start already"),
        (lambda: traces.responsiveness(T, T + 1, 0, 4), "not down to at start already"),
    ],
)
def test_a_bad_argument_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

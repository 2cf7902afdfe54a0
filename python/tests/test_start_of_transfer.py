"""How a transfer starts: the choices of slow_start, Careful Resume and newCWV, over a geostationary link."""

import polars as pl
import pytest

import bentpipe as bp

# 1000 segments of 1500 bytes in 600 ms.
BDP = 1000


def flow(chosen, *, size=None, queue="1 bdp", duration="20 s", rate="20 Mbit/s", **keys) -> dict:
    """The result of one transfer over a geostationary link."""
    link = bp.Link(rate=rate, delay="300 ms", queue=bp.DropTail(queue))
    traffic = {"traffic": bp.Bulk(size=size)} if size else {}
    sender = bp.Flow(path=["sat"], name="f", cc=chosen, **{**traffic, **keys})
    scenario = bp.Scenario(links={"sat": link}, flows=[sender], duration=duration, seed=1)
    return bp.run(scenario).flows.row(0, named=True)


def cc(choice: str, **constants) -> dict:
    return {"name": "cubic", "slow_start": choice, **constants}


def test_search_leaves_before_loss_if_the_buffer_gives_it_time() -> None:
    """The claim of SEARCH's authors (draft-chung-ccwg-search, abstract): it leaves slow start after the
    congestion point and before loss. Here that takes a buffer of some six bandwidth-delay products; with one
    it decides after the loss."""
    plain, search = (flow(cc("standard"), queue="8 bdp"), flow(cc("search"), queue="8 bdp"))
    assert plain["retransmitted_packets"] > 5000
    assert search["retransmitted_packets"] == 0
    small = [flow(cc(choice))["retransmitted_packets"] for choice in ("standard", "search")]
    assert small[0] == small[1] > 500


def left(**constants) -> float:
    """The first finite ssthresh with a large buffer."""
    link = bp.Link(rate="20 Mbit/s", delay="300 ms", queue=bp.DropTail("20 bdp"))
    sender = bp.Flow(path=["sat"], name="f", cc=cc("search", **constants))
    record = bp.Record(interval="10 ms")
    scenario = bp.Scenario(links={"sat": link}, flows=[sender], duration="12 s", seed=1, record=record)
    return bp.run(scenario).trace.filter(pl.col("ssthresh").is_finite())["ssthresh"][0]


def expected_window(thresh: float) -> int:
    """SEARCH on a loop of its own: slow start from 10 segments, an ACK for every second one."""
    clock, window, flying, delivered = 0.0, 10, 10, 0
    waiting: list[tuple[float, float]] = []
    acks: list[tuple[float, float]] = []
    counts: list[int] = []
    bin_s = ends = 0.0

    def send(now: float, segments: int) -> None:
        nonlocal clock
        for _ in range(segments):
            clock = max(clock, now) + 1500 * 8 / 20e6
            waiting.append((clock + 0.6, now))
            if len(waiting) == 2:
                acks.append(waiting[1])
                waiting.clear()

    def so_far(back: float) -> float:
        low, high = (counts[max(0, len(counts) - 1 - int(back) - i)] for i in (0, 1))
        return low + (back % 1) * (high - low)

    send(0.0, 10)
    while True:
        now, sent = acks.pop(0)
        delivered, flying, rtt = delivered + 2, flying - 2, now - sent
        if not counts:
            bin_s, ends, counts = 0.35 * rtt, now + 0.35 * rtt, [delivered]
        elif now >= ends:
            passed = int((now - ends) / bin_s) + 1
            counts += [counts[-1]] * (passed - 1) + [delivered]
            ends += passed * bin_s
            back = rtt / bin_s
            if len(counts) - 1 - int(back) >= 10:
                twice = 2 * (so_far(back) - so_far(back + 10))
                if (twice - so_far(0) + so_far(10)) / twice >= thresh:
                    return window
        window += 2
        send(now, window - flying)
        flying = window


@pytest.mark.parametrize("thresh", [0.2, 0.35, 0.4])
def test_search_leaves_where_a_loop_of_its_own_says(thresh) -> None:
    assert left(search_thresh=thresh) == pytest.approx(expected_window(thresh), rel=0.01)


@pytest.mark.parametrize("exit_", ["rollback", "drain"])
def test_search_may_drain_the_queue(exit_) -> None:
    keep, drained = (flow(cc("search", **more), queue="8 bdp") for more in ({}, {"search_exit": exit_}))
    assert drained["rtt_mean_s"] < keep["rtt_mean_s"]
    assert drained["retransmitted_packets"] == 0


def test_limited_slow_start_bounds_the_loss() -> None:
    """At most 50 segments a round trip are too many, the standard slow start overshoots by up to all."""
    plain, limited = (flow(cc(choice), duration="60 s") for choice in ("standard", "limited"))
    assert 0 < limited["retransmitted_packets"] < 100 < plain["retransmitted_packets"]


def test_rapid_start_is_faster_and_its_descent_keeps_the_link_busy() -> None:
    """Three times a round trip, not twice: 1400 segments take log3 instead of log2 of 140 round trips."""
    times = {choice: flow(cc(choice), size="2 MB")["completion_s"] for choice in ("standard", "rapid")}
    assert 1.0 < times["standard"] - times["rapid"] < 2.5
    assert flow(cc("rapid"))["goodput_bps"] > flow(cc("standard"))["goodput_bps"]


def test_swift_start_saves_round_trips() -> None:
    """The first ACKs show 1000 segments; an eighth of that instead of 20 saves more than two round trips."""
    times = {choice: flow(cc(choice), size="1 MB")["completion_s"] for choice in ("standard", "swift")}
    assert 2 * 0.6 < times["standard"] - times["swift"] < 4 * 0.6


RESUMED = {"name": "cubic", "resume_cwnd": BDP, "resume_rtt": 0.6}


def test_careful_resume_saves_round_trips() -> None:
    """RFC 9959 section 1.3 expects 62 % less for 1 MB over a geostationary link. A jump to 500 segments
    after the initial window needs fewer round trips than doubling to it, and no loss."""
    plain, resumed = (flow(chosen, size="1 MB") for chosen in ("cubic", RESUMED))
    assert plain["completion_s"] - resumed["completion_s"] > 2.5 * 0.6
    assert resumed["retransmitted_packets"] == 0
    longer = [flow(chosen, size="5.3 MB", queue="2 bdp")["completion_s"] for chosen in ("cubic", RESUMED)]
    assert longer[1] < longer[0] - 2 * 0.6


def test_a_saved_window_ten_times_too_large_is_retreated_from() -> None:
    """5000 segments paced over a path of 1000 and its buffer of 1000: the loss is bounded by the jump, and
    the connection goes on at half of what arrived."""
    wrong = flow({**RESUMED, "resume_cwnd": 10 * BDP}, size="10 MB", duration="60 s")
    bounded = flow(
        {**RESUMED, "resume_cwnd": 10 * BDP, "resume_max_jump": 500}, size="10 MB", duration="60 s"
    )
    assert wrong["completion_s"] is not None and wrong["timeouts"] == 0
    assert wrong["retransmitted_packets"] < 5 * BDP
    assert bounded["completion_s"] < wrong["completion_s"]


def test_a_path_with_half_the_round_trip_is_not_resumed() -> None:
    plain, other = (flow(chosen, size="1 MB") for chosen in ("cubic", {**RESUMED, "resume_rtt": 1.3}))
    assert other["completion_s"] == plain["completion_s"]


def bursts(**keys) -> pl.DataFrame:
    """Bursts of 300 kB with pauses of 5 s over a geostationary link."""
    link = bp.Link(rate="20 Mbit/s", delay="300 ms", queue=bp.DropTail("2 bdp"))
    sender = bp.Flow(path=["sat"], name="f", traffic=bp.OnOff(size="300 kB", off="5 s"), **keys)
    record = bp.Record(transfers=True, flows=False)
    scenario = bp.Scenario(links={"sat": link}, flows=[sender], duration="40 s", seed=1, record=record)
    return bp.run(scenario).transfers


def test_newcwv_keeps_the_window_over_a_pause() -> None:
    """208 segments a burst. With the restart of RFC 5681 each takes four round trips and more, with newCWV
    one and what 208 segments take."""
    restarted = bursts(cc="cubic")["completion_s"]
    kept = bursts(cc={"name": "cubic", "window_validation": "newcwv"})["completion_s"]
    assert restarted[2] > 4 * 0.6
    assert kept[2] < 2.1 * 0.6


def test_after_its_period_newcwv_halves_the_window() -> None:
    short = {"name": "cubic", "window_validation": "newcwv", "newcwv_nvp": 4.0}
    kept = bursts(cc={"name": "cubic", "window_validation": "newcwv"})["completion_s"]
    halved = bursts(cc=short)["completion_s"]
    assert kept[2] == kept[1] < halved[2]


@pytest.mark.parametrize(
    ("chosen", "keys", "message"),
    [
        ({"name": "bbr", "resume_cwnd": 100, "resume_rtt": 0.6}, {}, "bbr has no Careful Resume"),
        ({"name": "cubic", "resume_cwnd": 100}, {}, "resume_cwnd needs resume_rtt"),
        ({"name": "cubic", "search_thresh": 0.3}, {}, 'goes with slow_start = "search" only'),
        ({"name": "vegas", "slow_start": "rapid"}, {}, "vegas cannot start with"),
        ({"name": "bbr", "window_validation": "newcwv"}, {}, "bbr cannot validate its window"),
        (
            {"name": "cubic", "window_validation": "newcwv"},
            {"idle_restart": "linux"},
            "takes the place of the restart",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(chosen, keys, message) -> None:
    with pytest.raises(bp.ScenarioError, match=message):
        flow(chosen, **keys)

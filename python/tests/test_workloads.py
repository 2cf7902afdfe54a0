"""Traffic that comes and goes, against arithmetic by hand and queueing theory."""

from __future__ import annotations

import json
import math
import statistics

import polars as pl
import pytest

import bentpipe as bp

PROMPT = {"delayed_ack": False, "mss": "1448 bytes"}


def run(
    traffic, *, rate="10 Mbit/s", delay="250 ms", duration="60 s", seed=1, queue=None, **flow
) -> bp.Result:
    link = bp.Link(rate=rate, delay=delay, queue=queue or bp.DropTail("10000 packets"))
    flow = {"cc": "reno", "name": "app", **flow}
    return bp.run(
        bp.Scenario(
            links={"sat": link},
            flows=[bp.Flow(path=["sat"], traffic=traffic, **flow)],
            duration=duration,
            seed=seed,
            record=bp.Record(transfers=True, flows=False),
        )
    )


def row(result: bp.Result, name: str = "app") -> dict:
    return result.flows.row(by_predicate=pl.col("name") == name, named=True)


@pytest.mark.parametrize(
    ("segments", "rounds"),
    [(1, 0), (10, 0), (30, 1), (70, 2), (150, 3)],
)
def test_a_short_flow_on_an_empty_link_takes_what_slow_start_takes(segments, rounds) -> None:
    """RFC 6928: ten segments at first, then twice as many with each round trip.

    By hand for 10 Mbit/s and 250 ms one way: SYN and SYN-ACK of 60 bytes take 48 us each, segments of 1500
    bytes 1.2 ms, acknowledgements of 52 bytes 41.6 us, and that of the SYN-ACK goes ahead of the data.
    The first acknowledgement of a flight sets out the next, which the transmitter then sends without a gap.
    """
    opening = 2 * (0.25 + 48e-6) + 41.6e-6
    round_trip = 1.2e-3 + 0.25 + 41.6e-6 + 0.25
    last = segments - 10 * (2**rounds - 1)
    wanted = opening + rounds * round_trip + last * 1.2e-3 + 0.25 + 41.6e-6 + 0.25
    traffic = bp.ShortFlows(f"{segments * 1448} bytes", per_second=0.05)
    result = run(traffic, duration="200 s", seed=3, **PROMPT)
    found = result.transfers.filter(pl.col("completion_s").is_not_null())
    assert found.height >= 5
    assert found["completion_s"].to_list() == pytest.approx([wanted] * found.height, abs=2e-9)


def test_arrivals_are_a_poisson_process() -> None:
    """Counts of a second vary as much as their mean says; gaps are exponential (Kolmogorov, Smirnov)."""
    from scipy import stats

    starts = (
        run(bp.ShortFlows("100 bytes", per_second=20.0), duration="500 s").transfers["start_s"].to_numpy()
    )
    counts = [int(((starts >= t) & (starts < t + 1)).sum()) for t in range(500)]
    mean = sum(counts) / len(counts)
    variance = sum((c - mean) ** 2 for c in counts) / (len(counts) - 1)
    assert mean == pytest.approx(20, abs=4 * math.sqrt(20 / 500))
    assert variance / mean == pytest.approx(1, abs=4 * math.sqrt(2 / 500))
    gaps = [b - a for a, b in zip(starts[:-1], starts[1:], strict=True)]
    assert stats.kstest(gaps, "expon", args=(0, 1 / 20)).pvalue > 0.01


def test_load_is_a_part_of_the_slowest_link() -> None:
    result = run(bp.ShortFlows("20 kB", load=0.4), rate="4 Mbit/s", delay="5 ms", duration="300 s")
    flow = row(result)
    # 0.4 * 4 Mbit/s / 160 kbit = 10 connections a second; the count has a standard deviation of its root.
    assert flow["transfers"] == pytest.approx(3000, abs=4 * math.sqrt(3000))
    assert flow["goodput_bps"] == pytest.approx(flow["transfers"] * 160e3 / 300, rel=0.01)
    assert flow["completed"] >= flow["transfers"] - 20


def test_completion_at_half_load_is_that_of_processor_sharing() -> None:
    """M/G/1-PS: a transfer that takes x alone takes x / (1 - load) on average, whatever the law of sizes.

    TCP needs a handshake and a slow start besides, which are short here; a queue per flow shares the link.
    """
    mean = 500_000
    size = bp.Exponential(f"{mean} bytes")
    queue = bp.FqCodel("10000 packets")
    result = run(
        bp.ShortFlows(size, load=0.5), rate="20 Mbit/s", delay="1 ms", duration="1500 s", queue=queue
    )
    flow = row(result)
    wire = 1500 / 1448
    alone = mean * 8 * wire / 20e6
    assert flow["completed"] > 3000
    assert flow["completion_mean_s"] == pytest.approx(alone / (1 - 0.5 * wire), rel=0.15)


def test_one_row_stands_for_many_connections(tmp_path) -> None:
    result = run(bp.ShortFlows(bp.Pareto("5 kB", 1.2, "1 MB"), per_second=50.0), rate="100 Mbit/s")
    flow, each = row(result), result.transfers
    assert result.flows.height == 1 and flow["transfers"] == each.height > 2500
    done = each["completion_s"].drop_nulls()
    assert flow["completed"] == done.len()
    assert flow["completion_mean_s"] == pytest.approx(done.mean())
    for key, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        wanted = done.quantile(share, interpolation="linear")
        assert flow[f"completion_{key}_s"] == pytest.approx(wanted)
    assert sum(v for k, v in flow.items() if k.startswith("limited_")) == pytest.approx(1)
    assert flow["limited_handshake"] > 0.1
    assert len(json.dumps(result.json)) < 5_000
    result.save(tmp_path / "kept")
    assert bp.Result.load(tmp_path / "kept").transfers.equals(each)


def test_arrivals_and_sizes_are_those_of_the_seed_and_the_name() -> None:
    traffic = bp.ShortFlows(bp.Exponential("20 kB"), per_second=2.0)
    one = run(traffic).transfers.select("start_s", "bytes")
    assert run(traffic, cc="cubic", delay="20 ms").transfers.select("start_s", "bytes").equals(one)
    assert not run(traffic, seed=2).transfers.select("start_s", "bytes").equals(one)
    assert not run(traffic, name="other").transfers.select("start_s", "bytes").equals(one)


def test_a_burst_is_followed_by_silence() -> None:
    """Bursts of 20 segments: handshake, then two flights; 5 s of silence from the last acknowledgement on."""
    found = run(bp.OnOff(size="28960 bytes", off="5 s"), **PROMPT)
    each = found.transfers
    starts, times = each["start_s"].to_list(), each["completion_s"].to_list()
    assert each["bytes"].to_list() == [28_960] * each.height
    gaps = [b - a - took for a, b, took in zip(starts[:-1], starts[1:], times[:-1], strict=True)]
    assert gaps == pytest.approx([5] * len(gaps))
    # The window has grown to 20, but after 5 s it is the initial one again (RFC 5681 section 4.1).
    flight = 0.5 + 41.6e-6
    assert times[1] == pytest.approx(1.2e-3 + flight + 10 * 1.2e-3 + flight)
    kept = run(bp.OnOff(size="28960 bytes", off="5 s"), idle_restart="none", **PROMPT).transfers
    assert kept["completion_s"][1] == pytest.approx(20 * 1.2e-3 + flight)


def test_a_stop_within_a_burst_ends_the_connection() -> None:
    """The burst is cut to what was sent, which is delivered; the run goes on to its end."""
    found = run(bp.OnOff(size="10 MB", off="1 s"), delay="20 ms", duration="20 s", stop="3 s", **PROMPT)
    (took,) = found.transfers["completion_s"]
    assert 3 < took < 20
    assert row(found)["delivered_bytes"] == found.transfers["bytes"].sum() < 10_000_000


def test_an_application_that_is_on_for_a_time_sends_then_and_not_otherwise() -> None:
    queue = bp.DropTail("1 bdp")
    found = run(bp.OnOff(on="2 s", off="3 s"), delay="20 ms", duration="49 s", queue=queue, **PROMPT)
    assert found.transfers["start_s"].to_list() == pytest.approx([5.0 * k for k in range(10)])
    flow = row(found)
    # On 40 % of the time at the rate of the link.
    assert flow["goodput_bps"] == pytest.approx(0.4 * 10e6 * 1448 / 1500, rel=0.1)
    assert flow["delivered_bytes"] == found.transfers["bytes"].sum()
    assert flow["limited_app"] == pytest.approx(0.6, abs=0.15)


def test_a_request_takes_a_round_trip_and_its_answer() -> None:
    """By hand: 100 bytes (152 on the wire) ask, and behind their acknowledgement (52) 1000 (1052) answer."""
    traffic = bp.Requests("1 kB", think="2 s")
    found = run(traffic, **PROMPT)
    each = found.transfers
    wanted = 0.5 + (152 + 52 + 1052) * 8 / 10e6
    times, starts = each["completion_s"].to_list(), each["start_s"].to_list()
    assert times[0] == pytest.approx(wanted + 0.5 + 2 * 48e-6 + 41.6e-6)
    assert times[1:-1] == pytest.approx([wanted] * (len(times) - 2))
    gaps = [b - a - took for a, b, took in zip(starts[:-1], starts[1:], times[:-1], strict=True)]
    assert gaps == pytest.approx([2] * len(gaps))
    asked, answered = row(found, "app/requests"), row(found, "app/responses")
    assert (asked["half"], answered["half"]) == ("first", "second")
    assert asked["delivered_bytes"] == 100 * each.height
    assert asked["transfers"] is None and answered["transfers"] == each.height


def test_polls_keep_their_period_and_wait_for_the_answer() -> None:
    assert run(bp.Requests("1 kB", every="5 s")).transfers["start_s"].to_list() == pytest.approx(
        [5.0 * k for k in range(13)]
    )
    late = run(bp.Requests("1 kB", every="100 ms"), delayed_ack=False).transfers
    starts, times = late["start_s"].to_list(), late["completion_s"].to_list()
    assert starts[1:] == pytest.approx([a + took for a, took in zip(starts[:-1], times[:-1], strict=True)])


def test_a_flow_that_never_connects_is_limited_by_its_handshake() -> None:
    link = bp.Link(rate="10 Mbit/s", delay="250 ms", loss=bp.PacketError(1.0))
    flows = [bp.Flow("cubic", ["sat"])]
    result = bp.run(bp.Scenario(links={"sat": link}, flows=flows, duration="20 s"))
    limited = result.json["flows"][0]["limited"]
    assert limited["handshake"] == pytest.approx(1) and limited["app"] == pytest.approx(0)
    working = run(bp.Bulk())
    assert row(working)["limited_handshake"] == pytest.approx((0.5 + 2 * 48e-6) / 60)


@pytest.mark.parametrize(
    ("traffic", "said"),
    [
        (bp.ShortFlows("10 kB"), "traffic.per_second: is missing"),
        (bp.ShortFlows("10 kB", per_second=1.0, load=0.1), "leave one of them out"),
        (bp.ShortFlows("10 kB", per_second=1e6), "about 60000000 connections"),
        (bp.ShortFlows(bp.Pareto("10 kB", 0.9), load=0.1), "the mean size has no bound"),
        (bp.ShortFlows(bp.Pareto("10 kB", 1.2, "1 kB"), load=0.1), "must be larger than least = 10000 bytes"),
        (bp.ShortFlows(bp.SizeList([]), load=0.1), "needs sizes of at least one byte"),
        (bp.ShortFlows(bp.SizeList(["1 kB"], [0.0]), load=0.1), "a weight of 0 or more"),
        (bp.ShortFlows(bp.SizeFile("nowhere.txt"), load=0.1), "there is no such file"),
        (bp.OnOff("1 s"), "traffic.on: is missing"),
        (bp.OnOff("1 s", on="0 s"), "must be longer than zero"),
        (bp.OnOff("1 s", on="1 s", size="1 kB"), "leave one of them out"),
        (bp.Requests("1 kB"), "traffic.think: is missing"),
        (bp.Requests("0 bytes", think="1 s"), "there is nothing to send"),
    ],
    ids=str,
)
def test_a_wrong_workload_is_one_line(traffic, said) -> None:
    with pytest.raises(bp.ScenarioError, match=said.replace(".", r"\.")):
        run(traffic)


def test_sizes_of_a_file_are_drawn(tmp_path) -> None:
    file = tmp_path / "sizes.txt"
    file.write_text("# measured\n1000\n2000 # twice\n\n3000\n")
    found = run(bp.ShortFlows(bp.SizeFile(file), per_second=10.0)).transfers
    shares = found["bytes"].value_counts(normalize=True)
    assert sorted(shares["bytes"]) == [1000, 2000, 3000]
    assert shares["proportion"].to_list() == pytest.approx([1 / 3] * 3, abs=0.1)


def test_the_table_of_a_run_shows_transfers(cli) -> None:
    done = cli("run", "geo-web-load", "--set", 'duration="10 s"')
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    (head,) = (i for i, line in enumerate(lines) if "connections of" in line)
    assert "begun" in lines[head] + lines[head + 1] and any(
        line.strip().startswith("web ") for line in lines[head:]
    )


def test_a_model_survives_the_way_through_a_scenario() -> None:
    traffic = bp.ShortFlows(bp.Pareto("10 kB", 1.2, "1 MB"), load=0.1)
    scenario = bp.Scenario(
        links={"sat": bp.Link(rate="10 Mbit/s", delay="250 ms")},
        flows=[bp.Flow("reno", ["sat"], traffic=traffic)],
    )
    assert bp.Scenario.of(scenario.to_dict()).flows[0].traffic == traffic


@pytest.mark.parametrize(
    ("cc", "link", "response", "think", "kernel_s"),
    [
        ("bbr", ("50 Mbit/s", "300 ms", "3.75 MB"), "2.31 MB", "5 s", 0.98),
        ("cubic", ("50 Mbit/s", "300 ms", "3.75 MB"), "2.31 MB", "2 s", 1.90),
        ("cubic", ("50 Mbit/s", "300 ms", "3.75 MB"), "2.31 MB", "5 s", 4.21),
        ("bbr", ("20 Mbit/s", "150 ms", "1 MB"), "30 kB", "100 ms", 0.44),
        ("cubic", ("20 Mbit/s", "150 ms", "1 MB"), "30 kB", "100 ms", 0.313),
    ],
)
def test_responses_after_pauses_take_as_long_as_in_linux(cc, link, response, think, kernel_s) -> None:
    """Medians of the fifth to the tenth response by the TCP of Linux 6.18 behind the emulated link."""
    rate, delay, limit = link
    table = {
        "duration": "90 s",
        "record": {"transfers": True},
        "link": {"l": {"rate": rate, "delay": delay, "queue": {"kind": "drop-tail", "limit": limit}}},
        "flow": [
            {
                "cc": cc,
                "profile": "linux",
                "path": ["l"],
                "traffic": {"kind": "requests", "response": response, "think": think},
            }
        ],
    }
    transfers = bp.run(table).transfers
    responses = transfers.filter(transfers["bytes"] > 1000)["completion_s"].to_list()
    assert statistics.median(responses[4:10]) == pytest.approx(kernel_s, rel=0.05)

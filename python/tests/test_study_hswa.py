"""The HSWA-TCP study: its scenarios, its measures, and a small run from end to end."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from repeated import same_again, small_run

from bentpipe import _core, studies
from bentpipe.papers.hswa import claims, setup
from bentpipe.papers.hswa.setup import Growth, growths, increment, line, throughput
from bentpipe.studies.judge import evaluate
from bentpipe.studies.study import Case
from bentpipe.sweeps.execution import trace_frame


def checked(scenario: dict) -> dict:
    return json.loads(_core.check(json.dumps(scenario)))


def test_every_scenario_of_the_full_study_is_correct():
    seen = set()
    for case in setup.DESIGN.plan("full").cases:
        key = (case.keys["variant"], case.keys["cc"], case.keys["orbit"], case.keys["ber"])
        if key not in seen:
            seen.add(key)
            checked(case.scenario)
    whole = 2 + len(setup.READINGS)
    scanned = len(setup.SCAN) * len(setup.PAIRS)
    every = whole * len(setup.PAIRS) * (len(setup.BERS) + len(setup.BETWEEN))
    assert len(seen) <= 4 * len(setup.APART) + len(setup.BETWEEN) + every + scanned + (
        len(setup.VARIANTS) - 1
    ) * 4 * len(setup.BERS)
    assert {key[0] for key in seen} == {
        "base",
        *setup.APART,
        *(of.name for of in (*setup.VARIANTS, *setup.READINGS, *setup.SCAN)),
    }


def test_a_window_is_the_same_for_all_orbits():
    windows = {
        (variant.name, variant.setup.scenario("hswa", orbit, 1e-8, 1)["flow"][0].get("receive_window"))
        for variant in setup.VARIANTS
        for orbit in setup.RTT_S
    }
    assert len(windows) == len(setup.VARIANTS)
    assert {("window-geo", "6250 segments"), ("window-2000", "2000 segments"), ("byte", None)} <= windows


def test_errors_per_bit_and_per_byte():
    assert setup.BASE.packet_loss(1e-8) == pytest.approx(8e-5, rel=1e-3)
    assert setup.BYTES.packet_loss(1e-8) == pytest.approx(1e-5, rel=1e-3)
    assert setup.BASE.packet_loss(1e-5) == pytest.approx(1 - math.exp(-0.08), rel=1e-4)
    assert setup.BASE.changed(packet_bytes=1500).packet_loss(1e-8) == pytest.approx(1.2e-4, rel=1e-3)


@pytest.mark.parametrize(("of", "ber"), [(setup.BASE, None), (setup.BYTES, 1e-6)])
def test_the_packet_loss_of_a_run_is_that_of_its_set_up(of, ber):
    scenario = of.scenario("hswa", "LEO", 1e-6, 1)
    cc = scenario["flow"][0]["cc"]
    assert (cc if ber is None else cc["ber"]) == ("hswa" if ber is None else ber)
    scenario["duration"] = "20 s"
    link = json.loads(_core.run(json.dumps(scenario)).json)["links"][0]
    through = link["delivered_packets"] + link["dropped_error"]
    expected = through * of.packet_loss(1e-6)
    assert abs(link["dropped_error"] - expected) < 5 * math.sqrt(expected)


def test_hswa_is_told_the_bit_error_rate_of_its_path():
    def window(cc: object) -> float:
        scenario = {**setup.BASE.scenario("hswa", "LEO", 1e-5, 1), "duration": "10 s"}
        scenario["flow"] = [{**scenario["flow"][0], "cc": cc}]
        return json.loads(_core.run(json.dumps(scenario)).json)["flows"][0]["cwnd_mean_segments"]

    assert window("hswa") == window({"name": "hswa", "ber": 1e-5}) != window({"name": "hswa", "ber": 1e-8})


def made_trace(rtts: list[float], growth: list[float]) -> pl.DataFrame:
    """Rounds of 10 ACKs, one a 4 ms row apart, each with one RTT; the window grows evenly over a round."""
    late = round(setup.INCREMENT_RTT_S / 2 / setup.INCREMENT_SAMPLE_S)
    payload = setup.PACKET_BYTES - setup.HEADER_BYTES
    window, rtt, acked = [10.0], [math.nan], [0]
    for r, g in zip(rtts, growth, strict=True):
        for _ in range(10):
            window.append(window[-1] + g / 10)
            rtt.append(r)
            acked.append(acked[-1] + 1)
    n = len(window)
    got = [acked[min(i + late, n - 1)] * payload for i in range(-late, n)]
    full = {
        "t_s": [i * setup.INCREMENT_SAMPLE_S for i in range(n + late)],
        "flow": ["x"] * (n + late),
        "cwnd": [10.0] * late + window,
        "ssthresh": [5.0] * (n + late),
        "in_flight": [10.0] * (n + late),
        "rtt_s": [math.nan] * late + rtt,
        "delivered_bytes": got,
    }
    return pl.DataFrame(full)


def test_rounds_are_read_off_a_trace():
    found = growths(made_trace([0.5, 0.5, 0.6, 0.7, 0.5, 0.5], [0, 0, 0, 5, 5, 0]))
    # The first round is ACK 1 alone; the others end with ACK 11, 21, and so on: nine ACKs of one group of ten
    # and one of the next. TD is their mean less half of the least RTT of the round before.
    td = [0.25, 0.25, 0.51 - 0.25, 0.61 - 0.25, 0.68 - 0.3]
    assert [g.ratio for g in found] == pytest.approx([t / 0.25 for t in td])
    # For a whole window's worth of ACKs, where a round has ten.
    assert [g.segments for g in found] == pytest.approx([0, 0, 0.5, 5 * 1.05, 4.5 * 1.55])
    coarse = made_trace([0.5] * 100, [1.0] * 100).gather_every(3)
    with pytest.raises(ValueError, match="row for each ACK"):
        growths(coarse)


def test_the_line_through_made_up_rounds():
    inside = [Growth(x, 60.0 * (2.0 - x)) for x in (1.1, 1.3, 1.5, 1.9)]
    got = line([*inside, Growth(2.5, 0.0), Growth(1.0, 60.0)])
    assert got["at_base"] == pytest.approx(60.0)
    assert got["zero"] == pytest.approx(2.0)
    assert got["linear"] == pytest.approx(1.0)
    assert got["beyond"] == 0.0
    bent = line([*inside, Growth(1.7, 60.0), Growth(2.5, 3.0)])
    assert bent["linear"] < claims.STRAIGHT
    assert bent["beyond"] == 3.0
    with pytest.raises(ValueError, match="too few"):
        line(inside)


@pytest.mark.parametrize("ber", [1e-8, 1e-5])
def test_the_controller_as_run_follows_figure_1(ber):
    raw = _core.run(json.dumps(setup.increment_scenario(ber, 2)))
    assert json.loads(raw.json)["flows"][0]["dropped_packets"] == 0
    got = increment(trace_frame(raw))
    assert got["at_base"] == pytest.approx(claims.S[ber], rel=0.01)
    assert got["zero"] == pytest.approx(2.0, abs=0.01)
    assert got["linear"] > 0.999
    points = np.array(json.loads(got["rounds"]))
    assert 1.0 <= points[:, 0].min() < 1.1
    assert points[:, 0].max() > 2.0


def test_another_rule_does_not_follow_figure_1():
    scenario = setup.increment_scenario(1e-8, 2)
    scenario["flow"][0]["cc"] = "reno"
    got = increment(trace_frame(_core.run(json.dumps(scenario))))
    assert got["at_base"] == pytest.approx(1.0, abs=0.1)


def test_throughput_counts_headers_and_leaves_out_the_warm_up():
    # A thousand packets every 10 s for 20 s, then two thousand.
    got_bytes = [960_000 * n for n in (0, 1, 2, 4, 6, 8)]
    trace = pl.DataFrame({"t_s": [10.0 * i for i in range(6)], "delivered_bytes": got_bytes})
    flow = {"cwnd_mean_segments": 9.0, "rtt_mean_s": 0.01, "sent_packets": 10, "timeouts": 2}
    link = {"direction": "forward", "dropped_error": 3, "dropped_queue": 0}
    result = {"simulated_s": 50.0, "flows": [flow], "links": [link]}
    late, all_of = (setup.DESIGN.settings(setup.BASE.changed(from_start=x)) for x in (False, True))
    assert throughput(late, result, trace)["mbps"] == pytest.approx(6 * 1000 * 8000 / 30 / 1e6)
    whole = throughput(all_of, result, trace)
    assert whole["mbps"] == pytest.approx(8 * 1000 * 8000 / 50 / 1e6)
    assert (whole["timeouts"], whole["lost_error"]) == (2, 3)


class PerAck:
    """Eq. 4 taken per ACK: S more for each ACK in congestion avoidance; no queue stands in these runs."""

    def __init__(self, mss: int, initial_window: float) -> None:
        self.cwnd, self.ssthresh = initial_window, 1e9

    def on_ack(self, flow: dict, ack: dict) -> None:
        if flow["phase"] == "recovery" or not flow["cwnd_limited"] or ack["acked"] <= ack["uncounted"]:
            return
        limit = max(flow["rwnd"] / flow["mss"], self.cwnd)
        more = ack["acked"] / flow["mss"] if self.cwnd < self.ssthresh else claims.S[1e-5]
        self.cwnd = min(self.cwnd + more, limit)

    def on_congestion(self, flow: dict, why: str) -> None:
        self.ssthresh = max(self.cwnd / 2, 2)
        self.cwnd = 1 if why == "timeout" else self.ssthresh


def test_eq_4_per_ack_is_near_a_controller_written_anew_that_knows_no_queue():
    within = setup.BASE.changed(window=round(setup.bdp_packets("GEO", setup.BASE)))

    def rate(of: setup.HswaSetup, cc: str | None = None) -> float:
        total = 0.0
        for seed in (1, 2, 3):
            scenario = {**of.scenario("hswa", "GEO", 1e-5, seed), "duration": "60 s"}
            if cc is not None:
                scenario["flow"] = [{**scenario["flow"][0], "cc": cc}]
            raw = _core.run(json.dumps(scenario), {"per-ack": PerAck})
            total += json.loads(raw.json)["flows"][0]["goodput_bps"]
        return total

    mine = next(v.setup for v in setup.VARIANTS if v.name == "per-ack")
    per_round, per_ack = rate(within), rate(within, "python:per-ack")
    assert 2 * per_round < 0.7 * per_ack < rate(mine) < per_ack


def test_what_the_papers_numbers_imply():
    of = claims.implied("scps", "GEO", 1e-8, 6.3)
    assert of.window == pytest.approx(393.75)
    assert of.loss == pytest.approx(1.5 / 393.75**2)
    assert of.per_byte == pytest.approx(0.9675, rel=1e-3)
    assert of.per_bit == pytest.approx(of.per_byte / 8)
    assert claims.law_window(80.0, of.loss) == pytest.approx(393.75 * math.sqrt(80))


def rows(factor: dict[tuple[str, str], float] | None = None) -> pl.DataFrame:
    """Runs of three seeds with the paper's numbers, and others between them, times a factor."""
    made = []
    for cc, orbit in setup.PAIRS:
        for ber in setup.BERS:
            value = claims.PRINTED.get((cc, orbit, ber))
            if value is None:
                value = {"scps": claims.QUOTED, "hswa": 20.0 if orbit == "GEO" else 30.0}[cc]
                value *= 1.0 if ber > 5e-7 else 3.0
            value *= (factor or {}).get((cc, orbit), 1.0)
            made += [
                {
                    "variant": "base",
                    "cc": cc,
                    "orbit": orbit,
                    "ber": ber,
                    "seed": s,
                    "mbps": value * (1 + 0.001 * s),
                }
                for s in (1, 2, 3)
            ]
    return pl.DataFrame(made)


def increments(zero: float = 2.0, scale: float = 1.0) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "variant": setup.INCREMENT.name,
                "cc": "hswa",
                "orbit": "GEO",
                "ber": ber,
                "seed": seed,
                "at_base": scale * s,
                "zero": zero + 0.001 * seed,
                "linear": 0.999,
                "beyond": 0.0,
            }
            for ber, s in claims.S.items()
            for seed in (1, 2, 3)
        ]
    )


def verdicts(runs: pl.DataFrame, grown: pl.DataFrame) -> dict[str, str]:
    both = pl.concat([runs, grown], how="diagonal")
    return {c.id: str(c.verdict) for c in evaluate(claims.CLAIMS, both)}


def test_the_papers_own_numbers_reproduce():
    found = verdicts(rows(), increments())
    assert list(found) == ["H1", "H2", "H3", "H4", "H5", "H6", "H7", "H9"]
    assert found.pop("H4") == "reference"  # the paper quotes it
    assert set(found.values()) == {"reproduced"}


def test_wrong_numbers_in_the_right_order_are_the_same_order():
    half = {pair: 0.5 for pair in setup.PAIRS}
    found = verdicts(rows(half), increments())
    assert [k for k, v in found.items() if v == "same order"] == ["H1", "H2", "H5", "H6"]
    assert found["H3"] == "reproduced"


def test_wrong_orders_are_not_reproduced():
    found = verdicts(rows({("hswa", "GEO"): 0.01, ("hswa", "LEO"): 0.01}), increments())
    assert [found[k] for k in ("H1", "H3", "H6")] == ["not reproduced"] * 3
    assert verdicts(rows(), increments(zero=2.1))["H7"] == "same order"
    # 95 of 100 Mbit/s are not "close to 99 %".
    assert verdicts(rows({("hswa", "LEO"): 0.96}), increments())["H5"] == "same order"
    bent = increments().with_columns(linear=pl.lit(0.9))
    assert verdicts(rows(), bent)["H7"] == "not reproduced"


def test_values_of_s_are_shown_and_not_counted():
    both = pl.concat([rows(), increments(scale=0.9)], how="diagonal")
    found = next(c for c in evaluate(claims.CLAIMS, both) if c.id == "H7")
    assert [c.counted for c in found.checks] == [True] * 3 + [False] * 4
    assert not any(c.holds for c in found.checks[3:])
    assert found.verdict == "reproduced"


@pytest.mark.slow
def test_a_small_study_from_end_to_end(tmp_path):
    plan = setup.DESIGN.plan_of("quick", setup.HswaSize(2, 2), setup.VARIANTS[:2])
    plan = replace(plan, cases=[shorter(case) for case in plan.cases])
    result, runs = small_run("hswa", plan, tmp_path, [f"H{i}" for i in range(1, 11)], 4)
    assert result.claims[6]["verdict"] == "reproduced"
    rate = runs.filter(pl.col("variant") != "increment")["mbps"]
    assert 0 < rate.min() < rate.max() <= 100.5
    assert pl.read_parquet(tmp_path / "figure-1.parquet").height > 100
    drawn = pl.read_parquet(tmp_path / "figure-4.parquet")
    assert drawn["orbit"].unique().sort().to_list() == ["GEO", "LEO", "MEO"]
    assert same_again(studies.get("hswa"), plan, runs)


def shorter(case: Case) -> Case:
    """A much shorter throughput run; the increment runs keep their length."""
    if case.keys["variant"] == "increment":
        return case
    length = 12.0 if case.keys["orbit"] == "LEO" else 40.0
    return replace(case, scenario={**case.scenario, "duration": f"{length:g} s"})


def test_the_scan_finds_the_loss_rate_at_which_a_made_up_law_meets_the_printed_number():
    rows = [
        {
            "variant": setup.scan_name(size, loss),
            "cc": cc,
            "orbit": orbit,
            "seed": seed,
            "mbps": printed * 0.01 / loss,
        }
        for size in setup.SCAN_BYTES
        for loss in setup.SCAN_LOSS
        for cc, orbit in claims.SCANNED
        for printed in [claims.PRINTED[cc, orbit, setup.SCAN_BER]]
        for seed in range(setup.SCAN_SEEDS)
    ]
    found = SimpleNamespace(runs=pl.DataFrame(rows))
    low, high = claims.needed(found, 1000, "scps", "GEO")
    assert (low, high) == (pytest.approx(0.01 / 1.2), pytest.approx(0.01 / 0.8))
    assert "SCPS-TP over GEO 0.00833 to 0.0125" in str(claims.ranges(found))


def test_a_scan_run_loses_what_it_says_and_hswa_is_told_the_error_rate():
    of = next(v for v in setup.SCAN if v.name == setup.scan_name(1500, 0.03)).setup
    made = of.scenario("hswa", "GEO", setup.SCAN_BER, 1)
    assert made["link"]["sat"]["loss"] == {"kind": "packet-error", "rate": 0.03}
    assert made["flow"][0]["cc"]["ber"] == setup.SCAN_BER
    assert made["duration"] == "120 s"

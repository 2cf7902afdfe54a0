"""The spectrum study: its scenarios, its measures, its verdicts, and a small run from end to end."""

import dataclasses
import functools
import json

import numpy as np
import polars as pl
import pytest
from repeated import small_run

from bentpipe import _core
from bentpipe.papers.spectrum import claims, scenarios, setup
from bentpipe.papers.spectrum.measure import measure
from bentpipe.papers.spectrum.reasons import CLAIMS
from bentpipe.studies.claim import Verdict
from bentpipe.studies.judge import evaluate
from bentpipe.studies.study import Case

#: The claims by whether runs judge them.
MEASURED, CLOSED = ([s for s in CLAIMS if (s.about is None) is closed] for closed in (False, True))


#: The runs of a mode, made once: there are thousands.
planned = functools.cache(setup.DESIGN.plan)


def test_every_scenario_of_the_full_study_is_correct():
    seen = set()
    for case in planned("full").cases:
        if case.keys["seed"] == 1:
            _core.check(json.dumps(case.scenario))
            seen.add((case.keys["variant"], case.keys["experiment"]))
    named = {v.name: v for v in setup.VARIANTS}
    touched = [dict(v.touches.values)["experiment"] for v in setup.VARIANTS]
    # The base and the reading as printed run all eight, the defensible one as the choice that it is of, those
    # of figures 14 to 17 and of figure 18 only these.
    steps = ("load-doubles", "load-halves")
    every = [*touched, dict(named["iiad-real"].touches.values)["experiment"], ("smooth",), steps]
    assert len(seen) == 2 * 8 + sum(len(experiments) for experiments in every)


def test_table_4():
    flow = scenarios.BASE.common()
    assert int(flow["mss"].split()[0]) + int(flow["header"].split()[0]) == 1000
    assert flow["receive_window"] == "128 segments"
    red = scenarios.BASE.queue("red-ecn", 15.0, 0.1)
    assert red["limit"] == "469 packets"  # 2.5 * 187.5
    assert (red["min"], red["max"], red["ecn"]) == (0.15, 0.5, True)
    assert scenarios.BASE.queue("drop-tail", 15.0, 0.1) == {"kind": "drop-tail", "limit": "281 packets"}


def test_senders_have_the_rules_that_ns2_had_in_2001():
    every = {name: scenarios.BASE.control(name) for name in scenarios.ALGORITHMS}
    assert all(of["halve_first"] and of["ss_beta"] == 0.5 for of in every.values())
    # TCP, AIMD and IIAD were ns-2's own senders; SIMD and AIAD were the authors' code.
    assert {name for name, of in every.items() if of["whole_cuts"]} == {"tcp", "aimd", "aimd-8", "iiad"}
    assert (every["tcp"]["a"], every["tcp"]["b"]) == (1.0, 0.5)
    flow = scenarios.BASE.common()
    assert (flow["limited_transmit"], flow["initial_ssthresh"], flow["initial_rto"]) == (False, 128, "6 s")


def test_the_propagation_gives_the_printed_round_trip_loss_and_window():
    # 16 + 16 flows over 60 Mbit/s: 0.1 s, 0.3 % and 23 packets.
    groups = [("x", "simd", 16, {}), ("tcp", "tcp", 16, {})]
    run = scenarios.BASE.dumbbell(groups, "red", 60.0, 1, 30.0, "15 s")
    result = json.loads(_core.run(json.dumps(run)).json)
    flows = [f for f in result["flows"] if not f["name"].startswith("back")]
    assert np.mean([f["rtt_mean_s"] for f in flows]) == pytest.approx(0.1, rel=0.1)
    assert np.mean([f["cwnd_mean_segments"] for f in flows]) == pytest.approx(23, rel=0.15)


def test_the_dumbbell_loads_both_directions():
    groups = [("x", "tcp", 2, {}), ("tcp", "tcp", 2, {})]
    scenario = scenarios.BASE.dumbbell(groups, "drop-tail", 5.0, 1, 20.0, "1 s")
    ways = {f["name"].split("-")[0]: (f["path"], f["ack_path"]) for f in scenario["flow"]}
    assert ways["x"] == ways["tcp"] == (["out"], ["back"])
    assert ways["back"] == (["back"], ["out"])
    result = json.loads(_core.run(json.dumps(scenario)).json)
    used = {k["name"]: k["utilisation"] for k in result["links"] if k["direction"] == "forward"}
    assert min(used["out"], used["back"]) > 0.6


def made_up_trace(**flows):
    frames = [
        pl.DataFrame({"t_s": t, "flow": [name] * len(t), **columns}) for name, (t, columns) in flows.items()
    ]
    return pl.concat(frames)


def test_measures_of_the_square_wave():
    # 10 segments while the traffic is on; then up by 0.1 per round trip of 100 ms to 20, and halved at once.
    t = np.arange(0, 180, 0.1)
    phase = t % 60
    w = np.where(phase < 30, 10.0, np.minimum(10 + (phase - 30), 20.0))
    w[(t > 59.9) & (phase < 0.45)] = 20.0  # the loss takes a while to show
    trace = made_up_trace(x=(t, {"cwnd": w, "srtt_s": np.full(t.size, 0.1)}))
    result = {"simulated_s": 180.0, "flows": [{"rtt_mean_s": 0.1, "timeouts": 3}]}
    got = measure(Case({"experiment": "square"}, {}), result, trace)
    assert (got["on"], got["off"]) == (pytest.approx(10, abs=0.05), pytest.approx(20, abs=0.05))
    assert got["grow"] == pytest.approx(90, abs=1.5)  # to 19
    assert got["grow_double"] == pytest.approx(90, abs=1.5)
    assert got["shrink"] == 1
    assert got["missed"] == 0


def test_measures_of_two_converging_flows():
    # From (10, 30), one packet a second each, until 60 after 10 s; then the gap closes by 1 a second.
    t = np.arange(0, 100, 0.1)
    late = np.clip(t - 20, 0, None)
    gap = np.where(late < 10, 20.0, np.maximum(20 - (late - 10), 0))
    total = np.minimum(40 + 2 * late, 60)
    one = {"srtt_s": np.full(t.size, 0.1)}
    trace = made_up_trace(
        s1=(t, {"cwnd": (total - gap) / 2, **one}), s2=(t, {"cwnd": (total + gap) / 2, **one})
    )
    keys = {"experiment": "chain-2", "p": 20.0}
    got = measure(Case(keys, {}), {"simulated_s": 100.0}, trace)
    assert (got["w1"], got["w2"], got["total"]) == (pytest.approx(10), pytest.approx(30), pytest.approx(60))
    assert got["t1"] == pytest.approx(100, abs=2)
    assert got["gap"] == pytest.approx(20, abs=0.2)
    assert got["t2"] == pytest.approx(200, abs=3)
    assert got["t2_stay"] == pytest.approx(200, abs=3)
    assert got["open"] == 0


def test_a_window_that_a_timeout_throws_down_has_not_settled():
    # 20 packets until 50 s, then down by one a second to 10; at 51 s a timeout costs half a second.
    t = np.arange(0, 100, 0.1)
    w = np.clip(20 - np.clip(t - 50, 0, None), 10, 20)
    w[(t > 50.95) & (t < 51.45)] = 1.0
    trace = made_up_trace(**{"x-1": (t, {"cwnd": w})})
    keys = {"experiment": "load-doubles", "p": 50.0}
    got = measure(Case(keys, {}), {"simulated_s": 100.0}, trace)
    assert (got["before"], got["after"]) == (pytest.approx(20), pytest.approx(10))
    assert got["fell"] == 1
    # The mean of [t, t + 2) is 11 where the window is 12, 8 s after the change.
    assert got["settle_s"] == pytest.approx(8, abs=0.2)


def test_shares_are_those_of_the_last_minute():
    # 1 Mbit/s each until 100 s, then 2 and 1.
    t = np.arange(0, 161, 20.0)
    x = np.where(t < 100, t, 100 + 2 * (t - 100)) * 1e6 / 8
    trace = made_up_trace(
        **{"x-1": (t, {"delivered_bytes": x}), "tcp-1": (t, {"delivered_bytes": t * 1e6 / 8})}
    )
    link = {"name": "out", "direction": "forward", "delivered_packets": 98, "dropped_queue": 1, "marked": 1}
    flows = [{"name": n, "rtt_mean_s": 0.1, "timeouts": 3} for n in ("x-1", "tcp-1")]
    result = {"simulated_s": 160.0, "flows": flows, "links": [link | {"utilisation": 1.0}]}
    got = measure(Case({"experiment": "share"}, {}), result, trace)
    assert (got["ratio"], got["least"]) == (pytest.approx(2), pytest.approx(2))
    assert got["loss"] == pytest.approx(2 / 99)


def test_runs_of_figure_7_are_longer_where_a_flow_mostly_waits():
    length = {
        c.keys["p"]: float(c.scenario["duration"].split()[0])
        for c in planned("full").cases
        if c.keys["experiment"] == "friendly" and c.keys["variant"] == "base"
    }
    assert length[0.05] == 300  # 3000 round trips of 100 ms, as in the paper
    assert length[0.15] == 1500


def test_the_analysis_of_a_run_starts_from_its_own_windows():
    # Table 6, experiment 2: TCP from 8.8 and 13.8 of 110 packets needs (110 - 8.8 - 13.8) / 2 round trips.
    runs = pl.DataFrame(
        [{"experiment": "chain-2", "cc": "tcp", "seed": 1, "w1": 8.8, "w2": 13.8, "total": 110.0}]
    )
    assert claims.analysed(runs, 2, "tcp") == [pytest.approx(43.7)]


def test_measures_need_a_trace():
    with pytest.raises(ValueError, match="trace"):
        measure(Case({"experiment": "square"}, {}), {"simulated_s": 1.0}, None)


def square_rows(grow, shrink):
    return pl.DataFrame(
        [
            {
                "experiment": "square",
                "cc": cc,
                "seed": seed,
                "grow_double": grow[cc] * (1 + 0.001 * seed),
                "shrink": shrink[cc] * (1 + 0.001 * seed),
                "cov_off": {"tcp": 0.3, "iiad": 0.05, "aiad": 0.055}.get(cc, 0.1) * (1 + 0.001 * seed),
            }
            for cc in scenarios.FIVE
            for seed in (1, 2, 3)
        ]
    )


def test_the_papers_own_numbers_reproduce_and_others_do_not():
    (same,) = evaluate(MEASURED, square_rows(claims.GROW, claims.SHRINK))
    assert (same.id, same.verdict) == ("K8", Verdict.REPRODUCED)
    double = {cc: 2 * v for cc, v in claims.GROW.items()}
    assert evaluate(MEASURED, square_rows(double, claims.SHRINK))[0].verdict == Verdict.SAME_ORDER
    swapped = claims.GROW | {"simd": claims.GROW["iiad"], "iiad": claims.GROW["simd"]}
    assert evaluate(MEASURED, square_rows(swapped, claims.SHRINK))[0].verdict == Verdict.NOT_REPRODUCED


def friendly_rows(simd, aimd):
    """Throughput over TCP's at low, moderate and very high loss, where all are near it."""
    rows = []
    for p in (0.01, 0.15, 0.3):
        for seed in (1, 2, 3):
            near = {cc: 0.99 for cc in ("simd", "simd-8", "simd-4", "aimd-8")}
            dip = {"simd": simd, "simd-8": simd + 0.05, "simd-4": 0.97, "aimd-8": aimd}
            of = {"tcp": 1.0} | (dip if p == 0.15 else near)
            rows += [
                {"experiment": "friendly", "cc": cc, "p": p, "seed": seed, "window": v * (1 + 0.001 * seed)}
                for cc, v in of.items()
            ]
    return pl.DataFrame(rows)


def test_verdict_on_friendliness():
    good = evaluate(MEASURED, friendly_rows(0.78, 0.5))
    assert [(c.id, c.verdict) for c in good] == [("K2", Verdict.REPRODUCED)]
    unfriendly = evaluate(MEASURED, friendly_rows(0.6, 0.2))
    assert unfriendly[0].verdict == Verdict.NOT_REPRODUCED
    # A quarter and three tenths below TCP: closer, but not much closer.
    (hardly,) = evaluate(MEASURED, friendly_rows(0.76, 0.7))
    (failing,) = (c.what for c in hardly.checks if not c.holds)
    assert failing == "at p = 0.15: distance of AIMD(1/5,1/8) from TCP over that of SIMD(1/16)"


def test_closed_forms():
    found = {c.id: c for c in evaluate(CLOSED, pl.DataFrame())}
    assert list(found) == ["K1", "K11", "K12", "K13"]
    assert found["K1"].verdict == Verdict.REPRODUCED
    # The share of timeouts of AIMD(1/5,1/8) is 1 where 3 sqrt(0.5859 p) is: from p = 0.1896 on.
    assert found["K13"].verdict == Verdict.REPRODUCED
    assert found["K13"].checks[-1].measured.centre == pytest.approx(0.1896, rel=0.01)
    # Four places where the paper's text and its own formulas differ do not count. "Up to order of magnitude"
    # is said of figure 5 and holds for figure 6.
    assert found["K11"].verdict == Verdict.NOT_REPRODUCED
    failing = [c.what for c in found["K11"].checks if not c.holds and not c.counted]
    (wrong,) = (c.what for c in found["K11"].checks if not c.holds and c.counted)
    assert wrong.startswith("figure 5: ")
    assert len(failing) == 4
    assert failing[0] == "table 6, difference: TCP"
    assert failing[1].startswith("section 5: variation at W = 20: SIMD(1/30)")
    assert failing[2].startswith("section 5: SIMD's losses to halve")
    assert failing[3].startswith("figure 4c: IIAD")
    assert all("the paper itself" in c.remark for c in found["K11"].checks if not (c.counted or c.holds))
    for claim in found.values():
        assert all(c.measured.half_width == 0 for c in claim.checks)


def step_rows(simd_cov):
    """Figure 18a as the paper has it, with the variation of SIMD's window given."""
    settle = {"tcp": 1.0, "aimd": 10.0, "simd": 9.0, "iiad": 20.0}
    cov = {"tcp": 0.4, "aimd": 0.12, "simd": simd_cov, "iiad": 0.05}
    return pl.DataFrame(
        [
            {"experiment": "load-doubles", "cc": cc, "seed": seed, "settle_s": settle[cc] + 0.01 * seed}
            | {"cov": cov[cc] + 0.001 * seed}
            for cc in scenarios.CHAIN
            for seed in (1, 2, 3)
        ]
    )


def test_what_the_paper_contradicts_itself_is_shown_and_not_counted():
    # Table 3 has 0.73 beta for SIMD and 0.41 beta for AIMD, so the two are not similarly smooth; it has the
    # same responsiveness for both.
    (k6,) = evaluate(MEASURED, step_rows(0.12 * 0.73 / 0.41))
    assert k6.verdict == Verdict.REPRODUCED
    assert [c.what for c in k6.checks if not c.counted] == [c.what for c in k6.checks if not c.holds]
    assert len(k6.counted) == 5


def chain_rows(t2: list[float], w1: list[float]) -> pl.DataFrame:
    """Experiment 1 of table 6 with the windows at the change and round trips to fairness of TCP's runs."""
    return pl.DataFrame(
        [
            {"experiment": "chain-1", "cc": "tcp", "seed": i, "w1_at": w, "w2_at": 99.6, "t2": t}
            for i, (t, w) in enumerate(zip(t2, w1, strict=True), start=1)
        ]
    )


def test_a_printed_single_run_is_compared_with_runs_that_begin_as_it_did():
    # TCP's W1 is 6.1: 6.0 and 7.0 are within 20 %, 3.0 and 12.0 are not.
    runs = chain_rows([60.0, 200.0, 70.0, 300.0], [6.0, 3.0, 7.0, 12.0])
    of = ("tcp", "t2", 68.0, "round trips", "RTT")
    check = claims._one_run(runs, 1, *of)
    assert (check.measured.n, check.measured.centre) == (2, pytest.approx(65.0))
    assert "2 of 4 runs begin within 20% of the paper's windows; 50% of them lie below" in check.remark
    few = claims._one_run(runs.filter(pl.col("w1_at") != 7.0), 1, *of)
    assert (few.measured.n, "so all are taken" in few.remark) == (3, True)


def test_intervals_are_compared_with_printed_intervals():
    assert claims._overlaps("x", [12.0, 13.0, 14.0], (12.8, 14.1)).holds
    assert not claims._overlaps("x", [10.0, 10.1, 10.2], (12.8, 14.1)).holds


def test_both_halves_of_figures_8_to_13_are_judged_and_choices_run_every_number_of_flows():
    def loads(variant: str) -> set[tuple[float, int]]:
        of = [c.keys for c in planned("full").cases if c.keys["variant"] == variant]
        return {(k["mbps"], k["n"]) for k in of if k["experiment"] == "share"}

    assert {mbps for mbps, _ in loads("base")} == {mbps for mbps, _ in loads("as-printed")} == {15.0, 60.0}
    for name in ("own-cuts", "whole-cuts", "closed", "slow-40ms"):
        assert loads(name) == {(m, n) for m, n in loads("base") if m == 15.0}


def test_times_and_lengths_are_the_papers():
    size = setup.DESIGN.sizes["full"]
    assert (size.switch_s, size.smooth_s) == (400.0, 270.0)  # 250 to 270 s are the last 20 of 270 s


@pytest.mark.slow
def test_a_small_study_from_end_to_end(tmp_path):
    size = dataclasses.replace(
        setup.DESIGN.sizes["quick"],
        seeds=2,
        step_seeds=2,
        chain_seeds=2,
        load_seeds=2,
        sensitivity_seeds=2,
        loss_rates=(0.01, 0.15),
        rounds=200,
        shares=((15.0, (2, 4), 2),),
        share_s=8.0,
        smooth_mbps=(60.0, 15.0),
        smooth_s=22.0,
        step_at_s=12.0,
        step_after_s=6.0,
        cycles=4,
        switch_s=25.0,
        after_s=20.0,
    )
    chosen = [v for v in setup.VARIANTS if v.name in ("square-sack", "chain-far")]
    plan = setup.DESIGN.plan_of("quick", size, chosen)
    result, runs = small_run("spectrum", plan, tmp_path, [f"K{i}" for i in range(1, 14)], 23)
    share = runs.filter(pl.col("experiment") == "share")
    assert (share["n"] * (share["x_mbps"] + share["tcp_mbps"])).max() < 15.0
    marked = share.filter(pl.col("queue") == "red-ecn")
    assert marked["loss"].min() >= 0
    sensitivity = pl.read_parquet(tmp_path / "sensitivity.parquet")
    assert set(sensitivity["variant"]) == {"base", "square-sack", "chain-far"}
    page = result.page.read_text(encoding="utf-8")
    assert "default of the simulator it names" in page

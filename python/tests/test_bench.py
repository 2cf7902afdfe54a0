"""The benchmark: its arithmetic, its tables, and a pair of short runs from end to end. No time is judged."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bentpipe as bp
from bentpipe import _core, ns2
from bentpipe.bench import in_page, ns3, page
from bentpipe.bench.cases import CASES, BenchCase, chosen
from bentpipe.bench.measure import here, measure, there
from bentpipe.bench.page import data, rows, tables
from bentpipe.pages.markdown import markdown

SCRIPTS = Path(__file__).parents[2] / "scripts"


def run(packets: int, cpu_s: float, setup_s: float = 0.0) -> dict[str, Any]:
    """A timing as it is stored."""
    return {
        "packets": packets,
        "cpu_s": cpu_s,
        "setup_s": setup_s,
        "events": 3 * packets,
        "peak_bytes": 20_000_000,
        "grown_bytes": 1_000_000,
    }


def stored(**cases: list[tuple[dict[str, Any], dict[str, Any] | None]]) -> dict[str, Any]:
    """A benchmark of these pairs, of Bentpipe and of ns-2."""
    return {
        "schema": 1,
        "quick": False,
        "machine": {
            "date": "2030-01-01",
            "processor": "a processor",
            "processors": "2",
            "memory": "4 GiB",
            "system": "Linux",
            "python": "3.11",
            "rustc": "1.90.0",
            "load": "0.1",
        },
        "cases": {
            key: {
                "what": CASES[key].title,
                "pairs": [{"here": ours, "ns2": theirs} for ours, theirs in pairs],
            }
            for key, pairs in cases.items()
        },
    }


def test_ratios_are_taken_within_pairs_and_then_the_median() -> None:
    # 10, 2 and 4 million a second here; 1, 0.1 and 0.5 million there: ratios 10, 20 and 8, median 10. The
    # ratio of the medians would be 8.
    found = page.figures(
        stored(
            a=[
                (run(10_000_000, 1.0), run(1_000_000, 1.0)),
                (run(2_000_000, 1.0), run(1_000_000, 10.0)),
                (run(4_000_000, 1.0), run(1_000_000, 2.0)),
            ]
        )
    )["a"]
    assert found.ratio is not None and found.ns2 is not None
    assert (found.ratio.median, found.ratio.least, found.ratio.most) == pytest.approx((10.0, 8.0, 20.0))
    assert found.here.median == 4_000_000
    assert found.ns2.median == 500_000
    assert found.events == 3.0


def test_ns2s_setup_counts_only_where_the_case_says_so() -> None:
    pair = (run(1_000_000, 1.0), run(1_000_000, 5.0, setup_s=3.0))
    found = page.figures(stored(a=[pair], b1000=[pair]))
    assert found["a"].ratio is not None and found["a"].ratio.median == pytest.approx(5.0)
    assert found["b1000"].ratio is not None and found["b1000"].ratio.median == pytest.approx(2.0)


def test_a_case_that_is_held_against_another_has_the_ratio_of_their_costs_turn_by_turn() -> None:
    found = page.figures(
        stored(
            a=[(run(1_000_000, 1.0), None), (run(1_000_000, 2.0), None), (run(1_000_000, 4.0), None)],
            g=[(run(1_000_000, 1.2), None), (run(1_000_000, 2.8), None), (run(1_000_000, 5.2), None)],
        )
    )["g"]
    assert found.ratio is not None
    assert (found.ratio.least, found.ratio.median, found.ratio.most) == pytest.approx((1.2, 1.3, 1.4))


def test_a_controller_is_compared_with_ns2s_reno_turn_by_turn() -> None:
    # 9, 24 and 5 million a second here, 1, 2 and 0.5 million in ns-2's runs of a: ratios 9, 12 and 10.
    theirs = [run(1_000_000, 1.0), run(2_000_000, 1.0), run(1_000_000, 2.0)]
    here = [run(9_000_000, 1.0), run(24_000_000, 1.0), run(5_000_000, 1.0)]
    pairs = {"a": [(run(1, 1.0), reno) for reno in theirs], "h-bbr": [(bbr, None) for bbr in here]}
    found = stored(**pairs)
    ratio = page.figures(found)["h-bbr"].ratio
    assert ratio is not None and (ratio.least, ratio.median, ratio.most) == pytest.approx((9, 10, 12))
    ns2_speed, *_, spread, asked, verdict = rows(found)[1][6:]
    assert (ns2_speed, spread, asked, verdict) == ("1.00", "10.0 (9.0 to 12.0)", ">= 8, 12", "must")


def test_every_controller_has_the_same_bound() -> None:
    bounds = {(case.must, case.aim, case.ns2_of) for key, case in CASES.items() if key.startswith("h-")}
    assert bounds == {(8, 12, "a")}


def test_without_ns2_there_is_no_ratio_and_no_verdict() -> None:
    found = stored(**{"a": [(run(1_000_000, 1.0), None)], "h-simd": [(run(1_000_000, 1.0), None)]})
    for key, row in zip(("a", "h-simd"), rows(found), strict=True):
        assert page.figures(found)[key].ratio is None
        assert row[-1] == ""
    del found["cases"]["a"]
    assert page.figures(found)["h-simd"].ratio is None


@pytest.mark.parametrize(
    ("value", "least", "said"),
    [(20.0, True, "aim"), (19.9, True, "must"), (10.0, True, "must"), (9.9, True, "miss")]
    + [(1.2, False, "aim"), (1.5, False, "must"), (1.6, False, "miss")],
)
def test_a_verdict_names_the_bound_that_is_kept(value: float, least: bool, said: str) -> None:  # noqa: FBT001
    must, aim = (10.0, 20.0) if least else (1.5, 1.2)
    assert page.verdict(value, must, aim, least=least) == said


def test_the_module_of_the_page_may_take_so_much_longer_than_the_native_run_before_it() -> None:
    # 1.5, 1.9 and 1.6 times the processor time of the same turn.
    native = [(run(1_000_000, cpu_s), None) for cpu_s in (1.0, 2.0, 3.0)]
    module = [(run(1_000_000, cpu_s), None) for cpu_s in (1.5, 3.8, 4.8)]
    found = stored(**{"f": native, "w-f": module})
    assert rows(found)[1][-3:] == ["1.60 (1.50 to 1.90)", "<= 1.7", "must"]
    assert all(case.must == 1.7 for case in CASES.values() if case.in_page)
    assert "| w-f |" in page.module_tables(found)["module"]


@pytest.mark.skipif(in_page.missing() is not None, reason=f"the module of the page: {in_page.missing()}")
def test_node_and_the_command_line_deliver_the_same_packets() -> None:
    found = here(CASES["w-j-3"], quick=True)
    assert found["packets"] == here(CASES["j-3"], quick=True)["packets"]
    assert 0.0 < found["cpu_s"] < 60.0


def test_without_node_the_rows_of_the_module_are_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(in_page.shutil, "which", lambda _: None)
    lines: list[str] = []
    case = {"w-f": CASES["w-f"]}
    assert measure(case, pairs=1, quick=True, more=False, tell=lines.append)["cases"] == {}
    assert lines == ["not measured, the module of the page: node is not here (Debian: nodejs)"]


def test_a_bound_on_nanoseconds_makes_a_verdict_worse_and_never_better() -> None:
    # 250 and 150 ns a packet; asked 200. Ratios to ns-2 of 20 and 8; asked 10, wished 20.
    slow, fast = (run(4_000_000, 1.0), run(200_000, 1.0)), (run(20_000_000, 3.0), run(833_333, 1.0))
    for pair, said in ((slow, "miss"), (fast, "miss"), ((fast[0], slow[1]), "must")):
        found = rows(stored(b10000=[pair]))
        assert found[0][-2:] == [">= 10, 20; <= 200 ns", said]
    assert rows(stored(g=[(run(1_000_000, 0.05), None)]))[0][-2:] == ["<= 65 ns", "must"]
    assert rows(stored(g=[(run(1_000_000, 0.07), None)]))[0][3:][0] == "70 (70 to 70)"


def test_ns3_has_speeds_of_its_own_and_a_ratio_turn_by_turn() -> None:
    # 1 and 4 million packets a second here, 1 and 2 thousand there.
    found = stored(e=[(run(1_000_000, 1.0), None), (run(4_000_000, 1.0), None)])
    for pair, packets in zip(found["cases"]["e"]["pairs"], (1000, 2000), strict=True):
        pair["ns3"] = {"packets": packets, "cpu_s": 1.0}
    made = dict(zip(*data(found), strict=True))
    assert made["ns3_million_packets_per_cpu_s"] == "0.0015"
    assert [made[f"times_ns3_{part}"] for part in ("median", "least", "most")] == ["1500", "1000", "2000"]
    assert "| 1500 (1000 to 2000) |" in tables(found)["scenarios"]


@pytest.mark.skipif(ns3.missing() is not None, reason=f"ns-3: {ns3.missing()}")
def test_ns3_delivers_the_slow_start_that_bentpipe_does() -> None:
    """After a handshake of half a second, which scenario e leaves out."""
    scenario = TINY.scenarios(quick=True)[0]
    theirs = ns3.run(scenario, *ns3.SOCKETS["reno"]) // 1460
    scenario.duration = "3.5 s"
    assert theirs == sum(flow["delivered_bytes"] for flow in bp.run(scenario).json["flows"]) // 1460


def test_parallel_runs_are_compared_by_cpu_and_by_wall_time() -> None:
    one, two = {"cpu_s": 4.0, "wall_s": 4.0}, {"cpu_s": 4.2, "wall_s": 2.1}
    cpu, wall = page.parallel({"parallel": {"pairs": [{"one": one, "several": two}]}})
    assert (cpu.median, wall.median) == pytest.approx((1.05, 1.905), abs=1e-3)


def test_steps_of_environments_count_cpu_time_alone_and_wall_time_together() -> None:
    """128 environments make 40 steps each: 5120."""
    one, two = {"cpu_s": 0.064, "wall_s": 1.0}, {"cpu_s": 1.0, "wall_s": 0.032}
    pairs = [{"one": one, "several": two}]
    taken = {"threads": 2, "count": 128, "steps": 40, "transports": {"datagrams": pairs}}
    alone, together = page.environments({"environments": taken})["datagrams"]
    assert (alone.median, together.median) == pytest.approx((80_000, 160_000))


def test_timings_of_another_version_are_refused() -> None:
    found = stored(a=[(run(1, 1.0), None)])
    with pytest.raises(ValueError, match="schema 1"):
        page.figures(found | {"schema": 2})
    with pytest.raises(ValueError, match="no benchmark is called 'z'"):
        page.figures(found | {"cases": {"z": {"pairs": []}}})


def test_a_table_has_a_line_for_each_row_and_numbers_to_the_right() -> None:
    assert markdown(["<name", "value"], [["x", "1"], ["y", "2"]]).splitlines() == [
        "| name | value |",
        "|---|---:|",
        "| x | 1 |",
        "| y | 2 |",
    ]


def test_the_page_says_what_was_measured_and_on_which_machine() -> None:
    made = tables(stored(a=[(run(10_000_000, 2.0), run(1_000_000, 2.0))]))
    line = made["scenarios"].splitlines()[2]
    assert line.endswith("| 5.00 | 200 (200 to 200) | 0.50 | 10.0 (10.0 to 10.0) |  | >= 10, 20 | must |")
    for word in ("1 pairs on 2030-01-01", "a processor", "4 GiB", "rustc 1.90.0"):
        assert word in made["machine"]


def test_the_data_file_has_every_number_in_a_cell_of_its_own() -> None:
    made = data(stored(a=[(run(10_000_000, 2.0), run(1_000_000, 2.0))], g=[(run(1, 1e-3), None)]))
    assert [len(row) for row in made] == [len(made[0])] * 3
    found = dict(zip(*made[:2], strict=True))
    assert found["ns_per_packet_median"] == "200" and found["ns2_million_packets_per_cpu_s"] == "0.50"
    assert [found[f"ratio_{part}"] for part in ("median", "least", "most")] == ["10.0"] * 3
    # A million nanoseconds a packet: no comma within a number.
    assert dict(zip(made[0], made[2], strict=True))["ns_per_packet_most"] == "1000000"


def test_a_letter_stands_for_its_cases_and_brings_what_they_are_held_against() -> None:
    assert list(chosen(["b"])) == ["b10", "b100", "b1000", "b10000"]
    assert list(chosen(["g"])) == ["a", "g", "g-links", "g-segments"]
    assert list(chosen(["h-bbr", "f"])) == ["a", "h-bbr", "f"]
    assert list(chosen(["w-f"])) == ["f", "w-f"]
    assert list(chosen([])) == [key for key in CASES if not key.startswith("w-")]
    with pytest.raises(_core.ScenarioError, match="h-bbr"):
        chosen(["h-bbrr"])


@pytest.mark.parametrize("key", CASES)
def test_every_case_is_a_correct_scenario_and_ns2_can_follow_where_it_is_to(key: str) -> None:
    case = CASES[key]
    for quick in (True, False):
        scenario = case.scenarios(quick=quick)[0]
        _core.check(scenario.to_json())
    if case.ns2:
        few = copy.deepcopy(scenario)
        for flow in few.flows:
            flow.count = 1
        assert "Agent/TCP/Sack1" in ns2.script(few, scheduler="Splay")


TINY = BenchCase("", "e", quick="4 s", quick_runs=1)


def test_packets_are_those_that_reach_the_application_in_order() -> None:
    # Slow start from one segment doubles every half second; a window takes a quarter of a second to arrive.
    # After 3.6 s those of seven rounds have, 1 + 2 + ... + 64, and the 128 of the eighth are on their way.
    found = here(BenchCase("", "e", quick="3.6 s"), quick=True)
    assert found["packets"] == 127
    assert found["cpu_s"] > 0.0


def test_several_runs_are_one_measurement_with_seeds_that_follow_each_other() -> None:
    case = BenchCase("", "e", quick="4 s", quick_runs=3)
    assert [s.seed for s in case.scenarios(quick=True)] == [1, 2, 3]
    assert here(case, quick=True)["packets"] == 3 * here(TINY, quick=True)["packets"]


def test_ns2_counts_packets_at_the_receiver_as_bentpipe_does() -> None:
    if not ns2.available():
        pytest.skip(ns2.MISSING)
    # Slow start without loss: 1, 2, 4, ... segments a round trip, so both deliver the same packets; the last
    # are still unacknowledged when the run ends (in 4 s, eight round trips of 0.5 s).
    scenario = TINY.scenarios(quick=True)[0]
    theirs = ns2.run(scenario, scheduler="Splay")
    assert there(TINY, quick=True)["packets"] == theirs.flows[0].received
    assert theirs.flows[0].received == here(TINY, quick=True)["packets"]
    assert theirs.flows[0].received > theirs.flows[0].delivered
    assert theirs.setup_s is not None and 0.0 < theirs.setup_s <= theirs.cpu_s


def test_an_ns3_that_fails_costs_its_own_number_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ns3, "missing", lambda: None)
    monkeypatch.setattr(ns3, "program", lambda: Path("/bin/false"))
    lines: list[str] = []
    case = replace(TINY, ns2=False, ns3="1 s")
    found = measure({"e": case}, pairs=1, quick=True, more=False, tell=lines.append)
    assert "ns-3 failed" in lines[0]
    assert [pair["ns3"] for pair in found["cases"]["e"]["pairs"]] == [None]


def test_the_command_prints_the_table_and_keeps_the_timings(tmp_path: Path) -> None:
    out = tmp_path / "timings.json"
    command = [sys.executable, "-m", "bentpipe.bench", "--only", "e", "--pairs", "1", "--quick"]
    wide = {**os.environ, "COLUMNS": "120"}  # in a narrow table a number goes over two lines
    done = subprocess.run([*command, "--out", out], capture_output=True, text=True, check=True, env=wide)
    assert "pair 1 of 1, e:" in done.stderr
    kept = json.loads(out.read_text(encoding="utf-8"))
    assert len(kept["cases"]["e"]["pairs"]) == 1
    name, _, speed = rows(kept)[0][:3]
    assert any(line.split()[:2] == [name, speed] for line in done.stdout.splitlines())


def test_a_place_that_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path) -> None:
    out = tmp_path / "not there" / "timings.json"
    done = subprocess.run(
        [sys.executable, "-m", "bentpipe.bench", "--only", "a", "--out", out],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and str(out) in done.stderr

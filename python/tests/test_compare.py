"""Comparisons: one row per algorithm, and what the options change."""

import pytest

import bentpipe as bp
from bentpipe.comparison import ComparisonStopped, algorithms, run_comparison
from bentpipe.sweeps.execution import Processes

LINK = bp.Link(rate="2 Mbit/s", delay="100 ms")
SHORT = {"duration": "10 s"}


def compare_rows(*given, seeds=1, **options):
    return bp.compare(*given, seeds=seeds, **options).to_dicts()


def test_one_row_per_algorithm_fastest_first():
    frame = bp.compare(LINK, ["reno", "star"], per=0.02, buffer="20 bdp", seeds=2, duration="30 s")
    assert sorted(frame["cc"]) == ["reno", "star"]
    assert frame["goodput_bps"].is_sorted(descending=True)
    assert (frame["goodput_low_bps"] < frame["goodput_bps"]).all()
    assert (frame["goodput_bps"] < frame["goodput_high_bps"]).all()
    shares = frame.select(c for c in frame.columns if c.startswith("limited_"))
    assert shares.sum_horizontal().to_list() == pytest.approx([1, 1], abs=1e-6)
    assert frame.filter(cc="reno")["loss"].item() == pytest.approx(0.02, abs=0.006)


def test_one_run_has_no_interval():
    (row,) = compare_rows(LINK, ["reno"], **SHORT)
    assert [row[key] for key in ("goodput_low_bps", "goodput_high_bps", "group")] == [None] * 3


def test_rate_and_rtt_replace_those_of_the_link():
    (row,) = compare_rows(LINK, ["reno"], rate="4Mbit/s", rtt="400ms", buffer="1bdp", duration="30 s")
    assert row["rtt_p50_s"] >= 0.4
    assert 2e6 < row["goodput_bps"] < 4e6


def test_rtt_replaces_a_return_delay():
    link = bp.Link(rate="2 Mbit/s", delay="100 ms", reverse={"delay": "2 s", "rate": "1 Mbit/s"})
    (row,) = compare_rows(link, ["reno"], rtt="200 ms", **SHORT)
    assert row["rtt_p50_s"] < 1


def test_a_small_buffer_shortens_the_queue():
    rows = [compare_rows(LINK, ["reno"], buffer=size, duration="60 s")[0] for size in ("5 packets", "4 bdp")]
    assert rows[0]["rtt_p95_s"] < rows[1]["rtt_p95_s"]


def test_flows_share_the_link():
    (row,) = compare_rows(LINK, ["reno"], flows=4, duration="60 s")
    assert 0.25 < row["jain"] <= 1
    assert 1e6 < row["goodput_bps"] < 2e6


def test_a_file_gives_link_and_flow_options(scenario_file):
    text = scenario_file.read_text().replace('cc = "reno"', 'cc = "reno"\nreceive_window = "2 segments"')
    scenario_file.write_text(text)
    (row,) = compare_rows(scenario_file, ["star"], **SHORT)
    assert row["limited_rwnd"] > 0.5


def test_unresponsive_traffic_of_a_file_stays(scenario_file):
    quiet = compare_rows(scenario_file, ["reno"], per=0, **SHORT)[0]["goodput_bps"]
    noise = '[[flow]]\npath = ["sat"]\nname = "noise"\ntraffic = { kind = "cbr", rate = "1 Mbit/s" }\n'
    scenario_file.write_text(scenario_file.read_text() + noise)
    assert compare_rows(scenario_file, ["reno"], per=0, **SHORT)[0]["goodput_bps"] < 0.8 * quiet


def test_a_trace_file_is_found_beside_the_scenario(scenario_file, monkeypatch, tmp_path_factory):
    (scenario_file.parent / "lost.txt").write_text("5\n")
    text = scenario_file.read_text()
    text = text.replace('{ kind = "packet-error", rate = 0.002 }', '{ kind = "trace", file = "lost.txt" }')
    scenario_file.write_text(text)
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    (row,) = compare_rows(scenario_file, ["reno"], duration="2 s")
    assert row["loss"] > 0


def test_parameters_are_part_of_the_label():
    entry = next(e for e in bp.controllers() if any(p["kind"] == "number" for p in e["params"]))
    param = next(p for p in entry["params"] if p["kind"] == "number")
    (row,) = compare_rows(LINK, [{"name": entry["id"], param["name"]: param["default"]}], **SHORT)
    assert row["label"].startswith(f"{entry['label']} {param['name']}=")


def test_a_whole_scenario_keeps_its_other_flows():
    flows = [bp.Flow("cubic", path=["sat"]), bp.Flow("reno", path=["sat"], name="other")]
    both = bp.Scenario(links={"sat": LINK}, flows=flows, duration="30 s")
    alone, beside = (compare_rows(both, ["vegas"], whole=whole)[0] for whole in (False, True))
    assert beside["goodput_bps"] < 0.8 * alone["goodput_bps"]
    with pytest.raises(bp.ScenarioError, match="buffer: a scenario is played as it stands"):
        compare_rows(both, ["cubic"], whole=True, buffer="1 bdp")


def test_a_command_line_gives_five_runs_and_so_does_python():
    assert bp.compare(LINK, ["reno"], **SHORT)["runs"].to_list() == [5]


def test_what_cannot_be_told_apart_is_one_group_and_the_rest_comes_after():
    rows = compare_rows(LINK, ["reno", "cubic", "star"], per=0.02, seeds=6, duration="30 s")
    assert [row["cc"] for row in rows if row["group"] == 1] == ["star"]
    assert {row["cc"]: row["group"] for row in rows}.keys() == {"reno", "cubic", "star"}
    alike = compare_rows(
        LINK, ["reno", {"name": "reno", "slow_start": "standard"}], per=0.02, seeds=3, **SHORT
    )
    assert [row["group"] for row in alike] == [1, 1]


def test_where_nothing_is_random_there_are_no_groups(cli):
    rows = compare_rows("leo-handover", ["bbr3", "cubic"], whole=True, seeds=2, duration="20 s")
    assert [row["group"] for row in rows] == [None, None]
    assert rows[0]["goodput_bps"] >= rows[1]["goodput_bps"] == rows[1]["goodput_low_bps"]
    said = cli(
        "compare", "--scenario", "leo-handover", "--cc", "bbr3,cubic", "--for", "20 s", "--seeds", "2"
    ).stdout
    assert (
        "nothing in this scenario is random" in said
        and "group " not in said.split("Why not")[0].split("there are")[0]
    )


def test_an_interval_never_falls_below_zero():
    rows = compare_rows(LINK, ["reno"], per=0.6, seeds=3, duration="20 s")
    assert rows[0]["goodput_low_bps"] >= 0


def test_an_algorithm_that_loses_much_is_marked(scenario_file):
    text = scenario_file.read_text().replace("1 bdp", "8 packets")
    scenario_file.write_text(text)
    rows = {row["cc"]: row for row in compare_rows(scenario_file, ["vegas", "hybla"], per=0, duration="10 s")}
    assert (rows["vegas"]["lossy"], rows["hybla"]["lossy"]) == (False, rows["hybla"]["loss"] > 0.05)
    assert rows["hybla"]["loss"] > 0.05


def test_flows_of_a_size_have_a_completion_time(scenario_file):
    text = scenario_file.read_text() + 'traffic = { kind = "bulk", size = "200 kB" }\n'
    scenario_file.write_text(text)
    (row,) = compare_rows(scenario_file, ["reno"], per=0, duration="20 s")
    alone = bp.run(bp.Scenario.load(scenario_file, {"link.sat.loss.rate": 0})).json["flows"][0]
    assert (row["completion_s"], row["completed"]) == (alone["completion_s"], 1)
    (short,) = compare_rows(scenario_file, ["reno"], per=0, duration="1 s")
    assert (short["completion_s"], short["completed"]) == (None, None)


def test_tables_with_parameters_stand_between_commas():
    given = "cubic, vegas alpha=2,{ name = 'simd', beta = 0.0625 }, my.py:Mine"
    assert algorithms(given) == ["cubic", "vegas alpha=2", {"name": "simd", "beta": 0.0625}, "my.py:Mine"]
    with pytest.raises(bp.ScenarioError, match="write a table such as"):
        algorithms("cubic,{name}")


class Fails(bp.Controller):
    def on_ack(self, flow, ack):
        raise ValueError("on purpose")

    def on_congestion(self, flow, why):
        pass


def test_a_controller_that_fails_does_not_take_the_others_along():
    found = run_comparison(LINK, ["reno", Fails], seeds=2, **SHORT)
    assert [row["label"] for row in found.rows] == ["Reno"]
    assert list(found.failed) == ["Fails"] and "on purpose" in found.failed["Fails"]
    with pytest.raises(bp.ControllerError, match="on purpose"):
        bp.compare(LINK, ["reno", Fails], seeds=2, **SHORT)


def test_runs_that_were_done_are_kept_when_the_user_stops():
    def stop(state):
        if state.done >= 3:
            raise KeyboardInterrupt

    with pytest.raises(ComparisonStopped) as stopped:
        run_comparison(LINK, ["reno", "star"], seeds=200, threads=1, progress=stop, **SHORT)
    rows = stopped.value.found.rows
    assert rows and 3 <= sum(row["runs"] for row in rows) < 400
    assert stopped.value.found.stopped


def test_runs_that_are_kept_are_not_made_again_wherever_they_were_made(tmp_path):
    def none():
        raise AssertionError("a run is made again")

    here = compare_rows(LINK, ["reno", "bbr"], seeds=2, **SHORT)
    for executor in (lambda: Processes(1), none):
        kept = compare_rows(LINK, ["reno", "bbr"], seeds=2, cache=tmp_path, executor=executor, **SHORT)
        assert kept == here
    for more in ({"seeds": 3}, {"seeds": 2, "fresh": True}):
        with pytest.raises(AssertionError):
            compare_rows(LINK, ["reno", "bbr"], cache=tmp_path, executor=none, **more, **SHORT)


def test_parameters_may_stand_behind_a_name():
    (row,) = compare_rows(LINK, ["vegas alpha=2 base_window=10"], **SHORT)
    assert row["label"] == "Vegas alpha=2 base_window=10"
    with pytest.raises(bp.ScenarioError, match="'alpha' is no parameter"):
        compare_rows(LINK, ["vegas alpha"], **SHORT)


def test_hystart_spares_the_queue():
    long = bp.Link(rate="10 Mbit/s", delay="50 ms", queue=bp.DropTail("12 bdp"))
    ccs = [{"name": "cubic", "slow_start": start} for start in ("standard", "hystart++")]
    rows = {row["label"]: row for row in compare_rows(long, ccs, duration="4.5 s")}
    assert rows["CUBIC slow_start=hystart++"]["loss"] == 0
    assert rows["CUBIC slow_start=standard"]["loss"] > 0


def test_a_scenario_of_several_links_cannot_be_changed_by_one_number(scenario_file):
    second = '[link.b]\nrate = "1 Mbit/s"\ndelay = "1 ms"\n[[flow]]'
    scenario_file.write_text(scenario_file.read_text().replace("[[flow]]", second))
    assert compare_rows(scenario_file, ["reno"], **SHORT)
    with pytest.raises(bp.ScenarioError, match="one link, but this one has"):
        compare_rows(scenario_file, ["reno"], rate="5 Mbit/s")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"cc": []}, "cc"),
        ({"cc": ["renoo"]}, "did you mean reno"),
        ({"rate": "fast"}, "rate"),
        ({"rtt": "600"}, "rtt"),
        ({"ber": 2.0}, "rate"),
        ({"per": -1.0}, "rate"),
        ({"buffer": "big"}, "limit"),
        ({"duration": "long"}, "duration"),
        ({"flows": 0}, "flows"),
        ({"seeds": 0}, "seeds"),
        ({"link": "geoo"}, "did you mean geo"),
        ({"link": "/nowhere.toml"}, "/nowhere.toml"),
    ],
)
def test_wrong_requests(given, named):
    asked = {"link": LINK, "cc": ["reno"], **SHORT, **given}
    with pytest.raises(bp.ScenarioError, match=named) as caught:
        compare_rows(asked.pop("link"), asked.pop("cc"), **asked)
    assert "\n" not in str(caught.value)

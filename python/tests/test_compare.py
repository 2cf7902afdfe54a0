"""Comparisons: one row per algorithm, and what the options change."""

import pytest

import bentpipe as bp
from bentpipe.comparison import compare_rows

LINK = bp.Link(rate="2 Mbit/s", delay="100 ms")
SHORT = {"duration": "10 s"}


def test_one_row_per_algorithm_fastest_first():
    frame = bp.compare(LINK, ["reno", "star"], per=0.02, buffer="20 bdp", seeds=2, duration="30 s")
    assert sorted(frame["cc"]) == ["reno", "star"]
    assert frame["goodput_bps"].is_sorted(descending=True)
    assert (frame["goodput_ci95_bps"] > 0).all()
    shares = frame.select(c for c in frame.columns if c.startswith("limited_"))
    assert shares.sum_horizontal().to_list() == pytest.approx([1, 1], abs=1e-6)
    assert frame.filter(cc="reno")["loss"].item() == pytest.approx(0.02, abs=0.006)


def test_one_run_has_no_interval():
    assert bp.compare(LINK, ["reno"], **SHORT)["goodput_ci95_bps"].to_list() == [None]


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

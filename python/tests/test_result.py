"""Results: frames, and keeping them."""

import json
import pickle

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.result import LIMITS


@pytest.fixture(scope="module")
def traced():
    link = bp.Link(rate="2 Mbit/s", delay="100 ms", loss=bp.PacketError(0.002))
    flows = [bp.Flow("reno", path=["sat"], count=2), bp.Flow("star", path=["sat"])]
    record = bp.Record("100 ms", links=True)
    return bp.run(bp.Scenario(links={"sat": link}, flows=flows, duration="20 s", record=record))


def test_the_json_object_has_every_key_of_the_format(traced):
    assert set(traced.json) == {
        *("schema", "seed", "simulated_s", "wall_s", "packets", "flows", "links", "warnings"),
    }
    assert traced.json["schema"] == 1
    for flow in traced.json["flows"]:
        assert set(flow["limited"]) == set(LIMITS)
        assert sum(flow["limited"].values()) == pytest.approx(1, abs=1e-6)


def test_frames_hold_the_numbers_of_the_json_object(traced):
    assert traced.flows["name"].to_list() == ["reno-1", "reno-2", "star"]
    assert traced.flows["goodput_bps"].to_list() == [f["goodput_bps"] for f in traced.json["flows"]]
    assert traced.flows["limited_cwnd"].to_list() == [f["limited"]["cwnd"] for f in traced.json["flows"]]
    assert traced.links.select("name", "direction").rows() == [("sat", "forward"), ("sat", "reverse")]
    assert traced.flows.schema["completion_s"] == pl.Float64


def test_the_trace_is_long_and_names_its_flows(traced):
    trace = traced.trace
    assert set(trace["flow"].cast(pl.String)) == {"reno-1", "reno-2", "star"}
    star = trace.filter(pl.col("flow") == "star")
    assert star["t_s"].is_sorted()
    assert star.height == pytest.approx(200, abs=2)
    delivered = traced.flows.filter(pl.col("name") == "star")["delivered_bytes"].item()
    assert 0.9 * delivered <= star["delivered_bytes"].max() <= delivered
    assert (star["cwnd"] >= 1).all()
    again = star["retransmitted_packets"]
    assert again.is_sorted() and again.min() == 0
    assert 0 < again.max() <= traced.flows.filter(pl.col("name") == "star")["retransmitted_packets"].item()


def test_the_link_trace_names_link_and_direction(traced):
    assert set(traced.link_trace["link"].cast(pl.String)) == {"sat/forward", "sat/reverse"}


def test_nothing_is_traced_unless_asked():
    link = bp.Link(rate="2 Mbit/s", delay="100 ms")
    scenario = bp.Scenario(links={"sat": link}, flows=[bp.Flow("reno", path=["sat"])], duration="2 s")
    result = bp.run(scenario)
    assert result.trace.height == result.link_trace.height == 0


def test_saving_and_loading(traced, tmp_path):
    where = traced.save(tmp_path / "deep" / "result")
    assert sorted(p.name for p in where.iterdir()) == [
        "flows.parquet",
        "link_trace.parquet",
        "links.parquet",
        "run.json",
        "trace.parquet",
    ]
    about = json.loads((where / "run.json").read_text())
    assert about["version"] == bp.__version__
    assert about["seed"] == 1
    loaded = bp.Result.load(where)
    assert loaded.json == traced.json
    assert loaded.scenario == traced.scenario
    for table in ("flows", "links", "trace", "link_trace"):
        assert getattr(loaded, table).equals(getattr(traced, table)), table
    assert bp.Scenario.from_dict(loaded.scenario).to_dict()["link"]


def test_a_result_is_replaced_as_a_whole(traced, tmp_path):
    where = traced.save(tmp_path / "r")
    link = bp.Link(rate="2 Mbit/s", delay="100 ms")
    short = bp.run(bp.Scenario(links={"a": link}, flows=[bp.Flow("reno", path="a")], duration="1 s"))
    short.save(where)
    assert not (where / "trace.parquet").exists()
    assert bp.Result.load(where).json == short.json
    assert [p.name for p in tmp_path.iterdir()] == ["r"]


def test_a_scenario_in_place_of_its_result_is_to_be_run_first(tmp_path):
    (tmp_path / "geo.toml").write_text("")
    with pytest.raises(bp.ScenarioError, match=r"bentpipe run .*geo\.toml --out DIR writes one"):
        bp.Result.load(tmp_path / "geo.toml")


def test_other_peoples_files_are_never_replaced(traced, tmp_path):
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(bp.ScenarioError, match="not a result directory"):
        traced.save(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_failed_save_leaves_nothing_behind(traced, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", fail)
    with pytest.raises(OSError, match="disk full"):
        traced.save(tmp_path / "r")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [None, "{}", "not json", '{"schema": 2}'])
def test_what_is_no_result_is_not_loaded(tmp_path, content):
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(bp.ScenarioError, match="result directory|schema"):
        bp.Result.load(tmp_path)


def test_a_result_can_be_pickled(traced):
    copy = pickle.loads(pickle.dumps(traced))
    assert copy.json == traced.json and copy.scenario == traced.scenario
    for name in ("flows", "links", "trace", "link_trace", "segments"):
        assert getattr(copy, name).equals(getattr(traced, name))
    assert copy.trace.height > 0


def test_a_wrong_name_has_those_that_are_near():
    ran = bp.run(bp.Scenario.load("geo", {"duration": "1 s"}))
    with pytest.raises(AttributeError, match=r"a Result has no attribute 'flow'; did you mean flows\?"):
        ran.flow  # noqa: B018
    with pytest.raises(AttributeError, match=r"'bentpipe.plot' has no attribute 'rtts'; did you mean rtt\?"):
        bp.plot.rtts  # noqa: B018
    with pytest.raises(AttributeError, match=r"'bentpipe' has no attribute 'Senario'; did you mean Scenario"):
        bp.Senario  # noqa: B018
    assert not hasattr(ran, "_repr_html_")

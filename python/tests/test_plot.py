"""Figures: what they show, and that they are the same twice."""

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.registry import style


@pytest.fixture(scope="module")
def traced():
    link = bp.Link(rate="2 Mbit/s", delay="100 ms", loss=bp.PacketError(0.002))
    flows = [bp.Flow("reno", path=["sat"], count=2), bp.Flow("star", path=["sat"])]
    record = bp.Record("100 ms")
    return bp.run(bp.Scenario(links={"sat": link}, flows=flows, duration="20 s", record=record))


@pytest.mark.parametrize("kind", ["cwnd", "goodput", "rtt"])
def test_one_line_per_flow_in_the_registrys_colours(traced, kind):
    figure = getattr(bp.plot, kind)(traced)
    (axes,) = figure.axes
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["reno-1", "reno-2", style("star")["label"]]
    lines = [line for line in axes.lines if line.get_label() in labels]
    assert [line.get_color() for line in lines] == [style(c)["colour"] for c in ("reno", "reno", "star")]
    assert lines[0].get_linestyle() != lines[1].get_linestyle()
    assert all(len(line.get_xdata()) > 10 for line in lines)
    assert axes.get_xlabel() == "time / s" and "/" in axes.get_ylabel()
    assert figure.get_size_inches()[0] == pytest.approx(3.5)


def test_the_bandwidth_delay_product(traced):
    least = traced.json["flows"][0]["rtt_min_s"]
    assert bp.plot.bdp_segments(traced) == pytest.approx(2e6 * least / 8 / 1500)
    assert any(text.get_text() == "BDP" for text in bp.plot.cwnd(traced).axes[0].texts)


def test_another_column_of_the_trace_takes_the_place_of_the_window(traced):
    figure = bp.plot.cwnd(traced, column="retransmitted_packets")
    assert figure.axes[0].get_ylabel() == "segments sent again"
    drawn = figure.data.group_by("flow").agg(pl.col("retransmitted_packets").last()).sort("flow")
    rows = traced.trace.group_by("flow").agg(pl.col("retransmitted_packets").last())
    again = rows.with_columns(pl.col("flow").cast(pl.String)).sort("flow")
    assert drawn["retransmitted_packets"].to_list() == again["retransmitted_packets"].to_list() != [0, 0, 0]
    with pytest.raises(bp.ScenarioError, match="retransmitted_packets"):
        bp.plot.cwnd(traced, column="retransmitted")


@pytest.mark.parametrize("ending", ["pdf", "svg", "png"])
def test_the_same_figure_gives_the_same_bytes(traced, tmp_path, ending):
    first, second = (bp.plot.save(bp.plot.cwnd(traced), tmp_path / f"{i}.{ending}") for i in (1, 2))
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size > 2000


def test_a_result_without_trace_is_refused():
    link = bp.Link(rate="2 Mbit/s", delay="100 ms")
    plain = bp.run(bp.Scenario(links={"s": link}, flows=[bp.Flow("reno", path="s")], duration="1 s"))
    with pytest.raises(bp.ScenarioError, match="no trace"):
        bp.plot.cwnd(plain)


@pytest.fixture(scope="module")
def segments():
    link = bp.Link(rate="2 Mbit/s", delay="100 ms", loss=bp.PacketError(0.02))
    flows = [bp.Flow("reno", path=["sat"]), bp.Flow("cubic", path=["sat"], receive_window="30 segments")]
    record = bp.Record(segments=True)
    return bp.run(bp.Scenario(links={"sat": link}, flows=flows, duration="20 s", record=record))


def test_a_sequence_plot_shows_every_segment(segments):
    flow = segments.json["flows"][0]
    axes, strip = bp.plot.sequence(segments, flow="reno").axes
    bars = {c.get_label(): len(c.get_segments()) for c in axes.collections}
    assert bars["sent"] == flow["sent_packets"] - flow["retransmitted_packets"]
    assert bars["sent again"] == flow["retransmitted_packets"] > 0
    assert bars["SACK"] > 0
    lines = {line.get_label(): line for line in axes.lines}
    ticks = {line.get_label(): len(line.get_xdata()) for line in strip.lines}
    assert ticks["lost"] == flow["dropped_packets"] > 0
    assert ticks["sent again"] == flow["retransmitted_packets"]
    assert lines["acknowledged"].get_ydata()[-1] <= flow["delivered_bytes"]
    assert "receive window" not in lines


def test_a_sequence_plot_shows_the_window_in_its_unit(segments):
    axes, _ = bp.plot.sequence(segments, flow="cubic", unit="segments", between=(5, 10)).axes
    lines = {line.get_label(): line for line in axes.lines}
    room = lines["receive window"].get_ydata() - lines["acknowledged"].get_ydata()
    assert set(room) == {30.0}
    assert axes.get_xlim() == (5, 10) and axes.get_ylabel() == "sequence number / segments"


@pytest.mark.parametrize(
    ("given", "words"),
    [({"flow": "rena"}, "rena"), ({"unit": "bits"}, "bytes or segments"), ({"between": (30, 40)}, "between")],
)
def test_a_wrong_sequence_plot_is_refused(segments, given, words):
    with pytest.raises(bp.ScenarioError, match=words):
        bp.plot.sequence(segments, **given)


def test_a_sequence_plot_needs_segments(traced):
    with pytest.raises(bp.ScenarioError, match="record.segments=true"):
        bp.plot.sequence(traced)


def test_the_command_draws_a_saved_result(cli, segments, tmp_path):
    saved = segments.save(tmp_path / "r")
    done = cli(
        "plot", "sequence", saved, "-o", tmp_path / "s.svg", "--flow", "cubic", "--from", "2", "--to", "4"
    )
    assert done.exit_code == 0, done.stderr
    assert "acknowledged" in (tmp_path / "s.svg").read_text()
    assert cli("plot", "sequence", saved, "-o", tmp_path / "s.gif").exit_code == 2
    assert cli("plot", "sequence", tmp_path, "-o", tmp_path / "s.svg").exit_code == 2


def test_a_queue_is_that_of_a_recorded_link_or_the_message_names_those_there_are():
    """A result in which no recorded link has the name of the path's: the slowest recorded one is drawn."""
    links = {
        "fast": bp.Link(rate="4 Mbit/s", delay="10 ms"),
        "slow": bp.Link(rate="2 Mbit/s", delay="10 ms"),
    }
    flows = [bp.Flow("reno", path=["fast", "slow"])]
    record = bp.Record("100 ms", links=True)
    result = bp.run(bp.Scenario(links=links, flows=flows, duration="5 s", record=record))
    assert bp.plot.queue(result).data["link"].unique().to_list() == ["slow/forward"]
    with pytest.raises(bp.ScenarioError, match=r"no link is called 'sat/forward'.*fast/forward"):
        bp.plot.queue(result, link="sat")
    result.link_trace = result.link_trace.filter(pl.col("link").cast(pl.String).str.starts_with("fast"))
    assert bp.plot.queue(result).data["link"].unique().to_list() == ["fast/forward"]


def test_the_trace_of_an_emulation_is_refused_by_figures_of_flows():
    """It has no flows of its own; an advice to record them would not help."""
    from types import SimpleNamespace

    from bentpipe.plot.curves import need

    found = SimpleNamespace(trace=pl.DataFrame(), json={"flows": []})
    with pytest.raises(bp.ScenarioError, match=r"ho is of an emulation.*bentpipe plot queue"):
        need(found, "trace", "ho")

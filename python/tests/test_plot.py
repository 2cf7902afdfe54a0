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
    assert axes.get_xlabel() == "time, s" and ", " in axes.get_ylabel()
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
    assert axes.get_xlim() == (5, 10) and axes.get_ylabel() == "sequence number, segments"


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


UP = [["0 s", True], ["30 s", False], ["50 s", True]]


def test_two_paths_have_two_capacities_and_a_connection_is_drawn_as_a_whole():
    """50 Mbit/s with an outage from 30 to 50 s, and 47 Mbit/s: 97 before it, 47 in it."""
    links = {
        "gw1": bp.Link(rate="50 Mbit/s", delay="50 ms", up=UP),
        "gw2": bp.Link(rate="47 Mbit/s", delay="60 ms"),
    }
    flow = bp.Flow("lia", path=["gw1"], name="mp", subflow=[{"path": ["gw2"]}])
    record = bp.Record("100 ms", links=True)
    ran = bp.run(bp.Scenario(links=links, flows=[flow], duration="60 s", record=record))
    figure = bp.plot.goodput(ran)
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    first, second = (lines[f"capacity of gw{n}, {rate} Mbit/s"] for n, rate in ((1, 50), (2, 47)))
    assert {first.get_ydata()[0], first.get_ydata()[-1]} == {50} and 0 in first.get_ydata()
    assert set(second.get_ydata()) == {47}
    whole = figure.data.filter(flow="mp")
    assert 90 < whole.filter(pl.col("t_s").is_between(10, 25))["goodput_bps"].min() / 1e6 < 97
    assert 40 < whole.filter(pl.col("t_s").is_between(35, 45))["goodput_bps"].max() / 1e6 < 47
    assert "LIA, the whole" in bp.plot.over_path({"LIA": ran}).data["run"].to_list()
    alone = bp.plot.goodput(ran_over_one_link())
    assert "grey: the capacity of the path" in " ".join(alone.get_supxlabel().split())


def ran_over_one_link():
    link, record = bp.Link(rate="2 Mbit/s", delay="100 ms"), bp.Record("100 ms")
    return bp.run(
        bp.Scenario(links={"s": link}, flows=[bp.Flow("reno", path="s")], duration="20 s", record=record)
    )


def shares(*of_late_comer):
    """A run of two flows whose late-comer, from 10 s on, has these shares of the goodput, one a second."""
    first = {"name": "a", "cc": "cubic", "start_s": 0.0, "completion_s": None, "half": None, "rtt_min_s": 0.1}
    flows = [first, first | {"name": "b", "cc": "bbr", "start_s": 10.0}]
    length = 10 + len(of_late_comer)
    own = [0.0] * 10 + list(of_late_comer)
    rows = []
    for name, parts in (("a", [1 - share for share in own]), ("b", own)):
        total = 0.0
        for t in range(length + 1):
            rows.append({"t_s": float(t), "flow": name, "delivered_bytes": int(total), "srtt_s": 0.1})
            total += 1e5 * parts[t] if t < length else 0
    link = {"sat": {"rate": "10 Mbit/s", "delay": "10 ms"}}
    flow = {"path": ["sat"], "mss": "1448 bytes", "header": "52 bytes"}
    scenario = {"link": link, "flow": [flow, flow]}
    links = [{"name": "sat", "direction": "forward", "rate_bps": 1e7}]
    about = {"seed": 1, "simulated_s": float(length), "flows": flows, "links": links, "warnings": []}
    frames = {"trace": pl.DataFrame(rows), "link_trace": pl.DataFrame()}
    return bp.Result.of_tables(scenario, about, frames)


@pytest.mark.parametrize(
    ("of_late_comer", "said"),
    [
        ([0.1] * 5 + [0.5] * 30, "b: fair share from 5.5 s on"),
        ([0.5] * 15 + [0.1] * 20, "b: no lasting fair share"),  # it touches the fair share and loses it
        ([0.5] * 15 + [0.1] * 20 + [0.45] * 25, "b: fair share from"),
        ([0.1] * 35, "b: no lasting fair share"),
    ],
)
def test_a_late_comer_has_converged_when_its_share_stays_fair(of_late_comer, said):
    figure = bp.plot.convergence(shares(*of_late_comer), window_s=1.0)
    words = " ".join(figure.get_supxlabel().split())
    assert said in words, words
    if "from" in said and len(of_late_comer) == 60:
        since = float(words.partition("from ")[2].partition(" s")[0])
        assert since >= 35
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["a (CUBIC)", "b (BBR)"]
    (jain,) = figure.axes[1].lines
    last = of_late_comer[-1]
    assert jain.get_ydata()[-1] == pytest.approx(1 / (2 * (last**2 + (1 - last) ** 2)), rel=1e-3)


def test_two_algorithms_never_share_a_colour():
    """LIA, BBR, BALIA and Vegas-L have nearly one blue in the registry, and CUBIC's black is its own."""
    from bentpipe.plot.looks import Turns
    from bentpipe.registry import colours, controllers

    turns = Turns()
    drawn = [turns.look(cc)["color"] for cc in ("bbr", "lia", "cubic", "balia", "vegas-l", "bbr")]
    assert len(set(drawn)) == 5 and drawn[0] == drawn[-1] == style("bbr")["colour"]
    assert drawn[2] == style("cubic")["colour"]
    every = colours(entry["id"] for entry in controllers())
    assert len(set(every.values())) > 40
    some = list(every)[:24]
    assert len(set(colours(some).values())) == len(some)

"""Figures of many runs: each line is the mean that the rows give, and each mistake is one message."""

from __future__ import annotations

import copy
import itertools
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bentpipe as bp
from bentpipe import plot, stats
from bentpipe.plot.panels import grid_of
from bentpipe.registry import OWN_COLOURS, style
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.engine import Runs, in_memory
from bentpipe.sweeps.lab import Lab

BASE = {
    "duration": "6 s",
    "link": {
        "sat": {
            "rate": "4 Mbit/s",
            "delay": "40 ms",
            "queue": {"kind": "drop-tail", "limit": "1 bdp"},
            "loss": {"kind": "packet-error", "rate": 1e-3},
        }
    },
    "flow": [{"cc": "cubic", "path": ["sat"]}],
}


def run_cases(cases: Sequence[Case]) -> Runs:
    """The tables of some runs."""
    types = {name: type(value) for case in cases for name, value in case.keys.items()}
    with Lab() as lab:
        over = {ran.number: (cases[ran.number], ran) for some in lab.each(cases) for ran in some}
    return in_memory(types, over)


def sweep(vary: dict[str, dict[str, Any]], *, flows: int = 1, seeds: int = 2, **more: Any) -> Runs:
    """Runs a grid; `vary` has for each column the values in the scenario by those in the column."""
    cases = []
    for point in itertools.product(*(values.items() for values in vary.values())):
        for seed in range(1, seeds + 1):
            scenario: Any = copy.deepcopy(BASE | {"seed": seed} | more)
            scenario["flow"] += [{"cc": "cubic", "path": ["sat"]} for _ in range(flows - 1)]
            for column, (_, given) in zip(vary, point, strict=True):
                *way, last = (
                    column.removesuffix("_bps")
                    .removesuffix("_s")
                    .removesuffix("_bytes")
                    .removesuffix("_bdp")
                    .split(".")
                )
                place = scenario
                for part in way:
                    place = place[int(part)] if isinstance(place, list) else place.setdefault(part, {})
                place[last] = given
            keys = {column: value for column, (value, _) in zip(vary, point, strict=True)}
            cases.append(Case(keys, scenario, keep_trace="record" in more))
    return run_cases(cases)


CC = {"flow.0.cc": {"cubic": "cubic", "reno": "reno", "bbr": "bbr"}}
LOSS = {"link.sat.loss.rate": {x: x for x in (1e-4, 1e-3, 1e-2)}}
BUFFER = {"link.sat.queue.limit_bdp": {x: f"{x} bdp" for x in (0.5, 1.0, 2.0)}}
DELAY = {"link.sat.delay_s": {0.02: "20 ms", 0.08: "80 ms"}}
SIZE = "flow.0.traffic.size_bytes"
TRANSFER = [{"cc": "cubic", "path": ["sat"], "traffic": {"kind": "bulk", "size": "1 MB"}}]
EXTRA = {"flow.1.extra_delay_s": {0.0: "0 s", 0.08: "80 ms"}}


@pytest.fixture(scope="module")
def losses() -> Runs:
    return sweep(CC | LOSS)


@pytest.fixture(scope="module")
def beside() -> Runs:
    return sweep(CC | BUFFER, flows=2)


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as `bentpipe sweep --out` writes it."""
    place = tmp_path_factory.mktemp("sweep") / "losses"
    grid = {"flow.0.cc": list(CC["flow.0.cc"]), "link.sat.loss.rate": list(LOSS["link.sat.loss.rate"])}
    bp.sweep(BASE, grid, seeds=2, out=place)
    return place


def drawn(figure: plot.Drawing, panel: int = 0) -> dict[str, Any]:
    """The lines of a panel by their labels."""
    lines = figure.axes[panel].get_lines()
    return {str(line.get_label()): line for line in lines if not str(line.get_label()).startswith("_")}


def note(figure: plot.Drawing) -> str:
    """The words at the foot, in one line."""
    return " ".join(figure.get_supxlabel().split())


def test_utilisation_is_the_mean_of_the_slowest_link_with_its_interval(
    losses: Runs,
) -> None:
    figure = plot.utilisation(losses)
    lines = drawn(figure)
    assert list(lines) == [style(cc)["label"] for cc in ("cubic", "reno", "bbr")]
    assert figure.axes[0].get_xscale() == "log"
    links = losses.links.filter(pl.col("direction") == "forward")
    for cc, rate in itertools.product(("cubic", "reno", "bbr"), (1e-4, 1e-3, 1e-2)):
        point = links.filter(pl.col("flow.0.cc") == cc, pl.col("link.sat.loss.rate") == rate)
        wanted = stats.interval(point["utilisation"], least=0, most=1)
        line = lines[style(cc)["label"]]
        assert line.get_color() == style(cc)["colour"]
        at = list(line.get_xdata()).index(rate)
        assert line.get_ydata()[at] == pytest.approx(wanted.centre)
        row = figure.data.filter(pl.col("algorithm") == cc, pl.col("link.sat.loss.rate") == rate)
        assert row["utilisation_low"][0] == pytest.approx(wanted.low)
        assert row["utilisation_high"][0] == pytest.approx(wanted.high) and wanted.high <= 1
    assert "n = 2 runs for each point" in note(figure)


def test_windows_at_a_loss_rate_lie_beside_renos_response_function() -> None:
    """Mathis 1997: sqrt(3/2 / p), here 12.2 segments at p = 0.01; HighSpeed is Reno below 38 segments."""
    link = {"rate": "100 Mbit/s", "delay": "50 ms", "loss": {"kind": "packet-error", "rate": 0.01}}
    losses = {"link.sat.loss.rate": {0.01: 0.01, 0.02: 0.02}}
    ccs = {"flow.0.cc": {cc: cc for cc in ("reno", "highspeed")}}
    found = sweep(ccs | losses, seeds=3, duration="200 s", link={"sat": link})
    figure = plot.response(found)
    (axes,) = figure.axes
    law = next(line for line in axes.lines if line.get_label().startswith("_"))
    # The dashed line is at the losses that happened, about 0.01 and 0.02.
    assert law.get_ydata() == pytest.approx([12.25, 8.66], rel=0.05)
    lines = drawn(figure)
    for cc in ("Reno", "HighSpeed"):
        assert lines[cc].get_ydata() == pytest.approx(law.get_ydata(), rel=0.15)
    assert axes.get_xscale() == "linear" and axes.get_yscale() == "log"
    alone = plot.response(found.flows)
    assert "dashed" in note(figure) and "dashed" not in note(alone), "flows alone do not tell what links lose"


def test_directory_runs_and_frame_give_the_same_figure(losses: Runs, on_disk: Path) -> None:
    whole, *frames = [plot.against(given).data for given in (losses, on_disk, str(on_disk), losses.flows)]
    assert whole.equals(frames[0]) and whole.equals(frames[1])
    # Flows alone do not say how much the link carries, which bounds the intervals.
    assert whole["goodput_bps_mean"].equals(frames[2]["goodput_bps_mean"])
    assert float(str(whole["goodput_bps_high"].max())) <= 4e6
    assert plot.utilisation(on_disk).data.equals(plot.utilisation(losses).data)
    # What bp.sweep returns has no links either.
    instead = plot.utilisation(losses.flows)
    assert instead.axes[0].get_ylabel().startswith("goodput") and "links are not known" in note(instead)


def test_the_marker_of_the_highest_point_is_inside_the_axes() -> None:
    # Over a long queue goodput is nearly the same at both delays: 5 % of their difference is no room.
    runs = sweep(CC | DELAY, seeds=1, link={"sat": {**BASE["link"]["sat"], "loss": []}})
    figure = plot.against(runs, x="link.sat.delay_s", y="goodput_bps")
    axes = figure.axes[0]
    assert axes.get_ylim()[1] >= 1.02 * max(max(line.get_ydata()) for line in axes.lines)


def test_one_run_and_runs_that_are_alike_say_so() -> None:
    still = {"kind": "packet-error", "rate": 0.0}
    link = copy.deepcopy(BASE["link"])
    link["sat"]["loss"] = still  # type: ignore[index]
    assert "n = 1" in note(plot.against(sweep(DELAY, seeds=1, link=link)))
    alike = sweep(DELAY, seeds=3, link=link)
    assert "all alike" in note(plot.against(alike))
    assert "all alike" in note(plot.throughput_delay(alike))
    assert "all alike" in note(plot.heatmap(sweep(DELAY | BUFFER, seeds=2, link=link)))
    assert "one run for each marker" in note(plot.throughput_delay(sweep(CC, seeds=1, link=link)))
    assert "1 run for each line" in note(plot.cdf(sweep(CC, seeds=1, link=link)))
    assert "one run for each cell" in note(plot.heatmap(sweep(CC | DELAY | BUFFER, seeds=1, link=link)))


def test_throughput_and_delay_have_an_ellipse_over_the_seeds() -> None:
    runs = sweep(CC, seeds=4)
    figure = plot.throughput_delay(runs)
    axes = figure.axes[0]
    left, right = axes.get_xlim()
    assert left > right, "less delay is to the right"
    ellipses = [patch for patch in axes.patches if type(patch).__name__ in ("Ellipse", "Polygon")]
    assert len(ellipses) >= 3
    floor = runs.flows["rtt_min_s"].min()
    row = runs.flows.filter(pl.col("flow.0.cc") == "bbr", pl.col("seed") == 3)
    found = figure.data.filter(pl.col("algorithm") == "bbr", pl.col("seed") == 3)
    assert found["queueing_p95_s"][0] == pytest.approx(row["rtt_p95_s"][0] - floor)
    assert found["goodput_bps"][0] == row["goodput_bps"][0]
    assert any(text.get_text() == "better" for text in axes.texts)


def test_the_marker_of_a_trade_off_is_the_mean_on_a_logarithmic_axis_too() -> None:
    """Five delays of 13 to 501 ms: their mean is 303.6 ms, their geometric mean 181 ms."""
    rows = [
        {
            "run": run,
            "seed": run,
            "goodput_bps": 1e6 + run,
            "rtt_p95_s": 0.1 + late,
            "rtt_min_s": 0.1,
            "cc": "cubic",
        }
        for run, late in enumerate((0.176, 0.013, 0.501, 0.501, 0.327))
    ]
    figure = plot.throughput_delay(pl.DataFrame(rows))
    assert figure.axes[0].get_xscale() == "log"
    (marker,) = drawn(figure)["CUBIC"].get_xdata()
    assert marker == pytest.approx(303.6) and "of the logarithms" in note(figure)
    assert figure.data["queueing_p95_s_mean"].unique().to_list() == [pytest.approx(0.3036)]


def test_a_measure_of_several_flows_says_what_of_them_it_is() -> None:
    """Twelve flows share what one had: the link carries as much."""
    runs = sweep({"flow.0.count": {1: 1, 12: 12}}, seeds=1)
    figure = plot.against(runs, x="flow.0.count", y="goodput_bps")
    assert figure.axes[0].get_ylabel() == "goodput (sum of flows), Mbit/s"
    one, many = figure.data["goodput_bps_mean"].to_list()
    assert many == pytest.approx(runs.flows.filter(pl.col("flow.0.count") == 12)["goodput_bps"].sum())
    assert 3e6 < one < many < 4e6
    trips = plot.against(runs, x="flow.0.count", y="rtt_p95_s").axes[0].get_ylabel()
    assert trips == "p95 RTT (mean of flows), ms"
    alone = plot.against(sweep(DELAY, seeds=1), y="goodput_bps").axes[0].get_ylabel()
    assert alone == "goodput, Mbit/s"


def test_an_axis_names_the_values_that_were_run() -> None:
    sizes = {"link.sat.queue.limit_bdp": {x: f"{x} bdp" for x in (0.25, 0.5, 1.0, 2.0, 4.0)}}
    axis = plot.against(sweep(sizes, seeds=1), x="link.sat.queue.limit_bdp").axes[0].xaxis
    assert [tick.get_text() for tick in axis.get_ticklabels()] == ["0.25", "0.5", "1", "2", "4"]
    flows = plot.against(sweep({"flow.0.count": {1: 1, 4: 4}}, seeds=1))
    assert all(float(tick).is_integer() for tick in flows.axes[0].get_xticks())


def test_no_interval_of_a_goodput_ends_beyond_the_rate_of_its_link() -> None:
    """At 1 Mbit/s and at 50: the end of the slow link's interval is not that of the fast one."""
    rates = {"link.sat.rate_bps": {1e6: "1 Mbit/s", 50e6: "50 Mbit/s"}}
    runs = sweep(rates | BUFFER, seeds=2)
    for figure in (plot.heatmap(runs), plot.against(runs, x="link.sat.queue.limit_bdp", y="goodput_bps")):
        slow = figure.data.filter(pl.col("link.sat.rate_bps") == 1e6)
        assert slow["goodput_bps_high"].max() <= 1e6


def test_a_distribution_counts_what_did_not_finish() -> None:
    figure = plot.cdf(sweep({SIZE: {1e6: "1 MB", 5e7: "50 MB"}}, seeds=3, flow=TRANSFER))
    assert figure.axes[0].get_xlabel().startswith("completion time")
    assert "3 of 6 did not finish" in note(figure)
    ends = [
        max(line.get_ydata()) for panel in range(len(figure.axes)) for line in drawn(figure, panel).values()
    ]
    assert ends == [1.0]


def test_a_distribution_of_a_column_has_every_flow(losses: Runs) -> None:
    figure = plot.cdf(losses, "goodput_bps", where={"link.sat.loss.rate": 1e-2})
    values = losses.flows.filter(pl.col("link.sat.loss.rate") == 1e-2, pl.col("flow.0.cc") == "reno")
    line = drawn(figure)["Reno"]
    assert sorted(set(line.get_xdata())) == pytest.approx(sorted(values["goodput_bps"] / 1e6))
    traced = sweep(CC, record={"interval": "100 ms"})
    samples = plot.cdf(traced)
    assert samples.axes[0].get_xlabel() == "RTT, ms" and "samples" in note(samples)


def test_keys_that_no_axis_shows_are_panels_and_where_chooses(losses: Runs) -> None:
    runs = sweep(CC | LOSS | DELAY)
    figure = plot.utilisation(runs)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "one-way delay of sat: 20 ms",
        "one-way delay of sat: 80 ms",
    ]
    one = plot.utilisation(runs, where={"link.sat.delay_s": "0.08"})
    assert one.data.equals(plot.utilisation(runs, where={"link.sat.delay": "80 ms"}).data)
    assert one.data.equals(figure.data.filter(pl.col("link.sat.delay_s") == 0.08).drop("link.sat.delay_s"))
    by_delay = plot.utilisation(runs, x="link.sat.loss.rate", by="link.sat.delay", where={"flow.0.cc": "bbr"})
    assert list(drawn(by_delay)) == ["one-way delay of sat: 20 ms", "one-way delay of sat: 80 ms"]


def test_a_heat_map_has_the_mean_of_each_cell_and_the_best_one(losses: Runs) -> None:
    runs = sweep(CC | DELAY | BUFFER, seeds=3)
    figure = plot.heatmap(runs, value="rtt_p95_s")
    maps = [axes for axes in figure.axes if axes.get_images()]
    assert [axes.get_title(loc="left") for axes in maps] == ["CUBIC", "Reno", "BBR"]
    cell = runs.flows.filter(
        pl.col("flow.0.cc") == "reno",
        pl.col("link.sat.delay_s") == 0.08,
        pl.col("link.sat.queue.limit_bdp") == 2.0,
    )
    assert maps[1].get_images()[0].get_array()[2, 1] == pytest.approx(cell["rtt_p95_s"].mean() * 1e3)
    best = plot.heatmap(runs, value="rtt_p95_s", best=True)
    for row in best.data.iter_rows(named=True):
        here = runs.flows.filter(
            pl.col("link.sat.delay_s") == row["link.sat.delay_s"],
            pl.col("link.sat.queue.limit_bdp") == row["link.sat.queue.limit_bdp"],
        )
        means = dict(here.group_by("flow.0.cc").agg(pl.col("rtt_p95_s").mean()).iter_rows())
        assert means[row["best"]] == pytest.approx(min(means.values()))
        assert row["rtt_p95_s"] == pytest.approx(means[row["best"]])


def test_friendliness_is_the_share_of_the_flow_that_varies(beside: Runs) -> None:
    figure = plot.friendliness(beside)
    assert "beside CUBIC" in figure.axes[0].get_ylabel()
    rows = beside.flows.filter(pl.col("flow.0.cc") == "cubic", pl.col("link.sat.queue.limit_bdp") == 1.0)
    shares = [part["goodput_bps"][0] / part["goodput_bps"].sum() for _, part in rows.group_by("run")]
    found = figure.data.filter(pl.col("algorithm") == "cubic", pl.col("link.sat.queue.limit_bdp") == 1.0)
    assert found["share_mean"][0] == pytest.approx(sum(shares) / len(shares))
    dashed = [line for line in figure.axes[0].get_lines() if list(line.get_ydata()) == [0.5, 0.5]]
    assert len(dashed) == 1


def test_fairness_is_jains_index_over_the_ratio_of_the_round_trips() -> None:
    runs = sweep(CC | EXTRA, flows=2)
    figure = plot.fairness(runs)
    assert figure.axes[0].get_xlabel() == "ratio of the round trips"
    row = figure.data.filter(pl.col("algorithm") == "reno").sort("rtt_ratio")
    assert row["rtt_ratio"][0] == pytest.approx(1, abs=0.05)
    assert row["rtt_ratio"][1] == pytest.approx(3, abs=0.1)  # the extra delay is there both ways
    flows = runs.flows.filter(pl.col("flow.0.cc") == "reno", pl.col("flow.1.extra_delay_s") == 0.08)
    wanted = [stats.jain(part["goodput_bps"]) for _, part in flows.group_by("run")]
    assert row["jain_mean"][1] == pytest.approx(sum(wanted) / len(wanted))


def test_completion_times_lie_above_what_the_rate_allows() -> None:
    runs = sweep(CC | {SIZE: {k * 1e3: f"{k} kB" for k in (10, 100, 1000)}}, flow=TRANSFER)
    figure = plot.completion(runs)
    axes = figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert (figure.data["completion_s_mean"] > figure.data[SIZE] * 8 / 4e6).all()
    # Without a key the sizes are what was delivered.
    plain = plot.completion(runs.flows.drop(SIZE))
    assert plain.axes[0].get_xlabel() == "size, kB"


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda runs: plot.utilisation(runs, x="nix"), "no key that varies is called 'nix'"),
        (
            lambda runs: plot.heatmap(runs, y="flow.0.cc"),
            "flow.0.cc chooses an algorithm and is no axis here",
        ),
        (lambda runs: plot.against(runs, y="godput_bps"), "did you mean goodput_bps"),
        (lambda runs: plot.friendliness(runs), "friendliness is of several flows"),
        (lambda runs: plot.completion(runs.flows.drop("completion_s")), "lacks completion_s"),
        (lambda runs: plot.fairness(runs), "Jain's index is of several flows"),
        (lambda runs: plot.heatmap(runs), r"under \[vary\], for example \"link.sat.delay\""),
        (lambda runs: plot.completion(runs), '"flow.0.traffic.size" = '),
        (lambda runs: plot.utilisation(runs.flows, y="utilisation"), "give the directory of the sweep"),
        (lambda runs: plot.cdf(runs, "rtt_s"), "record.interval"),
        (lambda runs: plot.cdf(runs, where={"link.sat.loss.rate": 5}), "there are 0.0001"),
        (lambda runs: plot.cdf(runs, where={"link.sat.loss.rate": "x"}), "write a number"),
        (lambda runs: plot.cdf(7), "not of int"),
        (lambda runs: plot.cdf(runs.flows.head(0)), "there is no run to draw"),
        (lambda runs: plot.cdf(runs.flows.select("seed")), "not the flows of a sweep"),
    ],
)
def test_a_sweep_that_lacks_what_a_figure_needs_is_told_what_to_add(
    losses: Runs, draw: Any, words: str
) -> None:
    with pytest.raises(bp.ScenarioError, match=words):
        draw(losses)


def test_the_message_has_the_line_that_a_sweep_needs(beside: Runs) -> None:
    with pytest.raises(bp.ScenarioError, match=r'"link\.sat\.loss\.rate" = \{ log'):
        plot.utilisation(beside)
    ten = pl.DataFrame({"more": list(range(10))}).join(beside.flows, how="cross")
    with pytest.raises(bp.ScenarioError, match="10 panels, more than 9: choose with --where"):
        plot.friendliness(ten)
    with pytest.raises(bp.ScenarioError, match="choose one with --x"):
        plot.against(sweep(CC | LOSS | BUFFER, seeds=1))


def test_own_controllers_parameters_and_words_have_looks_and_names(losses: Runs) -> None:
    words = {"cubic": "my.py:Mine", "reno": "simd beta=0.06", "bbr": "bbr"}
    ids = {"cubic": "python:Mine", "reno": "simd", "bbr": "bbr"}
    flows = losses.flows.with_columns(pl.col("flow.0.cc").replace(words), pl.col("cc").replace(ids))
    figure = plot.against(flows)
    lines = drawn(figure)
    assert list(lines) == ["Mine", "SIMD beta=0.06", "BBR"]
    assert lines["Mine"].get_color() in OWN_COLOURS and lines["Mine"].get_markerfacecolor() == "white"
    assert lines["SIMD beta=0.06"].get_color() == style("simd")["colour"]
    by_rate = plot.against(losses, x="flow.0.cc", by="link.sat.loss.rate")
    assert [text.get_text() for text in by_rate.axes[0].get_xticklabels()] == ["CUBIC", "Reno", "BBR"]
    assert len(drawn(by_rate)) == 3


def test_a_key_called_cc_is_told_from_the_column(losses: Runs) -> None:
    cases = [
        Case({"cc": cc}, copy.deepcopy(BASE) | {"flow": [{"cc": cc, "path": ["sat"]}]})
        for cc in ("reno", "bbr")
    ]
    figure = plot.cdf(run_cases(cases), "goodput_bps")
    assert list(drawn(figure)) == ["Reno", "BBR"]
    assert list(drawn(plot.cdf(run_cases(cases), "goodput_bps", by="cc", where={"cc": "bbr"}))) == ["BBR"]


def test_results_are_pooled_by_algorithm_or_told_apart_by_directory(tmp_path: Path) -> None:
    places = []
    for cc, seed in (("reno", 1), ("reno", 2), ("bbr", 1)):
        link = bp.Link(rate="4 Mbit/s", delay="40 ms", loss=bp.PacketError(1e-3))
        result = bp.run(
            bp.Scenario(links={"sat": link}, flows=[bp.Flow(cc, path=["sat"])], duration="3 s", seed=seed)
        )
        places.append(result.save(tmp_path / f"{cc}{seed}"))
    pooled = plot.throughput_delay(places)
    assert pooled.data.group_by("algorithm").len().sort("algorithm").rows() == [("bbr", 1), ("reno", 2)]
    assert len(pooled.axes) == 1
    apart = plot.cdf(places, "goodput_bps", by="directory")
    assert list(drawn(apart)) == ["reno1", "reno2", "bbr1"]
    assert plot.throughput_delay([bp.Result.load(place) for place in places]).data.height == 3


def test_what_failed_and_what_is_missing_is_said(losses: Runs, on_disk: Path, tmp_path: Path) -> None:
    failed = losses.flows.select("flow.0.cc", "link.sat.loss.rate", "run", "seed").head(2)
    tables = {"flows": losses.flows, "links": losses.links, "traces": losses.traces, "failed": failed}
    tables |= {"transfers": losses.transfers}
    assert "failed and are not shown: 2" in note(plot.utilisation(Runs(tables.__getitem__)))
    assert not {"failed", "not there yet"} & set(note(plot.utilisation(on_disk)).split("; "))
    shutil.copytree(on_disk, tmp_path / "half")
    about = json.loads((on_disk / "sweep.json").read_text())
    (tmp_path / "half" / "sweep.json").write_text(json.dumps(about | {"runs": about["runs"] + 3}))
    assert "not there yet: 3" in note(plot.utilisation(tmp_path / "half"))


def test_keys_that_go_together_are_one_axis(losses: Runs) -> None:
    """As in [[vary.zip]]: the second follows from the first."""
    zipped = losses.flows.with_columns((pl.col("link.sat.loss.rate") * 2).alias("other")).select(
        "other", pl.all().exclude("other")
    )
    assert len(plot.against(zipped, x="link.sat.loss.rate").axes) == 1


def test_names_are_text_and_no_mathematics(losses: Runs, tmp_path: Path) -> None:
    own, key = "a$x_1$b", r"link.$\frac$.loss.rate"
    flows = losses.flows.rename({"link.sat.loss.rate": key})
    flows = flows.with_columns(pl.lit(own).alias("flow.0.cc"), pl.lit(f"python:{own}").alias("cc"))
    words = losses.flows.with_columns(pl.col("flow.0.cc").replace({"cubic": own}))
    for nth, (figure, wanted) in enumerate(
        [
            (plot.utilisation(flows), "loss rate of $\\frac$"),
            (plot.cdf(flows, by=key), "loss rate of $\\frac$"),
            (plot.throughput_delay(words, where={"link.sat.loss.rate": 1e-2}), own),
            (plot.against(words, x="flow.0.cc", by="link.sat.loss.rate"), own),
        ]
    ):
        assert wanted in plot.save(figure, tmp_path / f"{nth}.svg").read_text()


def test_a_notebook_shows_the_figure(losses: Runs) -> None:
    picture, about = plot.utilisation(losses)._repr_png_()
    assert picture.startswith(b"\x89PNG") and about["width"] == 385


def test_twenty_algorithms_stay_readable() -> None:
    names = [entry["id"] for entry in bp.controllers()][:20]
    runs = sweep({"flow.0.cc": {name: name for name in names}} | DELAY, seeds=2)
    figure = plot.against(runs)
    lines = drawn(figure)
    assert len(lines) == 20
    assert len({(line.get_color(), line.get_marker()) for line in lines.values()}) == 20
    figure.draw_without_rendering()
    frame = figure.axes[0].get_window_extent()
    assert frame.height > 0.35 * figure.bbox.height or figure.get_figheight() > 2.3
    assert frame.width > 0.5 * figure.bbox.width


def test_the_verbs_write_the_figure_and_its_numbers_and_overwrite_nothing_else(
    cli: Any, on_disk: Path, tmp_path: Path
) -> None:
    out = tmp_path / "losses.svg"
    for _ in range(2):
        done = cli("plot", "utilisation", on_disk, "-o", out)
        assert done.exit_code == 0, done.stderr
    numbers = pl.read_csv(tmp_path / "losses.csv")
    assert numbers.columns[0] == "figure" and numbers.height == 9
    assert "CUBIC" in out.read_text()
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n")
    refused = cli("plot", "utilisation", on_disk, "-o", tmp_path / "mine.png")
    assert refused.exit_code == 2 and "--no-data" in refused.stderr
    assert not (tmp_path / "mine.png").exists()
    assert cli("plot", "utilisation", on_disk, "-o", tmp_path / "mine.png", "--no-data").exit_code == 0
    assert (tmp_path / "mine.csv").read_text().startswith("a,b")
    parquet = cli("plot", "cdf", on_disk, "-o", tmp_path / "c.pdf", "--data", tmp_path / "c.parquet")
    assert parquet.exit_code == 0 and "share" in pl.read_parquet(tmp_path / "c.parquet").columns
    for wrong in (["--size", "huge"], ["--x", "nix"], ["--where", "nix"], ["--data", "x.txt"]):
        done = cli("plot", "utilisation", on_disk, "-o", tmp_path / "w.svg", *wrong)
        assert done.exit_code == 2 and done.stderr.count("\n") <= 3, done.stderr
    unknown = cli("plot", "heatmap", on_disk, "-o", tmp_path / "w.gif")
    assert unknown.exit_code == 2 and "must end in .svg, .pdf or .png" in unknown.stderr


@pytest.mark.parametrize(("size", "inches"), [("screen", 9.0), ("slide", 12.0), ("10 cm", 10 / 2.54)])
def test_sizes(losses: Runs, size: str, inches: float) -> None:
    with plot.sized(size):
        assert plot.utilisation(losses).get_size_inches()[0] == pytest.approx(inches)


@pytest.mark.parametrize(("width_cm", "columns"), [(8.4, 1), (18.0, 2)])
def test_an_exact_width_holds_with_several_panels(width_cm: float, columns: int) -> None:
    with plot.sized(f"{width_cm} cm"):
        figure, axes = grid_of(2)
    assert figure.get_size_inches()[0] == pytest.approx(width_cm / 2.54)
    places = [one.get_subplotspec() for one in axes]
    assert len({place.colspan.start for place in places if place is not None}) == columns


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep that keeps what its runs record: windows, queues, transfers of 20 kB."""
    place = tmp_path_factory.mktemp("sweep") / "recorded"
    web = {
        "cc": "cubic",
        "path": ["sat"],
        "traffic": {"kind": "short-flows", "per_second": 2, "size": "20 kB"},
    }
    record = {"interval": "100 ms", "links": True, "transfers": True}
    table = BASE | {"flow": [BASE["flow"][0], web | {"name": "web"}], "record": record}  # type: ignore[index]
    bp.sweep(
        table,
        {"flow.*.cc": ["cubic", "bbr"], "link.sat.rate": ["2 Mbit/s", "8 Mbit/s"]},
        seeds=2,
        out=place,
        traces=True,
    )
    return place


def test_a_sweep_keeps_transfers_and_links_and_figures_draw_them(
    recorded: Path, tmp_path: Path, cli: Any
) -> None:
    from bentpipe.sweeps import dataset
    from bentpipe.sweeps.stored import read

    runs, stored = dataset.read(recorded), read([recorded])
    assert runs.transfers["run"].n_unique() == runs.link_traces["run"].n_unique() == 8
    one = stored.result(5)
    assert (
        one.scenario["link"]["sat"]["rate"]
        == runs.flows.filter(run=5)["link.sat.rate_bps"].map_elements(
            lambda rate: f"{rate / 1e6:g} Mbit/s", return_dtype=pl.String
        )[0]
    )
    alone = bp.run({**one.scenario, "seed": one.json["seed"]})
    assert one.link_trace["queue_packets"].to_list() == alone.link_trace["queue_packets"].to_list()
    assert one.transfers["completion_s"].to_list() == alone.transfers["completion_s"].to_list()
    # The distribution is of transfers, not of one mean a source.
    figure = plot.cdf(recorded, "completion_s", by="flow.*.cc")
    assert "transfers of" in note(figure) and figure.data.height > 8 * 3
    queues = plot.queue(plot.of_sweep(recorded, {"seed": "1"}))
    assert queues.data["run"].n_unique() == 4
    names = ["queue", "cwnd", "goodput", "rtt", "path"]
    for name in names:
        out = tmp_path / f"{name}.svg"
        done = cli("plot", name, recorded, "--where", "seed=2", "--where", "flow.*.cc=bbr", "-o", out)
        assert done.exit_code == 0 and out.exists(), done.stderr
    done = cli("plot", "convergence", recorded, "-o", tmp_path / "c.svg")
    assert done.exit_code == 2 and "--where" in done.stderr
    many = plot.of_sweep(recorded)
    assert len(many) == 8 and all("seed" in name for name in many)


def test_a_measure_has_its_name_of_reports_too(losses: Runs) -> None:
    for name, column in (("goodput", "goodput_bps"), ("loss", "lost")):
        assert plot.against(losses, y=name).data.equals(plot.against(losses, y=column).data)
    assert plot.cdf(losses, "goodput").data.equals(plot.cdf(losses, "goodput_bps").data)


def test_the_runs_of_a_figure_over_time_are_read_once(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bentpipe.sweeps import dataset

    reads, real = [], dataset.read
    monkeypatch.setattr(dataset, "read", lambda place: reads.append(place) or real(place))
    assert len(plot.of_sweep(recorded, {"seed": "1"})) == 4 and reads == [recorded]


def test_a_figure_over_time_of_a_sweep_without_traces_says_how_to_keep_them(on_disk: Path) -> None:
    with pytest.raises(bp.ScenarioError, match="18 runs.*draws 12 at most.*--where"):
        plot.cwnd(on_disk)

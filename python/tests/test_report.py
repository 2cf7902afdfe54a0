"""Reports: fair means and groups, every kind of data in one page, and the page in a browser."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe.measures import REPORTED
from bentpipe.reports.curves import axis
from bentpipe.reports.measures import Sample, leads, means, sample, valued
from bentpipe.reports.time import thinned
from bentpipe.reports.writing import build, latex
from bentpipe.sweeps.plan import Plan
from bentpipe.sweeps.stored import Stored, read

GRID = {"flow.0.cc": ["cubic", "bbr"], "link.geo.delay": ["10 ms", "100 ms"], "link.geo.loss.rate": [0, 1e-3]}
BASE = {
    "title": "A <b>grid</b>",
    "duration": "5 s",
    "record": {"interval": "50 ms"},
    "link": {"geo": {"rate": "2 Mbit/s", "delay": "10 ms", "loss": {"kind": "packet-error", "rate": 0.0}}},
    "flow": [{"cc": "cubic", "path": ["geo"]}],
}
GOODPUT = REPORTED["goodput"]

needs_chromium = pytest.mark.skipif(browser.CHROMIUM is None, reason="needs Chromium, which is not here")


def stored(rows: list[dict[str, Any]], **more: Any) -> Stored:
    """Runs by hand: of each a flow with `delay`, `cc`, `seed` and `goodput` in Mbit/s."""
    usual: dict[str, Any] = {"half": None, "completion_s": None, "rtt_p50_s": 0.1, "rtt_p95_s": 0.2}
    usual |= {"sent_packets": 100, "retransmitted_packets": 0, "dropped_packets": 0, "timeouts": 0}
    flows = [
        {
            "flow.0.cc": row["cc"], "link.a.delay_s": row["delay"], "run": run, "seed": row["seed"],
            "name": "f", "cc": row["cc"], "goodput_bps": row["goodput"] * 1e6, **usual,
            **{key: row[key] for key in usual if key in row},
        }
        for run, row in enumerate(rows)
    ]  # fmt: skip
    types = {"half": pl.String, "completion_s": pl.Float64}
    frame = pl.DataFrame(flows, schema_overrides=types, infer_schema_length=None)
    empty = pl.DataFrame()
    return Stored([Path("made-up")], frame, empty, empty, more.get("failed", empty), more.get("about", {}))


def runs(cc: str, delay: float, goodputs: list[float], first: int = 1) -> list[dict[str, Any]]:
    """A run of each goodput with its own seed."""
    return [{"cc": cc, "delay": delay, "seed": first + n, "goodput": g} for n, g in enumerate(goodputs)]


def sampled(*some: list[dict[str, Any]]) -> Sample:
    return sample(stored([row for part in some for row in part]))


def test_means_are_over_the_combinations_that_all_have() -> None:
    """BBR has no runs at 0.5 s, where CUBIC is slow: that must not count against CUBIC."""
    found = sampled(
        runs("cubic", 0.1, [8, 9]), runs("cubic", 0.2, [6, 7]), runs("cubic", 0.5, [1, 1]),
        runs("bbr", 0.1, [7, 7]), runs("bbr", 0.2, [5, 6]),
    )  # fmt: skip
    got = means(found, GOODPUT)
    assert (got.points, got.paired, got.shared) == (2, True, True)
    assert got.values == {"CUBIC": pytest.approx([7, 8]), "BBR": pytest.approx([6, 6.5])}


def test_a_combination_with_a_failed_run_is_left_out_for_all() -> None:
    found = sampled(
        runs("cubic", 0.1, [8, 9]),
        runs("cubic", 0.2, [6]),
        runs("bbr", 0.1, [7, 7]),
        runs("bbr", 0.2, [5, 6]),
    )
    assert means(found, GOODPUT).values == {"CUBIC": pytest.approx([8, 9]), "BBR": pytest.approx([7, 7])}


def test_at_one_combination_every_run_counts_and_unlike_numbers_are_not_paired() -> None:
    got = means(sampled(runs("cubic", 0.1, [8, 9, 10]), runs("bbr", 0.1, [7, 7])), GOODPUT)
    assert (got.paired, [len(values) for values in got.values.values()]) == (False, [3, 2])


def test_algorithms_without_a_common_combination_are_not_compared() -> None:
    found = sampled(
        runs("cubic", 0.1, [8, 9]),
        runs("cubic", 0.2, [8, 9]),
        runs("bbr", 0.3, [1, 1]),
        runs("bbr", 0.4, [1, 1]),
    )
    got = means(found, GOODPUT)
    assert not got.shared and got.groups(GOODPUT) == []
    text = build(stored(runs("cubic", 0.1, [8, 9]) + runs("bbr", 0.3, [1, 1]))).html()
    assert "must not be compared" in text


def test_groups_and_leads() -> None:
    """CUBIC is faster at the short delay for certain; at the long one the two cannot be told apart."""
    found = sampled(
        runs("cubic", 0.1, [9.0, 9.1, 9.2, 9.1]), runs("bbr", 0.1, [5.0, 5.2, 5.1, 5.0]),
        runs("cubic", 0.2, [4.0, 6.0, 5.0, 5.5]), runs("bbr", 0.2, [5.0, 5.0, 6.0, 4.0]),
    )  # fmt: skip
    assert leads(found, GOODPUT) == {"CUBIC": 2, "BBR": 1}
    assert means(found, GOODPUT).groups(GOODPUT) == [["CUBIC"], ["BBR"]]


def test_one_run_each_is_said_and_has_no_groups() -> None:
    page = build(stored(runs("cubic", 0.1, [8]) + runs("bbr", 0.1, [7]))).html()
    assert "One run each" in page and "n = 1" in page and "8.00 (one run)" in page
    assert '<th scope="col">Group</th>' not in page


def test_of_a_relayed_flow_the_second_half_counts() -> None:
    rows = [
        {**runs("cubic", 0.1, [12])[0], "half": "first"},
        {**runs("hybla", 0.1, [8])[0], "half": "second"},
    ]
    found = sample(stored(rows))
    assert found.rows["goodput"].to_list() == [pytest.approx(8)]


def test_a_rival_is_shown_and_not_ranked_and_steady_traffic_is_neither() -> None:
    rows = runs("cubic", 0.1, [5, 6, 5]) + runs("bbr", 0.1, [7, 8, 7])
    given = stored(rows)
    beside = given.flows.with_columns(name=pl.lit("other"), cc=pl.lit("reno"), goodput_bps=pl.lit(9e6))
    steady = given.flows.with_columns(name=pl.lit("noise"), cc=pl.lit("cbr"))
    found = sample(Stored(given.places, pl.concat([given.flows, beside, steady]), *[pl.DataFrame()] * 3))
    assert found.algorithms == ["CUBIC", "BBR", "Reno beside CUBIC", "Reno beside BBR"]
    assert found.rivals == {"Reno beside CUBIC", "Reno beside BBR"}
    assert means(found, GOODPUT).groups(GOODPUT, found.rivals) == [["BBR"], ["CUBIC"]]


def test_parameters_of_an_algorithm_stand_behind_its_name() -> None:
    rows = runs("vegas alpha=3", 0.1, [5, 6]) + runs("vegas", 0.1, [5, 7])
    given = stored(rows)
    flows = given.flows.with_columns(cc=pl.lit("vegas"))
    whole = Stored(given.places, flows, *[pl.DataFrame()] * 3)
    assert sample(whole).algorithms == ["Vegas alpha=3", "Vegas"]
    assert '<h2 id="by-algorithm">By algorithm</h2>' in build(whole).html()


def test_no_end_of_an_interval_is_beyond_the_link() -> None:
    given = stored(runs("cubic", 0.1, [8, 9, 9.9]))
    link = pl.DataFrame(
        {"run": [0], "name": "a", "direction": "forward", "rate_bps": 1e7, "utilisation": 1.0}
    )
    found = sample(Stored(given.places, given.flows, link, given.traces, given.failed))
    got = means(found, found.measures[0]).interval("CUBIC", found.measures[0])
    assert got is not None and got.high == 10 and got.low > 0


def test_the_table_of_a_sweep_is_one_for_latex() -> None:
    lines = latex(stored(runs("cubic", 0.1, [8, 8.2, 8.4]) + runs("bbr", 0.2, [9, 9, 9]))).splitlines()
    assert lines[1:5] == [
        r"\begin{tabular}{lrrrr}",
        r"\toprule",
        r"Algorithm & one-way delay of a & goodput & p95 RTT & packets lost \\",
        r" & ms & Mbit/s & ms & \% \\",
    ]
    # t(0.975, 2) = 4.303, and the standard error is 0.2 / sqrt(3).
    assert lines[6].startswith(r"CUBIC & 100 & 8.2 $\pm$ 0.5 & 200 (all runs alike) &")
    assert lines[7].startswith(r"BBR & 200 & 9.00 (all runs alike)") and lines[8] == r"\bottomrule"


def test_a_report_named_tex_is_the_table(swept, cli, tmp_path) -> None:
    done = cli("report", swept, "-o", tmp_path / "table.tex")
    assert done.exit_code == 0 and "table.tex" in done.stdout, done.stderr
    assert (tmp_path / "table.tex").read_text().startswith("% Bentpipe: ")


def test_values_of_several_decades_with_zero_stand_at_equal_distances() -> None:
    rows = [row for delay in (0.0, 1e-5, 1e-3) for row in runs("cubic", delay, [1, 2])]
    (parameter,) = sample(stored(rows)).parameters
    assert axis(parameter).names == ["0", "0.01", "1"]
    (steady,) = sample(stored([row for d in (0.1, 0.2) for row in runs("cubic", d, [1])])).parameters
    assert not axis(steady).names and not axis(steady).log
    assert steady.words == "one-way delay of a" and valued(steady, {steady.column: 100.0}) == "100 ms"


def test_a_thinned_curve_keeps_its_highs_and_lows() -> None:
    t = np.arange(10_000.0)
    y = np.zeros(10_000)
    y[1234], y[8765] = 50, -70
    x, thin = thinned(t, y, 300)
    assert len(x) <= 300 and x == sorted(x)
    assert (thin[x.index(1234.0)], thin[x.index(8765.0)]) == (50, -70)
    assert thinned(t[:10], y[:10], 300) == (t[:10].tolist(), y[:10].tolist())


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep on disk: 8 combinations of two seeds, with traces."""
    place = tmp_path_factory.mktemp("sweep") / "grid"
    bp.sweep(BASE, GRID, seeds=2, out=place, traces=True)
    return place


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two results that differ in their algorithm, and one of another link."""
    home = tmp_path_factory.mktemp("results")
    for name, cc, rate in (
        ("one", "cubic", "2 Mbit/s"),
        ("two", "bbr", "2 Mbit/s"),
        ("slow", "bbr", "1 Mbit/s"),
    ):
        table = json.loads(json.dumps(BASE))
        table["flow"][0]["cc"], table["link"]["geo"]["rate"] = cc, rate
        bp.run(table).save(home / name)
    return [home / name for name in ("one", "two", "slow")]


def test_a_report_of_a_sweep_has_everything(swept: Path) -> None:
    page = bp.report(swept).read_text(encoding="utf-8")
    assert "<h1>A &lt;b&gt;grid&lt;/b&gt;</h1>" in page
    sections = re.findall(r"<h2 id=\"[^\"]*\">(.*?)</h2>", page)
    assert sections == [
        "Summary", "By one-way delay of geo", "By loss rate of geo",
        "Goodput by one-way delay of geo and loss rate of geo", "Every run", "Over time", "Every combination",
        "What was run", "Data and reproduction",
    ]  # fmt: skip
    assert f"pl.read_parquet(&#34;{swept}/flows/*.parquet&#34;)" in page
    assert "bentpipe 0" in page and "simulator " in page and "10, 100" in page


def test_charts_of_amounts_begin_at_zero(swept: Path, tmp_path: Path) -> None:
    page = bp.report(swept, tmp_path / "page.html", ["goodput", "loss"]).read_text()
    charts = [json.loads(data) for data in re.findall(r'"application/json">(.*?)</script>', page)]
    over = [chart["y"] for chart in charts if chart["x"]["label"].endswith(("of geo", "of geo, ms"))]
    least = {axis["label"]: axis["least"] for axis in over if not axis["names"]}
    assert least == {"goodput, Mbit/s": 0, "packets lost, %": 0}


def test_the_scenario_on_the_page_repeats_the_sweep(swept: Path, tmp_path: Path) -> None:
    page = build(read([swept])).html()
    text = html.unescape(
        re.search(r"The scenario, as JSON</summary>\s*<pre[^>]*>(.*?)</pre>", page, re.DOTALL)[1]
    )
    (tmp_path / "again.json").write_text(text)
    again, first = Plan(tmp_path / "again.json"), Plan(BASE, GRID, 2)
    assert [again.run_key(n) for n in range(len(again))] == [first.run_key(n) for n in range(len(first))]


def test_keys_that_go_together_are_repeated_together(tmp_path: Path) -> None:
    grid = {"zip": [{"link.geo.rate": ["1 Mbit/s", "2 Mbit/s"], "link.geo.delay": ["50 ms", "20 ms"]}]}
    bp.sweep(BASE, grid, seeds=[3, 5], out=tmp_path / "zipped")
    page = build(read([tmp_path / "zipped"])).html()
    text = html.unescape(
        re.search(r"The scenario, as JSON</summary>\s*<pre[^>]*>(.*?)</pre>", page, re.DOTALL)[1]
    )
    (tmp_path / "again.json").write_text(text)
    assert [case.seed for case in Plan(tmp_path / "again.json")] == [3, 3, 5, 5]
    assert Plan(tmp_path / "again.json")[1].keys == {"link.geo.rate_bps": 2e6, "link.geo.delay_s": 0.02}


def test_goodput_over_time_never_exceeds_the_link(swept: Path) -> None:
    page = build(read([swept])).html()
    charts = [
        json.loads(text) for text in re.findall(r'<script type="application/json">(.*?)</script>', page, re.S)
    ]
    (over_time,) = [
        c for c in charts if c["x"]["label"] == "time, s" and c["y"]["label"] == "goodput, Mbit/s"
    ]
    values = [y for _, of in over_time["choices"] for curve in of for y in curve["y"] if y is not None]
    assert len(over_time["choices"]) == 8 and 1 < max(values) <= 2.0 * 1448 / 1500 * 1.04


def test_results_that_differ_in_the_algorithm_are_compared_by_it(results: list[Path]) -> None:
    found = sample(read(results[:2]))
    assert (found.algorithms, found.parameters, found.points) == (["CUBIC", "BBR"], [], 1)
    apart = sample(read(results))
    assert apart.algorithms == ["CUBIC in one", "BBR in two", "BBR in slow"]


def test_failed_runs_are_told_with_their_errors() -> None:
    failed = pl.DataFrame(
        {"flow.0.cc": ["star", "star"], "run": [8, 9], "seed": [1, 2], "error": ["<no & way>"] * 2}
    )
    page = build(stored(runs("cubic", 0.1, [8, 9]), failed=failed)).html()
    assert "2 runs failed" in page and page.count("&lt;no &amp; way&gt;") == 3
    alone = Stored([Path("x")], pl.DataFrame(), pl.DataFrame(), pl.DataFrame(), failed)
    assert "2 runs failed" in build(alone).html()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "nothing: there is no such directory"),
        (["{home}"], "has neither sweep.json nor run.json"),
        (["{sweep}", "--measures", "godput"], "no measure is called 'godput'; did you mean goodput?"),
        (["{sweep}", "--measures", "loss,jain"], "no run has 'jain'; they have goodput, "),
        (["{sweep}", "--out", "{home}/mine.html"], "mine.html exists and is no page of Bentpipe"),
    ],
)
def test_what_cannot_be_reported_is_said_in_one_line(cli, swept, tmp_path, words, said) -> None:
    (tmp_path / "mine.html").write_text("<title>mine</title>")
    ran = cli("report", *(word.format(home=tmp_path, sweep=swept) for word in words))
    assert ran.exit_code == 2 and said in ran.stderr and ran.stderr.count("\n") == 1
    assert (tmp_path / "mine.html").read_text() == "<title>mine</title>"


def test_the_verb_writes_and_replaces_its_own_page(cli, swept, tmp_path) -> None:
    page = tmp_path / "page.html"
    ran = [cli("report", swept, "--out", page, "--measures", "loss,utilisation") for _ in range(2)]
    assert [r.exit_code for r in ran] == [0, 0]
    assert "written to" in ran[0].stdout and "replaced" in ran[1].stdout
    assert ">link utilisation, %</th>" in page.read_text()
    assert ">goodput, Mbit/s</th>" not in page.read_text()
    assert json.loads(cli("report", swept, "-o", page, "--json").stdout) == {"schema": 1, "page": str(page)}


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Browser]:
    """A window of Chromium."""
    with browser.browser(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@needs_chromium
def test_reports_fit_their_windows_and_load_nothing(window, swept, results, tmp_path) -> None:
    assert browser.faults(window, bp.report(swept, tmp_path / "a.html")) == []
    assert browser.faults(window, bp.report(results, tmp_path / "b.html")) == []


@needs_chromium
def test_a_choice_and_a_name_hold_for_all_charts(window, swept, tmp_path) -> None:
    window.open(bp.report(swept, tmp_path / "a.html"))
    seen = ("[...document.querySelectorAll('#by-one-way-delay-of-geo + .figures select')]"
            ".map(s => s.selectedIndex)")  # fmt: skip
    window.run("(() => { const s = document.querySelector('#by-one-way-delay-of-geo + .figures select');"
               "s.selectedIndex = 2; s.dispatchEvent(new Event('change')); })()")  # fmt: skip
    chosen = window.run(seen)
    assert chosen == [2] * len(chosen) and len(chosen) == 3
    others = window.run("[...document.querySelectorAll('#by-loss-rate-of-geo + .figures select')]"
                        ".map(s => s.selectedIndex)")  # fmt: skip
    assert set(others) == {0}
    window.run("[...document.querySelectorAll('.legend button')].find(b => b.innerText === 'BBR').click()")
    window.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    named = "[...document.querySelectorAll('.legend button')].filter(b => b.innerText === 'BBR')"
    pressed = window.run(f"{named}.map(b => b.getAttribute('aria-pressed'))")
    assert len(pressed) > 5 and set(pressed) == {"false"}
    assert window.errors == []


@needs_chromium
def test_a_hundred_thousand_runs_are_drawn(window, tmp_path) -> None:
    """Every run is a point; more than 100,000 would be thinned."""
    rng, n = np.random.default_rng(1), 100_000
    one = stored(runs("cubic", 0.1, [1])).flows
    flows = one.join(pl.DataFrame({"i": range(n)}), how="cross").with_columns(
        pl.Series("run", range(n)), pl.Series("seed", range(n)), goodput_bps=pl.Series(1e7 * rng.random(n)),
        rtt_p95_s=pl.Series(rng.random(n)),
    ).drop("i")  # fmt: skip
    given = stored(runs("cubic", 0.1, [1]))
    page = build(Stored(given.places, flows, given.links, given.traces, given.failed))
    window.open(page.write(tmp_path / "many.html"))
    drawn = window.run("[...bentpipe.all.values()].map(c => c.u ? c.given.curves[0].x.length : 0)")
    assert max(drawn) == n and window.errors == []
    inked = """(() => {
      const { ctx } = [...bentpipe.all.values()].find(c => c.given.curves[0].x.length === 100000).u;
      const { data } = ctx.getImageData(0, 0, ctx.canvas.width, ctx.canvas.height);
      let n = 0;
      for (let i = 3; i < data.length; i += 4) n += data[i] > 100;
      return 4 * n / data.length;
    })()"""
    assert window.run(inked) > 0.2


def test_a_report_is_a_page_or_a_table_and_no_other_file(swept, cli, tmp_path):
    for name in ("x.pdf", "x.png", "x"):
        done = cli("report", swept, "-o", tmp_path / name)
        assert done.exit_code == 2 and "ends in .html; a browser prints it as PDF" in " ".join(
            done.stderr.split()
        )
        assert not (tmp_path / name).exists()

"""The list of experiments, and the experiments whose result is a table of runs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import bentpipe as bp
from bentpipe import experiments
from bentpipe.experiments.experiment import Experiment, case_of
from bentpipe.experiments.rows import Rows
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.engine import Interrupted
from bentpipe.terminal.progress import State


class Small(Experiment):
    """Two runs a row, over a link of 1 Mbit/s."""

    name = "small"
    columns = {"rate_mbps": "goodput", "sent": "packets"}

    ccs: Sequence[str] = ("cubic", "reno", "vegas")
    measured = 0

    def cases(self) -> list[Case]:
        return [
            case_of({"path": "one", "cc": cc, "seed": seed}, self.scenario(cc, duration, seed), run=name)
            for seed in range(1, 2 if self.quick else 5)
            for cc in self.ccs
            for name, duration in (("short", "2 s"), ("long", "4 s"))
        ]

    def scenario(self, cc: str, duration: str, seed: int) -> bp.Scenario:
        link = {"sat": bp.Link(rate="1 Mbit/s", delay="20 ms")}
        return bp.Scenario(links=link, flows=[bp.Flow(cc, path=["sat"])], duration=duration, seed=seed)

    def measure(self, case: Case, result: bp.Result) -> Mapping[str, float]:
        Small.measured += 1
        (flow,) = result.json["flows"]
        long = case.settings["run"] == "long"
        return {"rate_mbps": flow["goodput_bps"] / 1e6} if long else {"sent": flow["sent_packets"]}

    def text(self, rows: Rows) -> str:
        return f"{len(rows)} rows\n"

    def views(self, rows: Rows) -> Iterator[tuple[str, Figure]]:
        yield "small.svg", Figure()


@pytest.fixture(autouse=True)
def none_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Small, "measured", 0)


def test_every_experiment_is_listed_with_the_way_it_is_run(cli) -> None:
    listed = json.loads(cli("study", "list", "--json").stdout)["studies"]
    names = [one["name"] for one in listed]
    assert names[:5] == ["vegas-l", "tcp-star", "hswa", "a-liad", "spectrum"]
    assert names[5:] == [*experiments.OWN, "rfc9743"]
    shown = cli("study", "list").stdout
    for one in listed:
        assert one["name"] in shown and one["command"] in shown
        program, *words = shlex.split(one["command"])
        if program == "bentpipe":  # the verb exists
            left = (*names, "NAME", "DIR")
            known = [word for word in words if not word.startswith("-") and word not in left]
            assert cli(*known, "--help").exit_code == 0


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["rfc9743"], "rfc9743 is run by: bentpipe evaluate NAME"),
        (["leoo"], "did you mean leo"),
        (["hswa", "--data", "."], "--data is for experiments that are no papers"),
        (["leo", "hswa"], "leo is run without papers and without --ray"),
        (["starlink", "--data", "nowhere"], "is no directory; docs/starlink.md says how to get it"),
        (["leocc"], "--data: leoreplayer/replayer/example/Cubic is no directory"),
    ],
)
def test_what_study_run_does_not_run_is_refused(cli, names: list[str], said: str) -> None:
    done = cli("study", "run", *names)
    assert done.exit_code == 2
    assert said in done.stderr


@pytest.mark.parametrize("name", experiments.OWN)
def test_an_experiment_has_the_name_under_which_it_is_listed(name: str) -> None:
    assert experiments.load(name).name == name


@pytest.mark.parametrize(
    "name",
    ["buffers", "leo", "satellite-2026", "simd-tfrc", "star-http", "hswa-links", "hypatia", "network-rules"],
)
def test_quick_runs_are_correct_and_part_of_the_full_ones(name: str, tmp_path: Path) -> None:
    quick, full = (experiments.load(name)(tmp_path, quick=quick) for quick in (True, False))
    for one in (quick, full):
        one.lines.mkdir(parents=True, exist_ok=True)
    runs, every = quick.cases(), [(case.keys, case.settings) for case in full.cases()]
    assert len({str(one) for one in every}) == len(every) > len(runs)
    for case in runs:
        assert (case.keys, case.settings) in every
        bp.Scenario.from_dict(case.scenario).check()


def test_a_table_is_made_once_and_goes_on_after_a_stop(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert Small(whole).run() == [whole / "small.csv", whole / "small.md"]
    assert Small.measured == 2 * 12

    def stop(state: State) -> None:
        if state.done >= 7:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=r"of 24 runs are done and kept; the same command goes on"):
        Small(parts).run(workers=1, progress=stop)
    assert Small.measured < 48
    assert Small(parts).run() == [parts / "small.csv", parts / "small.md"]
    assert Small.measured == 48, "no finished run is made again"
    for name in ("small.csv", "small.md", "small.svg"):
        assert (parts / name).read_bytes() == (whole / name).read_bytes()
    assert sorted(path.name for path in parts.iterdir()) == ["small.csv", "small.md", "small.svg"]
    assert Small(parts).run() and Small.measured == 48, "the table has all rows"
    Small(parts, fresh=True).run()
    assert Small.measured == 72


def test_a_quick_table_has_some_rows_which_the_full_one_takes_over(tmp_path: Path) -> None:
    small = Small(tmp_path)
    assert Small(tmp_path, quick=True).run() == [tmp_path / "small.csv"]
    assert small.read().column("seed") == [1, 1, 1]
    small.run()
    assert Small.measured == 24
    assert small.stale() == []
    (tmp_path / "small.md").write_text("11 rows\n")
    assert small.stale() == ["small.md does not agree with small.csv"]


def test_a_failed_run_is_named_and_the_other_runs_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Small, "ccs", ("cubic", "nothing"))
        with pytest.raises(RuntimeError, match="one nothing 1: .*nothing"):
            Small(tmp_path, quick=True).run()
    assert Small.measured == 2 and not Small(tmp_path).table.exists()
    monkeypatch.setattr(Small, "ccs", ("cubic",))
    Small(tmp_path, quick=True).run()
    assert Small.measured == 2 and Small(tmp_path).read().column("cc") == ["cubic"]


def test_the_table_of_buffers_is_that_of_todays_simulator_and_no_queue_exceeds_its_limit() -> None:
    docs = Path(__file__).parents[2] / "docs"
    buffers = experiments.load("buffers")(docs)
    cases, rows = buffers.cases(), buffers.read()
    assert len(rows) == len(cases)
    for case in cases:
        (row,) = rows.where(**case.keys)
        if row["cc"] in ("cubic", "star", "vegas") and (row["path"], row["seed"]) == ("0.25 bdp", 2):
            measured = buffers.measure(case, bp.run(bp.Scenario.from_dict(case.scenario)))
            assert {name: row[name] for name in measured} == pytest.approx(measured, rel=1e-5)
    for row in rows.where(cc="cubic"):
        # A full queue of one BDP delays packets by 600 ms.
        assert row["queueing_ms"] <= 600 * float(row["path"].split()[0]) * 1.01 + 10

"""The list of experiments, and the experiments whose result is a table of runs."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import bentpipe as bp
from bentpipe import experiments
from bentpipe.experiments.table import Key, Table
from bentpipe.progress import State
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.engine import Interrupted


@dataclasses.dataclass(frozen=True)
class Numbers:
    """The columns of a made-up experiment."""

    path: str
    cc: str
    seed: int
    rate_mbps: float
    sent: float


class Small(Table[Numbers]):
    """Two runs a row, over a link of 1 Mbit/s."""

    name = "small"
    row = Numbers

    def __init__(self, ccs: Sequence[str] = ("cubic", "reno", "vegas")) -> None:
        self.ccs, self.measured = ccs, 0

    def keys(self, *, quick: bool) -> list[Key]:
        return [Key("one", cc, seed) for seed in range(1, 2 if quick else 5) for cc in self.ccs]

    def scenarios(self, key: Key, folder: Path) -> dict[str, bp.Scenario]:
        link = {"sat": bp.Link(rate="1 Mbit/s", delay="20 ms")}
        flow = bp.Flow(key.cc, path=["sat"])
        return {
            name: bp.Scenario(links=link, flows=[flow], duration=duration, seed=key.seed)
            for name, duration in (("short", "2 s"), ("long", "4 s"))
        }

    def measure(self, case: Case, result: bp.Result) -> Mapping[str, float]:
        self.measured += 1
        (flow,) = result.json["flows"]
        long = case.settings["run"] == "long"
        return {"rate_mbps": flow["goodput_bps"] / 1e6} if long else {"sent": flow["sent_packets"]}

    def text(self, rows: Sequence[Numbers], folder: Path) -> str:
        return f"{len(rows)} rows\n"

    def draw(self, folder: Path, rows: Sequence[Numbers]) -> None:
        (folder / "small.svg").write_text("<svg/>")


def test_every_experiment_is_listed_with_the_way_it_is_run(cli) -> None:
    listed = json.loads(cli("study", "list", "--json").stdout)["studies"]
    names = [one["name"] for one in listed]
    assert names[:5] == ["vegas-l", "tcp-star", "hswa", "a-liad", "spectrum"]
    assert names[5:] == [*experiments.OWN, "rfc9743", "linux-truth", "quic-truth"]
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
        (["linux-truth"], "linux-truth is run by: bentpipe validate kernel --full"),
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


@pytest.mark.parametrize("name", ["leo", "satellite-2026"])
def test_quick_runs_are_correct_and_part_of_the_full_ones(name: str, tmp_path: Path) -> None:
    table = experiments.load(name)
    assert isinstance(table, Table)
    quick, full = table.keys(quick=True), table.keys(quick=False)
    assert set(quick) < set(full)
    assert len(set(full)) == len(full)
    for key in quick:
        for scenario in table.scenarios(key, tmp_path).values():
            scenario.check()


def test_a_table_is_made_once_and_goes_on_after_a_stop(tmp_path: Path) -> None:
    whole, parts = Small(), Small()
    assert whole.run(tmp_path / "whole") == [tmp_path / "whole/small.csv", tmp_path / "whole/small.md"]
    assert whole.measured == 2 * 12

    def stop(state: State) -> None:
        if state.done >= 7:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=r"of 24 runs are done and kept; the same command goes on"):
        parts.run(tmp_path / "parts", workers=1, progress=stop)
    before = parts.measured
    assert before < 24
    assert parts.run(tmp_path / "parts") == [tmp_path / "parts/small.csv", tmp_path / "parts/small.md"]
    assert parts.measured == 24, "no finished run is made again"
    for name in ("small.csv", "small.md", "small.svg"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == [
        "small.csv",
        "small.md",
        "small.svg",
    ]
    assert parts.run(tmp_path / "parts") and parts.measured == 24, "the table has all rows"
    parts.run(tmp_path / "parts", fresh=True)
    assert parts.measured == 48


def test_a_quick_table_has_some_rows_which_the_full_one_takes_over(tmp_path: Path) -> None:
    small = Small()
    assert small.run(tmp_path, quick=True) == [tmp_path / "small.csv"]
    assert [row.seed for row in small.read(tmp_path / "small.csv")] == [1, 1, 1]
    small.run(tmp_path)
    assert small.measured == 24
    assert small.stale(tmp_path) == []
    (tmp_path / "small.md").write_text("11 rows\n")
    assert small.stale(tmp_path) == ["small.md does not agree with small.csv"]


def test_a_failed_run_is_named_and_the_other_rows_are_in_the_table(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="one nothing 1: .*nothing"):
        Small(("cubic", "nothing")).run(tmp_path, quick=True)
    assert [row.cc for row in Small().read(tmp_path / "small.csv")] == ["cubic"]

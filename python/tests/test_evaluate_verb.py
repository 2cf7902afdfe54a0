"""The verb evaluate: what it prints and writes, and how it refuses."""

from __future__ import annotations

import functools
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import browser
import polars as pl
import pytest

import bentpipe as bp

FEW = ("--quick", "--only", "silence,heavy-loss,short-flows")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("evaluated") / "vegas"
    bp.evaluate("vegas", quick=True, only=FEW[2].split(","), out=place)
    return place


def test_it_prints_each_criterion_with_a_verdict(cli) -> None:
    done = cli("evaluate", "vegas", "--quick", "--only", "silence")
    assert done.exit_code == 0, done.stderr
    assert "5.2 MUST: MEETS." in done.stdout
    assert re.search(r"packets sent into the silence.*: [\d.]+ ± [\d.]+ BDP", " ".join(done.stdout.split()))
    assert "The experiment queues was not run." in " ".join(done.stdout.split())
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_json_is_the_same_as_in_python(cli) -> None:
    done = cli("evaluate", "vegas", "--quick", "--only", "silence", "--json")
    assert json.loads(done.stdout) == bp.evaluate("vegas", quick=True, only=["silence"]).as_dict()


@functools.cache
def undisturbed() -> dict[str, object]:
    """The evaluation that nothing stopped."""
    return bp.evaluate("vegas", quick=True, only=["beside-others"]).as_dict()


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_evaluation_goes_on_where_it_was(cli, tmp_path: Path, ending: signal.Signals) -> None:
    stored = ["evaluate", "vegas", "--quick", "--only", "beside-others", "--json"]
    stored += ["--out", str(tmp_path / "out")]

    def runs() -> int:
        parts = (tmp_path / "out/.runs/quick/parts").glob("*.json")
        return sum(len(json.loads(part.read_text())["runs"]) for part in parts)

    command = [sys.executable, "-m", "bentpipe", *stored, "--workers", "1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while not runs():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(ending)
        said = process.communicate(timeout=60)[1]
    if ending == signal.SIGINT:
        assert process.returncode == 130
        assert said.endswith(
            "the answers rest on the runs that were done; the same command goes on from there\n"
        )
    there = runs()
    again = cli(*stored)
    assert again.exit_code == 0, again.stderr
    assert 0 < there < runs()
    assert json.loads(again.stdout) == undisturbed()


def test_stored_runs_are_used_unless_asked(tmp_path: Path) -> None:
    seen: list[int] = []

    def evaluated(**more: bool) -> dict[str, object]:
        found = bp.evaluate(
            "reno", quick=True, only=["silence"], out=tmp_path,
            progress=lambda state: seen.append(state.done - state.taken_over), **more,
        )  # fmt: skip
        made.append(seen[-1])
        return found.as_dict()

    made: list[int] = []
    assert evaluated() == evaluated() == evaluated(fresh=True)
    assert made[0] == made[2] > made[1] == 0


def test_files_hold_the_numbers(written: Path) -> None:
    assert sorted(path.name for path in written.iterdir()) == [
        ".runs", "evaluation.html", "evaluation.json", "numbers.csv", "runs.parquet",
    ]  # fmt: skip
    runs, numbers = pl.read_parquet(written / "runs.parquet"), pl.read_csv(written / "numbers.csv")
    pick = {"experiment": "silence", "algorithm": "Vegas", "metric": "timeouts"}
    own = runs.filter(**pick, setting="rtt=40")["value"]
    (mean,) = numbers.filter(**pick, setting="rtt=40")["mean"]
    assert own.len() == 3
    assert mean == pytest.approx(own.mean())
    assert json.loads((written / "evaluation.json").read_text())["algorithm"] == "vegas"


def test_an_evaluation_replaces_an_evaluation_and_nothing_else(cli, tmp_path: Path, written: Path) -> None:
    bp.evaluate("reno", quick=True, only=["silence"], out=written)
    assert json.loads((written / "evaluation.json").read_text())["algorithm"] == "reno"
    (tmp_path / "evaluation.json").write_text("mine")
    done = cli("evaluate", "reno", *FEW, "--out", tmp_path)
    assert done.exit_code == 2
    assert "evaluation.json exists and is not an evaluation" in done.stderr
    assert (tmp_path / "evaluation.json").read_text() == "mine"
    assert cli("evaluate", "reno", *FEW, "--out", tmp_path / "evaluation.json").exit_code == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("cubik",), "did you mean cubic"),
        (("cubic", "--only", "buffer"), "did you mean buffers"),
        (("nowhere.py:Mine",), "nowhere.py"),
    ],
)
def test_what_does_not_exist_is_refused_in_one_line(cli, given: tuple[str, ...], said: str) -> None:
    done = cli("evaluate", *given)
    assert done.exit_code == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_parameters_and_standards_have_names_of_their_own() -> None:
    from bentpipe.evaluation.contenders import contenders

    assert [one.label for one in contenders("vegas alpha=3")] == ["Vegas alpha=3", "CUBIC", "Reno"]
    assert [one.label for one in contenders("reno")] == ["Reno", "CUBIC"]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Browser]:
    if browser.CHROMIUM is None:
        pytest.skip("needs Chromium, which is not here")
    with browser.browser(tmp_path_factory.mktemp("home")) as made:
        yield made


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits(shown: browser.Browser, written: Path, width: int) -> None:
    shown.open(written / "evaluation.html", width)
    shown.unfold()
    assert shown.overflowing() == []
    assert shown.run("document.querySelectorAll('figure').length") > 0


def test_the_tables_of_the_documentation_are_up_to_date() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, root / "scripts" / "docs.py", "--check", "evaluate_md"], check=False
    )
    assert done.returncode == 0, "run scripts/docs.py evaluate_md"

"""Sweeps on disk and in memory: what is there is not run again, and nothing disturbs the result."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bentpipe as bp
from bentpipe import stats
from bentpipe.sweeps import dataset, job, store
from bentpipe.sweeps.engine import Interrupted
from bentpipe.sweeps.job import run_plan
from bentpipe.sweeps.plan import Plan
from bentpipe.sweeps.store import Shard
from bentpipe.terminal.progress import State

GRID = {"flow.0.cc": ["reno", "cubic", "bbr"], "link.sat.delay": ["20 ms", "100 ms"]}
BROKEN = """
import bentpipe as bp

class Broken(bp.Controller):
    def on_ack(self, flow, ack):
        self.cwnd += 1 / self.cwnd

    def on_congestion(self, flow, why):
        raise RuntimeError("not today")
"""


def sweep(file: Path, out: Path | None, vary: object = GRID, seeds: int = 2, **given: object) -> dataset.Runs:
    return run_plan(Plan(file, vary, seeds), out, **given)  # type: ignore[arg-type]


def new_runs(file: Path, out: Path, vary: object = GRID, seeds: int = 2, **given: object) -> int:
    """How many runs a sweep adds."""
    states: list[State] = []
    sweep(file, out, vary, seeds, progress=states.append, **given)
    return states[-1].done - states[-1].taken_over


def plain(out: Path, table: str = "flows") -> pl.DataFrame:
    """A table as anybody reads it."""
    return pl.read_parquet(out / table / "*.parquet").sort("run", maintain_order=True)


def test_disk_and_memory_any_number_of_workers_and_single_runs_agree(
    scenario_file: Path, tmp_path: Path
) -> None:
    one = sweep(scenario_file, tmp_path / "one", workers=1)
    two = sweep(scenario_file, tmp_path / "two", workers=2)
    memory = sweep(scenario_file, None, workers=2)
    for table in ("flows", "links", "failed", "traces"):
        assert getattr(one, table).equals(getattr(two, table))
        assert getattr(one, table).equals(getattr(memory, table))
        assert getattr(one, table).schema == getattr(memory, table).schema
    for table in ("flows", "links"):
        assert plain(tmp_path / "two", table).equals(getattr(one, table))
    row = one.flows.filter(pl.col("run") == 9)
    assert row.select("flow.0.cc", "link.sat.delay_s", "seed").rows() == [("cubic", 0.1, 2)]
    overrides = {"flow.0.cc": "cubic", "link.sat.delay": "100 ms"}
    alone = bp.run(bp.Scenario.load(scenario_file, overrides), seed=2)
    assert row[:, 4:].equals(alone.flows)


def test_bp_sweep_gives_one_frame(scenario_file: Path, tmp_path: Path) -> None:
    frame = bp.sweep(bp.Scenario.load(scenario_file), GRID, seeds=2)
    assert frame.equals(sweep(scenario_file, None).flows)
    assert frame.columns[:4] == ["flow.0.cc", "link.sat.delay_s", "run", "seed"]
    kept = bp.sweep(scenario_file, GRID, seeds=2, out=tmp_path / "out")
    assert kept.equals(frame)
    assert dataset.read(tmp_path / "out").links.height == 24


def test_what_is_there_is_not_run_again(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert new_runs(scenario_file, out) == 12
    before = {path: path.read_bytes() for path in out.rglob("*.parquet")}
    assert new_runs(scenario_file, out) == 0
    assert {path: path.read_bytes() for path in out.rglob("*.parquet")} == before


def test_a_grid_grows_and_its_columns_with_it(scenario_file: Path, tmp_path: Path) -> None:
    """More seeds, a new value, another axis that has the present value: only what is new is run."""
    out, vary = tmp_path / "out", {"flow.0.cc": ["reno", "cubic"], "flow.0.initial_window": [2, 3]}
    assert new_runs(scenario_file, out, vary, 1) == 4
    assert new_runs(scenario_file, out, vary, 3) == 8
    vary["flow.0.initial_window"] = [2, 2.5, 3]
    assert new_runs(scenario_file, out, vary, 3) == 6
    vary = {"link.sat.delay": ["100 ms", "20 ms"], **vary}
    assert new_runs(scenario_file, out, vary, 3) == 18
    found, whole = dataset.read(out), sweep(scenario_file, None, vary, 3)
    assert found.flows.equals(whole.flows) and found.links.equals(whole.links)
    assert plain(out).equals(whole.flows)
    assert found.flows.columns[:5] == [
        "link.sat.delay_s",
        "flow.0.cc",
        "flow.0.initial_window",
        "run",
        "seed",
    ]
    # Fewer seeds than there are: the others stay.
    assert new_runs(scenario_file, out, vary, 1) == 0
    assert dataset.read(out).flows.equals(whole.flows)


@pytest.mark.parametrize(
    ("changed", "needles"),
    [
        ({"duration": '"30 s"'}, ["12 of them not of this sweep", "duration was 20 s and is 30 s"]),
        ({"link.sat.queue.limit": '"9 packets"'}, ["link.sat.queue.limit was 1 bdp and is 9 packets"]),
        ({}, ["4 of them not of this sweep", "flow.0.cc had bbr, too"]),
    ],
)
def test_a_changed_scenario_does_not_mix_with_what_is_there(
    scenario_file: Path, tmp_path: Path, changed: dict[str, str], needles: list[str]
) -> None:
    out = tmp_path / "out"
    before = sweep(scenario_file, out).flows
    vary = GRID if changed else {**GRID, "flow.0.cc": ["reno", "cubic"]}
    plan = Plan(scenario_file, vary, 2, overrides=list(changed.items()))
    with pytest.raises(bp.ScenarioError) as wrong:
        run_plan(plan, out)
    for needle in (*needles, "holds 12 runs", "--out", "--fresh"):
        assert needle in str(wrong.value)
    assert dataset.read(out).flows.equals(before)
    fresh = run_plan(plan, out, fresh=True).flows
    assert fresh.equals(run_plan(plan).flows) and plain(out).equals(fresh)


def test_another_simulator_does_not_mix_with_what_is_there(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep(scenario_file, tmp_path / "out")
    for module in ("fingerprint", "dataset", "plan"):
        monkeypatch.setattr(f"bentpipe.sweeps.{module}.simulator_hash", lambda: "another")
    with pytest.raises(
        bp.ScenarioError, match="12 of them not of this sweep .they were made by another build"
    ):
        sweep(scenario_file, tmp_path / "out")


@pytest.mark.parametrize("what", ["flows", "links", "parts"])
@pytest.mark.parametrize("how", ["changed", "gone", "cut"])
def test_a_damaged_part_is_named_and_its_runs_are_repeated(
    scenario_file: Path, tmp_path: Path, what: str, how: str, cli: Callable[..., object]
) -> None:
    out = tmp_path / "out"
    whole = sweep(scenario_file, out).flows
    (victim,) = (out / what).iterdir()
    content = bytearray(victim.read_bytes())
    if how == "gone":
        victim.unlink()
    else:
        content[len(content) // 2] ^= 1 if what != "parts" else 0xFF
        victim.write_bytes(content if how == "changed" else content[: len(content) // 2])
    if (what, how) != ("parts", "gone"):
        with pytest.raises(bp.ScenarioError, match="damaged; the command that wrote it repeats its runs"):
            dataset.read(out).flows, dataset.read(out).links  # noqa: B018
    vary = [f"--vary={key}={','.join(values)}" for key, values in GRID.items()]
    done = cli("sweep", scenario_file, "--out", out, "--seeds", 2, *vary)
    assert done.exit_code == 0
    if (what, how) != ("parts", "gone"):
        assert f"warning: {victim} was damaged" in done.stderr
    assert dataset.read(out).flows.equals(whole) and plain(out).equals(whole)


def test_what_a_writer_left_that_was_killed_is_removed(scenario_file: Path, tmp_path: Path) -> None:
    """Files half written, tables without their part, and a part that another has taken over."""
    out = tmp_path / "out"
    whole = sweep(scenario_file, out).flows
    (flows,) = (out / "flows").iterdir()
    (part,) = (out / "parts").iterdir()
    (out / "flows" / ".part-000002.parquet.99.1").write_bytes(b"PAR1")
    shutil.copy(flows, out / "flows" / "part-000009.parquet")
    about = json.loads(part.read_text())
    new = "part-000010"
    for table in ("flows", "links"):
        shutil.copy(out / table / flows.name, out / table / f"{new}.parquet")
    about["files"] = {name.replace(flows.stem, new): sum_ for name, sum_ in about["files"].items()}
    (out / "parts" / f"{new}.json").write_text(json.dumps({**about, "replaces": [flows.stem]}))
    assert dataset.read(out).flows.equals(whole)
    assert new_runs(scenario_file, out) == 0
    assert plain(out).equals(whole)
    assert sorted(path.name for path in (out / "flows").iterdir()) == [f"{new}.parquet"]


def test_a_part_that_cannot_be_written_leaves_nothing(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bentpipe.sweeps import store

    written = store.replace_frame

    def full(path: Path, frame: pl.DataFrame) -> str:
        if path.parent.name == "links":
            raise OSError(28, "No space left on device", str(path))
        return written(path, frame)

    monkeypatch.setattr(store, "replace_frame", full)
    with pytest.raises(OSError, match="No space left"):
        sweep(scenario_file, tmp_path / "out")
    assert not list((tmp_path / "out").glob("*/*.parquet"))
    monkeypatch.undo()
    assert sweep(scenario_file, tmp_path / "out").flows.equals(sweep(scenario_file, None).flows)


def test_parts_have_one_schema_and_become_one_file(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns that are empty in a part, such as the completion time of endless flows, keep their type."""
    vary = {"flow.0.traffic": [{"kind": "bulk"}, {"kind": "bulk", "size": "100 kB"}], **GRID}
    monkeypatch.setattr(store, "FLUSH_S", 0.0)
    monkeypatch.setattr("bentpipe.sweeps.store.Store.compact", lambda self: None)
    out = tmp_path / "out"
    scattered = sweep(scenario_file, out, vary, 3)
    files = sorted((out / "flows").iterdir())
    assert len(files) > 3
    schemas = {json.dumps({k: str(v) for k, v in pl.read_parquet_schema(file).items()}) for file in files}
    assert len(schemas) == 1
    assert plain(out).equals(scattered.flows)
    monkeypatch.undo()
    assert new_runs(scenario_file, out, vary, 3) == 0
    assert len(list((out / "flows").iterdir())) == len(list((out / "parts").iterdir())) == 1
    assert dataset.read(out).flows.equals(scattered.flows)
    assert dataset.read(out).links.equals(scattered.links)


@pytest.mark.skipif(importlib.util.find_spec("duckdb") is None, reason="duckdb is not installed")
def test_duckdb_reads_it_without_help(scenario_file: Path, tmp_path: Path) -> None:
    import duckdb

    flows = sweep(scenario_file, tmp_path / "out").flows
    question = f"""SELECT "flow.0.cc", avg(goodput_bps) FROM '{tmp_path}/out/flows/*.parquet' GROUP BY 1"""
    found = dict(duckdb.sql(question).fetchall())
    wanted = dict(flows.group_by("flow.0.cc").agg(pl.col("goodput_bps").mean()).iter_rows())
    assert found == pytest.approx(wanted, rel=1e-12)


def test_shards_together_are_the_whole(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "bentpipe", "sweep", str(scenario_file), "--out", str(out), "--seeds=2"]
    command += [f"--vary={key}={','.join(values)}" for key, values in GRID.items()]
    shards = [
        subprocess.Popen([*command, f"--shard={i}/3"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for i in (1, 2, 3)
    ]
    for shard in shards:
        said, _ = shard.communicate()
        assert shard.returncode == 0, said
    assert {path.stem[:12] for path in (out / "flows").iterdir()} == {
        f"shard-{i}-of-3"[:12] for i in (1, 2, 3)
    }
    whole = sweep(scenario_file, None)
    assert dataset.read(out).flows.equals(whole.flows)
    assert new_runs(scenario_file, out) == 0
    assert plain(out).equals(whole.flows) and len(list((out / "flows").iterdir())) == 1


def test_two_writers_of_one_directory_are_refused(scenario_file: Path, tmp_path: Path) -> None:
    from bentpipe.sweeps.store import Lock

    first, second, third = Lock(tmp_path, Shard(1, 2)), Lock(tmp_path, Shard(2, 2)), Lock(tmp_path)
    first.take()
    second.take()
    for other, why in (
        (third, "another run is writing"),
        (Lock(tmp_path, Shard(2, 2)), "shard 2/2 is running"),
        (Lock(tmp_path, Shard(3, 3)), "by 2 shards"),
    ):
        with pytest.raises(bp.ScenarioError, match=why):
            other.take()
    first.release()
    second.release()
    third.take()
    with pytest.raises(bp.ScenarioError, match="another run is writing"):
        first.take()
    third.release()
    others = Lock(tmp_path, Shard(3, 3))
    others.take()
    others.release()


def test_a_failed_run_is_a_row_with_its_error_and_is_tried_again(
    scenario_file: Path, tmp_path: Path, cli: Callable[..., object]
) -> None:
    mine, out = tmp_path / "mine.py", tmp_path / "out"
    mine.write_text(BROKEN)
    command = ["sweep", scenario_file, "--out", out, "--seeds", 2, "--workers", 1]
    command += ["--vary", f"flow.0.cc=reno,{mine}:Broken", "--set", "link.sat.loss.rate=0.02"]
    done = cli(*command)
    assert done.exit_code == 1
    assert "run 1 failed (flow.0.cc = Broken, seed 1): " in done.stderr and "not today" in done.stderr
    found = dataset.read(out)
    assert found.flows["flow.0.cc"].to_list() == ["reno", "reno"]
    assert found.failed.select("flow.0.cc", "run", "seed").rows() == [("Broken", 1, 1), ("Broken", 3, 2)]
    assert all("not today" in text for text in found.failed["error"])
    assert cli(*command).exit_code == 1
    assert dataset.read(out).failed.equals(found.failed) and plain(out, "failed").equals(found.failed)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        frame = bp.sweep(scenario_file, {"flow.0.cc": ["reno", f"{mine}:Broken"]}, 2)
    assert frame.height == 2 and "2 of 4 runs failed" in str(said[0].message)


def test_controllers_in_python_and_rust_share_a_sweep(scenario_file: Path, tmp_path: Path) -> None:
    """Those in Python run in processes, whose number does not matter either."""
    (tmp_path / "mine.py").write_text(BROKEN.replace('raise RuntimeError("not today")', "self.cwnd /= 2"))
    vary = {"flow.0.cc": ["reno", f"{tmp_path / 'mine.py'}:Broken"], "duration": ["5 s", "6 s"]}
    two = sweep(scenario_file, tmp_path / "out", vary, 2, workers=2)
    assert two.failed.height == 0 and two.flows.height == 8
    assert two.flows.equals(sweep(scenario_file, None, vary, 2, workers=1).flows)
    assert two.flows["cc"].unique().sort().to_list() == ["Broken", "reno"]


def test_traces_are_kept_if_they_are_asked_for(scenario_file: Path, tmp_path: Path) -> None:
    plan = Plan(scenario_file, GRID, 2, overrides=[("record.interval", '"1 s"')], traces=True)
    traces = run_plan(plan, tmp_path / "out").traces
    assert traces["run"].unique().to_list() == list(range(12))
    assert plain(tmp_path / "out", "traces").equals(traces)
    alone = bp.run(bp.Scenario.from_dict(plan[7].scenario)).trace
    assert traces.filter(pl.col("run") == 7)["cwnd"].equals(alone["cwnd"])
    with pytest.raises(bp.ScenarioError, match="--traces needs a scenario that records"):
        Plan(scenario_file, GRID, traces=True)


def test_seeds_until_the_interval_is_narrow(scenario_file: Path, tmp_path: Path) -> None:
    given = {"until": 0.03, "most_seeds": 20}
    vary = {"link.sat.loss.rate": [0, 0.002, 0.05]}
    found = sweep(scenario_file, tmp_path / "out", vary, 1, workers=2, **given).flows
    counts = dict(found.group_by("link.sat.loss.rate").len().iter_rows())
    assert counts[0.0] == stats.LEAST_RUNS  # nothing random happens
    assert stats.LEAST_RUNS < counts[0.002] <= counts[0.05]
    for rate, count in counts.items():
        goodputs = found.filter(pl.col("link.sat.loss.rate") == rate).sort("seed")["goodput_bps"].to_list()
        assert count == 20 or stats.enough(goodputs, 0.03)
    assert found.equals(sweep(scenario_file, None, vary, 1, workers=1, **given).flows)
    assert new_runs(scenario_file, tmp_path / "out", vary, 1, **given) == 0
    part = tmp_path / "part"
    sweep(scenario_file, part, vary, 3)
    assert new_runs(scenario_file, part, vary, 1, **given) == found.height - 9
    assert dataset.read(part).flows.equals(found)
    shards = tmp_path / "shards"
    for i in (1, 2):
        sweep(scenario_file, shards, vary, 1, shard=Shard(i, 2), **given)
    assert dataset.read(shards).flows.equals(found)
    assert [job.relative(text) for text in ("2%", "0.02", " 2 % ")] == [0.02] * 3


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "bentpipe", "sweep", str(scenario_file), "--out", str(out)]
    command += ["--seeds=100000", "--set=duration=60s"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
        last = time.monotonic() + 30
        while not list(out.glob("parts/*.json")) and time.monotonic() < last:
            time.sleep(0.02)
        os.kill(running.pid, signal.SIGINT)
        _, said = running.communicate(timeout=30)
    assert running.returncode == 130
    assert b"runs are in " in said and b"the same command goes on" in said and b"Traceback" not in said
    kept = int(said.decode().partition("interrupted; ")[2].split()[0].replace(",", ""))
    assert 0 < kept == dataset.read(out).flows.height == plain(out).height < 100_000


def test_an_interruption_in_python_keeps_what_is_done(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(state: State) -> None:
        if state.done >= 5:
            raise KeyboardInterrupt

    # One worker has four runs in hand at most: however late this thread looks, eight are over.
    with pytest.raises(Interrupted, match="of 12 runs are in .*out; the same command goes on"):
        sweep(scenario_file, tmp_path / "out", progress=stop, workers=1)
    kept = dataset.read(tmp_path / "out").flows
    assert 5 <= kept.height < 12
    assert new_runs(scenario_file, tmp_path / "out") == 12 - kept.height
    with pytest.raises(Interrupted) as stopped:
        sweep(scenario_file, None, progress=stop, workers=1)
    assert stopped.value.runs is not None and 5 <= stopped.value.runs.flows.height < 12


def test_an_interruption_while_runs_are_written_counts_them(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal that comes during the writing is raised when it is over."""
    add = dataset.Dataset.add

    def signalled(self: dataset.Dataset, *part: Any) -> None:
        add(self, *part)
        raise KeyboardInterrupt

    monkeypatch.setattr(dataset.Dataset, "add", signalled)
    with pytest.raises(Interrupted) as stopped:
        sweep(scenario_file, tmp_path / "out")
    kept = dataset.read(tmp_path / "out").flows.height
    assert kept > 0 and str(stopped.value).startswith(f"{kept} of 12 runs are in ")


@pytest.mark.slow
def test_ten_kills_do_no_harm() -> None:
    """The quick form of tools/sweep_kills.py: 200 runs, three kills."""
    script = Path(__file__).parents[2] / "tools" / "sweep_kills.py"
    command = [sys.executable, str(script), "--runs=200", "--kills=3", "--duration=60 s", "--flush=0.05"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["runs"] == 200 and found["kills"] == 3
    assert sorted(found["runs_kept_at_kills"]) == found["runs_kept_at_kills"]


def test_the_verb(scenario_file: Path, tmp_path: Path, cli: Callable[..., object]) -> None:
    out = tmp_path / "out"
    vary = [f"--vary={key}={','.join(values)}" for key, values in GRID.items()]
    done = cli("sweep", scenario_file, "--out", out, "--seeds", "2", *vary)
    assert done.exit_code == 0
    assert done.stdout.startswith("12 runs: flow.0.cc (3) x link.sat.delay (2) x 2 seeds")
    assert f'pl.read_parquet("{out}/flows/*.parquet")' in done.stdout
    assert f"SELECT * FROM '{out}/flows/*.parquet'" in done.stdout
    answer = json.loads(cli("sweep", scenario_file, "--out", out, "--seeds", "2", *vary, "--json").stdout)
    assert (answer["runs"], len(answer["groups"])) == (12, 6)
    flows = dataset.read(out).flows
    mean = flows.filter((pl.col("flow.0.cc") == "reno") & (pl.col("link.sat.delay_s") == 0.02))["goodput_bps"]
    assert answer["groups"][0]["goodput_bps"] == pytest.approx(mean.mean(), rel=1e-12)
    about = json.loads((out / "sweep.json").read_text())
    assert about["keys"][1] == {
        "key": "link.sat.delay",
        "column": "link.sat.delay_s",
        "type": "float",
        "unit": "s",
    }
    assert (about["seeds"], about["runs"]) == ([1, 2], 12)


@pytest.mark.parametrize(
    ("options", "needle"),
    [
        (["--shard", "3/2"], "write I/N"),
        (["--until-ci", "200%"], "--until-ci 200%"),
        (["--seeds", "x"], "--seeds x"),
        (["--vary", "link.sat.delay"], "write KEY=VALUE"),
        (["--set", "duration"], "write KEY=VALUE"),
        (["--out", "here.txt"], "here.txt exists and is no directory"),
        (["--out", "."], "exists and is no dataset of bentpipe sweep"),
        (["--ray", "nowhere"], "--ray"),
    ],
)
def test_wrong_options_are_one_line(
    scenario_file: Path, cli: Callable[..., object], monkeypatch: pytest.MonkeyPatch,
    options: list[str], needle: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(scenario_file.parent)
    Path("here.txt").write_text("mine")
    done = cli("sweep", scenario_file, "--out", "out", *options)
    assert done.exit_code == 2 and needle in done.stderr and done.stderr.count("\n") == 1
    assert Path("here.txt").read_text() == "mine"


def test_the_file_of_a_sweep_can_be_written_anew(scenario_file: Path, tmp_path: Path) -> None:
    """The parts say what they hold themselves."""
    out = tmp_path / "out"
    whole = sweep(scenario_file, out).flows
    text = (out / "sweep.json").read_text()
    (out / "sweep.json").write_text("{")
    assert new_runs(scenario_file, out) == 0
    assert (out / "sweep.json").read_text() == text and dataset.read(out).flows.equals(whole)
    (out / "sweep.json").write_text(text.replace('"version": 1', '"version": 2'))
    with pytest.raises(bp.ScenarioError, match="reads version 1, not 2"):
        dataset.read(out)

"""Several studies as one job: the page about all, going on after interruptions, the same bits always."""

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import forked
import polars as pl
import pytest
import toy_study
from forms import form
from test_study_page import NASTY, synthetic

import bentpipe as bp
from bentpipe import studies
from bentpipe.studies import summary
from bentpipe.studies.assembly import write
from bentpipe.studies.job import Failure, StudyFailed, gather, keys_of
from bentpipe.studies.study import StudyResult
from bentpipe.sweeps.execution import BATCH
from bentpipe.sweeps.fingerprint import modules
from bentpipe.sweeps.kept import PART, Kept

HERE = Path(__file__).parent
RUNS = toy_study.RUNS


def command(*words, where=HERE):
    """The command line that knows the toy studies, and its environment, less what the caller sets."""
    paths = [str(where), *(path for path in sys.path if path)]
    return [sys.executable, "-c", "import toy_study; toy_study.main()", "study", "run", *map(str, words)], {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
    }


def toy(*words, where=HERE, limit=None, **environment):
    """Runs the command line to its end, with one worker: each takes longer to start than all runs."""
    words, base = command(*words, "--workers", 1, where=where)
    if where == HERE and limit is None:
        words = words[words.index("study") :]
        return forked.run(words, env=base | environment, cwd=where, program="toy_study:main")
    return subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        env=base | environment,
        preexec_fn=limit,
        cwd=where,
    )


def measured(log):
    """The runs that were measured, and the processes that did it."""
    lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    return [int(number) for number, _ in lines], {int(pid) for _, pid in lines}


def kept(place):
    """How many runs are on disk."""
    parts = (place / ".runs/quick/parts").glob("*.json")
    return sum(len(json.loads(part.read_text())["runs"]) for part in parts)


def results(place):
    """The files that must not depend on how the runs came about."""
    names = ("claims.json", "runs.parquet", "figure-1.parquet", "sensitivity.parquet", "figures/figure-1.svg")
    return {name: (place / name).read_bytes() for name in names}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A run that nothing disturbed."""
    place = tmp_path_factory.mktemp("undisturbed")
    studies.run_plan(toy_study.STUDY, toy_study.plan("quick"), place, workers=1)
    return place


def test_the_number_of_workers_changes_no_bit(undisturbed, tmp_path):
    seen = []
    plan = toy_study.plan("quick")
    studies.run_plan(toy_study.STUDY, plan, tmp_path, lambda *at: seen.append(at), workers=3)
    assert results(tmp_path) == results(undisturbed)
    assert seen == sorted(seen) and seen[-1] == (RUNS, RUNS)


def test_measures_keep_the_types_that_they_have_together(undisturbed):
    runs = pl.read_parquet(undisturbed / "runs.parquet")
    assert runs.columns == ["cc", "number", "seed", "bps", "cwnd", "late"]
    assert runs["number"].to_list() == list(range(RUNS))
    assert runs["late"].dtype == pl.Float64 and runs["late"].drop_nulls().to_list() == [1.0, 0.5]
    assert pl.read_parquet(undisturbed / "figure-1.parquet")["number"].unique().to_list() == [3, 40, 41]


@pytest.mark.parametrize("after", form([1, BATCH + 20], [1, BATCH, BATCH + 20, RUNS]))
def test_a_killed_run_goes_on_where_it_was(undisturbed, tmp_path, after):
    out, log = tmp_path / "out", tmp_path / "log"
    words, environment = command("toy", "--out", out, "--workers", 2)
    with subprocess.Popen(
        words, env=environment | {"TOY_LOG": str(log), "TOY_SLEEP": "0.005"}, stderr=subprocess.PIPE
    ) as process:
        while len(measured(log)[0]) < after:
            assert process.poll() is None
            time.sleep(0.001)
        process.kill()
    until = time.monotonic() + 5
    while any(Path(f"/proc/{pid}/cmdline").exists() for pid in measured(log)[1]):
        assert time.monotonic() < until, "a worker outlived the run"
        time.sleep(0.01)
    there = kept(out)
    log.unlink()
    done = toy("toy", "--out", out, TOY_LOG=str(log))
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(measured(log)[0]) == sorted(set(measured(log)[0]))
    assert len(measured(log)[0]) == RUNS - there
    assert results(out) == results(undisturbed)


@pytest.mark.slow
def test_kills_at_random_moments_leave_no_trace(undisturbed, tmp_path):
    out, log, moment = tmp_path / "out", tmp_path / "log", random.Random(5)
    words, environment = command("toy", "--out", out, "--workers", 2)
    environment |= {"TOY_LOG": str(log), "TOY_SLEEP": "0.005"}
    kills = form(2, 10)
    for _ in range(kills):
        # Fewer runs than there are, however fast the machine is, so no kill comes after the end.
        enough = len(measured(log)[0]) + moment.randint(0, RUNS // (kills + 2))
        process = subprocess.Popen(words, env=environment, stdout=-3, stderr=-3)
        while len(measured(log)[0]) < enough:
            assert process.poll() is None
            time.sleep(0.001)
        time.sleep(moment.uniform(0.0, 0.03))
        process.kill()
        assert process.wait() == -signal.SIGKILL
        until = time.monotonic() + 5
        while any(Path(f"/proc/{pid}/cmdline").exists() for pid in measured(log)[1]):
            assert time.monotonic() < until, "a worker outlived the run"
            time.sleep(0.01)
    done = toy("toy", "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert results(out) == results(undisturbed)
    left = [p.name for p in out.rglob(".*") if p.name not in (".runs", ".lock")]
    assert left == [], "what was half written is gone"
    names, whole = (
        {p.relative_to(place) for p in place.rglob("*") if ".runs" not in p.parts}
        for place in (out, undisturbed)
    )
    assert names == whole
    listed = {
        file for part in out.glob(".runs/quick/parts/*") for file in json.loads(part.read_text())["files"]
    }
    assert {str(p.relative_to(out / ".runs/quick")) for p in out.glob(".runs/quick/*/*.parquet")} == listed


def flip(path, at):
    """Changes one bit."""
    whole = bytearray(path.read_bytes())
    whole[at] ^= 1
    path.write_bytes(whole)


def another_number(path):
    """Changes a number; the file is as good as any."""
    rows = pl.read_parquet(path)
    rows.with_columns(pl.col("row").str.replace('"bps": ', '"bps": 1')).write_parquet(path)


DAMAGE = [
    ("rows/*", another_number),
    ("rows/*", lambda path: flip(path, path.stat().st_size // 2)),
    ("traces/*", lambda path: flip(path, 100)),
    ("traces/*", Path.unlink),
    ("parts/*", lambda path: path.write_text(path.read_text().replace('": "', '": "f', 1))),
    ("parts/*", lambda path: path.write_text("[]")),
    ("*/*", lambda path: path.write_bytes(path.read_bytes()[:100])),
]


def damaged(folder, which, damage):
    """Damages a file of the runs in a folder; the runs that go with it."""
    path = min(folder.glob(which))
    about = json.loads((folder / f"parts/{path.stem}.json").read_text())
    damage(path)
    return about["runs"]


@pytest.mark.parametrize(("which", "damage"), DAMAGE)
def test_runs_that_are_not_as_they_were_written_are_named_and_removed(undisturbed, tmp_path, which, damage):
    shutil.copytree(undisturbed / ".runs/quick", tmp_path, dirs_exist_ok=True)
    lost = damaged(tmp_path, which, damage)
    with Kept(tmp_path) as kept:
        (warning,) = kept.warnings
        assert warning.startswith(f"{tmp_path}/") and " was damaged; it was removed" in warning
        assert len(kept.done) == RUNS - len(lost) < RUNS
        assert not kept.done & {key for _, key, _ in lost}


# Each is removed in the same way (above), so the quick form repeats the runs of two.
@pytest.mark.parametrize(("which", "damage"), form(DAMAGE[::3], DAMAGE))
def test_runs_that_are_not_as_they_were_written_are_run_again(
    undisturbed, tmp_path, monkeypatch, which, damage
):
    out, log, states = tmp_path / "out", tmp_path / "log", []
    shutil.copytree(undisturbed, out)
    lost = damaged(out / ".runs/quick", which, damage)
    monkeypatch.setattr(studies, "_all", lambda: toy_study.STUDIES)
    monkeypatch.setenv("TOY_LOG", str(log))
    studies.run_each({"toy": out}, progress=states.append, workers=1)
    (warning,) = states[-1].warnings
    assert warning.startswith(f"{out / '.runs/quick'}/")
    assert warning.endswith(" was damaged; it was removed and its runs are repeated")
    assert 0 < len(measured(log)[0]) == len(lost) <= 2 * PART
    assert results(out) == results(undisturbed)
    with Kept(out / ".runs/quick") as kept:
        assert (kept.warnings, len(kept.done)) == ([], RUNS)


def test_runs_that_change_while_the_job_goes_on_are_not_read(undisturbed, tmp_path):
    shutil.copytree(undisturbed, tmp_path, dirs_exist_ok=True)
    folder, cases = tmp_path / ".runs/quick", toy_study.plan("quick").cases
    another_number(min(folder.glob("rows/*")))
    with pytest.raises(bp.ScenarioError, match="is damaged; the command that wrote it repeats its runs"):
        gather(folder, cases, keys_of(toy_study.STUDY, cases))


def test_runs_of_an_earlier_version_are_repeated_with_one_message(undisturbed, tmp_path):
    folder, log = tmp_path / "out/.runs/quick", tmp_path / "log"
    folder.mkdir(parents=True)
    for name in ("0" * 32 + ".parquet", "0" * 32 + ".json"):
        (folder / name).write_text("{}")
    done = toy("toy", "--out", tmp_path / "out", TOY_LOG=str(log))
    assert done.stderr == f"bentpipe: warning: {folder} held runs of an earlier version; they are repeated\n"
    assert len(measured(log)[0]) == RUNS
    assert results(tmp_path / "out") == results(undisturbed)
    assert toy("toy", "--out", tmp_path / "out").stderr == ""


def test_ctrl_c_stops_at_once_and_says_how_to_go_on(undisturbed, tmp_path):
    out, log = tmp_path / "out", tmp_path / "log"
    words, environment = command("toy", "--out", out, "--workers", 2)
    environment |= {"TOY_LOG": str(log), "TOY_SLEEP": "0.02"}
    with subprocess.Popen(
        words, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        while len(measured(log)[0]) < BATCH + 15:
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)
    there = kept(out)
    assert process.returncode == 130 and there < RUNS
    assert said == (
        "",
        f"bentpipe: interrupted; {there} of {RUNS} runs are done and kept; "
        "the same command goes on from there\n",
    )
    assert toy("toy", "--out", out).returncode == 0
    assert results(out) == results(undisturbed)


def test_a_full_disk_fails_the_study_and_the_same_command_goes_on(undisturbed, tmp_path):
    def small_files():  # rows fit, kept traces do not
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    full = toy("toy", "--out", tmp_path, limit=small_files)
    assert full.returncode == 1
    assert full.stdout == ""
    assert full.stderr.startswith("bentpipe: study toy failed: ") and full.stderr.count("\n") == 1
    assert "File too large" in full.stderr
    assert [path.name for path in (tmp_path / ".runs/quick").rglob(".*")] == [".lock"]
    assert toy("toy", "--out", tmp_path).returncode == 0
    assert results(tmp_path) == results(undisturbed)


def test_a_finished_study_is_drawn_and_told_as_json_without_runs_unless_asked(undisturbed, tmp_path):
    out, log = tmp_path / "out", tmp_path / "log"
    shutil.copytree(undisturbed, out)
    done = toy("toy", "--json", "--out", out, TOY_LOG=str(log))
    assert done.returncode == 0 and measured(log)[0] == []
    (found,) = json.loads(done.stdout)["studies"]
    assert found["name"] == "toy" and found["page"] == str(out / "index.html")
    assert found["claims"] == json.loads((undisturbed / "claims.json").read_text())
    assert toy("toy", "--out", out, "--fresh", TOY_LOG=str(log)).returncode == 0
    assert len(measured(log)[0]) == RUNS
    assert results(out) == results(undisturbed)


def test_runs_of_other_code_are_not_used_and_do_not_stay(tmp_path):
    where, out, log = tmp_path / "code", tmp_path / "out", tmp_path / "log"
    shutil.copytree(HERE / "toy_study", where / "toy_study", ignore=shutil.ignore_patterns("__pycache__"))

    def runs_again():
        log.unlink(missing_ok=True)
        done = toy("toy", "--out", out, where=where, TOY_LOG=str(log))
        assert (done.returncode, done.stderr) == (0, "")
        return len(measured(log)[0])

    def edit(name, old, new):
        path = where / "toy_study" / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    assert runs_again() == RUNS
    first = pl.read_parquet(out / "runs.parquet")
    edit("report.py", '"a note & more"', '"another note"')
    edit("measure.py", "import os", "'''A docstring.'''\n# A comment.\nimport os")
    assert runs_again() == 0
    assert json.loads((out / "claims.json").read_text())[0]["note"] == "another note"
    edit("measure.py", '["goodput_bps"]', '["goodput_bps"] / 2')
    assert runs_again() == RUNS
    assert (pl.read_parquet(out / "runs.parquet")["bps"] * 2).equals(first["bps"])
    edit("__init__.py", '"50 ms"', '"60 ms" if i > 70 else "50 ms"')
    assert runs_again() == RUNS - 71
    assert kept(out) == RUNS


def test_what_measures_counts_as_code_and_what_draws_does_not():
    for name in studies.available():
        study = studies.get(name)
        found = modules(study.measure.__module__)
        package = study.measure.__module__.rpartition(".")[0]
        assert f"{package}.measure" in found or f"{package}.setup" in found
        assert not {f"{package}.figures", f"{package}.claims", "bentpipe.cli.application"} & set(found)
    assert "bentpipe.analysis.traces" in modules("bentpipe.papers.spectrum.measure")
    assert modules("bentpipe.sweeps.execution")["bentpipe._core"].suffix == ".so"


def test_two_jobs_do_not_share_a_folder(tmp_path):
    words, environment = command("toy", "--out", tmp_path)
    with subprocess.Popen(words, env=environment | {"TOY_SLEEP": "0.05"}) as process:
        while not kept(tmp_path):  # a first run is done
            assert process.poll() is None
            time.sleep(0.01)
        with pytest.raises(StudyFailed, match="another run is writing"):
            studies.run_plan(toy_study.STUDY, toy_study.plan("quick"), tmp_path)
        process.kill()


def test_a_study_that_fails_does_not_lose_the_others(undisturbed, tmp_path):
    done = toy("all", "--out", tmp_path, TOY_STUDIES="broken toy other")
    assert done.returncode == 1
    assert done.stderr == (
        "bentpipe: study broken failed: ArithmeticError: no <number> for this run; "
        "what is finished of it is kept\n"
    )
    assert results(tmp_path / "toy") == results(tmp_path / "other") == results(undisturbed)
    assert not (tmp_path / "broken/index.html").exists()
    page = (tmp_path / "index.html").read_text()
    assert "The study broken failed" in page and "no &lt;number&gt;" in page
    found = json.loads((tmp_path / "claims.json").read_text())
    assert [study["name"] for study in found["studies"]] == ["toy", "other"]
    assert [failure["name"] for failure in found["failed"]] == ["broken"]


def test_a_worker_that_dies_fails_its_study_only(tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "_all", lambda: toy_study.STUDIES)
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("TOY_SLEEP", "0.01")
    killed = []

    def kill_one(state):
        pids = measured(tmp_path / "log")[1]
        if pids and not killed:
            killed.append(min(pids))
            os.kill(killed[0], signal.SIGKILL)

    places = {name: tmp_path / name for name in ("toy", "other")}
    found = studies.run_each(places, progress=kill_one, workers=1)
    assert [type(result) for result in found].count(StudyResult) == 1
    (failure,) = (result for result in found if isinstance(result, Failure))
    assert failure.why == "a worker process ended (signal 9)"


def test_the_display_fits_a_terminal_of_80_columns(tmp_path, on_a_terminal):
    words, environment = command("all", "--out", tmp_path)
    environment |= {"TOY_STUDIES": "toy other", "TOY_SLEEP": "0.03", "TERM": "xterm", "COLUMNS": "80"}
    status, said = on_a_terminal(words, environment)
    assert status == 0
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode()))
    assert max(map(len, lines)) <= 80
    for text in ("toy, other ", "drawing ", "150/150 runs 0:00:"):
        assert any(text in line for line in lines), text
    assert any(re.search(r"[0-9]+/150 runs 0:00:[0-9]+ [0-9.]+/s, 0:[0-9]+ left", line) for line in lines)


@pytest.fixture
def joined(tmp_path):
    """The page about two studies whose every text is hostile."""
    done = []
    for name in ("one", "two"):
        study, plan, outcome, report = synthetic()
        done.append(write(study, plan, outcome, report, tmp_path / name))
        done[-1].name = name
        done[-1].previews = [(NASTY, NASTY, tmp_path / name / "figures/figure-1.svg")]
    page = summary.write([*done, Failure("three", NASTY)], tmp_path, 1.5, 1)
    return page


def test_the_page_about_all_escapes_every_text(joined):
    html = joined.read_text(encoding="utf-8")
    assert "<script" not in html
    assert "& <b>" not in html
    # Of each study: title (three times, and twice in the contents), citation, note, preview (twice), of its
    # claim: title, what, note and
    # the unit of the paper's and the measured value. And the failure.
    assert html.count("&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;") == 2 * 14 + 1


def test_the_page_about_all_loads_nothing_and_leads_to_the_studies(joined):
    html = joined.read_text(encoding="utf-8")
    sources = re.findall(r'src="([^"]*)"', html)
    assert len(sources) == 2
    assert all(s.startswith("data:image/svg+xml;base64,") for s in sources)
    assert not re.search(r"<link\b|@import|url\(|https?://", html)
    targets = re.findall(r'href="([^"]+)"', html)
    assert {"one/index.html", "two/index.html#claim-Z1", "two/index.html#figure-1", "claims.json"} <= set(
        targets
    )
    for target in targets:
        path, _, anchor = target.partition("#")
        page = joined.parent / path if path else joined
        assert f'id="{anchor}"' in page.read_text(encoding="utf-8") if anchor else True
        assert page.is_file(), target


@pytest.fixture(scope="module")
def both(undisturbed, tmp_path_factory):
    """A job of two studies."""
    place = tmp_path_factory.mktemp("both")
    for name in ("toy", "other"):
        shutil.copytree(undisturbed, place / name)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(studies, "_all", lambda: toy_study.STUDIES)
        return studies.run_all(["toy", "other"], out=place)


def test_the_page_about_all_counts_verdicts(both):
    found = both
    assert [result.name for result in found.results] == ["toy", "other"]
    html = found.page.read_text(encoding="utf-8")
    verdict = found.results[0].claims[0]["verdict"]
    assert f"2 {verdict}</span>" in html
    assert html.count(f">{verdict}</span>") == 2
    assert "a note &amp; more" in html
    assert "150 of the runs" in " ".join(html.split()) or "75 of the runs" in html
    assert "bentpipe study run toy other --quick" in html


def test_the_page_of_the_documentation_comes_from_the_run(both, tmp_path):
    shutil.copytree(both.page.parent, tmp_path, dirs_exist_ok=True)
    (claim,) = both.results[0].claims
    script = HERE.parent.parent / "scripts" / "reproducing_md.py"
    to = tmp_path / "page.md"
    ask = [sys.executable, str(script), str(tmp_path), "--to", str(to)]
    done = subprocess.run(ask, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    text = to.read_text(encoding="utf-8")
    assert (
        "2 claims of 2 papers, checked by repeating the papers' experiments in simulation: 0 reproduced, "
        in text
    )
    counts = "0 same order, 0 undecided, 2 not reproduced"
    assert claim["verdict"] == "not reproduced" and counts in " ".join(text.split())
    head = claim["checks"][0]
    assert f"| rate: 2e+06 bit/s | not reproduced: {head['measured']:,.0f} [" in text
    (tolerances, *papers) = (
        (tmp_path / "page" / f"{name}.md").read_text(encoding="utf-8")
        for name in ("tolerances", "toy", "other")
    )
    assert "| 1.25 | quantities are alike" in tolerances
    assert f"| rate | 2e+06 bit/s | {head['measured']:,.0f} [" in papers[0] and "**no**" in papers[0]
    for page in (text, tolerances, *papers):
        assert "<i>" not in page and not re.search(r"\d{4}-\d\d-\d\d|/tmp", page)
        assert max(len(line) for line in page.splitlines() if not line.startswith("|")) <= 130
    assert "A toy & nothing \\<i\\>more\\</i\\>" in papers[0]
    for page in papers:
        assert "Because." in page
        assert "| half the \\<rate\\> | 2 | T1 not reproduced -\\> reproduced |" in page
    (tmp_path / "other" / "sensitivity.parquet").unlink()
    done = subprocess.run(ask, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "sensitivity.parquet" in done.stderr

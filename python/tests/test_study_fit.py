"""The search over a paper's choices: its order, its limits, what it keeps, and what it says."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
import toy_study
from toy_study import choices

from bentpipe.studies import fit
from bentpipe.studies.claim import Claim, above
from bentpipe.studies.combinations import Tried
from bentpipe.studies.fit import Limits, search
from bentpipe.studies.job import StudyFailed

HERE = Path(__file__).parent
NAMES = [v.name for v in (*choices.VARIANTS, *choices.ONLY_JOINT)]


def judged(values):
    """A judge by a number of checks that hold, by names; it notes what it is asked."""
    asked = []

    def judge(what, wanted):
        asked.append((what, list(wanted)))
        return [tried(names, values.get(names, 0)) for names in wanted]

    return judge, asked


def tried(names, held):
    checks = [above(f"check {i}", [1.0, 1.0] if i < held else [-1.0, -1.0], [0.0, 0.0]) for i in range(4)]
    return Tried(names, choices.DESIGN.free(names), [Claim("X", "x", "x", checks)])


def test_what_promises_most_is_tried_first():
    judge, asked = judged(
        {("rate-2",): 1, ("long",): 1, ("rate-2", "long"): 2, ("rate-2", "long", "thrice"): 3}
    )
    found = search(choices.DESIGN, judge, 500)
    assert [what for what, _ in asked] == [
        "the base",
        "choices alone",
        "pairs of choices that help",
        "combinations on the greedy way",
        "combinations on the greedy way",
        "pairs of other choices",
    ]
    assert asked[1][1] == [(name,) for name in NAMES]
    assert asked[2][1] == [("rate-2", "long")]
    assert asked[3][1] == [("rate-2", "long", "delay-90"), ("rate-2", "long", "thrice")]
    assert asked[4][1] == [("rate-2", "long", "thrice", "delay-90")]
    rest = asked[5][1]
    assert ("rate-3", "long") not in rest, "it is the same as 'slow'"
    first = [("rate-2", "delay-90"), ("rate-2", "thrice"), ("delay-90", "long"), ("long", "thrice")]
    assert rest[:4] == first, "one of the two helps"
    assert len(rest) == 9
    assert found.best.names == ("rate-2", "long", "thrice")
    assert [(of.free, of.held) for of in found.front()] == [(0, 1), (1, 2), (2, 3)]
    assert found.not_tried() == [
        "Of combinations of three choices and more only those on the greedy way were tried.",
        "Pairs that contradict each other: 2.",
        "Pairs that are the same as a combination tried before: 3.",
    ]


def test_a_pair_that_is_best_after_all_is_gone_on_from():
    judge, asked = judged({("rate-3", "thrice"): 2, ("rate-3", "thrice", "delay-90"): 4})
    found = search(choices.DESIGN, judge, 500)
    assert found.best.names == ("rate-3", "thrice", "delay-90")
    assert [what for what, _ in asked][-2:] == ["combinations on the greedy way"] * 2


def test_a_limit_of_combinations_is_kept_and_said():
    judge, asked = judged({("rate-2",): 1})
    found = search(choices.DESIGN, judge, 5)
    assert len(found.tried) == sum(len(wanted) for _, wanted in asked) == 5
    assert "Not tried, because the limit of combinations was reached: choices alone (2)." in found.not_tried()


def test_when_the_time_is_over_nothing_more_is_tried():
    def judge(what, wanted):
        return [tried(names, 0) if names != ("long",) else None for names in wanted]

    found = search(choices.DESIGN, judge, 500)
    assert len(found.tried) == len(NAMES)
    assert "Not tried, because the time was over: choices alone (1)." in found.not_tried()
    assert any("pairs of other choices (" in said for said in found.not_tried())


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    place = tmp_path_factory.mktemp("fit")
    found = fit.fit(toy_study.CHOICES, place, Limits(seeds=2), workers=1)
    fit.write(found, place, place / "kept")
    return place


def rows(place):
    return [
        row for path in (place / ".runs/fit/rows").glob("*.parquet") for row in pl.read_parquet(path)["row"]
    ]


def test_the_best_is_found_and_confirmed_over_other_seeds(undisturbed):
    found = json.loads((undisturbed / "fit.json").read_text())
    assert [(of["variants"], of["free"], of["held"]) for of in found["front"]] == [
        (["rate-2"], 0, 1),
        (["rate-3"], 1, 2),
        (["rate-3", "thrice"], 2, 3),
    ]
    assert [(of["seeds"], of["variants"], of["held"], of["checks"]) for of in found["confirmed"]] == [
        ("1 to 4", [], 0, 4),
        ("1001 to 1004", [], 0, 4),
        ("1 to 4", ["rate-3", "thrice"], 3, 4),
        ("1001 to 1004", ["rate-3", "thrice"], 3, 4),
    ]
    assert found["confirmed"][3]["claims"] == {
        "R": {"verdict": "reproduced", "tally": "✓ 2/2"},
        "W": {"verdict": "not reproduced", "tally": "✗ 1/2"},
    }
    assert found["tried"][0] == [0, 0, ""]
    assert (undisturbed / "kept/choices.json").read_bytes() == (undisturbed / "fit.json").read_bytes()
    html = (undisturbed / "index.html").read_text()
    assert "3 Mbit/s (found by a search); counted thrice (our choice)" in html
    assert "Pairs that contradict each other: 2" in html


def test_equal_runs_are_run_once(undisturbed):
    done = [json.loads(row) for row in rows(undisturbed)]
    few = [row for row in done if row["seed"] <= 2]
    # With two seeds: at each rate both lengths; the window with both delays, counted once and thrice, except
    # all three at 2 Mbit/s, which the greedy way does not pass.
    count = [sum(row["part"] == part for row in few) for part in ("rate", "window")]
    assert count == [2 * 3 * 2, 2 * (3 * 2 * 2 - 1)]


def test_the_number_of_workers_changes_no_bit(undisturbed, tmp_path):
    fit.write(fit.fit(toy_study.CHOICES, tmp_path, Limits(seeds=2), workers=3), tmp_path)
    assert (tmp_path / "fit.json").read_bytes() == (undisturbed / "fit.json").read_bytes()
    assert (tmp_path / "index.html").read_bytes() == (undisturbed / "index.html").read_bytes()


def command(*words):
    paths = [str(HERE), *(path for path in sys.path if path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TOY_STUDIES": "choices toy"}
    return [
        sys.executable, "-c", "import toy_study; toy_study.main()", "study", "fit", *map(str, words)
    ], environment  # fmt: skip


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_search_goes_on_where_it_was(undisturbed, tmp_path, ending):
    out, log = tmp_path / "out", tmp_path / "log"
    words, environment = command("choices", "--seeds", 2, "--workers", 2, "--out", out)
    environment |= {"TOY_LOG": str(log), "TOY_SLEEP": "0.1"}
    with subprocess.Popen(words, env=environment, text=True, stderr=subprocess.PIPE) as process:
        while not log.exists() or len(log.read_text().splitlines()) < 15:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(ending)
        said = process.communicate(timeout=60)[1]
    there = len(rows(out))
    assert there > 0
    if ending == signal.SIGINT:
        assert process.returncode == 130
        kept = "runs are done and kept; the same command goes on from there"
        first, *_, last = said.splitlines()
        assert (first, last) == ("the base (1); 0 runs are done", f"bentpipe: interrupted; {there} {kept}")
    log.unlink()
    done = subprocess.run(
        words, env=environment | {"TOY_SLEEP": "0"}, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0 and "the base, seeds 1001 to 1004 (1); " in done.stderr, done.stderr
    assert len(log.read_text().splitlines()) == len(rows(undisturbed)) - there
    assert (out / "fit.json").read_bytes() == (undisturbed / "fit.json").read_bytes()
    assert "combinations were tried." in done.stdout and f"written to {out / 'fit.json'}" in done.stdout


def test_a_search_without_time_for_the_base_or_without_choices_says_so(tmp_path):
    with pytest.raises(StudyFailed, match="0 minutes do not suffice for the base"):
        fit.fit(toy_study.CHOICES, tmp_path, Limits(seeds=2, minutes=0.0), workers=1)
    with pytest.raises(ValueError, match="the study toy has no choices to combine"):
        fit.fit(toy_study.STUDY, tmp_path, Limits(seeds=2), workers=1)
    with pytest.raises(ValueError, match="two seeds"):
        fit.fit(toy_study.CHOICES, tmp_path, Limits(seeds=1), workers=1)


def test_what_could_not_be_confirmed_in_time_is_said():
    judge, _ = judged({("rate-2",): 1})
    late = [fit.Confirmed("1 to 4", ("rate-2",), tried(("rate-2",), 1)), fit.Confirmed("1 to 4", (), None)]
    found = fit.Fit(toy_study.CHOICES, 2, search(choices.DESIGN, judge, 5), late)
    assert found.not_tried()[-1] == "Seeds 1 to 4 of the base were not run: the time was over."
    assert [of["variants"] for of in found.as_dict()["confirmed"]] == [["rate-2"]]

"""Joint readings of a paper: which changes go together, how free they are, and what is run of them."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import polars as pl
import pytest
import toy_study
from test_study_design import DESIGN, points, scenario
from toy_study import choices

from bentpipe import studies
from bentpipe.studies import design, readings, tables
from bentpipe.studies.claim import Claim, number
from bentpipe.studies.design import UNSET, Choices, Design, Origin, Reading, change, changed, clash, where


@dataclass(frozen=True)
class Setup(Choices):
    buffer: int = 50
    window: int | None = None
    flow: dict = field(default_factory=dict)


BASE = Setup(options={"star": {"aen": True}})
variant = partial(choices.variant, base=BASE)
BUFFER = variant("buffer", "a buffer of 100", where(part="queue"), buffer=100)
SHORT = variant("short", "a buffer of 10", buffer=10, evidence=Origin.DEFAULT, source="ns-2's default.")
WINDOW = variant("window", "a window of 9", where(part="loss"), window=9, evidence=Origin.FITTED)
BOTH = variant("both", "both, and ECN", buffer=100, window=9, flow={"ecn": True})
AEN = variant("aen", "no AEN", options={"star": {"aen": False}})
GAIN = variant("gain", "a gain of 2", options={"star": {"aen": True, "gain": 2}})
VARIANTS = (BUFFER, SHORT, WINDOW, BOTH, AEN)


def made(*readings, only_joint=(GAIN,), **more):
    return Design(
        BASE,
        VARIANTS,
        {"quick": design.Size(3, 2), "full": design.Size(5, 2)},
        points,
        lambda of, **keys: {**scenario(of, **keys), "window": of.setup.window},
        measure=lambda *_: {},
        note="",
        keeps=lambda keys, seed: False,
        readings=readings,
        only_joint=only_joint,
        **more,
    )


def test_a_change_is_what_differs_and_can_be_applied_to_another():
    assert BOTH.change(BASE) == {("buffer",): 100, ("window",): 9, ("flow", "ecn"): True}
    assert AEN.change(BASE) == {("options", "star", "aen"): False}
    bare = Setup()
    assert change(BASE, bare) == {("options", "star", "aen"): UNSET}
    assert changed(BASE, change(BASE, bare)) == bare
    assert changed(BASE, {**AEN.change(BASE), **GAIN.change(BASE)}).options == {
        "star": {"aen": False, "gain": 2}
    }


def test_changes_contradict_each_other_only_by_other_values_in_one_place():
    assert clash(BUFFER.change(BASE), SHORT.change(BASE)) == ("buffer",)
    assert clash(BUFFER.change(BASE), BOTH.change(BASE)) is None
    assert clash(AEN.change(BASE), GAIN.change(BASE)) is None
    with pytest.raises(ValueError, match="'buffer' and 'short' contradict each other: both set buffer"):
        made(Reading("fitted", "x", ("buffer", "short")))


@pytest.mark.parametrize(
    ("reading", "wrong"),
    [
        (Reading("fitted", "x", ("long",)), "no variant is called 'long'; there are: buffer"),
        (Reading("aen", "x", ("buffer",)), "two variants or readings are called 'aen'"),
        (Reading("fitted", "x", ()), "changes nothing"),
        (Reading("as-printed", "x", ("window",)), "cannot rest on 'window', which a search found"),
    ],
)
def test_a_reading_that_cannot_be_is_refused(reading, wrong):
    with pytest.raises(ValueError, match=wrong):
        made(reading)


def test_a_reading_runs_what_its_variants_touch_with_all_seeds_of_the_base():
    of = made(Reading("fitted", "both", ("buffer", "window")), Reading("as-printed", "q", ("buffer",)))
    runs = [c for c in of.plan("full").cases if c.keys["variant"] == "fitted"]
    assert {(c.keys["part"], c.keys["seed"]) for c in runs} == {
        (part, seed) for part in ("queue", "loss") for seed in (1, 2, 3, 4, 5)
    }
    # Each of its variants changes the runs that it touches.
    assert {(c.keys["part"], c.scenario["buffer"], c.scenario["window"]) for c in runs} == {
        ("queue", 100, None),
        ("loss", 50, 9),
    }
    printed = [c for c in of.plan("full").cases if c.keys["variant"] == "as-printed"]
    assert {c.keys["part"] for c in printed} == {"queue"}
    quick = made(Reading("fitted", "both", ("buffer",), quick=True), Reading("as-printed", "q", ("aen",)))
    assert {c.keys["variant"] for c in quick.plan("quick").cases} == {"base", "fitted"}
    assert not any(c.keys["variant"] == "gain" for c in of.plan("full").cases)


def test_other_seeds_of_a_reading_begin_after_a_given_one():
    of = made()
    cases = list(of.cases(of.joined("buffer", "aen"), of.sizes["quick"], after=1000))
    assert {c.keys["seed"] for c in cases} == {c.scenario["seed"] for c in cases} == {1001, 1002, 1003}


def test_free_choices_are_counted_once_and_by_their_parts():
    of = made()
    assert [of.free(n) for n in (["short"], ["buffer"], ["buffer", "aen"], ["short", "window"])] == [
        0,
        1,
        2,
        1,
    ]
    # "both" is the buffer, the window, and one more value.
    assert of.free(["both"]) == of.free(["both", "buffer"]) == 3


def test_a_plan_without_readings_is_as_it_was():
    assert DESIGN.plan("full").cases == replace(DESIGN, readings=()).plan("full").cases


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A quick run of the toy that has readings."""
    place = tmp_path_factory.mktemp("readings")
    patched = pytest.MonkeyPatch()
    patched.setattr(studies, "_all", lambda: toy_study.STUDIES)
    (result,) = studies.run_all(["choices"], out=place, workers=1).results
    patched.undo()
    return place, result


def test_the_page_has_a_table_of_the_readings(run):
    place, result = run
    base, fitted = result.readings["readings"]
    assert [(of["name"], of["free"], of["held"], of["checks"]) for of in (base, fitted)] == [
        ("base", 0, 0, 4),
        ("fitted", 2, 3, 4),
    ]
    assert (base["title"], fitted["title"]) == (
        "the base (as printed and best defensible)",
        "fitted: what a search found",
    )
    assert fitted["choices"] == [["3 Mbit/s", "found by a search", ""], ["counted thrice", "our choice", ""]]
    assert fitted["claims"]["W"] == {"verdict": "not reproduced", "tally": "✗ 1/2"}
    assert result.readings["free"] == 2
    assert result.readings["never"] == {"W": ["never (1 tried)"]}
    assert json.loads((place / "choices/readings.json").read_text()) == result.readings
    html = " ".join((place / "choices/index.html").read_text().split())
    assert "fitted: what a search found" in html
    assert "The base has 2 (table of the set-up)." in html
    said = "Checks that hold under no reading and no single choice of those that ran them."
    assert f"{said} W: never (1 tried)." in html
    runs = pl.read_parquet(place / "choices/runs.parquet").filter(variant="fitted")
    assert sorted(set(runs["seed"])) == [1, 2, 3], "all seeds of the base"


def test_the_documentation_sets_printed_defensible_and_fitted_beside_each_other(run, tmp_path):
    script = Path(__file__).parents[2] / "scripts" / "reproducing_md.py"
    to = tmp_path / "page.md"
    found = {
        "study": "choices",
        "version": "1",
        "seeds": 2,
        "choices": {"rate-2": ["2 Mbit/s", "our choice", ""]},
        "front": [],
        "confirmed": [
            {"variants": ["rate-2"], "free": 1, "seeds": "1001 to 1004", "held": 1, "checks": 4, "claims": {}}
        ],
        "not_tried": ["Not all."],
        "tried": [[0, 0, ""], [1, 1, "rate-2"]],
    }
    (tmp_path / "choices.json").write_text(json.dumps(found))
    ask = [sys.executable, str(script), str(run[0]), "--to", str(to), "--fits", str(tmp_path)]
    done = subprocess.run(ask, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    text = to.read_text(encoding="utf-8")
    assert (
        "| [A toy with choices](page/choices.md) | the base | 0 / 0 / 0 / 2; 0 of 4 "
        "| 1 / 0 / 0 / 1; 3 of 4; 2 free | 2 |" in text
    )
    of_paper = (tmp_path / "page" / "choices.md").read_text(encoding="utf-8")
    assert (
        "| fitted: what a search found | 3 Mbit/s (found by a search); counted thrice (our choice) | 2 "
        "| 3 of 4 | R ✓ 2/2, W ✗ 1/2 |" in of_paper
    )
    assert "| W Window | never (1 tried) | 0 of 2 checks hold; ours: no cause found; a reason" in of_paper
    assert '<a id="w"></a>' in of_paper and "(choices-sensitivity.csv)" in of_paper
    assert pl.read_csv(tmp_path / "page" / "choices-sensitivity.csv").height
    words = " ".join(text.split())
    (first,) = [line for line in text.splitlines() if line.startswith("| [R](page/choices.md#r)")]
    assert "| not reproduced: " in first
    # Nobody has made its probabilities.
    assert first.endswith("| - | - | ours: no cause found |")
    assert "suits it best: 0 reproduced, 0 same order, 0 undecided, 2 not reproduced." in words
    assert "| 2 Mbit/s (our choice) | 1001 to 1004 | 1 | 1 of 4 |" in of_paper
    assert "tried 2 combinations of choices" in " ".join(of_paper.split())


def test_the_head_of_the_page_counts_the_claims_that_hold_over_other_seeds(run, tmp_path):
    def chance(reading, other):
        return {
            "reading": reading, "words": f"{reading}: 3 Mbit/s", "free": 1, "held": 1, "checks": 2,
            "verdict": "reproduced", "verdict_from_1001": other, "seeds": 4, "sets": 100, "reproduced": 41,
        }  # fmt: skip

    out = tmp_path / "out"
    shutil.copytree(run[0], out)
    found = json.loads((out / "claims.json").read_text())
    script = Path(__file__).parents[2] / "scripts" / "reproducing_md.py"

    def head(*of_w):
        of_r = [chance("base", "not reproduced"), chance("rate-3", "reproduced")]
        for claim, chances in zip(found["studies"][0]["claims"], (of_r, list(of_w)), strict=True):
            claim["probabilities"] = chances
        (out / "claims.json").write_text(json.dumps(found))
        to = tmp_path / "page.md"
        ask = [sys.executable, str(script), str(out), "--to", str(to), "--fits", str(tmp_path)]
        done = subprocess.run(ask, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return " ".join(to.read_text().split())

    text = head(chance("base", "not reproduced"), chance("fitted", "undecided"))
    assert "seeds from 1001 on, as many as the study has, 1 of 2 claims are reproduced by the base" in text
    assert "The others are [W](page/choices.md#w) undecided (fitted): ours: no cause found." in text
    assert "*rate-3* means: 3 Mbit/s." in text and "No one has run" not in text
    text = head(chance("base", "reproduced"))
    assert "2 of 2 claims are reproduced" in text and "The others" not in text
    text = head()
    assert "1 of 1 claims are reproduced" in text
    assert "No one has run these from 1001 on: [W](page/choices.md#w)." in text


def test_the_set_up_shows_the_evidence_of_each_value_and_counts_the_free_ones():
    both = ["Rate, length", "2 Mbit/s, 9 s", "[paper, ours] table 1; the length is not given"]
    section = tables.set_up([["Buffer", "50", "[default] ns-2's"], both])
    (table,) = section.tables
    assert [list(row) for row in table.rows] == [
        ["Buffer", "50", "default of the simulator it names", "ns-2's"],
        ["Rate, length", "2 Mbit/s, 9 s", "the paper says; our choice", "table 1; the length is not given"],
    ]
    assert section.free == 1 and table.caption.startswith("1 of 3 values are free choices")
    assert tables.set_up([["Buffer", "50", "ns-2's"]]).tables[0].header == [
        "What",
        "Value",
        "Source or reason",
    ]


def test_what_never_holds_counts_only_what_ran_that_check():
    def claim(*holds: bool) -> Claim:
        of = enumerate([1.0 if ok else 9.0] * 2 for ok in holds)
        checks = [number(f"n = {i}", got, 1.0).known_as(str(i)) for i, got in of]
        return Claim("X", "title", "statement", checks)

    base = readings.Read("base", "the base", [], 0, [claim(True, False)])
    # The second choice never ran the failing check; a reading of the first choice is not one of its own.
    tried = {"X": [("one", claim(True, False)), ("other", claim(True)), ("one", claim(False, False))]}
    assert readings._never(base, tried) == {"X": ["n = 1 (1 tried)"]}
    assert readings._never(base, {"X": [("one", claim(True, True))]}) == {}
    assert readings._never(base, {}) == {"X": ["n = 1 (no choice touches it)"]}

"""One figure or table of a paper: what each paper has, and how one of them is given."""

import ast
import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import bentpipe.papers
from bentpipe import ScenarioError, studies
from bentpipe.cli.application import application
from bentpipe.plot import sized
from bentpipe.studies import claim, show, stored
from bentpipe.studies.combinations import assembly
from bentpipe.studies.places import Place, PlaceKind, find

#: The figures and tables that the texts of the papers speak of, read once by hand.
PRINTED = {
    "vegas-l": (6, 0),
    "tcp-star": (11, 1),
    "hswa": (4, 0),
    "a-liad": (13, 0),
    "spectrum": (24, 6),
}


def ask(*words):
    """The command line with these words."""
    return CliRunner().invoke(application(["study"]), ["study", "show", *map(str, words)])


@pytest.mark.parametrize("name", PRINTED)
def test_every_figure_and_table_of_a_paper_has_a_place(name):
    places = studies.get(name).places()
    for kind, count in zip((PlaceKind.FIGURE, PlaceKind.TABLE), PRINTED[name], strict=True):
        numbers = [place.number.rstrip("abc") for place in places if place.kind == kind]
        assert sorted(set(map(int, numbers))) == list(range(1, count + 1))
    assert len({place.name for place in places}) == len(places)


@pytest.mark.parametrize("name", PRINTED)
def test_every_claim_judges_some_figure_and_every_place_asks_for_runs_that_exist(name):
    study = studies.get(name)
    claims = {sentence.id for sentence in assembly(study).claims}
    assert {claim for place in study.places() for claim in place.claims} == claims
    cases = show.few(assembly(study).design).cases
    for place in study.places():
        if place.needs is not None:
            assert any(place.uses(case.keys) for case in cases), place.title
        assert place.given != bool(place.why), place.title
    assert any(place.draw for place in study.places())


def test_a_figure_is_found_by_its_number_a_part_of_it_or_its_name():
    places = studies.get("spectrum").places()
    figures = [PlaceKind.FIGURE, PlaceKind.OWN]
    for asked, number in (("4a", "4a"), ("18b", "18"), ("figure-7", "7"), ("Figure 21", "21")):
        assert find(places, figures, asked).number == number
    assert find(places, figures, "figure-14-17-variation").kind == PlaceKind.OWN
    with pytest.raises(ValueError, match=r"no figure '99'; there are: 1, 2, 3, 4a"):
        find(places, figures, "99")
    assert find(places, [PlaceKind.TABLE], "5").name == "table-5"


def test_a_place_is_drawn_or_says_why_not():
    with pytest.raises(ValueError, match="figure 1 is neither drawn nor is it said why"):
        Place("1", "something")


def test_one_figure_from_nothing_in_all_formats(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [f"five{ending}" for ending in show.ENDINGS]
    found = ask(
        "a-liad", "--figure", 5, "--fresh", "--workers", 2, *(word for name in names for word in ("-o", name))
    )
    assert found.exit_code == 0, found.output
    assert "3 seeds" in " ".join(found.output.split()) and "seeds 1 to 3" in found.output
    assert (tmp_path / "five.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "five.pdf").read_bytes().startswith(b"%PDF")
    assert "<svg" in (tmp_path / "five.svg").read_text()
    rows = list(csv.DictReader((tmp_path / "five.csv").read_text().splitlines()))
    (liad,) = [row for row in rows if row["cc"] == "a-liad" and row["until_s"] == "30"]
    assert 70 < float(liad["mean"]) < 90 and liad["seeds"] == "3"


@pytest.mark.parametrize("name", PRINTED)
def test_the_runs_of_every_figure_and_table_ship(name, monkeypatch):
    """Of the scenarios of today; `make reproducing` writes them again."""
    study = studies.get(name)
    plan = stored.plan_of(study)
    monkeypatch.setattr(stored, "plan_of", lambda _: plan)
    for place in study.places():
        if place.given and place.needs is not None:
            there = stored.read(study, place)
            assert there is not None, f"{name}, {place.title}: make reproducing"
            assert there.runs.height == len([case for case in plan.cases if place.uses(case.keys)])
    assert sum(file.stat().st_size for file in stored.FOLDER.iterdir()) < 3_000_000


def test_a_figure_is_drawn_from_the_runs_that_ship_and_changed_scenarios_are_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = ask("vegas-l", "--figure", 5, "-o", "five.csv")
    assert found.exit_code == 0, found.output
    assert "From stored runs of bentpipe" in found.output and "seeds 1 to 24" in found.output
    assert {row["seeds"] for row in csv.DictReader(Path("five.csv").read_text().splitlines())} == {"24"}
    study = studies.get("vegas-l")
    (place,) = (of for of in study.places() if of.name == "figure-5")
    longer = replace(assembly(study).design.base, buffer_packets=51)
    changed = replace(
        assembly(study), design=replace(assembly(study).design, base=longer, variants=(), readings=())
    )
    monkeypatch.setattr(stored, "assembly", lambda _: changed)
    assert stored.read(study, place) is None


def test_the_checks_of_its_claims_come_with_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = ask("tcp-star", "--figure", 7, "--json")
    assert found.exit_code == 0, found.output
    given = json.loads(found.output)
    assert given["files"] == ["tcp-star-figure-7.png"] and Path("tcp-star-figure-7.png").exists()
    (claim,) = given["claims"]
    assert claim["id"] == "S3" and {check["what"] for check in claim["checks"]} >= {
        "NewReno reaches 432 segments after"
    }


def test_a_table_of_closed_forms(tmp_path):
    of = show.show(studies.get("spectrum"), [PlaceKind.TABLE], "3", finished=tmp_path)
    assert of.source.startswith("Closed forms, no runs") and [c["id"] for c in of.claims] == ["K11"]
    assert of.data.columns[:3] == ["Cell", "Paper's formula", "Ours"] and of.data.height == 4
    for ending in show.ENDINGS:
        assert of.write(tmp_path / f"t{ending}").stat().st_size > 50


def finished(tmp_path, study):
    """A folder with a finished run of a study, of which there is figure 1 and no kept run."""
    folder = tmp_path / study
    (folder / "figures").mkdir(parents=True)
    words = {"title": "Figure 1. It.", "caption": "From there.", "alt": ""}
    said = {"study": study, "mode": "full", "note": "77 seeds.", "version": "9"}
    (folder / "figures.json").write_text(json.dumps({**said, "figures": {"figure-1": words}}))
    (folder / "claims.json").write_text("[]")
    of = show.show(studies.get("spectrum"), [PlaceKind.FIGURE], "1", finished=tmp_path / "nothing")
    of.data.write_parquet(folder / "figure-1.parquet")
    for kind in (".png", ".svg", ".pdf"):
        (folder / "figures" / f"figure-1{kind}").write_text(kind)
    return folder


def test_a_finished_run_is_used_if_it_is_there(tmp_path):
    folder = finished(tmp_path, "a-liad")
    for place in (tmp_path, folder):
        found = show.show(studies.get("a-liad"), [PlaceKind.FIGURE], "1", finished=place)
        assert (found.caption, "77 seeds." in found.source) == ("From there.", True)
        assert found.write(tmp_path / "x.svg").read_text() == ".svg"
    (folder / "figures" / "figure-1.pdf").unlink()
    assert show._kept(studies.get("a-liad"), found.place, None, folder) is None, "half of it is none"


def test_at_another_size_a_finished_run_is_drawn_again_from_its_kept_runs(tmp_path):
    folder = finished(tmp_path, "spectrum")
    with sized("12 cm"):
        found = show.show(studies.get("spectrum"), [PlaceKind.FIGURE], "1", finished=tmp_path)
        assert (found.caption, "77 seeds." in found.source) == ("From there.", True)
        assert points_wide(found.write(tmp_path / "x.svg")) == pytest.approx(72 * 12 / 2.54)
        (place,) = (of for of in studies.get("a-liad").places() if of.name == "figure-1")
        folder = finished(tmp_path, "a-liad")
        assert show._kept(studies.get("a-liad"), place, None, folder) is None, "its runs are not there"


def points_wide(svg):
    """Width of an SVG file in points."""
    return float(re.search(r'width="([\d.]+)pt"', svg.read_text())[1])


@pytest.mark.parametrize(
    ("size", "wide", "high", "scale"),
    [("paper", 3.5, 2.9, 1), ("page", 7.16, 2.9 * 1.35, 1), ("screen", 9, 2.9 * 5 / 2.3, 1.5),
     ("slide", 12, 2.9 * 6.75 / 2.3, 2.2), ("7 in", 7, 5.8, 1)],
)  # fmt: skip
def test_a_figure_has_the_size_that_is_asked_for_and_its_type(size, wide, high, scale, tmp_path):
    with sized(size):
        fig = show.show(studies.get("spectrum"), [PlaceKind.FIGURE], "4a", finished=tmp_path).drawn
    assert fig.get_size_inches() == pytest.approx([wide, high])
    (axes,), (legend,) = fig.axes, fig.legends
    words = {text.get_text(): text.get_fontsize() for text in axes.texts}
    assert (words["fairness"], words["(1)"]) == pytest.approx((7 * scale, 8 * scale))
    assert axes.xaxis.label.get_size() == pytest.approx(8 * scale)
    assert legend.get_texts()[0].get_fontsize() == pytest.approx(7.5 * scale)
    assert axes.lines[0].get_linewidth() == pytest.approx(0.9 * scale)
    assert axes.spines["left"].get_linewidth() == pytest.approx(0.6 * scale)


def test_a_table_has_the_width_that_is_asked_for_else_the_type(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, size in enumerate(("paper", "slide", "12 cm")):
        found = ask("spectrum", "--table", 3, "--size", size, "-o", f"{number}.svg")
        assert found.exit_code == 0, found.output
    paper, slide, exact = (points_wide(tmp_path / f"{number}.svg") for number in range(3))
    assert (slide, exact) == pytest.approx((2.2 * paper, 72 * 12 / 2.54))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a-liat", "--figure", 5), "no study is called 'a-liat'; did you mean a-liad?"),
        (("a-liad", "--figure", 99), "a-liad has no figure '99'; there are: 1, 2, 3"),
        (("a-liad", "--table", 1), "a-liad has no table; it has figures 1, 2"),
        (("hswa", "--figure", 2), "hswa, figure 2: nothing is drawn; a sender"),
        (("a-liad", "--figure", 5, "-o", "x.jpg"), "-o x.jpg: the name must end in .png, .svg, .pdf or .csv"),
        (("a-liad", "--figure", 5, "--table", 1), "--figure and --table exclude each other"),
        (("a-liad", "-o", "x.png"), "name a figure or a table: --figure N or --table N"),
        (("a-liad", "--size", "slide"), "name a figure or a table: --figure N or --table N"),
        (("a-liad", "--figure", 5, "--size", "big"), "no size of a figure is called 'big'; there are paper"),
    ],
)
def test_bad_input_gets_one_clear_message(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = ask(*words)
    assert done.exit_code == 2 and done.stderr.startswith(f"bentpipe: {said}"), done.stderr
    assert done.stderr.count("\n") == 1 and not list(tmp_path.iterdir())


def test_the_list_of_a_paper():
    found = ask("hswa")
    assert found.exit_code == 0 and "--figure loss-scan" in found.output and "none: a sender" in found.output
    given = json.loads(ask("hswa", "--json").output)["places"]
    assert [(of["number"], of["ours"]) for of in given[:2]] == [("1", "figure-1"), ("2", None)]


@pytest.mark.parametrize("name", PRINTED)
def test_every_tolerance_of_a_paper_is_among_its_limits(name):
    limits = assembly(studies.get(name)).limits
    assert limits and all(of.decides and of.why for of in limits)
    files = Path(bentpipe.papers.__file__).parent.glob(f"{name.replace('-', '_')}/*.py")
    assert sum(path.read_text(encoding="utf-8").count(" = Tolerance(") for path in files) == len(limits)


def test_a_tolerance_has_a_reason():
    assert [float(of) for of in claim.TOLERANCES.values()] == [0.05, 0.2, 1.25]
    with pytest.raises(ValueError, match="needs the checks that it decides and a reason"):
        claim.Tolerance(0.1, "X1", "")


def numbers_in_checks(source):
    """Fractions that are written as the limit of a check: what `Tolerance` is for."""
    limited = {"near", "ratio_at_least", "at_least", "at_most", "_all_of"}
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        given = [word.value for word in call.keywords if word.arg in ("within", "bound")]
        given += call.args[-1:] if call.func.id in limited else []
        yield from (of.value for of in given if isinstance(of, ast.Constant) and isinstance(of.value, float))


def test_no_check_has_a_limit_without_a_reason():
    assert list(numbers_in_checks('near("x", a, b, 0.5, unit="s"); number("x", a, 1.0, within=0.1)')) == [
        0.5,
        0.1,
    ]
    for path in Path(bentpipe.papers.__file__).parent.glob("*/*.py"):
        assert not list(numbers_in_checks(path.read_text(encoding="utf-8"))), path


def test_an_unknown_ending_is_refused(tmp_path):
    of = show.show(studies.get("spectrum"), [PlaceKind.FIGURE], "1", finished=tmp_path)
    with pytest.raises(ScenarioError, match="must end in"):
        of.write(tmp_path / "x.gif")

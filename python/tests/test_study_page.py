"""The page of a study: escaping, self-containment, files."""

import json
import math
import re

import browser
import polars as pl
import pytest

from bentpipe import ScenarioError, pages, studies
from bentpipe.stats import Interval
from bentpipe.studies import claim, draw, page
from bentpipe.studies.assembly import write
from bentpipe.studies.study import Figure, Outcome, Report, Section, Study, StudyPlan
from bentpipe.studies.text import Items, Table, as_json, from_json, listing, sentences
from bentpipe.studies.words import table

NASTY = '<script>alert("x")</script> & <b>'


def synthetic(mode: str = "quick") -> tuple[Study, StudyPlan, Outcome, Report]:
    """A study about nothing whose every text is hostile."""
    fig, (ax,) = draw.figure(1.5)
    ax.plot([0, 1], [0, 1], label="a < b")
    checks = [claim.number(NASTY, [1.0, 1.1], 1.0, unit=NASTY)]
    one = claim.Claim("Z1", NASTY, NASTY, checks, note=NASTY, detail=[NASTY])
    runs = pl.DataFrame({"seed": [1, 2], "rate": [1.0, 1.1]})
    study = Study(
        "none", NASTY, NASTY, NASTY, plan=lambda m: None, measure=lambda *a: {}, report=lambda *a: None
    )
    return (
        study,
        StudyPlan(mode, [], {"note": NASTY}),
        Outcome(runs, pl.DataFrame(), 10, 0.5, [NASTY]),
        Report(
            [one],
            [Figure("figure-1", NASTY, NASTY, NASTY, fig, runs)],
            [Section(NASTY, [NASTY], [Table([NASTY, "verdict"], [[NASTY, "same order"]], NASTY)])],
        ),
    )


def test_every_text_is_escaped(tmp_path):
    html = write(*synthetic(), tmp_path).page.read_text(encoding="utf-8")
    assert "<script" not in html
    assert "& <b>" not in html
    # Title (twice), citation, summary, note (twice), warning, and the claim, figure, section and table.
    assert html.count("&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;") >= 18


def test_the_page_loads_nothing(tmp_path):
    html = write(*synthetic(), tmp_path).page.read_text(encoding="utf-8")
    sources = re.findall(r'src="([^"]*)"', html)
    assert sources
    assert all(s.startswith("data:image/svg+xml;base64,") for s in sources)
    assert not re.search(r"<link\b|@import|url\(|https?://", html)
    for target in re.findall(r'href="([^"#]+)"', html):
        assert (tmp_path / target).is_file(), target


def test_files_and_claims(tmp_path):
    result = write(*synthetic(), tmp_path)
    names = {p.relative_to(tmp_path).as_posix() for p in result.files}
    assert {f"figures/figure-1.{kind}" for kind in ("pdf", "svg", "png")} <= names
    assert {"index.html", "claims.json", "runs.parquet", "figure-1.parquet"} <= names
    assert json.loads((tmp_path / "claims.json").read_text(encoding="utf-8")) == result.claims
    assert (tmp_path / "figures/figure-1.pdf").read_bytes().startswith(b"%PDF")


def test_figures_are_one_column_wide_and_the_same_every_time(tmp_path):
    fig, _ = draw.figure(2.0, columns=2)
    assert fig.get_size_inches()[0] == pytest.approx(3.5)
    first = draw.save(synthetic()[3].figures[0].draw, tmp_path / "a")
    second = draw.save(synthetic()[3].figures[0].draw, tmp_path / "b")
    for one, two in zip(first, second, strict=True):
        assert one.read_bytes() == two.read_bytes()


def test_quick_pages_say_so_and_full_ones_do_not(tmp_path):
    quick = write(*synthetic("quick"), tmp_path / "quick").page.read_text(encoding="utf-8")
    full = write(*synthetic("full"), tmp_path / "full").page.read_text(encoding="utf-8")
    assert "Quick run." in quick
    assert "Quick run." not in full


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234.5, "1,234"),
        (349.9, "350"),
        (12.34, "12.3"),
        (2.9, "2.90"),
        (0.8074, "0.807"),
        (-0.5, "-0.500"),
        (1e-6, "1e-06"),
        (0, "0.00"),
        (math.nan, "-"),
    ],
)
def test_numbers_for_reading(value, text):
    assert page.plain(value) == text


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (2.3456, 0.1234, "2.35 ± 0.12"),
        (349.9, 25.2, "350 ± 25"),
        (0.80744, 0.00031, "0.8074 ± 0.0003"),
        (5.0, 0.0, "5 ± 0"),
        (0.0, 0.0, "0 ± 0"),
        (0.25, 0.0, "0.2500 ± 0.0000"),
        (12345.0, 0.5, "12,345 ± 0"),
    ],
)
def test_means_show_the_digits_that_their_interval_supports(mean, half, text):
    assert page.plus_minus(Interval(mean, mean - half, mean + half, 5, half == 0)) == text


def test_an_interval_ends_at_the_possible_range_and_is_then_written_with_its_ends():
    amount = Interval(0.30, 0.0, 0.61, 3, False)
    assert page.interval(amount) == page.plus_minus(amount) == "0.30 [0.00, 0.61]"
    assert page.interval(Interval(0.30, -0.01, 0.61, 3, False)) == "0.30 [-0.01, 0.61]"  # a difference
    share = Interval(79.5, 54.8, 100.0, 3, False)
    assert page.plus_minus(share) == "80 [55, 100]" and share.arms == pytest.approx((24.7, 20.5))
    check = {"kind": "number", "unit": "%", "paper": 60.0, "measured": 79.5, "ci95": [54.8, 100.0], "n": 3}
    assert page.values(check) == ("60 %", "80 [55, 100] %")


def test_unknown_study_and_mode(tmp_path):
    with pytest.raises(KeyError, match="vegas-l"):
        studies.run("vegas-z", out=tmp_path)
    with pytest.raises(ValueError, match="quick, full"):
        studies.run("vegas-l", mode="long", out=tmp_path)


def test_available():
    assert studies.available()["vegas-l"].startswith("TCP Vegas-L")


def test_the_page_says_what_does_not_count_and_why(tmp_path):
    study, plan, outcome, report = synthetic()
    few = claim.above("order", [1.0, 2.0, 3.0], [0.5, 2.2, 2.5])
    alone = claim.number("rate", [1.0, 2.0], 1.5, unit="Mbit/s", one_run=True)
    extra = claim.number("extra", [1.0, 1.0], 9.0).unprinted()
    against = claim.number("against", [1.0, 1.0], 9.0).contradicted("table 2 has 1.5")
    report.claims[:] = [
        claim.Claim("Z1", "t", "s", [few, alone, extra, against]),
        claim.Claim("Z2", "quoted", "s", [claim.number("x", [1.0, 1.0], 1.0)], reference=True),
    ]
    html = " ".join(write(study, plan, outcome, report, tmp_path).page.read_text(encoding="utf-8").split())
    assert '<span class="badge plain">undecided</span>' in html
    assert "(the paper prints one run; ours give 1 to 2 Mbit/s)" in html
    assert "no (not printed, not counted)" in html and "yes (not counted)" in html
    assert "no (printed, contradicted by the paper itself, not counted)" in html
    assert "against (the paper itself: table 2 has 1.5)" in html
    assert '<span class="badge plain">reference</span>' in html
    tally = re.findall(r'badge \w+">(\d) ([a-z ]+)</span>', html)
    assert tally == [("0", "reproduced"), ("0", "same order"), ("1", "undecided"), ("0", "not reproduced")]


def test_the_page_says_what_not_reproduced_means(tmp_path):
    study, plan, outcome, report = synthetic()
    order = claim.above("order", [1.0, 1.1, 1.2], [2.0, 2.1, 2.2])
    held = claim.number("rate", [1.0, 1.0], 1.0)
    far = claim.number("far", [1.0, 1.1], 9.0)
    report.claims[:] = [
        claim.Claim("Z1", "t", "s", [order, held]),
        claim.Claim("Z2", "t", "s", [far]),
        claim.Claim("Z3", "t", "s", [held]),
    ]
    html = write(study, plan, outcome, report, tmp_path).page.read_text(encoding="utf-8")
    assert "2 of 3 claims are not reproduced: 1 of them because an order or a trend" in html
    assert "1 for a number alone" in html and "of the 3 checks in these claims 1 hold" in html
    report.claims[:] = [claim.Claim("Z3", "t", "s", [held])]
    html = write(study, plan, outcome, report, tmp_path).page.read_text(encoding="utf-8")
    assert "are not reproduced" not in html


def test_a_page_that_is_not_ours_is_not_replaced(tmp_path):
    page = tmp_path / "index.html"
    page.write_text("<title>my own</title>")
    with pytest.raises(ScenarioError, match="index.html exists and is no page of Bentpipe"):
        studies.run("vegas-l", out=tmp_path)
    with pytest.raises(ScenarioError, match="no page of Bentpipe"):
        studies.run_all(["vegas-l"], out=tmp_path)
    assert page.read_text() == "<title>my own</title>"
    page.unlink()
    pages.check_page(write(*synthetic(), tmp_path).page)


@pytest.mark.skipif(browser.CHROMIUM is None, reason="needs Chromium, which is not here")
def test_a_study_keeps_every_column_on_a_phone(tmp_path):
    study, plan, outcome, report = synthetic()
    written = write(study, plan, outcome, report, tmp_path).page
    with browser.browser(tmp_path / "chromium") as window:
        for width in (1280, 390):
            window.open(written, width)
            assert (window.overflowing(), window.errors, window.requests) == ([], [], [])
            cells = "[...document.querySelector('table').querySelectorAll('tbody :is(th, td)')]"
            seen = f"{cells}.filter(c => c.offsetWidth && c.getBoundingClientRect().right <= {width}).length"
            assert window.run(seen) == 7


def test_a_list_is_a_sentence_if_it_is_short_and_a_text_keeps_its_blocks_in_json():
    assert listing("Worse with", ["a", "b", "c"]) == "Worse with: a; b; c."
    many, long = listing("Worse with", list("abcd")), listing("Worse with", ["a " * 15, "b " * 15, "c"])
    assert isinstance(many, Items) and isinstance(long, Items)
    rates = table("Rates", {"one": {"A": 1.0, "B": "2 ± 1"}, "two": {"A": 3.0, "B": "-"}}, ".1f")
    assert rates.rows == [["one", "1.0", "2 ± 1"], ["two", "3.0", "-"]]
    assert sentences(["First.", many, rates]) == (
        "First. Worse with: a; b; c; d. Rates: one: A 1.0, B 2 ± 1; two: A 3.0, B -."
    )
    assert (
        sentences([table("Loss", {"CUBIC": 2, "BIC": 0.5}, unit="%")]) == "Loss: CUBIC 2.00 %, BIC 0.500 %."
    )
    assert from_json(json.loads(json.dumps(as_json([many, "a", rates])))) == [many, "a", rates]


def test_the_page_of_a_study_has_the_tables_and_lists_of_a_claim(tmp_path):
    study, plan, outcome, report = synthetic()
    rates = Table(["", "A", "B"], [["one", "1", "2"], ["two", "3", "4"]], "Rates")
    report.claims[0].detail[:] = [rates, Items("Worse with", list("abcd"))]
    html = write(study, plan, outcome, report, tmp_path).page.read_text(encoding="utf-8")
    assert "Rates" in html and "Worse with:" in html
    assert re.search(r"<li>\s*d\s*</li>", html)
    assert re.search(r"<t[dh][^>]*>\s*two\s*</t[dh]>", html)

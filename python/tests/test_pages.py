"""Pages: escaped, whole in one file, and fit to be read at every width, in the light and in the dark."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import browser
import polars as pl
import pytest
from matplotlib.figure import Figure

from bentpipe import pages
from bentpipe.pages import Axis, Badge, Curve, Heading, Hyperlink, Page, Snippet

NASTY = '</script><script>alert("x")</script> & <b>'

needs_chromium = pytest.mark.skipif(browser.CHROMIUM is None, reason="needs Chromium, which is not here")


def whole() -> Page:
    """A page with one of everything, all text hostile."""
    page = Page(NASTY, lead=NASTY, source=NASTY, foot=[NASTY, Snippet(NASTY)])
    page.banner(NASTY)
    page.tally([Badge(NASTY, "good")])
    page.section("First", [NASTY, [NASTY, Hyperlink(NASTY, "#table")]])
    fig = Figure(figsize=(3, 2))
    fig.subplots().plot([0, 1], [0, 1])
    data = pl.DataFrame({"x": [0, 1], "y": [0.5, 1.5]})
    page.figure(fig, alt=NASTY, title=NASTY, caption=NASTY, data=data, files=[Hyperlink(NASTY, "a.pdf")])
    line = Curve(NASTY, [1e-6, 1e-3], [1.0, 2.0], [0.5, math.nan], [1.5, math.nan], "both", notes=[NASTY, ""])
    loss, rate = Axis("loss rate", log=True), Axis(NASTY)
    page.chart([line], x=loss, y=rate, alt=NASTY, title="A chart.", caption=NASTY)
    named = {"x": Axis("x", names=["1", NASTY]), "y": Axis("y", names=["3"])}
    page.heat_map([[1.0, math.nan]], **named, quantity=NASTY, alt=NASTY, title="Cells.")
    page.section("Second", level=2, id="table", badge=Badge(NASTY, "bad"))
    wide = ["name", "rate, Mbit/s", "delay, ms", "loss, %", "verdict", "flows", "seeds", "note"]
    rows = [
        ["CUBIC", 9.43, 612.5, 0.1, Badge("not reproduced", "bad"), 1, 5, "a note of many words " * 4]
    ] * 3
    page.table(wide, [Heading(NASTY), *rows], caption=NASTY, total=["all", *[None] * 7])
    page.bullets([NASTY])
    page.command(NASTY)
    return page


def test_every_text_is_escaped() -> None:
    html = whole().html()
    assert 'alert("x")' not in html.replace(r"</script>\u003cscript>", "")
    assert html.count("<script") == html.count("</script>") == 3
    assert html.count("&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;") >= 20


def test_the_data_of_a_chart_are_what_was_given() -> None:
    first, _ = re.findall(r'<script type="application/json">(.*?)</script>', whole().html(), re.DOTALL)
    (curve,) = json.loads(first)["curves"]
    assert (curve["label"], curve["x"], curve["y"]) == (NASTY, [1e-6, 1e-3], [1.0, 2.0])
    assert (curve["low"], curve["high"]) == ([0.5, None], [1.5, None])


def test_a_page_without_a_chart_carries_no_script() -> None:
    page = Page("plain")
    page.section("One")
    assert "<script" not in page.html() and len(page.html()) < 12_000


def test_what_a_logarithmic_axis_cannot_show_is_left_out() -> None:
    page = Page("log")
    page.chart([Curve("a", [0.0, 1.0], [1.0, 2.0])], x=Axis("x", log=True), y=Axis("y"), alt="a")
    assert '"x":[null,1.0]' in page.html()


@pytest.mark.parametrize(
    ("add", "said"),
    [
        (lambda page: page.table(["a", "b"], [["1"]]), "2 columns, but a row has 1"),
        (lambda page: page.chart([], x=Axis("x"), y=Axis("y"), alt=""), "needs a curve"),
        (
            lambda page: page.chart([Curve("c", [1.0], [])], x=Axis("x"), y=Axis("y"), alt=""),
            "curve 'c': x has 1 values and y has 0",
        ),
        (
            lambda page: page.heat_map([[1.0]], x=Axis("x", names="ab"), y=Axis("y", names="a"),
                                       quantity="q", alt=""),
            "1 rows and 2 columns",
        ),
        (
            lambda page: page.heat_map([[math.nan]], x=Axis("x", names="a"), y=Axis("y", names="a"),
                                       quantity="q", alt=""),
            "a value that is finite",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(add, said) -> None:
    with pytest.raises(ValueError, match=said):
        add(Page("wrong"))


def test_two_places_of_one_name_get_two_names() -> None:
    page = Page("twice")
    assert [page.section("Loss, %"), page.section("Loss, %")] == ["loss", "loss-2"]


def test_equal_pages_are_equal_files(tmp_path: Path) -> None:
    assert whole().write(tmp_path / "a.html").read_bytes() == whole().write(tmp_path / "b.html").read_bytes()


def test_the_library_of_the_charts_is_the_one_that_is_named() -> None:
    folder = Path(pages.__file__).parent / "uplot"
    said = dict(
        reversed(line.split()) for line in re.findall(r"^    (.+)$", (folder / "README.md").read_text(), re.M)
    )
    assert set(said) == {"uPlot.iife.min.js", "uPlot.min.css"}
    for name, wanted in said.items():
        content = (folder / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == wanted, name
        assert b"</script" not in content and b"</style" not in content
    assert "uPlot 1.6.32" in (folder / "README.md").read_text()
    assert "Permission is hereby granted, free of charge" in (folder / "LICENSE").read_text()


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Browser]:
    """A window of Chromium."""
    with browser.browser(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@needs_chromium
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 768, 390])
def test_a_page_fits_its_window_and_loads_nothing(window, tmp_path, width, dark) -> None:
    window.open(whole().write(tmp_path / "page.html"), width, dark=dark)
    assert (window.overflowing(), window.errors, window.requests) == ([], [], [])
    heads = window.run(
        "[...document.querySelectorAll('tbody tr:nth-child(2) td')].filter(c => c.offsetWidth).length"
    )
    assert heads == 7, "every column of a table is there"
    assert window.run("!!document.querySelector('nav.side').offsetWidth") == (width == 1280)


@needs_chromium
def test_a_page_that_does_not_fit_is_found(window, tmp_path) -> None:
    (tmp_path / "page.html").write_text("<body><p style='width:900px'>wide</p><img src='x.png'>")
    window.open(tmp_path / "page.html", 390)
    assert window.overflowing()
    assert [url.rpartition("/")[2] for url in window.requests] == ["x.png"]


@needs_chromium
def test_a_chart_answers_to_the_keyboard_and_to_its_legend(window, tmp_path) -> None:
    page = Page("keys")
    curves = [
        Curve("one", [1.0, 2.0, 3.0], [5.0, 6.0, 7.0]),
        Curve("two", [1.0, 2.0, 3.0], [50.0, 60.0, 70.0]),
    ]
    page.chart(curves, x=Axis("time, s"), y=Axis("goodput, Mbit/s"), alt="two lines")
    window.open(page.write(tmp_path / "page.html"))
    key = "document.querySelector('.plot').dispatchEvent(new KeyboardEvent('keydown', {{key: '{}'}}))"
    for name in ("ArrowRight", "ArrowRight"):
        window.run(key.format(name))
    assert (
        window.run("document.querySelector('[aria-live]').textContent") == "one, time 2 s, goodput 6 Mbit/s"
    )
    window.run(key.format("ArrowDown"))
    assert window.run("document.querySelector('.tip').textContent") == "two\ntime 2 s\ngoodput 60 Mbit/s"
    window.run("document.querySelectorAll('.legend button')[1].click()")
    pressed = "[...document.querySelectorAll('.legend button')].map(b => b.getAttribute('aria-pressed'))"
    assert window.run(pressed) == ["true", "false"]
    window.run("document.querySelector('.data').open = true")
    window.run("new Promise(done => setTimeout(done, 50))")
    assert window.run("document.querySelector('.data tbody').rows.length") == 6
    assert window.errors == []


@needs_chromium
@pytest.mark.parametrize(("dark", "paper"), [(False, (255, 255, 255)), (True, (0x15, 0x18, 0x1C))])
def test_a_figure_is_dark_where_the_page_is(window, tmp_path, dark, paper) -> None:
    """Its paper is that of the page, CUBIC's black stands out from it, and a colour stays what it is."""
    page = Page("figures")
    fig = Figure(figsize=(3, 2))
    axes = fig.subplots()
    axes.plot([0, 1], [1, 1], color="black", linewidth=8)
    axes.plot([0, 1], [0, 0], color="#cc3311", linewidth=8)
    page.figure(fig, alt="two lines")
    window.open(page.write(tmp_path / "page.html"), dark=dark)
    colours = window.run("""(async () => {
        const image = document.querySelector(".still img"), canvas = document.createElement("canvas");
        await image.decode();
        [canvas.width, canvas.height] = [image.width, image.height];
        const drawn = canvas.getContext("2d");
        drawn.drawImage(image, 0, 0, image.width, image.height);
        const {data} = drawn.getImageData(0, 0, image.width, image.height), seen = {};
        for (let i = 0; i < data.length; i += 4) {
            const colour = [...data.slice(i, i + 3)].join();
            seen[colour] = (seen[colour] || 0) + 1;
        }
        return Object.entries(seen).sort((a, b) => b[1] - a[1]).slice(0, 3).map(([c]) => c);
    })()""")
    most, *lines = [tuple(map(int, colour.split(","))) for colour in colours]
    assert most == paper
    assert (0xCC, 0x33, 0x11) in lines
    assert ((0, 0, 0) in lines) != dark


@needs_chromium
def test_sections_that_fold_are_closed_on_a_phone_and_open_by_their_address(window, tmp_path) -> None:
    page = Page("folds")
    page.section("Always", ["seen"])
    for name in ("One", "Two"):
        page.section(name, [f"text of {name}"], folds=True)
        page.chart([Curve("a", [0.0, 1.0], [1.0, 2.0])], x=Axis("x"), y=Axis("y"), alt="a line")
        page.section(f"Part of {name}", level=3)
    page.section("Last", ["seen"])
    written = page.write(tmp_path / "page.html")
    open_ = "[...document.querySelectorAll('details.part')].map(d => d.open)"
    window.open(written, 1280)
    assert window.run(open_) == [True, True]
    assert window.run("document.querySelector('#last').closest('details')") is None
    assert window.run("document.querySelector('#part-of-one').closest('details').id") == ""
    window.open("about:blank")
    window.open(f"{written.as_uri()}#part-of-two", 390)
    assert window.run(open_) == [False, True]
    assert window.run("document.querySelectorAll('details.part')[1].querySelector('figure').dataset.ms > 0")
    assert window.errors == []

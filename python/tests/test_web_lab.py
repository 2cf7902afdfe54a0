"""The lab in the page that simulates, and means over seeds: the numbers are those of the command line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import browser
import polars as pl
import pytest
from web_page import PAGE, needs_browser, needs_page, opened, until, written

import bentpipe as bp
from bentpipe import stats
from bentpipe.controller import load_controller

ROOT = Path(__file__).parents[2]
LAB = PAGE.with_name("lab.html")


@pytest.fixture(scope="module")
def lab() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "scripts")
        return import_module("lab_page").lab()


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Browser]:
    with browser.browser(tmp_path_factory.mktemp("chromium")) as one:
        yield one


def test_every_number_that_is_checked_is_in_the_solutions() -> None:
    solutions = (ROOT / "docs" / "lab-solutions.md").read_text("utf-8").replace(",", "")
    answers = tomllib.loads((ROOT / "scripts" / "lab_answers.toml").read_text("utf-8"))
    for question, of in answers.items():
        for field in of["field"]:
            right = [field[key] for key in ("value", "least", "most") if key in field]
            assert right, (question, field)
            for value in right:
                assert re.search(rf"(?<![\d.]){re.escape(f'{value:g}')}", solutions), (question, field)


def test_every_question_has_a_field_and_every_command_a_button(lab: Any) -> None:
    page = (ROOT / "docs" / "lab.md").read_text("utf-8").partition("\n## If there is time")[0]
    questions = re.findall(r"^\*\*(\d\.\d)\*\*", page, re.MULTILINE)
    assert re.findall(r'data-question="(\d\.\d)"', lab.text) == list(dict.fromkeys(questions))
    assert len(re.findall("data-job=", lab.text)) == len(lab.jobs)
    assert "<!--" not in lab.text and "lab-solutions" not in lab.text
    changes = [job["changes"] for job in lab.jobs if "open" in job]
    assert [("flow.0.receive_window", '"64 KiB"')] in changes
    assert [("flow.0.cc", "javascript:Mine")] in changes
    assert "5.3" in questions and "mine.py" not in lab.text


def test_the_cases_of_a_button_are_the_runs_of_its_command(lab: Any, cli, tmp_path: Path) -> None:
    """Proxies over GEO: the mean download times of `bentpipe compare`."""
    job = next(job for job in lab.jobs if job.get("columns") == ["relay"])
    text = re.search(
        r"```toml\n(# pep.toml\n.*?)```", (ROOT / "docs" / "lab.md").read_text("utf-8"), re.DOTALL
    )
    (tmp_path / "pep.toml").write_text(text[1], "utf-8")
    rows = bp.compare(tmp_path / "pep.toml", ["cubic"], whole=True, relay="none, cubic, hybla, bbr", seeds=2)
    wanted = {row["relay"] or "none": row["completion_s"] for row in rows.to_dicts()}
    for row in job["rows"]:
        done = [
            bp.run(tomllib.loads(row["text"]), seed=seed).flows.filter(
                pl.col("half").fill_null("") != "first"
            )["completion_s"][0]
            for seed in (1, 2)
        ]
        assert sum(done) / 2 == pytest.approx(wanted[row["keys"]["relay"]])


@needs_page
@needs_browser
def test_means_over_seeds_have_the_digits_of_the_statistics(window: browser.Browser) -> None:
    opened(window, "#scenario=geo-star")
    window.run("document.getElementById('seeds').value = '5'; document.getElementById('repeat').click()")
    until(window, "!!document.querySelector('#seeds-result table')")
    cells = window.run("[...document.querySelectorAll('#seeds-result td')].map(cell => cell.textContent)")
    flows = [bp.run("geo-star", seed=seed).json["flows"][0] for seed in range(1, 6)]
    for cell, values in (
        (cells[0], [flow["goodput_bps"] / 1e6 for flow in flows]),
        (cells[2], [flow["rtt_p95_s"] * 1e3 for flow in flows]),
        (cells[4], [flow["timeouts"] for flow in flows]),
    ):
        assert cell == stats.shown(stats.interval(values, least=0))
    window.run("document.getElementById('add').click()")
    until(window, "!document.querySelector('#seeds-result table')")


def opened_lab(window: browser.Browser, width: int = 1280) -> None:
    window.open("about:blank")
    window.open(LAB.as_uri(), width)
    until(window, "document.body.dataset.runs")


def pressed(window: browser.Browser, words: str, number: int = 0) -> None:
    """Presses the button of the exercise with these words, one of several by its number."""
    buttons = "[...document.querySelectorAll('#lab button')]"
    window.run(f"{buttons}.filter(button => button.textContent.includes({words!r}))[{number}].click()")


def rows_of(window: browser.Browser) -> list[list[str]]:
    """The rows of the table that a button has given."""
    until(window, "!!document.querySelector('.batch table')")
    cells = "[...row.children].map(cell => cell.textContent)"
    return window.run(f"[...document.querySelectorAll('.batch tbody tr')].map(row => {cells})")  # type: ignore[no-any-return]


def goodput(lab: Any, cc: Any) -> str:
    """The goodput of a controller in the comparison of part 5, as the page shows it."""
    job = next(
        job for job in lab.jobs if "rows" in job and "Mine" in [row["keys"].get("cc") for row in job["rows"]]
    )
    given = tomllib.loads(job["rows"][0]["text"])
    given["flow"][0]["cc"] = cc
    runs = [bp.run(given, seed=seed).flows["goodput_bps"][0] / 1e6 for seed in range(1, job["seeds"] + 1)]
    return stats.shown(stats.interval(runs, least=0))


@needs_browser
@pytest.mark.skipif(not LAB.is_file(), reason="needs out/web/lab.html; run make web")
class TestOwnController:
    """Part 5: a class in the editor of the page, its experiments and its answers."""

    @pytest.fixture(autouse=True)
    def nothing_kept(self, window: browser.Browser) -> Iterator[None]:
        """The code of a test is not that of the next."""
        yield
        window.run("localStorage.clear(); sessionStorage.clear()")

    def test_the_class_of_the_exercise_is_reno(self, window: browser.Browser, lab: Any) -> None:
        opened_lab(window)
        pressed(window, "Put it into the editor")
        assert window.run("document.getElementById('own-group').open")
        pressed(window, "4 cases with 10 seeds")
        found = {row[0]: row[1:] for row in rows_of(window)}
        assert found["Mine"] == found["Reno"]
        assert (found["Mine"][0], found["CUBIC"][0]) == (goodput(lab, "reno"), goodput(lab, "cubic"))

    def test_the_solution_has_the_numbers_of_the_command_line(
        self, window: browser.Browser, lab: Any, tmp_path: Path
    ) -> None:
        solutions = (ROOT / "docs" / "lab-solutions.md").read_text("utf-8")
        (code,) = re.findall(r"^```js\n(.*?)^```", solutions, re.MULTILINE | re.DOTALL)
        (python,) = re.findall(r"^```python\n(.*?)^```", solutions, re.MULTILINE | re.DOTALL)
        (tmp_path / "better.py").write_text(python, "utf-8")
        better = load_controller(f"{tmp_path / 'better.py'}:Better")
        opened_lab(window)
        written(window, "own", code)
        pressed(window, "4 cases with 10 seeds")
        mine = next(row for row in rows_of(window) if row[0] == "Mine")
        assert mine[1] == goodput(lab, better) and round(float(mine[3].split()[0])) == 521
        window.run("""(() => {
          const answer = document.querySelector("[data-question='5.2']");
          const [goodput, rtt] = answer.querySelectorAll("input");
          goodput.value = "8.7";
          rtt.value = "622";
          answer.querySelector(".check").click();
        })()""")
        said = "[...document.querySelectorAll(\"[data-question='5.2'] output\")].map(o => o.textContent)"
        assert window.run(said) == ["right", "not yet"]
        pressed(window, "Run beside.toml")
        until(window, "document.querySelectorAll('#summary tbody')[0]?.children.length === 2")
        goodputs = window.run(
            "[...document.querySelector('#summary tbody').children].map(row => row.children[2].textContent)"
        )
        assert goodputs[0] == "0.191" and float(goodputs[1]) > 9

    def test_the_code_is_kept_and_printed_with_the_answers(self, window: browser.Browser) -> None:
        opened_lab(window)
        mine = "class Mine extends Controller { on_ack() { this.cwnd = 4; } on_congestion() {} }"
        written(window, "own", mine)
        assert window.run("document.querySelector('.own-code').textContent") == mine
        shown = "getComputedStyle(document.querySelector('.own-code')).display"
        assert window.run(shown) == "none"
        opened_lab(window)
        kept = window.run("(() => { try { return localStorage.length; } catch { return null; } })()")
        assert (window.run("document.getElementById('own').value") == mine) is bool(kept)


@needs_browser
@pytest.mark.skipif(not LAB.is_file(), reason="needs out/web/lab.html; run make web")
def test_a_student_works_in_the_page(window: browser.Browser) -> None:
    opened_lab(window)
    assert (window.errors, window.requests) == ([], [])
    window.run("""(() => {
      const answer = document.querySelector("[data-question='1.1']");
      const [bytes, packets] = answer.querySelectorAll("input");
      bytes.value = "625 000";
      packets.value = "300";
      answer.querySelector(".check").click();
    })()""")
    said = window.run(
        "[...document.querySelectorAll(\"[data-question='1.1'] output\")].map(o => o.textContent)"
    )
    assert said[:3] == ["right", "not yet", "not yet"]
    buttons = "[...document.querySelectorAll('#lab button')]"
    window.run(f"{buttons}.find(button => button.textContent.includes('12 cases')).click()")
    until(window, "!!document.querySelector('.batch table')")
    rows = window.run("[...document.querySelectorAll('.batch tbody tr')].map(row => row.innerText)")
    assert len(rows) == 12 and any("9.554 ± 0.010" in row for row in rows)

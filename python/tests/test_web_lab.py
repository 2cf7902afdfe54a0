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
from web_page import PAGE, needs_browser, needs_page, opened, until

import bentpipe as bp
from bentpipe import stats

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
            value = re.escape(f"{field['value']:g}")
            assert re.search(rf"(?<![\d.]){value}", solutions), (question, field)


def test_every_question_has_a_field_and_every_command_a_button(lab: Any) -> None:
    page = (ROOT / "docs" / "lab.md").read_text("utf-8").partition("\n## 5. ")[0]
    questions = re.findall(r"^\*\*(\d\.\d)\*\*", page, re.MULTILINE)
    assert re.findall(r'data-question="(\d\.\d)"', lab.text) == list(dict.fromkeys(questions))
    assert len(re.findall("data-job=", lab.text)) == len(lab.jobs)
    assert "<!--" not in lab.text and "lab-solutions" not in lab.text
    changes = [job["changes"] for job in lab.jobs if "open" in job]
    assert [("flow.0.receive_window", '"64 KiB"')] in changes


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


@needs_browser
@pytest.mark.skipif(not LAB.is_file(), reason="needs out/web/lab.html; run make web")
def test_a_student_works_in_the_page(window: browser.Browser) -> None:
    window.open("about:blank")
    window.open(LAB.as_uri())
    until(window, "document.body.dataset.runs")
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

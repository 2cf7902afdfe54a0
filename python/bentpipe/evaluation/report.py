"""Files of an evaluation, and its display: a page answers criteria, with a chapter for each experiment."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core, terminal
from bentpipe.evaluation.chapter import Chapter
from bentpipe.evaluation.criteria import TITLES
from bentpipe.evaluation.figures import draw
from bentpipe.io.files import Kind, check_kind, replace_frame, replace_text, try_place
from bentpipe.pages import Badge, Heading, Hyperlink, Page, Prose, Tone, check_page

if TYPE_CHECKING:
    from bentpipe.evaluation.assessment import Evaluation

TONES: Mapping[str, Tone] = {
    "does not meet": "bad",
    "a matter of judgement": "partly",
    "meets": "good",
    "not evaluated": "plain",
}
"""The verdicts in the order of the tally."""


def build(evaluation: Evaluation) -> Page:
    """The page about an evaluation."""
    standards = " and ".join(evaluation.standards)
    page = Page(
        f"{evaluation.label}, evaluated",
        lead="What RFC 9743 and the TCP evaluation suite (draft-irtf-iccrg-tcpeval-01) ask of a congestion "
        f"control algorithm, answered for {evaluation.label} with simulations. {standards} run in the same "
        "set-ups, with the same seeds.",
        foot=f"Written by bentpipe {_core.__version__} from {evaluation.runs:,} runs ({evaluation.extent}). "
        "Equal seeds give equal runs.",
    )
    counted = Counter(answer["verdict"] for answer in evaluation.answers)
    page.tally([Badge(f"{v}: {counted[v]}", tone) for v, tone in TONES.items() if counted[v]])
    if evaluation.stopped:
        missing = sum(chapter.missing for chapter in evaluation.chapters)
        page.banner(
            Badge("Stopped", "bad"), f" before {missing:,} runs were made: the numbers rest on fewer seeds."
        )
    if evaluation.extent == "quick":
        page.banner("A quick evaluation: fewer set-ups and seeds than a full one, and wider intervals.")
    failed = sum(len(chapter.failed) for chapter in evaluation.chapters)
    if failed:
        page.banner(Badge(f"{failed:,} runs failed", "bad"), " and are in no number; the chapters name them.")
    _verdicts(page, evaluation)
    _answers(page, evaluation)
    _left(page, evaluation)
    for chapter in evaluation.chapters:
        _chapter(page, evaluation, chapter)
    return page


def _verdicts(page: Page, evaluation: Evaluation) -> None:
    """The meaning of the verdicts, and each line with its number."""
    page.section(
        "Lines and verdicts",
        [
            "RFC 9743 sets no thresholds (its section 5). A line is therefore Bentpipe's own, unless its "
            "source is beside it. It holds in all set-ups of its experiment, and the table shows the "
            "worst. An interval on the right side of the line meets it, one on the wrong side does not, and "
            "one across the line leaves it a matter of judgement. So is every answer that has no line."
        ],
    )
    seen: dict[str, list[Prose]] = {}
    for answer in evaluation.answers:
        for held in answer["held"]:
            row: list[Prose] = [held["line"], Badge(held["verdict"], TONES[held["verdict"]]), held["words"]]
            seen.setdefault(held["line"] + held["words"], [answer["section"], *row])
    if seen:
        page.table(["Section", "Line", "Verdict", "What was found"], list(seen.values()))
    else:
        page.paragraphs("None of the experiments that have one was run.")


def _answers(page: Page, evaluation: Evaluation) -> None:
    """A table for each document: each criterion that was evaluated, then a row for each of its numbers."""
    labels = [evaluation.label, *evaluation.standards]
    page.section(
        "Answers",
        [
            "Means over seeds with 95 % intervals (Student's t). The last column compares seed by seed: "
            '"like" means that the interval of the difference holds zero.'
        ],
    )
    for document, title in TITLES.items():
        rows: list[Sequence[Prose] | Heading] = []
        for answer in _judged(evaluation, document):
            verdict = Badge(answer["verdict"], TONES[answer["verdict"]])
            reason = f" {answer['reason']}" if answer["reason"] else ""
            rows.append(Heading([f"{_place(answer)}: {answer['asks']} ", verdict, reason]))
            for number in answer["numbers"]:
                where = Hyperlink(number["setting"] or number["experiment"], f"#e-{number['experiment']}")
                cells = [number["values"].get(label, {}).get("shown") for label in labels]
                rows.append([[number["metric"], ": ", where], *cells, number["beside"]])
        if rows:
            page.section(f"{document}", [title], level=3, folds=True)
            page.table(["Number", *labels, f"{evaluation.label} is"], rows)


def _left(page: Page, evaluation: Evaluation) -> None:
    """The criteria that were not evaluated, with the reasons."""
    rows: list[list[Prose]] = [
        [f"{of['document']} {of['section']}", _level(of), of["asks"], of["reason"]]
        for of in evaluation.answers
        if of["verdict"] == "not evaluated"
    ]
    page.section("Not evaluated", folds=True)
    page.table(["Section", "Word", "Asked", "Why not"], rows)


def _chapter(page: Page, evaluation: Evaluation, chapter: Chapter) -> None:
    """An experiment: its question, its method, and its figures."""
    page.section(chapter.title, [chapter.question, chapter.setup], id=f"e-{chapter.name}", folds=True)
    page.paragraphs(f"Made for: {chapter.source}.", small=True)
    if chapter.deviation:
        page.paragraphs(f"How it differs: {chapter.deviation}", small=True)
    if chapter.missing:
        page.paragraphs(f"{chapter.missing} runs are missing: the evaluation was stopped.", small=True)
    for label, setting, error in chapter.failed[:3]:
        page.paragraphs(f"Failed: {label} ({setting}): {error}")
    if not chapter.rows:
        page.paragraphs("There are no numbers.")
        return
    for chart in chapter.charts:
        draw(page, evaluation, chapter, chart)


PAGE, JSON, NUMBERS, RUNS = "evaluation.html", "evaluation.json", "numbers.csv", "runs.parquet"
"""Names of the files: the page, all as JSON, means with intervals, and a row for each run and metric."""

KINDS = {
    JSON: Kind("an evaluation", (b'{\n "schema": ',)),
    NUMBERS: Kind("the numbers of an evaluation", (b"experiment,sett",)),
    RUNS: Kind("a Parquet table", (b"PAR1",)),
}


def check_place(directory: Path) -> None:
    """Checks that an evaluation can be written to `directory` and replaces nothing but another one.

    Raises:
        ScenarioError: a file there does not belong to an evaluation.
        OSError: nothing can be written there.
    """
    if directory.exists() and not directory.is_dir():
        raise _core.ScenarioError(f"--out {directory}: it is a file; give a directory")
    check_page(directory / PAGE)
    for name, kind in KINDS.items():
        check_kind(directory / name, kind)
    try_place(directory / PAGE)


def is_complete(directory: Path) -> bool:
    """Whether there is an evaluation that was not stopped."""
    path = directory / JSON
    return path.is_file() and json.loads(path.read_text(encoding="utf-8")).get("stopped") is False


def write(evaluation: Evaluation, directory: Path) -> Path:
    """Writes all files; returns the page. One that was stopped replaces no complete one.

    Raises:
        ScenarioError: a file there does not belong to an evaluation.
        OSError: nothing can be written there.
    """
    check_place(directory)
    if evaluation.stopped and is_complete(directory):
        return directory / PAGE
    text = json.dumps(evaluation.as_dict(), indent=1, allow_nan=False) + "\n"
    replace_text(directory / JSON, text)
    replace_frame(directory / NUMBERS, evaluation.numbers)
    replace_frame(directory / RUNS, evaluation.rows)
    return build(evaluation).write(directory / PAGE)


WIDEST = 110
"""Columns of a line, on wider terminals, too."""


def show(evaluation: Evaluation) -> None:
    """The number of each verdict; each criterion with its numbers; criteria not evaluated; failures."""
    counted = Counter(answer["verdict"] for answer in evaluation.answers)
    _say(
        f"{terminal.named(evaluation.label)} beside {' and '.join(evaluation.standards)} "
        f"({evaluation.extent}, {evaluation.runs:,} runs): "
        + ", ".join(f"{verdict}: {counted[verdict]}" for verdict in TONES if counted[verdict])
        + "."
    )
    for document, title in TITLES.items():
        if judged := _judged(evaluation, document):
            terminal.line()
            _say(f"{document}: {title}")
        for answer in judged:
            terminal.line()
            _say(f"{_place(answer)}: {answer['verdict'].upper()}. {answer['asks']}")
            for held in answer["held"]:
                _say(f"{held['verdict']}: {held['words']}", 2)
            for number in answer["numbers"]:
                _say(_number(evaluation, number), 2)
            if answer["reason"]:
                _say(answer["reason"], 2)
    terminal.line()
    _say("Not evaluated")
    for answer in evaluation.answers:
        if answer["verdict"] == "not evaluated":
            _say(f"{answer['document']} {_place(answer)}: {answer['asks']} {answer['reason']}", 2)
    terminal.line()
    _say(
        "RFC 9743 sets no thresholds. A line is Bentpipe's own unless it names its source; what has no "
        "line is a matter of judgement. Numbers are means with 95 % intervals."
    )
    for chapter in evaluation.chapters:
        if chapter.failed:
            label, setting, error = chapter.failed[0]
            many = len(chapter.failed)
            terminal.error(f"{chapter.name}: {many} runs failed, first {label} ({setting}): {error}")


def _judged(evaluation: Evaluation, document: str) -> list[dict[str, Any]]:
    """The answers to criteria of a document that were evaluated."""
    own = (answer for answer in evaluation.answers if answer["document"] == document)
    return [answer for answer in own if answer["verdict"] != "not evaluated"]


def _level(answer: Mapping[str, Any]) -> str:
    """The key word of a criterion, if there is one."""
    return answer["level"] if answer["level"] in ("MUST", "SHOULD") else ""


def _place(answer: Mapping[str, Any]) -> str:
    """The section, and the key word if there is one."""
    return f"{answer['section']} {_level(answer)}".strip()


def _number(evaluation: Evaluation, number: dict[str, Any]) -> str:
    """A number in one sentence: the algorithm's, then in brackets those of the standard ones."""
    values = number["values"]
    own = values.get(evaluation.label, {}).get("shown", "no run has it")
    others = [f"{label} {values[label]['shown']}" for label in evaluation.standards if label in values]
    where = f" ({number['setting']})" if number["setting"] else ""
    beside = f", {number['beside']}" if number["beside"] else ""
    return f"{number['metric']}{where}: {own} [{'; '.join(others)}]{beside}"


def _say(text: str, indent: int = 0) -> None:
    """A paragraph with a hanging indent."""
    width = min(terminal.console().width, WIDEST)
    lines = textwrap.wrap(
        terminal.plain(text),
        width,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        break_on_hyphens=False,
    )
    for line in lines:
        terminal.line(line)

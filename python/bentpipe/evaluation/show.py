"""An evaluation on the terminal, readable at 60 columns."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import TYPE_CHECKING, Any

from bentpipe import terminal
from bentpipe.evaluation.criteria import TITLES

if TYPE_CHECKING:
    from bentpipe.evaluation.assessment import Evaluation

VERDICTS = ("does not meet", "a matter of judgement", "meets", "not evaluated")
WIDEST = 110
"""Columns of a line, on wider terminals, too."""


def show(evaluation: Evaluation) -> None:
    """The number of each verdict; each criterion with its numbers; criteria not evaluated; failures."""
    counted = Counter(answer["verdict"] for answer in evaluation.answers)
    _say(
        f"{terminal.named(evaluation.label)} beside {' and '.join(evaluation.standards)} "
        f"({evaluation.extent}, {evaluation.runs:,} runs): "
        + ", ".join(f"{verdict}: {counted[verdict]}" for verdict in VERDICTS if counted[verdict])
        + "."
    )
    for document, title in TITLES.items():
        judged = [
            answer
            for answer in evaluation.answers
            if answer["document"] == document and answer["verdict"] != "not evaluated"
        ]
        if judged:
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
        "line is "
        "a matter of judgement. Numbers are means with 95 % intervals."
    )
    for chapter in evaluation.chapters:
        if chapter.failed:
            label, setting, error = chapter.failed[0]
            many = len(chapter.failed)
            terminal.error(
                f"{chapter.experiment.name}: {many} runs failed, first {label} ({setting}): {error}"
            )


def _place(answer: dict[str, Any]) -> str:
    """The section, and the key word if there is one."""
    level = answer["level"]
    return f"{answer['section']} {level}" if level in ("MUST", "SHOULD") else str(answer["section"])


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

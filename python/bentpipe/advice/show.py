"""Display of an answer on the terminal, readable at 60 columns."""

from __future__ import annotations

from typing import Any

from bentpipe import terminal
from bentpipe.advice.quantities import FILE, QUANTITIES
from bentpipe.advice.question import GOALS
from bentpipe.advice.verdict import Advice
from bentpipe.advice.wording import keeping
from bentpipe.machine import linux
from bentpipe.measures import MeasureRow
from bentpipe.units import cell, in_percent, milliseconds, percent

_RECKLESS = {
    "loss": "drops at the queue after start-up, several times CUBIC's",
    "harm": "a CUBIC flow beside it loses most",
    "queue": "a standing queue, much longer than CUBIC's",
}
_COSTS = [
    "<algorithm",
    "goodput\nMbit/s",
    "queue\np95 ms",
    "lost\n%",
    "resent\n%",
    "start\ns",
    f"{FILE}\ns",
    "CUBIC\nloses",
    "Reno\nloses",
]


def show(advice: Advice) -> None:
    """Shows the advice in sentences, the results, the costs, the assumptions, and how to repeat it."""
    console = terminal.console()
    for sentence in advice.sentences():
        console.print(terminal.plain(sentence))
    chosen, usual = advice.recommended, advice.recommended_in_linux
    for one in dict.fromkeys(one for one in (chosen, usual) if one not in (None, "cubic")):
        way = linux.way(one)
        name = "it" if one == chosen else advice.trials[one].candidate.label
        terminal.line(f"To turn {name} on, as root on the machine that sends the data:")
        for command in way.commands:
            terminal.line(f"  {command}")
        for lack in way.lacks:
            console.print(f"  In the kernel: {terminal.plain(lack)}.")
    head, lines = keeping(advice)
    if lines:
        console.print(head)
        for line in lines:
            terminal.line(f"  {line}")
    goal = GOALS[advice.question.goal]
    rows = advice.final_rows()
    several = advice.question.connections > 1
    jain = ["Jain"] if several else []
    best = terminal.table("", ["", "~algorithm", goal.head, *jain, "seeds", "~had", "~reckless by"])
    costs = []
    for row in rows:
        best.add_row(
            "" if row["rank"] is None else f"{row['rank']}{'=' if row['tied'] else ''}",
            terminal.plain(row["label"]),
            _number(advice.trials[row["cc"]].of(goal.quantity), goal.measure),
            *([cell(_centre(row, "jain"), ".2f")] if several else []),
            str(row["seeds"]),
            linux.in_a_word(row["cc"]),
            ", ".join(flag["kind"] for flag in row["flags"]),
        )
        costs.append(
            [
                terminal.plain(row["label"]),
                ""
                if goal.quantity == "goodput_bps"
                else _number(advice.trials[row["cc"]].of("goodput_bps"), QUANTITIES["goodput_bps"]),
                milliseconds(_centre(row, "queue_p95_s")),
                _percent(row, "loss"),
                _percent(row, "resent"),
                _seconds(row, "startup_s"),
                _seconds(row, "file_s"),
                in_percent(_centre(row, "harm_cubic"), ".0f"),
                in_percent(_centre(row, "harm_reno"), ".0f"),
            ]
        )
    terminal.line()
    console.print(f"Goal: {advice.question.goal}, {goal.means}.")
    console.print(best)
    terminal.show_table("What each costs (means)", _COSTS, costs)
    terminal.line("=: tied with others of that number. Had: how Linux gets it.")
    if several:
        terminal.line(
            f"Jain: fairness between the {advice.question.connections} flows, 1 if all have the same."
        )
    console.print("Queue: after start-up. Lost, resent: of the packets of the whole run, start-up included.")
    kinds = {flag["kind"] for row in rows for flag in row["flags"]}
    for kind in (kind for kind in _RECKLESS if kind in kinds):
        terminal.line(f"Reckless by {kind}: {_RECKLESS[kind]}.")
    terminal.line()
    for kind, said in (("Assumed:", advice.assumptions), ("Left out:", advice.cut)):
        if said:
            terminal.line(kind)
            for sentence in said:
                console.print(f"- {terminal.plain(sentence)}")
    terminal.line()
    terminal.line("To repeat it exactly:")
    terminal.line(terminal.plain(advice.command))


def _number(values: list[float], measure: MeasureRow) -> str:
    """Centre and interval, without the words that would need a column of their own."""
    if not values:
        return "-"
    text = measure.shown(values)
    return text if " to " in text else text.partition(" (")[0]


def _centre(row: dict[str, Any], name: str) -> float | None:
    return None if row[name] is None else float(row[name]["centre"])


def _seconds(row: dict[str, Any], name: str) -> str:
    value = _centre(row, name)
    return "-" if value is None else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def _percent(row: dict[str, Any], name: str) -> str:
    value = _centre(row, name)
    return percent(value, 2 if value is not None and value < 0.01 else 1)

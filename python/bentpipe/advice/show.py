"""An answer on the terminal, readable at 60 columns."""

from __future__ import annotations

from typing import Any

from bentpipe import stats, terminal
from bentpipe.advice import ranking
from bentpipe.advice.question import FILE, GOALS
from bentpipe.advice.verdict import Advice
from bentpipe.units import milliseconds, percent

_HEADS = {
    "throughput": ("goodput\nMbit/s", 1e-6),
    "delay": ("queueing\np95 ms", 1e3),
    "fair": ("worse-off\nMbit/s", 1e-6),
    "completion": (f"{FILE}\ns", 1.0),
}


def show(advice: Advice) -> None:
    """The advice in sentences, who was how good, what it costs, what it rests on, and how to repeat it."""
    console = terminal.console()
    for sentence in advice.sentences():
        console.print(sentence)
    goal = advice.question.goal
    head, scale = _HEADS[goal]
    rows = advice.rows()
    best = terminal.table(f"Goal: {goal}, {GOALS[goal]}", ["", "~algorithm", head, "~in Linux", "~judgement"])
    costs = terminal.table(
        "What each costs (means)",
        [
            "~algorithm",
            "queue\np95 ms",
            "lost\n%",
            "resent\n%",
            "start\ns",
            f"{FILE}\ns",
            "CUBIC\nloses",
            "Reno\nloses",
        ],
    )
    name, _ = ranking.QUANTITIES[goal]
    for row in rows:
        values = [value * scale for value in advice.trials[row["cc"]].of(name)]
        best.add_row(
            "" if row["rank"] is None else f"{row['rank']}{'=' if row['tied'] else ''}",
            terminal.plain(row["label"]),
            _number(values),
            row["linux"] or "-",
            "reckless: " + ", ".join(flag["kind"] for flag in row["flags"]) if row["flags"] else "",
        )
        costs.add_row(
            terminal.plain(row["label"]),
            milliseconds(_centre(row, "queue_p95_s")),
            percent(_centre(row, "loss"), 2),
            percent(_centre(row, "resent"), 2),
            _seconds(row, "startup_s"),
            _seconds(row, "file_s"),
            _share(row, "harm_cubic"),
            _share(row, "harm_reno"),
        )
    console.print(best)
    console.print(costs)
    terminal.line("=: tied with others of that number. Reckless by")
    terminal.line("  loss: drops at the queue, several times CUBIC's;")
    terminal.line("  harm: what a CUBIC flow beside it loses;")
    terminal.line("  queue: a standing queue, much longer than CUBIC's.")
    terminal.line()
    for kind, said in (("Assumed:", advice.assumptions), ("Left out:", advice.cut)):
        if said:
            terminal.line(kind)
            for sentence in said:
                console.print(f"- {terminal.plain(sentence)}")
    terminal.line()
    terminal.line("To repeat it exactly:")
    terminal.line(terminal.plain(advice.command))


def _number(values: list[float]) -> str:
    """Centre and half of the interval, without the words that would need a column of their own."""
    if not values:
        return "-"
    return stats.shown(stats.interval(values, least=0.0)).partition(" (")[0]


def _centre(row: dict[str, Any], name: str) -> float | None:
    return None if row[name] is None else float(row[name]["centre"])


def _seconds(row: dict[str, Any], name: str) -> str:
    value = _centre(row, name)
    return "-" if value is None else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def _share(row: dict[str, Any], name: str) -> str:
    value = _centre(row, name)
    return "-" if value is None else f"{100 * value:.0f} %"

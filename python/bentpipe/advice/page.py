"""HTML page of an answer: the recommendation, results of each algorithm, costs, and assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bentpipe import _core, registry
from bentpipe.advice.quantities import FILE, QUANTITIES
from bentpipe.advice.question import GOALS
from bentpipe.advice.wording import keeping
from bentpipe.machine import linux
from bentpipe.measures import MeasureRow
from bentpipe.pages import Axis, Badge, Curve, Hyperlink, Page, Prose, Snippet

if TYPE_CHECKING:
    from bentpipe.advice.verdict import Advice

COSTS = ("queue_p95_s", "loss", "resent", "startup_s", "file_s", "jain", "harm_cubic", "harm_reno")
"""Costs of an algorithm."""


def build(advice: Advice) -> Page:
    """The page, from the answer on down."""
    said = advice.sentences()
    page = Page(
        f"Which congestion control for {advice.question.title}?",
        lead=said[0],
        foot=f"Written by bentpipe {_core.__version__}. "
        "The same plan gives the same numbers on every machine.",
    )
    if advice.interrupted:
        page.banner(Badge("Interrupted", "partly"), " The answer rests on the runs that were done.")
    page.section("The answer", said[1:])
    _turning_on(page, advice)
    _ranked(page, advice)
    _costs(page, advice)
    _flagged(page, advice)
    page.section("What it rests on")
    page.bullets(advice.assumptions)
    if advice.cut:
        page.section("What was left out")
        page.bullets(advice.cut)
    page.section("To repeat it")
    page.command(advice.command)
    page.paragraphs(["All numbers, for programs: ", Hyperlink("advice.json", "advice.json"), "."], small=True)
    return page


def _turning_on(page: Page, advice: Advice) -> None:
    """Instructions for installing the recommended algorithm on Linux."""
    chosen = advice.recommended
    if chosen is None:
        page.paragraphs("Nothing that can be had is fit to be used.")
        return
    label, way = advice.trials[chosen].candidate.label, linux.way(chosen)
    if chosen == "cubic":
        page.paragraphs(
            ["Linux has CUBIC unless somebody changed it; this shows what a machine uses:"],
        )
        page.command("sysctl net.ipv4.tcp_congestion_control")
    else:
        page.paragraphs(
            f"To turn {label} on in Linux, as root on the machine that sends (for downloads, the server):"
        )
        page.command("\n".join(way.commands))
    head, lines = keeping(advice)
    if lines:
        page.paragraphs(head)
        page.command("\n".join(lines))
    if way.kind == "attach":
        page.bullets([f"In the kernel: {lack}." for lack in way.lacks])
    elif chosen != "cubic":
        page.paragraphs(
            [
                f"In the kernel it is {linux.where(chosen)}. Not every distribution builds each module; ",
                Snippet("sysctl net.ipv4.tcp_available_congestion_control"),
                " lists those that are loaded.",
            ],
            small=True,
        )


def _ranked(page: Page, advice: Advice) -> None:
    goal = GOALS[advice.question.goal]
    page.section(
        "Who is best",
        [
            f"The goal is {advice.question.goal}: {goal.means}. Means over the seeds with 95 % intervals. "
            "Algorithms of one group are tied: chance explains their differences, or they are at most 2 % "
            "apart. What needs routers or is only simulated is never recommended."
        ],
    )
    rows: list[list[Prose]] = []
    for row in advice.final_rows():
        judged: Prose = [
            *(part for flag in row["flags"] for part in (Badge(f"reckless: {flag['kind']}", "bad"), " ")),
            *([Badge("recommended", "good")] if row["cc"] == advice.recommended else []),
        ]
        rows.append(
            [
                row["label"],
                "-" if row["rank"] is None else f"{row['rank']}{', tied' if row['tied'] else ''}",
                _shown(advice.trials[row["cc"]].of(goal.quantity), goal.measure),
                str(row["seeds"]),
                row["how"],
                judged,
            ]
        )
    page.table(["Algorithm", "Group", goal.column, "Seeds", "Had", "Judgement"], rows)
    _trade_off(page, advice)


def _trade_off(page: Page, advice: Advice) -> None:
    """Goodput against queueing delay, and the share that a CUBIC flow keeps, a point for each algorithm."""
    page.chart(
        _points(advice, "queue_p95_s", 1e3, "goodput_bps", 1e-6),
        x=Axis("queueing delay (p95), ms"),
        y=Axis("goodput, Mbit/s", least=0.0),
        alt="Goodput of each algorithm over its queueing delay, means over the seeds.",
        title="Goodput and queueing delay.",
        caption="Up and to the left is better. Bars are 95 % intervals of goodput.",
    )
    harm = _points(advice, "goodput_bps", 1e-6, "harm_cubic", 100.0)
    if not harm:  # a plan may have no runs beside CUBIC
        return
    page.chart(
        harm,
        x=Axis("goodput, Mbit/s", least=0.0),
        y=Axis("a CUBIC flow beside it loses, %", least=0.0, most=100.0),
        alt="What a CUBIC flow beside each algorithm loses, over the goodput of the algorithm.",
        title="Goodput, and at whose cost.",
        caption="Down and to the right is better. Beside another CUBIC flow it loses 0 % by definition.",
    )


def _points(advice: Advice, x: str, by_x: float, y: str, by_y: float) -> list[Curve]:
    curves = []
    for row in advice.final_rows():
        if row[x] is None or row[y] is None:
            continue
        style = registry.style(row["cc"])
        low, high = (float("nan") if row[y][end] is None else by_y * row[y][end] for end in ("low", "high"))
        curves.append(
            Curve(
                row["label"] + (" (reckless)" if row["flags"] else ""),
                [by_x * row[x]["centre"]],
                [by_y * row[y]["centre"]],
                [low],
                [high],
                kind="points",
                colour=style["colour"],
                marker=style["marker"],
            )  # fmt: skip
        )
    return curves


def _costs(page: Page, advice: Advice) -> None:
    page.section(
        "What each costs",
        [
            "Queue: round-trip time above the least one, 95th percentile, after start-up. Lost and "
            "retransmitted: of the packets of the whole run, start-up included. Start-up: until goodput is "
            f"at 90 % of what it will be. {FILE}: one file on the idle link. CUBIC or Reno beside it: one "
            "flow beside one of the algorithm, against one beside its own kind.",
        ],
    )
    rows: list[list[Prose]] = []
    for row in advice.final_rows():
        trials = advice.trials[row["cc"]]
        rows.append([row["label"], *(_shown(trials.of(name), QUANTITIES[name]) for name in COSTS)])
    page.table(["Algorithm", *(QUANTITIES[name].label for name in COSTS)], rows)


def _flagged(page: Page, advice: Advice) -> None:
    if not advice.flagged:
        return
    page.section(
        "Fast and reckless",
        [
            "These take what they have from others or from the link itself. They are in no group. Drops and "
            "queues are those after start-up."
        ],
    )
    rows: list[list[Prose]] = []
    for row in advice.rows():
        if row["flags"]:
            rows.append([row["label"], "; ".join(map(str, advice.flagged[row["cc"]]))])
    page.table(["Algorithm", "Why"], rows)


def _shown(values: Sequence[float], measure: MeasureRow) -> str:
    """Centre and interval; "-" if it was never measured."""
    if not values:
        return "-"
    return measure.shown(values).replace(" (all runs alike)", "")

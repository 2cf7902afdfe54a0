"""The arithmetic of the comparison of traffic that pauses: medians of each position over the repeats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import bentpipe as bp
from bentpipe import terminal
from bentpipe.truth.comparison import grouped, signed
from bentpipe.truth.paused import PausedCell
from bentpipe.units import in_percent

WITHIN = 0.15
"""An error beyond this is an exception."""
SHOWN = (1, 2, 3, 4, 5)
"""Positions in a column of their own, beside the last one."""
PLACE = ("sender", "link", "traffic")


@dataclass(frozen=True)
class Position:
    """One transfer of a connection: the first, the second, and so on.

    Args:
        number: counted from 1.
        real, simulated: its seconds, of each repeat.
    """

    number: int
    real: Sequence[float]
    simulated: Sequence[float]

    @property
    def error(self) -> float:
        """The relative error of the simulated median."""
        return median(self.simulated) / median(self.real) - 1.0

    @property
    def spread(self) -> float:
        """From the shortest to the longest real time, as a share of the median."""
        return (max(self.real) - min(self.real)) / median(self.real)

    @property
    def counts(self) -> bool:
        """Whether the repeats of the two worlds do not overlap."""
        return max(self.simulated) < min(self.real) or min(self.simulated) > max(self.real)


def simulated(cell: PausedCell, result: bp.Result) -> list[float]:
    """How long each transfer of a simulation took, as many as the real program makes."""
    times = result.transfers.sort("start_s")["completion_s"].to_list()[: cell.plan["count"]]
    return [time for time in times if time is not None]


def row(cell: PausedCell, real: Mapping[str, Any], times: Sequence[float]) -> dict[str, Any]:
    """The row of one repeat; times are a text, separated by blanks."""
    return {
        **cell.as_dict(),
        "real": text(real["times"]),
        "simulated": text(times),
        "lateness_p99_s": real["lateness_p99_s"],
        "kept_time": real["kept_time"],
        "kernel": real["kernel"],
    }


def positions(rows: Sequence[Mapping[str, Any]]) -> list[Position]:
    """The positions that are complete in all repeats of both worlds, from rows of one place."""
    worlds = [[_times(row[world]) for row in rows] for world in ("real", "simulated")]
    complete = zip(*(zip(*world, strict=False) for world in worlds), strict=False)
    return [Position(number, real, ours) for number, (real, ours) in enumerate(complete, start=1)]


def table(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each sender, link and traffic: medians and errors of the positions."""
    made = []
    for place, group in grouped(rows, PLACE):
        found = positions(group)
        missed = max(len(_times(row["real"])) for row in group) - len(found)
        made.append(
            {
                **dict(zip(PLACE, place, strict=True)),
                "repeats": len(group),
                "real": [median(one.real) for one in found],
                "simulated": [median(one.simulated) for one in found],
                "error": [one.error for one in found],
                "counts": [one.counts for one in found],
                "spread": max((one.spread for one in found), default=0.0),
                "incomplete": missed,
            }
        )
    return made


@dataclass(frozen=True)
class PausedErrors:
    """Errors over all positions of some rows of the table.

    Args:
        median: of the absolute errors.
        worst: the largest that counts, and 0 if none does.
        where: its sender, link, traffic and position.
        beyond: exceptions.
        positions: their number.
    """

    median: float
    worst: float
    where: str
    beyond: int
    positions: int


def verdict(rows: Iterable[Mapping[str, Any]]) -> PausedErrors:
    """A summary of the errors of these rows of the table."""
    errors = [
        (abs(error), counts, f"{row['sender']}, {row['link']}, {row['traffic']}, position {number}")
        for row in rows
        for number, (error, counts) in enumerate(zip(row["error"], row["counts"], strict=True), start=1)
    ]
    counting = [one for one in errors if one[1]]
    worst, _, where = max(counting, default=(0.0, True, ""))
    return PausedErrors(
        median=median(error for error, *_ in errors) if errors else 0.0,
        worst=worst,
        where=where,
        beyond=sum(error > WITHIN for error, *_ in counting),
        positions=len(errors),
    )


GROUPED_BY = ("traffic", "sender", "link")


def summary(rows: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Heads and body of the summary: all, and by kind of traffic, sender and link."""
    groups = [("all", list(rows))]
    for name in GROUPED_BY:
        groups += [(str(value), group) for (value,), group in grouped(rows, [name])]
    body = []
    for label, group in groups:
        said = verdict(group)
        worst = f"{in_percent(said.worst)} ({said.where})" if said.where else "none"
        body.append([label, in_percent(said.median), worst, f"{said.beyond} of {said.positions}"])
    return ["<of", "median error", "<largest that counts", f"above {in_percent(WITHIN, '.0f')}"], body


def exceptions(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Heads and body of what is beyond the bound, a line for each sender, link and traffic."""
    body = []
    for row in rows:
        columns = zip(row["real"], row["simulated"], row["error"], row["counts"], strict=True)
        beyond = [
            (number, real, ours, error)
            for number, (real, ours, error, counts) in enumerate(columns, start=1)
            if counts and abs(error) > WITHIN
        ]
        if beyond:
            _, real, ours, error = max(beyond, key=lambda one: abs(one[3]))
            numbers = f"{len(beyond)} of {len(row['real'])}: {_numbers([one[0] for one in beyond])}"
            names = [str(row[name]) for name in PLACE]
            body.append([*names, numbers, f"{real:.3g}", f"{ours:.3g}", signed(error)])
    return [*(f"<{name}" for name in PLACE), "<positions", "worst: real, s", "simulated, s", "error"], body


def page_rows(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Heads and body of the table: real seconds of the first positions and the last, with their errors."""
    heads = ["<traffic", "<link", "<sender", *map(str, SHOWN), "last", "spread"]
    return heads, [[row["traffic"], row["link"], row["sender"], *_cells(row)] for row in rows]


def show_paused(table: Sequence[dict[str, Any]], rows: Sequence[Mapping[str, Any]]) -> None:
    """Prints the table, and a summary of its errors."""
    terminal.show_table("Seconds in the kernel, and the error of the simulation", *page_rows(table))
    terminal.show_table("Errors of all positions", *summary(table))
    if late := sum(not row["kept_time"] for row in rows):
        terminal.warn([f"{late} of {len(rows)} transfers were made by an emulation that did not keep time"])


def _cells(row: Mapping[str, Any]) -> list[str]:
    shown = [f"{real:.3g} ({signed(error)})" for real, error in zip(row["real"], row["error"], strict=True)]
    last = shown[-1] if shown else "none complete"
    lacks = f", {row['incomplete']} incomplete" if row["incomplete"] else ""
    first = [*shown[: len(SHOWN)], *[""] * (len(SHOWN) - len(shown))]
    return [*first, last + lacks, in_percent(row["spread"])]


def _numbers(numbers: Sequence[int]) -> str:
    """Numbers in order, those that follow each other as "2 to 6"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in runs)


def text(times: Iterable[float]) -> str:
    """Times in seconds as a column of a table."""
    return " ".join(f"{time:.4f}" for time in times)


def _times(text: Any) -> list[float]:
    return [float(time) for time in str(text).split()]

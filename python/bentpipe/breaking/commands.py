"""The verb `bentpipe break`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bentpipe import terminal
from bentpipe.cli import completion
from bentpipe.cli.verbs import DONE, FAILED, Fresh, Json, Ray, Stopped, Workers, option, write_and_show
from bentpipe.evaluation.commands import ALGORITHM
from bentpipe.io.files import try_place, write_rows
from bentpipe.truth.commands import AtOnce
from bentpipe.units import digits

if TYPE_CHECKING:
    from bentpipe.breaking.job import Found
    from bentpipe.breaking.replay import Replayed
    from bentpipe.terminal.progress import State

Text = str | None
KERNEL = "kernel.csv"
"""The table of failures that were played again in the kernel."""


def break_verb(
    context: typer.Context,
    algorithm: Annotated[Text, ALGORITHM] = None,
    goal: Annotated[
        str, option("GOAL", "What to look for; --list has all.", completes=completion.break_goals)
    ] = "slow",
    against: Annotated[
        Text, option("NAME", "The yardstick; Reno unless given.", completes=completion.algorithms)
    ] = None,
    profile: Annotated[
        Text, option("NAME", "Profile of all connections, for example linux; see docs/tcp.md.")
    ] = None,
    rate: Annotated[Text, option("RATE", 'Bounds of the rate: "1-10 Mbit/s".')] = None,
    rtt: Annotated[Text, option("TIME", 'Bounds of the round trip without queues: "10-600 ms".')] = None,
    buffer: Annotated[Text, option("SIZE", 'Bounds of the queue: "0.2..4 bdp".')] = None,
    without: Annotated[
        Text, option("PARTS", "Parts that no link has, with commas between; --list has all.")
    ] = None,
    changes: Annotated[int, option("N", "Most changes of the time line.", min=0, max=10)] = 3,
    for_: Annotated[str, option("TIME", "Simulated time of a run.", "--for")] = "30 s",
    seed: Annotated[int, option("N", "Seed of the search.", min=0)] = 1,
    budget: Annotated[str, option("TIME", "How long it may take, about.")] = "60 s",
    runs: Annotated[
        int | None,
        option("N", "Instead: this number of runs. The answer does not depend on --workers.", min=1),
    ] = None,
    out: Annotated[
        Path | None, option("DIR", "Write the scenario and the figure there; resume.", "--out", "-o")
    ] = None,
    fresh: Fresh = False,
    workers: Workers = 0,
    ray: Ray = None,
    replay: Annotated[
        Path | None,
        option("FILE", "Run a found failure again instead, or all of a folder, and compare the numbers."),
    ] = None,
    kernel: Annotated[
        bool,
        typer.Option(
            "--kernel",
            help="Replay with the kernel's TCP behind the emulated link, in real time. Needs root.",
        ),
    ] = False,
    seeds: Annotated[int, option("N", "Seeds of each case in the kernel; the median counts.", min=1)] = 1,
    at_once: AtOnce = 4,
    list_: Annotated[bool, typer.Option("--list", help="List goals and parts of a link instead.")] = False,
    json: Json = False,
) -> int:
    """Search for the link on which an algorithm is worst, and shrink it to what matters.

    With --out an interrupted search goes on where it was when the same command is given again.
    """
    if list_:
        _list(json=json)
        return DONE
    if kernel and replay is None:
        raise typer.BadParameter("say what to replay: --replay FILE", param_hint="--kernel")
    for name, flag in (("seeds", "--seeds"), ("at_once", "--at-once")):
        given = context.get_parameter_source(name)
        if given is not None and given.name != "DEFAULT" and not kernel:
            raise typer.BadParameter("it is for a replay in the kernel: add --kernel", param_hint=flag)
    if replay is not None:
        files = sorted(replay.glob("*.toml")) if replay.is_dir() else [replay]
        if kernel:
            return _in_kernel(files, seeds, at_once, out, json=json)
        return _replay(files, json=json)
    if algorithm is None:
        raise typer.BadParameter("give an algorithm; bentpipe cc list has all", param_hint="NAME")
    from bentpipe.breaking.job import break_
    from bentpipe.sweeps.ray import on_ray

    if out is not None:  # before the runs, which may be long
        try_place(out / "found.toml")
    parts = [part.strip() for part in (without or "").split(",") if part.strip()]
    bar = SearchBar(f"{algorithm}, {goal}")
    with bar:
        found = break_(
            algorithm, goal, against=against, profile=profile, rate=rate, rtt=rtt, buffer=buffer,
            without=parts, changes=changes, duration=for_, seed=seed, runs=runs, budget=budget, out=out,
            fresh=fresh, workers=workers, progress=bar.at, executor=on_ray(ray), command=_command(),
        )  # fmt: skip

    written: list[Path] = []
    write_and_show(
        lambda: None if out is None else written.extend(found.write(out)),
        lambda: terminal.give(found.to_dict, lambda: _show(found), json=json),
    )
    for path in [] if json else written:
        terminal.line(f"written to {terminal.plain(str(path))}")
    if found.interrupted:
        rest = "this is the worst so far, not shrunk"
        raise Stopped(f"{rest}; the same command goes on from there" if out is not None else rest)
    return DONE


class SearchBar(terminal.RunsBar):
    """The bar of a search."""

    def at(self, state: State) -> None:
        """Takes the state of the search."""
        stage = state.running[0].partition(",")[0].partition(":")[0]
        self.report(stage, f"{stage}; {state.done:,} runs are done")
        super().at(state)


def _command() -> str:
    """The command as it was given, without its place for files."""
    words, left = ["bentpipe", *sys.argv[1:]], []
    skip = False
    for word in words:
        if skip or word.startswith(("--out=", "--workers=", "--ray=")) or word in ("--fresh", "--json"):
            skip = False
        elif word in ("--out", "-o", "--workers", "--ray"):
            skip = True
        else:
            left.append(word)
    return shlex.join(left)


def _replay(files: Sequence[Path], *, json: bool) -> int:
    """Runs failures again. Exit status 1: a number is another one."""
    from bentpipe.breaking.record import RecordHead, again

    rows = []
    for file in files:
        head, now = RecordHead.read(file), again(file)
        rows.append({"file": str(file), "value": head.value, "now": now, "same": now == head.value})
        if not json:
            words = "as it was found" if rows[-1]["same"] else f"not {head.value!r}, as it was found"
            terminal.line(f"{head.algorithm}, {head.goal}: {now!r}, {words}")
    if json:
        terminal.answer({"cases": rows})
    return DONE if all(row["same"] for row in rows) else FAILED


def _in_kernel(files: Sequence[Path], seeds: int, at_once: int, out: Path | None, *, json: bool) -> int:
    """Plays failures again with the kernel's TCP. Exit status 1: none could be played."""
    from bentpipe.breaking.replay import replay, share

    if out is not None:
        try_place(out / KERNEL)
    with terminal.Bar("cases") as bar:
        rows = replay(files, seeds=seeds, at_once=at_once, progress=lambda done, of: bar(done / of))
    cells = [row.as_dict() for row in rows]

    def write() -> None:
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            write_rows(out / KERNEL, cells)

    def show() -> None:
        if json:
            terminal.answer({"cases": cells, "share": share(rows)})
            return
        for row in rows:
            terminal.line(_verdict(row))
        terminal.line(share(rows))

    write_and_show(write, show)
    return DONE if any(row.values for row in rows) else FAILED


def _verdict(row: Replayed) -> str:
    """A case in the kernel, in a line."""
    from bentpipe.breaking.goals import GOALS

    goal = GOALS[row.record.goal]
    what = f"{row.name} ({row.sender}), {goal.name}" if row.sender else f"{row.name}, {goal.name}"
    if row.value is None:
        return f"{what}: skipped, {row.skipped}"
    word = "confirmed" if row.confirmed else "not confirmed"
    linux = "" if row.linux is None else f", {digits(row.linux, 3)} with Linux's options"
    late = "" if row.kept_time else "; the emulator did not keep time"
    seeds = "" if len(row.values) == 1 else f", with {row.fails} of {len(row.values)} seeds"
    return (
        f"{what}: {word}{seeds}; {digits(row.value, 3)} in the kernel, "
        f"{digits(row.record.value, 3)} in simulation{linux}{late}"
    )


def _list(*, json: bool) -> None:
    from bentpipe.breaking.conditions import PARTS
    from bentpipe.breaking.goals import GOALS

    if json:
        goals = [
            {"name": g.name, "title": g.title, "value": g.value, "limit": g.limit, "worse": g.worse}
            for g in GOALS.values()
        ]
        terminal.answer({"goals": goals, "parts": PARTS})
        return
    rows = [
        [g.name, g.title, g.value, f"{'<' if g.worse == 'less' else '>'} {g.limit:g}"] for g in GOALS.values()
    ]
    terminal.show_table("goals", ["<name", "~looks for", "~its number", "failure"], rows)
    terminal.show_table("parts of a link", ["<name", "~what it is"], [[*row] for row in PARTS.items()])


def _show(found: Found) -> None:
    from bentpipe.breaking.conditions import in_words

    goal, got = found.pair.goal, found.measured
    verdict = "fails" if found.fails else "no failure found; the worst"
    terminal.line(f"{found.title}: {verdict}")
    terminal.line(f"  {goal.value}: {digits(got.value, 3)} (failure: {goal.worse} than {goal.limit:g})")
    for line in in_words(found.scenario):
        terminal.line(f"  - {line}")
    if found.where:
        terminal.line(f"  {found.where}")
    if found.confirmed:
        values = ", ".join(digits(value, 3) for value in found.confirmed)
        terminal.line(f"  with {len(found.confirmed)} other seeds: {values}; it fails with {found.held}")
    terminal.line(f"  {found.links:,} links, {found.runs:,} runs, {found.elapsed_s:.3g} s")

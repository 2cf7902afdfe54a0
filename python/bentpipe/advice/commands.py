"""The verb `bentpipe advise`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from bentpipe import terminal
from bentpipe.cli import completion
from bentpipe.cli.verbs import (
    FirstSeed,
    Flows,
    Fresh,
    Json,
    More,
    Ray,
    Stopped,
    TimeLine,
    Workers,
    option,
    write_and_show,
)

Text = str | None


def advise_verb(
    more: More = None,
    link: Annotated[
        Text,
        option(
            "NAME|FILE",
            "A shipped scenario's name, or a TOML file: its links.",
            completes=completion.scenarios,
        ),
    ] = None,
    scenario: Annotated[
        Text,
        option(
            "NAME|FILE",
            "Instead: a whole scenario. Its first flow takes each algorithm; all flows are judged.",
            completes=completion.scenarios,
        ),
    ] = None,
    measured: Annotated[
        list[Path] | None,
        option(
            "FILE",
            "Instead: measurements of the link (iperf3, ping, pcap, NDT7 ...); further files may follow.",
        ),
    ] = None,
    rate: Annotated[Text, option("RATE", '"20 Mbit/s", or a range, "5-20 Mbit/s".')] = None,
    rtt: Annotated[Text, option("TIME", 'Round trip without queues, "600 ms" or "550-650 ms".')] = None,
    per: Annotated[Text, option("P", "Packet error rate, 1e-4 or 1e-5..1e-3.")] = None,
    ber: Annotated[Text, option("P", "Bit error rate.")] = None,
    buffer: Annotated[Text, option("SIZE", '"1 bdp", "432 packets", "4 s", "0.5..2 bdp".')] = None,
    timeline: TimeLine = None,
    flows: Flows = 1,
    relay: Annotated[
        Text,
        option("RELAY", 'Instead of the flow\'s own: "none", "hybla", or "gateway, buffer=8 MB, cc=hybla".'),
    ] = None,
    competing: Annotated[
        list[str] | None, option("N CC", 'Flows beside them all the time, "3 cubic"; may be repeated.')
    ] = None,
    goal: Annotated[
        str, option("GOAL", '"throughput", "delay", "fair" or "completion".', completes=completion.goals)
    ] = "throughput",
    not_shared: Annotated[
        bool,
        typer.Option("--not-shared", help="No flows of others use the link: harm to them flags nothing."),
    ] = False,
    cc: Annotated[
        Text,
        option(
            "NAMES",
            "Judge these only, with commas between; also 'vegas alpha=2' or my.py:MyClass.",
            completes=completion.algorithms,
        ),
    ] = None,
    for_: Annotated[Text, option("TIME", "Simulated time of a run.", "--for")] = None,
    seed: FirstSeed = 1,
    budget: Annotated[str, option("TIME", "How long the answer may take, about.")] = "30 s",
    thorough: Annotated[bool, typer.Option("--thorough", help="More seeds, no budget.")] = False,
    plan: Annotated[Text, option("PLAN", "Repeat the plan of an earlier answer exactly.")] = None,
    out: Annotated[
        Path | None, option("DIR", "Write advice.html and advice.json there; resume.", "--out", "-o")
    ] = None,
    fresh: Fresh = False,
    workers: Workers = 0,
    ray: Ray = None,
    sysctl: Annotated[
        Path | None, option("FILE", "Write settings of Linux for the link there, for /etc/sysctl.d.")
    ] = None,
    pdf: Annotated[Path | None, option("FILE", "Write the answer on one page there, as PDF.")] = None,
    paper: Annotated[str, option("NAME", 'Paper of --pdf: "A4" or "letter".')] = "A4",
    json: Json = False,
) -> None:
    """Say which algorithm to use on a link, what each costs, and what is fast and reckless.

    With --out an interrupted race goes on where it was when the same command is given again.
    """
    begun = time.monotonic()  # before the modules that take long to load
    from bentpipe.advice.job import advise
    from bentpipe.advice.show import show
    from bentpipe.io.files import replace_text, try_place
    from bentpipe.measured import measured_files
    from bentpipe.sweeps.ray import on_ray

    files = measured_files(measured, more)
    before = ""
    if pdf is not None:  # before the runs, which may be long
        from bentpipe.advice import sheet

        sheet.check(paper)
        try_place(pdf)
    if sysctl is not None:
        try_place(sysctl)
    if out is not None:  # before the runs, which may be long
        from bentpipe._core import ScenarioError
        from bentpipe.pages import check_page

        if out.suffix in (".html", ".json", ".pdf") and not out.is_dir():
            raise ScenarioError(
                f"--out {out}: it names a directory, which gets advice.html and advice.json; "
                "--pdf FILE writes the answer on one page"
            )
        try_place(out / "advice.json")
        check_page(out / "advice.html")
        before = ", in place of the one before" if (out / "advice.html").exists() else ""
    bar = Bars()
    try:
        answer = advise(
            link, scenario=scenario, measured=files, rate=rate, rtt=rtt, per=per, ber=ber,
            buffer=buffer, timeline=timeline, flows=flows, relay=relay, competing=competing or (),
            goal=goal, shared=not not_shared, cc=cc or (), duration=for_, seed=seed, budget=budget,
            thorough=thorough, plan=plan, progress=bar, begun=begun, out=out, fresh=fresh, workers=workers,
            executor=on_ray(ray),
        )  # fmt: skip
    finally:
        bar.close()

    def write() -> None:
        if out is not None:
            answer.write(out)
        if pdf is not None:
            sheet.write_sheet(answer, pdf, paper)
        if sysctl is not None:
            replace_text(sysctl, answer.sysctl_file)

    write_and_show(write, lambda: terminal.give(answer.to_dict, lambda: show(answer), json=json))
    if out is not None and not json:
        terminal.line(f"written to {terminal.plain(str(out / 'advice.html'))}{before}")
    for file in (pdf, sysctl):
        if file is not None and not json:
            terminal.line(f"written to {terminal.plain(str(file))}")
    if answer.interrupted:
        rest = "" if out is None else "; the same command goes on from there"
        raise Stopped(f"the answer rests on the runs that were done{rest}")


class Bars:
    """A bar for each thing that is done; without a terminal, a line when it begins."""

    def __init__(self) -> None:
        self._what = ""
        self._bar: terminal.RunsBar | None = None
        self._began = 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        """So many of all runs of this are done."""
        from bentpipe.terminal.progress import State

        if what != self._what:
            self.close()
            self._what, self._bar, self._began = what, terminal.RunsBar(what), time.monotonic()
            self._bar.__enter__()
            self._bar.report(what, f"{what}: {total} runs" if total > 1 else what)
        if self._bar is not None:
            elapsed = time.monotonic() - self._began
            left = elapsed / done * (total - done) if done else None
            self._bar.at(State(done, total, 0, elapsed, left))

    def close(self) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None

"""The verbs `bentpipe scenario ...`."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated

import typer

from bentpipe import _core, terminal, units
from bentpipe.cli import completion
from bentpipe.cli.verbs import Ber, Buffer, Json, More, Per, Rtt, argument, option
from bentpipe.io.files import replace_text
from bentpipe.presets.shipped import shipped, text

app = typer.Typer(help="Scenarios: those that come with the package, and new ones.", no_args_is_help=True)


@app.command("list")
def list_verb(json: Json = False) -> None:
    """Every scenario that comes with the package, one line each."""
    known = shipped()
    if json:
        terminal.answer({"scenarios": [{"name": p.name, "title": p.title, "about": p.about} for p in known]})
        return
    terminal.show_whole("", ["<scenario", "~title"], [[p.name, p.title] for p in known])
    terminal.line("bentpipe scenario show NAME prints one with the sources of its numbers.")


@app.command("show")
def show_verb(
    name: Annotated[str, argument("NAME|FILE", "A scenario.", completes=completion.scenarios)],
    json: Annotated[
        bool, typer.Option("--json", help="Print it as JSON, without comments and with every default.")
    ] = False,
) -> None:
    """Print one with its comments, which say where its numbers come from."""
    if json:
        from bentpipe.scenario import Scenario

        print(Scenario.load(name).to_json())
        return
    sys.stdout.write(text(name))


@app.command("new")
def new_verb(
    more: More = None,
    out: Annotated[Path | None, option("FILE", "Default: standard output.", "--out", "-o")] = None,
    base: Annotated[
        str | None,
        option("NAME|FILE", "Start from a shipped scenario.", "--from", completes=completion.scenarios),
    ] = None,
    rate: Annotated[str | None, option("RATE", '"10 Mbit/s"')] = None,
    rtt: Rtt = None,
    ber: Ber = None,
    per: Per = None,
    buffer: Buffer = None,
    flows: Annotated[int | None, option("N", "Connections of each algorithm.", min=1)] = None,
    cc: Annotated[
        str | None,
        option("NAMES", "Algorithms, with commas between: a flow for each.", completes=completion.algorithms),
    ] = None,
    measured: Annotated[
        list[Path] | None,
        option("FILE", "Estimate the link from iperf3, ping, irtt or a pcap; further files may follow."),
    ] = None,
    budget: Annotated[
        str | None, option("TIME", "How long the estimate of --measured may take, about.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    json: Json = False,
) -> None:
    """Write a commented scenario: from the values that are given, from another one, or from measurements."""
    if out is not None and out.exists() and not force:
        raise _core.ScenarioError(f"{out} exists; --force replaces it")
    from bentpipe.document.spans import LinkSpec
    from bentpipe.measured import measured_files, scenario_text

    spec = LinkSpec(rate, rtt, ber, per, buffer)
    if measured and (spec.given or any(value is not None for value in (base, flows, cc))):
        raise _core.ScenarioError(
            "--measured estimates the link and goes with --budget, --out and --force alone"
        )
    files = measured_files(measured, more)
    if budget is not None and not files:
        raise _core.ScenarioError("--budget limits the estimate of --measured; add --measured FILE")
    if files:
        from bentpipe.advice.commands import Bars

        bar = Bars()
        try:
            limit_s = math.inf if budget is None else units.seconds(budget, "--budget")
            content = scenario_text(files, bar, limit_s)
        finally:
            bar.close()
    else:
        from bentpipe.presets.draft import draft

        names = None if cc is None else [name for name in cc.split(",") if name.strip()]
        content = draft(spec, base=base, flows=flows, cc=names)
    if out is not None:
        replace_text(out, content)
    if json:
        terminal.answer({"file": None if out is None else str(out), "text": content})
    elif out is None:
        sys.stdout.write(content)
    else:
        terminal.line(
            f"written to {terminal.plain(str(out))}; run it: bentpipe run {terminal.plain(str(out))}"
        )

"""Shared parts of the verbs of the command line: exit statuses, options, and answers."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from bentpipe import completion, terminal

DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130
"""Exit statuses: done, the work failed, the request was wrong, interrupted."""

# Options and arguments that several verbs have.
Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        autocompletion=completion.keys,
        help="Override a value: link.sat.loss.rate=1e-5. Repeatable.",
    ),
]
Seed = Annotated[int | None, typer.Option(metavar="N", min=0, help="Instead of the scenario's seed.")]
FirstSeed = Annotated[int, typer.Option(metavar="N", min=0, help="The first seed.")]
Workers = Annotated[int, typer.Option(metavar="N", min=0, help="In parallel; 0: one per processor.")]
Ray = Annotated[
    str | None, typer.Option("--ray", metavar="ADDRESS", help="Run on a Ray cluster: HOST:PORT, or auto.")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Repeat runs that are in DIR already.")]
PcapAt = Annotated[
    str, typer.Option(metavar="PLACE", help='Where they are seen: "sender", "receiver", or a link.')
]
PcapWhole = Annotated[bool, typer.Option("--pcap-whole", help="Keep the payload, not only the headers.")]
Command = Annotated[
    list[str] | None,
    typer.Argument(metavar="-- COMMAND...", show_default=False, help="What to run, behind two dashes."),
]
Flows = Annotated[int, typer.Option(metavar="N", min=1, help="Flows of the algorithm at once.")]
TimeLine = Annotated[
    Path | None,
    typer.Option(metavar="FILE", exists=True, help="Rate, delay and losses of the link over time."),
]
More = Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="Further files of --measured.")]
From = Annotated[float, typer.Option("--from", metavar="SECONDS", help="Show no earlier.")]
To = Annotated[float, typer.Option("--to", metavar="SECONDS", help="Show no later.")]
FigureOut = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="The figure: .svg, .pdf or .png.")
]
Size = Annotated[
    str,
    typer.Option(
        "--size",
        metavar="SIZE",
        help='Of the figure: paper, page, screen, slide, or a width: "12 cm".',
        autocompletion=completion.sizes,
    ),
]


def probability(text: str) -> float:
    """The value of an option that is a probability: "1e-4", or "0.01 %".

    Raises:
        BadParameter: it is not a probability.
    """
    number, percent, rest = text.partition("%")
    try:
        value = float(number) / (100 if percent else 1)
    except ValueError:
        value = math.nan
    if rest.strip() or not 0 <= value <= 1:
        raise typer.BadParameter(f'{text!r} is no probability; write 1e-4 or "0.01 %"')
    return value


Rtt = Annotated[str | None, typer.Option(metavar="TIME", help='Round trip without queues, "600 ms".')]
Ber = Annotated[float | None, typer.Option(metavar="P", parser=probability, help="Bit error rate.")]
Per = Annotated[
    float | None,
    typer.Option(
        "--per", "--loss", metavar="P", parser=probability, help='Packet error rate: 1e-4 or "0.01 %".'
    ),
]
Buffer = Annotated[str | None, typer.Option(metavar="SIZE", help='"1 bdp", "432 packets", "1 MB"')]


class RunsCommand(TyperCommand):
    """A verb that runs a command of the user's, whose options must be behind two dashes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the arguments; a message about an unknown option mentions missing dashes."""
        from bentpipe._core import ScenarioError

        try:
            return super().parse_args(ctx, args)
        except typer.TyperException as wrong:
            option = getattr(wrong, "option_name", None)
            # An unknown option has this attribute, and near names of ours in it if there are any.
            if "--" in args or option is None or getattr(wrong, "possibilities", True):
                raise
            raise ScenarioError(
                f"No such option: {option}; options of COMMAND go behind two dashes: -- COMMAND {option}"
            ) from None


class Stopped(Exception):
    """The user interrupted work; the message says what is kept, or how to resume."""


def overrides(texts: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs of `--set KEY=VALUE`.

    Raises:
        ScenarioError: a text is not of this form.
    """
    from bentpipe._core import ScenarioError

    pairs = []
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key.strip() and equals):
            raise ScenarioError(f"--set {text}: write KEY=VALUE, for example link.sat.rate=5Mbit/s")
        pairs.append((key.strip(), value.strip()))
    return pairs


def write_and_show(write: Callable[[], object], show: Callable[[], None]) -> None:
    """Does both: a file is not lost with the reader of a table, nor a table with the disk."""
    try:
        write()
    except Exception:
        with suppress(terminal.OutputFailed):
            show()
            sys.stdout.flush()
        raise
    show()

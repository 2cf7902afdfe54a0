"""Shared parts of the verbs of the command line: exit statuses, options, and answers."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from bentpipe import terminal, units
from bentpipe.cli import completion

DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130
"""Exit statuses: done, the work failed, the request was wrong, interrupted."""


def option(
    metavar: str, help: str, *names: str, completes: Callable[..., Any] | None = None, **more: Any
) -> Any:
    """An option with a value.

    Args:
        metavar: what its help calls the value: "TIME".
        help: what its help says.
        names: "--for" and the like, if it is not called as its parameter.
        completes: the values that a shell offers.
        more: further arguments of `typer.Option`.
    """
    return typer.Option(*names, metavar=metavar, help=help, autocompletion=completes, **more)


def argument(metavar: str, help: str, *, completes: Callable[..., Any] | None = None, **more: Any) -> Any:
    """An argument, as `option` an option."""
    return typer.Argument(metavar=metavar, help=help, autocompletion=completes, **more)


# Options and arguments that several verbs have.
Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
Set = Annotated[
    list[str] | None,
    option(
        "KEY=VALUE",
        "Override a value: link.sat.loss.rate=1e-5. Repeatable.",
        "--set",
        completes=completion.keys,
    ),
]
Seed = Annotated[int | None, option("N", "Instead of the scenario's seed.", min=0)]
FirstSeed = Annotated[int, option("N", "The first seed.", min=0)]
Workers = Annotated[int, option("N", "In parallel; 0: one per processor.", min=0)]
Ray = Annotated[str | None, option("ADDRESS", "Run on a Ray cluster: HOST:PORT, or auto.", "--ray")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Repeat runs that are in DIR already.")]
PcapAt = Annotated[str, option("PLACE", 'Where they are seen: "sender", "receiver", or a link.')]
PcapWhole = Annotated[bool, typer.Option("--pcap-whole", help="Keep the payload, not only the headers.")]
Prometheus = Annotated[
    Path | None,
    option("FILE.prom", "Write metrics there for node_exporter's textfile collector.", "--prometheus"),
]
Command = Annotated[
    list[str] | None, argument("-- COMMAND...", "What to run, behind two dashes.", show_default=False)
]
Flows = Annotated[int, option("N", "Flows of the algorithm at once.", min=1)]
TimeLine = Annotated[
    Path | None, option("FILE", "Rate, delay and losses of the link over time.", exists=True)
]
More = Annotated[list[Path] | None, argument("[FILE]...", "Further files of --measured.")]
From = Annotated[float, option("SECONDS", "Show no earlier.", "--from")]
To = Annotated[float, option("SECONDS", "Show no later.", "--to")]
FigureOut = Annotated[Path, option("FILE", "The figure: .svg, .pdf or .png.", "--out", "-o")]
Size = Annotated[
    str,
    option(
        "SIZE",
        'Of the figure: paper, page, screen, slide, or a width: "12 cm".',
        "--size",
        completes=completion.sizes,
    ),
]


def probability(text: str) -> float:
    """The value of an option that is a probability: "1e-4", or "0.01 %".

    Raises:
        BadParameter: it is not a probability.
    """
    value = units.share(text)
    if value is None or not 0 <= value <= 1:
        raise typer.BadParameter(f'{text!r} is no probability; write 1e-4 or "0.01 %"')
    return value


Rtt = Annotated[str | None, option("TIME", 'Round trip without queues, "600 ms".')]
Ber = Annotated[float | None, option("P", "Bit error rate.", parser=probability)]
Per = Annotated[
    float | None, option("P", 'Packet error rate: 1e-4 or "0.01 %".', "--per", "--loss", parser=probability)
]
Buffer = Annotated[str | None, option("SIZE", '"1 bdp", "432 packets", "1 MB", "4 s"')]


_NEGATIVE = re.compile(r"-\.?\d")


class NumbersCommand(TyperCommand):
    """A verb whose arguments may begin with a minus and a digit: they are no options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the arguments; a blank in front of such a word keeps it one."""
        return super().parse_args(ctx, [f" {word}" if _NEGATIVE.match(word) else word for word in args])


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
    return pairs("--set", texts, "link.sat.rate=5Mbit/s")


def pairs(option: str, texts: Sequence[str], example: str) -> list[tuple[str, str]]:
    """The pairs of an option that is given as KEY=VALUE, again and again.

    Raises:
        ScenarioError: a text is not of this form; the message has the example.
    """
    from bentpipe._core import ScenarioError

    found = []
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key.strip() and equals):
            raise ScenarioError(f"{option} {text}: write KEY=VALUE, for example {example}")
        found.append((key.strip(), value.strip()))
    return found


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

"""The command line. Each verb is also a Python function; heavy modules are loaded by verbs that need them."""

from __future__ import annotations

import math
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, redirect_stdout
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from bentpipe import terminal
from bentpipe.cli import completion
from bentpipe.cli.verbs import (
    DONE,
    FAILED,
    INTERRUPTED,
    WRONG,
    Ber,
    FirstSeed,
    Flows,
    Fresh,
    Json,
    NumbersCommand,
    PcapWhole,
    Per,
    Ray,
    Rtt,
    RunsCommand,
    Seed,
    Set,
    Size,
    Stopped,
    TimeLine,
    Workers,
    argument,
    option,
    overrides,
    write_and_show,
)

if TYPE_CHECKING:
    from bentpipe.result import Result
    from bentpipe.scenario import Scenario


VERBS: Mapping[str, Mapping[str, str]] = {
    "Simulate": {
        "run": "cli.application:run_verb",
        "compare": "cli.application:compare_verb",
        "sweep": "sweeps.commands:sweep_verb",
        "drill": "cli.drill:drill_verb",
    },
    "Look": {
        "plot": "orbit.commands:plot_app",  # with the figures of a time line and of a network
        "report": "reports.commands:report_verb",
        "explore": "web.commands:explore_verb",
        "web": "web.commands:web_verb",
    },
    "Decide": {
        "advise": "advice.commands:advise_verb",
        "evaluate": "evaluation.commands:evaluate_verb",
        "break": "breaking.commands:break_verb",
        "bdp": "cli.bdp:bdp_verb",
    },
    "Repeat papers": {"study": "studies.commands:app"},
    "Real programs and the kernel": {
        "emulate": "emulation.commands:emulate_verb",
        "kernel": "kernel.commands:app",
        "validate": "truth.commands:app",
    },
    "What there is": {
        "scenario": "presets.commands:app",
        "cc": "cli.entries:cc_app",
        "queue": "cli.entries:queue_app",
    },
    "Paths that move": {
        "timeline": "timeline.commands:app",
        "orbit": "orbit.commands:app",
        "weather": "weather.commands:weather_verb",
    },
    "About this program": {
        "schema": "cli.entries:schema_verb",
        "bench": "cli.application:bench_verb",
        "doctor": "cli.application:doctor_verb",
    },
}
"""The verbs in the order in which one needs them, under the headings of the help: module and name of each.

A verb is a function with its options, or an application of typer with verbs of its own. Its module is loaded
when it is called.
"""
_PARSED = {"emulate": RunsCommand, "bdp": NumbersCommand}
"""How the words of a verb are read, where that is not as usual."""
ORDER = [verb for verbs in VERBS.values() for verb in verbs]


class Verbs(TyperGroup):
    """The verbs, with one line on standard error and an exit status for everything that can go wrong."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The verbs in the order of `ORDER`, which is that in which one needs them."""
        return sorted(super().list_commands(ctx), key=ORDER.index)

    def get_params(self, ctx: Any) -> list[Any]:
        """The options before a verb."""
        return _readied(super().get_params(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The verb of this name."""
        found = super().get_command(ctx, cmd_name)
        for command in [found, *getattr(found, "commands", {}).values()]:
            _readied(command.get_params(ctx) if command is not None else [])
        return found

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the arguments. The options of completion may name a shell; else it is the current one."""
        if len(args) == 2 and args[0] in completion.OPTIONS:
            terminal.line(completion.OPTIONS[args[0]](args[1]))
            ctx.exit()
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Runs the verb. An interrupt with a message (`Interrupted` of many runs) says what is kept."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            if not str(stop):
                raise
            raise Stopped(str(stop)) from None

    def main(self, *args: Any, **given: Any) -> Any:
        """Runs a verb and exits: 0 done, 1 the work failed, 2 the request was wrong, 130 interrupted."""
        given["standalone_mode"] = False
        with terminal.guarded_output():
            status = _status(lambda: super(Verbs, self).main(*args, **given))
        sys.exit(status)


class _Words:
    """Reads text and whole numbers, and what is not given: typer would load pydantic, half of a start."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value of an option; all other kinds, and what is wrong, are read by typer."""
        of = param.type_descriptor
        about = of.parameter_info
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if about.parser is None:
            match value:
                case bool() | int() | float():  # a default
                    return value
                case str() if of.annotation is str:
                    return value
                case str() if of.annotation is int and value.isascii() and value.isdecimal():
                    if (about.min or 0) <= int(value) <= (math.inf if about.max is None else about.max):
                        return int(value)
                case tuple() | list() if of.annotation == list[str]:
                    return list(value)
        param._runtime_param = None  # typer makes its own
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _readied(options: list[Any]) -> list[Any]:
    """The options, whose help shows no type of those that take no value; they read text as it is."""
    for each in options:
        if getattr(each, "is_flag", False):
            each.metavar = ""
        if getattr(each, "_runtime_param", False) is None:
            each._runtime_param = _Words()
    return options


def _status(work: Callable[[], Any]) -> int:
    """Does the work; reports errors; returns the exit status."""
    from bentpipe._core import ControllerError, ScenarioError

    try:
        said = work()
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        said = INTERRUPTED
    except Stopped as stop:
        terminal.error(f"interrupted; {stop}")
        return INTERRUPTED
    except ScenarioError as wrong:
        for text in wrong.mistakes or [str(wrong)]:
            terminal.error(text)
        return WRONG
    except typer.TyperException as wrong:  # the arguments do not parse
        if wrong.format_message():  # empty if a verb is missing and the help was shown
            terminal.error(wrong.format_message() + _quoting(wrong))
        return WRONG
    except terminal.OutputFailed as failure:
        if isinstance(failure.__cause__, BrokenPipeError):  # the reader, head for example, has seen enough
            return DONE
        terminal.error(str(failure))
        return FAILED
    except OSError as failure:
        if "BENTPIPE_TRACEBACK" in os.environ:
            raise
        where = f"{failure.filename}: " if failure.filename else ""
        terminal.error(f"{where}{failure.strerror or failure}")
        return FAILED
    except Exception as failure:
        if "BENTPIPE_TRACEBACK" in os.environ:
            raise
        if isinstance(failure, ControllerError) and failure.lines:
            cause = failure.__cause__ is not None
            terminal.error_lines([*failure.lines, *["set BENTPIPE_TRACEBACK=1 for the traceback"] * cause])
            return FAILED
        kind = "" if isinstance(failure, ControllerError) else f"{type(failure).__name__}: "
        more = "" if not kind and failure.__cause__ is None else " (set BENTPIPE_TRACEBACK=1 for details)"
        terminal.error(f"{kind}{failure}{more}")
        return FAILED
    if said == INTERRUPTED:
        terminal.error("interrupted")
    return said if isinstance(said, int) else DONE


def _quoting(wrong: typer.TyperException) -> str:
    """The likely cause of words too many, "20" and "Mbit/s": a value with a blank and no quotes."""
    surplus = wrong.format_message().startswith("Got unexpected extra argument")
    return '; a value with a blank needs quotes: "20 Mbit/s"' if surplus else ""


def _version(wanted: bool) -> None:  # noqa: FBT001
    if wanted:
        from bentpipe import _core

        terminal.line(f"bentpipe {_core.__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def run_verb(
    file: Annotated[
        str,
        argument(
            "FILE",
            "A scenario: a TOML or JSON file, a shipped one's name, what --out wrote, or - for stdin.",
            completes=completion.scenarios,
        ),
    ],
    set_: Set = None,
    point: Annotated[
        str | None,
        option("VALUES", 'One point of a file with vary: "cc=cubic, loss=1e-5". Keys may be cut short.'),
    ] = None,
    seed: Seed = None,
    cc: Annotated[
        str | None,
        option("NAME", "The algorithm of every TCP flow; or my.py:MyClass.", completes=completion.algorithms),
    ] = None,
    for_: Annotated[
        str | None, option("TIME", 'Simulated time, "120 s", in place of duration.', "--for")
    ] = None,
    out: Annotated[
        Path | None, option("DIR", "Write run.json and Parquet tables there.", "--out", "-o")
    ] = None,
    pcap: Annotated[
        Path | None,
        option("FILE", "Write the packets there, for Wireshark and its like; - for standard output."),
    ] = None,
    pcap_at: Annotated[
        list[str] | None,
        option(
            "PLACE",
            'Where they are seen: "sender" (the default), "receiver", or a link. Repeatable: a file for '
            "each, packets-sat.pcapng beside packets.pcapng.",
        ),
    ] = None,
    pcap_whole: PcapWhole = False,
    threads: Annotated[
        int, option("N", "Threads for a run over a constellation; 0: one per processor.", min=0)
    ] = 0,
    json: Json = False,
) -> None:
    """Simulate one scenario and say what each flow got, and what held it back."""
    from bentpipe import _core
    from bentpipe.document.source import STDIN
    from bentpipe.io.files import only_writer
    from bentpipe.result import check_place, replaced
    from bentpipe.runs import Capture, run

    if pcap is None and (pcap_at or pcap_whole):
        raise _core.ScenarioError("--pcap-at and --pcap-whole say how to capture; add --pcap FILE")
    piped = str(pcap) == STDIN
    if piped and json:
        raise _core.ScenarioError("--pcap - and --json would both write to standard output; give one a file")
    places = list(dict.fromkeys(pcap_at or ["sender"]))
    if piped and len(places) > 1:
        raise _core.ScenarioError("--pcap - writes one capture; give --pcap FILE for those of several places")
    times = [f"duration={for_}"] if for_ is not None else []
    scenario = _scenario(file, [*(set_ or []), *times], cc, point)
    with ExitStack() as held:
        old = None
        if out is not None:
            if pcap is not None and not piped and pcap.resolve().is_relative_to(out.resolve()):
                raise _core.ScenarioError(
                    f"--pcap {pcap} lies in --out {out}, which holds a result and nothing else; "
                    f"write it beside that, for example --pcap {out}.pcapng"
                )
            check_place(out)  # before the run, which may be long
            held.enter_context(only_writer(out))
            old = replaced(out)
        if piped:
            pcap = Path(held.enter_context(TemporaryDirectory())) / "packets.pcapng"
        captures = (
            []
            if pcap is None
            else [
                Capture(pcap if i == 0 else _beside(pcap, place), place, pcap_whole)
                for i, place in enumerate(places)
            ]
        )
        for capture in captures[1:]:  # a capture changes no result, and each run has one
            with terminal.Bar(f"packets at {capture.at}") as bar:
                run(scenario, seed, pcap=capture, progress=bar)
        with terminal.Bar(scenario.title or file) as bar:
            first = captures[0] if captures else None
            result = run(scenario, seed, pcap=first, threads=threads, progress=bar)
        if piped and pcap is not None:
            terminal.copy(pcap)
            captures = []
            held.enter_context(redirect_stdout(sys.stderr))  # messages do not mix with the packets
        written = [Path(capture.path) for capture in captures]
        _show_run(result, out, written, old, json=json)


def _beside(pcap: Path, place: str) -> Path:
    """The file of a further place of a capture."""
    return pcap.with_stem(f"{pcap.stem}-{re.sub(r'[^A-Za-z0-9._-]', '-', place)}")


def _show_run(result: Result, out: Path | None, pcap: Sequence[Path], old: str | None, *, json: bool) -> None:
    """Writes a result and shows it; reports the place, and the result that was replaced."""
    from bentpipe.cli.tables import show_run

    def show() -> None:
        terminal.warn(result.json["warnings"])
        terminal.give(lambda: result.json, lambda: show_run(result), json=json)

    write_and_show(lambda: None if out is None else result.save(out), show)
    if json:
        return
    if out is not None:
        before = "" if old is None else f", in place of {terminal.named(old)}"
        terminal.line(f"written to {terminal.plain(str(out))}{before}")
    for file in pcap:
        terminal.line(f"written to {terminal.plain(str(file))}")


def _scenario(file: str, set_: list[str], cc: str | None, point: str | None) -> Scenario:
    """The scenario that the options of `run` describe."""
    from bentpipe._core import ScenarioError
    from bentpipe.controller import named_algorithm
    from bentpipe.document.plain import is_datagrams
    from bentpipe.document.source import Source
    from bentpipe.scenario import Scenario

    changed, source = overrides(set_), Source(file)
    if source.is_emulation:
        raise ScenarioError(
            f"{file} holds an emulation, and its programs cannot be simulated; run a scenario, or see its "
            f"link: bentpipe plot queue {file} -o queue.svg"
        )
    if point is None:
        scenario = Scenario.from_dict(source.load(changed, own=True), source.controllers)
    else:
        from bentpipe.sweeps.plan import Plan

        scenario = Plan(file, overrides=changed).at(point)
    if cc is not None:
        algorithm = named_algorithm(cc)
        for flow in scenario.flows:
            if not is_datagrams(flow.traffic):
                flow.cc = algorithm
    # A title such as "one Reno flow over GEO" is that of the file.
    words = [point] if point else []
    words += [f"cc = {cc}"] if cc is not None else []
    words += [f"{key} = {value}" for key, value in changed if key.startswith("flow.")]
    if words and scenario.title and "title" not in dict(changed):
        scenario.title += f", with {', '.join(words)}"
    return scenario


def compare_verb(
    cc: Annotated[
        str,
        option(
            "NAMES",
            "Algorithms, with commas between; also my.py:MyClass, "
            '"vegas alpha=2", \'{ name = "simd", beta = 0.0625 }\'.',
            completes=completion.algorithms,
        ),
    ],
    link: Annotated[
        str | None,
        option(
            "NAME|FILE",
            "A shipped scenario's name, or a TOML file: its links. --rate and --rtt change it.",
            completes=completion.scenarios,
        ),
    ] = None,
    scenario: Annotated[
        str | None,
        option(
            "NAME|FILE",
            "Instead of --link: the whole scenario, whose first flow takes each algorithm in turn.",
            completes=completion.scenarios,
        ),
    ] = None,
    rate: Annotated[str | None, option("RATE", '"10 Mbit/s"; with --rtt alone it is a link.')] = None,
    rtt: Rtt = None,
    ber: Ber = None,
    per: Per = None,
    buffer: Annotated[
        str | None, option("SIZES", '"1 bdp", "432 packets", "4 s"; or several, "0.5 bdp, 2 bdp".')
    ] = None,
    timeline: TimeLine = None,
    flows: Flows = 1,
    relay: Annotated[
        str | None,
        option(
            "RELAYS",
            'Instead of the flow\'s own, with commas between: "none", "hybla" (the algorithm with which '
            'it sends on), "gateway, buffer=8 MB, cc=hybla"; "gateway" sends on as the sender does.',
        ),
    ] = None,
    for_: Annotated[str | None, option("TIME", 'Simulated time, "120 s".', "--for")] = None,
    seeds: Annotated[int, option("N", "Runs per algorithm.", min=1)] = 5,
    seed: FirstSeed = 1,
    threads: Workers = 0,
    ray: Ray = None,
    cache: Annotated[
        Path | None, option("DIR", "Keep the runs there, and make those alone that are not there.")
    ] = None,
    fresh: Fresh = False,
    out: Annotated[
        Path | None,
        option("FILE", "Write the table there: .parquet, .csv, or .tex for LaTeX.", "--out", "-o"),
    ] = None,
    figure: Annotated[
        Path | None,
        option("FILE", "Draw goodput and RTT of each first run over the path: .svg, .pdf or .png."),
    ] = None,
    size: Size = "paper",
    json: Json = False,
) -> None:
    """Run algorithms on the same link, each alone, and say who was faster and why the others were not."""
    from bentpipe import _core
    from bentpipe.cli.tables import comparison_latex
    from bentpipe.comparison import ComparisonStopped, algorithms, run_comparison
    from bentpipe.document.spans import LinkSpec
    from bentpipe.io.files import TABLES, check_figure, check_kind, try_place
    from bentpipe.sweeps.ray import on_ray

    if out is not None:
        if out.suffix not in TABLES:
            raise _core.ScenarioError(f"--out {out}: the name must end in {', '.join(TABLES)}")
        check_kind(out, TABLES[out.suffix])
        try_place(out)  # before the runs, which may be long
    if figure is not None:
        from bentpipe.plot.looks import named_size

        check_figure("--figure", figure)
        named_size(size)  # before the runs
        try_place(figure)
    if link is not None and scenario is not None:
        raise _core.ScenarioError("give one of --link and --scenario, e.g. --link geo")
    given = link if link is not None else scenario
    where = f"{rate}, {rtt}" if given is None else given
    traced: dict[str, Result] | None = None if figure is None else {}
    try:
        with terminal.RunsBar(f"comparing on {where}") as bar:
            found = run_comparison(
                given, algorithms(cc), LinkSpec(rate, rtt, ber, per, buffer, timeline),
                whole=scenario is not None, flows=flows, relay=relay, duration=for_, seeds=seeds,
                seed=seed, threads=threads, progress=bar.at, traced=traced, cache=cache, fresh=fresh,
                executor=on_ray(ray),
            )  # fmt: skip
    except ComparisonStopped as stop:
        found = stop.found

    def write() -> None:
        from bentpipe.io.files import replace_frame, replace_text

        if out is not None and found.rows and not found.stopped:
            if out.suffix == ".tex":
                text = comparison_latex(found, where)
                replace_text(out, text)
            else:
                replace_frame(out, found.frame())
        if figure is not None and traced:
            from bentpipe import plot

            with plot.sized(size):
                plot.save(plot.over_path(traced), figure)

    def show() -> None:
        from bentpipe.cli.tables import show_comparison

        terminal.warn(found.warnings)
        if json:
            about = {"link": where, "seeds": seeds, "seed": seed}
            more = {"failed": found.failed, "stopped": found.stopped, "notes": found.notes}
            terminal.answer({**about, "rows": found.rows, **more})
        else:
            show_comparison(found, where)

    write_and_show(write, show)
    if not json:
        written = [out] if out is not None and found.rows and not found.stopped else []
        for file in [*written, *([figure] if figure is not None and traced else [])]:
            terminal.line(f"written to {terminal.plain(str(file))}")
    for label, error in found.failed.items():
        terminal.error(f"{label}: {error}")
    if found.stopped:
        kept = sum(row["runs"] for row in found.rows)
        if not kept:
            raise KeyboardInterrupt
        done = f"the {kept:,} runs that were done" if kept > 1 else "the one run that was done"
        rest = "" if cache is None else "; the same command goes on from there"
        raise Stopped(f"the answer has {done}, and no file was written{rest}")
    if found.failed:
        raise typer.Exit(FAILED)


def bench_verb(
    only: Annotated[str | None, option("NAMES", "Some scenarios, with commas between: a,b100,h.")] = None,
    pairs: Annotated[int, option("N", "Runs of each, in turns with ns-2.", min=1)] = 5,
    quick: Annotated[
        bool, typer.Option("--quick", help="Shorter runs, in which start-up weighs more than it should.")
    ] = False,
    out: Annotated[Path | None, option("FILE", "Write all timings there, as JSON.", "--out", "-o")] = None,
    json: Json = False,
) -> None:
    """Measure how fast packets are simulated, beside ns-2 if that is installed."""
    from json import dumps

    from bentpipe.bench.cases import chosen
    from bentpipe.bench.measure import measure
    from bentpipe.bench.page import show
    from bentpipe.io.files import TIMINGS, check_kind

    names = [name.strip() for name in (only or "").split(",") if name.strip()]
    cases = chosen(names)
    if out is not None:
        check_kind(out, TIMINGS)  # before the runs, which take long
        out.touch()
    found = measure(cases, pairs=pairs, quick=quick, more=not names, tell=terminal.note)

    def write() -> None:
        if out is not None:
            out.write_text(dumps(found, indent=1) + "\n", encoding="utf-8")

    write_and_show(write, lambda: terminal.give(lambda: found, lambda: show(found), json=json))


def doctor_verb(json: Json = False) -> None:
    """What works on this machine, and what to install for the rest."""
    from bentpipe.cli.doctor import examine
    from bentpipe.cli.tables import show_checks

    checks = examine()
    terminal.give(
        lambda: {"checks": [check.as_dict() for check in checks]}, lambda: show_checks(checks), json=json
    )
    if any(check.needed and check.found is None for check in checks):
        raise typer.Exit(FAILED)


def application(named: Sequence[str] = ()) -> typer.Typer:
    """The command line with the verbs that are named, or with all if there is none of these names.

    To look at the parameters of all verbs takes longer than most verbs do.
    """
    made = typer.Typer(
        cls=Verbs,
        help="A laboratory for TCP congestion control over satellite links.",
        no_args_is_help=True,
        epilog="Begin with `bentpipe run geo` or `bentpipe compare --link geo --cc cubic,bbr`.",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_options)
    wanted = set(ORDER).intersection(named) or ORDER
    for panel, verbs in VERBS.items():
        for verb, place in verbs.items():
            if verb not in wanted:
                continue
            module, _, name = place.partition(":")
            found = getattr(import_module(f"bentpipe.{module}"), name)
            if isinstance(found, typer.Typer):
                made.add_typer(found, name=verb, rich_help_panel=panel)
            else:
                made.command(verb, cls=_PARSED.get(verb), rich_help_panel=panel)(found)
    return made


def main() -> None:
    """Runs the verb that the command line names."""
    for number, word in enumerate(sys.argv[1:], start=1):
        if not word.isprintable() and any("\udc80" <= letter <= "\udcff" for letter in word):
            terminal.error(f"argument {number}, {ascii(word)}, is not text in UTF-8")
            sys.exit(2)
    if sys.argv[1:2] not in (["emulate"], ["kernel"]):  # which hand their environment to programs
        # It draws files alone, and that of a notebook's kernel may name a backend that is not here.
        os.environ.pop("MPLBACKEND", None)
    try:
        application(sys.argv[1:2])(prog_name="bentpipe")
    except KeyboardInterrupt:  # before or after the verb itself
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        terminal.error("interrupted")
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()

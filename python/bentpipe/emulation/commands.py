"""The verb `emulate`, and its live line: the last line of the terminal, below the output of the command."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from json import dumps
from pathlib import Path
from subprocess import DEVNULL
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from bentpipe import terminal, units
from bentpipe._core import ScenarioError
from bentpipe.cli import completion
from bentpipe.cli.verbs import (
    INTERRUPTED,
    Command,
    PcapAt,
    PcapWhole,
    Prometheus,
    Seed,
    Set,
    argument,
    option,
    overrides,
)
from bentpipe.emulation import programs
from bentpipe.emulation.metrics import metrics
from bentpipe.emulation.outside import names_stay_unresolved
from bentpipe.io import prometheus
from bentpipe.io.files import replace_text, try_place
from bentpipe.result import check_place

if TYPE_CHECKING:
    from bentpipe.emulation.session import Emulation, Side

_STDERR = 2
"""Output of programs of --serve: standard output belongs to the command, or with --json to the report."""
_WAYS = {"forward": "\N{RIGHTWARDS ARROW}", "reverse": "\N{LEFTWARDS ARROW}"}
"""The ways of a link, with an arrow for each."""
_MUCH_BYTES = 100_000
"""Data on the return link below which nothing is said: acknowledgements of less, names, a few pings."""
_LISTENS_S = 3.0
"""Time limit for a program of --serve to listen."""
_LOOK_S = 0.25
"""Between two changes of the live line."""
_EXPORT_S = 1.0
"""Between two files of metrics."""
_STOP_S = 0.45
"""In which a command ends after an interrupt, or is killed."""


def emulate_verb(
    link: Annotated[
        str,
        argument(
            "LINK",
            "A scenario: a TOML or JSON file, or a shipped one's name. It needs no flows.",
            completes=completion.scenarios,
        ),
    ],
    command: Command = None,
    set_: Set = None,
    path: Annotated[
        str | None, option("LINKS", "What is crossed, with commas between; otherwise the first flow's path.")
    ] = None,
    serve: Annotated[
        list[str] | None,
        option(
            "CMD",
            "Run this at the other end first, until the end. Repeatable. For a download from it add "
            "--at receiver: otherwise the data crosses the return link.",
        ),
    ] = None,
    at: Annotated[str, option("END", 'Where COMMAND runs: "sender" or "receiver".')] = "sender",
    for_: Annotated[str | None, option("TIME", 'End the command after that time, "120 s".', "--for")] = None,
    seed: Seed = None,
    mtu: Annotated[int, option("BYTES", "The largest packet of the link.", min=1280, max=9000)] = 1500,
    nat: Annotated[
        str | None,
        option(
            "IFACE",
            "Let COMMAND reach the real network behind this interface: it is then behind the other end.",
        ),
    ] = None,
    lateness_bound: Annotated[str, option("TIME", "How late one packet in a hundred may be.")] = "2 ms",
    out: Annotated[Path | None, option("FILE", "Write the report there, as JSON.", "--out", "-o")] = None,
    trace: Annotated[
        Path | None, option("DIR", "Write the links over time there, as run --out does.")
    ] = None,
    pcap: Annotated[
        Path | None, option("FILE", "Write the packets there, for Wireshark and its like.")
    ] = None,
    pcap_at: PcapAt = "sender",
    pcap_whole: PcapWhole = False,
    relay: Annotated[
        str | None,
        option(
            "PLACE",
            'Split TCP connections there: "gateway, buffer=8 MB, cc=hybla"; or its algorithm alone, '
            '"hybla"; "none": not, whatever the scenario says.',
        ),
    ] = None,
    cc: Annotated[
        str | None,
        option(
            "NAME",
            "Congestion control of programs that choose none: one of the kernel's, or ours once it is "
            "attached; otherwise the machine's default.",
        ),
    ] = None,
    prometheus_: Prometheus = None,
    web: Annotated[
        str | None, option("ADDRESS:PORT", "Show rate, queue, RTT and cwnd there: 127.0.0.1:8000.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary, and no live line.")] = False,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="The report as JSON on standard output; what COMMAND prints goes to standard error.",
        ),
    ] = False,
) -> None:
    """Run a real program behind a simulated link, as root. The other end's address is in BENTPIPE_PEER."""
    from bentpipe.emulation.session import Emulation
    from bentpipe.runs import Capture

    if not command:
        raise ScenarioError(
            f"emulate runs a program, behind two dashes: bentpipe emulate {link} -- ping -c 3 10.77.0.2"
        )
    if at not in ("sender", "receiver"):
        raise ScenarioError(f'--at {at}: COMMAND runs at "sender" or "receiver"')
    if pcap is None and (pcap_at != "sender" or pcap_whole):
        raise ScenarioError("--pcap-at and --pcap-whole say how to capture; add --pcap FILE")
    if trace is not None:
        check_place(trace)  # before the command, which may take long
    if out is not None:
        try_place(out)
    if prometheus_ is not None:
        prometheus.check_place(prometheus_)
    side: Side = "near" if at == "sender" else "far"
    most_s = None if for_ is None else units.seconds(for_, "--for")
    emulation = Emulation(
        link,
        overrides=overrides(set_ or []),
        path=None if path is None else [name.strip() for name in path.split(",") if name.strip()],
        relay=relay,
        cc=cc,
        seed=seed,
        duration=for_,
        lateness_bound_s=units.seconds(lateness_bound, "--lateness-bound"),
        trace=trace is not None,
        pcap=None if pcap is None else Capture(pcap, pcap_at, pcap_whole),
        mtu=mtu,
        nat=nat,
        nat_side="far" if side == "near" else "near",
    )
    if nat is not None and not quiet and names_stay_unresolved():
        terminal.note(
            "names are not resolved at the ends: /etc/resolv.conf names servers of the loopback alone"
        )
    servers = [_words("--serve", text) for text in serve or []]
    with programs.held() as heard:
        with emulation, _page(web, emulation, link, command), LiveLine(wanted=not quiet) as line:
            ends_s = emulation.changes_until_s
            if for_ is None and ends_s is not None and not quiet:
                terminal.note(f"the link changes for {ends_s:g} s, then it stays as it is; see --for")
            stdout = _STDERR if json else None
            looks: list[Callable[[Emulation], None]] = [line.look]
            if prometheus_ is not None:
                looks.append(Exporter(prometheus_, link))
            status = _work(emulation, command, side, servers, most_s, heard, looks, stdout)
        found = {**emulation.report(), "program": command, "exit_status": status}
        if prometheus_ is not None:
            prometheus.write(prometheus_, metrics(found, link))
        if trace is not None:
            emulation.result().save(trace)
        if out is not None:
            replace_text(out, dumps(found, indent=2) + "\n")
        if not quiet:
            _summary(found)
            if hint := against_the_data(found, at):
                terminal.note(hint)
            for place in (trace, pcap, out):
                if place is not None:
                    terminal.note(f"written to {place}")
        if json:
            terminal.answer(found)
    raise typer.Exit(status)


def _page(
    web: str | None, emulation: Emulation, link: str, command: list[str]
) -> AbstractContextManager[Any]:
    """The page of `--web`, as a context."""
    if web is None:
        return nullcontext()
    from bentpipe.live.sources import watching

    return watching(web, emulation, f"bentpipe emulate {link}", shlex.join(command))


def _words(option: str, text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ScenarioError(f"{option} {text}: {error}") from None
    if not words:
        raise ScenarioError(f"{option}: a command is needed, for example {option} 'iperf3 -s'")
    return words


def _work(
    emulation: Emulation,
    command: list[str],
    side: Side,
    servers: list[list[str]],
    most_s: float | None,
    heard: programs.Signals,
    looks: Sequence[Callable[[Emulation], None]],
    stdout: int | None,
) -> int:
    """Runs everything; the exit status of the command, which writes to `stdout` if that is given."""
    other: Side = "far" if side == "near" else "near"
    for words in servers:
        apart: dict[str, Any] = {"stdin": DEVNULL, "stdout": _STDERR, "start_new_session": True}
        server = _start(emulation, words, other, "--serve", **apart)
        programs.wait_for_listener(
            emulation, other, server, words, _LISTENS_S, lambda: heard.heard is not None
        )
        if heard.heard is not None:
            return INTERRUPTED
    program = _start(emulation, command, side, "COMMAND", stdout=stdout)
    began = time.monotonic()
    status = None
    while status is None and heard.heard is None:
        left = None if most_s is None else began + most_s - time.monotonic()
        if left is not None and left <= 0:
            program.terminate()
            break
        status = heard.wait(program, _LOOK_S if left is None else min(left, _LOOK_S))
        emulation.check()
        for look in looks if status is None else ():
            look(emulation)
    if status is None:
        status = programs.end(program, _STOP_S)
    return 128 - status if status < 0 else status


def _start(emulation: Emulation, words: list[str], side: Side, what: str, **given: Any) -> Any:
    try:
        return emulation.popen(words, side, **given)
    except FileNotFoundError:
        raise ScenarioError(f"{what}: there is no program {words[0]!r}") from None
    except PermissionError:
        raise ScenarioError(f"{what}: {words[0]!r} may not be executed") from None


def _summary(found: dict[str, Any]) -> None:
    """Reports on the link in a few lines on standard error."""
    for way in _WAYS:
        row = found[way]
        lost = [
            f"{row[key]:,} {what}"
            for key, what in (
                ("dropped_queue", "dropped by the queue"),
                ("dropped_error", "lost to errors"),
                ("marked", "marked"),
                ("refused_protocol", "refused as not IP"),
                ("refused_size", "refused as too long"),
                ("kernel_dropped_before", "dropped by the kernel before the link"),
                ("kernel_dropped_behind", "dropped by the kernel behind the link"),
                ("socket_dropped", "dropped behind the link by UDP sockets whose program read too late"),
            )
            if row[key]
        ]
        carried = f"{row['delivered_packets']:,} packets, {units.rate(row['rate_bps'])}"
        terminal.note(f"{way}: {', '.join([carried, *lost])}")
    if relay := found.get("relay"):
        names = relay["wanted"]
        missing = (
            f", because the kernel has no {names[-1]} (bentpipe kernel attach gives it ours)"
            if names and relay["controller"] not in names
            else ""
        )
        carried = f"{relay['connections']:,} connections, {units.digits(relay['bytes'] / 1e6, 3)} MB"
        ended = {"unreached": "unreached", "broken": "reset by an end"}
        lost = [f"{relay[key]:,} {words}" for key, words in ended.items() if relay[key]]
        terminal.note(f"relay: {', '.join([carried, *lost])}; it sends with {relay['controller']}{missing}")
    by = found["congestion_control_by"]
    means = {
        None: ", this machine's default, unless a program chooses its own; --cc chooses another",
        "sysctl": "",
        "route": ", set by the routes, which override what a program chooses before it connects",
    }
    terminal.note(f"TCP at the ends: {found['congestion_control']}{means[by]}")
    terminal.note(_lateness(found))
    if found["capture_missed"]:
        terminal.note(f"the capture has missed {found['capture_missed']:,} packets: the disk was too slow")
    if not all(found[way]["realtime"] for way in _WAYS):
        terminal.note("the real-time class SCHED_FIFO was refused; packets are later than they need be")


def against_the_data(found: dict[str, Any], at: str) -> str:
    """A hint to swap the ends if most of the data has crossed the return link; empty if it has not.

    Args:
        found: the report.
        at: where COMMAND ran, "sender" or "receiver".
    """
    forward, back = (found[way]["delivered_bytes"] for way in _WAYS)
    if back < _MUCH_BYTES or back < 2 * forward:
        return ""
    other = "receiver" if at == "sender" else "sender"
    return (
        f"most of the data crossed the return link ({units.digits(back / 1e6, 3)} of "
        f"{units.digits((forward + back) / 1e6, 3)} MB); --at {other} lets it cross the forward link"
    )


def _lateness(found: dict[str, Any]) -> str:
    """The lateness of packets, and whether it is within the bound."""
    if found["kept_time"] is None:
        return "lateness: no packet crossed the link, so nothing is known of it"
    late = [max(found[way][f"lateness_{q}_s"] for way in _WAYS) for q in ("p50", "p99", "max")]
    p50, p99, most = map(short, late)
    bound = short(found["lateness_bound_s"])
    kept = "kept time" if found["kept_time"] else f"did not keep time: 99 % of packets must be within {bound}"
    return f"lateness: half within {p50}, 99 % within {p99}, all within {most}; {kept}"


def short(seconds: float) -> str:
    """A short time: in microseconds below a millisecond."""
    return f"{seconds * 1e6:.0f} \N{MICRO SIGN}s" if seconds < 1e-3 else f"{units.milliseconds(seconds)} ms"


def line_text(snapshot: dict[str, Any]) -> str:
    """The numbers of a snapshot in one line: rate, queue and losses both ways, and how late packets were."""
    parts = [f"{snapshot['t_s']:.0f} s"]
    for way, arrow in _WAYS.items():
        row = snapshot[way]
        lost = row["dropped_queue"] + row["dropped_error"]
        parts.append(
            f"{arrow} {units.rate(row['rate_bps'])}, {row['queue_packets']:,} waiting, {lost:,} lost"
        )
    late = max(snapshot[way]["lateness_p99_s"] for way in _WAYS)
    parts.append(f"99 % within {short(late)}")
    return "   ".join(parts)


class Exporter:
    """Writes the metrics of an emulation once a second."""

    def __init__(self, place: Path, link: str) -> None:
        self._place, self._link, self._due = place, link, 0.0

    def __call__(self, emulation: Emulation) -> None:
        """Writes them if it is time."""
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _EXPORT_S
            prometheus.write(self._place, metrics(emulation.snapshot(), self._link))


class LiveLine:
    """Keeps the last line of the terminal of standard error for itself, if there is one; as a context.

    The other lines scroll above it, as the command writes them (the terminal's scroll region, DECSTBM). A
    program that takes the terminal for itself, as a shell does, has it: nothing is drawn then.
    """

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted and sys.stderr is not None and sys.stderr.isatty()
        self._rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._rows:
            self._put(f"\x1b7\x1b[r\x1b[{self._rows};1H\x1b[2K\x1b8")
            self._rows = 0

    @property
    def is_shown(self) -> bool:
        """Whether a line would be visible now."""
        if not self._wanted:
            return False
        try:
            return os.tcgetpgrp(sys.stderr.fileno()) == os.getpgrp()
        except OSError:
            return False

    def look(self, emulation: Emulation) -> None:
        """Draws the line if it is visible."""
        if self.is_shown:
            self.show(emulation.snapshot())

    def show(self, snapshot: dict[str, Any]) -> None:
        """Draws the line, which `is_shown`."""
        from rich.console import Console
        from rich.text import Text

        columns, rows = shutil.get_terminal_size()
        if rows < 3:
            return
        if rows != self._rows:
            # A new line first: the last one may hold the cursor.
            self._put(f"\n\x1b7\x1b[1;{rows - 1}r\x1b8\x1b[1A")
            self._rows = rows
        console = Console(file=sys.stderr, width=columns, highlight=False, markup=False)
        line = Text(line_text(snapshot), style="dim", no_wrap=True, overflow="ellipsis", end="")
        with console.capture() as drawn:
            console.print(line, end="")
        self._put(f"\x1b7\x1b[{rows};1H\x1b[2K{drawn.get()}\x1b8")

    def _put(self, control: str) -> None:
        sys.stderr.write(control)
        sys.stderr.flush()

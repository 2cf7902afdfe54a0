"""The verbs `bentpipe kernel`."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, NoReturn, TypeVar

import typer

from bentpipe import terminal, units
from bentpipe._core import KernelError, ScenarioError
from bentpipe.cli import completion
from bentpipe.cli.verbs import FAILED, Command, Json, Prometheus, RunsCommand, argument, option
from bentpipe.io import prometheus
from bentpipe.kernel import machine, records, running
from bentpipe.kernel.agent import notify_systemd
from bentpipe.kernel.attach import KernelFailed, attach, detach, find
from bentpipe.kernel.choice import choose, gaps, offered
from bentpipe.kernel.metrics import metrics

T = TypeVar("T")

app = typer.Typer(
    help="Controllers inside the TCP of this machine's kernel, for real connections.", no_args_is_help=True
)

_STDERR = 2

_EVERY_S = 1.0
"""Between two looks of --watch."""
_MOST_FLOWS = 50
_MUCH_BYTES = 1_000_000

Name = Annotated[
    str, argument("NAME", 'An algorithm, "vegas alpha=2", or my.py:MyClass.', completes=completion.algorithms)
]
Native = Annotated[bool, typer.Option("--native", help="The program without an agent, where there is one.")]
Set = Annotated[
    list[str] | None, option("PARAMETER=VALUE", "A parameter of the algorithm. Repeatable.", "--set")
]


@app.command("attach")
def attach_verb(
    name: Name,
    pin: Annotated[
        bool, typer.Option("--pin", help="It stays in the kernel when its agent ends, until it is detached.")
    ] = False,
    native: Native = False,
    congctl: Annotated[
        list[str] | None,
        option(
            "ROUTE",
            'Connections over this route use it: default, 10.0.0.0/8, "default dev eth0". Repeatable.',
        ),
    ] = None,
    set_: Set = None,
    foreground: Annotated[
        bool, typer.Option("--foreground", help="The agent is this process, for systemd.")
    ] = False,
) -> None:
    """Register a controller in the kernel, and start its agent."""
    choice = choose(name, set_ or [], native=native)
    _sweep()
    _work(lambda: attach(choice, pin=pin, congctl=congctl or [], foreground=foreground, ready=_say_attached))


def _say_attached(record: records.AttachedController) -> None:
    what = "native" if record.choice.native else f"agent {record.pid}"
    where = f", pinned at {record.pin}" if record.pin else ""
    terminal.line(
        f"{terminal.plain(record.choice.given)} is attached as {record.choice.name} ({what}{where})"
    )
    for table in record.routes:
        terminal.line(f"route {' '.join(table['new'])}")
    terminal.line(
        f"programs choose it by TCP_CONGESTION, for example iperf3 -C {record.choice.name}; "
        f"bentpipe kernel detach {record.choice.name} ends it"
    )
    for text in gaps(record.choice):
        terminal.note(f"in the kernel: {text}")
    notify_systemd()


@app.command("detach")
def detach_verb(
    name: Annotated[
        str | None, argument("[NAME]", "One of what is attached; all of it without a name.")
    ] = None,
) -> None:
    """Take a controller out of the kernel, with its agent, its pins and its routes."""
    _check_readable()
    _sweep()
    there = _work(lambda: find(name))
    if not there:
        terminal.line("nothing is attached")
    for record in there:
        trouble = _work(lambda record=record: detach(record))  # type: ignore[misc]
        what = "is detached" if trouble is not None else "was detached meanwhile, by another command"
        terminal.line(f"{record.choice.name} {what}")
        for text in trouble or ():
            terminal.error(f"warning: {text}")


@app.command("status")
def status_verb(
    watch: Annotated[bool, typer.Option("--watch", help="Again every second, until Ctrl-C.")] = False,
    web: Annotated[
        str | None, option("ADDRESS:PORT", "On a page of this machine, until Ctrl-C: 127.0.0.1:8000.")
    ] = None,
    prometheus_: Prometheus = None,
    json: Json = False,
) -> None:
    """Show what is attached: flows, windows, rates, age of the last orders, fallbacks, latency."""
    _check_readable()
    if web is not None and (json or watch or prometheus_ is not None):
        raise ScenarioError("--web shows it on a page; leave out --json, --watch and --prometheus")
    if prometheus_ is not None:
        prometheus.check_place(prometheus_)
    _sweep()
    if web is not None:
        _serve(web)
        return
    while True:
        now = records.status()
        if prometheus_ is not None:
            prometheus.write(prometheus_, metrics(now))
        terminal.give(partial(dict, controllers=now), partial(show_status, now), json=json)
        if not watch:
            return
        time.sleep(_EVERY_S)
        terminal.line()


def _serve(address: str) -> None:
    """The live page, until Ctrl-C."""
    from bentpipe import live
    from bentpipe.live.sources import KernelSource, kernel_page

    with live.serve(address, kernel_page("bentpipe kernel"), KernelSource(records.together)) as shown:
        terminal.line(f"{shown.address} (Ctrl-C ends it)")
        if sys.stdout is not None:
            sys.stdout.flush()
        threading.Event().wait()


@app.command("run", cls=RunsCommand)
def run_verb(
    name: Name,
    command: Command = None,
    native: Native = False,
    set_: Set = None,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="What the agent said last, as JSON on standard output; what COMMAND prints goes to standard "
            "error.",
        ),
    ] = False,
) -> None:
    """Run a command whose TCP connections, and no others, use a controller; exit with its status."""
    choice = choose(name, set_ or [], native=native)
    if not command:
        raise ScenarioError(
            f"run needs a command, behind two dashes: bentpipe kernel run {name} -- iperf3 -c HOST"
        )
    _sweep()
    before = machine.octets()
    exit_status, said = _work(lambda: running.run(choice, command, output=_STDERR if json else None))
    if hint := receives(choice.name, before, machine.octets()):
        terminal.note(hint)
    if json:
        terminal.answer(said)
    raise typer.Exit(exit_status)


def receives(name: str, before: tuple[int, int], after: tuple[int, int]) -> str:
    """A hint that an algorithm at the end that receives does nothing; empty if much was sent, too.

    Args:
        name: the algorithm.
        before: bytes received and sent in this network before the command ran.
        after: the same behind it.
    """
    came, went = (now - then for now, then in zip(after, before, strict=True))
    if came < _MUCH_BYTES or came < 10 * went:
        return ""
    return (
        f"this network received {units.digits(came / 1e6, 3)} MB and sent {units.digits(went / 1e6, 3)} MB "
        f"meanwhile: {name} steers what is sent, and at the end that receives it does nothing; run it where "
        "the data comes from"
    )


@app.command("list")
def list_verb(json: Json = False) -> None:
    """Show what can be attached, and what the kernel cannot carry of each."""
    rows = offered()
    terminal.give(lambda: {"algorithms": rows}, lambda: show_offered(rows), json=json)


def _check_readable() -> None:
    """Refuses a user who may not read what is attached, and would see nothing."""
    if records.unreadable():
        names = ", ".join(records.unseen())
        _refuse(f"only root may see what is attached{f' ({names})' if names else ''}: run it as root")


def _sweep() -> None:
    """Removes leftovers of killed runs, and reports it."""
    for text in running.sweep():
        terminal.note(text)


def _work(work: Callable[[], T]) -> T:
    """Runs a verb; a refusal by the kernel or for lack of privileges is one line and exit status 1."""
    try:
        return work()
    except (KernelFailed, KernelError) as failure:
        _refuse(str(failure))
    except PermissionError as failure:
        _refuse(f"{failure.filename or 'this'}: {failure.strerror}; run it as root")


def _refuse(text: str) -> NoReturn:
    terminal.error(text)
    raise typer.Exit(FAILED)


def show_status(attached: Sequence[Mapping[str, Any]]) -> None:
    """The controllers in the kernel, and the flows of each."""
    if not attached:
        terminal.line("nothing is attached")
    for one in attached:
        terminal.line(_headline(one))
        for line in _details(one):
            terminal.line(f"  {line}")
        flows = one.get("flows") or []
        if flows:
            show_flows(flows[:_MOST_FLOWS])
            if len(flows) > _MOST_FLOWS:
                terminal.line(f"... and {len(flows) - _MOST_FLOWS:,} flows more; --json prints all")


def _headline(one: Mapping[str, Any]) -> str:
    pid = "" if one.get("pid") is None else f" {one['pid']}"
    kind = "native" if one["native"] else "agent"
    state = f"{kind}{pid}" if one["agent"] == "running" else "its agent has ended"
    flows = one.get("flows")
    count = "" if flows is None else f", {units.many(len(flows), 'flow')}"
    return f"{one['name']} ({terminal.plain(one['cc'])}): {state}{count}"


def _details(one: Mapping[str, Any]) -> list[str]:
    lines = []
    if not one["attached"]:
        lines.append("not attached: of bentpipe kernel run, or of another program")
    if one.get("pin"):
        lines.append(f"pinned at {one['pin']}: it outlives the agent")
    lines += [f"route {route}" for route in one["routes"]]
    if one["agent"] != "running" and one["attached"]:
        go_on = "connections go on by the fallback; " if one.get("pin") else ""
        lines.append(f"{go_on}attach it again, or: bentpipe kernel detach {terminal.plain(one['cc'])}")
    if one.get("error"):
        lines.append(f"the agent says: {terminal.plain(one['error'])}")
    if one.get("reports") is not None:
        lines.append(f"{one['reports']:,} reports, {one.get('dropped_reports', 0):,} dropped")
    for key, what in (("ack_to_agent_s", "ACK to agent"), ("ack_to_applied_s", "ACK to applied")):
        times = (one.get("latency") or {}).get(key) or {}
        if times.get("p50") is not None:
            shown = ", ".join(f"{name} {_micros(times.get(name))}" for name in ("p50", "p90", "p99", "max"))
            lines.append(f"{what}: {shown}")
    return lines


def show_flows(flows: Sequence[Mapping[str, Any]]) -> None:
    """A row for each flow."""
    heads = [
        *("<local", "<remote", "cwnd", "ssthresh", "in flight", "pacing", "RTT ms", "delivered"),
        *("orders", "last order", "fallbacks"),
    ]
    terminal.show_table("", heads, [_row(flow) for flow in flows])


def _row(flow: Mapping[str, Any]) -> list[str]:
    age, srtt, pacing = flow.get("order_age_s"), flow.get("srtt_s"), flow.get("pacing_bps")
    return [
        terminal.plain(str(flow.get("local", ""))),
        terminal.plain(str(flow.get("remote", ""))),
        _count(flow.get("cwnd_segments")),
        _count(flow.get("ssthresh_segments")),
        _count(flow.get("in_flight_segments")),
        "-" if not pacing else units.rate(pacing),
        "-" if srtt is None else units.milliseconds(srtt),
        "-" if flow.get("delivered_bytes") is None else f"{flow['delivered_bytes'] / 1e6:,.1f} MB",
        _count(flow.get("orders")),
        "-" if age is None else f"{units.milliseconds(age)} ms",
        _count(flow.get("fallbacks")),
    ]


def _count(value: Any) -> str:
    return "-" if value is None or value >= 2**31 - 1 else f"{value:,}"


def _micros(value: float | None) -> str:
    return "-" if value is None else f"{value * 1e6:,.0f} us"


def show_offered(rows: Sequence[Mapping[str, Any]]) -> None:
    """The controllers that can be attached."""
    cells = [
        [row["id"], row["label"], row["name"], row["native"] or "-", "; ".join(row["gaps"])] for row in rows
    ]
    terminal.show_table(
        "", ["<name", "<algorithm", "<in the kernel", "<native", "~what the kernel cannot carry"], cells
    )

"""The guest's links and algorithms, as links.toml has them, and its first program: a script of busybox."""

from __future__ import annotations

import socket
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from btf import MemberPlace, Types
from debian import Kernel
from qemu import Files, base, program

PORT = 5001
_GIVEN = tomllib.loads(Path(__file__).with_name("links.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class GuestPath:
    """A path of one queue, in the guest: three network namespaces in a row, the queue in the middle one.

    `rate_kbit` and `queue` (packets) are those of the data's direction; all of `rtt_ms` is on the way of the
    ACKs. Every `drop_every`-th packet is lost after the queue (0: none), and for `outage_s` (from, to) all.
    """

    name: str
    about: str
    rate_kbit: int
    rtt_ms: int
    queue: int
    seconds: float
    drop_every: int = 0
    outage_s: Sequence[float] | None = None


LINKS = {name: GuestPath(name, **of) for name, of in _GIVEN["links"].items()}


@dataclass(frozen=True)
class Module:
    """An algorithm of the kernel: its name there, the module's name, and the functions that it registers."""

    name: str
    module: str
    cong_avoid: str
    ssthresh: str
    pkts_acked: str = ""
    set_state: str = ""
    cwnd_event: str = ""
    in_ack_event: str = ""
    smoothed: bool = False
    """Whether it, or our controller of that name, reads the smoothed RTT. Then the table has it."""
    ticks: bool = False
    """Whether it counts the kernel's clock ticks. Then the table has them."""


MODULES = {name: Module(name, **of) for name, of in _GIVEN["modules"].items()}


def assemble(kernel: Kernel, modules: tuple[str, ...], body: str, programs: tuple[Path, ...] = ()) -> Files:
    """A guest that runs `body`, a shell script, and hands out the files that it left in /out."""
    wanted = kernel.modules(*modules)
    load = "".join(f"insmod /modules/{name}.ko || echo 'no {name}'\n" for name, _ in wanted)
    script = Path(__file__).with_suffix(".sh").read_text(encoding="utf-8")
    files = base(script.replace("# BODY\n", load + body), wanted)
    for path in programs:
        program(files, path)
    return files


def script(part: str, /, **values: object) -> str:
    """A part of a guest's script: a file beside this one, in which names in braces stand for values."""
    return Path(__file__).with_name(f"{part}.sh").read_text(encoding="utf-8").format(**values)


def _u(place: MemberPlace, kind: str, register: str = "di") -> str:
    return f"+{place.byte}(%{register}):{kind}"


def _bit(place: MemberPlace) -> str:
    return f"+{place.byte}(%di):b{place.width}@{place.bit}/8"


def probes(types: Types, module: Module) -> list[str]:
    """The kernel probes, as lines for tracefs's `kprobe_events` (`Documentation/trace/kprobetrace.rst`).

    Every one shows the socket's port, clock, sequence numbers and window. `ack` is before the answer to an
    ACK, `avoid` at the call of `cong_avoid`, and so on; `cut` is the result of `ssthresh`.
    """

    def tp(member: str) -> MemberPlace:
        return types.place("tcp_sock", member)

    def sample(member: str) -> MemberPlace:
        return types.place("ack_sample", member)

    state = types.place("inet_connection_sock", "icsk_ca_state")
    private = types.place("inet_connection_sock", "icsk_ca_priv")
    common = " ".join(
        [
            f"port=+{types.place('sock_common', 'skc_dport').byte}(%di):u16",
            "t=" + _u(tp("tcp_mstamp"), "u64"),
            "una=" + _u(tp("snd_una"), "u32"),
            "nxt=" + _u(tp("snd_nxt"), "u32"),
            "cwnd=" + _u(tp("snd_cwnd"), "u32"),
            "cnt=" + _u(tp("snd_cwnd_cnt"), "u32"),
            "ssthresh=" + _u(tp("snd_ssthresh"), "u32"),
            "state=" + _bit(state),
            *(["ticks=@jiffies:u32"] if module.ticks else []),
        ]
    )
    rtt = types.place("rate_sample", "rtt_us")
    ack = " ".join(
        [
            "delivered=%si:u32",
            "lost=%dx:u32",
            "rtt=" + _u(rtt, "s64", "r8"),
            "srtt=" + _u(tp("srtt_us"), "u32"),
            "out=" + _u(tp("packets_out"), "u32"),
            "sacked=" + _u(tp("sacked_out"), "u32"),
            "gone=" + _u(tp("lost_out"), "u32"),
            "again=" + _u(tp("retrans_out"), "u32"),
            "most=" + _u(tp("max_packets_out"), "u32"),
            "limited=" + _bit(tp("is_cwnd_limited")),
        ]
    )
    priv = f"priv=+{private.byte}(%di):x32[26]"
    lines = [
        f"p:o/ack tcp_rate_gen {common} {ack}",
        f"p:o/state tcp_set_ca_state {common} to=%si:u8",
        f"p:o/avoid {module.cong_avoid} {common} acked=%dx:u32 {priv}",
        f"p:o/ask {module.ssthresh} {common} {priv}",
        f"r:o/cut {module.ssthresh} value=$retval:u32",
    ]
    if module.pkts_acked:
        values = f"acked={_u(sample('pkts_acked'), 'u32', 'si')} rtt={_u(sample('rtt_us'), 's32', 'si')}"
        lines.append(
            f"p:o/sample {module.pkts_acked} {common} {values} flight={_u(sample('in_flight'), 'u32', 'si')}"
        )
    for name, function in (
        ("own_state", module.set_state),
        ("event", module.cwnd_event),
        ("in_ack", module.in_ack_event),
    ):
        if function:
            lines.append(f"p:o/{name} {function} {common} what=%si:u32")
    return lines


def network(link: GuestPath, congestion: str) -> str:
    """The shell script that makes `link`, with `congestion` for the sender's traffic."""
    dropping = _filter("add", f"ok random determ drop {link.drop_every}") + "\n" if link.drop_every else ""
    return script("network", link=link, congestion=congestion) + dropping


def _filter(verb: str, action: str) -> str:
    return f"tc -n d filter {verb} dev d0 parent ffff: protocol ip prio 1 handle 1 matchall action {action}"


def trace_guest(kernel: Kernel, types: Types, link: GuestPath, module: Module, transfer: Path) -> Files:
    """A guest that sends over `link` with `module` and leaves the trace of every ACK in `trace`.

    `transfer` is the program made of transfer.rs. A ping comes first, so that no address has to be asked for
    later.
    """
    wait = [f"sleep {link.seconds + 0.5:g}"]
    if link.outage_s:
        start, stop = link.outage_s
        wait = [
            f"sleep {start:g}",
            _filter("add", "drop"),
            f"sleep {stop - start:g}",
            "tc -n d filter del dev d0 parent ffff:",
            f"sleep {link.seconds - stop + 0.5:g}",
        ]
    probing = [
        f"echo '{probe}' >> kprobe_events || echo 'refused: {probe.split()[0]}'"
        for probe in probes(types, module)
    ]
    ports = {"port": PORT, "in_memory": socket.htons(PORT)}
    body = script("trace", link=link, probes="\n".join(probing), wait="\n".join(wait), **ports)
    wanted = ("veth", "sch_netem", "sch_ingress", "cls_matchall", "act_gact", module.module)
    return assemble(kernel, wanted, network(link, module.name) + body, (transfer,))

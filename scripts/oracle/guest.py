"""The guest's links and algorithms, as links.toml has them, and its first program: a script of busybox."""

from __future__ import annotations

import socket
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from btf import Place, Types
from debian import Kernel
from qemu import Files, base, program

PORT = 5001
_GIVEN = tomllib.loads(Path(__file__).with_name("links.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Link:
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


LINKS = {name: Link(name, **of) for name, of in _GIVEN["links"].items()}


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


def types_guest(kernel: Kernel) -> Files:
    """A guest that hands out the kernel's description of its types."""
    return assemble(kernel, (), "cp /sys/kernel/btf/vmlinux /out/btf\n")


def _u(place: Place, kind: str, register: str = "di") -> str:
    return f"+{place.byte}(%{register}):{kind}"


def _bit(place: Place) -> str:
    return f"+{place.byte}(%di):b{place.width}@{place.bit}/8"


def probes(types: Types, module: Module) -> list[str]:
    """The kernel probes, as lines for tracefs's `kprobe_events` (`Documentation/trace/kprobetrace.rst`).

    Every one shows the socket's port, clock, sequence numbers and window. `ack` is before the answer to an
    ACK, `avoid` at the call of `cong_avoid`, and so on; `cut` is the result of `ssthresh`.
    """

    def tp(member: str) -> Place:
        return types.place("tcp_sock", member)

    def sample(member: str) -> Place:
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


def network(link: Link, congestion: str) -> str:
    """The shell script that makes `link`, with `congestion` for the sender's traffic."""
    lines = ["ip netns add s; ip netns add r; ip netns add d"]
    lines += ["ip link add s0 netns s type veth peer name r0 netns r"]
    lines += ["ip link add d0 netns d type veth peer name r1 netns r"]
    for space, device, address in (
        ("s", "s0", "1.1"),
        ("r", "r0", "1.2"),
        ("r", "r1", "2.2"),
        ("d", "d0", "2.1"),
    ):
        lines += [
            f"ip netns exec {space} sh -c 'echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6'",
            f"ip -n {space} addr add 10.0.{address}/24 dev {device}",
            f"ip netns exec {space} ethtool -K {device} tso off gso off gro off",
            f"ip -n {space} link set {device} up",
        ]
    lines += [
        "ip netns exec r sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'",
        f"ip -n s route add 10.0.2.0/24 via 10.0.1.2 congctl lock {congestion} initcwnd 10",
        "ip -n d route add 10.0.1.0/24 via 10.0.2.2",
        "ip netns exec s sh -c 'echo 1 > /proc/sys/net/ipv4/tcp_no_metrics_save'",
        "ip netns exec s sh -c 'echo 4096 65536 8388608 > /proc/sys/net/ipv4/tcp_wmem'",
        "ip netns exec d sh -c 'echo 4096 131072 8388608 > /proc/sys/net/ipv4/tcp_rmem'",
        f"tc -n r qdisc add dev r1 root netem rate {link.rate_kbit}kbit limit {link.queue}",
        f"tc -n r qdisc add dev r0 root netem delay {link.rtt_ms}ms limit 10000",
        "tc -n d qdisc add dev d0 ingress",
    ]
    if link.drop_every:
        lines.append(_filter("add", f"ok random determ drop {link.drop_every}"))
    return "\n".join(lines) + "\n"


def _filter(verb: str, action: str) -> str:
    return f"tc -n d filter {verb} dev d0 parent ffff: protocol ip prio 1 handle 1 matchall action {action}"


def trace_guest(kernel: Kernel, types: Types, link: Link, module: Module, transfer: Path) -> Files:
    """A guest that sends over `link` with `module` and leaves the trace of every ACK in `trace`.

    `transfer` is the program made of transfer.rs.
    """
    lines = [
        "cd /sys/kernel/tracing || { mount -t tracefs t /sys/kernel/tracing; cd /sys/kernel/tracing; }",
        "[ -e kprobe_events ] || { mount -t tracefs t /sys/kernel/tracing; cd /sys/kernel/tracing; }",
        "echo 65536 > buffer_size_kb",
        "echo mono > trace_clock",
        *(
            f"echo '{probe}' >> kprobe_events || echo 'refused: {probe.split()[0]}'"
            for probe in probes(types, module)
        ),
        "for e in events/o/*/filter; do",
        f"case $e in events/o/cut/*) ;; *) echo 'port == {socket.htons(PORT)}' > $e;; esac",
        "done",
        "echo 1 > events/o/enable",
        f"echo 'dport == {PORT}' > events/tcp/tcp_probe/filter",
        "echo 1 > events/tcp/tcp_probe/enable",
        "cd /",
        "ip netns exec s ping -c 1 -W 3 10.0.2.1",  # so that no address has to be asked for later
        f"ip netns exec d transfer receive {PORT} &",
        "sleep 1",
        f"ip netns exec s transfer send 10.0.2.1 {PORT} {link.seconds:g} &",
    ]
    if link.outage_s:
        start, stop = link.outage_s
        lines += [
            f"sleep {start:g}",
            _filter("add", "drop"),
            f"sleep {stop - start:g}",
            "tc -n d filter del dev d0 parent ffff:",
            f"sleep {link.seconds - stop + 0.5:g}",
        ]
    else:
        lines.append(f"sleep {link.seconds + 0.5:g}")
    lines += [
        "echo 0 > /sys/kernel/tracing/tracing_on",
        "cat /sys/kernel/tracing/trace > /out/trace",
        "cat /sys/kernel/tracing/kprobe_profile",
        "tc -n r -s qdisc; uname -r",
        "dmesg | tail -20",
    ]
    wanted = ("veth", "sch_netem", "sch_ingress", "cls_matchall", "act_gact", module.module)
    return assemble(kernel, wanted, network(link, module.name) + "\n".join(lines) + "\n", (transfer,))

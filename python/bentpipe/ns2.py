"""ns-2 as an outside witness.

One `Dumbbell` describes a single-flow scenario; `run` carries it out in ns-2 and `scenario` states the same
for Bentpipe. ns-2 2.35 (Debian package `ns2`, command `ns`) decides for itself how many bytes a segment has
on the wire, when a connection starts and where an error model sits; the comments beside each setting say what
it does by default and why it is changed. `docs/validation.md` lists what could not be made equal.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

MISSING = "ns-2 is not installed (apt install ns2)"

MSS = 1460
"""Payload bytes of a data segment in both simulators."""


@dataclass(frozen=True)
class Sender:
    """One kind of TCP sender, in ns-2 and here.

    `agent` is the ns-2 class, `module` the congestion control of `Agent/TCP/Linux`; `header` the bytes on the
    wire beside the payload; `cc` the controller here, as a scenario names it.
    """

    key: str
    label: str
    agent: str
    cc: str | dict[str, Any]
    module: str | None = None
    header: int = 40

    @property
    def timestamps(self) -> bool:
        """Does the sender use timestamps? `Agent/TCP/Linux` needs them to measure round-trip times."""
        return self.module is not None


SENDERS: dict[str, Sender] = {
    s.key: s
    for s in (
        Sender("reno", "Reno, SACK", "Agent/TCP/Sack1", "reno"),
        Sender(
            "vegas", "Vegas, Linux rules", "Agent/TCP/Linux", {"name": "vegas", "rules": "linux"}, "vegas", 52
        ),
        Sender("veno", "Veno, Linux rules", "Agent/TCP/Linux", "veno", "veno", 52),
        Sender("vegas-native", "Vegas, native", "Agent/TCP/Vegas", "vegas"),
    )
}


@dataclass(frozen=True)
class Dumbbell:
    """Host - router - router - host with one flow; the middle link is the bottleneck.

    Rates in bit/s, times in seconds, `buffer` (with the packet in transmission) and `window` in packets.
    `rtt` is the two-way propagation delay of the whole path. Loss on the bottleneck, data direction,
    after the queue: `per` is the probability per packet, `drops` the 0-based indices of the packets
    lost (one of the two at most). `ssthresh` is the initial slow-start threshold in segments; `None`
    means the window limit, as in ns-2.
    """

    rate: float = 10e6
    rtt: float = 0.5
    buffer: int = 416
    window: int = 832
    per: float = 0.0
    drops: tuple[int, ...] = ()
    duration: float = 100.0
    ssthresh: int | None = None
    initial_window: int = 1
    access_rate: float = 1e9
    access_delay: float = 0.001

    @classmethod
    def of(
        cls, rate: float, rtt: float, buffer_bdp: float = 1.0, window_bdp: float = 2.0, **other: Any
    ) -> Dumbbell:
        """Buffer and receive window as multiples of the bandwidth-delay product in 1500-byte packets."""
        bdp = rate * rtt / 8.0 / 1500.0
        return cls(rate=rate, rtt=rtt, buffer=int(buffer_bdp * bdp), window=int(window_bdp * bdp), **other)

    @property
    def core_delay(self) -> float:
        """One-way propagation delay of the bottleneck link, s."""
        return self.rtt / 2.0 - 2.0 * self.access_delay


@dataclass(frozen=True)
class Run:
    """What one ns-2 run yields: counts of data packets; CPU seconds (user and system) of the process."""

    delivered: int
    sent: int
    retransmitted: int
    timeouts: int
    cuts: int
    cpu_s: float
    wall_s: float

    def goodput(self, dumbbell: Dumbbell) -> float:
        """In-order payload bits per second over the whole run."""
        return self.delivered * MSS * 8.0 / dumbbell.duration


_SCRIPT = Template("""\
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$$ns use-scheduler Calendar

set sender [$$ns node]
set near [$$ns node]
set far [$$ns node]
set receiver [$$ns node]
$$ns duplex-link $$sender $$near $access_rate $access_delay DropTail
$$ns duplex-link $$near $$far $rate $core_delay DropTail
$$ns duplex-link $$far $$receiver $access_rate $access_delay DropTail
foreach {a b} [list $$sender $$near $$near $$sender $$far $$near $$far $$receiver $$receiver $$far] {
  $$ns queue-limit $$a $$b 10000000
}
$$ns queue-limit $$near $$far $buffer
$loss

Agent/TCP set tcpTick_ 0.01
Agent/TCP set minrto_ 0.2
Agent/TCP set maxrto_ 60
# No connection set-up: with syn_ the first packet carries no payload, with delay_growth_ the window waits for
# its echo.
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set windowInit_ $initial_window
Agent/TCP set window_ $window
# ns-2 charges 10 bytes for timestamps; on the wire they are 12 (RFC 7323, padded).
Agent/TCP set ts_option_size_ 12
set tcp [new $agent]
set sink [new $sink]
$$tcp set packetSize_ $packet_size
$$sink set packetSize_ 40
$options
$$ns attach-agent $$sender $$tcp
$$ns attach-agent $$receiver $$sink
$$ns connect $$tcp $$sink
set source [new Application/FTP]
$$source attach-agent $$tcp
proc begin {} {
  global tcp source
  # ns-2 resets every agent when the simulation begins, so the threshold is set only then.
  $begin
  $$source start
}
$$ns at 0.0 begin
$$ns at $duration {
  set counts [expr [$$tcp set ack_] + 1]
  foreach name {ndatapack_ nrexmitpack_ nrexmit_ ncwndcuts_} { lappend counts [$$tcp set $$name] }
  puts "counts $$counts"
  exit 0
}
$$ns run
""")


def available() -> bool:
    """Is the command `ns` there, and is it ns-2?"""
    found = shutil.which("ns")
    if found is None:
        return False
    probe = subprocess.run(
        [found, "/dev/stdin"],
        input="puts [info commands remove-all-packet-headers]; exit 0",
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return "remove-all-packet-headers" in probe.stdout


def script(dumbbell: Dumbbell, sender: Sender, seed: int = 1, *, loss_before_queue: bool = False) -> str:
    """The Tcl text of one run.

    `lossmodel` puts an error model in front of the queue, `link-lossmodel` behind the link's delay; Bentpipe
    loses packets behind the queue, so the second is used unless `loss_before_queue`.
    """
    loss = ""
    if dumbbell.per > 0.0:
        # One substream per seed: draws from consecutive seeds are not promised to be independent.
        loss = f"""\
set draw [new RNG]
for {{set i 0}} {{$i < {seed}}} {{incr i}} {{ $draw next-substream }}
set uniform [new RandomVariable/Uniform]
$uniform use-rng $draw
set errors [new ErrorModel]
$errors set rate_ {dumbbell.per!r}
$errors unit pkt
$errors ranvar $uniform
"""
    elif dumbbell.drops:
        indices = " ".join(str(i) for i in dumbbell.drops)
        loss = f"set errors [new ErrorModel/List]\n$errors unit pkt\n$errors droplist {{{indices}}}\n"
    if loss:
        place = "lossmodel" if loss_before_queue else "link-lossmodel"
        loss += f"$errors drop-target [new Agent/Null]\n$ns {place} $errors $near $far\n"
    options = ""
    begin = "" if dumbbell.ssthresh is None else f"$tcp set ssthresh_ {dumbbell.ssthresh}\n  "
    if sender.module is not None:
        # The sink must echo the timestamp that RFC 1323 says, or a loss inflates the RTT estimate.
        options = "$tcp set timestamps_ true\n$sink set ts_echo_rfc1323_ true\n"
        begin += f"$tcp select_ca {sender.module}"
    # The native Vegas agent puts packetSize_ on the wire as it is; the others add the headers.
    native_vegas = sender.agent == "Agent/TCP/Vegas"
    return _SCRIPT.substitute(
        rate=f"{dumbbell.rate:.0f}",
        core_delay=f"{dumbbell.core_delay!r}s",
        access_rate=f"{dumbbell.access_rate:.0f}",
        access_delay=f"{dumbbell.access_delay!r}s",
        buffer=dumbbell.buffer,
        window=dumbbell.window,
        initial_window=dumbbell.initial_window,
        duration=repr(float(dumbbell.duration)),
        loss=loss,
        options=options,
        begin=begin,
        agent=sender.agent,
        sink="Agent/TCPSink" if native_vegas else "Agent/TCPSink/Sack1",
        packet_size=MSS + sender.header if native_vegas else MSS,
    )


def run(
    dumbbell: Dumbbell,
    sender: Sender,
    seed: int = 1,
    *,
    loss_before_queue: bool = False,
    timeout: float = 600.0,
) -> Run:
    """Runs ns-2 once.

    Raises:
        FileNotFoundError: ns-2 is not installed.
        RuntimeError: ns-2 failed, printed no counts, or took longer than `timeout` seconds.
    """
    found = shutil.which("ns")
    if found is None:
        raise FileNotFoundError(MISSING)
    with tempfile.TemporaryDirectory(prefix="bentpipe-ns2-") as folder:
        path = Path(folder, "dumbbell.tcl")
        path.write_text(script(dumbbell, sender, seed, loss_before_queue=loss_before_queue), encoding="utf-8")
        with open(Path(folder, "out"), "w+", encoding="utf-8") as out:
            begin = time.monotonic()
            with subprocess.Popen(
                [found, str(path)], stdout=out, stderr=subprocess.STDOUT, cwd=folder
            ) as child:
                status, usage = _wait(child, begin + timeout)
            wall = time.monotonic() - begin
            out.seek(0)
            text = out.read()
    counts = re.search(r"^counts (\d+) (\d+) (\d+) (\d+) (\d+)", text, re.MULTILINE)
    if status != 0 or counts is None:
        raise RuntimeError(f"ns-2 ended with status {status}: {text.strip()[-500:] or 'no output'}")
    delivered, sent, retransmitted, timeouts, cuts = (int(x) for x in counts.groups())
    return Run(delivered, sent, retransmitted, timeouts, cuts, usage, wall)


def _wait(child: subprocess.Popen[bytes], until: float) -> tuple[int, float]:
    """Exit status and CPU seconds of `child`, which is killed if it still runs at the time `until`."""
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid != 0:
            child.returncode = os.waitstatus_to_exitcode(status)
            return child.returncode, usage.ru_utime + usage.ru_stime
        if time.monotonic() > until:
            child.kill()
            raise RuntimeError("ns-2 did not finish in time")
        time.sleep(0.005)


def scenario(
    dumbbell: Dumbbell,
    sender: Sender,
    seed: int = 1,
    *,
    drops_file: str | os.PathLike[str] | None = None,
    single_link: bool = False,
) -> dict[str, Any]:
    """The same scenario for Bentpipe, in the form of its TOML files.

    `drops_file` must hold `dumbbell.drops`, one index per line, if there are any (`write_drops`). With
    `single_link` the access links are left out and their delay is added to the bottleneck's.

    Raises:
        ValueError: the dumbbell has drops and `drops_file` is missing.
    """
    # ns-2 counts the packet in transmission as part of the queue's limit, a scenario does not.
    loss: dict[str, Any] | None = None
    if dumbbell.per > 0.0:
        loss = {"kind": "packet-error", "rate": dumbbell.per}
    elif dumbbell.drops:
        if drops_file is None:
            raise ValueError("a list of drops needs a drops_file")
        loss = {"kind": "trace", "file": str(drops_file)}
    delay = dumbbell.rtt / 2.0 if single_link else dumbbell.core_delay
    core: dict[str, Any] = {
        "rate": f"{dumbbell.rate:.0f} bit/s",
        "delay": f"{delay * 1e3:.6f} ms",
        "queue": {"kind": "drop-tail", "limit": f"{dumbbell.buffer - 1} packets"},
        "reverse": {"queue": {"kind": "drop-tail", "limit": "10000000 packets"}},
    }
    if loss is not None:
        core["loss"] = loss
    access = {
        "rate": f"{dumbbell.access_rate:.0f} bit/s",
        "delay": f"{dumbbell.access_delay * 1e3:.6f} ms",
        "queue": {"kind": "drop-tail", "limit": "10000000 packets"},
    }
    links = {"core": core} if single_link else {"access": access, "core": core, "egress": dict(access)}
    flow = {
        "name": sender.key,
        "cc": sender.cc,
        "path": list(links),
        "profile": "paper",
        "mss": f"{MSS} bytes",
        "header": f"{sender.header} bytes",
        "ack_size": "40 bytes",
        "timestamps": sender.timestamps,
        "initial_window": dumbbell.initial_window,
        "initial_ssthresh": dumbbell.window if dumbbell.ssthresh is None else dumbbell.ssthresh,
        "receive_window": f"{dumbbell.window} segments",
        "max_rto": "120 s" if sender.module else "60 s",
    }
    return {"duration": f"{dumbbell.duration!r} s", "seed": seed, "link": links, "flow": [flow]}


def write_drops(path: str | os.PathLike[str], drops: Sequence[int]) -> None:
    """Writes a loss trace: one 0-based packet index per line."""
    Path(path).write_text("".join(f"{i}\n" for i in drops), encoding="utf-8")

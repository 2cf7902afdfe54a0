"""XCP beside the authors' module in ns-2: five flows of different round-trip times over one link.

    python python/tests/witness/ns2_xcp.py

prints, by flow, the window at the end and the segments acknowledged in both programs. The module's segments
are 1500 bytes on the wire; ours carry 1440 bytes behind 60 of headers.
"""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import bentpipe as bp

DURATION = 100
DELAYS = (0, 50, 100, 150, 200)
"""Access delay of each flow, ms, both ways together; the link adds 100 ms each way."""
APART = 2.0
"""A flow starts so long after the one before, s."""

SCRIPT = """
Queue set limit_ 500
Queue/DropTail set limit_ 500
Agent/TCP set timestamps_ true
Agent/TCPSink/XCPSink set ts_echo_rfc1323_ true
Agent/TCP set window_ 100000
set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right 10Mb 100ms XCP
foreach {a b} [list $left $right $right $left] {
  set queue [[$ns link $a $b] queue]
  $queue set-link-capacity 10000000.0
  $queue set limit_ 500
}
set watched [$ns monitor-queue $left $right ""]
set number 0
foreach delay {DELAYS} {
  set from [$ns node]
  set to [$ns node]
  $ns duplex-link $from $left 1000Mb [expr $delay / 2.0]ms DropTail
  $ns duplex-link $to $right 1000Mb [expr $delay / 2.0]ms DropTail
  set tcp($number) [new Agent/TCP/Reno/XCP]
  set sink [new Agent/TCPSink/XCPSink]
  $tcp($number) set packetSize_ 1460
  $ns attach-agent $from $tcp($number)
  $ns attach-agent $to $sink
  $ns connect $tcp($number) $sink
  set source [new Application/FTP]
  $source attach-agent $tcp($number)
  $ns at [expr APART * $number] "$source start"
  incr number
}
$ns at DURATION {
  for {set i 0} {$i < $number} {incr i} {
    puts "flow [$tcp($i) set cwnd_] [$tcp($i) set ack_]"
  }
  puts "link [expr 8.0 * [$watched set bdepartures_] / DURATION / 10e6] [$watched set pdrops_]"
  exit 0
}
$ns run
"""


@dataclass(frozen=True)
class Outcome:
    """Windows at the end and segments acknowledged, by flow; utilisation and drops of the link."""

    windows: list[float]
    segments: list[float]
    utilisation: float
    drops: float


def theirs() -> Outcome:
    """The run of ns-2."""
    words = {
        "DELAYS": "{" + " ".join(map(str, DELAYS)) + "}",
        "APART": f"{APART:g}",
        "DURATION": str(DURATION),
    }
    text = SCRIPT
    for name, value in words.items():
        text = text.replace(f"{{{name}}}" if name == "DELAYS" else name, value)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "xcp.tcl"
        script.write_text(text, encoding="utf-8")
        done = subprocess.run(["ns", script], capture_output=True, text=True, check=True, cwd=folder)
    rows = [line.split() for line in done.stdout.splitlines()]
    flows = [row for row in rows if row[0] == "flow"]
    (link,) = (row for row in rows if row[0] == "link")
    return Outcome(
        [float(row[1]) for row in flows], [float(row[2]) for row in flows], float(link[1]), float(link[2])
    )


def ours() -> Outcome:
    """The same with Bentpipe."""
    flows = [
        bp.Flow(
            "xcp",
            path=["sat"],
            profile="paper",
            name=f"f{i}",
            extra_delay=f"{delay} ms",
            start=f"{APART * i:g} s",
        )
        for i, delay in enumerate(DELAYS)
    ]
    link = bp.Link(rate="10 Mbit/s", delay="100 ms", queue=bp.Xcp("500 packets"))
    scenario = bp.Scenario(
        links={"sat": link}, flows=flows, duration=f"{DURATION} s", record=bp.Record("1 s", flows=True)
    )
    result = bp.run(scenario)
    by_flow = result.trace.group_by("flow", maintain_order=True).last()
    windows = dict(zip(by_flow["flow"].to_list(), by_flow["cwnd"].to_list(), strict=True))
    rows = result.flows.to_dicts()
    forward = result.links.to_dicts()[0]
    return Outcome(
        [windows[row["name"]] for row in rows],
        [row["delivered_bytes"] / 1440 for row in rows],
        forward["utilisation"],
        forward["dropped_queue"],
    )


def main() -> None:
    """Prints both."""
    for name, found in (("ns-2", theirs()), ("Bentpipe", ours())):
        windows = " ".join(f"{w:7.1f}" for w in found.windows)
        segments = " ".join(f"{n:7.0f}" for n in found.segments)
        print(f"{name:9} windows {windows}  segments {segments}  {found.utilisation:.4f} {found.drops:g}")


if __name__ == "__main__":
    main()

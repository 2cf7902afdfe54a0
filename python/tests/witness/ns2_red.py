"""RED beside ns-2: eight SACK flows, 15 Mbit/s, RTT 100 ms, the spectrum paper's RED, with and without ECN.

    python python/tests/witness/ns2_red.py

prints the table of docs/validation.md in about a minute.
"""

from __future__ import annotations

import math
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import Template

import bentpipe as bp
from bentpipe import ns2

FLOWS = 8
LIMIT = 451
"""Packets of 1040 bytes: 2.5 bandwidth-delay products."""
SEEDS = 8
DURATION = 500.0
TOLERANCE = 0.10
WORKERS = 2

# Unless told otherwise ns-2 2.35 counts bytes, picks weight and thresholds itself and drops what it should
# mark once the probability is 0.1. A marked packet is seen only in the trace of the queue: E in its flags.
# The threshold of slow start is set at time 0, because the start of a run sets it to the window.
_SCRIPT = Template("""\
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
ns-random [expr 12345 + 7919 * $seed]
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set thresh_ [expr 0.15 * $limit]
Queue/RED set maxthresh_ [expr 0.5 * $limit]
Queue/RED set q_weight_ 0.002
Queue/RED set linterm_ 10
Queue/RED set gentle_ true
Queue/RED set wait_ true
Queue/RED set mean_pktsize_ 1040
Queue/RED set use_mark_p_ false
Queue/RED set setbit_ $ecn
Agent/TCP set ecn_ $ecn
Agent/TCP set tcpTick_ 0.1
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set windowInit_ 1
set sender [$$ns node]
set near [$$ns node]
set far [$$ns node]
set receiver [$$ns node]
$$ns duplex-link $$sender $$near 1Gb 1ms DropTail
$$ns simplex-link $$near $$far 15Mb 48ms RED
$$ns simplex-link $$far $$near 15Mb 48ms DropTail
$$ns duplex-link $$far $$receiver 1Gb 1ms DropTail
foreach {a b} [list $$sender $$near $$near $$sender $$far $$near $$far $$receiver $$receiver $$far] {
    $$ns queue-limit $$a $$b 100000
}
$$ns queue-limit $$near $$far $limit
set count {$$1 == "-" && substr($$7, 5, 1) == "E" { n++ } END { print "marked", n + 0 }}
set trace [open [list | awk $$count >@stdout] w]
$$ns trace-queue $$near $$far $$trace
set monitor [$$ns monitor-queue $$near $$far ""]
set start [new RNG]
$$start seed [expr 1000 + $seed]
for {set i 0} {$$i < $flows} {incr i} {
    set tcp($$i) [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1]
    $$tcp($$i) set window_ 128
    $$tcp($$i) set packetSize_ 1000
    $$sink set packetSize_ 40
    $$ns attach-agent $$sender $$tcp($$i)
    $$ns attach-agent $$receiver $$sink
    $$ns connect $$tcp($$i) $$sink
    set source [new Application/FTP]
    $$source attach-agent $$tcp($$i)
    $$ns at 0 "$$tcp($$i) set ssthresh_ 16"
    $$ns at [$$start uniform 0 1] "$$source start"
}
$$ns at $duration {
    set delivered 0
    set timeouts 0
    for {set i 0} {$$i < $flows} {incr i} {
        incr delivered [expr [$$tcp($$i) set ack_] + 1]
        incr timeouts [$$tcp($$i) set nrexmit_]
    }
    set waiting [$$monitor get-pkts-integrator]
    $$waiting newpoint $duration [$$waiting set lasty_]
    set packets "[$$monitor set parrivals_] [$$monitor set pdrops_]"
    puts "counts $$packets [$$waiting set sum_] $$delivered $$timeouts"
    $$ns flush-trace
    close $$trace
    exit 0
}
$$ns run
""")


@dataclass(frozen=True)
class Run:
    """Shares of arriving packets dropped and marked, mean packets waiting, goodput in bit/s, timeouts."""

    dropped: float
    marked: float
    queue: float
    goodput: float
    timeouts: float


def in_ns2(seed: int, *, ecn: bool, duration: float = DURATION) -> Run:
    """One run of ns-2.

    Raises:
        FileNotFoundError: ns-2 is not installed.
        RuntimeError: ns-2 printed no counts.
    """
    program = shutil.which("ns")
    if program is None:
        raise FileNotFoundError(ns2.MISSING)
    flag = "true" if ecn else "false"
    text = _SCRIPT.substitute(ecn=flag, seed=seed, limit=LIMIT, flows=FLOWS, duration=duration)
    with tempfile.TemporaryDirectory(prefix="bentpipe-ns2-") as folder:
        Path(folder, "red.tcl").write_text(text, encoding="utf-8")
        done = subprocess.run(
            [program, "red.tcl"], capture_output=True, text=True, cwd=folder, timeout=600, check=False
        )
    counts = re.search(r"^counts (\S+) (\S+) (\S+) (\S+) (\S+)$", done.stdout, re.MULTILINE)
    marked = re.search(r"^marked (\d+)$", done.stdout, re.MULTILINE)
    if counts is None or marked is None:
        raise RuntimeError(f"ns-2 ended with status {done.returncode}: {(done.stdout + done.stderr)[-500:]}")
    arrived, dropped, waited, delivered, timeouts = (float(x) for x in counts.groups())
    return Run(
        dropped / arrived,
        float(marked[1]) / arrived,
        waited / duration,
        delivered * 8000.0 / duration,
        timeouts,
    )


def scenario(seed: int, *, ecn: bool, duration: float = DURATION) -> bp.Scenario:
    """The same for Bentpipe."""
    endless = bp.DropTail("100000 packets")
    access = bp.Link(rate="1 Gbit/s", delay="1 ms", queue=endless)
    red = bp.Red(
        f"{LIMIT} packets", min=0.15, max=0.5, weight=0.002, max_p=0.1, mean_packet="1040 bytes", ecn=ecn
    )
    sat = bp.Link(rate="15 Mbit/s", delay="48 ms", queue=red, reverse={"queue": endless})
    flow = bp.Flow(
        "reno",
        path=["access", "sat", "egress"],
        profile="paper",
        count=FLOWS,
        start_jitter="1 s",
        mss="1000 bytes",
        receive_window="128 segments",
        initial_ssthresh=16,
        granularity="100 ms",
        ecn=ecn,
    )
    links = {"access": access, "sat": sat, "egress": access}
    return bp.Scenario(links=links, flows=[flow], duration=f"{duration} s", seed=seed)


def here(seed: int, *, ecn: bool, duration: float = DURATION) -> Run:
    """One run of Bentpipe."""
    result = bp.run(scenario(seed, ecn=ecn, duration=duration)).json
    link = next(x for x in result["links"] if (x["name"], x["direction"]) == ("sat", "forward"))
    arrived = sum(flow["sent_packets"] for flow in result["flows"])
    return Run(
        link["dropped_queue"] / arrived,
        link["marked"] / arrived,
        link["queue_mean_packets"],
        sum(flow["delivered_bytes"] for flow in result["flows"]) * 8.0 / duration,
        sum(flow["timeouts"] for flow in result["flows"]),
    )


@dataclass(frozen=True)
class Found:
    """One quantity, mean and standard error over seeds in both programs."""

    name: str
    theirs: tuple[float, float]
    ours: tuple[float, float]
    tolerance: float = TOLERANCE

    @property
    def difference(self) -> float:
        """Relative difference of the means."""
        return self.ours[0] / self.theirs[0] - 1.0

    @property
    def error(self) -> float:
        """Its standard error."""
        return math.hypot(self.theirs[1], self.ours[1]) / self.theirs[0]

    @property
    def agrees(self) -> bool:
        """Is the difference tolerated?"""
        return abs(self.difference) <= self.tolerance

    def row(self) -> str:
        """One line of the table in Markdown."""
        (a, sa), (b, sb) = self.theirs, self.ours
        verdict = "agrees" if self.agrees else "DIFFERS"
        means = f"{a:.4g} ± {sa:.1g} | {b:.4g} ± {sb:.1g}"
        return f"| {self.name} | {means} | {self.difference:+.1%} | {self.tolerance:.0%} | {verdict} |"


def _mean(values: list[float]) -> tuple[float, float]:
    return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))


def _found(
    name: str, both: tuple[list[Run], list[Run]], column: str, scale: float, tolerance: float = TOLERANCE
) -> Found:
    theirs, ours = (_mean([getattr(run, column) * scale for run in runs]) for runs in both)
    return Found(name, theirs, ours, tolerance)


def compare(seeds: range, duration: float = DURATION) -> Iterator[Found]:
    """Both programs over `seeds`, without and with ECN."""
    with ThreadPoolExecutor(WORKERS) as pool:
        for ecn in (False, True):
            theirs = list(pool.map(partial(in_ns2, ecn=ecn, duration=duration), seeds))
            ours = list(pool.map(partial(here, ecn=ecn, duration=duration), seeds))

            both = (theirs, ours)
            if ecn:
                yield _found("ECN: marked per 1000", both, "marked", 1e3, TOLERANCE)
            else:
                yield _found("drops: dropped per 1000", both, "dropped", 1e3)
            name = "ECN" if ecn else "drops"
            yield _found(f"{name}: mean queue, packets", both, "queue", 1.0)
            yield _found(f"{name}: goodput, Mbit/s", both, "goodput", 1e-6)


def main() -> int:
    """Prints the table; 1 if a quantity differs."""
    print("| quantity | ns-2 | Bentpipe | difference | tolerated | verdict |\n|---|---|---|---|---|---|")
    bad = 0
    for found in compare(range(1, SEEDS + 1)):
        bad += not found.agrees
        print(found.row(), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

"""The set-up of the Vegas-L study in ns-2's own satellite model, and the comparison with Bentpipe.

    python python/tests/witness/ns2_satellite.py

prints docs/validation/ns2-satellite.csv in a few minutes. Flow 1 is Vegas or Veno,
flow 2 NewReno; a seed has the same satellite longitude in both programs, but its own losses and starts in
each.
"""

from __future__ import annotations

import json
import math
import re
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from string import Template

import data_file

from bentpipe import _core, ns2
from bentpipe.papers.vegas_l import setup

TOLERANCE = 0.10


@dataclass(frozen=True)
class Kind:
    """Flow 1 in both programs: ns-2's agent, sink and options; the algorithm in the study and `cc` of a flow.

    `rule` names what `cc` takes over from ns-2.
    """

    label: str
    agent: str
    sink: str
    options: str
    begin: str
    algorithm: str
    cc: str | dict[str, str]
    seeds: int
    rule: str = ""


_LINUX = "$tcp set timestamps_ true; $sink set ts_echo_rfc1323_ true"
_VENO = ("Agent/TCP/Linux", "Agent/TCPSink/Sack1", _LINUX, "$flow1 select_ca veno", "veno")
VEGAS = Kind("Vegas", "Agent/TCP/Vegas", "Agent/TCPSink", "", "", "vegas", "vegas", 36)
VENO = Kind("Veno", *_VENO, "veno", 36)
LATEST_VENO = Kind("Veno", *_VENO, {"name": "veno", "rtt": "latest"}, 36, "latest RTT")

# A processing satellite with one downlink transmitter and one uplink per terminal; error models sit at the
# terminals' receivers. LL/Sat adds 16 bytes to every packet. Agent/TCP/Vegas puts packetSize_ on the wire as
# it is, Newreno and Linux add 40 bytes, and 10 for timestamps unless told not to. The other settings are
# those of `bentpipe.ns2`.
_SCRIPT = Template("""\
set ns [new Simulator]
$$ns rtproto Dummy
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set windowInit_ $window
Agent/TCP set ts_option_size_ 0
Agent/TCP set window_ 100000
Agent/TCP set tcpTick_ 0.01
Agent/TCP set minrto_ 0.2
$$ns node-config -satNodeType geo -llType LL/Sat -ifqType Queue/DropTail -ifqLen $buffer -macType Mac/Sat \\
  -phyType Phy/Sat -channelType Channel/Sat -downlinkBW $rate -wiredRouting OFF
set sat [$$ns node]
$$sat set-position $longitude
$$ns node-config -satNodeType terminal
proc stream {n} {
  set draw [new RNG]
  for {set i 0} {$$i < $$n} {incr i} { $$draw next-substream }
  set uniform [new RandomVariable/Uniform]
  $$uniform use-rng $$draw
  return $$uniform
}
set k 0
foreach {name lat lon} {$stations} {
  set node($$name) [$$ns node]
  $$node($$name) set-position $$lat $$lon
  $$node($$name) add-gsl geo LL/Sat Queue/DropTail $buffer Mac/Sat $rate Phy/Sat \\
    [$$sat set downlink_] [$$sat set uplink_]
  set errors [new ErrorModel]
  $$errors unit pkt
  $$errors set rate_ $per
  $$errors ranvar [stream [expr 5*$seed + [incr k]]]
  $$node($$name) interface-errormodel $$errors
}
set start [stream [expr 5*$seed]]
set flows {}
foreach {agent receiver options from to} {
  $agent $sink {$options} $ends1
  Agent/TCP/Newreno Agent/TCPSink {} $ends2
} {
  set tcp [new $$agent]
  set sink [new $$receiver]
  eval $$options
  $$tcp set packetSize_ $mss
  $$sink set packetSize_ $header
  $$ns attach-agent $$node($$from) $$tcp
  $$ns attach-agent $$node($$to) $$sink
  $$ns connect $$tcp $$sink
  set source [new Application/FTP]
  $$source attach-agent $$tcp
  $$ns at [$$start value] "$$source start"
  lappend flows $$tcp
}
set flow1 [lindex $$flows 0]
$$ns at 0.0 {$begin}
set satrouteobject_ [new SatRouteObject]
$$satrouteobject_ compute_routes
$$ns at $duration {
  foreach tcp $$flows {
    puts "flow [expr [$$tcp set ack_] + 1] [$$tcp set nrexmitpack_] [$$tcp set nrexmit_]"
  }
  exit 0
}
$$ns run
""")


@dataclass(frozen=True)
class Flow:
    """One flow of one run: goodput in Mbit/s, retransmissions, timeouts."""

    mbps: float
    retransmitted: int
    timeouts: int


def in_ns2(kind: Kind, per: float, seed: int, duration_s: float = setup.DURATION_S) -> tuple[Flow, Flow]:
    """Flow 1 and NewReno in one ns-2 run of the study's base.

    Raises:
        FileNotFoundError: ns-2 is not installed.
        RuntimeError: ns-2 failed or printed no counts.
    """
    base = setup.BASE
    terminals = [station for ends in setup.ENDS for station in ends]
    places = [setup.STATIONS.get(t, setup.STATIONS[base.destination]) for t in terminals]
    text = _SCRIPT.substitute(
        longitude=base.longitude(seed),
        stations=" ".join(f"{t} {lat} {lon}" for t, (lat, lon) in zip(terminals, places, strict=True)),
        ends1=" ".join(setup.ENDS[0]),
        ends2=" ".join(setup.ENDS[1]),
        buffer=base.buffer_packets,
        rate=f"{setup.RATE_BPS:.0f}",
        per=repr(per),
        seed=seed,
        mss=setup.MSS_BYTES,
        header=setup.TCP_IP_BYTES,
        agent=kind.agent,
        sink=kind.sink,
        window=base.initial_window,
        options=kind.options,
        begin=kind.begin,
        duration=repr(duration_s),
    )
    printed, _ = ns2.execute(text)
    counts = [tuple(map(int, c)) for c in re.findall(r"^flow (\d+) (\d+) (\d+)$", printed, re.MULTILINE)]
    if len(counts) != 2:
        raise RuntimeError(f"ns-2 printed no counts: {printed[-500:]}")
    first, newreno = (Flow(n * setup.MSS_BYTES * 8 / duration_s / 1e6, r, t) for n, r, t in counts)
    return first, newreno


def here(
    kind: Kind,
    per: float,
    seed: int,
    duration_s: float = setup.DURATION_S,
    of: setup.VegasLSetup = setup.BASE,
) -> tuple[Flow, Flow]:
    """The same run in Bentpipe, or that of another set-up."""
    scenario = of.scenario(kind.algorithm, per, seed, duration_s)
    scenario["flow"][0]["cc"] = kind.cc
    result = json.loads(_core.run(json.dumps(scenario)).json)
    first, newreno = (
        Flow(f["goodput_bps"] / 1e6, f["retransmitted_packets"], f["timeouts"]) for f in result["flows"]
    )
    return first, newreno


@dataclass(frozen=True)
class Comparison:
    """One flow at one error rate over all seeds: goodputs in Mbit/s."""

    flow: str
    per: float
    rule: str
    ns2: list[Flow]
    bentpipe: list[Flow]

    @property
    def difference(self) -> float:
        """Of the mean goodputs, relative to ns-2."""
        theirs, ours = (statistics.fmean(f.mbps for f in flows) for flows in (self.ns2, self.bentpipe))
        return ours / theirs - 1

    @property
    def error(self) -> float:
        """Standard error of `difference`."""
        variance = sum(statistics.variance(f.mbps for f in g) / len(g) for g in (self.ns2, self.bentpipe))
        return math.sqrt(variance) / statistics.fmean(f.mbps for f in self.ns2)

    @property
    def agrees(self) -> bool:
        """Is the difference tolerated?"""
        return abs(self.difference) <= TOLERANCE

    def row(self, verdict: str) -> list[str]:
        """One row of the data file."""

        def goodput(flows: list[Flow]) -> list[str]:
            rates = [f.mbps for f in flows]
            return [
                f"{statistics.fmean(rates):.3f}",
                f"{statistics.stdev(rates) / math.sqrt(len(rates)):.3f}",
            ]

        def counts(of: str) -> list[str]:
            both = (statistics.fmean(getattr(f, of) for f in flows) for flows in (self.ns2, self.bentpipe))
            return [f"{mean:.1f}" for mean in both]

        return [
            self.flow,
            f"{self.per:g}",
            self.rule,
            *goodput(self.ns2),
            *goodput(self.bentpipe),
            data_file.percent(self.difference),
            f"{100.0 * self.error:.1f}",
            *counts("retransmitted"),
            *counts("timeouts"),
            verdict,
        ]


COLUMNS = """
flow packet_error_rate rule
ns2_goodput_mbit_per_s ns2_goodput_standard_error_mbit_per_s
bentpipe_goodput_mbit_per_s bentpipe_goodput_standard_error_mbit_per_s
difference_percent difference_standard_error_percent
ns2_retransmitted_packets_per_run bentpipe_retransmitted_packets_per_run
ns2_timeouts_per_run bentpipe_timeouts_per_run
verdict
""".split()
"""Of the data file. `rule`: flow 1 has this rule of ns-2's."""


def compare(kind: Kind, per: float) -> list[Comparison]:
    """Flow 1 and NewReno beside it at one packet error rate."""
    seeds = range(1, kind.seeds + 1)
    with ThreadPoolExecutor(2) as pool:
        theirs = list(pool.map(lambda seed: in_ns2(kind, per, seed), seeds))
    ours = [here(kind, per, seed) for seed in seeds]
    flows = (kind.label, f"NewReno beside {kind.label}")
    return [
        Comparison(flow, per, kind.rule, [run[i] for run in theirs], [run[i] for run in ours])
        for i, flow in enumerate(flows)
    ]


def judged(found: list[Comparison]) -> list[str]:
    """The verdicts: what differs must be repeated with ns-2's rule, and agree then."""
    plain = {(c.flow, c.per): c.agrees for c in found if not c.rule}
    ruled = {(c.flow, c.per) for c in found if c.rule}

    def verdict(c: Comparison) -> str:
        which = (c.flow, c.per)
        if c.agrees:
            return "agrees by rule" if c.rule and not plain[which] else "agrees"
        return "repeated" if not c.rule and which in ruled else "differs"

    return [verdict(c) for c in found]


def main() -> int:
    """Prints the rows; 1 if a flow differs and ns-2's rule does not explain it."""
    if not ns2.available():
        print(ns2.MISSING, file=sys.stderr)
        return 3
    kinds = (VEGAS, VENO, LATEST_VENO)
    found = [c for kind in kinds for per in (setup.LOW, setup.HIGH) for c in compare(kind, per)]
    verdicts = judged(found)
    print(data_file.line(COLUMNS))
    for comparison, verdict in zip(found, verdicts, strict=True):
        print(data_file.line(comparison.row(verdict)))
    return 1 if "differs" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())

"""The cells on which ns-2 and Bentpipe are compared, and the comparison.

    python python/tests/witness/ns2_grid.py [--quick] [--jobs N] [PART-OF-A-CELL'S-NAME ...]

prints docs/validation/ns2-grid.csv: the full form in about ten minutes on two processors, the quick one
(that of the test suite) in half a minute. Compared are goodput, drops of the bottleneck's queue, and packets
waiting there on average. Five kinds of cells:

* `per`: independent random losses, so means over seeds are compared; at PER 0 a full queue is what cuts
  the window;
* `periodic`: both simulators lose exactly the same packets of the bottleneck, one in `EVERY`;
* `overflow`: no random loss, and a buffer of a quarter of the bandwidth-delay product only;
* `overshoot`: no random loss, and slow start ends where the buffer overflows;
* `other`: rates, RTTs, buffers and error rates that no other cell has (`OTHER`).

Where the rules of ns-2 and of the controller here are known to differ, a sender has a `rule`: a
controller in Python that states ns-2's rule. A cell that differs must agree with the rule in the place of
the controller, or with the rule and `rack = true`: `TCP/Linux` finds lost retransmissions without a timeout.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import data_file
import linux26
from native_highspeed import NativeHighSpeed
from native_vegas import NativeVegas
from old_vegas import OldVegas

import bentpipe as bp
from bentpipe import ns2
from bentpipe.ns2.dumbbell import packets

RATE = 10e6
EVERY = 1000
PERS = (0.0, 1e-4, 1e-3, 1e-2)
SEEDS, RULE_SEEDS = 10, 5
ONE = 1.0
"""Differences of one packet are tolerated: waiting on average, or dropped in a run."""
OPEN = ("westwood-500ms-per-0.01",)
"""Cells that differ even with ns-2's rules (docs/validation/ns2.md says how far the cause is known)."""
DURATION_S = {20: 100.0, 100: 200.0, 500: 1000.0}
"""Of a run, by the RTT in ms."""
OTHER = (
    (2e6, 280, 0.5, 2e-3),
    (5e6, 60, 2.0, 5e-4),
    (25e6, 140, 0.7, 2e-4),
    (20e6, 280, 1.5, 0.0),
    (20e6, 560, 1.0, 3e-5),
)
"""Rate in bit/s, RTT in ms, buffer in bandwidth-delay products and packet error rate of the cells `other`."""


@dataclass(frozen=True)
class Sender:
    """The sender in ns-2, the rule that its controller here does not share, the tolerance."""

    key: str
    agent: ns2.Agent
    rule: type[bp.Controller] | None = None
    tolerance: float = 0.10


SENDERS = (
    Sender("sack", ns2.AGENTS["sack"], tolerance=0.05),
    Sender("newreno", ns2.AGENTS["newreno"], tolerance=0.05),
    Sender("vegas-native", ns2.AGENTS["vegas"], NativeVegas),
    Sender("vegas", ns2.AGENTS["linux-vegas"], OldVegas),
    Sender("veno", ns2.AGENTS["linux-veno"]),
    Sender("westwood", ns2.AGENTS["linux-westwood"], linux26.Westwood),
    Sender("highspeed-native", ns2.AGENTS["highspeed"], NativeHighSpeed),
    Sender("highspeed", ns2.AGENTS["linux-highspeed"], linux26.HighSpeed),
    Sender("scalable", ns2.AGENTS["linux-scalable"], linux26.Scalable),
    Sender("htcp", ns2.AGENTS["linux-htcp"], linux26.Htcp),
    Sender("bic", ns2.AGENTS["linux-bic"], linux26.Bic),
    Sender("cubic", ns2.AGENTS["linux-cubic"], linux26.Cubic),
    Sender("hybla", ns2.AGENTS["linux-hybla"], linux26.Hybla),
)


@dataclass(frozen=True)
class Cell:
    """One comparison: a sender on a dumbbell.

    With `rule` its rule takes the place of the controller; with `rack` our sender finds lost retransmissions.
    """

    sender: Sender
    rtt_ms: int
    kind: str
    duration: float
    seeds: int = 1
    per: float = 0.0
    buffer_bdp: float = 1.0
    rate: float = RATE
    rule: type[bp.Controller] | None = None
    rack: bool = False

    @property
    def plain(self) -> str:
        """The name without the rules."""
        return f"{self.sender.key}-{self.rtt_ms}ms-{self.kind}"

    @property
    def rules(self) -> str:
        """What of ns-2 takes the place of ours: its rule, RACK, both or nothing."""
        parts = [self.rule.__name__] if self.rule else []
        return ", ".join([*parts, "rack"] if self.rack else parts)

    @property
    def name(self) -> str:
        """The name with the rules."""
        return f"{self.plain} ({self.rules})" if self.rules else self.plain

    def with_rules(self) -> Iterator[Cell]:
        """The same with ns-2's rules, one after the other; fewer seeds, because Python is slow."""
        if self.sender.rule is not None:
            ruled = replace(self, rule=self.sender.rule, seeds=min(self.seeds, RULE_SEEDS))
            yield ruled
            if self.sender.agent.module is not None:
                yield replace(ruled, rack=True)
        elif self.sender.agent.module is not None:
            yield replace(self, rack=True)

    def scenario(self, seed: int, drops: str) -> bp.Scenario:
        """For both programs; `drops` is a file with the packets that a periodic cell loses."""
        bdp = packets(self.rate, self.rtt_ms / 1e3)
        options: dict[str, Any] = {}
        if self.sender.agent.module is not None and self.rtt_ms >= 500:
            # Or the sender here times out where a queue grows faster than the timer follows.
            options["min_rto"] = "1 s"
        if self.rack:
            options["rack"] = True
        if self.kind != "overshoot":
            options["initial_ssthresh"] = int(bdp * (0.5 if self.kind == "overflow" else 1.0))
        return ns2.dumbbell(
            self.sender.agent,
            rate=self.rate,
            rtt=self.rtt_ms / 1e3,
            buffer=max(int(self.buffer_bdp * bdp) - 1, 4),
            duration=self.duration,
            cc=self.rule,
            per=self.per,
            drops=drops if self.kind == "periodic" else None,
            seed=seed,
            **options,
        )


@dataclass(frozen=True)
class Mean:
    """Over seeds, with its standard error."""

    value: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """Of the values of the runs."""
        error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
        return cls(statistics.fmean(values), error)


@dataclass(frozen=True)
class Run:
    """One run: goodput in bit/s, the queue's drops and mean length in packets, packets sent, and the rest."""

    goodput: float
    dropped: float
    queue: float
    sent: float
    retransmitted: float
    timeouts: float


@dataclass(frozen=True)
class Compared:
    """One quantity of a cell in both programs."""

    theirs: Mean
    ours: Mean
    tolerance: float
    slack: float = 0.0

    @property
    def difference(self) -> float:
        """(ours - theirs) / theirs."""
        return self.ours.value / self.theirs.value - 1.0

    @property
    def error(self) -> float:
        """Standard error of the difference."""
        return math.hypot(self.theirs.error, self.ours.error)

    @property
    def tolerated(self) -> float:
        """The tolerance, three standard errors of the difference or the slack, whichever is most."""
        return max(self.tolerance * self.theirs.value, 3.0 * self.error, self.slack)

    @property
    def agrees(self) -> bool:
        """Is the difference tolerated?"""
        return abs(self.ours.value - self.theirs.value) <= self.tolerated


@dataclass(frozen=True)
class Verdict:
    """The two sides of a cell and what follows."""

    cell: Cell
    theirs: list[Run]
    ours: list[Run]

    def compared(self, what: Callable[[Run], float], slack: float = 0.0) -> Compared:
        """A quantity of each run on both sides."""
        theirs, ours = (Mean.of([what(run) for run in runs]) for runs in (self.theirs, self.ours))
        return Compared(theirs, ours, self.cell.sender.tolerance, slack)

    @property
    def goodput(self) -> Compared:
        """In Mbit/s."""
        return self.compared(lambda run: run.goodput / 1e6)

    @property
    def dropped(self) -> Compared:
        """Packets dropped by the queue, of 1000 that were sent."""
        sent = min(statistics.fmean(run.sent for run in runs) for runs in (self.theirs, self.ours))
        # A little more than one packet, because the programs do not send equally many.
        return self.compared(lambda run: 1e3 * run.dropped / run.sent, 1e3 * ONE * 1.05 / sent)

    @property
    def queue(self) -> Compared:
        """Packets waiting, on average over the run."""
        return self.compared(lambda run: run.queue, ONE)

    @property
    def agrees(self) -> bool:
        """Are the differences tolerated that the kind of cell judges?"""
        kind = self.cell.kind
        # An overshoot loses retransmissions too, and what a sender then does decides the drops.
        dropped = kind == "overshoot" or self.dropped.agrees
        return self.goodput.agrees and (kind.startswith("other") or (dropped and self.queue.agrees))


def cells(*, quick: bool = False) -> Iterator[Cell]:
    """Every comparison, in the order of the table; `quick` has fewer, and shorter ones."""
    for sender in SENDERS:
        for rtt_ms, duration in DURATION_S.items():
            if not quick:
                for per in PERS:
                    yield Cell(sender, rtt_ms, f"per-{per:g}", duration, SEEDS if per else 1, per)
            elif rtt_ms == 100:
                yield Cell(sender, rtt_ms, "per-0", 100.0)
                yield Cell(sender, rtt_ms, "per-0.001", 100.0, 4, 1e-3)
            if rtt_ms > 20 and not (quick and rtt_ms == 500):
                short = 100.0 if quick else duration
                yield Cell(sender, rtt_ms, "periodic", short)
                yield Cell(sender, rtt_ms, "overflow", short, buffer_bdp=0.25)
                # At 500 ms an ACK adds 65,535 segments to Hybla's window: more than a program can hold.
                if (sender.key, rtt_ms) != ("hybla", 500):
                    yield Cell(sender, rtt_ms, "overshoot", short)
        for rate, rtt_ms, buffer, per in OTHER if not quick else ():
            seeds = SEEDS if per else 1
            kind = f"other-{rate / 1e6:g}-mbit-per-{per:g}"
            yield Cell(sender, rtt_ms, kind, max(100.0, 2.0 * rtt_ms), seeds, per, buffer, rate)


def compare(cell: Cell, jobs: int = 2) -> Verdict:
    """Both sides of a cell."""
    with tempfile.TemporaryDirectory(prefix="bentpipe-witness-") as folder:
        drops = Path(folder, "drops")
        last = int(cell.duration * cell.rate / 8 / 1500)
        drops.write_text("".join(f"{i}\n" for i in range(EVERY - 1, last, EVERY)), encoding="utf-8")
        scenarios = [cell.scenario(seed, str(drops)) for seed in range(1, cell.seeds + 1)]
        with ThreadPoolExecutor(jobs) as pool:
            asked = partial(ns2.run, agents=cell.sender.agent, watch=["core/forward"])
            theirs = list(pool.map(asked, scenarios))
        ours = [result.json for result in bp.run_many(scenarios, jobs)]
    return Verdict(cell, [in_ns2(run) for run in theirs], [here(result) for result in ours])


def in_ns2(run: ns2.Run) -> Run:
    """What ns-2 found."""
    flow, link = run.flows[0], run.links["core/forward"]
    return Run(
        flow.goodput_bps,
        link.dropped,
        link.queue_mean_packets,
        flow.sent,
        flow.retransmitted,
        flow.timeouts,
    )


def here(result: dict[str, Any]) -> Run:
    """What Bentpipe found."""
    flow = result["flows"][0]
    link = next(x for x in result["links"] if (x["name"], x["direction"]) == ("core", "forward"))
    return Run(
        flow["goodput_bps"],
        link["dropped_queue"],
        link["queue_mean_packets"],
        flow["sent_packets"],
        flow["retransmitted_packets"],
        flow["timeouts"],
    )


COLUMNS = """
cell rule seeds
ns2_goodput_mbit_per_s ns2_goodput_standard_error_mbit_per_s
bentpipe_goodput_mbit_per_s bentpipe_goodput_standard_error_mbit_per_s
goodput_difference_percent goodput_tolerated_percent
ns2_dropped_per_1000_packets bentpipe_dropped_per_1000_packets
ns2_mean_queue_packets bentpipe_mean_queue_packets
ns2_retransmitted_packets_per_run bentpipe_retransmitted_packets_per_run
ns2_timeouts_per_run bentpipe_timeouts_per_run
beyond_tolerance verdict
""".split()
"""Of the data file. `beyond_tolerance` names the quantities that exceed it: goodput, dropped, queue."""


def row(verdict: Verdict, word: str = "") -> list[str]:
    """One row of the data file; `word` is the verdict, by default what follows from the numbers."""
    cell, goodput, dropped, queue = verdict.cell, verdict.goodput, verdict.dropped, verdict.queue

    def mean(m: Mean) -> list[str]:
        return [f"{m.value:.3f}", f"{m.error:.3f}" if cell.seeds > 1 else ""]

    def pair(x: Compared, digits: str) -> list[str]:
        return [f"{x.theirs.value:{digits}}", f"{x.ours.value:{digits}}"]

    beyond = {"goodput": goodput, "dropped": dropped, "queue": queue}
    return [
        cell.plain,
        cell.rules,
        f"{cell.seeds}",
        *mean(goodput.theirs),
        *mean(goodput.ours),
        data_file.percent(goodput.difference),
        f"{100.0 * goodput.tolerated / goodput.theirs.value:.0f}",
        *pair(dropped, ".3g"),
        *pair(queue, ".1f"),
        *(f"{value:.0f}" for value in _each(verdict, lambda run: run.retransmitted)),
        *(f"{value:.1f}" for value in _each(verdict, lambda run: run.timeouts)),
        " ".join(name for name, quantity in beyond.items() if not quantity.agrees),
        word or ("differs" if not verdict.agrees else "agrees by rule" if cell.rules else "agrees"),
    ]


def _each(verdict: Verdict, what: Callable[[Run], float]) -> Iterator[float]:
    return (statistics.fmean(what(run) for run in runs) for runs in (verdict.theirs, verdict.ours))


def judge(cell: Cell, jobs: int = 2) -> list[Verdict]:
    """The cell; and where it differs, the cell with ns-2's rules, until it agrees."""
    found = [compare(cell, jobs)]
    for ruled in cell.with_rules():
        if found[-1].agrees:
            break
        found.append(compare(ruled, jobs))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Prints the rows; 1 if a cell differs and ns-2's rule does not explain it."""
    parser = argparse.ArgumentParser(description="Goodput beside ns-2.")
    parser.add_argument("--quick", action="store_true", help="the cells of the test suite")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("part", nargs="*", help="only cells with this in their names")
    given = parser.parse_args(arguments)
    if not ns2.available():
        print(ns2.MISSING, file=sys.stderr)
        return 3
    print(data_file.line(COLUMNS))
    bad = 0
    for cell in cells(quick=given.quick):
        if given.part and not any(part in cell.name for part in given.part):
            continue
        judged = judge(cell, given.jobs)
        known = cell.name in OPEN
        bad += not judged[-1].agrees and not known
        for verdict in judged:
            last = verdict is judged[-1]
            word = "repeated" if not last else "open" if known and not verdict.agrees else ""
            print(data_file.line(row(verdict, word)), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

"""The cells on which ns-2 and Bentpipe are compared, and the comparison.

    python python/tests/witness/ns2_grid.py [--quick] [--jobs N] [PART-OF-A-CELL'S-NAME ...]

prints the tables of docs/validation.md: the full form in about ten minutes on two processors, the quick
one (that of the test suite) in half a minute. Three kinds of cells:

* `per`: independent random losses, so means over seeds are compared; at PER 0 a full queue is what cuts
  the window;
* `periodic`: both simulators lose exactly the same packets of the bottleneck, one in `EVERY`;
* `overflow`: no random loss, and a buffer of a quarter of the bandwidth-delay product only.

Where the rules of ns-2 and of the controller here are known to differ, a sender has a `rule`: a
controller in Python that states ns-2's rule. A cell that differs must agree with the rule in the place of
the controller.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import linux26
from native_vegas import NativeVegas
from old_vegas import OldVegas

import bentpipe as bp
from bentpipe import ns2
from bentpipe.ns2.dumbbell import packets

RATE = 10e6
EVERY = 1000
PERS = (0.0, 1e-4, 1e-3, 1e-2)
SEEDS, RULE_SEEDS = 10, 5
BY_TIMEOUTS = ("westwood-100ms-per-0.01", "westwood-500ms-per-0.01")
"""Cells that may differ even with ns-2's rule: by timeouts, which `TCP/Linux` avoids (docs/validation.md)."""
DURATION_S = {20: 100.0, 100: 200.0, 500: 1000.0}
"""Of a run, by the RTT in ms."""


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
    Sender("highspeed-native", ns2.AGENTS["highspeed"]),
    Sender("highspeed", ns2.AGENTS["linux-highspeed"], linux26.HighSpeed),
    Sender("scalable", ns2.AGENTS["linux-scalable"], linux26.Scalable),
    Sender("htcp", ns2.AGENTS["linux-htcp"], linux26.Htcp),
    Sender("bic", ns2.AGENTS["linux-bic"], linux26.Bic),
    Sender("cubic", ns2.AGENTS["linux-cubic"], linux26.Cubic),
    Sender("hybla", ns2.AGENTS["linux-hybla"], linux26.Hybla),
)


@dataclass(frozen=True)
class Cell:
    """One comparison: a sender on a dumbbell; with `rule` its rule takes the place of the controller."""

    sender: Sender
    rtt_ms: int
    kind: str
    duration: float
    seeds: int = 1
    per: float = 0.0
    buffer_bdp: float = 1.0
    rule: type[bp.Controller] | None = None

    @property
    def name(self) -> str:
        """As in the table."""
        ending = f" ({self.rule.__name__})" if self.rule else ""
        return f"{self.sender.key}-{self.rtt_ms}ms-{self.kind}{ending}"

    def with_rule(self) -> Cell | None:
        """The same with ns-2's rule; fewer seeds, because Python is slow."""
        return (
            replace(self, rule=self.sender.rule, seeds=min(self.seeds, RULE_SEEDS))
            if self.sender.rule
            else None
        )

    def scenario(self, seed: int, drops: str) -> bp.Scenario:
        """For both programs; `drops` is a file with the packets that a periodic cell loses."""
        bdp = packets(RATE, self.rtt_ms / 1e3)
        options: dict[str, Any] = {}
        if self.sender.agent.module is not None and self.rtt_ms == 500:
            # Or the sender here times out where a queue grows faster than the timer follows.
            options["min_rto"] = "1 s"
        return ns2.dumbbell(
            self.sender.agent,
            rate=RATE,
            rtt=self.rtt_ms / 1e3,
            buffer=max(int(self.buffer_bdp * bdp) - 1, 4),
            duration=self.duration,
            cc=self.rule,
            per=self.per,
            drops=drops if self.kind == "periodic" else None,
            seed=seed,
            initial_ssthresh=int(bdp * (0.5 if self.kind == "overflow" else 1.0)),
            **options,
        )


@dataclass(frozen=True)
class Means:
    """Means over seeds: goodput in bit/s with its standard error; retransmissions and timeouts of a run."""

    goodput: float
    error: float
    retransmitted: float
    timeouts: float

    @classmethod
    def of(cls, runs: list[tuple[float, int, int]]) -> Means:
        """From goodput, retransmissions and timeouts of each run."""
        goodputs, retransmitted, timeouts = zip(*runs, strict=True)
        error = statistics.stdev(goodputs) / math.sqrt(len(runs)) if len(runs) > 1 else 0.0
        return cls(
            statistics.fmean(goodputs), error, statistics.fmean(retransmitted), statistics.fmean(timeouts)
        )


@dataclass(frozen=True)
class Verdict:
    """The two sides of a cell and what follows."""

    cell: Cell
    theirs: Means
    ours: Means

    @property
    def difference(self) -> float:
        """(ours - theirs) / theirs."""
        return self.ours.goodput / self.theirs.goodput - 1.0

    @property
    def error(self) -> float:
        """Standard error of the difference, relative to the mean of ns-2."""
        return math.hypot(self.theirs.error, self.ours.error) / self.theirs.goodput

    @property
    def tolerated(self) -> float:
        """The tolerance, or three standard errors of the difference where that is more."""
        return max(self.cell.sender.tolerance, 3.0 * self.error)

    @property
    def agrees(self) -> bool:
        """Is the difference tolerated?"""
        return abs(self.difference) <= self.tolerated


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


def compare(cell: Cell, jobs: int = 2) -> Verdict:
    """Both sides of a cell."""
    with tempfile.TemporaryDirectory(prefix="bentpipe-witness-") as folder:
        drops = Path(folder, "drops")
        last = int(cell.duration * RATE / 8 / 1500)
        drops.write_text("".join(f"{i}\n" for i in range(EVERY - 1, last, EVERY)), encoding="utf-8")
        scenarios = [cell.scenario(seed, str(drops)) for seed in range(1, cell.seeds + 1)]
        with ThreadPoolExecutor(jobs) as pool:
            theirs = list(pool.map(partial(ns2.run, agents=cell.sender.agent), scenarios))
        ours = [result.json["flows"][0] for result in bp.run_many(scenarios, jobs)]
    flows = [run.flows[0] for run in theirs]
    return Verdict(
        cell,
        Means.of([(f.goodput_bps, f.retransmitted, f.timeouts) for f in flows]),
        Means.of([(f["goodput_bps"], f["retransmitted_packets"], f["timeouts"]) for f in ours]),
    )


HEADER = """\
| cell | seeds | ns-2 Mbit/s | Bentpipe Mbit/s | difference | tolerated | retransmitted | timeouts | verdict |
|---|---|---|---|---|---|---|---|---|"""


def row(verdict: Verdict, word: str = "") -> str:
    """One line of the table in Markdown; `word` is the verdict, by default what follows from the numbers."""
    a, b, cell = verdict.theirs, verdict.ours, verdict.cell

    def mean(m: Means) -> str:
        text = f"{m.goodput / 1e6:.3f}"
        return f"{text} ± {m.error / 1e6:.3f}" if cell.seeds > 1 else text

    return (
        f"| {cell.name} | {cell.seeds} | {mean(a)} | {mean(b)} "
        f"| {verdict.difference:+.1%} | {verdict.tolerated:.0%} "
        f"| {a.retransmitted:.0f} / {b.retransmitted:.0f} | {a.timeouts:.1f} / {b.timeouts:.1f} "
        f"| {word or ('agrees' if verdict.agrees else 'DIFFERS')} |"
    )


def judge(cell: Cell, jobs: int = 2) -> tuple[Verdict, Verdict | None]:
    """The cell, and where it differs and its sender has a rule of ns-2's, the cell with that rule."""
    verdict = compare(cell, jobs)
    other = None if verdict.agrees else cell.with_rule()
    return verdict, compare(other, jobs) if other else None


def summary(found: list[Verdict]) -> str:
    """How many cells there are and how far apart the programs are in them."""
    apart = sorted((abs(v.difference), v.cell.name) for v in found if v.agrees)
    loose = [v for v in found if 3.0 * v.error > v.cell.sender.tolerance]
    worst = max((v.tolerated for v in loose), default=0.0)
    text = f"{len(found)} cells, {len(apart)} agree"
    if apart:
        text += f"; their differences: median {statistics.median(d for d, _ in apart):.1%}"
        text += f", largest {apart[-1][0]:.1%} ({apart[-1][1]})"
    text += "."
    if loose:
        text += (
            f"\nIn {len(loose)} cells three standard errors are more than the tolerance, up to {worst:.0%}."
        )
    return text


def main(arguments: list[str] | None = None) -> int:
    """Prints the table; 1 if a cell differs and ns-2's rule does not explain it."""
    parser = argparse.ArgumentParser(description="Goodput beside ns-2.")
    parser.add_argument("--quick", action="store_true", help="the cells of the test suite")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("part", nargs="*", help="only cells with this in their names")
    given = parser.parse_args(arguments)
    if not ns2.available():
        print(ns2.MISSING, file=sys.stderr)
        return 3
    print(HEADER)
    bad, found = 0, []
    for cell in cells(quick=given.quick):
        if given.part and not any(part in cell.name for part in given.part):
            continue
        verdict, ruled = judge(cell, given.jobs)
        found.append(verdict)
        explained = ruled is not None and ruled.agrees
        known = cell.name in BY_TIMEOUTS and not verdict.agrees and not explained
        bad += not (verdict.agrees or explained or known)
        word = "ns-2's rule, next line" if explained else "rule and timeouts" if known else ""
        print(row(verdict, word), flush=True)
        if ruled is not None:
            print(row(ruled), flush=True)
    print(f"\n{summary(found)}" if found else "")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

"""The cells on which ns-2 and Bentpipe are compared, and the comparison.

    python python/tests/witness/ns2_grid.py [--quick] [--jobs N] [PART-OF-A-CELL'S-NAME ...]

prints the tables of docs/validation.md: the full form in about ten minutes on two processors, the quick
one (that of the test suite) in half a minute. Compared are goodput, drops of the bottleneck's queue, and
packets waiting there on average. Three kinds of cells:

* `per`: independent random losses, so means over seeds are compared; at PER 0 a full queue is what cuts
  the window;
* `periodic`: both simulators lose exactly the same packets of the bottleneck, one in `EVERY`;
* `overflow`: no random loss, and a buffer of a quarter of the bandwidth-delay product only.

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
"""Cells that differ even with ns-2's rules (docs/validation.md says how far the cause is known)."""
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
    rule: type[bp.Controller] | None = None
    rack: bool = False

    @property
    def name(self) -> str:
        """As in the table."""
        parts = [self.rule.__name__] if self.rule else []
        parts += ["rack"] if self.rack else []
        ending = f" ({', '.join(parts)})" if parts else ""
        return f"{self.sender.key}-{self.rtt_ms}ms-{self.kind}{ending}"

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
        bdp = packets(RATE, self.rtt_ms / 1e3)
        options: dict[str, Any] = {}
        if self.sender.agent.module is not None and self.rtt_ms == 500:
            # Or the sender here times out where a queue grows faster than the timer follows.
            options["min_rto"] = "1 s"
        if self.rack:
            options["rack"] = True
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
        return self.compared(lambda run: 1e3 * run.dropped / run.sent, 1e3 * ONE * 1.01 / sent)

    @property
    def queue(self) -> Compared:
        """Packets waiting, on average over the run."""
        return self.compared(lambda run: run.queue, ONE)

    @property
    def agrees(self) -> bool:
        """Are all three differences tolerated?"""
        return self.goodput.agrees and self.dropped.agrees and self.queue.agrees


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


HEADER = """\
| cell | seeds | ns-2 Mbit/s | Bentpipe Mbit/s | difference | tolerated | dropped per 1000 | mean queue \
| retransmitted | timeouts | verdict |
|---|---|---|---|---|---|---|---|---|---|---|"""


def row(verdict: Verdict, word: str = "") -> str:
    """One line of the table in Markdown; `word` is the verdict, by default what follows from the numbers."""
    cell, goodput = verdict.cell, verdict.goodput

    def mean(m: Mean) -> str:
        return f"{m.value:.3f} ± {m.error:.3f}" if cell.seeds > 1 else f"{m.value:.3f}"

    def pair(x: Compared, digits: str) -> str:
        text = f"{x.theirs.value:{digits}} / {x.ours.value:{digits}}"
        return text if x.agrees else f"**{text}**"

    off = f"{goodput.difference:+.1%}"
    cells = [
        cell.name,
        f"{cell.seeds}",
        mean(goodput.theirs),
        mean(goodput.ours),
        off if goodput.agrees else f"**{off}**",
        f"{goodput.tolerated / goodput.theirs.value:.0%}",
        pair(verdict.dropped, ".3g"),
        pair(verdict.queue, ".1f"),
        "{:.0f} / {:.0f}".format(*_each(verdict, lambda run: run.retransmitted)),
        "{:.1f} / {:.1f}".format(*_each(verdict, lambda run: run.timeouts)),
        word or ("agrees" if verdict.agrees else "DIFFERS"),
    ]
    return f"| {' | '.join(cells)} |"


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


def summary(found: list[list[Verdict]]) -> str:
    """How many cells there are and how far apart the programs are in them."""
    alike = [judged[0] for judged in found if judged[0].agrees]
    ruled = [judged[-1] for judged in found if not judged[0].agrees and judged[-1].agrees]
    text = f"{len(found)} cells. {_spread('agree', alike)}"
    if ruled:
        text += f"\n{_spread('agree once our sender has the rule of ns-2', ruled)}"
    loose = [v for v in alike + ruled if 3.0 * v.goodput.error > v.goodput.tolerance * v.goodput.theirs.value]
    if loose:
        worst = max(v.goodput.tolerated / v.goodput.theirs.value for v in loose)
        text += f"\nIn {len(loose)} cells three standard errors of the goodput are more than the tolerance, "
        text += f"up to {worst:.0%}."
    return text


def _spread(what: str, alike: list[Verdict]) -> str:
    text = f"{len(alike)} {what}."
    if alike:
        apart = sorted((abs(v.goodput.difference), v.cell.name) for v in alike)
        queues = sorted((abs(v.queue.ours.value - v.queue.theirs.value), v.cell.name) for v in alike)
        text += f" Goodput: median {statistics.median(d for d, _ in apart):.2%}"
        text += f", largest {apart[-1][0]:.1%} ({apart[-1][1]})."
        text += f" Mean queue: median {statistics.median(d for d, _ in queues):.2f} packets"
        text += f", largest {queues[-1][0]:.1f} ({queues[-1][1]})."
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
        judged = judge(cell, given.jobs)
        found.append(judged)
        known = cell.name in OPEN
        bad += not judged[-1].agrees and not known
        for verdict in judged:
            last = verdict is judged[-1]
            word = "ns-2's rule, next line" if not last else "open" if known and not verdict.agrees else ""
            print(row(verdict, word), flush=True)
    print(f"\n{summary(found)}" if found else "")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

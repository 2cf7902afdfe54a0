"""Goodput beside ns-3: six senders, two round-trip times, without loss and with PER 0.001.

    apt-get install libns3-dev
    python python/tests/witness/ns3_grid.py

prints docs/validation/ns3-grid.csv in some minutes. `bentpipe.bench.ns3` compiles the program that runs ns-3
and makes its arguments of the same scenario that runs here.

Where the rules of ns-3 and of the controller here differ, a sender has a `rule`: a controller in Python that
states ns-3's (`ns3_rules.py`). A cell that differs must agree with the rule in the place of the controller.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import data_file
import ns3_rules

import bentpipe as bp
from bentpipe.bench import ns3
from bentpipe.ns2.dumbbell import ENDLESS, packets

NOT_INSTALLED = 3
"""Exit status, as scripts/validate.py has it."""
RATE = 10e6
MSS = 1448
HEADER = 54
"""TCP with timestamps, IP, and the two bytes of ns-3's point-to-point protocol."""
PERS = (0.0, 1e-3)
DURATION_S = {100: 60.0, 500: 200.0}
SEEDS, BBR_SEEDS = 10, 3
"""BBR scatters little, and a run of it costs ns-3 ten times as much."""
TOLERANCE = 0.10


@dataclass(frozen=True)
class Sender:
    """A sender in ns-3, the controller here with the same parameters, and ns-3's rules where they differ."""

    key: str
    cc: Any
    socket: str
    settings: dict[str, str] = field(default_factory=dict)
    rule: type[bp.Controller] | None = None


SENDERS = (
    Sender("newreno", "reno", "ns3::TcpNewReno", rule=ns3_rules.NewReno),
    Sender("cubic", "cubic", "ns3::TcpCubic", {"ns3::TcpCubic::HyStart": "false"}, ns3_rules.Cubic),
    Sender("vegas", {"name": "vegas", "rules": "linux"}, "ns3::TcpVegas", rule=ns3_rules.Vegas),
    Sender("veno", "veno", "ns3::TcpVeno"),
    Sender(
        "hybla",
        {"name": "hybla", "rtt0": 0.06, "ssthresh_est": False, "pacing": False, "per": "segment"},
        "ns3::TcpHybla",
        {"ns3::TcpHybla::RRTT": "60ms"},
        ns3_rules.Hybla,
    ),
    Sender("bbr", "bbr", "ns3::TcpBbr"),
)


@dataclass(frozen=True)
class Cell:
    """One comparison; with `rule` the rules of ns-3 take the place of the controller."""

    sender: Sender
    rtt_ms: int
    per: float
    rule: type[bp.Controller] | None = None

    @property
    def name(self) -> str:
        """Sender, round-trip time and packet error rate."""
        return f"{self.sender.key}-{self.rtt_ms}ms-per-{self.per:g}"

    @property
    def seeds(self) -> int:
        """How many runs."""
        if not self.per:
            return 1
        return BBR_SEEDS if self.sender.key == "bbr" else SEEDS

    @property
    def bdp(self) -> int:
        """Of the path, packets: the buffer, and where the first slow start ends."""
        return packets(RATE, self.rtt_ms / 1e3)

    def here(self, seed: int) -> bp.Scenario:
        """The run for Bentpipe: profile `modern` as far as ns-3 follows the same RFCs."""
        edge = bp.Link(rate="1 Gbit/s", delay="1 ms", queue=ENDLESS)
        core = bp.Link(
            rate=f"{RATE:.0f} bit/s",
            delay=f"{self.rtt_ms / 2 - 2} ms",
            queue=bp.DropTail(f"{self.bdp} packets"),
            loss=bp.PacketError(self.per) if self.per else None,
            reverse={"queue": ENDLESS},
        )
        flow = bp.Flow(
            self.rule or self.sender.cc,
            path=["access", "core", "egress"],
            profile="modern",
            mss=f"{MSS} bytes",
            header=f"{HEADER} bytes",
            ack_size=f"{HEADER} bytes",
            initial_ssthresh=self.bdp,
            receive_window=f"{4 * self.bdp} segments",
            delayed_ack=False,
            rto="rfc6298",
            spurious="none",
            rack=False,
            tlp=False,
            dsack=False,
        )
        links = {"access": edge, "core": core, "egress": edge}
        return bp.Scenario(links=links, flows=[flow], duration=f"{DURATION_S[self.rtt_ms]} s", seed=seed)


def cells() -> list[Cell]:
    """Every comparison."""
    return [Cell(sender, rtt_ms, per) for sender in SENDERS for rtt_ms in DURATION_S for per in PERS]


def there(cell: Cell, seed: int) -> float:
    """Goodput of ns-3 in Mbit/s."""
    sender = cell.sender
    return ns3.run(cell.here(seed), sender.socket, sender.settings) * 8.0 / DURATION_S[cell.rtt_ms] / 1e6


@dataclass(frozen=True)
class Verdict:
    """Goodputs in Mbit/s over the seeds."""

    cell: Cell
    theirs: list[float]
    ours: list[float]

    @property
    def difference(self) -> float:
        """Of the means, relative to ns-3."""
        return statistics.fmean(self.ours) / statistics.fmean(self.theirs) - 1.0

    @property
    def error(self) -> float:
        """Its standard error."""
        if self.cell.seeds == 1:
            return 0.0
        variance = sum(statistics.variance(x) / len(x) for x in (self.theirs, self.ours))
        return math.sqrt(variance) / statistics.fmean(self.theirs)

    @property
    def agrees(self) -> bool:
        """Within the tolerance, or within three standard errors."""
        return abs(self.difference) <= max(TOLERANCE, 3.0 * self.error)

    def row(self, word: str = "") -> list[str]:
        """One row of the data file; `word` is the verdict, by default what the numbers say."""
        rule = self.cell.rule.__name__ if self.cell.rule else ""
        return [
            self.cell.name,
            rule,
            f"{self.cell.seeds}",
            *_mean(self.theirs),
            *_mean(self.ours),
            data_file.percent(self.difference),
            f"{100.0 * max(TOLERANCE, 3.0 * self.error):.0f}",
            word or ("differs" if not self.agrees else "agrees by rule" if rule else "agrees"),
        ]


COLUMNS = """
cell rule seeds
ns3_goodput_mbit_per_s ns3_goodput_standard_error_mbit_per_s
bentpipe_goodput_mbit_per_s bentpipe_goodput_standard_error_mbit_per_s
difference_percent tolerated_percent verdict
""".split()
"""Of the data file. `rule`: ns-3's rule in the place of ours."""


def _mean(values: list[float]) -> list[str]:
    error = "" if len(values) == 1 else f"{statistics.stdev(values) / math.sqrt(len(values)):.3f}"
    return [f"{statistics.fmean(values):.3f}", error]


def here(cell: Cell) -> list[float]:
    """Goodputs of Bentpipe in Mbit/s."""
    runs = bp.run_many([cell.here(seed) for seed in range(1, cell.seeds + 1)])
    return [run.json["flows"][0]["delivered_bytes"] * 8.0 / DURATION_S[cell.rtt_ms] / 1e6 for run in runs]


def compare(chosen: list[Cell], jobs: int = 2) -> Iterator[tuple[Verdict, Verdict | None]]:
    """Both programs on the cells; and where they differ, the cell with the rules of ns-3."""
    ns3.program()
    with ThreadPoolExecutor(jobs) as pool:
        runs = [(cell, seed) for cell in chosen for seed in range(1, cell.seeds + 1)]
        theirs = pool.map(lambda run: there(*run), runs)
        for cell in chosen:
            found = [next(theirs) for _ in range(cell.seeds)]
            verdict = Verdict(cell, found, here(cell))
            ruled = None
            if not verdict.agrees and cell.sender.rule is not None:
                same = replace(cell, rule=cell.sender.rule)
                ruled = Verdict(same, found, here(same))
            yield verdict, ruled


def main(arguments: list[str] | None = None) -> int:
    """Prints the rows; 1 if a cell differs, 3 without ns-3."""
    parser = argparse.ArgumentParser(description="Goodput beside ns-3.")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("part", nargs="*", help="only cells with this in their names")
    given = parser.parse_args(arguments)
    if lacks := ns3.missing():
        print(f"ns-3: {lacks}", file=sys.stderr)
        return NOT_INSTALLED
    print(data_file.line(COLUMNS))
    bad = 0
    chosen = [c for c in cells() if not given.part or any(part in c.name for part in given.part)]
    for verdict, ruled in compare(chosen, given.jobs):
        explained = ruled is not None and ruled.agrees
        bad += not (verdict.agrees or explained)
        print(data_file.line(verdict.row("repeated" if explained else "")), flush=True)
        if ruled is not None:
            print(data_file.line(ruled.row()), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

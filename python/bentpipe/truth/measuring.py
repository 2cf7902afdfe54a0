"""Many real transfers at a time, and the rows that compare them with simulations."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from bentpipe.emulation.congestion import is_there
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.execution import Ran, RunBatch
from bentpipe.sweeps.kept import Kept, Row
from bentpipe.sweeps.lab import Lab
from bentpipe.sweeps.lot import Lot
from bentpipe.terminal.progress import State
from bentpipe.truth.cell import Cell, Sender
from bentpipe.truth.comparison import CURVE, GOODPUT, RETRANSMITTED, RTT, curve_distance
from bentpipe.truth.paused import PausedCell
from bentpipe.truth.quic_program import QuicCell
from bentpipe.truth.real import TransferFailed
from bentpipe.truth.side import Side

APART_S = 0.21
"""Between the starts of two transfers, so that they do not begin in step."""
LOOK_S = 0.05
NOTHING = '{"packets": 0, "warnings": []}'
"""What a store keeps of a simulation beside its row."""
TRIES = 2
"""The number of attempts at a transfer whose emulation did not keep time."""

Of = TypeVar("Of", Cell, PausedCell, QuicCell)
Steered = TypeVar("Steered", Cell, PausedCell)


class Transfers:
    """The executor of real transfers, which take as long as they last. A case names its transfer by `nth`.

    A transfer whose emulation does not keep time is made again.

    Args:
        at_once: number of links that are emulated at a time.
        starts: each starts a transfer.
    """

    def __init__(self, at_once: int, starts: Sequence[Callable[[], Any]]) -> None:
        self.size, self._starts = at_once, starts
        #: The number of each run, its transfer, and how many attempts there were.
        self._waiting: deque[tuple[int, int, int]] = deque()
        self._running: list[tuple[int, int, int, Any]] = []
        self._made = self._failures = 0
        self._next_start = 0.0

    @property
    def free(self) -> int:
        """The number of batches that can be started now."""
        return max(0, self.size - len(self._running) - len(self._waiting))

    def start(self, batch: RunBatch) -> None:
        """Begins a batch."""
        for number, case in zip(batch.numbers, batch.cases, strict=True):
            self._waiting.append((number, int(case.keys["nth"]), 1))

    def finished(self, timeout_s: float) -> Sequence[Ran]:
        """Transfers that are over, with their numbers and the emulator's report; waits a moment.

        Raises:
            OSError: the machine or the privileges do not allow an emulated link.
            TransferFailed: no transfer can be made at all.
        """
        time.sleep(min(LOOK_S, timeout_s))
        if self._waiting and len(self._running) < self.size and time.monotonic() >= self._next_start:
            number, nth, attempt = self._waiting.popleft()
            self._running.append((number, nth, attempt, self._starts[nth]()))
            self._next_start = time.monotonic() + APART_S
        over = []
        for one in [one for one in self._running if one[3].step()]:
            self._running.remove(one)
            number, nth, attempt, transfer = one
            try:
                numbers, report = transfer.finish()
            except TransferFailed as failure:
                self._failures += 1
                if self._failures > self.size and not self._made:
                    raise
                over.append(Ran(number, error=str(failure)))
                continue
            if report.get("kept_time", True) or attempt == TRIES:
                self._made += 1
                over.append(Ran(number, NOTHING, measures={"numbers": numbers, "report": report}))
            else:
                self._waiting.append((number, nth, attempt + 1))
        return over

    def stop(self) -> None:
        """Ends everything."""
        for *_, transfer in self._running:
            transfer.abandon()
        self._running.clear()
        self._waiting.clear()


@dataclass(frozen=True)
class TransferJob:
    """A job of many real transfers.

    Args:
        kept: the store of their rows, by the keys of their cells.
        at_once: number of links that are emulated at a time.
        tell: called with a line for each transfer that is left out, with the reason.
        progress: called with the state of the job.
        name: what is shown of the current work.
    """

    kept: Kept
    at_once: int
    tell: Callable[[str], None]
    progress: Callable[[State], None] | None = None
    name: str = "real transfers"

    def rows(self, cells: Sequence[Of], start: Callable[[Of], Any]) -> dict[Of, Row]:
        """The rows of transfers: those that the store lacks are made, and one that fails is left out.

        Args:
            cells: the transfers.
            start: starts one.

        Raises:
            OSError: the machine or the privileges do not allow an emulated link.
            TransferFailed: no transfer can be made at all.
        """
        cases = [Case({"nth": nth}, {}) for nth in range(len(cells))]
        starts = [partial(start, cell) for cell in cells]

        def measure(case: Case, ran: Ran) -> Row:
            made = ran.measures
            return {**cells[int(case.keys["nth"])].as_dict(), **made["numbers"], **_about(made["report"])}

        lot = Lot(cases, measure, key=lambda nth: cells[nth].key, named=lambda _: self.name, kept=self.kept)
        rows = {}
        with Lab(executor=lambda: Transfers(self.at_once, starts), progress=self.progress) as lab:
            for _, ran in chain.from_iterable(lab.work([lot])):
                if ran.error is None:
                    rows[ran.number] = ran.measures
                else:
                    self.tell(ran.error)
        return {cells[nth]: rows[nth] for nth in sorted(rows)}

    def by_kernel(self, cells: Sequence[Steered], start: Callable[[Steered, str], Any]) -> dict[Steered, Row]:
        """The same with the kernel's TCP: `start` has its name of the algorithm. It may lack senders."""
        lacking = {cell.sender for cell in cells if not self.kept.has(cell.key)}
        with ExitStack() as held:
            names, refused = _steer(held, lacking)
            for sender, why in refused.items():
                self.tell(f"{sender} is left out: {why}")
            some = [cell for cell in cells if cell.sender not in refused or self.kept.has(cell.key)]
            return self.rows(some, lambda cell: start(cell, names[cell.sender]))


def _about(report: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a stored transfer that come from the emulator."""
    return {
        "kernel": os.uname().release,
        "lateness_p99_s": max(report[way]["lateness_p99_s"] for way in ("forward", "reverse")),
        "kept_time": bool(report.get("kept_time", True)),
        **{f"dropped_{why}": report["forward"][f"dropped_{why}"] for why in ("queue", "error")},
        "acks_lost": report["reverse"]["dropped_error"],
    }


def _steer(held: ExitStack, senders: set[Sender]) -> tuple[dict[Sender, str], dict[Sender, str]]:
    """Gives the kernel the controllers: its names of the senders, and the reasons for missing ones."""
    from bentpipe import _core

    names = {sender: sender.name_in_kernel(os.getpid()) for sender in senders}
    refused: dict[Sender, str] = {}
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split()
    for sender in sorted(senders, key=str):
        if sender.home == "kernel":
            if not is_there(names[sender]):
                refused[sender] = "this kernel does not have it"
            continue
        if sender.home == "native" and names[sender] in known:
            continue  # already attached by another process
        try:
            made = _core.KernelAgent(sender.algorithm, name=names[sender], native=sender.home == "native")
        except _core.KernelError as wrong:
            refused[sender] = str(wrong)
            continue
        held.callback(made.close)
    return names, refused


def quantities(side: Side) -> dict[str, float]:
    """The quantities of a side in the table, by name: a row has each as NAME_real and NAME_simulated."""
    return {
        GOODPUT: side.goodput_bps,
        RTT: side.rtt_s,
        RETRANSMITTED: side.retransmitted,
        "cwnd": float(side.cwnd.mean()),
    }


def row(cell: Cell, about: Mapping[str, Any], simulated: Mapping[str, Any]) -> dict[str, Any]:
    """The row of one cell: its identity, and each quantity real and simulated.

    Args:
        cell: the cell.
        about: the row of its real transfer.
        simulated: the quantities of its simulation, and its window as `curve`.
    """
    real = Side.of(about)
    both = {
        f"{name}_{world}": value
        for name, measured in quantities(real).items()
        for world, value in (("real", measured), ("simulated", simulated[name]))
    }
    return {
        **cell.as_dict(),
        **both,
        CURVE: curve_distance(real.cwnd, np.array(simulated[CURVE])),
        "lateness_p99_s": about["lateness_p99_s"],
        "kept_time": about["kept_time"],
        "kernel": about["kernel"],
    }

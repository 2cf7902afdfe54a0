"""Many real transfers at a time, and the rows that compare them with simulations."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from bentpipe.emulation.congestion import is_there
from bentpipe.files import replace_text
from bentpipe.truth.cell import Cell, Sender
from bentpipe.truth.comparison import CURVE, GOODPUT, RETRANSMITTED, RTT, curve_distance
from bentpipe.truth.paused import PausedCell
from bentpipe.truth.quic_program import QuicTransfer
from bentpipe.truth.real import PausedTransfer, RealTransfer, TransferFailed
from bentpipe.truth.side import Side, TransferStore

APART_S = 0.21
"""Between the starts of two transfers, so that they do not begin in step."""
LOOK_S = 0.05
TRIES = 2
"""The number of attempts at a transfer whose emulation did not keep time."""

Real = TypeVar("Real", RealTransfer, PausedTransfer, QuicTransfer)
Of = TypeVar("Of", Cell, PausedCell)


@dataclass(frozen=True)
class TransferJob:
    """A job of many real transfers.

    Args:
        at_once: number of links that are emulated at a time.
        over: called when a transfer is stored.
        tell: called with a line for each transfer that is left out, with the reason.
    """

    at_once: int
    over: Callable[[], None]
    tell: Callable[[str], None]

    def work_off(
        self, starts: Sequence[Callable[[], Real]], keep: Callable[[Real, Any, dict[str, Any]], None]
    ) -> None:
        """Makes transfers. One whose emulation does not keep time is made again; one that fails is left out.

        Args:
            starts: each starts a transfer.
            keep: stores a transfer that is over, from its numbers and the emulator's report.

        Raises:
            OSError: the machine or the privileges do not allow an emulated link.
            TransferFailed: no transfer can be made at all.
        """
        waiting = deque((start, 1) for start in starts)
        running: list[tuple[Real, Callable[[], Real], int]] = []
        made, failures, next_start = 0, 0, 0.0
        try:
            while waiting or running:
                now = time.monotonic()
                if waiting and len(running) < self.at_once and now >= next_start:
                    start, attempt = waiting.popleft()
                    running.append((start(), start, attempt))
                    next_start = now + APART_S
                for one in [one for one in running if one[0].step()]:
                    running.remove(one)
                    transfer, start, attempt = one
                    try:
                        numbers, report = transfer.finish()
                    except TransferFailed as failure:
                        failures += 1
                        self.tell(str(failure))
                        if failures > self.at_once and not made:
                            raise
                        continue
                    if report.get("kept_time", True) or attempt == TRIES:
                        made += 1
                        keep(transfer, numbers, report)
                        self.over()
                    else:
                        waiting.append((start, attempt + 1))
                time.sleep(LOOK_S)
        finally:
            for transfer, *_ in running:
                transfer.abandon()

    def measure(self, cells: Sequence[Cell], store: TransferStore) -> list[Cell]:
        """Makes the transfers of the kernel's TCP that the store lacks; returns the cells that are there.

        Raises:
            OSError: the machine or the privileges do not allow an emulated link.
            TransferFailed: no transfer can be made at all.
        """

        def work(wanted: Sequence[Cell], names: Mapping[Sender, str]) -> None:
            starts = [partial(RealTransfer, cell, store.folder, names[cell.sender]) for cell in wanted]
            self.work_off(starts, lambda one, side, report: store.put(one.cell, side, _about(report)))

        return self._lacking(cells, store, work)

    def measure_paused(self, cells: Sequence[PausedCell], store: TransferStore) -> list[PausedCell]:
        """The same with traffic that pauses; the store has a file of each, with all that is known."""

        def keep(one: PausedTransfer, numbers: dict[str, Any], report: dict[str, Any]) -> None:
            text = json.dumps({**one.cell.as_dict(), **numbers, **_about(report)}) + "\n"
            replace_text(store.file(one.cell), text)

        def work(wanted: Sequence[PausedCell], names: Mapping[Sender, str]) -> None:
            self.work_off([partial(PausedTransfer, cell, names[cell.sender]) for cell in wanted], keep)

        return self._lacking(cells, store, work)

    def _lacking(
        self,
        cells: Sequence[Of],
        store: TransferStore,
        work: Callable[[Sequence[Of], Mapping[Sender, str]], None],
    ) -> list[Of]:
        """Has those made that the store lacks and the kernel can send; returns those that are there."""
        lacking = [cell for cell in cells if not store.has(cell)]
        with ExitStack() as held:
            names, refused = _steer(held, {cell.sender for cell in lacking})
            for sender, why in refused.items():
                self.tell(f"{sender} is left out: {why}")
            work([cell for cell in lacking if cell.sender not in refused], names)
        return [cell for cell in cells if store.has(cell)]


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


def row(cell: Cell, stored: tuple[Side, Mapping[str, Any]], simulated: Mapping[str, Any]) -> dict[str, Any]:
    """The row of one cell: its identity, and each quantity real and simulated.

    Args:
        cell: the cell.
        stored: its real transfer (`TransferStore.get`).
        simulated: the quantities of its simulation, and its window as `curve`.
    """
    real, about = stored
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

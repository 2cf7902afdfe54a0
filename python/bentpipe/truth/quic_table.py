"""The job of `validate quic`, and the table that it makes."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import Any

from bentpipe.truth import measuring
from bentpipe.truth.cell import Cell
from bentpipe.truth.comparison import grouped
from bentpipe.truth.quic_program import (
    KERNEL,
    QUIC,
    QUIC_SIMULATED,
    SIMULATED,
    WORLDS,
    QuicCell,
    QuicTransfer,
    program,
    simulate,
)
from bentpipe.truth.real import TransferFailed
from bentpipe.truth.side import Side, Store
from bentpipe.truth.side import simulate as simulate_tcp

QUANTITIES = ("goodput_bps", "rtt_s", "lost")
"""The quantities of each world, as columns WORLD_QUANTITY."""

LATE_S = 0.05
"""A QUIC sender that once waited this long for a processor may have been held back by the machine."""

Progress = Callable[[float], object]


def measure(
    cells: Sequence[QuicCell], folder: Path, *, at_once: int, progress: Progress, tell: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Makes every transfer in all worlds that this machine has; one row a cell.

    Args:
        cells: the cells that are compared.
        folder: the folder of real transfers; those that it holds are not made again.
        at_once: number of links that are emulated at a time.
        progress: called now and then with the share that is done.
        tell: called with a line for each omission, with the reason.

    Raises:
        NotBuilt: the program is not there.
        OSError: the machine or the privileges do not allow an emulated link.
    """
    tool = program()
    folder.mkdir(parents=True, exist_ok=True)
    quic = _real(
        cells, folder, tool, at_once=at_once, progress=lambda share: progress(0.5 * share), tell=tell
    )
    there = _kernel(
        cells, folder, at_once=at_once, progress=lambda share: progress(0.5 + 0.4 * share), tell=tell
    )
    store = Store(folder)
    with ThreadPoolExecutor(os.cpu_count()) as threads:

        def simulate_quic(cell: QuicCell) -> dict[str, float] | None:
            try:
                return simulate(cell, tool, folder)
            except TransferFailed as failure:
                tell(str(failure))
                return None

        def row(cell: QuicCell) -> dict[str, Any]:
            found = next((kernel for kernel in cell.kernels() if kernel in there), None)
            worlds = {
                SIMULATED: tcp(simulate_tcp(cell.kernels()[0])),
                KERNEL: tcp(store.get(found)[0]) if found else None,
                QUIC_SIMULATED: simulate_quic(cell),
                QUIC: quic.get(cell),
            }
            columns = {
                f"{world}_{quantity}": None if numbers is None else numbers[quantity]
                for world, numbers in worlds.items()
                for quantity in QUANTITIES
            }
            late = (quic.get(cell) or {}).get("late_s")
            by = found.sender.home if found else None
            return {**cell.as_dict(), "kernel_by": by, "quic_late_s": late, **columns}

        return list(threads.map(row, cells))


def _kernel(
    cells: Sequence[QuicCell],
    folder: Path,
    *,
    at_once: int,
    progress: Progress,
    tell: Callable[[str], None],
) -> set[Cell]:
    """The real TCP transfers: each by the first sender that can run its controller in this kernel."""
    there: set[Cell] = set()
    left_out: list[str] = []
    most = max(len(cell.kernels()) for cell in cells)
    for rank in range(most):
        open_cells = [cell for cell in cells if not there.intersection(cell.kernels())]
        wanted = [kernel for cell in open_cells for kernel in cell.kernels()[rank : rank + 1]]
        if not wanted:
            continue

        def part(done: int, of: int, _: str, rank: int = rank) -> None:
            progress((rank + done / of) / most)

        there |= set(measuring.measure(wanted, folder, at_once=at_once, tell=left_out.append, progress=part))
    if any(not there.intersection(cell.kernels()) for cell in cells):
        for line in left_out:  # a sender that could replace another is not missed while the other is present
            tell(line)
    return there


def tcp(side: Side) -> dict[str, float]:
    """The quantities of a world in which TCP sends."""
    return {"goodput_bps": side.goodput_bps, "rtt_s": side.rtt_s, "lost": side.retransmitted}


def _real(
    cells: Sequence[QuicCell],
    folder: Path,
    tool: str,
    *,
    at_once: int,
    progress: Progress,
    tell: Callable[[str], None],
) -> dict[QuicCell, dict[str, float]]:
    """The real QUIC transfers."""
    files = {cell: folder / f"{cell.key}.json" for cell in cells}
    made = {
        cell: json.loads(file.read_text(encoding="utf-8"))["numbers"]
        for cell, file in files.items()
        if file.exists()
    }
    waiting = deque((cell, 1) for cell in cells if cell not in made)
    running: list[tuple[QuicTransfer, int]] = []
    next_start = 0.0
    try:
        while waiting or running:
            now = time.monotonic()
            if waiting and len(running) < at_once and now >= next_start:
                cell, attempt = waiting.popleft()
                running.append((QuicTransfer(cell, tool), attempt))
                next_start = now + measuring.APART_S
            for transfer, attempt in [pair for pair in running if pair[0].over]:
                running.remove((transfer, attempt))
                try:
                    numbers, report = transfer.finish()
                except TransferFailed as failure:
                    tell(str(failure))
                    continue
                if not report.get("kept_time", True) and attempt < measuring.TRIES:
                    waiting.append((transfer.cell, attempt + 1))
                    continue
                made[transfer.cell] = numbers
                kept = {**transfer.cell.as_dict(), "numbers": numbers, "kept_time": report.get("kept_time")}
                files[transfer.cell].write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
            progress(1 - (len(waiting) + len(running)) / max(1, len(cells)))
            time.sleep(measuring.LOOK_S)
    finally:
        for transfer, _ in running:
            transfer.abandon()
    return made


def over_seeds(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each controller on each link: means over the seeds."""
    columns = [f"{world}_{quantity}" for world in WORLDS for quantity in QUANTITIES]
    made = []
    for place, group in grouped(rows, ("controller", "rtt_ms", "per", "length_s")):
        found: dict[str, Any] = dict(zip(("controller", "rtt_ms", "per", "length_s"), place, strict=True))
        late = max((row["quic_late_s"] or 0.0 for row in group), default=0.0)
        found |= {"seeds": len(group), "kernel_by": group[0]["kernel_by"], "quic_late_s": late}
        for column in columns:
            known = [row[column] for row in group if row[column] is not None]
            found[column] = fmean(known) if known else None
        made.append(found)
    return made


def page_rows(table: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Heads and body of a table: per world goodput in Mbit/s, mean RTT in ms, losses in percent."""
    heads = ["<controller", "<RTT, PER", *WORLDS.values()]
    body = [
        [
            row["controller"]
            + (f" ({row['kernel_by']})" if row["kernel_by"] not in (None, "kernel") else ""),
            f"{row['rtt_ms']} ms, {row['per']:g}",
            *(_numbers(row, world) for world in WORLDS),
        ]
        for row in table
    ]
    return heads, body


def late_rows(table: Sequence[dict[str, Any]]) -> int:
    """The number of rows in which the machine kept the QUIC sender waiting for longer than `LATE_S`."""
    return sum((row["quic_late_s"] or 0.0) > LATE_S for row in table)


def _numbers(row: dict[str, Any], world: str) -> str:
    goodput, rtt, lost = (row[f"{world}_{quantity}"] for quantity in QUANTITIES)
    if goodput is None:
        return "-"
    return f"{goodput / 1e6:.2f}, {1e3 * rtt:.0f}, {100 * lost:.2f}"

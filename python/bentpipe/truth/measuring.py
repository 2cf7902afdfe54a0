"""The job of `validate kernel`: many real transfers at a time, then their simulations, then the table."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bentpipe.emulation.congestion import is_there
from bentpipe.truth.cell import Cell, Sender
from bentpipe.truth.comparison import CURVE, GOODPUT, RETRANSMITTED, RTT, curve_distance
from bentpipe.truth.real import Transfer, TransferFailed
from bentpipe.truth.side import Side, Store, simulate

APART_S = 0.21
"""Between the starts of two transfers, so that they do not begin in step."""
LOOK_S = 0.05
TRIES = 2
"""The number of attempts at a transfer whose emulation did not keep time."""

Progress = Callable[[int, int, str], None]
"""Called with the cells done, all cells, and the transfers under way."""


def measure(
    cells: Sequence[Cell],
    folder: Path,
    *,
    at_once: int,
    progress: Progress,
    tell: Callable[[str], None],
) -> list[Cell]:
    """Makes the real transfers that the folder does not hold yet; those that cannot be made are left out.

    Args:
        cells: the wanted cells.
        folder: the folder of the transfers; made if it is not there.
        at_once: number of links that are emulated at a time.
        progress: called now and then.
        tell: called with a line for each omission, with the reason.

    Returns:
        The cells that are there.

    Raises:
        OSError: the machine or the privileges do not allow an emulated link.
        TransferFailed: no transfer could be made at all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(folder)
    open_cells = [cell for cell in cells if not store.has(cell)]
    with ExitStack() as held:
        names, refused = _steer(held, {cell.sender for cell in open_cells})
        for sender, why in refused.items():
            tell(f"{sender} is left out: {why}")
        waiting = deque((cell, 1) for cell in open_cells if cell.sender not in refused)
        running: list[tuple[Transfer, int]] = []
        held.callback(_abandon, running)
        total, failures, next_start = len(cells), 0, 0.0
        while waiting or running:
            now = time.monotonic()
            if waiting and len(running) < at_once and now >= next_start:
                cell, attempt = waiting.popleft()
                running.append((Transfer(cell, folder, names[cell.sender]), attempt))
                next_start = now + APART_S
            for transfer, attempt in [pair for pair in running if pair[0].step()]:
                running.remove((transfer, attempt))
                try:
                    late = not _keep(store, transfer, attempt)
                except TransferFailed as failure:
                    failures += 1
                    tell(str(failure))
                    if failures > at_once and not any(store.has(cell) for cell in cells):
                        raise
                    continue
                if late:
                    waiting.append((transfer.cell, attempt + 1))
            done = total - len(waiting) - len(running)
            progress(done, total, running[0][0].cell.key if running else "")
            time.sleep(LOOK_S)
    return [cell for cell in cells if store.has(cell)]


def _abandon(running: list[tuple[Transfer, int]]) -> None:
    for transfer, _ in running:
        transfer.abandon()


def _keep(store: Store, transfer: Transfer, attempt: int) -> bool:
    """Stores a transfer that is over. False if its emulation did not keep time, and it may be tried again."""
    side, report = transfer.finish()
    kept = bool(report.get("kept_time", True))
    if not kept and attempt < TRIES:
        return False
    lateness = max(report[way]["lateness_p99_s"] for way in ("forward", "reverse"))
    dropped = {f"dropped_{why}": report["forward"][f"dropped_{why}"] for why in ("queue", "error")}
    dropped["acks_lost"] = report["reverse"]["dropped_error"]
    about = {"kernel": os.uname().release, "lateness_p99_s": lateness, "kept_time": kept, **dropped}
    store.put(transfer.cell, side, about)
    return True


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


def rows(cells: Sequence[Cell], folder: Path, *, progress: Progress) -> list[dict[str, Any]]:
    """The rows of cells whose real transfers are there: each is simulated now."""
    store = Store(folder)
    made = []
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for done, found in enumerate(threads.map(lambda cell: row(store, cell), cells), 1):
            made.append(found)
            progress(done, len(cells), "simulating")
    return made


def quantities(side: Side) -> dict[str, float]:
    """The quantities of a side in the table, by name: a row has each as NAME_real and NAME_simulated."""
    return {
        GOODPUT: side.goodput_bps,
        RTT: side.rtt_s,
        RETRANSMITTED: side.retransmitted,
        "cwnd": float(side.cwnd.mean()),
    }


def row(store: Store, cell: Cell) -> dict[str, Any]:
    """The row of one cell: its identity, and each quantity real and simulated."""
    real, about = store.get(cell)
    simulated = simulate(cell)
    ours = quantities(simulated)
    both = {
        f"{name}_{world}": value
        for name, measured in quantities(real).items()
        for world, value in (("real", measured), ("simulated", ours[name]))
    }
    return {
        **cell.as_dict(),
        **both,
        CURVE: curve_distance(real.cwnd, simulated.cwnd),
        "lateness_p99_s": about["lateness_p99_s"],
        "kept_time": about["kept_time"],
        "kernel": about["kernel"],
    }

"""The part of docs/linux-truth.md about traffic that pauses, from docs/linux-truth/paused.csv.

    bentpipe validate kernel --paused --out DIR          # measures, as root; goes on where it was stopped
    python scripts/linux_truth_paused.py --from DIR      # takes the measurements over
    python scripts/linux_truth_paused.py --simulate      # simulates all stored traffic again

A row is a repeat: what the transfers of one connection took in both worlds. New measurements replace the same
repeats, others stay. A repeat whose emulation did not keep time is left out.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import md
from md import DOCS

import bentpipe as bp
from bentpipe.io.files import read_rows, stored_rows, write_rows
from bentpipe.pages.markdown import markdown
from bentpipe.truth import paused, paused_table

ROWS = DOCS / "linux-truth" / "paused.csv"

Row = dict[str, Any]


def take_over(folder: Path) -> None:
    """Puts a folder of `bentpipe validate kernel --paused --out` into paused.csv."""
    rows = [row for row in read_rows(folder / "paused.csv") if row["kept_time"]]
    known = {paused.of_dict(row).key: row for row in [*stored_rows(ROWS), *rows]}
    order = {cell.key: number for number, cell in enumerate(paused.full(max(row["seed"] for row in rows)))}
    kept = [known[key] for key in sorted(known.keys() & order.keys(), key=lambda key: order[key])]
    write_rows(ROWS, kept)


def simulate_again() -> None:
    """Puts the results of current simulations into paused.csv."""

    def again(row: Row) -> Row:
        cell = paused.of_dict(row)
        times = paused_table.simulated(cell, bp.run(cell.simulation()))
        return row | {"simulated": paused_table.text(times)}

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        write_rows(ROWS, list(threads.map(again, read_rows(ROWS))))


def measured(rows: Sequence[Row]) -> str:
    """The number of connections, and their conditions."""
    late = [row["lateness_p99_s"] for row in rows]
    kernels = ", ".join(sorted({str(row["kernel"]) for row in rows}))
    return (
        f"The tables hold {len(rows)} connections in each world, up to {max(row['seed'] for row in rows)} "
        f"repeats. Kernel {kernels}. Of one hundred packets one was late by more than "
        f"{median(late) * 1e6:.0f} us in the middle of all connections, and by {max(late) * 1e6:.0f} us in "
        "the worst."
    )


def parts() -> dict[str, str]:
    """The text between the marks of the page."""
    rows = stored_rows(ROWS)
    table = paused_table.table(rows)
    by_kind = sorted(table, key=lambda row: list(paused.TRAFFIC).index(row["traffic"]))
    return {
        "paused-measured": measured(rows),
        "paused-summary": markdown(*paused_table.summary(table)),
        "paused-exceptions": markdown(*paused_table.exceptions(by_kind)),
        "paused": markdown(*paused_table.page_rows(by_kind)),
    }


if __name__ == "__main__":
    md.taken_or_simulated(__doc__, "--paused", take_over, simulate_again)

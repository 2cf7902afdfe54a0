"""The tables of docs/quic.md.

    python scripts/quic_md.py --simulate    # simulates the TCP of the comparison again, into docs/quic.csv

The features of each controller that quinn's trait supports come from the registry, by an example program of
crates/quic. The comparison comes from docs/quic.csv, which `bentpipe validate quic --full --out DIR`
measures. The words around them are written by hand.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from md import command_line, filled
from programs import ROOT, built

from bentpipe.io.files import read_rows, write_rows
from bentpipe.pages.markdown import markdown
from bentpipe.truth.measuring import quantities
from bentpipe.truth.quic_program import SIMULATED, QuicCell
from bentpipe.truth.quic_table import page_rows, tcp
from bentpipe.truth.side import simulate

PAGE = ROOT / "docs" / "quic.md"
ROWS = ROOT / "docs" / "quic.csv"
FEATURES: str | None = None
"""Of the workspace, as scripts/features.sh says."""

PACING = {
    "sender": "quinn's",
    "faster": "quinn's, in place of its own",
    "binding": "its rate, as a window",
}


def carried(features: str | None) -> list[dict[str, Any]]:
    """The features of each controller that quinn supports, in the registry's order."""
    # As `make test-rust` has it, which has built this example and all that it needs.
    wanted = ",".join(["bentpipe-quic/tools", *([] if features is None else [features])])
    tests = ["--workspace", "--exclude", "bentpipe-py", "--features", wanted]
    done = subprocess.run([built("carried", *tests, "--example", "carried")], capture_output=True, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def late(of: Mapping[str, Any]) -> str:
    """Information that it receives late."""
    return ", ".join(word for word, name in (("its timer", "timer"), ("a pause", "restart")) if of[name])


def untold(of: Mapping[str, Any]) -> str:
    """Information that it does not receive."""
    words = {
        "undo": "undo",
        "ecn": "how much was marked",
        "receive_window": "the receive window",
        "path_hints": "hints of the path",
        "receiver": "what its receiver answers",
        "subflows": "other subflows",
    }
    return ", ".join(word for name, word in words.items() if of[name])


def table(rows: list[dict[str, Any]]) -> str:
    """The table of controllers."""
    heads = [
        "<controller",
        "<pacing",
        "<fast recovery",
        "<rate samples",
        "<reported late",
        "<not reported",
        "<not done",
    ]
    body = [
        [
            f"`{of['id']}`",
            PACING[of["pacing"]],
            "its own" if of["own_recovery"] else "without PRR",
            "worked out" if of["rate_samples"] else "",
            late(of),
            untold(of),
            ", ".join(f"`{option}`" for option in of["sender_options"]),
        ]
        for of in rows
    ]
    return markdown(heads, body)


def simulate_again() -> None:
    """Puts the results of current simulations of TCP into docs/quic.csv."""
    rows = read_rows(ROWS)
    for row in rows:
        names = ("rtt_ms", "per", "length_s")
        place = {name: row[name] for name in names}
        seeds = range(1, row["seeds"] + 1)
        cells = [QuicCell(row["controller"], seed=seed, **place).kernels()[0] for seed in seeds]
        found = [tcp(quantities(simulate(cell))) for cell in cells]
        row |= {f"{SIMULATED}_{name}": fmean(one[name] for one in found) for name in found[0]}
    write_rows(ROWS, rows)


def pages() -> dict[Path, str]:
    """The page."""
    parts = {"carried": table(carried(FEATURES))}
    if ROWS.exists():
        parts["comparison"] = markdown(*page_rows(read_rows(ROWS)))
    return filled(PAGE, parts)


if __name__ == "__main__":
    asked = command_line(__doc__)
    asked.add_argument("--simulate", action="store_true", required=True)
    asked.parse_args()
    simulate_again()

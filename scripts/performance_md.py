"""Writes the numbers of docs/performance.md from those that are stored.

    python scripts/performance_md.py [--check]

The tables come from docs/performance.json (`make bench` measures it) and crates/sim/benches/instructions.toml
(`make instructions UPDATE=1`); what stands between their markers is replaced, the words around them are
written by hand. With --check nothing is written, and exit status 1 says that the page is not what the stored
numbers give.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from pathlib import Path

from instructions import FILE, PROFILED
from validate import replaced

from bentpipe.bench.page import markdown, tables

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "performance.md"
TIMINGS = DOCS / "performance.json"
ASKED = {"b100": ("2500", "1000"), "b100-traced": ("4000", ""), "b100-segments": ("4000", "")}
"""Instructions per packet that are allowed, and those aimed at."""


def counts() -> dict[str, str]:
    """The tables of instructions."""
    stored = tomllib.loads(FILE.read_text(encoding="utf-8"))
    rows = [
        [name, f"{value:,.0f}", *ASKED.get(name, ("", ""))] for name, value in stored["per_packet"].items()
    ]
    shares = [[f"`{name}`", f"{100 * part:.0f} %"] for name, part in stored["share"].items()]
    return {
        "instructions": f"By callgrind with rustc {stored['compiler']}:\n\n"
        + markdown(["<scenario", "instructions per packet", "must", "aim"], rows),
        "profile": markdown([f"<source file, {PROFILED}", "instructions"], shares),
    }


def main() -> int:
    """Writes the page, or says whether it is up to date."""
    parser = argparse.ArgumentParser(description="Writes the numbers of docs/performance.md.")
    parser.add_argument("--check", action="store_true", help="only say whether the page is up to date")
    given = parser.parse_args()
    before = page = PAGE.read_text(encoding="utf-8")
    parts = {**tables(json.loads(TIMINGS.read_text(encoding="utf-8"))), **counts()}
    for name, part in parts.items():
        page = replaced(page, name, part)
    if given.check:
        if page != before:
            print("docs/performance.md is not up to date: run scripts/performance_md.py", file=sys.stderr)
        return int(page != before)
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

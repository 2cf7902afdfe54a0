"""Writes the numbers of docs/performance.md from those that are stored.

The tables come from docs/performance.json and docs/performance-web.json (`make bench` measures both) and
crates/sim/benches/instructions.toml
(`make instructions UPDATE=1`). The text between their markers is replaced, the words around them are written
by hand. docs/performance.csv has every column of the table of scenarios, the page a few.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from instructions import FILE, PROFILED
from md import DOCS, filled

from bentpipe.bench.page import data, module_tables, tables
from bentpipe.io.files import csv_text
from bentpipe.pages.markdown import markdown

PAGE = DOCS / "performance.md"
ROWS = DOCS / "performance.csv"
TIMINGS = DOCS / "performance.json"
OF_MODULE = DOCS / "performance-web.json"
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


def pages() -> dict[Path, str]:
    """Page and table."""
    timings, module = (json.loads(path.read_text(encoding="utf-8")) for path in (TIMINGS, OF_MODULE))
    return {
        **filled(PAGE, {**tables(timings), **module_tables(module), **counts()}),
        ROWS: csv_text(data(timings)),
    }

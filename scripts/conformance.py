"""Runs the public packetdrill scripts and writes the outcomes to docs/validation and into the page.

    python scripts/conformance.py google=FOLDER ligurio=FOLDER freebsd=FOLDER [--write]

The scripts are no part of this repository; each FOLDER holds those of one source:

    google    https://github.com/google/packetdrill, gtests/net
    ligurio   https://github.com/ligurio/packetdrill-testcases, testcases/tcp
    freebsd   https://github.com/freebsd-net/tcp-testsuite, rcv-data-segments

Scripts whose file name an earlier source has are not counted. The reason why a script differs is in
scripts/conformance.toml; one that differs without a cause there, or the other way round, is an error.

    0  the counts were printed, or the data files written
    1  a cause is missing or idle
    2  the request was wrong
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import validate

from bentpipe.io.files import csv_text, replace_text

GIVEN = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SOURCES: dict[str, str] = GIVEN["source"]


@dataclass(frozen=True)
class ScriptOutcome:
    """The outcome of one script."""

    source: str
    path: str
    verdict: str
    message: str

    @property
    def name(self) -> str:
        """File name, by which the copies of a script in several sources are known."""
        return Path(self.path).name

    @property
    def folder(self) -> str:
        """The last folder of its path."""
        return Path(self.path).parent.name or SOURCES[self.source].rpartition("/")[2].rpartition(" ")[
            2
        ].strip("`")

    @property
    def reason(self) -> str:
        """The reason for its refusal, one that conformance.toml lists."""
        text = f"{self.verdict}: {self.message}"
        return next(
            (label for label, pattern in GIVEN["reason"].items() if re.search(pattern, text)),
            "something else",
        )


def run(source: str, folder: Path) -> list[ScriptOutcome]:
    """The runner's result for every script below `folder`.

    Raises:
        RuntimeError: the runner failed, or found no script.
    """
    command = [sys.executable, "-m", "bentpipe", "drill", str(folder), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.strip())
    rows = json.loads(done.stdout)["scripts"]
    return [ScriptOutcome(source, row["script"], row["verdict"], row["message"]) for row in rows]


def new(rows: list[ScriptOutcome], known: set[str]) -> list[ScriptOutcome]:
    """Those of `rows` whose names are not among `known`."""
    return [row for row in rows if row.name not in known]


def counted(rows: list[ScriptOutcome]) -> list[list[str]]:
    """The numbers of scripts of each source that pass, differ or are refused, by reason, with a head line."""
    counts = {source: [row for row in rows if row.source == source] for source in SOURCES}

    def line(label: str, wanted: Callable[[ScriptOutcome], bool]) -> list[str]:
        count = [sum(map(wanted, mine)) for mine in counts.values()]
        return [label, *(f"{n}" for n in [*count, sum(count)])]

    lines = [
        ["outcome", *SOURCES, "all"],
        line("scripts", lambda row: True),
        line("run to a verdict", lambda row: row.verdict in ("pass", "differs")),
        line("pass", lambda row: row.verdict == "pass"),
        line("differ", lambda row: row.verdict == "differs"),
    ]
    stayed = [row for row in rows if row.verdict in ("refused", "unreadable")]
    for label in [*GIVEN["reason"], "something else"]:
        if of_reason := [row for row in stayed if row.reason == label]:
            lines.append(line(f"not run: {label}", of_reason.__contains__))
    return lines


def listed(rows: list[ScriptOutcome], causes: dict[str, str]) -> list[list[str]]:
    """One row for each script that differs, and one for the scripts of a folder that pass."""
    lines = [["source", "folder", "scripts", "count", "verdict", "cause"]]
    passed: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        name = row.name.removesuffix(".pkt")
        if row.verdict == "pass":
            passed.setdefault((row.source, row.folder), []).append(name)
        elif row.verdict == "differs":
            lines.append([row.source, row.folder, name, "1", "differs", causes[row.name]])
    for (source, folder), names in passed.items():
        several = ", ".join(names) if len(names) <= 12 else f"{names[0]} to {names[-1]}"
        lines.append([source, folder, several, f"{len(names)}", "pass", ""])
    return lines


def store(name: str, lines: list[list[str]]) -> None:
    """Writes a data file."""
    replace_text(validate.DATA / f"{name}.csv", csv_text(lines))


def main() -> int:
    """Runs the scripts of the sources that are named."""
    parser = argparse.ArgumentParser(
        description="Runs public packetdrill scripts and prints what becomes of them."
    )
    parser.add_argument("source", nargs="+", help=f"NAME=FOLDER; names: {', '.join(SOURCES)}")
    parser.add_argument("--write", action="store_true", help="write the data files and the page")
    given = parser.parse_args()
    folders = dict(text.partition("=")[::2] for text in given.source)
    for name, folder in folders.items():
        if name not in SOURCES:
            parser.error(f"no source is called {name!r}; NAME=FOLDER with one of {', '.join(SOURCES)}")
        if not Path(folder).is_dir():
            parser.error(f"{name}={folder}: no such folder")
    rows: list[ScriptOutcome] = []
    for name in SOURCES:
        if name in folders:
            rows += new(run(name, Path(folders[name]).resolve()), {row.name for row in rows})
    causes = GIVEN["cause"]
    differing = {row.name for row in rows if row.verdict == "differs"}
    for name in sorted(differing - set(causes)):
        print(f"scripts/conformance.toml: no cause for {name}", file=sys.stderr)
    idle = sorted(set(causes) - differing) if set(folders) == set(SOURCES) else []
    for name in idle:
        print(f"scripts/conformance.toml: a cause for {name}, which does not differ", file=sys.stderr)
    if differing - set(causes) or idle:
        return 1
    if given.write:
        store("packetdrill-counts", counted(rows))
        store("packetdrill", listed(rows, causes))
        validate.PAGE.write_text(validate.pages()[validate.PAGE], encoding="utf-8")
    else:
        print(csv_text([*counted(rows), *listed(rows, causes)]), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())

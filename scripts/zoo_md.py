"""docs/zoo.md, from scenarios/zoo/*.toml and docs/zoo.csv; its figure, and searches for rows of the table.

python scripts/zoo_md.py --figure                    # docs/zoo.svg
python scripts/zoo_md.py --search DIR [NAME...]      # rows that docs/zoo.csv lacks; failures go to DIR
sudo bentpipe break --replay scenarios/zoo --kernel --seeds 3 -o DIR    # DIR/kernel.csv: docs/zoo-kernel.csv
"""

from __future__ import annotations

import csv
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import md

import bentpipe as bp
from bentpipe.breaking.conditions import in_words
from bentpipe.breaking.goals import GOALS
from bentpipe.breaking.job import CONFIRM_SEEDS
from bentpipe.breaking.record import RecordHead, drawn
from bentpipe.io.files import DIGITS, read_rows, stored_rows
from bentpipe.pages.markdown import markdown
from bentpipe.registry import find
from bentpipe.units import digits

ZOO = md.ROOT / "scenarios" / "zoo"
TABLE, PAGE, FIGURE = (md.DOCS / f"zoo.{kind}" for kind in ("csv", "md", "svg"))
KERNEL = md.DOCS / "zoo-kernel.csv"
CAUSES = "zoo_kernel.toml"
"""Why the kernel does not confirm a case, by its name; written by hand."""
SHOWN = "copa-slow"
"""The case of the figure."""
RUNS, DURATION = 480, "20 s"
"""Runs of each search of the table, and the simulated time of each."""
COLUMNS = ("cc", "goal", "value", "fails", "confirmed", "links", "runs", "cpu_s")


def search(folder: Path, names: Sequence[str]) -> None:
    """Searches the worst link of each algorithm for each goal, one after the other on one worker."""
    folder.mkdir(parents=True, exist_ok=True)
    known = {(row["cc"], row["goal"]) for row in stored_rows(TABLE)}
    for name in names or [entry["id"] for entry in bp.controllers()]:
        for goal in GOALS.values():
            if (name, goal.name) in known:
                continue
            command = f"bentpipe break {name} --goal {goal.name} --runs {RUNS} --for '{DURATION}'"
            try:
                found = bp.break_(name, goal.name, runs=RUNS, duration=DURATION, workers=1, command=command)
            except (bp.ScenarioError, bp.ControllerError) as error:
                print(f"{name} {goal.name}: {error}", file=sys.stderr, flush=True)
                continue
            if found.fails:
                (folder / f"{name}-{goal.name}.toml").write_text(found.text(), encoding="utf-8")
            row = [
                name, goal.name, f"{found.measured.value:.6g}", int(found.fails), found.held, found.links,
                found.runs, f"{found.cpu_s:.2f}",
            ]  # fmt: skip
            new = not TABLE.exists()
            with TABLE.open("a", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream, lineterminator="\n")
                writer.writerows([COLUMNS, row] if new else [row])
            print(*row, flush=True)


def pages() -> dict[Path, str]:
    """The page."""
    cases = {
        path.stem: RecordHead.read(path) for path in sorted(ZOO.glob("*.toml"), key=lambda path: path.stem)
    }
    found = {(row["cc"], row["goal"]): row for row in stored_rows(TABLE)}
    searched = [
        entry["id"] for entry in bp.controllers() if {(entry["id"], goal) for goal in GOALS} & set(found)
    ]
    text = md.page(
        "zoo_page.md",
        cases=cases,
        algorithms={record.algorithm for record in cases.values()},
        found=found.values(),
        runs=RUNS,
        duration=DURATION,
        confirmations=CONFIRM_SEEDS,
        searched=searched,
        every=bp.controllers(),
        controllers=_controllers(found, searched),
        **_kernel(cases),
        goals=GOALS,
        find=find,
        digits=digits,
        title=_title,
        link=lambda name: in_words(tomllib.loads((ZOO / f"{name}.toml").read_text(encoding="utf-8"))),
    )
    return {PAGE: text}


def _controllers(found: Mapping[tuple[str, str], dict[str, Any]], names: Sequence[str]) -> str:
    """The table of every controller that was searched."""
    table = []
    for name in names:
        cells = []
        for goal in GOALS.values():
            row = found.get((name, goal.name))
            value = "-" if row is None else digits(row["value"], 3)
            sure = row is not None and row["fails"] == 1 and row["confirmed"] >= CONFIRM_SEEDS - 1
            cells.append(f"**{value}**" if sure else value)
        table.append([f"[{find(name)['label']}](controllers/{name}.md)", *cells])
    return markdown(["<controller", *(f"`{goal}`" for goal in GOALS)], table, spaced=True)


def _kernel(cases: dict[str, RecordHead]) -> dict[str, Any]:
    """What the section about the cases in the kernel says: a table, counts, and releases of Linux."""
    played = {row["case"]: row for row in read_rows(KERNEL)}
    causes = tomllib.loads(md.words(CAUSES))
    releases = {row["release"] for row in played.values()}
    heads = "<case <sender simulated with_Linux's_options kernel ratio <confirmed <remark".split()
    table = []
    anchors = Counter(md.anchor(_title(name, record)) for name, record in cases.items())
    counts = {"confirmed": 0, "played": 0, "skipped": 0, "alike": 0, "options": 0}
    for name, record in cases.items():
        goal, row = GOALS[record.goal], played.get(name)
        anchor = md.anchor(_title(name, record))
        # LEDBAT++ has the anchors of LEDBAT, and each reader of Markdown numbers the second in its own way.
        link = f"[{name}](#{anchor})" if anchors[anchor] == 1 else f"[{name}](../scenarios/zoo/{name}.toml)"
        simulated = digits(record.value, 3)
        if row is None or row["simulated"] != float(f"{record.value:.{DIGITS}g}"):
            table.append([link, "", simulated, "", "", "", "", "not played since it has changed"])
            continue
        if row["skipped"]:
            counts["skipped"] += 1
            table.append([link, row["sender"] or "", simulated, "", "", "", "skipped", row["skipped"]])
            continue
        counts["played"] += 1
        counts["confirmed"] += bool(row["confirmed"])
        fails = None if row["linux"] is None else goal.fails(row["linux"])
        counts["alike"] += fails == row["confirmed"]
        counts["options"] += fails is False and not row["confirmed"]
        remark = causes.get(name, "" if row["confirmed"] else "The cause is unknown.")
        late = "" if row["kept_time"] else "The emulator did not keep time."
        seeds = f"{'yes' if row['confirmed'] else '**no**'}, {row['fails']} of {row['seeds']}"
        ratio = "" if row["ratio"] is None else f"{row['ratio']:,.2f}"
        words = " ".join(word for word in (remark, late) if word)
        linux = "" if row["linux"] is None else digits(row["linux"], 3)
        kernel = digits(row["kernel"], 3)
        table.append([link, row["sender"], simulated, linux, kernel, ratio, seeds, words])
    drawn_up = markdown([head.replace("_", " ") for head in heads], table, spaced=True)
    return {"kernel": drawn_up, "counts": counts, "releases": sorted(releases)}


def _title(name: str, record: RecordHead) -> str:
    """The heading of a case."""
    which = name.removeprefix(f"{record.algorithm}-{record.goal}").replace("-", " ")
    return f"{find(record.algorithm.split()[0])['label']}: {record.goal}{which}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Searches, or draws."""
    parser = md.command_line(__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--figure", action="store_true", help="draw docs/zoo.svg")
    what.add_argument("--search", nargs="+", metavar="DIR", help="the folder, and algorithms; by default all")
    given = parser.parse_args(arguments)
    if given.search:
        folder, *names = given.search
        search(Path(folder), names)
    else:
        bp.plot.save(drawn(ZOO / f"{SHOWN}.toml"), FIGURE)
    return 0


if __name__ == "__main__":
    sys.exit(main())

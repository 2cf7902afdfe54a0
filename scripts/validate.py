"""Runs every witness in its full form, writes its data file in docs/validation, and sums it up in the page.

    python scripts/validate.py [--jobs N] [NAME ...]

A witness prints its rows as comma-separated values, one for each comparison; they become
docs/validation/NAME.csv. The text between `<!-- NAME -->` and `<!-- end NAME -->` in docs/validation.md
follows from that file: how many comparisons there are and how many agree, the median and the largest
difference, and the rows with the largest ones. Differences are taken as the files have them, rounded.
Exit status 1 if a witness reports a difference; its rows are written all the same. A witness whose program is
not installed leaves its file as it is, and reports that.
"""

from __future__ import annotations

import csv
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from md import DOCS, ROOT, command_line, filled, words

from bentpipe.pages.markdown import markdown, texts

PAGE = DOCS / "validation.md"
DATA = DOCS / "validation"
PROGRAMS = ROOT / "python" / "tests" / "witness"
MISSING = 3
"""Exit status of a witness whose program is not installed."""

Row = Mapping[str, str]

WORST = 3
"""Rows shown of those that agree, and of those that agree by rule."""
TOLERATED_PERCENT = 10
"""Difference from a closed form."""
UP_TO = Fraction("0.001")
"""The loss rate up to which closed forms are meant to hold."""


@dataclass(frozen=True)
class Witness:
    """The summary of a data file with verdicts.

    Args:
        title: its name in the overview, with the anchor of its section.
        things: the kind of its rows.
        other: the other program.
        shown: columns of the file in the table of largest differences, by their heads.
        difference: the column with the difference, in per cent.
        ruled: the column with the difference by the other program's rule, if the same row has it; otherwise
            another row repeats the comparison, and its column `rule` says so.
    """

    title: str
    things: str
    other: str
    shown: Mapping[str, str]
    difference: str = "difference_percent"
    ruled: str | None = None

    def apart(self, row: Row) -> Fraction:
        """Size of the difference on which the verdict rests, in per cent."""
        return abs(Fraction(row[self.decisive(row)]))

    def decisive(self, row: Row) -> str:
        """The column of that difference."""
        return self.ruled if self.ruled and row["verdict"] == "agrees by rule" else self.difference


GIVEN = tomllib.loads(words("validate.toml"))
COMMANDS: Mapping[str, list[str]] = GIVEN["commands"]
WITNESSES: Mapping[str, Witness] = {name: Witness(**of) for name, of in GIVEN["witness"].items()}


def read(name: str) -> list[Row]:
    """The rows of a data file, as text by column."""
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def parts() -> dict[str, str]:
    """The generated parts of the page, by the names of their markers."""
    made = {"overview": overview()}
    made |= {name: section(name, witness, read(name)) for name, witness in WITNESSES.items()}
    more: Mapping[str, Callable[[Sequence[Row]], str]] = {
        "closed-forms": closed_forms,
        "equilibria": equilibria,
        "extremes": extremes,
        "orbit-paths": orbit_paths,
        "orbit-positions": orbit_positions,
    }
    made |= {name: f"All rows: {_link(name)}. {write(read(name))}" for name, write in more.items()}
    return {**made, "packetdrill": packetdrill(read("packetdrill-counts"))}


def table(heads: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    return markdown(texts(heads), body, spaced=True)


def _link(name: str) -> str:
    return f"[{name}.csv](validation/{name}.csv)"


def _verdict(rows: Iterable[Row], *words: str) -> list[Row]:
    return [row for row in rows if row["verdict"] in words]


def _compared(rows: Iterable[Row]) -> list[Row]:
    """The rows in which no rule of the other program replaces ours."""
    return [row for row in rows if not row.get("rule")]


def spread(apart: Sequence[Fraction]) -> str:
    """Median and largest of at least one difference in per cent."""
    return f"{float(statistics.median(apart)):.1f} %, {float(max(apart)):.1f} %"


def section(name: str, witness: Witness, rows: Sequence[Row]) -> str:
    """The number of rows that agree, and those with the largest differences."""
    compared = _compared(rows)
    alike, ruled = _verdict(compared, "agrees"), _verdict(rows, "agrees by rule")
    counts = f"{len(compared)} {witness.things}: {len(alike)} agree"
    counts += f", {len(ruled)} agree with {witness.other}'s rule" if ruled else ""
    counts += "".join(
        f", {len(left)} {word}" for word in ("open", "differs") if (left := _verdict(rows, word))
    )

    def largest(of: Sequence[Row]) -> list[Row]:
        return sorted(of, key=witness.apart, reverse=True)[:WORST]

    # A row shares the columns before `rule` with the row that it repeats.
    named = list(rows[0]).index("rule") if "rule" in rows[0] else 2
    plain = {tuple(row.values())[:named]: row[witness.difference] for row in compared}
    heads = [*witness.shown, "difference, %", *(["without the rule, %"] if ruled else []), "verdict"]
    body = []
    for row in [*largest(alike), *largest(ruled), *_verdict(rows, "open", "differs")]:
        has_rule = bool(row.get("rule")) or row["verdict"] == "agrees by rule"
        without = [plain[tuple(row.values())[:named]] if has_rule else ""] if ruled else []
        cells = [row[column] for column in [*witness.shown.values(), witness.decisive(row)]]
        body.append([*cells, *without, row["verdict"]])
    return f"{counts}. All rows: {_link(name)}. The largest differences:\n\n{table(heads, body)}"


def overview() -> str:
    """A row for each witness."""
    body = []
    for name, witness in WITNESSES.items():
        rows = read(name)
        compared, ruled = _compared(rows), _verdict(rows, "agrees by rule")
        alike = _verdict(compared, "agrees")
        apart = spread([witness.apart(row) for row in alike]) if alike else ""
        if ruled:
            apart += f"; with its rule {spread([witness.apart(row) for row in ruled])}"
        body.append(
            [witness.title, f"{len(compared)} {witness.things}", f"{len(alike)}"]
            + [f"{len(ruled)}" if ruled else "", f"{len(_verdict(rows, 'open', 'differs'))}", apart]
        )
    forms = windows(read("closed-forms"))
    for title, chosen in (
        (
            f"[closed forms](#closed-forms), loss rates up to {float(UP_TO):g}",
            [w for w in forms if w.p <= UP_TO],
        ),
        ("closed forms, all loss rates", forms),
    ):
        apart_percent = [window.apart for window in chosen]
        alike_count = sum(apart <= TOLERATED_PERCENT for apart in apart_percent)
        body.append([title, f"{len(chosen)} windows", f"{alike_count}", "", "", spread(apart_percent)])
    for name, counted in GIVEN["counted"].items():
        rows = read(name)
        compared = [row for row in rows if row["verdict"] != "agrees by rule"]
        same, open_ = (len(_verdict(rows, *words)) for words in (("agrees",), ("open", "differs")))
        rest = f"{len(rows) - len(compared) or ''}"
        cells = [f"{len(compared)} {counted['things']}", f"{same}", rest, f"{open_}"]
        body.append([counted["title"], *cells, counted["what"]])
    by_outcome = {row["outcome"]: row for row in read("packetdrill-counts")}
    ran, passed, differ = (by_outcome[key]["all"] for key in ("run to a verdict", "pass", "differ"))
    body.append(
        ["[public packetdrill scripts](#the-public-scripts)", f"{ran} scripts", passed, "", "0"]
        + [f"{differ} differ, each for a known cause"]
    )
    body.append(["[tshark](#packets)", "21 captures", "21", "", "0", "none; mean RTT under loss 0.2 %"])
    heads = ["witness", "compared", "agree", "with the other's rule", "open", "difference: median, largest"]
    return table(heads, body)


@dataclass(frozen=True)
class Window:
    """One measured window beside a closed form; `apart` is the size of the difference in per cent."""

    controller: str
    p: Fraction
    losses: str
    measured: str
    form: str
    difference: str

    @property
    def apart(self) -> Fraction:
        """Size of the difference."""
        return abs(Fraction(self.difference))


def windows(rows: Iterable[Row]) -> list[Window]:
    """Every window that has a form, with periodic and with random losses."""
    return [
        Window(
            row["controller"],
            Fraction(row["loss_rate"]),
            kind,
            row[f"{kind}_window_segments"],
            row[f"{kind}_form_segments"],
            row[f"{kind}_form_difference_percent"],
        )
        for row in rows
        for kind in ("periodic", "random")
        if row[f"{kind}_form_segments"]
    ]


def closed_forms(rows: Sequence[Row]) -> str:
    """The windows that are furthest from their forms, up to `UP_TO` and above."""
    found = windows(rows)
    few, many = ([w for w in found if (w.p <= UP_TO) == low] for low in (True, False))
    body = [
        [w.controller, f"{float(w.p):g}", w.losses, w.measured, w.form, w.difference]
        for part in (few, many)
        for w in sorted(part, key=lambda w: -w.apart)[:WORST]
    ]
    heads = ["controller", "p", "losses", "window, segments", "form", "difference, %"]
    return f"The largest differences up to p = {float(UP_TO):g}, and above:\n\n{table(heads, body)}"


def equilibria(rows: Sequence[Row]) -> str:
    """A line for each controller, over the round-trip times."""
    laws: dict[str, list[Row]] = {}
    for row in rows:
        laws.setdefault(row["controller"], []).append(row)
    body = []
    for name, mine in laws.items():
        low, high, mean = (mine[0][f"form_{what}_packets"] for what in ("least", "most", "mean"))
        said = low if low == high else f"{low} to {high}" + (f", mean {mean}" if mean else "")
        means = ", ".join(row["measured_mean_packets"] for row in mine)
        body.append([name, said, mine[0]["source"], means, f"{len(_verdict(mine, 'agrees'))} of {len(mine)}"])
    rtts = ", ".join(row["rtt_ms"] for row in next(iter(laws.values())))
    heads = ["controller", "form, packets", "from", f"measured mean at {rtts} ms", "agree"]
    return f"For each controller:\n\n{table(heads, body)}"


def extremes(rows: Sequence[Row]) -> str:
    """The runs that took most memory and most CPU time, and failures."""
    most = [sorted(rows, key=lambda row: -float(row[key]))[:1] for key in ("run_memory_mb", "cpu_s")]
    shown = [row for row in rows if row in most[0] + most[1] or row["verdict"] != "agrees"]
    body = [
        [row["extreme"], row["scenario"], f"{int(row['delivered_packets']):,}"]
        + [row["cpu_s"], row["run_memory_mb"], row["holds"], row["verdict"]]
        for row in shown
    ]
    heads = ["extreme", "scenario", "packets delivered", "CPU, s", "memory, MB", "what holds", "verdict"]
    alike = len(_verdict(rows, "agrees"))
    return f"{alike} of {len(rows)} runs agree. The largest in memory and in time:\n\n{table(heads, body)}"


def orbit_paths(rows: Sequence[Row]) -> str:
    """A line for each shell, rule and source of positions, over the pairs."""
    body = []
    for keys in dict.fromkeys((row["shell"], row["rule"], row["positions"]) for row in rows):
        mine = [row for row in rows if (row["shell"], row["rule"], row["positions"]) == keys]
        counts = [
            f"{sum(int(row[column]) for row in mine):,}"
            for column in ("steps", "without_path_satgenpy_steps", "other_path_steps", "other_reach_steps")
        ]
        apart = max(float(row["same_path_difference_us"]) for row in mine)
        alike = len(_verdict(mine, "agrees", "agrees by rule"))
        body.append([*keys, *counts, f"{apart:.2f}", f"{alike} of {len(mine)}"])
    heads = ["shell", "rule of reach", "positions", "steps", "without a path", "another path"]
    heads += ["another reach", "RTT, us", "agree"]
    return (
        "A line is the four pairs; RTT is the largest difference of the round-trip time on the same path:\n\n"
        + table(heads, body)
    )


def orbit_positions(rows: Sequence[Row]) -> str:
    """Every row."""
    keys: Mapping[str, str] = GIVEN["orbit-positions"]
    return (
        f"Distances over a day:\n\n{table(list(keys), [[row[key] for key in keys.values()] for row in rows])}"
    )


def packetdrill(counts: Sequence[Row]) -> str:
    """The outcomes of the scripts of each source."""
    by_outcome = {row["outcome"]: row for row in counts}
    sources = [key for key in counts[0] if key != "outcome"]
    keys = {"scripts": "scripts", "run": "run to a verdict", "pass": "pass", "differ": "differ"}
    body = [[source, *(by_outcome[key][source] for key in keys.values())] for source in sources]
    left = [row for row in counts if row["outcome"].startswith("not run: ")]
    left.sort(key=lambda row: -int(row["all"]))
    why = "\n".join(f"- {row['outcome'].removeprefix('not run: ')} ({row['all']})" for row in left[:WORST])
    files = f"Counts: {_link('packetdrill-counts')}. Scripts and causes: {_link('packetdrill')}."
    return f"{files} The most frequent reasons not to run one:\n\n{why}\n\n{table(['source', *keys], body)}"


def pages() -> dict[Path, str]:
    """The page as the data files have it."""
    return filled(PAGE, parts())


def main() -> int:
    """Runs the witnesses that are named, or all."""
    asked = command_line("Runs the witnesses and writes what they find.")
    asked.add_argument("--jobs", type=int, default=2, help="runs at a time")
    asked.add_argument("name", nargs="*", help=f"one of {', '.join(COMMANDS)}; by default all")
    given = asked.parse_args()
    unknown = set(given.name) - set(COMMANDS)
    if unknown:
        asked.error(f"no witness is called {sorted(unknown)[0]!r}; there are {', '.join(COMMANDS)}")
    worst = 0
    for name in given.name or COMMANDS:
        file, *options = (part.format(jobs=given.jobs, docs=DOCS) for part in COMMANDS[name])
        stored = DATA / f"{name}.csv"
        head = stored.read_text(encoding="utf-8").partition("\n")[0]
        print(f"{name} ...", flush=True)
        done = subprocess.run(
            [sys.executable, PROGRAMS / file, *options], stdout=subprocess.PIPE, text=True, check=False
        )
        if done.returncode == MISSING:
            print(f"{name}: not installed; its rows stay")
            continue
        if done.returncode not in (0, 1) or done.stdout.partition("\n")[0] != head:
            print(f"{name}: failed with status {done.returncode}", file=sys.stderr)
            return 1
        stored.write_text(done.stdout, encoding="utf-8")
        PAGE.write_text(pages()[PAGE], encoding="utf-8")
        print(f"{name}: {'agrees' if done.returncode == 0 else 'DIFFERS'}")
        worst = max(worst, done.returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())

"""Instructions per delivered packet, which do not depend on other load (`make instructions`).

    python scripts/instructions.py              # compare with the two files in crates/sim/benches
    python scripts/instructions.py --update     # write instructions.toml: counts, and where they arise

valgrind's callgrind counts while `crates/sim/src/bin/speed.rs` runs scenarios of the benchmark, shortened. A
count that has moved by more than 5 %, up or down, is a failure: either something became slower, or the file
no longer guards what was won. Small steps add up, so a second file, instructions-53b6edb.toml, has the counts
of a fixed commit. No count may be more than 8 % above those, and nothing rewrites them. A scenario that is
younger than that commit has only the first file. The compiler decides
about instructions as well, so with another version than that of a file nothing is compared with it. Exit
status 0 (agrees, or cannot be compared; it reports which) or 1.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from programs import ROOT, built

FILE = ROOT / "crates" / "sim" / "benches" / "instructions.toml"
BASE = FILE.with_name("instructions-53b6edb.toml")
"""The counts of commit 53b6edb, which nothing rewrites."""
TOLERANCE = 0.05
"""By how much a count may differ from that of `FILE`, up or down."""
MOST_ABOVE_BASE = 0.08
"""By how much a count may be above that of `BASE`."""
_LINE = 'link.core.timeline={ file = "line-1s.csv", repeat = true }'
SCENARIOS: dict[str, tuple[str, str, list[str]]] = {
    "a": ("bench/a", "100 s", []),
    "b100": ("bench/b100", "20 s", []),
    "lossy": ("bench/lossy", "20 s", []),
    "overtaking": ("bench/overtaking", "2 s", []),
    "c": ("bench/c", "10 s", []),
    "d": ("bench/d", "40 s", []),
    "f": ("bench/f", "15 s", []),
    "h-cubic": ("bench/a", "60 s", ["flow.0.cc=cubic"]),
    "h-bbr": ("bench/a", "60 s", ["flow.0.cc=bbr"]),
    "i-1s": ("bench/a", "60 s", [_LINE]),
    "geo-consumer": ("geo-consumer", "60 s", []),
    "leo-consumer": ("leo-consumer", "60 s", []),
    "starlink-down": ("starlink-down", "60 s", []),
    "vsat": ("vsat", "60 s", []),
    "linux-bbr": ("geo-consumer", "60 s", ["flow.0.cc=bbr", "flow.0.profile=linux"]),
}
"""By name: a file of scenarios/, how much of it is simulated, and keys that are set."""
RECORDED = ("a", "b100", "lossy", "overtaking")
"""The scenarios that also run in the other variants."""
_TRACED = ["--set", "record.flows=true"]
VARIANTS = {"": [], "-traced": _TRACED, "-segments": [*_TRACED, "--set", "record.segments=true"]}
"""Arguments of a run, by their addition to its name."""
RUNS = [(name, variant) for name in SCENARIOS for variant in VARIANTS if not variant or name in RECORDED]
"""The runs that are counted: names of `SCENARIOS` and `VARIANTS`."""
PROFILED = "b100"
MOST_FILES = 8
UPDATE = "make instructions UPDATE=1"


def compiler() -> str:
    """Version and platform of the Rust compiler, "1.95.0 x86_64-unknown-linux-gnu"."""
    said = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    found = dict(line.split(": ", 1) for line in said.splitlines() if ": " in line)
    return f"{found['release']} {found['host']}"


def build(features: str | None, *, lines: bool) -> Path:
    """Compiles `speed` with all optimisation; the program.

    The extension and its `features` are in the command so that its dependencies, which `make setup` has
    built, serve here, too. It is not built itself. With `lines`, the program says where its code is from.
    """
    if lines:
        os.environ["CARGO_PROFILE_RELEASE_DEBUG"] = "line-tables-only"
    of_extension = ["--package", "bentpipe-py", *([] if features is None else ["--features", features])]
    return built("speed", "--release", "--package", "bentpipe-sim", "--bin", "speed", *of_extension)


def count(program: Path, name: str, arguments: Iterable[str]) -> tuple[float, Counter[str]]:
    """Instructions per delivered packet of one scenario, and their shares by source file."""
    with tempfile.TemporaryDirectory(prefix="bentpipe-callgrind-") as folder:
        out = Path(folder, "out")
        file, duration, keys = SCENARIOS[name]
        sets = [part for key in (f"duration={duration}", *keys) for part in ("--set", key)]
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", str(program), *arguments]
        scenario = ROOT / "scenarios" / f"{file}.toml"
        done = subprocess.run(
            [*command, *sets, scenario],
            cwd=scenario.parent,  # a file that a key names is looked for here
            capture_output=True,
            text=True,
            check=False,
        )
        packets = re.search(r"(\d+) packets", done.stdout)
        if done.returncode != 0 or packets is None:
            raise SystemExit(f"instructions: callgrind failed on {name}: {done.stderr.strip()[-500:]}")
        costs = by_file(out.read_text(encoding="utf-8", errors="replace").splitlines())
    return sum(costs.values()) / int(packets[1]), costs


def by_file(lines: Iterable[str]) -> Counter[str]:
    """Instructions by the source file that they were compiled from; `lines` are in callgrind's format.

    Code inlined from Rust's library counts for the file of ours that precedes it in the code.
    """
    names: dict[str, str] = {}
    costs: Counter[str] = Counter()
    home, inside_call = "?", False
    for line in lines:
        if re.match(r"[+*\d-]", line):
            if not inside_call:  # the cost of a call is counted in the function called
                costs[home] += int(line.split()[1])
            inside_call = False
        elif line.startswith("calls="):
            inside_call = True
        elif found := re.match(r"(fl|fi|fe|cfi|cfl|cob|ob|fn|cfn)=\((\d+)\)(?: (.*))?", line):
            kind, number, name = found.groups()
            if kind in ("fl", "fi", "fe", "cfi", "cfl") and name is not None:
                names[number] = name
            if kind in ("fl", "fi", "fe"):
                home = _label(names[number], home, begins=kind == "fl")
    return costs


def _label(path: str, before: str, *, begins: bool) -> str:
    """The name of a source file in the table; `begins`: a function begins, so earlier code is no guide."""
    ours = re.search(r"crates/.*", path)
    if ours is not None:
        return ours[0]
    if "/library/" in path or "/rustc/" in path:
        return "Rust's library" if begins else before
    return "other libraries"


def text(compiler: str, counts: Mapping[str, float], costs: Counter[str]) -> str:
    """The file."""
    lines = [
        f"# Instructions per delivered packet by callgrind, written by `{UPDATE}`; `make instructions`",
        "# compares. What is run: scripts/instructions.py.",
        f'compiler = "{compiler}"',
        "",
        "[per_packet]",
        *(f"{name} = {value:.1f}" for name, value in counts.items()),
        "",
        f"# Shares of the instructions of {PROFILED} by source file; what is inlined counts where it stands.",
        "[share]",
    ]
    total = sum(costs.values())
    lines += [f'"{name}" = {cost / total:.3f}' for name, cost in costs.most_common(MOST_FILES)]
    return "\n".join(lines) + "\n"


def differences(
    stored: Mapping[str, float], counts: Mapping[str, float], *, above: float, below: float
) -> list[str]:
    """A line for each count that has moved too far, or that one side lacks.

    Args:
        stored: the counts of a file.
        counts: those of the program.
        above: by how much a count may exceed the file's, as a share of it.
        below: by how much it may fall short of it.
    """
    found = []
    for name in {**stored, **counts}:
        if name not in stored or name not in counts:
            found.append(f"{name}: not in {'the file' if name not in stored else 'the program'}")
        elif not -below <= (moved := counts[name] / stored[name] - 1.0) <= above:
            counted = f"{counts[name]:.0f} instructions per packet, {stored[name]:.0f} in the file"
            found.append(f"{name}: {counted} ({100.0 * moved:+.1f} %)")
    return found


def compared(files: Mapping[Path, Mapping[str, Any]], counts: Mapping[str, float]) -> str:
    """A table: the counts, and by how many per cent each differs from that of each file, if it is there."""
    lines = [f"{'per packet':14} {'now':>8}" + "".join(f"{file.stem:>24}" for file in files)]
    for name, value in counts.items():
        before = [stored["per_packet"].get(name) for stored in files.values()]
        moved = [f"{100.0 * (value / old - 1.0):+.1f} %" if old else "-" for old in before]
        lines.append(f"{name:14} {value:8.1f}" + "".join(f"{text:>24}" for text in moved))
    return "\n".join(lines)


def wrong(files: Mapping[Path, Mapping[str, Any]], counts: Mapping[str, float]) -> list[str]:
    """A line for each count that a file does not allow."""
    lines = []
    for file, stored in files.items():
        before = stored["per_packet"]
        if file == BASE:
            old = {name: value for name, value in counts.items() if name in before}
            found = differences(before, old, above=MOST_ABOVE_BASE, below=1.0)
        else:
            found = differences(before, counts, above=TOLERANCE, below=TOLERANCE)
        lines += [f"{file.name}: {line}" for line in found]
    return lines


def comparable(here: str) -> dict[Path, dict[str, Any]]:
    """The stored counts that were taken with the compiler `here`; reports the others."""
    files = {file: tomllib.loads(file.read_text(encoding="utf-8")) for file in (FILE, BASE)}
    for file, stored in files.items():
        if stored["compiler"] != here:
            print(f"{file.name}: skipped, its rustc is {stored['compiler']}, and this is {here}")
    return {file: stored for file, stored in files.items() if stored["compiler"] == here}


def main() -> int:
    """Counts, and compares or writes."""
    parser = argparse.ArgumentParser(description="Instructions per delivered packet.")
    parser.add_argument("--update", action="store_true", help="write the counts instead of comparing them")
    parser.add_argument("--features", help="of the extension, as scripts/features.sh says")
    given = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("instructions: skipped, valgrind is not installed (apt-get install valgrind)")
        return 1 if given.update else 0
    here = compiler()
    files = {} if given.update else comparable(here)
    if not (given.update or files):
        return 0
    program = build(given.features, lines=given.update)
    counts: dict[str, float] = {}
    profile: Counter[str] = Counter()
    # They are counts, so other load does not matter.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counted = pool.map(lambda run: count(program, run[0], VARIANTS[run[1]]), RUNS)
        for (name, variant), (each, costs) in zip(RUNS, counted, strict=True):
            counts[name + variant] = each
            print(f"{name + variant:12} {each:8.1f} instructions per packet", flush=True)
            if name + variant == PROFILED:
                profile = costs
    if given.update:
        FILE.write_text(text(here, counts, profile), encoding="utf-8")
        print(f"written to {FILE.relative_to(ROOT)}")
        return 0
    print(compared(files, counts))
    found = wrong(files, counts)
    for line in found:
        print(line, file=sys.stderr)
    if any(line.startswith(f"{FILE.name}:") for line in found):
        print(
            f"If that is meant, `{UPDATE}` writes the new counts; commit them with the change.",
            file=sys.stderr,
        )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

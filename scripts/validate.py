"""Runs every witness in its full form, writes its data file in docs/validation, and sums it up in the page.

    python scripts/validate.py [--jobs N] [NAME ...]

A witness prints its rows as comma-separated values; they become docs/validation/NAME.csv. The text between
`<!-- NAME -->` and `<!-- end NAME -->` in docs/validation.md follows from that file (validation_page.py).
Exit status 1 if a witness reports a difference; its rows are written all the same. A witness whose program is
not installed leaves its file as it is, and reports that.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import validation_page
from md import command_line

from bentpipe.pages.markdown import replaced

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "validation.md"
WITNESSES = ROOT / "python" / "tests" / "witness"
MISSING = 3
"""Exit status of a witness whose program is not installed."""

COMMANDS: dict[str, list[str]] = {
    "ns2-curves": ["ns2_curves.py", "--figure", str(ROOT / "docs" / "ns2-curves.svg")],
    "ns2-grid": ["ns2_grid.py", "--jobs", "{jobs}"],
    "ns2-queues": ["ns2_queues.py", "--jobs", "{jobs}"],
    "ns2-moving": ["ns2_moving.py", "--jobs", "{jobs}"],
    "ns2-satellite": ["ns2_satellite.py"],
    "ns3-grid": ["ns3_grid.py", "--jobs", "{jobs}"],
    "extremes": ["extremes.py"],
    "closed-forms": ["closed_forms.py", "--figure", str(ROOT / "docs" / "closed-forms.svg")],
    "equilibria": ["equilibria.py", "--figure", str(ROOT / "docs" / "equilibria.svg")],
    "orbit-paths": ["orbit_paths.py"],
    "orbit-positions": ["orbit_positions.py"],
}


def pages() -> dict[Path, str]:
    """The page as the data files have it."""
    text = PAGE.read_text(encoding="utf-8")
    for name, part in validation_page.parts().items():
        text = replaced(text, name, part)
    return {PAGE: text}


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
        file, *options = (part.format(jobs=given.jobs) for part in COMMANDS[name])
        stored = validation_page.DATA / f"{name}.csv"
        head = stored.read_text(encoding="utf-8").partition("\n")[0]
        print(f"{name} ...", flush=True)
        done = subprocess.run(
            [sys.executable, WITNESSES / file, *options], stdout=subprocess.PIPE, text=True, check=False
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

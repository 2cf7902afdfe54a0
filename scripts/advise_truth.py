"""A truth set for `bentpipe advise` that nobody tuned to: 60 drawn links, all algorithms, 60 seeds each.

python scripts/advise_truth.py draw            # the links in words
python scripts/advise_truth.py measure         # the truth; resumable, blocks lie in out/advise-truth
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import advise_links
import advise_measure

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "out" / "advise-truth"


def main(arguments: Sequence[str] | None = None) -> int:
    """Does one of the steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=["draw", "measure"])
    parser.add_argument("--seeds", type=int, default=advise_measure.SEEDS)
    parser.add_argument("--place", type=Path, default=PLACE, help="where the blocks of runs are kept")
    given = parser.parse_args(arguments)
    if given.step == "draw":
        for one in advise_links.draw():
            print(f"{one.number:2} {one.words()}")
    else:
        advise_measure.measure(advise_links.draw(), given.place, given.seeds, _log)
    return 0


def _log(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())

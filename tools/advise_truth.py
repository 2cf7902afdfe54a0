"""A truth set for `bentpipe advise` without any tuning to it: 180 drawn links, all algorithms, 60 seeds each.

python tools/advise_truth.py draw                # the links in words
python tools/advise_truth.py measure             # the truth; resumable, runs lie in out/advise-truth
python tools/advise_truth.py measure --cc bbr --place DIR   # again, if results of an algorithm changed
python tools/advise_truth.py table [--place DIR] # puts the runs that are there into docs/advise-truth.csv
python tools/advise_truth.py judge               # asks `advise`, writes docs/advise-truth.md; resumable
python tools/advise_truth.py judge --measured    # the same from simulated files of ping and iperf3
python tools/advise_truth.py judge --sealed      # all 180: only at the end
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
import advise_judge
import advise_links
import advise_measure
import advise_table
import md

from bentpipe.advice import schedule
from bentpipe.io import files

PLACE = md.ROOT / "out" / "advise-truth"


def main(arguments: Sequence[str] | None = None) -> int:
    """Does one of the steps."""
    parser = _parser()
    given = parser.parse_args(arguments)
    links = advise_links.draw()
    unknown = sorted(set(given.links or ()) - {one.number for one in links})
    if unknown:
        parser.error(f"--links: there is no link {unknown[0]}; they are 0 to {len(links) - 1}")
    match given.step:
        case "draw":
            print(*(f"{one.number:2} {one.words()}" for one in links), sep="\n")
        case "measure":
            some = links if given.links is None else [links[n] for n in given.links]
            advise_measure.measure(some, given.place, given.seeds, _log, given.cc)
        case "table":
            table = advise_table.aggregate(given.place, links, given.seeds)
            advise_table.update(given.docs / "advise-truth.csv", table, links)
        case _:
            judge(given)
    return 0


def judge(given: argparse.Namespace) -> None:
    """Asks about the links in one way, and writes the page with all that today's code has been asked."""
    schedule.PATIENCE = given.patience
    chosen = advise_links.chosen(given.links, sealed=given.sealed)
    table = advise_table.read(given.docs / "advise-truth.csv")
    found = {}
    for measured in (False, True):
        place = advise_judge.answers_place(given.place, measured=measured, budget=given.budget)
        if measured == given.measured:
            advise_judge.ask(
                chosen, place, measured=measured, budget=given.budget, fresh=given.fresh, tell=_log
            )
        answers = advise_judge.stored(advise_links.chosen(None, sealed=given.sealed), place)
        found[measured] = advise_judge.verdicts(answers, table)
    for one in found[given.measured]:
        print(advise_judge.row(one))
    print(advise_judge.summary(found[given.measured]))
    text = advise_judge.page(table, found[False], found[True])
    files.replace_text(given.docs / "advise-truth.md", text)


def _parser() -> argparse.ArgumentParser:
    parser = md.command_line(__doc__)
    parser.add_argument("step", choices=["draw", "measure", "table", "judge"])
    parser.add_argument("--seeds", type=int, default=advise_measure.SEEDS, help="of the truth")
    parser.add_argument("--measured", action="store_true", help="give advise nothing but measurements")
    parser.add_argument("--sealed", action="store_true", help="judge the sealed links, too")
    parser.add_argument("--budget", default="30 s", help="of each answer")
    parser.add_argument(
        "--patience", type=float, default=schedule.PATIENCE, metavar="N",
        help="an answer ends after this multiple of its budget; 20 lets a busy machine do all of the work",
    )  # fmt: skip
    parser.add_argument("--links", type=_numbers, metavar="N,N", help="these only")
    parser.add_argument(
        "--cc", type=_names, default=[], metavar="A,B", help="measure these only, if their results changed"
    )
    parser.add_argument("--fresh", action="store_true", help="ask again what was asked")
    parser.add_argument("--place", type=Path, default=PLACE, help="where runs and answers are kept")
    parser.add_argument("--docs", type=Path, default=md.DOCS, help="where table and page are written")
    return parser


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def _names(text: str) -> list[str]:
    return text.split(",")


def _log(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())

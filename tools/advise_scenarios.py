"""Holds `bentpipe advise` on every shipped scenario against whole runs with seeds of its own.

python tools/advise_scenarios.py                 # all; exit status 1 if an aim is missed; resumable
python tools/advise_scenarios.py geo starlink    # these only, and no judgement of the aims
python tools/advise_scenarios.py --write         # puts the table into docs/advise.md

The aims: two thirds of the answers are decided, and nine tenths of the decided lose less than 5 %.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
import md

import bentpipe as bp
from bentpipe import stats
from bentpipe.advice import schedule
from bentpipe.advice.flags import HARM_MOST
from bentpipe.advice.judged import JudgedFlows, with_controllers
from bentpipe.comparison import base_and_model
from bentpipe.io import files
from bentpipe.machine import linux
from bentpipe.pages.markdown import markdown, replaced
from bentpipe.registry import controllers, find, shipped_files
from bentpipe.runs import run_many
from bentpipe.sweeps.fingerprint import simulator_hash

PLACE = md.ROOT / "out" / "advise-scenarios"
PAGE = md.DOCS / "advise.md"
MARK = "advise_scenarios"
SEEDS = 20
FIRST_SEED = 1001
"""Far from those of the answers."""
PATIENCE = 100.0
"""An answer does all of its work, however busy the machine is."""
DECIDED, GOOD, HITS = 2 / 3, 0.05, 0.9
"""The aims: the share of decided answers; the loss of a good answer, and the share of good ones."""


@dataclass(frozen=True)
class ScenarioAnswer:
    """An answer to a scenario, beside the goodputs of all algorithms with other seeds.

    Attributes:
        scenario: its name.
        taken: id of the recommended algorithm; None if there is none.
        known: whether the answer is decided.
        plan: the plan that it ran.
        goodputs_bps: of algorithms that can be had, the sum of the scenario's flows over the whole run.
        reckless: why a better one is out, by the rules of `advise` over the other seeds, or in doubt.
    """

    scenario: str
    taken: str | None
    known: bool
    plan: str
    goodputs_bps: Mapping[str, float]
    reckless: Mapping[str, str]

    @property
    def best(self) -> str:
        """The most goodput of those that surely are not reckless; the answer if no other has 0.1 % more."""
        fine = [cc for cc in self.goodputs_bps if cc not in self.reckless]
        best = max(fine, key=lambda cc: self.goodputs_bps[cc])
        same = self.taken is not None and self.goodputs_bps[self.taken] > 0.999 * self.goodputs_bps[best]
        return self.taken if same and self.taken is not None else best

    @property
    def regret(self) -> float:
        """The share of the best's goodput that the answer loses."""
        if self.taken is None:
            return 1.0
        most = self.goodputs_bps[self.best]
        return max(0.0, 1 - self.goodputs_bps[self.taken] / most) if most > 0 else 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Asks, measures, and judges."""
    parser = md.command_line(__doc__)
    parser.add_argument("names", nargs="*", help="of shipped scenarios; all without")
    parser.add_argument("--budget", default="30 s", help="of each answer")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="of the comparison")
    parser.add_argument("--place", type=Path, default=PLACE, help="where answers are kept")
    parser.add_argument("--write", action="store_true", help="put what is there into docs/advise.md")
    given = parser.parse_args(arguments)
    wrong = sorted(set(given.names) - set(shipped_files()))
    if wrong:
        parser.error(f"there is no scenario {wrong[0]}; `bentpipe scenario list` has all")
    schedule.PATIENCE = PATIENCE
    found = []
    for name in given.names or shipped_files():
        since = time.monotonic()
        found.append(kept(name, given.place, given.budget, given.seeds))
        print(*row(found[-1]), f"{time.monotonic() - since:.0f} s", sep=" | ", flush=True)
    print(summary(found))
    if given.write:
        files.replace_text(PAGE, replaced(PAGE.read_text(encoding="utf-8"), MARK, table(found)))
    return 0 if given.names or aims_met(found) else 1


def kept(name: str, place: Path, budget: str, seeds: int) -> ScenarioAnswer:
    """The answer to a scenario; a stored one of the same simulator and scenario is not asked again."""
    text = shipped_files()[name].read_text(encoding="utf-8")
    mark = hashlib.sha256(f"{simulator_hash()} {text} {budget} {seeds}".encode()).hexdigest()[:12]
    path = place / f"{name}-{mark}.json"
    if path.exists():
        return ScenarioAnswer(**json.loads(path.read_text(encoding="utf-8")))
    one = asked(name, budget, seeds)
    files.replace_text(path, json.dumps(asdict(one), indent=1) + "\n")
    return one


def asked(name: str, budget: str, seeds: int) -> ScenarioAnswer:
    """Asks as a user would; compares all of Linux, and those that can be had and were not clearly behind."""
    advice = bp.advise(scenario=name, budget=budget)
    behind = {"scps-rate", *advice.left}
    ways = {entry["id"]: linux.way(entry["id"]) for entry in controllers()}
    had = [cc for cc, way in ways.items() if way.in_linux or (way.had and cc not in behind)]
    goodputs = compared(name, had, seeds)
    taken = advice.recommended
    least = goodputs[taken] if taken is not None else 0.0
    better = [cc for cc in goodputs if goodputs[cc] > least / (1 - GOOD)]
    reckless = doubtful(name, better, seeds, advice.plan.run_s) if better else {}
    return ScenarioAnswer(name, taken, not advice.doubts, str(advice.plan), goodputs, reckless)


def compared(name: str, some: Sequence[str], seeds: int) -> dict[str, float]:
    """The goodputs of algorithms; where two seeds are alike nothing is random, and no more are run."""
    first = [goodputs(name, some, FIRST_SEED + n) for n in range(min(2, seeds))]
    if first[0] != first[-1]:
        first += [goodputs(name, some, FIRST_SEED + n) for n in range(len(first), seeds)]
    return {cc: statistics.fmean(of[cc] for of in first) for cc in some}


def goodputs(name: str, some: Sequence[str], seed: int) -> dict[str, float]:
    """The goodput of a scenario with this seed by the algorithm of its first flow, bit/s.

    It is the sum over all flows with a controller, as `advise` judges a whole scenario.
    """
    base, model = base_and_model(name, whole=True)
    flows = {cc: [dataclasses.replace(model, cc=cc), *base.flows] for cc in some}
    scenarios = [dataclasses.replace(base, flows=of, seed=seed) for of in flows.values()]
    found = {}
    for (cc, of), result in zip(flows.items(), run_many(scenarios), strict=True):
        judged = JudgedFlows.of(of, result.json, with_controllers(of))
        found[cc] = judged.goodput(result.json["simulated_s"])
    return found


def doubtful(name: str, some: Sequence[str], seeds: int, run_s: float) -> dict[str, str]:
    """Those that are reckless over the other seeds, or for which their harm's interval leaves it open."""
    plan = f"{len({*some, 'cubic', 'reno'})}x{seeds}x{run_s:g}s+{seeds}"
    # The rule of the race would drop the slow; here each has all of its runs.
    found = bp.advise(scenario=name, cc=list(some), plan=plan, seed=FIRST_SEED)
    why = {}
    for cc in some:
        harm = found.trials[cc].of("harm_cubic")
        high = stats.interval(harm, least=0.0, most=1.0).high if len(harm) > 1 else math.nan
        if cc in found.flagged:
            why[cc] = "; ".join(map(str, found.flagged[cc]))
        elif high > HARM_MOST:
            why[cc] = f"a CUBIC flow beside it loses up to {100 * high:.0f} %"
    return why


def aims_met(found: Sequence[ScenarioAnswer]) -> bool:
    """Whether enough answers are decided, and enough of these are good."""
    decided = [one for one in found if one.known]
    good = [one for one in decided if one.regret < GOOD]
    return len(decided) >= DECIDED * len(found) and len(good) >= HITS * len(decided)


def summary(found: Sequence[ScenarioAnswer]) -> str:
    """The counts of the aims in a sentence."""
    decided = [one for one in found if one.known]
    good = sum(one.regret < GOOD for one in decided)
    worst = max((one.regret for one in decided), default=0.0)
    return (
        f"{len(decided)} of {len(found)} answers are decided. {good} of these lose less than 5 %, and the "
        f"worst loses {100 * worst:.1f} %."
    )


def row(one: ScenarioAnswer) -> list[str]:
    """The cells of a scenario."""

    def got(cc: str | None) -> str:
        return "-" if cc is None else f"{one.goodputs_bps[cc] / 1e6:.4g}"

    label = {cc: find(cc)["label"] for cc in one.goodputs_bps}
    return [
        one.scenario, label[one.taken] if one.taken else "none", got(one.taken), "yes" if one.known else "no",
        label[one.best], got(one.best), f"{100 * one.regret:.1f} %",
    ]  # fmt: skip


def table(found: Sequence[ScenarioAnswer]) -> str:
    """The part of the page."""
    heads = ["<scenario", "<answer", "Mbit/s", "<decided", "<best", "Mbit/s", "lost"]
    return f"{summary(found)}\n\n{markdown(heads, map(row, found))}\n"


if __name__ == "__main__":
    sys.exit(main())

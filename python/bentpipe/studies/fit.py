"""`bentpipe study fit`: the combination of a paper's choices that makes most of its checks hold.

It tries the base, each choice and each possible pair, and from the best of these continues greedily: it adds
the choice that gains most until none gains. The most promising comes first, so that a limit costs little. The
result is a fit and never a base: the page and the file give its number of free choices.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.io.files import replace_text
from bentpipe.pages import Page
from bentpipe.studies.claim import Tally
from bentpipe.studies.combinations import Combinations, Names, Tried, assembly
from bentpipe.studies.design import OTHER_SEEDS, Design, Size, clash
from bentpipe.studies.job import StudyFailed
from bentpipe.studies.page import add_section
from bentpipe.studies.readings import choice
from bentpipe.studies.study import Section, Study
from bentpipe.studies.text import Table
from bentpipe.sweeps.engine import Interrupted
from bentpipe.sweeps.execution import Executor
from bentpipe.sweeps.kept import FOLDER
from bentpipe.sweeps.lab import Lab
from bentpipe.terminal.progress import SearchProgress

#: Combinations that the page shows, of those that come nearest.
SHOWN = 20


#: Judges the claims under some combinations, in any order; None for those that the time did not suffice for.
#: The first argument names them.
Judge = Callable[[str, Sequence[Names]], Sequence[Tried | None]]


@dataclass
class FitSearch:
    """The combinations that were tried, and those that were not."""

    tried: list[Tried] = field(default_factory=list)
    #: Pairs of choices that contradict each other, and pairs that make a combination tried before.
    contradicting: int = 0
    same: int = 0
    #: Combinations that a limit cut off: their kind, and their number.
    cut: list[tuple[str, int]] = field(default_factory=list)
    #: Whether the limit was the time.
    late: bool = False

    @property
    def best(self) -> Tried:
        """The highest score with the fewest free choices; the first of equals."""
        return max(self.tried, key=lambda of: (of.score, -of.free))

    def front(self) -> list[Tried]:
        """The Pareto front: each adds as few free choices as any that makes as many checks hold."""
        found: list[Tried] = []
        for of in sorted(self.tried, key=lambda of: (of.free, -of.held)):
            if not found or of.held > found[-1].held:
                found.append(of)
        return found

    def not_tried(self) -> list[str]:
        """Sentences on the combinations that were not tried, with the reasons."""
        said = ["Of combinations of three choices and more only those on the greedy way were tried."]
        if self.contradicting:
            said.append(f"Pairs that contradict each other: {self.contradicting}.")
        if self.same:
            said.append(f"Pairs that are the same as a combination tried before: {self.same}.")
        why = "the time was over" if self.late else "the limit of combinations was reached"
        return said + [f"Not tried, because {why}: {what} ({count})." for what, count in self.cut]


@dataclass(frozen=True)
class Limits:
    """Time limit of a search, and the size of each combination."""

    seeds: int = 3
    most: int = 500
    #: For the search and its confirmation, which gets half of it at most; of each call.
    minutes: float = 120.0


@dataclass(frozen=True)
class Confirmed:
    """A combination over all seeds of the full mode, or over others."""

    seeds: str
    names: Names
    #: None if the time did not suffice.
    tried: Tried | None


@dataclass(frozen=True)
class Fit:
    """The result of a search."""

    study: Study
    seeds: int
    search: FitSearch
    #: The base and the best, over all seeds and over others.
    confirmed: Sequence[Confirmed]

    def not_tried(self) -> list[str]:
        """Sentences on the combinations that were not tried, with the reasons."""
        late = [
            f"Seeds {of.seeds} of {' + '.join(of.names) or 'the base'} were not run: the time was over."
            for of in self.confirmed
            if of.tried is None
        ]
        return [*self.search.not_tried(), *late]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON. ``tried`` has rows: checks that hold, free choices, names."""

        def plain(of: Tried) -> dict[str, Any]:
            return {"variants": list(of.names), **of.counts()}

        design = assembly(self.study).design
        variants = (*design.variants, *design.only_joint)
        return {
            "schema": 1,
            "study": self.study.name,
            "version": _core.__version__,
            "seeds": self.seeds,
            "choices": {v.name: [v.choice, str(v.evidence), v.source] for v in variants},
            "front": [plain(of) for of in self.search.front()],
            "confirmed": [{"seeds": of.seeds, **plain(of.tried)} for of in self.confirmed if of.tried],
            "not_tried": self.not_tried(),
            "tried": [[of.held, of.free, " + ".join(of.names)] for of in self.search.tried],
        }


def fit(
    study: Study,
    out: Path,
    limits: Limits = Limits(),
    *,
    workers: int = 0,
    progress: Callable[[SearchProgress], None] | None = None,
    executor: Callable[[], Executor] | None = None,
    fresh: bool = False,
) -> Fit:
    """Search the choices of a study and confirm the best.

    The runs are kept under ``out``: an interrupted search, given again, continues from there. Without a limit
    of time that cuts it short, the result depends neither on that nor on the number of workers.

    ``executor`` makes the executor of the runs, in place of this machine; with ``fresh`` those that are there
    are forgotten.

    Raises:
        ValueError: the study has no choices, or the seeds are fewer than two.
        StudyFailed: a run failed, or the time did not suffice for the base.
        Interrupted: the user stopped it.
    """
    if limits.seeds < 2:
        raise ValueError("a search needs two seeds or more, for intervals")
    began = time.monotonic()
    design = assembly(study).design
    few, full = design.sizes["quick"].bounded(limits.seeds, seeds=limits.seeds), design.sizes["full"]
    with Lab(out / FOLDER / "fit", workers=workers, executor=executor, fresh=fresh) as lab:
        tries = Combinations(study, lab, progress)
        whole = sum(1 for _ in design.cases(design.joined(), full))

        def judge(what: str, wanted: Sequence[Names]) -> list[Tried | None]:
            # The base and the best are confirmed, each over two sets of seeds.
            confirming = min(lab.remaining_s(4 * whole) or 0.0, 30.0 * limits.minutes)
            until = began + 60.0 * limits.minutes - confirming
            return tries.judge(what, wanted, few, until=until)

        try:
            found = search(design, judge, limits.most)
            if not found.tried:
                raise StudyFailed(
                    f"study {study.name}: {limits.minutes:g} minutes do not suffice for the base; its runs "
                    "are kept, and the same command goes on from there"
                )
            confirmed = _confirm(tries, found.best, full, began + 60.0 * limits.minutes)
        except KeyboardInterrupt:
            raise Interrupted(
                f"{tries.runs:,} runs are done and kept; the same command goes on from there"
            ) from None
        if not found.late and all(of.tried for of in confirmed):
            lab.prune()
    return Fit(study, limits.seeds, found, confirmed)


def write(found: Fit, out: Path, keep: Path | None = None) -> list[Path]:
    """Write ``OUT/fit.json`` and ``OUT/index.html``, and ``KEEP/NAME.json`` with the same as the first."""
    data = found.as_dict()
    text = _text(data)
    page = Page(
        f"Which choices fit: {found.study.title}",
        source=found.study.citation,
        lead="A search over the choices that the paper leaves open. What it finds is a fit: with enough "
        "free choices some combination fits anything, so the table sets the one against the other. It is "
        "never the base of the study.",
        foot=f"bentpipe study fit {found.study.name}; bentpipe {_core.__version__}",
    )
    for section in sections(data, found):
        add_section(page, section)
    files = {out / "fit.json": text, out / "index.html": page.html()}
    if keep is not None:
        files[keep / f"{found.study.name}.json"] = text
    for path, contents in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, contents)
    return list(files)


def sections(data: dict[str, Any], found: Fit) -> list[Section]:
    """The page: the front, the confirmation of the best, the nearest combinations, and those not tried."""
    ids = [claim.id for claim in found.search.tried[0].claims]
    head = ["Choices (evidence)", "Free choices", "Checks that hold", *ids]

    def row(of: Tried) -> list[str | Tally]:
        said = "; ".join(choice(data["choices"][name]) for name in of.names) or "the base"
        return [said, *of.cells()]

    nearest = sorted(found.search.tried, key=lambda of: of.score, reverse=True)[:SHOWN]
    seeds = f"Seeds 1 to {found.seeds}, and the length of the quick mode"
    return [
        Section(
            "Free choices against checks",
            [f"{seeds}. Each row makes more checks hold than any that takes fewer free choices."],
            [Table(head, [row(of) for of in found.search.front()])],
        ),
        Section(
            "The best over all seeds, and over seeds that the search has not seen",
            ["In the length of the full mode."],
            [Table(["Seeds", *head], [[of.seeds, *row(of.tried)] for of in found.confirmed if of.tried])],
        ),
        Section(
            f"The {len(nearest)} that come nearest, of {len(found.search.tried)}",
            [f"{seeds}. fit.json has all."],
            [Table(head, [row(of) for of in nearest])],
        ),
        Section("What was not tried", found.not_tried()),
    ]


def _confirm(tries: Combinations, best: Tried, full: Size, until: float) -> list[Confirmed]:
    """The base and the best, in this order; the best is run first, as the time may not suffice for both."""
    found = []
    for names in dict.fromkeys([best.names, ()]):
        for after in (0, OTHER_SEEDS):
            seeds = f"{after + 1} to {after + full.seeds}"
            what = f"{' + '.join(names) or 'the base'}, seeds {seeds}"
            (of,) = tries.judge(what, [names], full, after, until)
            found.append(Confirmed(seeds, names, of))
    return sorted(found, key=lambda of: bool(of.names))


def _text(data: dict[str, Any]) -> str:
    """JSON with a line for each entry of a list or an object of the first level."""
    parts = []
    for name, value in data.items():
        said = json.dumps(value, ensure_ascii=False)
        if isinstance(value, dict):
            entries = [f"  {json.dumps({k: v}, ensure_ascii=False)[1:-1]}" for k, v in value.items()]
            said = "{\n" + ",\n".join(entries) + "\n }"
        elif isinstance(value, list):
            said = "[\n" + ",\n".join(f"  {json.dumps(v, ensure_ascii=False)}" for v in value) + "\n ]"
        parts.append(f" {json.dumps(name)}: {said}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def search(design: Design[Any, Any], judge: Judge, most: int) -> FitSearch:
    """Search the combinations of a paper's choices, at most ``most`` of them."""
    return _Searcher(design, judge, most).search()


class _Searcher:
    def __init__(self, design: Design[Any, Any], judge: Judge, most: int) -> None:
        variants = (*design.variants, *design.only_joint)
        changes = {v.name: v.change(design.base) for v in variants}
        self._changes = {name: change for name, change in changes.items() if change}
        self._judge, self._most = judge, most
        self._known: dict[frozenset[str], Tried] = {}
        self._found = FitSearch()

    def search(self) -> FitSearch:
        names = list(self._changes)
        self._try("the base", [()])
        if not self._found.tried:
            return self._found
        base = self._found.tried[0].score
        self._try("choices alone", [(name,) for name in names])
        score = {name: of.score if (of := self._known.get(self._key((name,)))) else base for name in names}
        helps = {name for name in names if score[name] > base}
        pairs = [pair for pair in combinations(names, 2) if self._fits(*pair)]
        self._found.contradicting = len(names) * (len(names) - 1) // 2 - len(pairs)
        # Ties keep the order of the paper's variants, as the sort is stable.
        pairs.sort(
            key=lambda pair: [a + b for a, b in zip(*(score[n] for n in pair), strict=True)], reverse=True
        )
        both = [pair for pair in pairs if helps.issuperset(pair)]
        self._try("pairs of choices that help", both)
        self._climb()
        best = self._found.best
        rest = [pair for pair in pairs if not helps.issuperset(pair)]
        self._found.same += sum(self._key(pair) in self._known for pair in rest)
        self._try("pairs of other choices", rest)
        if self._found.best is not best:
            self._climb()
        return self._found

    def _climb(self) -> None:
        """Goes from the best, adding the choice that gains most, until none gains."""
        best = self._found.best
        while True:
            names = [n for n in self._changes if n not in best.names and self._fits(n, *best.names)]
            self._try("combinations on the greedy way", [(*best.names, name) for name in names])
            if self._found.best.score <= best.score:
                return
            best = self._found.best

    def _try(self, what: str, wanted: Iterable[Names]) -> None:
        new: dict[frozenset[str], Names] = {}
        for names in wanted:
            if self._key(names) not in self._known:
                new.setdefault(self._key(names), names)
        room = 0 if self._found.late else self._most - len(self._found.tried)
        now = list(new.values())[:room]
        results = self._judge(what, now) if now else []
        for names, of in zip(now, results, strict=True):
            if of is not None:
                self._known[self._key(names)] = of
                self._found.tried.append(of)
        done = sum(of is not None for of in results)
        self._found.late = self._found.late or done < len(now)
        if done < len(new):
            self._found.cut.append((what, len(new) - done))

    def _key(self, names: Names) -> frozenset[str]:
        """The identity of a combination: all of its changes."""
        return frozenset(str(change) for name in names for change in self._changes[name].items())

    def _fits(self, name: str, *others: str) -> bool:
        return not any(clash(self._changes[name], self._changes[other]) for other in others)

"""The search of `bentpipe study fit`: the combination of choices that makes most checks of a paper hold.

It tries the base, each choice and each possible pair, and from the best of these continues greedily: it adds
the choice that gains most until none gains. The most promising comes first, so that a limit costs little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from bentpipe.studies.claim import Claim
from bentpipe.studies.design import Design, clash
from bentpipe.studies.judge import RANK
from bentpipe.studies.study import Standing

#: The names of the choices that are taken together; none for the base.
Names = tuple[str, ...]


@dataclass(frozen=True)
class Tried(Standing):
    """The claims of a paper under a combination of choices."""

    names: Names
    #: The number of free choices (`Design.free`).
    free: int
    claims: Sequence[Claim]

    @property
    def score(self) -> tuple[int, int]:
        """More is better: checks that hold, then verdicts."""
        return self.held, sum(RANK[claim.verdict] for claim in self.claims)


#: Judges the claims under some combinations, in any order; None for those that the time did not suffice for.
#: The first argument names them.
Judge = Callable[[str, Sequence[Names]], Sequence[Tried | None]]


@dataclass
class Search:
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


def search(design: Design[Any, Any], judge: Judge, most: int) -> Search:
    """Search the combinations of a paper's choices, at most ``most`` of them."""
    return _Searcher(design, judge, most).search()


class _Searcher:
    def __init__(self, design: Design[Any, Any], judge: Judge, most: int) -> None:
        variants = (*design.variants, *design.only_joint)
        changes = {v.name: v.change(design.base) for v in variants}
        self._changes = {name: change for name, change in changes.items() if change}
        self._judge, self._most = judge, most
        self._known: dict[frozenset[str], Tried] = {}
        self._found = Search()

    def search(self) -> Search:
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

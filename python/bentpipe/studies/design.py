"""The runs of a paper: a set-up with its open choices, variants that change one of them, seeds, and sizes.

A paper's `setup` says what a run is (`points` and `scenario`) and which choices are tried (`Variant`); the
plan of a mode follows from that. Nothing here draws or judges, because what a run measures depends on this.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from bentpipe.studies.study import Case, Key, Plan

if TYPE_CHECKING:
    import polars as pl

#: The name of the variant that changes nothing.
BASE = "base"

Keys = Mapping[str, Key]


@dataclass(frozen=True)
class Where:
    """A condition on the keys of runs: each key that is named has one of its values."""

    values: tuple[tuple[str, tuple[Key, ...]], ...] = ()

    def __call__(self, keys: Keys) -> bool:
        """Whether a run with these keys meets it."""
        return all(keys[name] in allowed for name, allowed in self.values)

    def rows(self, runs: pl.DataFrame) -> pl.DataFrame:
        """The rows that meet it."""
        for name, allowed in self.values:
            runs = runs.filter(runs[name].is_in(list(allowed)))
        return runs


def where(**values: Key | Collection[Key]) -> Where:
    """The runs whose keys have the given values: one value, or several of which one must match."""
    return Where(
        tuple((k, (v,) if isinstance(v, str | int | float) else tuple(v)) for k, v in values.items())
    )


@dataclass(frozen=True)
class Choices:
    """A set-up: the base class of a paper's `Setup`, which has a field for each choice that is open."""

    #: Parameters of algorithms, by id, where they differ from the registry's defaults.
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, kw_only=True)

    def controller(self, cc: str) -> str | dict[str, Any]:
        """The key ``cc`` of a flow: the algorithm's id, or with it the parameters that differ."""
        options = self.options.get(cc)
        return {"name": cc, **options} if options else cc

    def changed(self, **values: Any) -> Self:
        """The same with some choices changed."""
        return replace(self, **values)

    def tuned(self, *algorithms: str, **options: Any) -> Self:
        """The same with some parameters of some algorithms set, in place of those that they had."""
        return self.changed(options={**self.options, **dict.fromkeys(algorithms, options)})

    def variant(
        self,
        name: str,
        choice: str,
        touches: Callable[[Keys], bool] = Where(),
        *,
        quick: bool = False,
        **values: Any,
    ) -> Variant[Self]:
        """A `Variant` of this set-up with some choices changed."""
        return Variant(name, choice, self.changed(**values), touches, quick)


S = TypeVar("S", bound=Choices)


@dataclass(frozen=True)
class Variant(Generic[S]):
    """A set-up with one choice changed against the base."""

    name: str
    #: What it changes, in words.
    choice: str
    setup: S
    #: The runs that it touches; the others are those of the base.
    touches: Callable[[Keys], bool] = Where()
    #: Is it also run in quick mode?
    quick: bool = False

    @property
    def is_base(self) -> bool:
        """Whether it changes nothing."""
        return self.name == BASE

    def only(self, **values: Key | Collection[Key]) -> Self:
        """The same, with only the runs whose keys have the given values."""
        return replace(self, touches=where(**values))


@dataclass(frozen=True)
class Size:
    """How much a mode runs; papers add what else depends on the mode. The page may quote each number."""

    #: Seeds of the base, from 1 on.
    seeds: int
    #: Seeds of each variant, from 1 on.
    sensitivity_seeds: int


Z = TypeVar("Z", bound=Size)


@dataclass(frozen=True)
class Replication(Generic[S, Z]):
    """All runs of one variant with one seed."""

    variant: Variant[S]
    seed: int
    size: Z

    @property
    def setup(self) -> S:
        """The set-up of the variant."""
        return self.variant.setup


def base_and_variants(
    base: Variant[S], variants: Sequence[Variant[S]], size: Size
) -> Iterator[tuple[Variant[S], int]]:
    """The usual order: the base over all its seeds, then every variant over the first few of them."""
    yield base, size.seeds
    for variant in variants:
        yield variant, size.sensitivity_seeds


@dataclass(frozen=True)
class Design(Generic[S, Z]):
    """What a paper runs.

    ``points(replication)`` gives the keys that name each run, and ``scenario(replication, **keys)`` the run.
    """

    base: S
    variants: Sequence[Variant[S]]
    #: The size of each mode.
    sizes: Mapping[str, Z]
    points: Callable[[Replication[S, Z]], Iterable[Keys]]
    scenario: Callable[..., Mapping[str, Any]]
    #: What the page says of the seeds; ``{size.seeds}`` stands for a number of the size.
    note: str
    #: ``keeps(keys, seed)``: is the trace of this run of the base drawn?
    keeps: Callable[[Keys, int], bool]
    #: What is run in which order, and over how many seeds: of the base, the variants and the size.
    order: Callable[[Variant[S], Sequence[Variant[S]], Z], Iterable[tuple[Variant[S], int]]] = (
        base_and_variants
    )
    #: The keys by which a run of a variant replaces one of the base; all but "variant" if empty.
    identity: Sequence[str] = ()
    #: Names of variants whose runs are no choice's: the claims are judged by them under every choice.
    always: Sequence[str] = ()

    def plan(self, mode: str) -> Plan:
        """The runs of ``mode``: every variant in full mode, in quick mode those that are marked so."""
        return self.plan_of(mode, self.sizes[mode], [v for v in self.variants if v.quick or mode == "full"])

    def plan_of(self, mode: str, size: Z, variants: Sequence[Variant[S]]) -> Plan:
        """The runs of a given size with given variants; ``mode`` only names it."""
        base = Variant(BASE, "as in the set-up (base)", self.base)
        cases = [
            case
            for variant, seeds in self.order(base, variants, size)
            for seed in range(1, seeds + 1)
            for case in self._cases(Replication(variant, seed, size))
        ]
        numbers = {k: v for k, v in asdict(size).items() if isinstance(v, int | float)}
        return Plan(mode, cases, {**numbers, "note": self.note.format(size=size)})

    def _cases(self, of: Replication[S, Z]) -> Iterator[Case]:
        for keys in self.points(of):
            if of.variant.touches(keys):
                yield Case(
                    {"variant": of.variant.name, **keys, "seed": of.seed},
                    self.scenario(of, **keys),
                    keep_trace=of.variant.is_base and self.keeps(keys, of.seed),
                )

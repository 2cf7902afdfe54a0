"""The runs of a paper: a set-up with its open choices, variants that change one of them, seeds, and sizes.

A paper's `setup` defines a run (`points` and `scenario`), the choices that are tried (`Variant`), and the
choices that form a joint reading (`Reading`); the plan of a mode follows from that. The parts of scenarios
that several papers have are here too: a link with a drop-tail queue, a flow, a run. Nothing here draws or
judges, because the measures of a run depend on this.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from bentpipe.studies.study import Case, Key, Measures, StudyPlan

if TYPE_CHECKING:
    import polars as pl

#: The name of the variant that changes nothing.
BASE = "base"

#: Names of readings that every paper's page speaks of: the paper to the letter; the reading that its words,
#: its numbers and its simulator support best (the base, if no reading has this name); the result of a search.
AS_PRINTED, DEFENSIBLE, FITTED = "as-printed", "defensible", "fitted"

#: The seed before the first of those that a study does not have, with which its results are confirmed.
OTHER_SEEDS = 1000

Keys = Mapping[str, Key]
#: The place of a value: a field, or with it the keys of an entry: ``("options", "star", "aen")``.
Path = tuple[str, ...]
#: The values that differ, by their place; `UNSET` for an entry that is no longer there.
Change = Mapping[Path, Any]


class _Unset:
    def __repr__(self) -> str:
        return "unset"


UNSET: Final = _Unset()


class Origin(StrEnum):
    """The origin of the value of a choice."""

    PAPER = "the paper says"
    IMPLIED = "its own numbers imply"
    DEFAULT = "default of the simulator it names"
    OURS = "our choice"
    FITTED = "found by a search"

    @property
    def free(self) -> bool:
        """Whether nothing in the paper or its simulator gives the value."""
        return self in (Origin.OURS, Origin.FITTED)


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
    """The runs whose keys have the given values: one value, or several, one of them to match."""
    return Where(
        tuple((k, (v,) if isinstance(v, str | int | float) else tuple(v)) for k, v in values.items())
    )


@dataclass(frozen=True)
class Choices:
    """A set-up: the base class of a paper's own, which has a field for each choice that is open."""

    #: Parameters of algorithms, by id, where they differ from the registry's defaults.
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, kw_only=True)

    def controller(self, cc: str, **more: Any) -> str | dict[str, Any]:
        """The key ``cc`` of a flow: the algorithm's id, or with it the parameters that differ, and more."""
        options = {**self.options.get(cc, {}), **more}
        return {"name": cc, **options} if options else cc

    def tuned(self, names: str, parameters: Mapping[str, Any]) -> Self:
        """The same with more parameters of some controllers, whose names have blanks between."""
        more = {cc: {**self.options.get(cc, {}), **parameters} for cc in names.split()}
        return replace(self, options={**self.options, **more})

    def changed(self, **values: Any) -> Self:
        """The same with some choices changed."""
        return replace(self, **values)


S = TypeVar("S", bound=Choices)


@dataclass(frozen=True)
class Variant(Generic[S]):
    """A set-up with one choice changed against the base."""

    name: str
    #: Its change, in words.
    choice: str
    setup: S
    #: The runs that it touches; the others are those of the base.
    touches: Callable[[Keys], bool] = Where()
    #: Whether it is also run in quick mode.
    quick: bool = False
    #: The evidence for its value, and a short sentence with the source.
    evidence: Origin = Origin.OURS
    source: str = ""
    #: The names of the variants that it joins, if it is a joint reading; each changes the runs that it
    #: touches.
    joins: tuple[str, ...] = ()

    @property
    def is_base(self) -> bool:
        """Whether it changes nothing."""
        return self.name == BASE

    @property
    def whole(self) -> bool:
        """Whether it runs all that the base runs, over all seeds: the base itself, and joint readings."""
        return self.is_base or bool(self.joins)

    def change(self, base: S) -> dict[Path, Any]:
        """Its changes of ``base``: each field, or entry of a field, with its new value."""
        return change(base, self.setup)

    def only(self, **values: Key | Collection[Key]) -> Self:
        """The same, with only the runs whose keys have the given values."""
        return replace(self, touches=where(**values))


@dataclass(frozen=True)
class Reading:
    """A joint reading of a paper: the base with the changes of some variants, each where it touches a run.

    It is run with all seeds of the base, unless it has a limit of its own, and judged by all claims.
    """

    name: str
    #: The reading, in words.
    title: str
    #: The names of `Design.variants` and `Design.only_joint`.
    variants: tuple[str, ...]
    #: The runs that it touches; all that its variants touch if None.
    touches: Callable[[Keys], bool] | None = None
    #: Whether it is also run in quick mode.
    quick: bool = False
    #: The most seeds of a study; those of the base if None.
    seeds: int | None = None


@dataclass(frozen=True)
class Size:
    """The amount of runs of a mode; papers add other numbers of it. The page may quote each number."""

    #: Seeds of the base, from 1 on.
    seeds: int
    #: Seeds of each variant, from 1 on.
    sensitivity_seeds: int

    def bounded(self, most: int, /, **more: Any) -> Self:
        """The same with at most ``most`` in each of its numbers of seeds, and some values changed."""
        own = {of.name: getattr(self, of.name) for of in fields(self) if of.name.endswith("seeds")}
        return replace(self, **{name: min(count, most) for name, count in own.items()} | more)


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
    """The runs of a paper.

    ``points(replication)`` gives the keys that name each run, and ``scenario(replication, **keys)`` the run.
    """

    base: S
    variants: Sequence[Variant[S]]
    #: The size of each mode.
    sizes: Mapping[str, Z]
    points: Callable[[Replication[S, Z]], Iterable[Keys]]
    scenario: Callable[..., Mapping[str, Any]]
    #: The scalars of one run: of its case, its result (the object of ``bentpipe run --json``) and its trace.
    measure: Callable[[Case, Mapping[str, Any], pl.DataFrame | None], Measures]
    #: The text of the page about seeds; ``{size.seeds}`` is replaced by a number of the size.
    note: str
    #: ``keeps(keys, seed)``: whether the trace of this run of the base is drawn.
    keeps: Callable[[Keys, int], bool]
    #: The runs, their order, and their numbers of seeds: of the base, the variants and the size.
    order: Callable[[Variant[S], Sequence[Variant[S]], Z], Iterable[tuple[Variant[S], int]]] = (
        base_and_variants
    )
    #: The keys by which a run of a variant replaces one of the base; all but "variant" if empty.
    identity: Sequence[str] = ()
    #: Names of variants whose runs are no choice's: the claims are judged by them under every choice.
    always: Sequence[str] = ()
    #: The declared joint readings.
    readings: Sequence[Reading] = ()
    #: Variants that only readings and `bentpipe study fit` use.
    only_joint: Sequence[Variant[S]] = ()
    #: Settings that ``measure`` needs beside the scenario: `Case.settings`.
    settings: Callable[[S], Mapping[str, Key]] = lambda _: {}

    def __post_init__(self) -> None:
        names = [
            BASE,
            *(v.name for v in (*self.variants, *self.only_joint)),
            *(r.name for r in self.readings),
        ]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two variants or readings are called {name!r}")
        for reading in self.readings:
            joined = self.joined(*reading.variants)
            found = [v.name for v in self._named(reading.variants) if v.evidence == Origin.FITTED]
            if found and reading.name in (AS_PRINTED, DEFENSIBLE):
                raise ValueError(f"{reading.name} cannot rest on {found[0]!r}, which a search found")
            if not joined.change(self.base):
                raise ValueError(f"the reading {reading.name!r} changes nothing")

    def plan(self, mode: str) -> StudyPlan:
        """The runs of ``mode``: all variants and readings in full mode, in quick mode those marked so."""
        variants = [v for v in self.variants if v.quick or mode == "full"]
        readings = [r for r in self.readings if r.quick or mode == "full"]
        return self.plan_of(mode, self.sizes[mode], variants, readings)

    def plan_of(
        self, mode: str, size: Z, variants: Sequence[Variant[S]], readings: Sequence[Reading] = ()
    ) -> StudyPlan:
        """The runs of a given size with given variants and readings; ``mode`` only names it."""
        cases = [
            case
            for variant, seeds in self.order(self._base(), variants, size)
            for case in self._cases(variant, seeds, size)
        ]
        for reading in readings:
            cases += self.cases(
                self.read(reading), size if reading.seeds is None else size.bounded(reading.seeds)
            )
        numbers = {k: v for k, v in asdict(size).items() if isinstance(v, int | float)}
        return StudyPlan(mode, cases, {**numbers, "note": self.note.format(size=size)})

    def read(self, reading: Reading) -> Variant[S]:
        """A joint reading as a variant."""
        joined = self.joined(*reading.variants)
        return replace(
            joined, name=reading.name, choice=reading.title, touches=reading.touches or joined.touches
        )

    def joined(self, *names: str) -> Variant[S]:
        """The base with the changes of the named variants; the base itself without any.

        Two variants may agree on a value.

        Raises:
            ValueError: no variant has such a name, or two of them contradict each other.
        """
        if not names:
            return self._base()
        made: dict[Path, Any] = {}
        variants = self._named(names)
        for i, variant in enumerate(variants):
            mine = variant.change(self.base)
            for other in variants[:i]:
                if at := clash(other.change(self.base), mine):
                    both = f"{other.name!r} and {variant.name!r}"
                    raise ValueError(f"{both} contradict each other: both set {place(at)}")
            made |= mine
        touch = [variant.touches for variant in variants]
        return Variant(
            " + ".join(names),
            "; ".join(variant.choice for variant in variants),
            changed(self.base, made),
            lambda keys: any(touches(keys) for touches in touch),
            joins=names,
        )

    def free(self, names: Iterable[str]) -> int:
        """The number of free choices among those of some variants (`Origin.free`).

        A variant that includes the changes of others counts as those, and as one more if it adds to them.
        """
        changes = {v.name: v.change(self.base).items() for v in (*self.variants, *self.only_joint)}
        single = set()
        for variant in self._named(names):
            parts = [n for n, of in changes.items() if of and of < changes[variant.name]]
            least = [n for n in parts if not any(changes[m] < changes[n] for m in parts)]
            rest = set(map(str, changes[variant.name])) - {str(one) for n in parts for one in changes[n]}
            single |= {*least, *([variant.name] if rest else [])}
        return sum(variant.evidence.free for variant in self._named(sorted(single)))

    def cases(self, variant: Variant[S], size: Z, after: int = 0) -> Iterator[Case]:
        """The runs of a joint reading, or of the base: wherever and with as many seeds as the base runs.

        Args:
            variant: a reading, or the base, which comes with the runs of `always`.
            size: the size.
            after: the seed before the first.
        """
        for part, seeds in self.order(self._base(), (), size):
            if part.is_base:
                yield from self._cases(variant, seeds, size, after, part.touches)
            elif part.name in self.always and variant.is_base:
                yield from self._cases(part, seeds, size, after)

    def _base(self) -> Variant[S]:
        return Variant(BASE, "as in the set-up (base)", self.base)

    def _named(self, names: Iterable[str]) -> list[Variant[S]]:
        known = {variant.name: variant for variant in (*self.variants, *self.only_joint)}
        for name in (names := list(names)):
            if name not in known:
                raise ValueError(f"no variant is called {name!r}; there are: {', '.join(known)}")
        return [known[name] for name in names]

    def _cases(
        self,
        variant: Variant[S],
        seeds: int,
        size: Z,
        after: int = 0,
        where: Callable[[Keys], bool] = Where(),
    ) -> Iterator[Case]:
        """The runs of a variant that meet a condition, with the seeds from ``after`` + 1 on."""
        joined: dict[tuple[str, ...], Variant[S]] = {} if variant.joins else {(): variant}
        parts = {part.name: part.touches for part in self._named(variant.joins)}
        for seed in range(1, seeds + 1):
            for keys in self.points(Replication(variant, seed, size)):
                if not (variant.touches(keys) and where(keys)):
                    continue
                if (names := tuple(n for n in parts if parts[n](keys))) not in joined:
                    joined[names] = replace(variant, setup=self.joined(*names).setup)
                of = Replication(joined[names], seed + after, size)
                yield Case(
                    {"variant": variant.name, **keys, "seed": of.seed},
                    self.scenario(of, **keys),
                    keep_trace=variant.is_base and self.keeps(keys, of.seed),
                    settings=self.settings(of.setup),
                )


def change(base: Any, other: Any) -> dict[Path, Any]:
    """The fields of ``other``, a dataclass like ``base``, that differ from it."""
    before, after = (dict(_values(of)) for of in (base, other))
    found = {path: value for path, value in after.items() if path not in before or before[path] != value}
    return found | {path: UNSET for path in before if path not in after and not _under(path, after)}


def changed(base: S, what: Change) -> S:
    """``base`` with the values of a change."""
    values: dict[str, Any] = {}
    for (name, *keys), value in what.items():
        held = values[name] if name in values else getattr(base, name)
        values[name] = _set(held, keys, value)
    return replace(base, **values)


def clash(one: Change, other: Change) -> Path | None:
    """A place to which two changes give different values; None if they can be applied together."""
    for path, value in one.items():
        for at, given in other.items():
            shared = min(len(path), len(at))
            if path[:shared] == at[:shared] and (path != at or value != given):
                return max(path, at, key=len)
    return None


def place(path: Path) -> str:
    """A place in words: ``"options.star.aen"``."""
    return ".".join(map(str, path))


def _values(of: Any) -> Iterator[tuple[Path, Any]]:
    for one in fields(of):
        yield from _entries((one.name,), getattr(of, one.name))


def _entries(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _entries((*path, key), entry)
    else:
        yield path, value


def _under(path: Path, values: Change) -> bool:
    """Whether a value in the place of ``path``'s mapping, or below it, has taken its place."""
    return any(path[: len(at)] == at or at[: len(path)] == path for at in values)


def _set(held: Any, keys: list[str], value: Any) -> Any:
    if not keys:
        return value
    first, *rest = keys
    entries = dict(held) if isinstance(held, Mapping) else {}
    if value is UNSET and not rest:
        entries.pop(first, None)
    else:
        entries[first] = _set(entries.get(first, {}), rest, value)
        if entries[first] == {}:
            del entries[first]
    return entries


Part = dict[str, Any]


def link(rate_bps: float, delay: str, limit: str, **more: Any) -> Part:
    """A link with a drop-tail queue of ``limit``; rate and delay are those of one way."""
    queue = {"kind": "drop-tail", "limit": limit}
    return {"rate": f"{rate_bps / 1e6:g} Mbit/s", "delay": delay, "queue": queue, **more}


def flow(
    name: str,
    cc: str | Mapping[str, Any],
    path: Sequence[str],
    mss_bytes: int,
    header_bytes: int,
    **more: Any,
) -> Part:
    """A flow with the profile "paper": ns-2's defaults, which ``more`` may change."""
    sizes = {"mss": f"{mss_bytes} bytes", "header": f"{header_bytes} bytes"}
    return {"name": name, "cc": cc, "path": list(path), "profile": "paper", **sizes, **more}


def scenario(
    title: str,
    duration_s: float,
    seed: int,
    links: Mapping[str, Part],
    flows: Sequence[Part],
    every: str = "",
    **more: Any,
) -> Part:
    """A run; the interval ``every`` (or "change") of its record, none if empty."""
    if every:
        more["record"] = {"interval": every, **more.get("record", {})}
    head = {"title": title, "duration": f"{duration_s:g} s", "seed": seed, **more}
    return {**head, "link": dict(links), "flow": list(flows)}

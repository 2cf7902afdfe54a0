"""The probability that a claim is reproduced: the share of sets of seeds in which all of its checks hold.

A verdict rests on the seeds of the study; others may give another. So sets of as many seeds are drawn, with
replacement, from twice as many: those of the study, and the same number from 1001 on. This is the bootstrap
of B. Efron (Bootstrap Methods: Another Look at the Jackknife, Annals of Statistics 7, 1979). Every set is
judged as the study is, by the rule of `bentpipe.studies.claim`, under the base and under the single choice or
reading that suits a claim best. A choice has as many seeds as the base here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bentpipe._core import ScenarioError
from bentpipe.studies.assembly import Assembly
from bentpipe.studies.chance import Chance
from bentpipe.studies.claim import COUNTED, Claim, Verdict
from bentpipe.studies.combinations import assembly
from bentpipe.studies.design import BASE, OTHER_SEEDS, Variant
from bentpipe.studies.job import StudyFailed, Tell, gather, keys_of, row_of, runs_of
from bentpipe.studies.judge import Sentence, evaluate, judged
from bentpipe.studies.readings import candidates, read
from bentpipe.studies.study import Case, Study, StudyPlan
from bentpipe.sweeps.engine import Interrupted
from bentpipe.sweeps.fingerprint import RowKeys
from bentpipe.sweeps.kept import FOLDER, Row
from bentpipe.sweeps.lab import Lab
from bentpipe.sweeps.lot import Lot, Then
from bentpipe.terminal.progress import State

#: Sets of seeds that are drawn, and what the generator that draws them begins with.
SETS, DRAWS = 100, 1979
MODE = "full"


@dataclass
class _Wanted:
    """A reading of a study whose probabilities are wanted."""

    study: Study
    #: Its variant; the base if that is the base.
    variant: Variant[Any]
    #: The number of its free choices.
    free: int
    #: The claims that it suits best; all if it is the base.
    claims: Sequence[str]
    #: The rows that are there, and by key those of runs that are not.
    rows: list[Row] = field(default_factory=list)
    missing: dict[str, Case] = field(default_factory=dict)


def estimate(
    studies: Sequence[Study],
    out: Path,
    *,
    workers: int = 0,
    fresh: bool = False,
    progress: Callable[[State], None] | None = None,
) -> list[Chance]:
    """The probabilities of all claims of some papers whose full runs are below ``out``.

    The runs that these lack are made and kept there: an interrupted call, given again, continues. The result
    does not depend on the number of workers.

    Raises:
        ScenarioError: the full run of a study is not there, or is one of other code.
        StudyFailed: a run failed.
        Interrupted: the user stopped it.
    """
    wanted = [of for study in studies for of in _wanted(study, out)]
    with Lab(out / FOLDER / "probabilities", workers=workers, fresh=fresh, progress=progress) as lab:
        lots = [_lot(of, lab) for of in wanted]
        try:
            for _ in lab.work(lots):
                for lot in lots:
                    if lot.error:
                        raise StudyFailed(f"probabilities of {lot.now}: {lot.error}")
        except KeyboardInterrupt:
            raise Interrupted(
                f"{lab.made:,} more runs are done and kept; the same command goes on from there"
            ) from None
        lab.prune()
    found = [chance for lot in lots for chance in lot.result]
    return [chance for study in studies for chance in _best(study, found)]


def _wanted(study: Study, out: Path) -> list[_Wanted]:
    """The base and all that suits some claim best, with the runs that are there and those that lack."""
    plan, built = study.plan(MODE), assembly(study)
    folder = runs_of(out / study.name, plan)
    keys = keys_of(study, plan.cases)
    try:
        outcome = gather(folder, plan.cases, keys)
    except KeyError:
        raise ScenarioError(
            f"{folder} does not have the full run of {study.name} by this version; "
            f"bentpipe study run all --full --out {out} makes it"
        ) from None
    found = built.findings(plan, outcome)
    whole = read(built.claims, built.design, plan, outcome.runs, found.sensitivity, None)
    names: dict[str, list[str]] = {}
    for claim in found.claims:
        for name in candidates(claim, whole, found.sensitivity, built.design):
            names.setdefault(name, []).append(claim.id)
    base = _Wanted(study, built.design.joined(), 0, [claim.id for claim in found.claims])
    wanted = [base, *(_under(study, built, name, claims) for name, claims in names.items())]
    rows = dict(zip(keys, outcome.runs.iter_rows(named=True), strict=True))
    key, size = RowKeys(study.measure).case, built.design.sizes[MODE]
    about = {s.id: s.about for s in built.claims}
    for of in wanted:
        needs = [about[claim] for claim in of.claims]
        variants = {BASE: base.variant, of.variant.name: of.variant}
        for name, variant in variants.items():
            for after in (0, OTHER_SEEDS):
                for case in built.design.cases(variant, size, after):
                    if name != BASE and not any(where is not None and where(case.keys) for where in needs):
                        continue  # only other claims need it
                    if (mine := key(case)) in rows:
                        of.rows.append(rows[mine])
                    else:
                        made = replace(case, keep_trace=False)
                        of.missing[key(made)] = made
    return wanted


def _under(study: Study, built: Assembly, name: str, claims: Sequence[str]) -> _Wanted:
    """A reading, or a single choice as one, so that it is run as the base is."""
    design = built.design
    for reading in design.readings:
        if reading.name == name:
            return _Wanted(study, design.read(reading), design.free(reading.variants), claims)
    return _Wanted(study, replace(design.joined(name), name=name), design.free([name]), claims)


def _lot(of: _Wanted, lab: Lab) -> Lot:
    """The runs that lack, and the task that judges the sets of seeds."""
    assert lab.kept is not None
    kept, keys = lab.kept, list(of.missing)

    def then() -> Then:
        rows = [*of.rows, *({**kept.rows[key], **case.keys} for key, case in of.missing.items())]
        return judge, of.study, of.variant.name, of.variant.choice, of.free, of.claims, rows

    return Lot(
        list(of.missing.values()), row_of, far=of.study.measure, key=keys.__getitem__, then=then, kept=kept,
        now=f"{of.study.name}, {of.variant.name}",
    )  # fmt: skip


def judge(
    _: Tell, study: Study, name: str, words: str, free: int, wanted: Sequence[str], rows: Sequence[Row]
) -> list[Chance]:
    """A worker's task: the probabilities of some claims under a reading, from its own runs and the base's."""
    built = assembly(study)
    every = pl.DataFrame(rows, infer_schema_length=None)
    keys = [key for key in study.plan(MODE).cases[0].keys]
    plan = StudyPlan(MODE, [Case({key: "" for key in keys}, {})], {})
    runs = judged(every, name, built.design, plan)

    # Closed forms have no seeds, and are the same in every set.
    exact = {s.id: s.checks(runs) for s in built.claims if s.about is None}

    def known(sentence: Sentence) -> Sentence:
        checks = exact.get(sentence.id)
        return sentence if checks is None else replace(sentence, checks=lambda _: list(checks))

    sentences = list(map(known, built.claims))

    def claims(of: pl.DataFrame) -> dict[str, Claim]:
        return {claim.id: claim for claim in evaluate(sentences, of) if claim.id in wanted}

    here = claims(runs.filter(pl.col("seed") <= OTHER_SEEDS))
    other = claims(runs.filter(pl.col("seed") > OTHER_SEEDS))
    sets = [claims(drawn) for drawn in draws(runs, keys)]
    return [
        Chance(
            study.name, claim.id, name, words, free, claim.held, len(claim.counted), str(claim.verdict),
            str(other[claim.id].verdict), max(check.measured.n for check in claim.checks), SETS,
            sum(of[claim.id].verdict == Verdict.REPRODUCED for of in sets),
        )
        for claim in here.values()
        if not claim.reference
    ]  # fmt: skip


def draws(runs: pl.DataFrame, keys: Iterable[str], sets: int = SETS) -> Iterator[pl.DataFrame]:
    """Sets of runs over seeds drawn with replacement, numbered from 1 on.

    Runs that differ in more than the seed and have as many seeds get the same ones, so that they stay paired.

    Args:
        runs: those of the study, and as many with other seeds for each.
        keys: the columns of the keys of a run.
        sets: their number.
    """
    same = [key for key in keys if key != "seed"]
    own = (pl.col("seed") <= OTHER_SEEDS).sum().over(same).alias("_own")
    pool = pl.col("seed").rank("dense").over(same).cast(pl.Int64).alias("_place")
    numbered = runs.with_columns(own, pool, pl.len().over(same).alias("_all"))
    pools = numbered.select("_own", "_all").unique().sort("_own", "_all").rows()
    random = np.random.default_rng(DRAWS)
    for _ in range(sets):
        drawn = [
            pl.DataFrame({"_own": own, "_all": size, "_place": 1 + random.integers(size, size=own)})
            .with_row_index("_number", 1)
            for own, size in pools
        ]  # fmt: skip
        picked = pl.concat(drawn).join(numbered, on=["_own", "_all", "_place"], maintain_order="left")
        yield picked.with_columns(seed=pl.col("_number").cast(runs["seed"].dtype)).select(runs.columns)


def _best(study: Study, found: Sequence[Chance]) -> Iterator[Chance]:
    """Of each claim that of the base, and the best of the others if it is better."""

    def rank(of: Chance) -> tuple[int, int, int, int]:
        return -of.reproduced, -of.held, COUNTED.index(Verdict(of.verdict)), of.free

    mine = [of for of in found if of.study == study.name]
    for base in (of for of in mine if of.reading == BASE):
        yield base
        others = [of for of in mine if of.claim == base.claim and of.reading != BASE]
        best = min(others, key=rank, default=base)
        if rank(best)[:3] < rank(base)[:3]:
            yield best

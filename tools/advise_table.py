"""The table of the truth set, docs/advise-truth.csv: rows for each link and algorithm, and derived values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from advise_links import DrawnLink
from advise_measure import rows

from bentpipe.advice import flags
from bentpipe.advice.question import Candidate
from bentpipe.advice.trials import Trials
from bentpipe.io import files
from bentpipe.machine import linux

QUANTITIES = (
    "goodput_bps", "steady_bps", "own_loss", "steady_loss", "queue_p50_s", "queue_p95_s", "beside_bps",
    "cubic_bps", "beside_steady_bps", "cubic_steady_bps", "harm", "steady_harm", "file_s",
)  # fmt: skip
"""Each has its mean over the seeds, and `_se`, the standard error of that mean.

goodput_bps: of all flows of the algorithm together, over the whole run; steady_bps: over its second half.
own_loss: share of all packets sent that a queue drops; steady_loss: that of the second half.
queue_p50_s, queue_p95_s: round trip above the least that any algorithm saw with that seed.
beside_bps, cubic_bps: one flow of the algorithm and one of CUBIC, beside each other; `_steady`: second half.
harm: the share of its goodput beside another CUBIC that CUBIC loses, seed by seed, at least 0.
file_s: completion of a file of 2 MB; `file_missing` counts the seeds in which it did not end within 300 s.
"""
GOAL = "steady_bps"
"""The column of the goal "throughput": start-up is not the answer to a question about long transfers."""
RULES = {
    "own_loss": "steady_loss", "harm_cubic": "steady_harm", "beside_cubic_bps": "beside_steady_bps",
    "cubic_bps": "cubic_steady_bps", "goodput_bps": "steady_bps", "queue_p50_s": "queue_p50_s",
}  # fmt: skip
"""Quantities of the rules of `advice.flags`, and the column of each: long-run values, without start-up."""
WORSE = ("own_loss", "harm_cubic", "queue_p50_s")
"""Those of them in which more is worse."""
INTERVAL = 1.96
"""Standard errors on either side of a mean that make a 95 % interval."""


def aggregate(place: Path, links: Sequence[DrawnLink], seeds: int) -> pl.DataFrame:
    """The table, of the runs that are there; its column `seeds` has their number for each link."""
    found = [rows(place, one) for one in links]
    return pl.concat([_means(each.filter(pl.col("seed") < seeds)) for each in found if each is not None])


def update(path: Path, new: pl.DataFrame, links: Sequence[DrawnLink]) -> None:
    """Puts these rows into the stored table, in place of those of the same link and algorithm.

    Algorithms that are not judged leave it.
    """
    ranks = {
        (one.number, candidate.id): rank
        for one in links
        for rank, candidate in enumerate(one.question().candidates(())[0])
    }
    old = pl.read_csv(path, infer_schema_length=None) if path.exists() else new.clear()
    kept = old.join(new, on=["link", "cc"], how="anti")
    whole = pl.concat([new, kept], how="diagonal_relaxed")
    rank = pl.Series([ranks.get(key) for key in whole.select("link", "cc").iter_rows()], dtype=pl.Int64)
    whole = whole.with_columns(rank=rank).drop_nulls("rank")
    write(path, whole.sort("link", "rank").drop("rank"))


def write(path: Path, table: pl.DataFrame) -> None:
    """Writes it, means with four digits and errors with two."""
    real = [name for name in table.columns if table[name].dtype.is_float()]
    shown = table.with_columns(
        pl.Series(name, [_short(value, 2 if name.endswith("_se") else 4) for value in table[name]])
        for name in real
    )
    files.replace(path, lambda work: shown.write_csv(work))


def read(path: Path) -> dict[int, LinkTruth]:
    """The contents of the table, by the number of the link."""
    types = dict.fromkeys([name + end for name in QUANTITIES for end in ("", "_se")], pl.Float64)
    table = pl.read_csv(path, schema_overrides=types)
    rows: dict[int, dict[str, dict[str, float]]] = {}
    for row in table.iter_rows(named=True):
        values = {name: math.nan if row[name] is None else float(row[name]) for name in types}
        rows.setdefault(row["link"], {})[row["cc"]] = values | {"seeds": row["seeds"]}
    return {link: LinkTruth(of) for link, of in rows.items()}


@dataclass(frozen=True)
class LinkTruth:
    """The truth of one link: the means of each algorithm, by its id and the column's name."""

    rows: Mapping[str, Mapping[str, float]]

    def reckless(self, errors: float = 0.0) -> dict[str, str]:
        """The reckless algorithms by the rules of `advice.flags`, with the reasons.

        Args:
            errors: number of standard errors by which its losses, harm and queue are taken to be worse.
        """
        trials = {cc: _trials(cc, row, 0.0) for cc, row in self.rows.items()}
        moved = {cc: _trials(cc, row, errors) for cc, row in self.rows.items()}
        found = {cc: flags.flags(one, trials, shared=True) for cc, one in moved.items()}
        return {cc: "; ".join(flag.text for flag in some) for cc, some in found.items() if some}

    def doubtful(self) -> set[str]:
        """Those for which the truth's own 95 % interval does not decide whether they are reckless."""
        return set(self.reckless(INTERVAL)) - set(self.reckless(-INTERVAL))

    def best(self, errors: float = 0.0) -> str:
        """The most of the goal among those that are available and not reckless; `errors` as in `reckless`."""
        reckless = self.reckless(errors)
        fine = [cc for cc in self.rows if cc not in reckless and can_be_had(cc)]
        return max(fine, key=lambda cc: self.rows[cc][GOAL])

    def regret(self, cc: str | None, errors: float = 0.0) -> float:
        """Share of the goal that this one loses against the best, 0 to 1; all of it if there is no answer."""
        if cc is None:
            return 1.0
        most = self.rows[self.best(errors)][GOAL]
        return max(0.0, 1 - self.rows[cc][GOAL] / most) if most > 0 else 0.0


def can_be_had(cc: str) -> bool:
    """Whether Linux has it, or `bentpipe kernel attach` can add it."""
    return linux.way(cc).had


def _trials(cc: str, row: Mapping[str, float], errors: float) -> Trials:
    """Inputs of the rules of `advice.flags`, from means that are worse by this number of standard errors."""
    values = {
        name: [row[column] + (errors * row[f"{column}_se"] if name in WORSE else 0.0)]
        for name, column in RULES.items()
    }
    return Trials(Candidate(cc, cc, cc), values)


def _means(runs: pl.DataFrame) -> pl.DataFrame:
    """Of the runs of one link: a row for each algorithm, in the order of the runs."""
    floor = pl.col("floor_s").min().over("seed")
    usual = runs.filter(pl.col("cc") == "cubic").select(
        "seed", usual="cubic_bps", usual_steady="cubic_steady_bps"
    )
    seeds = runs.join(usual, on="seed", how="left").with_columns(
        (pl.col("rtt_p50_s") - floor).alias("queue_p50_s"),
        (pl.col("rtt_p95_s") - floor).alias("queue_p95_s"),
        _harm("cubic_bps", "usual").alias("harm"),
        _harm("cubic_steady_bps", "usual_steady").alias("steady_harm"),
    )
    known = [pl.col(name).fill_nan(None) for name in QUANTITIES]
    return seeds.group_by("link", "cc", maintain_order=True).agg(
        pl.len().alias("seeds"),
        *(one.mean().clip(lower_bound=0) for one in known),
        *((one.std() / one.count().sqrt()).name.suffix("_se") for one in known),
        pl.col("file_s").is_nan().sum().alias("file_missing"),
    )


def _harm(got: str, usual: str) -> pl.Expr:
    """The loss of a CUBIC flow, R. Ware et al. (HotNets 2019, section 4)."""
    return pl.when(pl.col(usual) > 0).then((1 - pl.col(got) / pl.col(usual)).clip(lower_bound=0))


def _short(value: float | None, digits: int) -> str | None:
    """A number with this number of digits, in the shortest way to write it."""
    if value is None:
        return None
    rounded = float(f"{value:.{digits}g}")
    return min(f"{rounded:.0f}" if rounded.is_integer() else f"{rounded}", f"{rounded:.{digits}g}", key=len)

"""What a report shows of each run: an algorithm, the varied parameters, and a few measures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from bentpipe.pages import Axis
from bentpipe.reports.reading import Stored


@dataclass(frozen=True)
class Metric:
    """A measure of a run: its column, its label with the unit, and which values are the better ones."""

    column: str
    label: str
    high_is_good: bool
    least: float = 0.0


METRICS = (
    Metric("goodput", "goodput, Mbit/s", high_is_good=True),
    Metric("rtt_p95", "95th percentile of the RTT, ms", high_is_good=False),
    Metric("loss", "packets lost, %", high_is_good=False),
    Metric("completion", "completion time, s", high_is_good=False),
)

#: The unit behind a column's name, as it is shown, and by which it is multiplied.
_UNITS = {"bps": ("Mbit/s", 1e-6), "s": ("s", 1.0), "bytes": ("bytes", 1.0), "packets": ("packets", 1.0)}


@dataclass(frozen=True)
class Parameter:
    """A key with several values: `link.a.delay_s` is shown as "link.a.delay, ms"."""

    key: str
    label: str
    factor: float
    #: In the order of an axis; of a number, multiplied by `factor`.
    values: Sequence[float | str]

    @property
    def numeric(self) -> bool:
        """Is it a number?"""
        return not isinstance(self.values[0], str)

    def axis(self) -> Axis:
        """Its axis: logarithmic where the values span more than a factor of 30."""
        if not self.numeric:
            return Axis(self.label, names=[str(value) for value in self.values])
        numbers = [float(value) for value in self.values]
        wide = numbers[0] > 0 and len(numbers) > 2 and numbers[-1] > 30 * numbers[0]
        return Axis(self.label, log=wide)

    def named_axis(self) -> Axis:
        """Its values as categories, for a heat map."""
        return Axis(self.label, names=[self.said(value) for value in self.values])

    @staticmethod
    def said(value: float | str) -> str:
        """A value in words."""
        return value if isinstance(value, str) else f"{value:.4g}"


@dataclass(frozen=True)
class Sample:
    """The runs as a report sees them.

    `rows` has a row for each run and algorithm in it: `algorithm`, `run`, `seed`, a column for each of
    `parameters` (by key, scaled) and for each of `metrics`. Flows of one algorithm in one run are one row,
    their mean, because they are not independent.
    """

    rows: pl.DataFrame
    algorithms: Sequence[str]
    #: The id of each algorithm in the registry, which gives its colour.
    ids: dict[str, str]
    parameters: Sequence[Parameter]
    metrics: Sequence[Metric]

    @property
    def points(self) -> int:
        """How many combinations of parameters there are."""
        keys = [parameter.key for parameter in self.parameters]
        return self.rows.select(keys).n_unique() if keys else 1


def sample(stored: Stored) -> Sample:
    """The measures of stored runs, of which one at least must have succeeded."""
    flows = labelled(stored)
    choosing = [key for key in stored.keys if _chooses(key)]
    parameters = [
        found for key in stored.keys if key not in choosing and (found := _parameter(flows, key)) is not None
    ]
    lost = pl.col("dropped_packets") / pl.col("sent_packets").clip(lower_bound=1)
    done = pl.col("completion_s")
    rows = (
        flows.with_columns(
            *(pl.col(p.key) * p.factor for p in parameters if p.numeric),
            *(pl.col(p.key).cast(pl.String).fill_null("-") for p in parameters if not p.numeric),
        )
        .group_by("algorithm", "run", "seed", *(p.key for p in parameters), maintain_order=True)
        .agg(
            goodput=pl.col("goodput_bps").mean() * 1e-6,
            rtt_p95=pl.col("rtt_p95_s").mean() * 1e3,
            loss=lost.mean() * 100,
            completion=pl.when(done.is_null().any()).then(None).otherwise(done.mean()),
        )
    )
    there = [metric for metric in METRICS if rows[metric.column].drop_nulls().drop_nans().len()]
    ids = dict(flows.select("algorithm", "id").unique(maintain_order=True).iter_rows())
    return Sample(rows, list(ids), ids, parameters, there)


def labelled(stored: Stored) -> pl.DataFrame:
    """The flows with `algorithm`, what a legend calls them, and `id`, the algorithm's name.

    A flow whose algorithm a parameter chooses has the value of the parameter. Another beside it is called
    "reno beside cubic".
    """
    flows = stored.flows
    own = "result_cc" if "result_cc" in flows.columns else "cc"
    cc = pl.col(own).cast(pl.String).fill_null("-")
    choosing = [key for key in stored.keys if _chooses(key)]
    if not choosing:
        return flows.with_columns(algorithm=cc, id=cc)
    # A value may carry parameters: {name = "cubic", hystart = true}.
    given = [pl.col(key).cast(pl.String).fill_null("-") for key in choosing]
    chosen = pl.concat_str(given, separator=" and ")
    varied = pl.any_horizontal([value.str.contains(cc, literal=True) for value in given])
    beside = pl.concat_str([cc, chosen], separator=" beside ")
    alone = chosen if len(choosing) == 1 else pl.concat_str([cc, chosen], separator=" of ")
    return flows.with_columns(algorithm=pl.when(varied).then(alone).otherwise(beside), id=cc)


def _chooses(key: str) -> bool:
    """Does the key choose an algorithm?"""
    return key == "cc" or re.fullmatch(r"flow\.[^.]+\.cc(\.name)?", key) is not None


def _parameter(flows: pl.DataFrame, key: str) -> Parameter | None:
    """The key as a parameter, if it has several values."""
    column = flows[key]
    values = column.unique().drop_nulls()
    if column.n_unique() < 2:
        return None
    stem, _, unit = key.rpartition("_")
    if not column.dtype.is_numeric() or column.null_count():
        return Parameter(key, key, 1.0, list(dict.fromkeys(column.cast(pl.String).fill_null("-"))))
    shown, factor = _UNITS.get(unit, ("", 1.0)) if stem else ("", 1.0)
    if shown == "s" and float(str(values.max())) < 5:
        shown, factor = "ms", 1e3
    label = f"{stem}, {shown}" if shown else key
    return Parameter(key, label, factor, [float(value) * factor for value in values.sort()])

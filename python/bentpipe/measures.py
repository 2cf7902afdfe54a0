"""The measures of a run: the meaning of each number, in one place.

Tables, figures, reports, answers and evaluations ask here. A measure is a number of the flows of one
algorithm in one run, because flows of one run are not independent; intervals are over runs. Names are those
of result columns, with the SI unit at their end; `lost`, `resent` and the like are shares of 1.

- lost: packets dropped in all packets sent, over the flows together; unknown if nothing was sent
- resent: retransmitted packets in all packets sent, likewise
- completion_s: the mean over the flows; unknown if a flow has not finished
- utilisation: the bits that the bottleneck sent as a share of those that its rate allowed while it was up
  (RFC 5166, section 2.1); the bottleneck is the busiest direction that data of flows crosses
- jain: Jain's fairness index of the goodput of all TCP flows of the run; unknown if it has one
- jain_own: the same among the flows of one algorithm
- share: goodput of an algorithm's flows in that of all TCP flows of the run
- power_bps2: goodput divided by the mean RTT, the mean over the flows (L. Kleinrock, Power and deterministic
  rules of thumb for probabilistic problems in computer communications, ICC 1979). It is highest where the
  link is full and no packet waits.
- queueing_p95_s: 95th percentile of the RTT less the RTT without a queue
- goodput_bps: the sum over the flows of the algorithm, as in sweeps and comparisons
- any other column of flows: the mean over the flows
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from bentpipe import stats
from bentpipe._core import key_parts
from bentpipe.result import each_once

if TYPE_CHECKING:
    import polars as pl

LOG_FROM = 20.0
"""An axis is logarithmic from this ratio of its ends on."""
LOSSY = 0.05
"""Share of lost packets beyond which an algorithm is marked. The value is our choice: one packet in twenty
is sent in vain."""

LIVES = (
    "Goodput is over the life of each flow. These flows live at different times, so the sum can be above the "
    "rate of the link."
)
"""The sentence for a table with sums of goodputs where `lives_differ`."""


@dataclass(frozen=True)
class MeasureRow:
    """The meaning of a column.

    Attributes:
        column: its name, with the SI unit at the end.
        words: the quantity, as axes and legends call it.
        better: which values are the better ones; empty where that is not the question.
        most: the most it can be; None: no bound.
        name: its name in a report; empty: no report has it.
        unit: its unit in a report, after the factor.
        factor: from the column to that unit.
        needs: the columns of flows that it is computed from; none: the column of its own name.
        aggregate: over the flows of one algorithm in one run; None: the mean of the column.
        together: this aggregate in words, where an algorithm has several flows in a run; empty if the name
            says it.
        least: the least it can be; None: no bound.
    """

    column: str
    words: str
    better: Literal["more", "less", ""]
    most: float | None = None
    name: str = ""
    unit: str = ""
    factor: float = 1.0
    needs: Sequence[str] = ()
    aggregate: Callable[[], pl.Expr] | None = None
    together: str = "mean of flows"
    least: float | None = 0.0

    @property
    def label(self) -> str:
        """The quantity with its unit in a report."""
        return f"{self.words}, {self.unit}" if self.unit else self.words

    @property
    def title(self) -> str:
        """The quantity at the beginning of a sentence."""
        return self.words[0].upper() + self.words[1:]

    def interval(self, values: Sequence[float]) -> stats.Interval:
        """The mean of runs with its 95 % interval, which does not go beyond the possible range.

        A bound that a value exceeds by more than rounding does not count.
        """
        dust = stats.TOLERANCE * max(map(abs, values))
        least, most = self.least, self.most
        return stats.interval(
            values,
            least=least if least is not None and min(values) >= least - dust else None,
            most=most if most is not None and max(values) <= most + dust else None,
        )

    def shown(self, values: Sequence[float]) -> str:
        """The `interval` of runs in words, in the unit of a report."""
        return stats.shown(self.interval(values).times(self.factor))


def of_several(measure: MeasureRow) -> MeasureRow:
    """The measure where an algorithm has several flows in a run: its name says how they are put together."""
    return replace(measure, words=f"{measure.words} ({measure.together})") if measure.together else measure


def _jain() -> pl.Expr:
    import polars as pl

    index = pl.col("goodput_bps").map_batches(
        lambda each: pl.Series([stats.jain(each)]), return_dtype=pl.Float64, returns_scalar=True
    )
    return pl.when(pl.len() > 1).then(index)


def _mean_if_all() -> pl.Expr:
    import polars as pl

    value = pl.col("completion_s").cast(pl.Float64)
    return pl.when(value.is_not_null().all()).then(value.mean())


def _sum_of_goodput() -> pl.Expr:
    import polars as pl

    return pl.col("goodput_bps").cast(pl.Float64).sum()


def _power() -> pl.Expr:
    import polars as pl

    return (pl.col("goodput_bps") / pl.col("rtt_mean_s")).mean()


def _share_of_sent(column: str) -> tuple[Sequence[str], Callable[[], pl.Expr]]:
    """The columns and the aggregate of a share of the packets sent."""

    def aggregate() -> pl.Expr:
        import polars as pl

        sent = pl.col("sent_packets").sum()
        return pl.when(sent > 0).then(pl.col(column).sum() / sent)

    return (column, "sent_packets"), aggregate


_ROWS = (
    MeasureRow(
        "goodput_bps", "goodput", "more", None, "goodput", "Mbit/s", 1e-6,
        aggregate=_sum_of_goodput, together="sum of flows",
    ),
    MeasureRow("rtt_p95_s", "p95 RTT", "less", None, "rtt_p95", "ms", 1e3),
    MeasureRow("rtt_p50_s", "median RTT", "less", None, "rtt_p50", "ms", 1e3),
    MeasureRow(
        "lost", "packets lost", "less", 1.0, "loss", "%", 100.0, *_share_of_sent("dropped_packets"),
        together="",
    ),
    MeasureRow(
        "resent", "packets retransmitted", "less", 1.0, "retransmitted", "%", 100.0,
        *_share_of_sent("retransmitted_packets"), together="",
    ),
    MeasureRow("completion_s", "completion time", "less", None, "completion", "s", aggregate=_mean_if_all),
    MeasureRow("jain", "Jain's index", "more", 1.0, "jain", together=""),
    MeasureRow(
        "jain_own", "Jain's index of its own flows", "more", 1.0, "jain_own",
        needs=("goodput_bps",), aggregate=_jain, together="",
    ),
    MeasureRow("utilisation", "link utilisation", "more", 1.0, "utilisation", "%", 100.0, together=""),
    MeasureRow("timeouts", "timeouts per flow", "less", None, "timeouts", together=""),
    MeasureRow(
        "power_bps2", "power (goodput by mean RTT)", "more", None, "power", "Mbit/s²", 1e-6,
        needs=("goodput_bps", "rtt_mean_s"), aggregate=_power,
    ),
    MeasureRow("queueing_p95_s", "p95 queueing delay", "less"),
    MeasureRow("rtt_mean_s", "mean RTT", "less"),
    MeasureRow("rtt_min_s", "smallest RTT", "less"),
    MeasureRow("rtt_s", "RTT", "less"),
    MeasureRow("srtt_s", "smoothed RTT", "less"),
    MeasureRow("completion_mean_s", "mean completion time", "less"),
    MeasureRow("completion_p50_s", "median completion time", "less"),
    MeasureRow("completion_p95_s", "p95 completion time", "less"),
    MeasureRow("completion_p99_s", "p99 completion time", "less"),
    MeasureRow("share", "share of the goodput", "more", 1.0, together=""),
    MeasureRow("rtt_ratio", "ratio of the round trips", "less", together=""),
    MeasureRow("cwnd_mean_segments", "mean window", "more"),
)  # fmt: skip
MEASURES: Mapping[str, MeasureRow] = {measure.column: measure for measure in _ROWS}
"""Every measure by its column."""
REPORTED: Mapping[str, MeasureRow] = {measure.name: measure for measure in _ROWS if measure.name}
"""The measures of reports by their names there."""

#: Keys of a link and of a flow whose own words are none. {} is the name of the link.
_KEYS = {
    "link": {
        "loss.rate": "loss rate of {}",
        "loss.per": "packet error rate of {}",
        "loss.ber": "bit error rate of {}",
        "queue.limit": "buffer of {}",
        "queue.kind": "queue of {}",
        "delay": "one-way delay of {}",
    },
    "flow": {"cc": "algorithm", "cc.name": "algorithm", "count": "number of flows", "traffic.size": "size"},
}


def key_words(key: str) -> str:
    """A key of a scenario in words, as axes and headings have it: "loss rate of sat"."""
    match key_parts(key):
        case ["link", name, "reverse", *rest] if rest:
            of = f"{name}/reverse"
        case ["link", name, *rest] if rest:
            of = "every link" if name == "*" else name
        case ["flow", name, *rest] if rest:
            of = "every flow" if name == "*" else f"flow {name}"
        case _:
            return key if "." in key else key.replace("_", " ")
    known = _KEYS[key.partition(".")[0]].get(".".join(rest))
    if known is None:
        return f"{' '.join(rest).replace('_', ' ')} of {of}"
    # One kind of flows is the usual case, and needs no name.
    return known.format(of) if "{}" in known or name in ("0", "*") else f"{known} ({of})"


_SUFFIX = re.compile(r"_(bps2|bps|s|bytes|packets|segments|bdp)$")


def in_unit(column: str, most: float) -> tuple[str, str, float]:
    """A column's name without its unit, the unit in which values up to `most` are shown, the factor to it."""
    stem, _, suffix = column.rpartition("_") if _SUFFIX.search(column) else (column, "", "")
    match suffix:
        case "bps2":
            return stem, "Mbit/s²", 1e-6
        case "bps":
            return (stem, "kbit/s", 1e-3) if most < 1e6 else (stem, "Mbit/s", 1e-6)
        case "s":
            return (stem, "ms", 1e3) if most < 5 else (stem, "s", 1.0)
        case "bytes":
            return (stem, "kB", 1e-3) if most < 1e7 else (stem, "MB", 1e-6)
    return stem, "BDP" if suffix == "bdp" else suffix, 1.0


@dataclass(frozen=True)
class Scaled:
    """A key or a measure of many runs, in the unit in which axes and tables show it.

    Attributes:
        column: its name, with the SI unit at the end.
        words: the quantity, as axes and headings call it.
        unit: empty for pure numbers, and for values that are none.
        factor: from the column to that unit.
        log: whether positive values span more than a factor of `LOG_FROM`.
        values: its values in the order of an axis: numbers in the unit, or others as they came.
    """

    column: str
    words: str
    unit: str
    factor: float
    log: bool
    values: Sequence[Any]

    @property
    def key(self) -> str:
        """The column without its unit, as a scenario calls a key."""
        return in_unit(self.column, 0.0)[0] if self.numeric else self.column

    @property
    def numeric(self) -> bool:
        """Whether it is a number."""
        return not self.values or isinstance(self.values[0], float)

    @property
    def label(self) -> str:
        """The quantity with its unit."""
        return f"{self.words}, {self.unit}" if self.unit else self.words


def scaled(column: str, values: pl.Series) -> Scaled:
    """A key or a measure in a unit that suits its values."""
    import polars as pl

    known = values.drop_nulls()
    if not known.dtype.is_numeric() or not known.len():
        return Scaled(column, key_words(column), "", 1.0, False, known.unique(maintain_order=True).to_list())
    low, high = (float(str(end)) for end in (known.min(), known.max()))
    stem, unit, factor = in_unit(column, high)
    words = MEASURES[column].words if column in MEASURES else key_words(stem)
    each = (known.cast(pl.Float64).unique().sort() * factor).to_list()
    return Scaled(column, words, unit, factor, low > 0 and high / low > LOG_FROM, each)


#: Beginnings of the names of columns in which less is better, for columns that the table lacks.
_LESS = ("queue", "rtt", "completion", "dropped", "retransmitted")


def measure(column: str) -> MeasureRow:
    """The measure of a column; for one that the table lacks, a measure derived from its name."""
    if column in MEASURES:
        return MEASURES[column]
    base = column.rpartition(".")[2]
    return MEASURES.get(base) or MeasureRow(column, base, "less" if base.startswith(_LESS) else "more")


def column_named(name: str) -> str:
    """The column of a measure by its name in a report, "goodput"; other names are columns themselves."""
    return REPORTED[name].column if name in REPORTED else name


def of_flows(column: str, flows: pl.DataFrame) -> pl.Expr | None:
    """The measure as an aggregate over the flows of one algorithm in one run; None if a column is missing.

    Its value is null where it is unknown.
    """
    import polars as pl

    found = MEASURES.get(column, MeasureRow(column, column, "more"))
    if not set(found.needs or [column]) <= set(flows.columns):
        return None
    return pl.col(column).cast(pl.Float64).mean() if found.aggregate is None else found.aggregate()


def of_runs(flows: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """A row for each run with the measures of all its TCP flows together and, if known, of its links."""
    runs = flows.group_by("run", maintain_order=True).agg(jain=_jain())
    if "utilisation" not in links.columns:
        return runs
    return runs.join(bottleneck(links).select("run", "utilisation"), on="run", how="left")


def lives_differ(flows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether flows of one run begin more than a second apart, or one of several ends within the run.

    The goodput of a flow is over its own life, so the sum of such goodputs is not the rate of a link.
    """
    if len(flows) < 2:
        return False
    starts = [flow["start_s"] for flow in flows]
    return max(starts) - min(starts) > 1 or any(flow["completion_s"] is not None for flow in flows)


def sums_of_lives(flows: pl.DataFrame) -> bool:
    """Whether the goodput of a run is a sum over flows of different lives: `lives_differ`."""
    wanted = ["run", "half", "start_s", "completion_s"]
    if not set(wanted) <= set(flows.columns):
        return False
    rows = flows.select(wanted).partition_by("run")
    return any(lives_differ(each_once(of.iter_rows(named=True))) for of in rows)


def crossed(links: pl.DataFrame) -> pl.DataFrame:
    """The rows of directions that data of flows crosses; of a run in which that is not known, all rows."""
    import polars as pl

    if "data_flows" not in links.columns:
        return links
    data = pl.col("data_flows").fill_null(0)
    return links.filter((data > 0) | (data.max().over("run") == 0))


def bottleneck(links: pl.DataFrame) -> pl.DataFrame:
    """The row of each run's bottleneck: the busiest direction that data of flows crosses."""
    if not links.height:
        return links
    ordered = crossed(links).sort("run", "utilisation", descending=[False, True], maintain_order=True)
    return ordered.unique(subset="run", keep="first", maintain_order=True)


def slowest(links: pl.DataFrame) -> pl.DataFrame:
    """The row of each run's slowest direction that data of flows crosses; forward where both are as slow."""
    import polars as pl

    if not links.height:
        return links
    name = "result_name" if "result_name" in links.columns else "name"
    ordered = crossed(links).with_columns(_back=pl.col("direction") != "forward")
    return ordered.sort("run", "rate_bps", "_back", name, maintain_order=True).unique(
        subset="run", keep="first", maintain_order=True
    )


def jain(flows: Iterable[Mapping[str, Any]]) -> float:
    """Jain's index of the goodput of flows, the measure `jain` of a run, from their rows."""
    return stats.jain(flow["goodput_bps"] for flow in flows)


def lost(flows: Iterable[Mapping[str, Any]]) -> float | None:
    """Packets dropped in all packets sent of rows of flows, `Result.json["flows"]`; None if none was sent."""
    return _of_sent(flows, "dropped_packets")


def resent(flows: Iterable[Mapping[str, Any]]) -> float | None:
    """Retransmitted packets in all packets sent of rows of flows; None if none was sent."""
    return _of_sent(flows, "retransmitted_packets")


def busiest(links: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The row of the bottleneck of one run, of its rows of links; None without links."""
    data = [link for link in links if link.get("data_flows")]
    return max(data or links, key=lambda link: float(link["utilisation"]), default=None)


def utilisation(links: Sequence[Mapping[str, Any]]) -> float | None:
    """Utilisation of the bottleneck of one run, of its rows of links; None without links."""
    row = busiest(links)
    return None if row is None else row["utilisation"]


def _of_sent(flows: Iterable[Mapping[str, Any]], part: str) -> float | None:
    counts = [(flow[part], flow["sent_packets"]) for flow in flows]
    sent = sum(of for _, of in counts)
    return sum(some for some, _ in counts) / sent if sent else None

"""The load of links over time: how busy each is, how many packets wait before it, and how many it drops.

A simulation of a network gives it as a frame with the columns of `COLUMNS`, a row for each link and interval;
a link without a row is idle. `to` is null for a port to the ground: that of a satellite down to all stations,
or that of a station up to its satellite.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.io import foreign

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.orbit.networks import Network

COLUMNS = {
    "t_s": "the start of the interval, s",
    "from": "the node that sends",
    "to": "the node that receives; null for a port to the ground",
    "busy": "the share of the interval in which the link transmits, 0 to 1",
    "queue_mean_packets": "the mean number of packets that wait",
    "dropped_packets": "the packets that its queue drops",
}
_WHAT = "the load of links"


def read(path: Path) -> pl.DataFrame:
    """The load in a file: Parquet, or CSV with an empty `to` for a port to the ground.

    Raises:
        ScenarioError: it is neither, damaged, or lacks a column.
        OSError: it cannot be read.
    """
    import polars as pl

    kind = path.suffix.lower()
    if kind == ".parquet":
        return _columns(foreign.parquet(path, "bentpipe")[0])
    if kind != ".csv":
        raise _core.ScenarioError(f"{path}: the name of {_WHAT} ends in .parquet or .csv")
    try:
        return _columns(pl.read_csv(io.BytesIO(foreign.text(path).encode()), infer_schema_length=None))
    except pl.exceptions.PolarsError as wrong:
        raise _core.ScenarioError(f"{path}: {foreign.quoted(str(wrong).partition(chr(10))[0])}") from None


def of_ports(trace: pl.DataFrame) -> pl.DataFrame:
    """The load of links that a run has recorded (`Result.port_trace`).

    Its rows stand at the ends of intervals; the packets that wait then stand for the mean.
    """
    import polars as pl

    ends = trace["t_s"].unique().sort()
    before = pl.DataFrame({"t_s": ends, "start_s": ends.shift(1)})
    port = ["from", "to"]
    return (
        trace.join(before, on="t_s")
        .sort("t_s")
        .with_columns(
            pl.col("dropped_packets").cast(pl.Int64).diff().over(port).fill_null(pl.col("dropped_packets"))
        )
        .filter(pl.col("start_s").is_not_null())
        .select(
            pl.col("start_s").alias("t_s"),
            pl.col("from").cast(pl.Int64),
            pl.when(pl.col("to") != pl.col("from")).then(pl.col("to").cast(pl.Int64)).alias("to"),
            "busy",
            pl.col("queue_packets").alias("queue_mean_packets"),
            pl.col("dropped_packets").cast(pl.Int64),
        )
    )


def checked(load: pl.DataFrame, made: Network) -> pl.DataFrame:
    """The load of the links of a network: the columns of `COLUMNS` in the order of time, from and to.

    Raises:
        ScenarioError: a column is missing or is of another type, or a row is not of this network.
    """
    import polars as pl

    load = _columns(load)
    whole = ("from", "to", "dropped_packets")
    fraction = next((name for name in whole if load[name].dtype.is_float()), None)
    if fraction is not None:
        raise _core.ScenarioError(f"{_WHAT}: {fraction} is {load[fraction].dtype}; it is a whole number")
    load = load.with_columns(pl.col(whole).cast(pl.Int64), pl.all().exclude(whole).cast(pl.Float64))
    last, duration_s = len(made.satellites) + len(made.stations) - 1, made.info["duration_s"]
    lasers = pl.DataFrame(
        [pair for a, b in made.lasers for pair in ((a, b), (b, a))],
        schema={"from": pl.Int64, "to": pl.Int64}, orient="row",
    ).with_columns(laser=True)  # fmt: skip
    rows = load.with_row_index("row", 1).join(lasers, on=["from", "to"], how="left", maintain_order="left")
    link = ["t_s", "from", "to"]
    for wrong, said in (
        (pl.col("t_s").is_between(0, duration_s, closed="left"),
         f"t_s is {{t_s}}; the network lasts from 0 s to {duration_s:g} s"),
        (pl.col("from").is_between(0, last), f"from is {{from}}; nodes are 0 to {last}"),
        (pl.col("to").is_null() | pl.col("laser").is_not_null(),
         "there is no laser from {from} to {to}; a port to the ground has no to"),
        (pl.col("busy").is_between(0, 1 + 1e-9), "busy is {busy}; a share is 0 to 1"),
        (pl.col("queue_mean_packets").is_finite() & (pl.col("queue_mean_packets") >= 0),
         "queue_mean_packets is {queue_mean_packets}; it is a number from 0 on"),
        (pl.col("dropped_packets") >= 0, "dropped_packets is {dropped_packets}; it is a count"),
        (pl.struct(link).is_first_distinct(), "an earlier row has the same link and the same t_s"),
    ):  # fmt: skip
        found = rows.filter(~wrong.fill_null(value=False)).head(1)
        if found.height:
            row: dict[str, Any] = found.row(0, named=True)
            raise _core.ScenarioError(f"{_WHAT}, row {row['row']}: {said.format(**row)}")
    return load.sort(link, nulls_last=False)


def _columns(load: pl.DataFrame) -> pl.DataFrame:
    """The columns of `COLUMNS`.

    Raises:
        ScenarioError: one is missing, or holds no numbers.
    """
    import polars as pl

    missing = [name for name in COLUMNS if name not in load.columns]
    if missing:
        raise _core.ScenarioError(f"{_WHAT} has no column {missing[0]!r}; it has {', '.join(COLUMNS)}")
    load = load.select(*COLUMNS)
    for name, kind in load.schema.items():
        if not (kind.is_numeric() or (name == "to" and kind == pl.Null)):
            raise _core.ScenarioError(f"{_WHAT}: {name} is {kind}; it is {COLUMNS[name]}")
    return load


def intervals(load: pl.DataFrame, duration_s: float) -> tuple[list[float], list[float]]:
    """Where each interval of a checked load begins, and how long it lasts, in s.

    The last one lasts as long as the one before it, or to the end.
    """
    starts = load["t_s"].unique().sort().to_list()
    lengths = [after - start for start, after in zip(starts, starts[1:], strict=False)]
    rest = [duration_s - start for start in starts[-1:]]
    return starts, lengths + [min([one, *lengths[-1:]]) for one in rest]

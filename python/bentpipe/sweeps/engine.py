"""The tables of many runs, whose results form one set of tables whatever the workers.

The keys of a run are typed columns of each table, before its results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bentpipe.result import column_types, flow_frame, link_frame
from bentpipe.sweeps.case import Case, Key
from bentpipe.sweeps.execution import Ran

if TYPE_CHECKING:
    import polars as pl

TABLES = ("flows", "links", "traces", "link_traces", "transfers", "failed")
"""The tables of a sweep: a row per flow and run, link direction and run, sample of a flow, sample of a link,
transfer of an application, and failed run."""

_RECORDED = {"traces": "trace", "link_traces": "link_trace", "transfers": "transfers"}
"""The tables of what scenarios record, by the names that a result has for them."""
_ALWAYS_WHOLE = ("queue_packets", "rate_bps")
"""Columns of the traces of links that a sweep has as whole numbers."""

Types = Mapping[str, type[Key]]
"""The type of each key: bool, int, float or str."""


class Runs:
    """The results of many runs, in the order of the cases, whatever the workers."""

    def __init__(self, load: Callable[[str], pl.DataFrame]) -> None:
        self._load = load

    @cached_property
    def flows(self) -> pl.DataFrame:
        """A row per flow and run.

        Columns: the keys, `run` (the number of the case), `seed`, and those of `Result.flows`.
        """
        return self._load("flows")

    @cached_property
    def links(self) -> pl.DataFrame:
        """A row per direction of a link and run, likewise."""
        return self._load("links")

    @cached_property
    def traces(self) -> pl.DataFrame:
        """The flows over time, as `Result.trace` has them, of cases whose traces are kept."""
        return self._load("traces")

    @cached_property
    def link_traces(self) -> pl.DataFrame:
        """The links over time, as `Result.link_trace` has them, likewise."""
        return self._load("link_traces")

    @cached_property
    def transfers(self) -> pl.DataFrame:
        """The transfers of applications, as `Result.transfers` has them, likewise."""
        return self._load("transfers")

    @cached_property
    def failed(self) -> pl.DataFrame:
        """A row per failed run: the keys, `run`, `seed`, and the error in one line."""
        return self._load("failed")


class Interrupted(KeyboardInterrupt):
    """The user stopped a job of many runs; the message says what is kept.

    Attributes:
        runs: the finished runs, if they are nowhere else.
    """

    def __init__(self, message: str, runs: Runs | None = None) -> None:
        super().__init__(message)
        self.runs = runs


class Tables:
    """Builds the tables; each call gives frames of the same columns and types.

    The keys come first, then `run` (the number of the case), `seed`, and the columns of `Result.flows` or
    `Result.links`. One of these that is called like a key is called `result_NAME`.
    """

    def __init__(self, types: Types) -> None:
        self._types = {name: kind for name, kind in types.items() if name not in ("run", "seed")}

    def frames(self, over: Sequence[tuple[Case, Ran]]) -> dict[str, pl.DataFrame]:
        """All of `TABLES` of some runs, in their order."""
        import polars as pl

        done = [(case, ran, ran.result) for case, ran in over if ran.error is None]
        failed = [(case, ran) for case, ran in over if ran.error is not None]
        named = self._named_runs([(case, ran) for case, ran, _ in done])
        errors = pl.DataFrame({"error": [ran.error for _, ran in failed]}, schema={"error": pl.String})
        flows, links = [result["flows"] for *_, result in done], [result["links"] for *_, result in done]
        return {
            "flows": self._joined(named, flows, flow_frame),
            "links": self._joined(named, links, link_frame),
            "traces": self._recorded("traces", named, [ran.trace for _, ran, _ in done]),
            "link_traces": self._recorded("link_traces", named, [ran.link_trace for _, ran, _ in done]),
            "transfers": self._recorded("transfers", named, [ran.transfers for _, ran, _ in done]),
            "failed": pl.concat([self._named_runs(failed), errors], how="horizontal"),
        }

    def named(self, runs: Sequence[tuple[Mapping[str, Key], int, int]]) -> pl.DataFrame:
        """The columns that name runs, from the keys, the number and the seed of each."""
        import polars as pl

        kinds = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64, str: pl.String}
        columns = {}
        for name, kind in self._types.items():
            values = [kind(keys[name]) if name in keys else None for keys, _, _ in runs]
            columns[name] = pl.Series(values, dtype=kinds[kind])
        columns["run"] = pl.Series([number for _, number, _ in runs], dtype=pl.UInt64)
        columns["seed"] = pl.Series([seed for *_, seed in runs], dtype=pl.UInt64)
        return pl.DataFrame(columns)

    def renamed(
        self, runs: Mapping[int, tuple[Mapping[str, Key], int, int]], frame: pl.DataFrame
    ) -> pl.DataFrame:
        """Rows of other keys or numbers under the present ones.

        Args:
            runs: the current keys of each run, by its number in `frame`. Rows of other runs are left out.
            frame: a table, with `run` and `seed`.
        """
        import polars as pl

        frame = frame.filter(pl.col("run").is_in(list(runs)))
        places = {number: i for i, number in enumerate(runs)}
        named = self.named(list(runs.values()))[[places[number] for number in frame["run"]]]
        rest = frame[:, frame.columns.index("seed") + 1 :]
        return pl.concat([named, rest], how="horizontal")

    def _named_runs(self, over: Sequence[tuple[Case, Ran]]) -> pl.DataFrame:
        return self.named([(case.keys, ran.number, case.seed) for case, ran in over])

    def _joined(
        self, named: pl.DataFrame, rows: Sequence[Sequence[Any]], frame: Callable[[list[Any]], pl.DataFrame]
    ) -> pl.DataFrame:
        import polars as pl

        index = [i for i, of in enumerate(rows) for _ in of]
        made = frame([row for of in rows for row in of])
        made = made.rename({name: f"result_{name}" for name in made.columns if name in named.columns})
        return pl.concat([named[index], made], how="horizontal")

    def _recorded(
        self, table: str, named: pl.DataFrame, of_runs: Sequence[pl.DataFrame | None]
    ) -> pl.DataFrame:
        """A table of what the scenarios record, of the runs that keep it."""
        import polars as pl

        types = column_types(_RECORDED[table])
        types |= {name: pl.UInt64 for name in _ALWAYS_WHOLE if name in types}
        kept = [(i, of) for i, of in enumerate(of_runs) if of is not None]
        # A run without such rows has no columns either.
        rows = [(named[[i] * of.height], of.select(*types).cast(types)) for i, of in kept if of.height]  # type: ignore[arg-type]
        heads = pl.concat([head for head, _ in rows] or [named[:0]])
        frame = pl.concat([some for _, some in rows] or [pl.DataFrame(schema=types)])
        frame = frame.rename({name: f"result_{name}" for name in frame.columns if name in named.columns})
        return pl.concat([heads, frame], how="horizontal")


def in_memory(types: Types, over: Mapping[int, tuple[Case, Ran]]) -> Runs:
    """Finished runs by their numbers; `types` are those of the keys."""
    return Runs(Tables(types).frames([over[number] for number in sorted(over)]).__getitem__)

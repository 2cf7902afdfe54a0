"""Tables of many runs: the keys of a run as typed columns, then its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bentpipe.result import flow_frame, link_frame
from bentpipe.sweeps.case import Case, Key
from bentpipe.sweeps.execution import Ran

if TYPE_CHECKING:
    import polars as pl

TABLES = ("flows", "links", "traces", "failed")
"""The tables of a sweep: a row per flow and run, link direction and run, sample, and failed run."""

_TRACE = {
    "t_s": "Float64",
    "flow": "String",
    "cwnd": "Float64",
    "ssthresh": "Float64",
    "in_flight": "Float64",
    "srtt_s": "Float64",
    "rtt_s": "Float64",
    "delivered_bytes": "UInt64",
    "retransmitted_packets": "UInt64",
}

Types = Mapping[str, type[Key]]
"""The type of each key: bool, int, float or str."""


def key_types(cases: Iterable[Case]) -> Types:
    """The type of each key of some cases. Whole numbers among others are floats; mixed values are text."""
    found: dict[str, type[Key]] = {}
    for case in cases:
        for name, value in case.keys.items():
            kind, had = type(value), found.get(name, type(value))
            found[name] = kind if kind is had else float if {kind, had} == {int, float} else str
    return found


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
        traces = [
            self._trace(named[i], ran.trace) for i, (_, ran, _) in enumerate(done) if ran.trace is not None
        ]
        errors = pl.DataFrame({"error": [ran.error for _, ran in failed]}, schema={"error": pl.String})
        flows, links = [result["flows"] for *_, result in done], [result["links"] for *_, result in done]
        return {
            "flows": self._joined(named, flows, flow_frame),
            "links": self._joined(named, links, link_frame),
            "traces": pl.concat(traces) if traces else self._trace(named[:0], None),
            "failed": pl.concat([self._named_runs(failed), errors], how="horizontal"),
        }

    def named(self, runs: Sequence[tuple[Mapping[str, Key], int, int]]) -> pl.DataFrame:
        """The columns that name runs, from the keys, the number and the seed of each."""
        import polars as pl

        kinds = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64, str: pl.String}
        columns = {
            name: pl.Series([_as(kind, keys.get(name)) for keys, _, _ in runs], dtype=kinds[kind])
            for name, kind in self._types.items()
        }
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

    def _trace(self, named: pl.DataFrame, trace: pl.DataFrame | None) -> pl.DataFrame:
        import polars as pl

        if trace is None:
            types = {name: getattr(pl, kind) for name, kind in _TRACE.items()}
            trace = pl.DataFrame(schema=types)
        trace = trace.select(*_TRACE)
        trace = trace.rename({name: f"result_{name}" for name in trace.columns if name in named.columns})
        return pl.concat([named[[0] * trace.height], trace], how="horizontal")


def _as(kind: type[Key], value: Key | None) -> Key | None:
    return None if value is None else kind(value)

"""What a run yields: numbers per flow and per link, traces over time, and a directory to keep them in."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bentpipe import _core

if TYPE_CHECKING:
    import polars as pl

LIMITS = ("cwnd", "rwnd", "app", "pacing", "recovery", "timeout")
"""What can hold a flow back, as in its `limited` object: the congestion window, the receive window, the
application, pacing, loss recovery, waiting for the retransmission timer."""

_FLOW_TYPES = {
    "name": "String",
    "cc": "String",
    "start_s": "Float64",
    "goodput_bps": "Float64",
    "delivered_bytes": "UInt64",
    "sent_packets": "UInt64",
    "retransmitted_packets": "UInt64",
    "dropped_packets": "UInt64",
    "timeouts": "UInt64",
    "spurious_timeouts": "UInt64",
    "rtt_min_s": "Float64",
    "rtt_mean_s": "Float64",
    "rtt_p50_s": "Float64",
    "rtt_p95_s": "Float64",
    "cwnd_mean_segments": "Float64",
    "completion_s": "Float64",
    **{f"limited_{what}": "Float64" for what in LIMITS},
}
_LINK_TYPES = {
    "name": "String",
    "direction": "String",
    "rate_bps": "Float64",
    "utilisation": "Float64",
    "delivered_packets": "UInt64",
    "dropped_queue": "UInt64",
    "dropped_error": "UInt64",
    "marked": "UInt64",
    "queue_mean_packets": "Float64",
    "queue_max_packets": "Float64",
}
_TRACES = ("trace", "link_trace", "segments")
_FILES = {"run.json", "flows.parquet", "links.parquet", *(f"{name}.parquet" for name in _TRACES)}


class Result:
    """The result of one run. Frames are built when they are first asked for.

    Attributes:
        json: the object that `bentpipe run --json` prints.
    """

    def __init__(self, raw: _core.RawResult) -> None:
        self.json: dict[str, Any] = json.loads(raw.json)
        self._raw: _core.RawResult | None = raw

    def __repr__(self) -> str:
        flows = ", ".join(f"{f['name']} {f['goodput_bps'] / 1e6:.3f} Mbit/s" for f in self.json["flows"])
        return f"Result({self.json['simulated_s']:g} s, seed {self.json['seed']}: {flows})"

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The scenario that was run, every default filled in."""
        return cast(dict[str, Any], json.loads(self._raw.scenario)) if self._raw else {}

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow, as in the result object; `limited` is spread over `limited_cwnd` and so on."""
        rows = []
        for flow in self.json["flows"]:
            row = {key: value for key, value in flow.items() if key != "limited"}
            rows.append({**row, **{f"limited_{what}": share for what, share in flow["limited"].items()}})
        return _frame(rows, _FLOW_TYPES)

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per direction of each link."""
        return _frame(self.json["links"], _LINK_TYPES)

    @cached_property
    def trace(self) -> pl.DataFrame:
        """The flows over time.

        Columns t_s; flow, its name; cwnd, ssthresh and in_flight in segments; srtt_s; rtt_s; delivered_bytes.
        Empty unless the scenario records flows.
        """
        return self._columns("trace", "flow", [f["name"] for f in self.json["flows"]])

    @cached_property
    def link_trace(self) -> pl.DataFrame:
        """The links over time: t_s, link ("sat/forward"), queue_packets, delivered_packets, dropped_packets.

        Empty unless the scenario records links.
        """
        return self._columns(
            "link_trace", "link", [f"{k['name']}/{k['direction']}" for k in self.json["links"]]
        )

    @cached_property
    def segments(self) -> pl.DataFrame:
        """Every segment, as the senders see them, in order of time.

        Columns t_s; flow; event, one of sent, resent, lost (at the link that it entered then), ack and sack
        (a block of that acknowledgement); from_bytes and to_bytes. For an ack these are the byte expected
        next and the right edge of the receive window, the same byte if there is none.

        Empty unless the scenario records segments.
        """
        import polars as pl

        if self._raw is None:
            return pl.DataFrame()
        frame = pl.DataFrame(self._raw.segments())
        names, events = [f["name"] for f in self.json["flows"]], self._raw.event_names
        return frame.with_columns(
            pl.Series("flow", names, dtype=pl.Enum(names)).gather(frame["flow"]),
            pl.Series("event", events, dtype=pl.Enum(events)).gather(frame["event"]),
        )

    def _columns(self, table: str, key: str, names: list[str]) -> pl.DataFrame:
        import polars as pl

        if self._raw is None:
            return pl.DataFrame()
        given = self._raw.trace() if table == "trace" else self._raw.link_trace()
        if key == "link":
            names = self._raw.link_names
        frame = pl.DataFrame(given)
        if key not in frame.columns:
            return frame
        return frame.with_columns(pl.Series(key, names, dtype=pl.Enum(names)).gather(frame[key]))

    def save(self, directory: str | Path) -> Path:
        """Writes run.json, flows.parquet, links.parquet, and what was traced.

        The directory appears complete or not at all; an earlier result in its place is replaced.

        Raises:
            ScenarioError: `directory` exists and holds something that is not a result.
            OSError: it cannot be written.
        """
        target = Path(directory)
        if target.exists() and (not target.is_dir() or {p.name for p in target.iterdir()} - _FILES):
            raise _core.ScenarioError(f"{target} exists and is not a result directory; choose another")
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            new = work / "new"
            new.mkdir()
            self._write(new)
            if target.exists():
                os.rename(target, work / "old")
            os.rename(new, target)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        return target

    def _write(self, directory: Path) -> None:
        head = {key: value for key, value in self.json.items() if key not in ("flows", "links")}
        about = {**head, "version": _core.version(), "scenario": self.scenario}
        (directory / "run.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        self.flows.write_parquet(directory / "flows.parquet")
        self.links.write_parquet(directory / "links.parquet")
        for name in _TRACES:
            frame = getattr(self, name)
            if frame.height > 0:
                frame.write_parquet(directory / f"{name}.parquet")

    @classmethod
    def load(cls, directory: str | Path) -> Result:
        """Reads what `save` wrote.

        Raises:
            ScenarioError: `directory` is not a result directory, or was written by a later version.
        """
        import polars as pl

        source = Path(directory)
        try:
            about = json.loads((source / "run.json").read_text(encoding="utf-8"))
            if about["schema"] != 1:
                raise _core.ScenarioError(f"{source}: this version reads schema 1, not {about['schema']}")
            flows = pl.read_parquet(source / "flows.parquet")
            links = pl.read_parquet(source / "links.parquet")
        except (OSError, KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
            if isinstance(error, _core.ScenarioError):
                raise
            raise _core.ScenarioError(f"{source} is not a result directory: {error}") from None
        result = cls.__new__(cls)
        result._raw = None
        result.scenario = about.pop("scenario")
        about.pop("version")
        warnings = about.pop("warnings")
        result.json = {**about, "flows": [_nest(f) for f in flows.to_dicts()], "links": links.to_dicts()}
        result.json["warnings"] = warnings
        result.flows = flows
        result.links = links
        for name in _TRACES:
            file = source / f"{name}.parquet"
            if file.exists():
                result.__dict__[name] = pl.read_parquet(file)
        return result


def _nest(row: dict[str, Any]) -> dict[str, Any]:
    """A flow of the result object from a row of the flows frame."""
    flow = {key: value for key, value in row.items() if not key.startswith("limited_")}
    flow["limited"] = {
        key.removeprefix("limited_"): value for key, value in row.items() if key.startswith("limited_")
    }
    return flow


def _frame(rows: list[dict[str, Any]], types: dict[str, str]) -> pl.DataFrame:
    """A frame with known columns of known types first and any others after them."""
    import polars as pl

    names = list(types) + [key for key in (rows[0] if rows else {}) if key not in types]
    schema = {name: getattr(pl, types[name]) if name in types else None for name in names}
    return pl.DataFrame(rows, schema=schema, infer_schema_length=None)

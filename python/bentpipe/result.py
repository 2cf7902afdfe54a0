"""The result of a run: numbers per flow and per link, traces over time, and a directory to keep them in."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from bentpipe import _core
from bentpipe.io import foreign
from bentpipe.io.files import Changed, read_frame, replaced_directory, try_place, write_frame
from bentpipe.lazily import missing
from bentpipe.registry import shipped_files

if TYPE_CHECKING:
    import polars as pl

PARTS = ("first", "subflow")
"""The values of `half` of rows whose data another row has, too: the half before a relay, whose data the
second half delivers, and a subflow, whose connection is a row."""


_Row = TypeVar("_Row", bound=Mapping[str, Any])


def each_once(flows: Iterable[_Row]) -> list[_Row]:
    """The rows of flows without `PARTS`: behind a relay a flow is where its data arrives.

    Of a connection whose both ends write, both directions carry data of their own.
    """
    return [flow for flow in flows if flow["half"] not in PARTS or flow["name"].endswith("/there")]


_ROWS: dict[str, dict[str, Any]] = json.loads(_core.tables())
"""A row of each table of a run, of zeros and empty texts: the simulator says what columns there are."""
LIMITS = tuple(_ROWS["flows"]["limited"])
"""The limits of a flow, as in its `limited` object: opening the connection, the congestion window, the
receive window, the application, pacing, loss recovery, waiting for the retransmission timer."""
_ALWAYS_REAL = ("rate_bps", "queue_max_packets")
"""Whole numbers that the frame of the links has as real ones, as those of earlier versions have them."""
_TRACES = ("trace", "link_trace", "port_trace", "segments", "transfers", "probes")
_FILES = {"run.json", "flows.parquet", "links.parquet", *(f"{name}.parquet" for name in _TRACES)}


def named(frame: pl.DataFrame, **names: Sequence[str]) -> pl.DataFrame:
    """The frame with columns of indices as categories: `names` has the name of each index of a column."""
    import polars as pl

    return frame.with_columns(
        pl.Series(key, known, dtype=pl.Enum(known)).gather(frame[key]) for key, known in names.items()
    )


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

    def __getattr__(self, name: str) -> Any:
        """Raises the error for an attribute that a result does not have; it lists those that are near."""
        known = [one for one in dir(type(self)) if not one.startswith("_")]
        raise missing("a Result", name, ["json", *known])

    def __getstate__(self) -> dict[str, Any]:
        """Everything as plain data and frames, for pickle, joblib and multiprocessing."""
        kept = ("scenario", "flows", "links", *_TRACES)
        return {"json": self.json, "_raw": None, **{name: getattr(self, name) for name in kept}}

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The scenario that was run, every default filled in."""
        if self._raw is None:
            return {}
        found: dict[str, Any] = json.loads(self._raw.scenario)
        return found

    @property
    def warnings(self) -> list[str]:
        """Points to check before the results are trusted, a line each."""
        return list(self.json["warnings"])

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow, as in the result object; `limited` is spread over `limited_cwnd` and so on.

        A source of short flows is one row. Applications that send in pieces have transfer (the kind of piece:
        connection, burst, response, page, segment or packet), transfers, completed (how many), and of the
        times that these took completion_mean_s, completion_p50_s, _p95_s and _p99_s. A video has
        video_bitrate_bps (mean of the segments received), video_startup_s, video_played_s, video_stalls,
        video_stalled_s and video_switches.
        """
        return flow_frame(self.json["flows"])

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per direction of each link.

        utilisation has the bits sent within the run as a share of those that the rate allowed while the link
        was up, up_s the seconds in which it was, data_flows how many flows' data cross it.
        """
        return link_frame(self.json["links"])

    @cached_property
    def trace(self) -> pl.DataFrame:
        """The flows over time.

        Columns t_s; flow, its name, of short flows "NAME/1" and so on; cwnd, ssthresh and in_flight in
        segments; srtt_s; rtt_s; delivered_bytes and retransmitted_packets, both so far.
        Empty unless the scenario records flows.
        """
        return self._recorded("trace", flow="flow_names")

    @cached_property
    def link_trace(self) -> pl.DataFrame:
        """The links over time.

        Columns t_s; link ("sat/forward"); queue_packets; delivered_packets; dropped_packets; dropped_queue,
        the drops at the queue among them. Also the state of their time lines: rate_bps (0 in an outage),
        delay_s (one way), handovers (so far). Empty unless the scenario records links.
        """
        return self._recorded("link_trace", link="link_names")

    @cached_property
    def network_flows(self) -> pl.DataFrame:
        """One row per flow between stations of a constellation.

        Columns flow; from and to, stations; base_rtt_s, propagation there and back at the start (null without
        a path); path_changes; unrouted_packets, those that were at a node without a next hop; acked_bytes
        and acked_goodput_bps, by what the sender knows to be delivered. Empty without a constellation.
        """
        return _frame(self.json.get("network_flows", []), _ROWS["network_flows"])

    @cached_property
    def port_trace(self) -> pl.DataFrame:
        """The ports of a constellation to which a packet has come, over time.

        Columns t_s; from, the node of the port, and to, the satellite at the other end of a laser (of a
        port to the ground the node itself); busy, the share of the time since the row before in which it
        sent; queue_packets; offered_packets and dropped_packets, both so far. Satellites are the nodes from
        0, and stations follow. Empty unless the scenario has a network and records links.
        """
        return self._recorded("port_trace")

    @cached_property
    def probes(self) -> pl.DataFrame:
        """Internal quantities that controllers name, such as Vegas-A's alpha, over time.

        Columns t_s; flow; probe, its name, which ends in its unit ("base_rtt_s"; one without is a pure
        number); value, null while it is not known. docs/controllers has the probes of each controller.
        With an interval of time every probe has a row at each instant, otherwise whenever its value changes.
        Empty unless the scenario records probes.
        """
        return self._recorded("probes", "value", flow="flow_names", probe="probe_names")

    @cached_property
    def transfers(self) -> pl.DataFrame:
        """Every short flow, burst, response, page and segment of video, flow by flow.

        Columns flow, start_s, bytes, and completion_s: seconds until all was acknowledged or, for requested
        data, from the request until all of it was received; null if the run ended before. Empty unless
        the scenario records transfers.
        """
        frame = self._recorded("transfers", "completion_s")
        return named(frame, flow=[f["name"] for f in self.json["flows"]]) if frame.width else frame

    @cached_property
    def segments(self) -> pl.DataFrame:
        """Every segment, as the senders see them, in order of time.

        Columns t_s; flow; event, one of sent, resent, lost (at the link that it entered then), ack and sack
        (a block of that acknowledgement); from_bytes and to_bytes. For an ack these are the byte expected
        next and the right edge of the receive window, the same byte if there is none.

        Empty unless the scenario records segments.
        """
        return self._recorded("segments", flow="flow_names", event="event_names")

    def _recorded(self, table: str, unknown: str = "", **names: str) -> pl.DataFrame:
        """A table of the run; empty if there is none.

        Args:
            table: the method that gives its columns.
            unknown: the column in which NaN means that a value is not known.
            names: by columns of indices, the attributes that have their names.
        """
        import polars as pl

        frame = pl.DataFrame({} if self._raw is None else getattr(self._raw, table)())
        if unknown in frame.columns:
            frame = frame.with_columns(pl.col(unknown).fill_nan(None))
        known = {key: getattr(self._raw, of) for key, of in names.items() if key in frame.columns}
        return named(frame, **known)

    def save(self, directory: str | Path) -> Path:
        """Writes run.json, flows.parquet, links.parquet, and the traces.

        The directory appears complete or not at all; an earlier result in its place is replaced.

        Raises:
            ScenarioError: `directory` exists and holds something that is not a result.
            OSError: it cannot be written.
        """
        target = check_place(directory)
        with replaced_directory(target) as new:
            self._write(new)
        return Path(directory)

    def _write(self, directory: Path) -> None:
        frames = {"flows": self.flows, "links": self.links}
        frames |= {name: frame for name in _TRACES if (frame := getattr(self, name)).height > 0}
        sums = {}
        for name, frame in frames.items():
            sums[f"{name}.parquet"] = write_frame(directory / f"{name}.parquet", frame)
        head = {key: value for key, value in self.json.items() if key not in ("flows", "links")}
        about = {**head, "version": _core.__version__, "scenario": self.scenario, "files": sums}
        about["sum"] = _sum(about)
        (directory / "run.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, directory: str | Path) -> Result:
        """Reads a directory that `save` wrote.

        Raises:
            ScenarioError: `directory` is not a result directory, is damaged, or is of a later version.
        """
        source = Path(directory)
        about = read_about(source)
        sums = about.pop("files")
        frames = {
            name: _read_frame(source / f"{name}.parquet", sums[f"{name}.parquet"])
            for name in ("flows", "links", *_TRACES)
            if f"{name}.parquet" in sums
        }
        scenario = about.pop("scenario")
        about.pop("version")
        warnings = about.pop("warnings")
        flows = [nested(f) for f in frames["flows"].to_dicts()]
        about = {**about, "flows": flows, "links": frames["links"].to_dicts(), "warnings": warnings}
        return cls.of_tables(scenario, about, frames)

    @classmethod
    def of_tables(
        cls, scenario: dict[str, Any], about: dict[str, Any], frames: Mapping[str, pl.DataFrame]
    ) -> Result:
        """A result that no run of this process has yielded: its scenario, its object, and tables by name."""
        result = cls.__new__(cls)
        result._raw = None
        result.scenario = scenario
        result.json = about
        for name, frame in frames.items():
            result.__dict__[name] = frame
        return result


def replaced(directory: Path) -> str | None:
    """In words, the result that `Result.save` would replace there; None if there is none."""
    try:
        about = read_about(directory)
    except _core.ScenarioError:
        return None
    title = about["scenario"].get("title")
    return f"the result of {title!r}, seed {about['seed']}" if title else f"a result of seed {about['seed']}"


def read_about(source: Path) -> dict[str, Any]:
    """The contents of run.json, checked; its "files" are the tables, each with its sum."""
    try:
        about = json.loads(foreign.content(source / "run.json"))
        if about["schema"] != 1:
            raise _core.ScenarioError(f"{source}: this version reads schema 1, not {about['schema']}")
        if about.pop("sum") != _sum(about):
            raise _core.ScenarioError(
                f"{source} is a damaged result directory: run.json is not what was saved"
            )
    except OSError as error:
        is_scenario = source.suffix == ".toml" or str(source) in shipped_files()
        run_first = f"; bentpipe run {source} --out DIR writes one" if is_scenario else ""
        raise _core.ScenarioError(
            f"{source} is not a result directory: run.json: {error.strerror}{run_first}"
        ) from None
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, _core.ScenarioError):
            raise
        raise _core.ScenarioError(f"{source} is not a result directory: run.json: {error}") from None
    return cast(dict[str, Any], about)


def _sum(about: dict[str, Any]) -> str:
    """A checksum that shows whether run.json is as it was saved."""
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _read_frame(path: Path, wanted: str) -> pl.DataFrame:
    """A table, if its file is the one that was saved."""
    wrong = f"{path.parent} is a damaged result directory: {path.name}"
    try:
        return read_frame(path, wanted)
    except OSError as error:
        raise _core.ScenarioError(f"{wrong}: {error.strerror}") from None
    except Changed:
        raise _core.ScenarioError(f"{wrong} is not what was saved") from None


def check_place(directory: str | Path) -> Path:
    """Checks that a result can be written to `directory`, and makes its parent directory.

    Returns its path: the target, if it is a symbolic link.

    Raises:
        ScenarioError: it exists and holds something that is not a result.
        OSError: nothing can be written there.
    """
    target = Path(directory)
    if target.is_symlink():
        target = Path(os.path.realpath(target))
        if target.is_symlink():
            raise _core.ScenarioError(f"{directory} is a symbolic link to itself; choose another")
    if target.exists() and (not target.is_dir() or {p.name for p in target.iterdir()} - _FILES):
        raise _core.ScenarioError(f"{directory} exists and is not a result directory; choose another")
    try_place(target)
    return target


def flow_frame(flows: list[dict[str, Any]]) -> pl.DataFrame:
    """Flows of the object of `bentpipe run --json`, of one run or of several, as `Result.flows` has them."""
    return _frame([_flat(flow) for flow in flows], _flat(_ROWS["flows"]))


def link_frame(links: list[dict[str, Any]]) -> pl.DataFrame:
    """Links of that object, as `Result.links` has them."""
    return _frame(links, _ROWS["links"])


def column_types(table: str) -> dict[str, type[pl.DataType]]:
    """The columns of a recorded table, such as "trace", with names in place of indices."""
    texts = ("flow", "link", "probe", "event")
    return _types({name: "" if name in texts else value for name, value in _ROWS[table].items()})


def _flat(flow: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the flows frame from a flow of the result object."""
    row = {key: value for key, value in flow.items() if key not in ("limited", "video")}
    video = flow.get("video") or dict.fromkeys(_ROWS["flows"]["video"])
    row |= {f"video_{what}": value for what, value in video.items()}
    return row | {f"limited_{what}": share for what, share in flow["limited"].items()}


def nested(row: dict[str, Any]) -> dict[str, Any]:
    """A flow of the result object from a row of the flows frame."""

    def part(name: str) -> dict[str, Any]:
        return {key.removeprefix(name): value for key, value in row.items() if key.startswith(name)}

    flow = {key: value for key, value in row.items() if not key.startswith(("limited_", "video_"))}
    video = part("video_")
    flow["video"] = video if video.get("stalls") is not None else None
    flow["limited"] = part("limited_")
    return flow


def _frame(rows: list[dict[str, Any]], row: Mapping[str, Any]) -> pl.DataFrame:
    """A frame with the columns of `row` first and any others after them."""
    import polars as pl

    kinds = _types(row) | {name: pl.Float64 for name in _ALWAYS_REAL if name in row}
    others = {key: None for key in (rows[0] if rows else {}) if key not in kinds}
    return pl.DataFrame(rows, schema={**kinds, **others}, infer_schema_length=None)


def _types(row: Mapping[str, Any]) -> dict[str, type[pl.DataType]]:
    """The types of the columns whose values in a row are these."""
    import polars as pl

    types = {str: pl.String, float: pl.Float64, int: pl.UInt64}
    return {name: types[type(value)] for name, value in row.items()}

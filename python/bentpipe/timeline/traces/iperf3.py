"""Measurements by iperf3, as a rate: its JSON (`--json`, `--json-stream`), or the text of its report.

Source: iperf3, `iperf_api.c` and `iperf_locale.c` (the reports, the roles of `--bidir`, the events of
`--json-stream`), `units.c` (`-f K` counts by 1024), and its manual page. The intervals of the end that sends
say how a socket's buffer was filled, and not what came through; only the receiver's are taken. They are in a
client's file if it received, or if it asked for the server's output (`--get-server-output`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import polars as pl

from bentpipe import _core
from bentpipe.io.foreign import cut, decoded, documents, refuse, split, unpacked
from bentpipe.io.kinds import lacking
from bentpipe.timeline.traces.samples import Samples, check_rate

_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
# A number can be read in one way alone: a long one must not take time of the square of its length.
_ROW = re.compile(
    r"\[ *(?P<id>\d+|SUM)\](?:\[(?P<role>[TR]X-[CS])\])? +(?P<from>\d+(?:\.\d*)?)-(?P<to>\d+(?:\.\d*)?) +sec "
    r"+[0-9.]+ [KMGT]?Bytes +"
    r"(?P<rate>-?\d+(?:\.\d*)?) (?P<unit>[KMGT]?)(?P<of>bits|Bytes)/sec(?P<rest>.*)"
)
_SERVERS_PART = "Server output:"
_SUM = "SUM"
_TOLERANCE_S = 0.02
DIRECTIONS = {True: "up", False: "down"}
"""Words for the direction of data: up is from the client to the server."""


@dataclass(frozen=True)
class IntervalRow:
    """One interval, as one end reports it.

    Attributes:
        line: its line in the file, None in JSON.
        begin_s: when it began.
        end_s: when it ended.
        rate_bps: bits per second.
    """

    line: int | None
    begin_s: float
    end_s: float
    rate_bps: float


@dataclass(frozen=True)
class End:
    """All that an end reports of the data in a direction.

    Attributes:
        up: whether it went from the client to the server; None if the file does not say.
        sent: whether this end sent it.
        where: the place of its intervals in the file: "server_output_json." or the like; empty for this end.
        streams: the intervals of each stream by its name; "SUM" has the sum.
    """

    up: bool | None
    sent: bool
    where: str
    streams: dict[str, list[IntervalRow]]

    def summed(self, path: Path) -> list[IntervalRow]:
        """The intervals of all streams together."""
        if _SUM in self.streams:
            return self.streams[_SUM]
        rows = list(zip(*self.streams.values(), strict=False))
        if any(len({(row.begin_s, row.end_s) for row in at_once}) > 1 for at_once in rows):
            refuse(path, None, "its streams have different intervals and no [SUM]; say which: --stream 1")
        return [replace(one[0], rate_bps=sum(row.rate_bps for row in one)) for one in rows]


@dataclass(frozen=True)
class Iperf3Report:
    """A report.

    Attributes:
        path: the file.
        content: its JSON; empty if it is text.
        udp: whether the test was by UDP.
        ends: what each end reports of each direction, this end first.
        totals: of a report as text, the sums that receivers had at its end.
    """

    path: Path
    content: Mapping[str, Any]
    udp: bool
    ends: Sequence[End]
    totals: Sequence[End] = ()

    @property
    def both_ways(self) -> bool:
        """Whether both ends sent at once (iperf3 --bidir)."""
        return {True, False} <= {end.up for end in self.ends}

    def receiver(self, direction: str | None = None) -> End | None:
        """The end that received what went in a direction, "up" or "down"; None if only the sender reports it.

        Raises:
            ScenarioError: no direction is given and there are two, or there is nothing in the given one.
        """
        return next((end for end in self._going(direction) if not end.sent), None)

    def sender(self, direction: str | None = None) -> End | None:
        """The same of the end that sent it."""
        return next((end for end in self._going(direction) if end.sent), None)

    def total(self, direction: str | None = None) -> IntervalRow | None:
        """What the receivers had got at the end of a report as text; None if it does not say."""
        up = next(end.up for end in self._going(direction))
        found = next((end.summed(self.path) for end in self.totals if end.up == up), [])
        return found[0] if found else None

    def numbered(self, stream: int) -> End:
        """A receiver with the one stream of this number, from 1, in the order of the file.

        Raises:
            ScenarioError: there is no such stream, or only its sender reports it.
        """
        first = [end for end in self.ends if end.where == self.ends[0].where]
        names = [(end, name) for end in first for name in end.streams if name != _SUM]
        if stream > len(names):
            refuse(self.path, None, f"there is no stream {stream}; the test has {len(names)}")
        end, name = names[stream - 1]
        place = [other for other in end.streams if other != _SUM].index(name)
        for other in (one for one in self.ends if one.up == end.up and not one.sent):
            rows = [rows for name, rows in other.streams.items() if name != _SUM]
            if place < len(rows):
                return End(other.up, False, other.where, {_SUM: rows[place]})
        self.refuse_senders()

    def _going(self, direction: str | None) -> list[End]:
        if direction is None:
            if self.both_ways:
                refuse(
                    self.path, None, "it is a test in both directions at once (--bidir); say --direction up "
                    "(from the client to the server) or --direction down",
                )  # fmt: skip
            return list(self.ends)
        if direction not in DIRECTIONS.values():
            raise _core.ScenarioError(f"--direction {direction!r}: write down or up")
        found = [end for end in self.ends if end.up is None or DIRECTIONS[end.up] == direction]
        if not found:
            other = "up, from the client to the server" if self.ends[0].up else "down, from the server"
            refuse(self.path, None, f"nothing went {direction} in it: the test went {other}")
        return found

    def refuse_senders(self) -> NoReturn:
        """Says that only the sender's intervals are there.

        Raises:
            ScenarioError: always.
        """
        what = "was sent by UDP" if self.udp else "the sender's socket took"
        more = " and --json" if self.udp else ""
        refuse(
            self.path, None, f"its intervals say what {what}, not what came through; "
            f"measure with --reverse, or with --get-server-output{more}",
        )  # fmt: skip


def read(
    path: Path, *, stream: int | None = None, direction: str | None = None, gap_s: float | None = None
) -> pl.DataFrame:
    """The rate in each interval of a test, as received: of all its streams together, or of one.

    The last row is the end of the last interval, with its rate.

    Args:
        path: iperf3's JSON, or its report as text.
        stream: one of the parallel streams, from 1.
        direction: of a test in both directions at once, "up" (from the client to the server) or "down".
        gap_s: the longest interval that is not a gap.

    Raises:
        ScenarioError: it is neither, it is damaged, the test failed or has no intervals, they leave a gap,
            only the sender's are there, or the direction is missing.
        OSError: it cannot be read.
    """
    test = report(path)
    end = test.numbered(stream) if stream is not None else test.receiver(direction)
    if end is None:
        test.refuse_senders()
    return intervals(path, end, gap_s)


def intervals(path: Path, end: End, gap_s: float | None = None) -> pl.DataFrame:
    """The rates of an end, checked: each interval begins where the one before ended.

    Raises:
        ScenarioError: they leave a gap, or go back.
    """
    samples = Samples(path)
    before = 0.0
    for place, row in enumerate(end.summed(path)):
        what = "the interval begins" if row.line is not None else f"{end.where}intervals[{place}] begins"
        if abs(row.begin_s - before) > _TOLERANCE_S:
            wrong = "a gap" if row.begin_s > before else "the time goes back"
            refuse(
                path, row.line,
                f"{wrong}: {what} at {row.begin_s:g} s, the one before ended at {before:g} s",
            )  # fmt: skip
        samples.add(row.line, row.begin_s, rate_bps=row.rate_bps)
        before = row.end_s
    samples.end_s = before
    return samples.frame(gap_s)


def report(path: Path) -> Iperf3Report:
    """A report of iperf3.

    Raises:
        ScenarioError: it is none, or damaged, the test failed, or it has no intervals.
        OSError: it cannot be read.
    """
    content = decoded(path, unpacked(path))
    if not content.lstrip().startswith(("{", "\x1e")):
        return _of_text(path, content)
    document = _whole(path, documents(path, content.encode()))
    if isinstance(document.get("error"), str):
        refuse(path, None, f"the test failed: {cut(document['error'])}")
    asked = _asked(path, document)
    ends = _of_json(path, document, asked, "")
    if isinstance(servers := document.get("server_output_json"), dict):
        ends += _of_json(path, servers, asked, "server_output_json.")
    elif isinstance(words := document.get("server_output_text"), str):
        ends += _ends(path, list(enumerate(split(path, words), 1)), "server_output_text.")[0]
    if not ends:
        refuse(path, None, lacking(path, "it has no intervals", "iperf3", "iperf3's JSON"))
    return Iperf3Report(path, document, asked.get("protocol") == "UDP", ends)


def _whole(path: Path, found: list[Any]) -> dict[str, Any]:
    """The JSON of a test; the events of --json-stream are put together as --json has them."""
    if not all(isinstance(one, dict) for one in found):
        refuse(path, None, "it is JSON, but no object as of iperf3")
    if "event" not in found[0]:
        if len(found) > 1:
            refuse(path, None, f"it holds {len(found)} tests; a file must have one")
        return dict(found[0])
    whole: dict[str, Any] = {"intervals": []}
    for one in found:
        if one.get("event") == "interval":
            whole["intervals"].append(one.get("data"))
        elif isinstance(one.get("event"), str):
            whole[one["event"]] = one.get("data")
    return whole


def _asked(path: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    start = document.get("start", {})
    asked = start.get("test_start", {}) if isinstance(start, dict) else None
    if not isinstance(asked, dict):
        refuse(path, None, "start.test_start is no object; is it iperf3's JSON?")
    return asked


def _of_json(path: Path, document: Mapping[str, Any], asked: Mapping[str, Any], where: str) -> list[End]:
    """The reports of an end, one for each direction."""
    server = bool(where) or "accepted_connection" in (document.get("start") or {})
    # iperf3 says in which direction the test went; of other JSON the intervals are taken as they are.
    says = "reverse" in asked or asked.get("protocol") == "UDP"
    usual = server == bool(asked.get("reverse"))
    found: dict[tuple[bool, bool], End] = {}

    def add(at: str, name: str, part: Any, *, up: bool | None) -> None:
        begin, end, rate = (float(part[key]) for key in ("start", "end", "bits_per_second"))
        check_rate(path, None, rate, at)
        sent = bool(part.get("sender", says and (usual if up is None else server != up)))
        up = sent != server if up is None else up
        # Omitted intervals (--omit) have a clock of their own.
        if not part.get("omitted"):
            of = found.setdefault((up, sent), End(up, sent, where, {}))
            of.streams.setdefault(name, []).append(IntervalRow(None, begin, end, rate))

    parts = document.get("intervals")
    for place, interval in enumerate(parts if isinstance(parts, list) else ()):
        at = f"{where}intervals[{place}]"
        try:
            way = not asked.get("reverse")
            add(at, _SUM, interval["sum"], up=way)
            if both := "sum_bidir_reverse" in interval:
                add(at, _SUM, interval["sum_bidir_reverse"], up=False)
            for number, stream in enumerate(interval.get("streams") or ()):
                if "bits_per_second" in stream:
                    add(at, str(number), stream, up=None if both else way)
        except _core.ScenarioError:
            raise
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
            refuse(path, None, f"{at} has no start, end and bits_per_second")
    return list(found.values())


def _of_text(path: Path, content: str) -> Iperf3Report:
    lines = list(enumerate(split(path, content), 1))
    for number, line in lines:
        if "iperf3: error" in line:
            refuse(path, number, f"the test failed: {cut(line.partition('iperf3: error')[2].strip(' -'))}")
    cut_at = next((place for place, (_, line) in enumerate(lines) if line.strip() == _SERVERS_PART), None)
    ends, totals = _ends(path, lines[:cut_at], "")
    if cut_at is not None:
        ends += _ends(path, lines[cut_at:], "server_output.")[0]
    if not ends:
        words = "a report of iperf3, or its JSON"
        refuse(path, None, lacking(path, "it has no intervals", "iperf3", words))
    return Iperf3Report(path, {}, any("Datagrams" in line for _, line in lines), ends, totals)


def _ends(path: Path, lines: Sequence[tuple[int, str]], where: str) -> tuple[list[End], list[End]]:
    """What an end writes as text, for each direction; and the sums that receivers had."""
    words = [line for _, line in lines if "sec" not in line]
    server = bool(where) or any("Accepted connection" in line for line in words)
    client = not server and any("Connecting to host" in line for line in words)
    reverse = any("Reverse mode" in line for line in words)
    datagrams = any("Total Datagrams" in line and "Lost/Total" not in line for line in words)
    found: dict[tuple[bool | None, bool], End] = {}
    totals: dict[bool | None, End] = {}
    for number, row in _rows(lines):
        role, ending = row["role"], re.search(r"\b(sender|receiver)\b", row["rest"])
        received = ending is not None and ending[1] == "receiver"
        # A sender counts what it sent again, or its datagrams; a receiver of datagrams has their jitter.
        sent = datagrams or re.match(r" +\d+(?: |$)", row["rest"]) is not None
        sent |= client and not reverse and "ms" not in row["rest"]
        up = (sent != server) if server or client else None
        if role is not None:
            sent, up = role.startswith("TX"), role in ("TX-C", "RX-S")
        elif ending is not None and (server or client):
            up = received if server else not reverse
        unit = 8 * 1024 ** _UNITS[row["unit"]] if row["of"] == "Bytes" else 1000 ** _UNITS[row["unit"]]
        known = IntervalRow(number, float(row["from"]), float(row["to"]), float(row["rate"]) * unit)
        check_rate(path, number, known.rate_bps)
        if ending is not None:
            if received:
                totals.setdefault(up, End(up, False, where, {})).streams[row["id"]] = [known]
            continue
        of = found.setdefault((up, sent), End(up, sent, where, {})).streams.setdefault(row["id"], [])
        # The final sum of UDP receivers is not an interval.
        if not (of and known.begin_s == 0 and known.end_s >= of[-1].end_s - _TOLERANCE_S):
            of.append(known)
    return list(found.values()), list(totals.values())


def _rows(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, re.Match[str]]]:
    for number, line in lines:
        found = _ROW.search(line)
        if found is not None and not re.search(r"\bomitted\b", found["rest"]):
            yield number, found

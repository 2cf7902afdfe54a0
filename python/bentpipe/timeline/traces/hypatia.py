"""Hypatia's outputs: satgenpy's computed round trips and paths, its forwarding state, and data of ns-3.

Source: snkas/hypatia at 0ac531c, `satgenpy/satgen/post_analysis/print_routes_and_rtt.py` (networkx_rtt,
networkx_path), `satgenpy/satgen/dynamic_state` (fstate); snkas/basic-sim, `doc/pingmesh_application.md` and
`doc/tcp_flow_application.md`.
"""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import polars as pl

from bentpipe import _core
from bentpipe.io.foreign import content, lines, quoted, refuse, split
from bentpipe.timeline.traces import probes
from bentpipe.timeline.traces.probes import Probe
from bentpipe.timeline.traces.samples import Samples

_PATH = re.compile(r"Unreachable|\d+(-\d+)+")
_MOST_HOPS = 1000


def read(
    path: Path,
    *,
    pair: tuple[int, int] | None = None,
    outage_s: float | None = None,
    gap_s: float | None = None,
) -> pl.DataFrame:
    """The time line in one of Hypatia's outputs, recognised by its contents.

    - `networkx_rtt_A_to_B.txt` (time, round trip): half of it as delay; 0 means unreachable.
    - `networkx_path_A_to_B.txt` (time, nodes of the new path): `up`, handovers, hops.
    - a directory of `fstate_TIME.txt`, with the pair of nodes: the same. Without a delay: that needs the
      orbits.
    - `pingmesh.csv`, with the pair if there are several: round trips of probes (see `probes.frame`).
    - `tcp_flow_N_rtt.csv`: half of the round trips that TCP saw, queues and all.

    Raises:
        ScenarioError: it is none of them, a line is damaged, times go back, or a pair is missing.
        OSError: it cannot be read.
    """
    if path.is_dir():
        return _forwarding(path, pair)
    whole = lines(path)
    first = whole[0].split(",")
    if len(first) == 2 and _PATH.fullmatch(first[1].strip()):
        return _paths(path, [(n, *_path(path, n, line)) for n, line in enumerate(whole, 1)])
    kinds = {2: _round_trips, 3: _tcp}
    if len(first) == 10:
        return _pingmesh(path, whole, pair, outage_s, gap_s)
    if len(first) not in kinds:
        refuse(path, 1, "it is no networkx_rtt, networkx_path, pingmesh or tcp_flow_rtt file of Hypatia's")
    return kinds[len(first)](path, whole, gap_s)


def _number(path: Path, number: int, words: list[str], place: int) -> float:
    try:
        value = float(words[place])
        if abs(value) < float("inf"):
            return value
    except (ValueError, IndexError):
        pass
    # The first line shows whether it is such a file.
    line = f": {quoted(','.join(words))}" if number > 1 else ""
    refuse(path, number, f"part {place + 1} is no number{line}")


def _round_trips(path: Path, lines: list[str], gap_s: float | None) -> pl.DataFrame:
    samples = Samples(path)
    dark = any(line.partition(",")[2].strip().strip("0.") == "" for line in lines)
    for number, line in enumerate(lines, 1):
        words = line.split(",")
        now, rtt = (_number(path, number, words, place) / 1e9 for place in (0, 1))
        values = {"delay_s": rtt / 2 if rtt != 0 else None}
        samples.add(number, now, **values, **({"up": rtt != 0} if dark else {}))
    return samples.frame(gap_s)


def _tcp(path: Path, lines: list[str], gap_s: float | None) -> pl.DataFrame:
    samples = Samples(path)
    rows: list[tuple[int, float, float]] = []
    for number, line in enumerate(lines, 1):
        words = line.split(",")
        now, rtt = (_number(path, number, words, place) / 1e9 for place in (1, 2))
        rows.append((number, now, rtt))
    # The log has a line for each change and one at the end; of one instant the last counts.
    for _, run in groupby(rows, key=lambda row: row[1]):
        *_, (number, now, rtt) = run
        if rtt > 0:
            samples.add(number, now, delay_s=rtt / 2)
    return samples.frame(float("inf") if gap_s is None else gap_s)


def _pingmesh(
    path: Path, lines: list[str], pair: tuple[int, int] | None, outage_s: float | None, gap_s: float | None
) -> pl.DataFrame:
    found: dict[tuple[int, int], list[Probe]] = {}
    for number, line in enumerate(lines, 1):
        words = line.strip().split(",")
        if len(words) != 10 or words[9] not in ("YES", "LOST"):
            refuse(path, number, "a ping has ten parts, the last of them YES or LOST")
        a, b, sent, rtt = (_number(path, number, words, place) for place in (0, 1, 3, 8))
        probe = Probe(number, sent / 1e9, rtt / 1e9 if words[9] == "YES" else None)
        found.setdefault((int(a), int(b)), []).append(probe)
    there = ", ".join(f"{a},{b}" for a, b in list(found)[:5])
    if pair is None and len(found) > 1:
        refuse(
            path, None, f"it holds {len(found)} pairs of nodes ({there}, ...); say which: --pair {there[:9]}"
        )
    wanted = next(iter(found)) if pair is None else pair
    if wanted not in found:
        refuse(path, None, f"it holds no pings from {wanted[0]} to {wanted[1]}, but {there}")
    return probes.frame(path, found[wanted], outage_s, gap_s)


def _path(path: Path, number: int, line: str) -> tuple[float, list[str]]:
    words = line.strip().split(",")
    if len(words) != 2 or not _PATH.fullmatch(words[1]):
        refuse(path, number, f"{quoted(line)} is no time and path, as in 0,1173-184-1241 or 0,Unreachable")
    return _number(path, number, words, 0) / 1e9, words[1].split("-") if words[1] != "Unreachable" else []


def _paths(path: Path, changes: list[tuple[int, float, list[str]]]) -> pl.DataFrame:
    """Rows of a list of line, time and nodes; the nodes are empty where there is no path."""
    samples = Samples(path)
    for place, (number, now, nodes) in enumerate(changes):
        moved = place > 0 and bool(changes[place - 1][2])
        samples.add(number, now, up=bool(nodes), handover=moved)
    hops = [max(len(nodes) - 1, 0) or None for _, _, nodes in changes]
    return samples.frame(float("inf")).with_columns(pl.Series("hops", hops, pl.Int64))


def _forwarding(directory: Path, pair: tuple[int, int] | None) -> pl.DataFrame:
    if pair is None:
        raise _core.ScenarioError(f"{directory}: say between which nodes: --pair 1174,1229")
    stamps = ((entry.stem.removeprefix("fstate_"), entry) for entry in directory.glob("fstate_*.txt"))
    files = {int(stamp): entry for stamp, entry in stamps if stamp.isdigit()}
    if not files:
        refuse(directory, None, "it holds no fstate_TIME.txt")
    hop: dict[tuple[int, int], int] = {}
    changes: list[tuple[int, float, list[str]]] = []
    for instant in sorted(files):
        # A file holds the changes against the one before.
        found = content(files[instant]).decode(errors="replace")  # without a change it is empty
        for number, line in enumerate(split(files[instant], found), 1):
            words = line.split(",")
            here, there, onward = (int(_number(files[instant], number, words, place)) for place in (0, 1, 2))
            hop[here, there] = onward
        nodes = _follow(files[instant], hop, *pair)
        if not changes or changes[-1][2] != nodes:
            changes.append((1, instant / 1e9, nodes))
    return _paths(directory, changes)


def _follow(path: Path, hop: dict[tuple[int, int], int], here: int, there: int) -> list[str]:
    if (here, there) not in hop:
        refuse(path, None, f"no line leads from {here} to {there}; --pair takes numbers of ground stations")
    nodes = [str(here)]
    while here != there:
        here = hop.get((here, there), -1)
        if here < 0:
            return []
        nodes.append(str(here))
        if len(nodes) > _MOST_HOPS:
            refuse(path, None, "the path goes in a circle")
    return nodes

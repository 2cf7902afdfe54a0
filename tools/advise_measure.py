"""The truth of the truth set: every algorithm on every link, with seeds that no answer uses.

Goodput of the second half needs the bytes that have arrived until its beginning. A run of half the length
with the same seed would simulate half as many packets again; a trace of sixty rows costs nothing, and is not
even made a frame. Delivery is in order: nothing while a loss is repaired, and then all at once. On a link
without chance that is at the same instant with every seed, and a middle within a repair would give 5 % too
much. The arrivals follow from later deliveries (`_arrived`).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from advise_links import TRUTH_SEED, DrawnLink
from numpy.typing import NDArray

from bentpipe import _core
from bentpipe.advice.question import Candidate, Question
from bentpipe.advice.trials import FILE_S
from bentpipe.models import Record
from bentpipe.result import each_once
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.execution import Ran
from bentpipe.sweeps.kept import Kept
from bentpipe.sweeps.lab import Lab

SEEDS = 60
PASS = 10
"""Seeds that all links have before the first link has more."""
ROWS = 60
"""Rows of the trace of a run."""
BEFORE_END = 5
"""The second half ends this number of rows before the end: the deliveries after it show what had arrived."""
PAYLOAD = 1448 / 1500
"""Share of a packet that is payload."""
VERSION = 2
"""Version of the measures of a run: those of another version are not taken."""
ROLES = ("alone", "beside", "file")


def measure(
    links: Sequence[DrawnLink], place: Path, seeds: int, tell: Callable[[str], None], only: Sequence[str] = ()
) -> None:
    """Makes the runs that `place` lacks; runs that are there are not made again.

    Args:
        links: the links.
        place: the folder of the runs.
        seeds: of each link.
        tell: called with a line after some seeds of a link.
        only: these algorithms and CUBIC, the reference of harm; none for all.
    """
    parts = list(product(range(0, seeds, PASS), links))
    for done, (first, one) in enumerate(parts, start=1):
        numbers = range(first, min(first + PASS, seeds))
        with Lab(folder(place, one)) as lab:
            run(lab, one, numbers, only)
        tell(f"link {one.number}, seeds {first} to {numbers[-1]}: {lab.made} runs; {done} of {len(parts)}")


def folder(place: Path, one: DrawnLink) -> Path:
    """The store of a link's runs; the name changes with the link and its question."""
    mark = hashlib.sha256(f"{VERSION} {one}".encode()).hexdigest()[:8]
    return place / f"{one.number:02}-{mark}"


def run(lab: Lab, one: DrawnLink, numbers: Sequence[int], only: Sequence[str] = ()) -> None:
    """Makes the runs of some seeds, and keeps the measures of `_alone`, `_beside` and `_file`."""
    question = one.question()
    candidates, _ = question.candidates(())
    candidates = [who for who in candidates if not only or who.id in {"cubic", *only}]
    made = [(n, who.id, role) for n, who, role in product(numbers, candidates, ROLES)]
    plain = {
        (who.id, role): _plain(question, who, role, one.run_s) for who, role in product(candidates, ROLES)
    }
    cases = [Case({"seed": n, "cc": cc}, _at(plain[cc, role], n, one.offset_s(n))) for n, cc, role in made]

    def measures(case: Case, ran: Ran) -> dict[str, Any]:
        assert ran.raw is not None
        return {**case.keys, "link": one.number, **_MEASURES[made[ran.number][2]](one, ran.raw)}

    found = lab.rows(cases, measures, key=lambda number: " ".join(map(str, made[number])))
    for number, error in found.failed.items():
        raise RuntimeError(f"link {one.number}, seed {made[number]}: {error}")
    if found.stopped:
        raise KeyboardInterrupt


def rows(place: Path, one: DrawnLink) -> pl.DataFrame | None:
    """A row for each algorithm and seed of a link, if there are any."""
    if not folder(place, one).exists():
        return None
    whole: dict[tuple[int, str], dict[str, Any]] = {}
    with Kept(folder(place, one)) as kept:
        for row in kept.rows.values():
            whole.setdefault((row["seed"], row["cc"]), {}).update(row)
    return pl.DataFrame([row for _, row in sorted(whole.items())], infer_schema_length=None)


def _plain(question: Question, who: Candidate, role: str, run_s: float) -> dict[str, Any]:
    """A run's table, of the first seed: the common part of all seeds is made once."""
    match role:
        case "alone":
            scenario = question.alone(who, 0, run_s)
        case "beside":
            scenario = question.beside(who, "cubic", 0, run_s)
        case _:
            scenario = question.file(who, 0, FILE_S)
    if role != "file":
        scenario.record = Record(f"{round(run_s / ROWS * 1e9)} ns", links=True)
    plain: dict[str, Any] = json.loads(scenario.as_written())
    return plain


def _at(plain: Mapping[str, Any], n: int, offset_s: float) -> dict[str, Any]:
    """The same run with seed `n`, and with the window of a time line that begins there."""
    links = {
        name: {**link, "timeline": {**link["timeline"], "offset": f"{offset_s:.9g} s"}}
        for name, link in plain["link"].items()
        if "timeline" in link
    }
    return {**plain, "link": links or plain["link"], "seed": TRUTH_SEED + n}


def _alone(one: DrawnLink, raw: _core.RawResult) -> dict[str, float]:
    result = json.loads(raw.json)
    flows = each_once(result["flows"])[: one.flows]
    sent = sum(flow["sent_packets"] for flow in result["flows"])
    dropped = result["links"][0]["dropped_queue"]
    return {
        "goodput_bps": math.fsum(flow["goodput_bps"] for flow in flows),
        "steady_bps": _steady(one, raw, range(one.flows)),
        "own_loss": dropped / sent if sent else 0.0,
        "steady_loss": _steady_loss(raw, result["links"][0]),
        "rtt_p50_s": _mean(flow["rtt_p50_s"] for flow in flows),
        "rtt_p95_s": _mean(flow["rtt_p95_s"] for flow in flows),
        "floor_s": min((flow["rtt_min_s"] for flow in flows if flow["rtt_min_s"]), default=math.nan),
    }


def _beside(one: DrawnLink, raw: _core.RawResult) -> dict[str, float]:
    flows = each_once(json.loads(raw.json)["flows"])
    at = {name: [flow["name"] for flow in flows].index(name) for name in ("asked", "rival")}
    return {
        "beside_bps": flows[at["asked"]]["goodput_bps"],
        "cubic_bps": flows[at["rival"]]["goodput_bps"],
        "beside_steady_bps": _steady(one, raw, [at["asked"]]),
        "cubic_steady_bps": _steady(one, raw, [at["rival"]]),
    }


def _file(one: DrawnLink, raw: _core.RawResult) -> dict[str, float]:
    done = each_once(json.loads(raw.json)["flows"])[0]["completion_s"]
    return {"file_s": math.nan if done is None else done}


_MEASURES: dict[str, Callable[[DrawnLink, _core.RawResult], dict[str, float]]] = {
    "alone": _alone, "beside": _beside, "file": _file,
}  # fmt: skip


def _steady(one: DrawnLink, raw: _core.RawResult, flows: Sequence[int]) -> float:
    """Goodput of these flows together in the second half of a run, bit/s."""
    trace = raw.trace()
    every = float(trace["t_s"].max()) / ROWS
    some = np.isin(trace["flow"], flows)
    rows = np.rint(trace["t_s"][some].astype(float) / every).astype(int)
    delivered = np.zeros(ROWS + 1)
    np.add.at(delivered, rows, trace["delivered_bytes"][some])
    most = one.rate_bps / 8 * PAYLOAD * every
    first, last = ROWS // 2, ROWS - BEFORE_END
    arrived = _arrived(delivered, last, most) - _arrived(delivered, first, most)
    return 8 * arrived / ((last - first) * every)


def _arrived(delivered: NDArray[np.float64], row: int, most: float) -> float:
    """Bytes that had arrived by a row, in order or not: the most that is certain.

    Data delivered by a later row arrived before, except for the data that the link carries in between.

    Args:
        delivered: in order, by row.
        row: the row.
        most: bytes that the link carries from a row to the next.
    """
    later = delivered[row:]
    return float((later - most * np.arange(len(later))).max())


def _steady_loss(raw: _core.RawResult, link: Mapping[str, Any]) -> float:
    """Share of the packets of the second half that the queue drops.

    The trace counts drops of the queue and of the channel as one. The channel loses as large a share in
    either half on average, so that of the whole run is taken off; less than 0 is chance.
    """
    trace = raw.link_trace()
    first = trace["link"] == 0
    half = (-1, -1 - ROWS // 2)
    lost, through = (
        float(np.subtract(*trace[name][first][[*half]].astype(float)))
        for name in ("dropped_packets", "delivered_packets")
    )
    if not lost + through:
        return 0.0
    channel = link["dropped_error"] / link["offered_packets"] if link["offered_packets"] else 0.0
    return lost / (lost + through) - channel


def _mean(values: Any) -> float:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else math.nan

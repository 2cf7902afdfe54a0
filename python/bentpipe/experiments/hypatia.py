"""A loaded constellation: what Hypatia's paper asks, and what it could not. docs/hypatia.md and its figures.

The paper: Kassing, Bhattacherjee, Águas, Saethre and Singla, Exploring the "Internet from space" with
Hypatia, IMC 2020.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

import bentpipe as bp
from bentpipe import measures, stats
from bentpipe.experiments.announced import grid, label
from bentpipe.experiments.experiment import Experiment
from bentpipe.experiments.rows import Rows, shown
from bentpipe.orbit.ground import Point
from bentpipe.orbit.networks import cities
from bentpipe.orbit.simulated import network_of
from bentpipe.pages.markdown import markdown, rendered
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.kept import Row

SHELL, SATELLITES, PER_PLANE, DIRECTIONS = "hypatia-kuiper-k1", 1156, 34, 4624
"""Kuiper's first shell: 34 planes of 34 satellites, and four directions of lasers for each satellite."""
EPOCH, APART_MIN = datetime(2000, 1, 1), 20  # noqa: DTZ001
"""The start of Hypatia's satellites, UTC, and the time from the window of a seed to that of the next."""
SEGMENT = 1380
"""Bytes of data in a segment of ns-3's TCP."""
MBPS, USERS_MBPS = 10, 100
"""Rates of all links, Mbit/s: those of the paper, and those for many users."""
PINGS, SINGLE_S = "all pairs", 200
LOADED, LOADED_S, LONG_S = "permutation", 20, 100
MOVING, FROZEN = "permutation, 100 s", "permutation, 100 s, routes frozen"
USERS, FLOWS, USERS_S = "5,000 users", 5000, 5
PAIRS = {
    "Rio de Janeiro to Saint Petersburg": ("Rio de Janeiro", "Saint Petersburg"),
    "Manila to Dalian": ("Manila", "Dalian"),
    "Istanbul to Nairobi": ("Istanbul", "Nairobi"),
}
"""The pairs that the paper looks at alone."""
FAILS_S, HEALTHY = 5, "no failure"
FAILURES = {HEALTHY: "", **{f"detected after {s}": s for s in ("100 ms", "1 s", "5 s")}}
"""When routes learn of a failed plane."""
ONE_WAY, TWO_WAY, OPPOSITE = "one flow", "two flows in opposite directions", ("Istanbul", "Nairobi")
"""Whether ACKs have a path of their own or share it with data, and the stations."""
PING, RESET, DELIVERY, GENTLE, RACK = "ping", "vegas-reset", "star-delivery", "bbr-gentle", "bbr-rack"
VARIANTS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    RESET: ("Vegas, reset at each path change", {"name": "vegas", "path_change": "reset"}, {}),
    DELIVERY: ("TCP-STAR, delivery rate", {"name": "star", "estimator": "delivery-rate"}, {}),
    GENTLE: ("BBR, STARTUP at 1.25", {"name": "bbr", "startup_gain": 1.25}, {}),
    RACK: ("BBR with RACK", "bbr", {"rack": True}),
}
"""Algorithms with one thing changed: the name, `cc`, and other keys of a flow."""
ALONE = ("reno", "vegas", RESET, "cubic", "bbr", "leocc")
CROWD = (
    "reno", "vegas", "cubic", "bbr", "bbr3", "leocc",
    "vegas-l", "star", "hswa", "a-liad", "simd", "iiad", "aiad",
)  # fmt: skip
"""The paper's two, those of today, and those of the five papers."""
MANY, HIT = ("reno", "vegas", "cubic", "bbr"), ("cubic", "bbr")
WINDOWS, SEEDS, LONG_SEEDS, USER_SEEDS, PLANES = 5, 5, 3, 3, 5
TWICE, MOST_BELOW = 2.0, 80.0
"""The paper's section on RTTs: more than 80 % of the pairs never see twice the geodesic RTT."""
EARTH_KM, LIGHT_KM_S = 6371.0, 299792.458
EMPTY = 1 / 3
"""A path has much unused if it is more than this share of its rate."""


class Hypatia(Experiment):
    """The experiment: pings, single flows, permutations of cities, many users, and a failed plane."""

    name = "hypatia"
    columns = {  # noqa: RUF012
        "changes": "median number of path changes of a pair of cities in 200 s",
        "rtt_ratio": "median over the pairs of the largest over the smallest RTT",
        "rtt_ratio_p90": "its 90th percentile",
        "below": "pairs whose largest RTT is less than twice the geodesic one, percent",
        "gone": "pings without an answer, percent",
        "mbps": "goodput of all flows together, Mbit/s by acknowledged bytes",
        "jain": "Jain's index of the flows' goodput",
        "p5_mbps": "5th percentile of the flows' goodput, Mbit/s",
        "stretch": "median over the flows of the median RTT over the one of propagation at the start",
        "lost": "packets dropped, percent of those sent",
        "estimate": "largest bandwidth that TCP-STAR estimates, Mbit/s of data",
        "near": "goodput of the quarter of flows with the shortest propagation, over that of the longest",
        "lasers": "directions of lasers that carry a packet, percent of all",
        "busy": "mean utilisation of those, percent",
        "busy_p90": "its 90th percentile, percent",
        "unused": "of a path: its rate less that of its busiest link, percent, mean over flows and seconds",
        "third": "seconds of flows with more than a third of the path unused, percent",
        "hit": "flows whose path crosses the failed plane when it fails",
        "hit_mbps": "their goodput from the failure on, Mbit/s",
        "rest_mbps": "that of the others",
        "silent_s": "longest time without new data from the failure on, mean over the flows of the plane, s",
    }

    def cases(self) -> list[Case]:
        """Six experiments; quick: pings, single flows, a permutation and a failure, of few algorithms."""
        few = 2 if self.quick else None
        made = grid([PINGS], [PING], self.seeds(WINDOWS)[: 1 if self.quick else None], scenario)
        made += grid(PAIRS, ALONE[:few], self.seeds(WINDOWS), scenario)
        made += grid([LOADED], CROWD[:few], self.seeds(SEEDS), scenario)
        failures = list(FAILURES)[::2] if self.quick else FAILURES
        made += grid(failures, HIT[: 1 if self.quick else None], self.seeds(PLANES), scenario)
        if self.quick:
            return made
        made += grid([MOVING, FROZEN], CROWD[:2], self.seeds(LONG_SEEDS), scenario)
        made += grid([LOADED], [DELIVERY], self.seeds(SEEDS), scenario)
        made += grid([ONE_WAY, TWO_WAY], ["star", DELIVERY], self.seeds(WINDOWS), scenario)
        return made + grid([USERS], [*MANY, GENTLE, RACK], self.seeds(USER_SEEDS), scenario)

    def measure(self, case: Case, result: bp.Result) -> Row:
        """The measures of a row; NaN for those of other experiments."""
        path, row = str(case.keys["path"]), dict.fromkeys(self.columns, math.nan)
        if path == PINGS:
            return row | _pings(result)
        row |= _flows(result)
        if path in (ONE_WAY, TWO_WAY):
            row["estimate"] = _estimate(result)
        if path in (LOADED, MOVING, FROZEN):
            row |= _lasers(result)
        if path in (MOVING, FROZEN):
            free = unused(case.scenario, result)["unused"]
            row |= {"unused": 100 * _mean(free), "third": 100 * _mean(free > EMPTY)}
        return row | (_failed(case.scenario, result, int(case.keys["seed"])) if path in FAILURES else {})

    def text(self, rows: Rows) -> str:
        """The page."""

        def over(first: str, second: str, of: str = "mbps", **keys: Any) -> stats.Interval:
            """A measure of an algorithm over that of another one, paired by seed."""
            mine, other = (rows.values(of, cc=cc, **keys) for cc in (first, second))
            return stats.interval([mine[seed] / other[seed] for seed in mine])

        def table(path: str, ccs: Iterable[str], of: dict[str, tuple[str, int]]) -> str:
            body = [
                [named(cc), *(rows.cell(name, digits, path=path, cc=cc) for name, digits in of.values())]
                for cc in sorted(ccs, key=lambda cc: -rows.mean("mbps", path=path, cc=cc))
            ]
            return markdown(["<algorithm", *of], body)

        shared = {"goodput, Mbit/s": ("mbps", 0), "Jain": ("jain", 3), "p5, Mbit/s": ("p5_mbps", 2)}
        shared |= {"RTT over base": ("stretch", 2), "lost, %": ("lost", 2), "near over far": ("near", 2)}
        alone = [[named(cc), *(cell for path in PAIRS for cell in _window(rows, path, cc))] for cc in ALONE]
        load = [
            [f"{named(cc)}, routes {'frozen' if path == FROZEN else 'that move'}"]
            + [rows.cell(of, 1, path=path, cc=cc) for of in ("lasers", "busy", "busy_p90", "unused", "third")]
            + [rows.cell("mbps", 0, path=path, cc=cc)]
            for cc, path in product(CROWD[:2], (MOVING, FROZEN))
        ]
        heads = [
            "lasers used, %",
            "utilisation, %",
            "p90, %",
            "unused of paths, %",
            "seconds above a third, %",
        ]
        plane = [
            [named(cc), path]
            + [rows.cell(of, digits, path=path, cc=cc) for of, digits in (("hit_mbps", 1), ("rest_mbps", 0))]
            + [rows.cell("silent_s", 1, path=path, cc=cc)]
            for cc, path in product(HIT, FAILURES)
        ]
        return rendered(
            Path(__file__).with_suffix(".md"),
            rows=rows, cell=rows.cell, over=over, lost=lambda cc, path: _lost(rows, cc, path), pairs=PAIRS,
            verdicts=_verdicts(rows, over), windows=WINDOWS, seeds=SEEDS, long_seeds=LONG_SEEDS,
            user_seeds=USER_SEEDS, planes=PLANES, apart=APART_MIN, named=named,
            alone=markdown(["<algorithm", *(head for path in PAIRS for head in (path, "first"))], alone),
            load=markdown(["<traffic", *heads, "goodput, Mbit/s"], load),
            loaded=table(LOADED, (*CROWD, DELIVERY), shared),
            users=table(USERS, (*MANY, GENTLE, RACK), shared),
            two_way=_two_way(rows), opposite=" and ".join(OPPOSITE), loaded_s=LOADED_S,
            plane=markdown(
                ["<algorithm", "<failure", "plane's flows, Mbit/s", "others, Mbit/s", "silence, s"], plane
            ),
        )  # fmt: skip

    def views(self, rows: Rows) -> Iterator[tuple[str, Figure]]:
        """Single flows over a path that moves; the load of lasers and paths; goodput against delay."""
        yield "hypatia-alone.svg", _over_time("Rio de Janeiro to Saint Petersburg")
        yield "hypatia-load.svg", _distributions()
        yield "hypatia-loaded.svg", _crowd(rows)


def named(cc: str) -> str:
    """The name of an algorithm."""
    return VARIANTS[cc][0] if cc in VARIANTS else label(cc)


def scenario(path: str, cc: str, seed: int) -> dict[str, Any]:
    """A run by the names of its row."""
    rate = f"{USERS_MBPS if path == USERS else MBPS} Mbit/s"
    network: dict[str, Any] = {"shell": SHELL, "reach": "length", "update": "100 ms"}
    network |= {"isl": {"rate": rate}, "gsl": {"rate": rate}}
    made = {"title": f"{path}: {cc if path == PINGS else named(cc)}", "seed": seed, "network": network}
    if path in (PINGS, ONE_WAY, TWO_WAY, *PAIRS):
        network["epoch"] = f"{EPOCH + timedelta(minutes=APART_MIN * (seed - 1)):%Y-%m-%dT%H:%M:%SZ}"
    if path == PINGS:
        network |= {"isl": {"rate": "100 Gbit/s"}, "gsl": {"rate": "100 Gbit/s"}}
        traffic = {"kind": "ping", "interval": "1 s", "packet": "42 bytes"}
        flow = {"pairs": "all", "stop": f"{SINGLE_S} s", "traffic": traffic}
        return made | {
            "duration": f"{SINGLE_S + 1} s", "flow": [flow], "record": {"transfers": True, "flows": False},
        }  # fmt: skip
    _, of, options = VARIANTS.get(cc, ("", cc, {}))
    flow = {"cc": of, "profile": "ns3", "start_jitter": "1 ms"} | options
    record: dict[str, Any] = {"interval": "1 s", "flows": False}
    seconds = LOADED_S
    if path in PAIRS:
        seconds = SINGLE_S
        flow |= dict(zip(("from", "to"), PAIRS[path], strict=True))
    elif path in (ONE_WAY, TWO_WAY):
        record |= {"interval": "change", "probes": True}
        ends = [OPPOSITE, OPPOSITE[::-1]][: 1 if path == ONE_WAY else 2]
        flows = [flow | dict(zip(("from", "to"), pair, strict=True)) for pair in ends]
        return made | {"duration": f"{seconds} s", "flow": flows, "record": record}
    elif path == USERS:
        seconds = USERS_S
        flow |= {"pairs": {"gravity": FLOWS}, "start_jitter": "1 s"}
    else:
        flow |= {"pairs": "permutation"}
    if path in (MOVING, FROZEN):
        seconds = LONG_S
        record["links"] = True
        if path == FROZEN:
            network["update"] = f"{2 * LONG_S} s"
    if path in FAILURES:
        record = {"interval": "100 ms"}
        if path != HEALTHY:
            when = f"from {FAILS_S} s, detected after {FAILURES[path]}"
            network["failures"] = [f"satellite {satellite}, {when}" for satellite in plane(seed)]
    return made | {"duration": f"{seconds} s", "flow": [flow], "record": record}


def plane(seed: int) -> range:
    """The satellites of the plane that fails with a seed, each plane seven further east."""
    first = 7 * (seed - 1) % 34 * PER_PLANE
    return range(first, first + PER_PLANE)


def unused(scenario: Mapping[str, Any], result: bp.Result) -> pl.DataFrame:
    """What each flow's path has unused in each second: 1 less the utilisation of its busiest port.

    Args:
        scenario: with a network.
        result: its run, which records links each second.

    Returns:
        Columns t_s (the end of the second), flow, unused (0 to 1). The path is that of the middle of the
        second. There is no row where there is none.
    """
    made = network_of(dict(scenario))
    nodes = {point.name: len(made.satellites) + i for i, point in enumerate(made.stations)}
    node = pl.col("from", "to").replace_strict(nodes, return_dtype=pl.UInt32)
    flows = result.network_flows.select("flow", "from", "to").with_columns(node)
    load = result.port_trace.filter(pl.col("t_s") > 0)
    seconds = load.select(pl.col("t_s").unique()).with_columns(at=pl.col("t_s") - 0.5)
    paths = made.paths.select(pl.col("t_s").alias("since"), "from", "to", "via").sort("since")
    at = flows.join(seconds, how="cross").sort("at").join_asof(
        paths, left_on="at", right_on="since", by=["from", "to"], check_sortedness=False
    )  # fmt: skip
    via = pl.col("via")
    # The port of a station, and that of a satellite to the ground, have their own node as the far end.
    ports = at.filter(via.list.len() > 0).select(
        "t_s", "flow", pl.concat_list("from", via).alias("from"),
        pl.concat_list("from", via.list.slice(1), via.list.last()).alias("to"),
    )  # fmt: skip
    there = ports.explode("from", "to").join(load, on=["t_s", "from", "to"], how="left")
    busiest = 1 - pl.col("busy").fill_null(0.0).max()
    return there.group_by("t_s", "flow", maintain_order=True).agg(busiest.alias("unused"))


def _most(of: pl.Series) -> float:
    return float(of.cast(pl.Float64).to_numpy().max())


def _mean(of: pl.Series) -> float:
    return float(of.cast(pl.Float64).to_numpy().mean())


def _pings(result: bp.Result) -> dict[str, float]:
    """Path changes and RTTs of all pairs."""
    rtt = pl.col("completion_s")
    found = result.transfers.group_by("flow", maintain_order=True).agg(
        rtt.min().alias("least"), rtt.max().alias("most"), rtt.is_null().mean().alias("gone")
    )
    flows = result.network_flows
    where = {city.name: city for city in cities()}
    ends = zip(flows["from"], flows["to"], strict=True)
    geodesic = np.array([geodesic_rtt_s(where[a], where[b]) for a, b in ends])
    ratio = (found["most"] / found["least"]).drop_nulls().to_numpy()
    most = found["most"].fill_null(math.inf).to_numpy()
    return {
        "changes": float(np.median(flows["path_changes"].to_numpy())),
        "rtt_ratio": float(np.median(ratio)),
        "rtt_ratio_p90": float(np.quantile(ratio, 0.9)),
        "below": 100 * float((most < TWICE * geodesic).mean()),
        "gone": 100 * float(found["gone"].to_numpy().mean()),
    }


def geodesic_rtt_s(a: Point, b: Point) -> float:
    """The time of light in vacuum along the ground between two points and back, on a sphere (haversine)."""
    (lat, lon), (to_lat, to_lon) = (np.radians((p.lat_deg, p.lon_deg)) for p in (a, b))
    h = np.sin((to_lat - lat) / 2) ** 2 + np.cos(lat) * np.cos(to_lat) * np.sin((to_lon - lon) / 2) ** 2
    return float(4 * EARTH_KM * np.arcsin(np.sqrt(h)) / LIGHT_KM_S)


def _flows(result: bp.Result) -> dict[str, float]:
    """What flows get."""
    flows, ends = result.flows, result.network_flows
    mbps = ends["acked_goodput_bps"].to_numpy() / 1e6
    stretch = (flows["rtt_p50_s"] / ends["base_rtt_s"]).drop_nulls().drop_nans()
    base = ends["base_rtt_s"].fill_null(math.inf).to_numpy()
    quarter = len(mbps) // 4
    by_base = mbps[np.argsort(base, kind="stable")]
    far = by_base[np.isfinite(np.sort(base))][-quarter:] if quarter else by_base
    return {
        "mbps": float(mbps.sum()),
        "jain": stats.jain(mbps) if len(mbps) > 1 else math.nan,
        "p5_mbps": float(np.quantile(mbps, 0.05)) if len(mbps) > 1 else math.nan,
        "stretch": float(np.median(stretch.to_numpy())) if len(stretch) else math.nan,
        "lost": 100 * (measures.lost(result.json["flows"]) or 0.0),
        "near": float(by_base[:quarter].mean() / far.mean()) if quarter else math.nan,
    }


def _estimate(result: bp.Result) -> float:
    probes = result.probes.filter(pl.col("probe").cast(pl.String) == "bw_segments_per_s")
    return _most(probes["value"]) * SEGMENT * 8e-6


def _utilisations(result: bp.Result) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The utilisation of each direction of a laser that has carried a packet."""
    name = pl.col("name").cast(pl.String)
    of = result.links.filter(name.str.contains(r"^\d+>\d+$"), pl.col("utilisation") > 0)
    return of["utilisation"].to_numpy()


def _lasers(result: bp.Result) -> dict[str, float]:
    busy = 100 * _utilisations(result)
    return {
        "lasers": 100 * busy.size / DIRECTIONS,
        "busy": float(busy.mean()),
        "busy_p90": float(np.quantile(busy, 0.9)),
    }


def _failed(scenario: Mapping[str, Any], result: bp.Result, seed: int) -> dict[str, float]:
    """What the flows over a plane have from the instant on at which it fails, and the others."""
    made = network_of(dict(scenario))
    names = [*map(str, made.satellites), *(point.name for point in made.stations)]
    before = made.paths.filter(pl.col("t_s") < FAILS_S).unique(
        ["from", "to"], keep="last", maintain_order=True
    )
    failed = pl.col("via").list.eval(pl.element().is_in(list(plane(seed)))).list.any()
    crossing = {(names[a], names[b]) for a, b in before.filter(failed).select("from", "to").iter_rows()}
    after = result.trace.filter(pl.col("t_s") >= FAILS_S).select(
        "t_s", pl.col("flow").cast(pl.String), "delivered_bytes"
    )
    of = {flow: rows for (flow,), rows in after.group_by("flow", maintain_order=True)}
    got: dict[bool, list[float]] = {True: [], False: []}
    silent = []
    for row in result.network_flows.select("flow", "from", "to").iter_rows():
        t, delivered = (of[row[0]][column].to_numpy() for column in ("t_s", "delivered_bytes"))
        hit = row[1:] in crossing
        got[hit].append(float(delivered[-1] - delivered[0]) * 8e-6 / float(t[-1] - t[0]))
        if hit:
            fresh = np.concatenate(([t[0]], t[1:][np.diff(delivered) > 0], [t[-1]]))
            silent.append(float(np.diff(fresh).max()))
    return {
        "hit": float(len(silent)), "hit_mbps": sum(got[True]), "rest_mbps": sum(got[False]),
        "silent_s": float(np.mean(silent)) if silent else math.nan,
    }  # fmt: skip


def _window(rows: Rows, path: str, cc: str) -> tuple[str, str]:
    """Goodput of a single flow, mean over the windows, and that of the paper's window."""
    return rows.cell("mbps", 1, path=path, cc=cc), f"{rows.values('mbps', path=path, cc=cc)[1]:.1f}"


def _two_way(rows: Rows) -> str:
    """TCP-STAR without and with data in the opposite direction."""
    body = [
        [named(cc), path, rows.cell("lost", 1, path=path, cc=cc), rows.cell("estimate", 0, path=path, cc=cc)]
        + [rows.cell("mbps", 1, path=path, cc=cc)]
        for cc, path in product(("star", DELIVERY), (ONE_WAY, TWO_WAY))
    ]
    heads = ["lost, %", "largest estimate, Mbit/s", "goodput, Mbit/s"]
    return markdown(["<algorithm", "<traffic", *heads], body)


def _lost(rows: Rows, cc: str, path: str) -> str:
    """Goodput that the flows of a plane lose by its failure, percent, paired by seed."""
    healthy, failed = (rows.values("hit_mbps", path=one, cc=cc) for one in (HEALTHY, path))
    lost = stats.interval([100 * (1 - failed[seed] / healthy[seed]) for seed in failed])
    return shown(lost.centre, lost.half_width, 0)


def _verdicts(rows: Rows, over: Any) -> str:
    """Statements of the paper, what is measured, and whether it agrees."""
    below = rows.interval("below", path=PINGS, cc=PING)
    assert below is not None
    body = [
        [
            "More than 80 % of the pairs never see an RTT of twice the geodesic one",
            f"{shown(below.centre, below.half_width, 1)} %",
            _judged(below, MOST_BELOW, above=True),
        ]
    ]
    for path in PAIRS:
        ratio = over(RESET, "vegas", path=path)
        body.append(
            [
                f"Vegas takes a longer path for congestion: with the reset it has more goodput, {path}",
                f"{shown(ratio.centre, ratio.half_width, 2)} times",
                _judged(ratio, 1.0, above=True),
            ]
        )
    return markdown(["<statement", "measured", "<verdict"], body)


def _judged(of: stats.Interval, bound: float, *, above: bool) -> str:
    """By the whole interval."""
    low, high = of.centre - of.half_width, of.centre + of.half_width
    if low > bound or high < bound:
        return "holds" if (low > bound) == above else "differs"
    return "undecided"


@cache
def _ran(path: str, cc: str, seed: int = 1) -> tuple[dict[str, Any], bp.Result]:
    """A run of a figure; those of single flows record windows and RTTs."""
    made = scenario(path, cc, seed)
    made["record"] = {"interval": "1 s", "links": path not in PAIRS}
    return made, bp.run(made)


def _over_time(path: str) -> Figure:
    """RTT and goodput of single flows over a path that moves, and its RTT without queues."""
    figure = Figure(figsize=(8.6, 4.6), layout="constrained")
    rtt, goodput = figure.subplots(2, 1, sharex=True)
    pings = scenario(path, "reno", 1)
    pings["flow"] = [
        dict(zip(("from", "to"), PAIRS[path], strict=True))
        | {"traffic": {"kind": "ping", "interval": "100 ms", "packet": "42 bytes"}}
    ]
    pings["record"] = {"transfers": True}
    alone = bp.run(pings).transfers
    rtt.plot(
        alone["start_s"], alone["completion_s"].cast(pl.Float64) * 1e3, color="0.6", linewidth=2.2,
        label="the path without queues",
    )  # fmt: skip
    answered = pl.col("completion_s").is_not_null() | (pl.col("start_s") > SINGLE_S - 1)  # the run ends first
    gone = alone.filter(~answered)["start_s"].to_numpy()
    for cc in ("reno", "vegas", RESET):
        trace = _ran(path, cc)[1].trace
        look = bp.plot.look("vegas" if cc == RESET else cc) | {
            "label": named(cc),
            "marker": "",
            "linewidth": 1,
        }
        look |= {"linestyle": ":", "linewidth": 1.5} if cc == RESET else {}
        t = trace["t_s"].to_numpy()
        rtt.plot(t, trace["rtt_s"].to_numpy() * 1e3, **look)
        goodput.plot(t[1:], np.diff(trace["delivered_bytes"].to_numpy()) * 8e-6 / np.diff(t), **look)
    for axes in (rtt, goodput):
        if gone.size:
            axes.axvspan(gone[0], gone[-1], color="#eeeeee", zorder=0)
    rtt.set(ylabel="RTT, ms", ylim=0)
    goodput.set(xlabel="time, s", ylabel="goodput, Mbit/s", ylim=0)
    rtt.legend(frameon=False, ncols=4, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def _distributions() -> Figure:
    """Distributions of the utilisation of lasers, and of what paths have unused in a second."""
    figure = Figure(figsize=(8.6, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for cc, path in product(CROWD[:2], (MOVING, FROZEN)):
        made, result = _ran(path, cc)
        words = f"{named(cc)}, routes {'frozen' if path == FROZEN else 'that move'}"
        look = bp.plot.look(cc, words) | {"marker": "", "linestyle": ":" if path == FROZEN else "-"}
        for axes, values in (
            (left, _utilisations(result)),
            (right, unused(made, result)["unused"].to_numpy()),
        ):
            axes.ecdf(100 * values, **look)
    left.set(xlabel="utilisation of a laser over 100 s, %", ylabel="share of the lasers used")
    right.set(xlabel="unused of a path in a second, %", ylabel="share of flows and seconds")
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False,
                  fontsize="small")  # fmt: skip
    return figure


def _crowd(rows: Rows) -> Figure:
    """Goodput of a hundred flows against their delay, and the fifth percentile of flows."""
    figure = Figure(figsize=(8.6, 3.8), layout="constrained")
    for axes, of, words in zip(
        figure.subplots(1, 2),
        ("mbps", "p5_mbps"),
        ("goodput of 100 flows, Mbit/s", "5th percentile of the flows, Mbit/s"),
        strict=True,
    ):
        for cc in CROWD:
            x, y = (rows.interval(name, path=LOADED, cc=cc) for name in ("stretch", of))
            if x is not None and y is not None:
                look = bp.plot.look(cc, label(cc)) | {"linestyle": "", "capsize": 2}
                axes.errorbar(x.centre, y.centre, y.half_width, x.half_width, **look)
        axes.set(xlabel="median RTT over that of propagation", ylabel=words, ylim=0)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False,
                  fontsize="small")  # fmt: skip
    return figure

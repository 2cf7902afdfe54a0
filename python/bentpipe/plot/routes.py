"""Limits set by the links of a flow's path: capacity, the round trip without queues, handovers, buffer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import polars as pl

from bentpipe.models import KINDS
from bentpipe.result import Result
from bentpipe.units import FACTORS, number, quantity

_OPPOSITE = {"forward": "reverse", "reverse": "forward"}


@dataclass(frozen=True)
class Route:
    """The path of one flow.

    Attributes:
        there: link directions that data crosses, ("sat", "forward"), in order.
        access_s: round trip outside the links.
        payload: bytes of payload in a full packet.
        packet: bytes of a full packet.
        over: columns t_s; rate_bps of the slowest link, 0 in an outage; floor_s, the round trip without
            queues, null if it is not known; handovers so far. Each row holds until the next.
        sure: whether `over` has the rate at every instant. It has not where a link changes and the scenario
            does not record its links.
    """

    there: tuple[tuple[str, str], ...]
    access_s: float
    payload: float
    packet: float
    over: pl.DataFrame
    sure: bool

    @property
    def rate_bps(self) -> float:
        """The largest rate that the path ever had."""
        return largest(self.over["rate_bps"])


def largest(values: pl.Series, default: float = 0.0) -> float:
    """The largest value, if there is one."""
    found = values.max()
    return float(found) if isinstance(found, int | float) else default


def route(result: Result, flow: str) -> Route:
    """The path of a flow by its name."""
    given, half, part = _given(result, flow)
    path = given["path"]
    if half == "subflow" and (place := int(flow.rpartition("/")[2])) > 1:
        path = given["subflow"][place - 2]["path"]
    there = [(name.partition("/")[0], "reverse" if "/" in name else "forward") for name in path]
    at_server, turned = True, bool(given.get("both_ways")) and part == 1
    if _is_dialogue(given) and part is not None:
        turned = part < _parts(given) // 2
    if (relay := given.get("relay")) and part is not None:
        at = relay["at"]
        split = 1 + next((i for i, (link, _) in enumerate(there) if link == at), 0)
        at_server = part in ((1, 2) if _is_dialogue(given) else (0,))
        there = there[:split] if at_server else there[split:]
    if turned:
        there = [(link, _OPPOSITE[way]) for link, way in reversed(there)]
    extra = str(given.get("extra_delay") or "0 s")
    access = 2 * quantity("time", extra, "extra_delay") if at_server else 0.0
    payload = size(given.get("mss"))
    over = _recorded(result, there, access) if result.link_trace.height else _nominal(result, there, access)
    sure = result.link_trace.height > 0 or all(_steady(link_keys(result, *way)) for way in there)
    return Route(tuple(there), access, payload, payload + size(given.get("header")), over, sure)


def buffer_packets(result: Result, way: str, packet: float) -> float | None:
    """The limit of the queue of "sat/forward" in packets of `packet` bytes; None where none is given.

    One bandwidth-delay product is that of the link alone, as the simulator has it.
    """
    link, _, direction = way.rpartition("/")
    keys = link_keys(result, link, direction)
    limit = (keys.get("queue") or {}).get("limit")
    if not isinstance(limit, str):
        return None
    if (packets := number(limit, {"packets": 1.0})) is not None:
        return packets
    if (octets := number(limit, FACTORS["size"])) is not None:
        return octets / packet
    products = number(limit, {"bdp": 1.0})
    round_trip = _round_trip(result, [(link, direction)])
    rate = _rate(result, link, direction)
    if products is None or round_trip is None or rate is None:
        return None
    return products * rate * round_trip / 8 / packet


def link_keys(result: Result, link: str, direction: str) -> dict[str, Any]:
    """The keys of a direction of a link in the resolved scenario."""
    keys: dict[str, Any] = result.scenario["link"][link]
    if direction == "forward":
        return keys
    shared = {key: keys[key] for key in ("rate", "delay", "timeline") if key in keys}
    back: dict[str, Any] = keys.get("reverse", {})
    return shared | back


def size(value: Any) -> float:
    """A size of a resolved scenario: a number of bytes, or text such as "1448 bytes"."""
    return float(value) if isinstance(value, int | float) else number(str(value), FACTORS["size"]) or 0.0


def _is_dialogue(given: dict[str, Any]) -> bool:
    """Whether a client asks and a server answers."""
    kind = KINDS.get((given.get("traffic") or {}).get("kind", ""))
    return kind is not None and kind.carriage == "dialogue"


def _parts(given: dict[str, Any]) -> int:
    """Rows of one flow in the result, subflows not counted."""
    halves = 2 if given.get("relay") or given.get("both_ways") else 1
    return 2 * halves if _is_dialogue(given) else halves


def _given(result: Result, flow: str) -> tuple[dict[str, Any], str | None, int | None]:
    """The keys of a flow in the scenario, which half of it the name means, and its number among the parts.

    A trace has each connection of a source under its own name, "web/3/responses", and the result one row.
    """
    rows = [row["name"] for row in result.json["flows"]]
    row = flow if flow in rows else re.sub(r"/\d+(?=/|$)", "", flow, count=1)
    names = iter(result.json["flows"])
    for given in result.scenario["flow"]:
        joined = len(given.get("subflow", ()))
        each = 2 + joined if joined else _parts(given)
        for place in range(given.get("count", 1) * each):
            found = next(names, None)
            if found is not None and found["name"] == row:
                return given, found["half"], place % each
    return result.scenario["flow"][0], None, None


def _steady(keys: dict[str, Any]) -> bool:
    """Whether a direction of a link has one rate from beginning to end."""
    return isinstance(keys.get("rate"), str) and not {"timeline", "opportunities"} & keys.keys()


def _recorded(result: Result, there: list[tuple[str, str]], access_s: float) -> pl.DataFrame:
    known = result.link_trace.with_columns(pl.col("link").cast(pl.String))
    ways = [f"{link}/{way}" for link, way in there]
    back = [f"{link}/{_OPPOSITE[way]}" for link, way in there]
    path = (
        known.filter(pl.col("link").is_in(ways))
        .group_by("t_s", maintain_order=True)
        .agg(pl.col("rate_bps").min(), pl.col("delay_s").sum(), pl.col("handovers").sum())
    )
    returned = known.filter(pl.col("link").is_in(back)).group_by("t_s", maintain_order=True)
    returns = returned.agg(pl.col("delay_s").sum())["delay_s"]
    floor = (path["delay_s"] + returns + access_s).alias("floor_s")
    return path.select("t_s", "rate_bps", floor, "handovers")


def _nominal(result: Result, there: list[tuple[str, str]], access_s: float) -> pl.DataFrame:
    """One row, from the data of the scenario and the result on the links as a whole."""
    rates = [rate for link, way in there if (rate := _rate(result, link, way)) is not None]
    round_trip = _round_trip(result, there)
    return pl.DataFrame(
        {
            "t_s": [0.0],
            "rate_bps": [min(rates, default=0.0)],
            "floor_s": [None if round_trip is None else round_trip + access_s],
            "handovers": [0],
        },
        schema_overrides={"floor_s": pl.Float64},
    )


def _rate(result: Result, link: str, way: str) -> float | None:
    for row in result.json["links"]:
        if (row["name"], row["direction"]) == (link, way):
            return float(row["rate_bps"])
    return None


def _round_trip(result: Result, there: list[tuple[str, str]]) -> float | None:
    """The delays both ways, if the scenario names each as one number."""
    total = 0.0
    for link, way in there:
        for direction in (way, _OPPOSITE[way]):
            keys = link_keys(result, link, direction)
            if not isinstance(keys.get("delay"), str) or "timeline" in result.scenario["link"][link]:
                return None
            total += quantity("time", keys["delay"], "delay")
    return total

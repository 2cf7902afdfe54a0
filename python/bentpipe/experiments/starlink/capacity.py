"""BBR and CUBIC over measured Starlink capacity, beside TCP measured minutes apart: docs/starlink.md.

Written are distributions alone: validation/starlink.csv, the figure starlink.svg, and tables of the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import bentpipe as bp
from bentpipe.experiments.experiment import case_of
from bentpipe.experiments.rows import Rows
from bentpipe.experiments.starlink import measured as data
from bentpipe.experiments.starlink.experiment import OfStarlink, Tests, by_setting, transfers
from bentpipe.io.toml_tables import beside
from bentpipe.pages.markdown import markdown, rendered, texts
from bentpipe.sweeps.case import Case, Key

PAGE = Path(__file__).with_suffix(".md")
SHARES = (10, 25, 50, 75, 90)


@dataclass(frozen=True)
class SenderVariant:
    """A sender and a path: the changes against a buffer of one bandwidth-delay product."""

    name: str
    cc: str
    label: str
    buffer_bdp: float = 1.0
    window: str | None = None
    share: float = 1.0  #: share of the UDP rate that TCP can get.
    loss: float = 0.0  #: of the packets that are lost at random.
    ping: bool = True  #: the delay follows the ping; else it is constant, half of the least round trip.
    outages: bool = True  #: packets sent in an outage of the dish are lost.


_GIVEN = beside(__file__, "capacity.toml")
VARIANTS = [SenderVariant(name, **of) for name, of in _GIVEN["variants"].items()]


class OverCapacity(OfStarlink):
    """The experiment."""

    name = "starlink"

    def cases(self) -> list[Case]:
        """Each variant over each measured capacity; quick: over the first two."""
        place = self.given(data.PLACE / data.DAY)
        capacities, tests, _ = data.measured(self.given())
        if not capacities or not tests:
            raise bp.ScenarioError(
                f"{place}: {len(capacities)} UDP and {len(tests)} TCP runs can be read; both are needed"
            )
        found = []
        for variant, seed in product(VARIANTS, self.seeds(len(capacities))):
            capacity, line = capacities[seed - 1], self.lines / f"{variant.name}-{seed}.csv"
            run = scenario(capacity, variant, line, seed=seed)
            settings: dict[str, Key] = {"counted": "", "capacity_bps": capacity.mean_bps}
            found.append(case_of({"variant": variant.name, "seed": seed}, run, **settings))
        return found

    def parts(self, rows: Rows) -> Iterator[tuple[str, list[list[str]], str]]:
        """The table of distributions; of a full experiment the figure, too."""
        directory = self.given()
        seen = transfers(directory, data.DAY, "downlink")
        found = {"measured": TransferSet("measured (BBR)", seen, "settled")}
        found["reported"] = TransferSet("measured (BBR), counts as reported", seen, "reported")
        labels = {variant.name: variant.label for variant in VARIANTS}
        for (name,), tests in by_setting(rows, "variant").items():
            found[str(name)] = TransferSet(labels[str(name)], tests, "sender")
        if not self.quick:
            figure(self.out / "starlink.svg", found)
        capacities, tcp, skipped = data.measured(directory)
        near = [data.near(capacities, c.begin_s, within_s=2 * data.NEAR_S) for c in capacities]
        part = rendered(
            PAGE, signs=_signs(data.signs(directory)), shares=_shares(found), tests=tcp, skipped=skipped,
            seen=seen.share, mbps=[c.mean_bps / 1e6 for c in capacities], minutes=data.NEAR_S / 60,
            rtt_ms=[c.rtt_s * 1e3 for c in capacities],
            chance=[c.mean_bps / of for c, of in zip(capacities, near, strict=True) if of is not None],
            quantiles=lambda values, shares: tuple(np.percentile(values, shares)),
        )  # fmt: skip
        lines = [[name, *of.row().values()] for name, of in found.items()]
        yield "starlink", [["transfers", *found["measured"].row()], *lines], part


def scenario(capacity: data.Capacity, variant: SenderVariant, line: Path, *, seed: int) -> bp.Scenario:
    """One flow over a measured capacity, whose time line is written to `line`.

    The rate is that of the IP packets that carried the measured payload, in both directions: an outage of one
    is one of the other. The buffer is a multiple of the mean rate times the least round trip.
    """
    to_ip = variant.share * data.TO_WIRE
    rate_bps, delay_s = capacity.mean_bps * to_ip, capacity.rtt_s / 2
    frame = capacity.frame.with_columns(pl.col("rate_bps") * to_ip)
    if variant.ping:
        frame = bp.timeline.join(frame, data.repeated(capacity.ping, data.TEST_S), columns=["delay_s"])
    else:
        frame = frame.with_columns(delay_s=pl.lit(delay_s))
    if variant.outages:
        lost = pl.max_horizontal("loss_rate", pl.lit(variant.loss))
        frame = bp.timeline.join(frame, capacity.outages.with_columns(loss_rate=lost), columns=["loss_rate"])
    bp.timeline.write(frame, line)
    limit = variant.buffer_bdp * rate_bps * capacity.rtt_s / 8
    link: dict[str, object] = {
        "rate": f"{rate_bps:.0f} bit/s",
        "delay": f"{delay_s * 1e3:.6f} ms",
        "timeline": str(line),
        "queue": {"kind": "drop-tail", "limit": f"{max(limit, 10 * (data.MSS + data.HEADER)):.0f} bytes"},
    }
    if variant.loss or variant.outages:
        link["loss"] = {"kind": "packet-error", "rate": variant.loss}
    flow: dict[str, object] = {
        "cc": variant.cc, "path": ["sat"], "mss": f"{data.MSS} bytes", "header": f"{data.HEADER} bytes",
        "min_rto": "200 ms",  # as Linux has it, which sent the measured flows
    }  # fmt: skip
    if variant.window is not None:
        flow["receive_window"] = variant.window
    record = {"interval": f"{data.SLOT_S * 1e3:g} ms"}
    return bp.Scenario.from_dict(
        {
            "duration": f"{data.TEST_S:g} s", "seed": seed, "record": record,
            "link": {"sat": link}, "flow": [flow],
        }
    )  # fmt: skip


class TransferSet(NamedTuple):
    """One set of transfers in table and figure; `way` is how its segments sent again are counted."""

    label: str
    tests: Tests
    way: str

    @property
    def again(self) -> np.ndarray:
        """Segments sent again over segments delivered, by test."""
        return np.array(self.tests.again[self.way])

    def row(self) -> dict[str, str]:
        """The row of the table, without its name."""
        tests = self.tests
        row = {"tests": str(len(tests.share))}
        for key, values in (("goodput", tests.share), ("slot", tests.slots), ("again", self.again)):
            row |= {f"{key}_p{share}": f"{np.percentile(values, share):.4g}" for share in SHARES}
        return row | {"idle_slots": f"{tests.idle:.4g}"}


def _signs(seen: Mapping[str, data.Signs]) -> str:
    named = {day: f"downlink, {day[6:]} May" for day in data.DAYS} | {"uplink": f"uplink, {data.DAY[6:]} May"}
    heads = ("<", "tests", "window falls, none resent", "window rises", "tests with 5 KB", "tests with less")
    rows = [[named[key], *map(str, of)] for key, of in seen.items()]
    return markdown(heads, rows, spaced=True)


def _shares(found: Mapping[str, TransferSet]) -> str:
    heads = (
        "sender and path", "goodput / capacity of tests, %: p10, p50, p90",
        "of half seconds, %: p10, p50, p90",
        "idle half seconds, %", "sent again in tests, %: p10, p50, p90",
    )  # fmt: skip
    rows = []
    for of in found.values():
        row = {key: 100 * float(cell) for key, cell in of.row().items()}  # as rounded in the table
        goodput, slot, again = (
            ", ".join(f"{row[f'{key}_p{share}']:.{digits}f}" for share in (10, 50, 90))
            for key, digits in (("goodput", 0), ("slot", 0), ("again", 2))
        )
        rows.append([of.label, goodput, slot, f"{row['idle_slots']:.1f}", again])
    return markdown(texts(heads), rows, spaced=True)


SHOWN: dict[str, tuple[str, str, float]] = _GIVEN["shown"]
"""The curves of the figure: colour, dashes, width."""


def figure(path: Path, found: Mapping[str, TransferSet]) -> None:
    """Distributions of goodput over capacity, of tests and of half seconds, and of segments sent again."""
    drawn = Figure(figsize=(2 * bp.plot.WIDTH, 3.2), layout="constrained")
    with bp.plot.styled():
        tests, slots, again = drawn.subplots(1, 3, sharey=True)
        for name, look in SHOWN.items():
            of = found[name]
            _steps(tests, of.tests.share, look, of.label)
            _steps(slots, of.tests.slots, look, of.label)
            _steps(again, 100 * of.again, look, of.label)
        tests.set(xlabel="tests: goodput / capacity", xlim=(0, 1.4), ylim=(0, 1), ylabel="share")
        slots.set(xlabel="half seconds: goodput / capacity", xlim=(0, 2))
        again.set(xlabel="tests: segments sent again, %", xscale="log", xlim=(0.01, 20))
        drawn.legend(*tests.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    bp.plot.save(drawn, path)


STEPS = 200
"""A curve of the figure has no more."""


def _steps(axes: Axes, values: np.ndarray, look: tuple[str, str, float], label: str) -> None:
    ordered = np.sort(np.maximum(values, 1e-3))  # a logarithmic axis has no place for 0
    shares = np.arange(1, len(ordered) + 1) / len(ordered)
    if len(ordered) > STEPS:
        shares = np.arange(1, STEPS + 1) / STEPS
        ordered = np.quantile(ordered, shares)
    colour, dashes, width = look
    axes.step(ordered, shares, where="post", color=colour, linestyle=dashes, linewidth=width, label=label)

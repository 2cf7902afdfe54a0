"""Simulated CUBIC over measured Starlink capacity, beside TCP measured minutes apart: docs/starlink.md.

    git -C STARLINK archive 4beb9fa1 datasets/maine_starlink_trip/starlink/20240527 | tar x -C DIR
    python scripts/starlink.py DIR

STARLINK is a clone of NUWiNS/starlink-measurement. Only the runs of 27 May 2024 are read: the days after are
kept for judging. The data has no licence, so only distributions are written: docs/validation/starlink.csv,
the figure docs/starlink.svg, and the tables of docs/starlink.md.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import bentpipe as bp
from bentpipe import files, terminal
from bentpipe.timeline.traces import nuttcp

DAY = "20240527"
PLACE = Path("datasets/maine_starlink_trip/starlink") / DAY
DOCS = Path(__file__).resolve().parent.parent / "docs"
TEST_S = 120.0
SLOT_S = 0.5
NEAR_S = 15 * 60.0
"""UDP and TCP took turns, about seven minutes apart. A pause for lunch is no neighbour."""
MSS = 1408
"""Of the uplink's report, "connect ... with mss=1408"; that of the downlink does not say."""
HEADER = 52
DATAGRAM, DATAGRAM_HEADER = 1400, 28
"""Payload of iperf3's datagrams (`-l 1400` in run_network_measurement.sh), and the heads of UDP and IPv4."""
DARK_BPS = 1e6
"""A slot in which less came through was dark."""
SHARES = (10, 25, 50, 75, 90)


@dataclass(frozen=True)
class Capacity:
    """A measured UDP downlink: when it began, what came through in each slot, and the ping minutes later."""

    begin_s: float
    frame: pl.DataFrame
    ping: pl.DataFrame

    @property
    def rtt_s(self) -> float:
        """The least round trip of the ping."""
        return 2 * float(np.min(self.ping["delay_s"].to_numpy()))

    @property
    def mean_bps(self) -> float:
        """Payload that came through, bits per second, over the whole test."""
        return float(bp.timeline.summary(self.frame)["rate_bps"]["mean"])


@dataclass(frozen=True)
class Transfer:
    """A TCP downlink: goodput of each slot, and segments sent again of those delivered."""

    begin_s: float
    slots_bps: np.ndarray
    again: float


@dataclass(frozen=True)
class Variant:
    """How a capacity is simulated: what is changed against a buffer of one bandwidth-delay product."""

    name: str
    label: str
    buffer_bdp: float = 1.0
    loss: float = 0.0
    window: str | None = None
    ping: bool = False
    dark_loses: bool = False
    outage: str | None = None


VARIANTS = (
    Variant("buffer-0.25", "buffer 0.25 BDP", buffer_bdp=0.25),
    Variant("buffer-0.5", "buffer 0.5 BDP", buffer_bdp=0.5),
    Variant("buffer-1", "buffer 1 BDP"),
    Variant("buffer-2", "buffer 2 BDP", buffer_bdp=2.0),
    Variant("buffer-4", "buffer 4 BDP", buffer_bdp=4.0),
    Variant("window-2MB", "1 BDP, receive window 2 MB", window="2 MB"),
    Variant("loss-1e-5", "1 BDP, loss 0.001 %", loss=1e-5),
    Variant("loss-1e-4", "1 BDP, loss 0.01 %", loss=1e-4),
    Variant("loss-1e-3", "1 BDP, loss 0.1 %", loss=1e-3),
    Variant("ping", "1 BDP, delay as ping saw it", ping=True),
    Variant("dark-loses", "1 BDP, idle slots lose what is sent", dark_loses=True),
    Variant("outage-100ms", "1 BDP, all lost for 100 ms every 15 s", outage="100 ms"),
    Variant("outage-400ms", "1 BDP, all lost for 400 ms every 15 s", outage="400 ms"),
    Variant("ping-2MB", "1 BDP, delay as ping saw it, window 2 MB", window="2 MB", ping=True),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Reads the measurements, simulates, writes the three files. Exit status 2: the data is not there."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "directory", type=Path, help="with datasets/maine_starlink_trip/starlink/20240527 in it"
    )
    parser.add_argument("--out", type=Path, default=DOCS, help="where starlink.md lies; default docs")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args(arguments)
    place = given.directory / PLACE
    if not place.is_dir():
        terminal.error(f"{place} is no directory; the head of {Path(__file__).name} says how to get it")
        return 2
    capacities, transfers, skipped = measured(place)
    if not capacities or not transfers:
        terminal.error(
            f"{place}: {len(capacities)} UDP and {len(transfers)} TCP runs can be read; both are needed"
        )
        return 2
    simulated = simulate(capacities, given.threads)
    write(given.out, capacities, transfers, simulated, skipped)
    return 0


def measured(place: Path) -> tuple[list[Capacity], list[Transfer], list[str]]:
    """The UDP and the TCP downlinks of a day, and what cannot be read, each with its reason."""
    capacities, transfers, skipped = [], [], []
    for run in sorted(entry for entry in place.iterdir() if entry.is_dir()):
        try:
            for file in run.glob("udp_downlink_*.out"):
                (ping,) = run.glob("ping_*.out")
                frame, delays = bp.timeline.read_trace(file, "iperf3"), bp.timeline.read_trace(ping, "ping")
                capacities.append(Capacity(_begin(file), frame, delays.select("t_s", "delay_s")))
            for file in run.glob("tcp_downlink_*.out"):
                transfers.append(_transfer(file))
        except (bp.ScenarioError, ValueError) as wrong:
            skipped.append(str(wrong).replace(str(place), "."))
    return capacities, transfers, skipped


def _begin(file: Path) -> float:
    found = re.search(r"Start time: (\d+)", file.read_text(encoding="utf-8"))
    if found is None:
        raise bp.ScenarioError(f"{file}: no line says its start time")
    return int(found[1]) / 1000


def _transfer(file: Path) -> Transfer:
    rows = nuttcp.intervals(file)
    ends = np.array([row.end_s for row in rows])
    bits = np.cumsum([row.rate_bps * (row.end_s - row.begin_s) for row in rows])
    slots = np.diff(np.interp(np.arange(0, TEST_S + SLOT_S / 2, SLOT_S), [0, *ends], [0, *bits])) / SLOT_S
    # The count at the end is of the whole test; many reports lack it, and their intervals miss the last ones.
    total = re.search(r"nuttcp-t: retrans = (\d+)", file.read_text(encoding="utf-8"))
    again = int(total[1]) if total else sum(row.retransmitted or 0 for row in rows)
    return Transfer(_begin(file), slots, again / (bits[-1] / 8 / MSS))


def simulate(capacities: Sequence[Capacity], threads: int) -> dict[str, list[Transfer]]:
    """Each variant over each capacity; in the order of both."""
    found: dict[str, list[Transfer]] = {}
    with tempfile.TemporaryDirectory() as work, terminal.Bar("CUBIC over measured capacity") as bar:
        for done, variant in enumerate(VARIANTS):
            bar(done, len(VARIANTS))
            scenarios = [
                scenario(capacity, variant, Path(work) / f"{variant.name}-{i}.csv", seed=i + 1)
                for i, capacity in enumerate(capacities)
            ]
            results = bp.run_many(scenarios, threads)
            found[variant.name] = [_simulated(*pair) for pair in zip(capacities, results, strict=True)]
    return found


def scenario(capacity: Capacity, variant: Variant, line: Path, *, seed: int) -> bp.Scenario:
    """One CUBIC flow over a measured capacity, whose time line is written to `line`.

    The rate is that of the IP packets that carried the measured payload, in both directions: what darkens one
    darkens the other. The buffer is a multiple of the mean rate times the least round trip.
    """
    to_ip = (DATAGRAM + DATAGRAM_HEADER) / DATAGRAM
    rate_bps, delay_s = capacity.mean_bps * to_ip, capacity.rtt_s / 2
    frame = capacity.frame.with_columns(pl.col("rate_bps") * to_ip)
    if variant.ping:
        frame = bp.timeline.join(frame, repeated(capacity.ping, TEST_S), columns=["delay_s"])
    else:
        frame = frame.with_columns(delay_s=pl.lit(delay_s))
    if variant.dark_loses:
        # What is sent at the rate of the slot before is lost, instead of waiting in the transmitter.
        dark = pl.col("rate_bps") < DARK_BPS
        last = pl.when(dark).then(None).otherwise(pl.col("rate_bps")).forward_fill().fill_null(rate_bps)
        frame = frame.with_columns(last.alias("rate_bps"), loss_rate=dark.cast(pl.Float64))
    bp.timeline.write(frame, line)
    limit = variant.buffer_bdp * rate_bps * capacity.rtt_s / 8
    link: dict[str, object] = {
        "rate": f"{rate_bps:.0f} bit/s",
        "delay": f"{delay_s * 1e3:.6f} ms",
        "timeline": str(line),
        "queue": {"kind": "drop-tail", "limit": f"{max(limit, 10 * (MSS + HEADER)):.0f} bytes"},
    }
    if variant.loss or variant.dark_loses:
        link["loss"] = {"kind": "packet-error", "rate": variant.loss}
    if variant.outage is not None:
        link["loss"] = {"kind": "outage", "every": "15 s", "length": variant.outage}
    flow: dict[str, object] = {
        "cc": "cubic", "path": ["sat"], "mss": f"{MSS} bytes", "header": f"{HEADER} bytes",
        "min_rto": "200 ms",  # as Linux has it, which sent the measured flows
    }  # fmt: skip
    if variant.window is not None:
        flow["receive_window"] = variant.window
    record = {"interval": f"{SLOT_S * 1e3:g} ms"}
    return bp.Scenario.from_dict(
        {
            "duration": f"{TEST_S:g} s", "seed": seed, "record": record,
            "link": {"sat": link}, "flow": [flow],
        }
    )  # fmt: skip


def repeated(frame: pl.DataFrame, length_s: float) -> pl.DataFrame:
    """A time line over and over until it is at least so long, its last value held for a usual step."""
    times = frame["t_s"].to_numpy()
    period = float(times[-1] + np.median(np.diff(times)))
    rounds = int(np.ceil(length_s / period))
    return pl.concat([frame.with_columns(pl.col("t_s") + i * period) for i in range(rounds)])


def _simulated(capacity: Capacity, result: bp.Result) -> Transfer:
    times, delivered = result.trace["t_s"].to_numpy(), result.trace["delivered_bytes"].to_numpy()
    bits = 8.0 * np.interp(np.arange(0, TEST_S + SLOT_S / 2, SLOT_S), times, delivered)
    row = result.flows.row(0, named=True)
    again = row["retransmitted_packets"] * MSS / row["delivered_bytes"]
    return Transfer(capacity.begin_s, np.diff(bits) / SLOT_S, again)


@dataclass(frozen=True)
class Distribution:
    """What is set side by side of one set of transfers: shares of capacity, and segments sent again.

    Attributes:
        whole: for each test, its mean goodput over the mean capacity.
        slots: for each half second of all tests, its goodput over the mean capacity.
        idle: the share of those in which less than 1 % of the mean capacity came through.
        again: for each test, segments sent again over segments delivered.
    """

    whole: np.ndarray
    slots: np.ndarray
    idle: float
    again: np.ndarray


def distribution(
    transfers: Sequence[Transfer], capacity_bps: Callable[[float], float | None]
) -> Distribution:
    """The distributions of transfers, each over the capacity at its time; those without one are left out."""
    known = [(found, mean) for found in transfers if (mean := capacity_bps(found.begin_s)) is not None]
    slots = np.concatenate([found.slots_bps / mean for found, mean in known])
    return Distribution(
        np.array([found.slots_bps.mean() / mean for found, mean in known]),
        slots,
        float(np.mean(slots < 0.01)),
        np.array([found.again for found, _ in known]),
    )


def near(capacities: Sequence[Capacity], at_s: float, within_s: float = NEAR_S) -> float | None:
    """The mean rate of the last capacity before an instant and of the first after it, if one is near."""
    means = [c.mean_bps for c in capacities if -within_s <= c.begin_s - at_s < 0][-1:]
    means += [c.mean_bps for c in capacities if 0 < c.begin_s - at_s <= within_s][:1]
    return float(np.mean(means)) if means else None


def write(
    out: Path,
    capacities: Sequence[Capacity],
    transfers: Sequence[Transfer],
    simulated: dict[str, list[Transfer]],
    skipped: Sequence[str],
) -> None:
    """Writes the table of distributions, the figure, and the tables of the page."""
    own = {capacity.begin_s: capacity.mean_bps for capacity in capacities}
    found = {"measured": distribution(transfers, lambda at: near(capacities, at))}
    found |= {name: distribution(runs, own.get) for name, runs in simulated.items()}
    labels = {"measured": "measured"} | {variant.name: variant.label for variant in VARIANTS}
    rows = [_row(name, found[name]) for name in found]
    table = io.StringIO()
    writer = csv.DictWriter(table, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    (out / "validation").mkdir(parents=True, exist_ok=True)
    files.replace(
        out / "validation" / "starlink.csv", lambda work: work.write_text(table.getvalue(), encoding="utf-8")
    )
    figure(out / "starlink.svg", found, labels)
    _fill(out / "starlink.md", _tables(rows, labels, capacities, transfers, found["measured"], skipped))
    terminal.line(table.getvalue().rstrip())


def _row(name: str, found: Distribution) -> dict[str, str]:
    row = {"transfers": name, "tests": str(len(found.whole))}
    for key, values in (("goodput", found.whole), ("slot", found.slots), ("again", found.again)):
        row |= {f"{key}_p{share}": f"{np.percentile(values, share):.4g}" for share in SHARES}
    return row | {"idle_slots": f"{found.idle:.4g}"}


def _tables(
    rows: Sequence[dict[str, str]],
    labels: dict[str, str],
    capacities: Sequence[Capacity],
    transfers: Sequence[Transfer],
    compared: Distribution,
    skipped: Sequence[str],
) -> str:
    def percent(row: dict[str, str], key: str, digits: int) -> str:
        return f"{100 * float(row[key]):.{digits}f}"

    heads = (
        "CUBIC", "goodput / capacity of tests, %: p10, p50, p90", "of half seconds, %: p10, p50, p90",
        "idle half seconds, %", "sent again in tests, %: p10, p50, p90",
    )  # fmt: skip
    lines = [_line(heads), _line(["---"] * len(heads))]
    for row in rows:
        goodput, slot, again = (
            ", ".join(percent(row, f"{key}_p{share}", digits) for share in (10, 50, 90))
            for key, digits in (("goodput", 0), ("slot", 0), ("again", 2))
        )
        lines.append(_line([labels[row["transfers"]], goodput, slot, percent(row, "idle_slots", 1), again]))
    capacity = np.array([c.mean_bps for c in capacities]) / 1e6
    rtt = np.array([c.rtt_s for c in capacities]) * 1e3
    others = [(c.mean_bps, near(capacities, c.begin_s, within_s=2 * NEAR_S)) for c in capacities]
    chance = [own / other for own, other in others if other is not None]
    ten, half, ninety = (f"{np.percentile(chance, share):.2f}" for share in (10, 50, 90))
    read = (
        f"{len(capacities)} UDP tests and {len(transfers)} TCP tests were read, {len(skipped)} runs were not"
    )
    pairs = f"{len(compared.whole)} TCP tests have a UDP test within {NEAR_S / 60:.0f} minutes"
    spread = f"{capacity.min():.0f} to {capacity.max():.0f} Mbit/s, {np.median(capacity):.0f} at the median"
    trips = f"the least round trip {rtt.min():.0f} to {rtt.max():.0f} ms"
    drive = f"{ten} at p10, {half} at the median and {ninety} at p90"
    lines += [
        "",
        f"{read}. {pairs}.",
        f"The mean capacity of a UDP test was {spread}, and {trips}.",
        f"The capacity of a UDP test over the mean of its neighbours was {drive}.",
        "So much of a difference between tests is the drive.",
    ]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _fill(page: Path, tables: str) -> None:
    """Puts the tables between the marks of the page; without a page, the tables are the page."""
    begin, end = "<!-- tables: scripts/starlink.py -->", "<!-- end tables -->"
    block = f"{begin}\n\n{tables}\n\n{end}"
    if page.is_file():
        text = page.read_text(encoding="utf-8")
        block = re.sub(re.escape(begin) + ".*" + re.escape(end), lambda _: block, text, flags=re.DOTALL)
    files.replace(page, lambda work: work.write_text(block.rstrip("\n") + "\n", encoding="utf-8"))


SHOWN = {
    "measured": ("black", "-", 1.6),
    "buffer-0.25": ("#9ecae1", "-", 1.0),
    "buffer-1": ("#3182bd", "-", 1.0),
    "buffer-4": ("#08306b", "-", 1.0),
    "ping-2MB": ("#2ca02c", "--", 1.0),
    "loss-1e-5": ("#fdae6b", "-.", 1.0),
    "loss-1e-4": ("#e6550d", "-.", 1.0),
    "outage-400ms": ("#9467bd", ":", 1.2),
}
"""What the figure draws: colour, dashes, width."""


def figure(path: Path, found: dict[str, Distribution], labels: dict[str, str]) -> None:
    """Distributions of goodput over capacity, of tests and of half seconds, and of segments sent again."""
    drawn = Figure(figsize=(2 * bp.plot.WIDTH, 2.9), layout="constrained")
    with bp.plot.styled():
        tests, slots, again = drawn.subplots(1, 3, sharey=True)
        for name, look in SHOWN.items():
            _steps(tests, found[name].whole, look, labels[name])
            _steps(slots, found[name].slots, look, labels[name])
            _steps(again, 100 * found[name].again, look, labels[name])
        tests.set(xlabel="tests: goodput / capacity", xlim=(0, 1.4), ylim=(0, 1), ylabel="share")
        slots.set(xlabel="half seconds: goodput / capacity", xlim=(0, 2))
        again.set(xlabel="tests: sent again / %", xscale="log", xlim=(0.01, 20))
        drawn.legend(*tests.get_legend_handles_labels(), loc="outside upper center", ncols=4)
    bp.plot.save(drawn, path)


def _steps(axes: Axes, values: np.ndarray, look: tuple[str, str, float], label: str) -> None:
    ordered = np.sort(np.maximum(values, 1e-3))  # a logarithmic axis has no place for 0
    shares = np.arange(1, len(ordered) + 1) / len(ordered)
    colour, dashes, width = look
    axes.step(ordered, shares, where="post", color=colour, linestyle=dashes, linewidth=width, label=label)


if __name__ == "__main__":
    sys.exit(main())

"""BBR and CUBIC over measured Starlink capacity, beside TCP measured minutes apart: docs/starlink.md.

    git -C STARLINK archive ba7fa17 datasets/maine_starlink_trip/raw/{starlink,dish_history} | tar x -C DIR
    python scripts/starlink.py DIR

STARLINK is a clone of NUWiNS/starlink-measurement. Only the runs of 27 May 2024 are simulated and compared;
those of the days after are read for signs of the sender's algorithm. The data has no licence, so only
distributions are written: docs/validation/starlink.csv, the figure docs/starlink.svg, and the tables of
docs/starlink.md.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import md
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from starlink_counts import MSS, SLOT_S, TEST_S, Counts, of_report

import bentpipe as bp
from bentpipe import files, terminal
from bentpipe.timeline.traces import dish, nuttcp

DAY = "20240527"
DAYS = (DAY, "20240528", "20240529")
RAW = Path("datasets/maine_starlink_trip/raw")
PLACE, DISH = RAW / "starlink", RAW / "dish_history"
NEAR_S = 15 * 60.0
"""UDP and TCP took turns, about seven minutes apart. A pair across the lunch break is not a neighbour."""
HEADER = 52
DATAGRAM, DATAGRAM_HEADER = 1400, 28
"""Payload of iperf3's datagrams (`-l 1400` in run_network_measurement.sh), and the heads of UDP and IPv4."""
LEAST_KB = 5
"""BBR's least window in KB: 4 segments (draft-cardwell-iccrg-bbr-congestion-control-00, BBRMinPipeCwnd)."""
SHARES = (10, 25, 50, 75, 90)


@dataclass(frozen=True)
class Capacity:
    """A measured UDP downlink.

    Attributes:
        begin_s: when it began, Unix time.
        frame: payload that came through in each slot.
        ping: delays of the ping minutes later.
        outages: the loss rate by the dish's outages in the minutes of the test.
    """

    begin_s: float
    frame: pl.DataFrame
    ping: pl.DataFrame
    outages: pl.DataFrame

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
    """A TCP test.

    Attributes:
        begin_s: when it began, Unix time.
        slots_bps: goodput of each slot.
        again: segments sent again over segments delivered; of a measured downlink the settled counts.
        counts: those of a measured test.
    """

    begin_s: float
    slots_bps: np.ndarray
    again: float
    counts: Counts | None = None


@dataclass(frozen=True)
class Variant:
    """A sender and a path: the changes against a buffer of one bandwidth-delay product.

    Attributes:
        share: share of the UDP rate that TCP can get.
        loss: of the packets that are lost at random.
        ping: the delay follows the ping; else it is constant, half of the least round trip.
        outages: packets sent in an outage of the dish are lost.
    """

    name: str
    cc: str
    label: str
    buffer_bdp: float = 1.0
    window: str | None = None
    share: float = 1.0
    loss: float = 0.0
    ping: bool = True
    outages: bool = True


VARIANTS = (
    Variant("bbr-bare", "bbr", "BBR, constant delay, no outages", ping=False, outages=False),
    Variant("bbr-no-outages", "bbr", "BBR, 0.25 BDP, window 1 MiB, no outages", 0.25, "1 MiB", outages=False),
    Variant("bbr-window", "bbr", "BBR, 0.25 BDP, window 1 MiB", 0.25, "1 MiB"),
    Variant("bbr-window-1.25", "bbr", "BBR, 0.25 BDP, window 1.25 MiB", 0.25, "1.25 MiB"),
    Variant("bbr-share", "bbr", "BBR, 2.5 BDP, 65 % of the capacity", 2.5, share=0.65),
    Variant("bbr-small", "bbr", "BBR, 0.25 BDP", 0.25),
    Variant("cubic-bare", "cubic", "CUBIC, constant delay, no outages", ping=False, outages=False),
    Variant("cubic-window", "cubic", "CUBIC, 0.25 BDP, window 1 MiB", 0.25, "1 MiB"),
    Variant("cubic-share", "cubic", "CUBIC, 2.5 BDP, 65 % of the capacity", 2.5, share=0.65),
    Variant("cubic-small", "cubic", "CUBIC, 0.25 BDP", 0.25),
    *(
        Variant(
            f"cubic-{name}-{loss:g}",
            "cubic",
            f"CUBIC, {words}, loss {100 * loss:g} %",
            bdp,
            share=share,
            loss=loss,
        )
        for name, words, bdp, share in (
            ("small", "0.25 BDP", 0.25, 1.0),
            ("share", "2.5 BDP, 65 %", 2.5, 0.65),
        )
        for loss in (6e-6, 2e-5, 1e-4)
    ),
    Variant("bbr-small-0.0001", "bbr", "BBR, 0.25 BDP, loss 0.01 %", 0.25, loss=1e-4),
    Variant("bbr-share-0.0001", "bbr", "BBR, 2.5 BDP, 65 %, loss 0.01 %", 2.5, share=0.65, loss=1e-4),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Reads the measurements, simulates, writes the three files. Exit status 2: the data is not there."""
    parser = md.command_line(__doc__)
    parser.add_argument("directory", type=Path, help="with datasets/maine_starlink_trip/raw in it")
    parser.add_argument("--out", type=Path, default=md.DOCS, help="where starlink.md lies; default docs")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args(arguments)
    place = given.directory / PLACE / DAY
    if not place.is_dir():
        terminal.error(f"{place} is no directory; the head of {Path(__file__).name} says how to get it")
        return 2
    capacities, transfers, skipped = measured(given.directory)
    if not capacities or not transfers:
        terminal.error(
            f"{place}: {len(capacities)} UDP and {len(transfers)} TCP runs can be read; both are needed"
        )
        return 2
    simulated = simulate(capacities, given.threads)
    write(given.out, capacities, transfers, simulated, skipped, signs(given.directory))
    return 0


def measured(directory: Path, day: str = DAY) -> tuple[list[Capacity], list[Transfer], list[str]]:
    """The UDP and the TCP downlinks of a day, and the unreadable ones, each with its reason."""
    place = directory / PLACE / day
    dark = outages(directory / DISH / day)
    capacities, transfers, skipped = [], [], []
    for run in sorted(entry for entry in place.iterdir() if entry.is_dir()):
        try:
            for file in run.glob("udp_downlink_*.out"):
                (ping,) = run.glob("ping_*.out")
                frame, delays = bp.timeline.read_trace(file, "iperf3"), bp.timeline.read_trace(ping, "ping")
                begin_s = _begin(file)
                lost = dish.lossy(dark, begin_s, begin_s + TEST_S)
                capacities.append(Capacity(begin_s, frame, delays.select("t_s", "delay_s"), lost))
            for file in run.glob("tcp_downlink_*.out"):
                transfers.append(transfer(file))
        except (bp.ScenarioError, ValueError) as wrong:
            skipped.append(str(wrong).replace(str(place), "."))
    return capacities, transfers, skipped


def outages(place: Path) -> list[dish.Outage]:
    """All outages of a day, each once: a reply of the dish lists those since it was switched on."""
    known = {one.begin_s: one for file in place.glob("*/dish_history.out") for one in dish.outages(file)}
    return sorted(known.values(), key=lambda one: one.begin_s)


@dataclass(frozen=True)
class Signs:
    """Signs of the sender's algorithm in reports of nuttcp.

    Attributes:
        tests: number of reports.
        falls: how often the window is smaller than in the report before, without a retransmission since.
        rises: how often it is larger.
        least: how many tests report BBR's least window, `LEAST_KB`.
        below: how many report a smaller window, as TCP without BBR has after a timeout.
    """

    tests: int
    falls: int
    rises: int
    least: int
    below: int


def signs(directory: Path) -> dict[str, Signs]:
    """The signs of the downlinks of each day, and of the uplinks of the first."""
    found = {day: _signs(directory / PLACE / day, "tcp_downlink") for day in DAYS}
    return found | {"uplink": _signs(directory / PLACE / DAY, "tcp_uplink")}


def _signs(place: Path, kind: str) -> Signs:
    tests = falls = rises = least = below = 0
    for file in sorted(place.glob(f"*/{kind}_*.out")):
        try:
            rows = nuttcp.intervals(file)
        except bp.ScenarioError:  # the test was refused
            continue
        windows = [row.window_kb for row in rows if row.window_kb is not None]
        quiet = [row.retransmitted == 0 for row in rows if row.window_kb is not None]
        steps = [now - was for (was, now), still in zip(pairwise(windows), quiet[1:], strict=True) if still]
        tests += 1
        falls += sum(step < 0 for step in steps)
        rises += sum(step > 0 for step in steps)
        least += LEAST_KB in windows
        below += any(kb < LEAST_KB for kb in windows)
    return Signs(tests, falls, rises, least, below)


def _begin(file: Path) -> float:
    found = re.search(r"Start time: (\d+)", file.read_text(encoding="utf-8"))
    if found is None:
        raise bp.ScenarioError(f"{file}: no line says its start time")
    return int(found[1]) / 1000


def transfer(file: Path) -> Transfer:
    """A measured TCP test, downlink or uplink.

    Raises:
        ScenarioError: the test was refused.
        OSError: it cannot be read.
    """
    rows = nuttcp.intervals(file)
    ends = np.array([row.end_s for row in rows])
    bits = np.cumsum([row.rate_bps * (row.end_s - row.begin_s) for row in rows])
    slots = np.diff(np.interp(np.arange(0, TEST_S + SLOT_S / 2, SLOT_S), [0, *ends], [0, *bits])) / SLOT_S
    counts = of_report(file)
    return Transfer(_begin(file), slots, counts.again("settled"), counts)


def simulate(capacities: Sequence[Capacity], threads: int) -> dict[str, list[Transfer]]:
    """Each variant over each capacity; in the order of both."""
    found: dict[str, list[Transfer]] = {}
    with tempfile.TemporaryDirectory() as work, terminal.Bar("TCP over measured capacity") as bar:
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
    """One flow over a measured capacity, whose time line is written to `line`.

    The rate is that of the IP packets that carried the measured payload, in both directions: an outage of one
    is one of the other. The buffer is a multiple of the mean rate times the least round trip.
    """
    to_ip = variant.share * (DATAGRAM + DATAGRAM_HEADER) / DATAGRAM
    rate_bps, delay_s = capacity.mean_bps * to_ip, capacity.rtt_s / 2
    frame = capacity.frame.with_columns(pl.col("rate_bps") * to_ip)
    if variant.ping:
        frame = bp.timeline.join(frame, repeated(capacity.ping, TEST_S), columns=["delay_s"])
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
        "queue": {"kind": "drop-tail", "limit": f"{max(limit, 10 * (MSS + HEADER)):.0f} bytes"},
    }
    if variant.loss or variant.outages:
        link["loss"] = {"kind": "packet-error", "rate": variant.loss}
    flow: dict[str, object] = {
        "cc": variant.cc, "path": ["sat"], "mss": f"{MSS} bytes", "header": f"{HEADER} bytes",
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
    """A time line over and over until it is at least this long, its last value held for a usual step."""
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
    """The compared values of one set of transfers: shares of capacity, and segments sent again.

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
        np.array([found.again for found, _ in known if not np.isnan(found.again)]),
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
    seen: dict[str, Signs],
) -> None:
    """Writes the table of distributions, the figure, and the tables of the page."""
    own = {capacity.begin_s: capacity.mean_bps for capacity in capacities}
    found = {"measured": distribution(transfers, lambda at: near(capacities, at))}
    late = [replace(one, again=one.counts.again("reported")) for one in transfers if one.counts is not None]
    found["reported"] = distribution(late, lambda at: near(capacities, at))
    found |= {name: distribution(runs, own.get) for name, runs in simulated.items()}
    labels = {"measured": "measured (BBR)", "reported": "measured (BBR), counts as reported"}
    labels |= {variant.name: variant.label for variant in VARIANTS}
    rows = [_row(name, found[name]) for name in found]
    table = files.csv_text([rows[0], *(row.values() for row in rows)])
    (out / "validation").mkdir(parents=True, exist_ok=True)
    files.replace_text(out / "validation" / "starlink.csv", table)
    figure(out / "starlink.svg", found, labels)
    tables = _tables(rows, labels, capacities, transfers, found["measured"], skipped, seen)
    md.fill(out / "starlink.md", tables, "scripts/starlink.py")
    terminal.line(table.rstrip())


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
    seen: dict[str, Signs],
) -> str:
    def percent(row: dict[str, str], key: str, digits: int) -> str:
        return f"{100 * float(row[key]):.{digits}f}"

    named = {day: f"downlink, {day[6:]} May" for day in DAYS} | {"uplink": f"uplink, {DAY[6:]} May"}
    titles = ("", "tests", "window falls, none resent", "window rises", "tests with 5 KB", "tests with less")
    lines = [md.row(*titles), md.row("---", *["---:"] * (len(titles) - 1))]
    for key, of in seen.items():
        lines.append(md.row(named[key], *map(str, (of.tests, of.falls, of.rises, of.least, of.below))))
    heads = (
        "sender and path", "goodput / capacity of tests, %: p10, p50, p90",
        "of half seconds, %: p10, p50, p90",
        "idle half seconds, %", "sent again in tests, %: p10, p50, p90",
    )  # fmt: skip
    lines += ["", md.row(*heads), md.row(*["---"] * len(heads))]
    for row in rows:
        goodput, slot, again = (
            ", ".join(percent(row, f"{key}_p{share}", digits) for share in (10, 50, 90))
            for key, digits in (("goodput", 0), ("slot", 0), ("again", 2))
        )
        lines.append(md.row(labels[row["transfers"]], goodput, slot, percent(row, "idle_slots", 1), again))
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


SHOWN = {
    "measured": ("black", "-", 1.6),
    "bbr-window": ("#3182bd", "-", 1.0),
    "bbr-share": ("#08306b", "-", 1.0),
    "bbr-bare": ("#9ecae1", "-", 1.0),
    "cubic-bare": ("#fdae6b", "-.", 1.0),
    "cubic-small-6e-06": ("#e6550d", "-.", 1.0),
    "cubic-small-0.0001": ("#a63603", "-.", 1.0),
    "cubic-share-6e-06": ("#9467bd", ":", 1.2),
}
"""The curves of the figure: colour, dashes, width."""


def figure(path: Path, found: dict[str, Distribution], labels: dict[str, str]) -> None:
    """Distributions of goodput over capacity, of tests and of half seconds, and of segments sent again."""
    drawn = Figure(figsize=(2 * bp.plot.WIDTH, 3.2), layout="constrained")
    with bp.plot.styled():
        tests, slots, again = drawn.subplots(1, 3, sharey=True)
        for name, look in SHOWN.items():
            _steps(tests, found[name].whole, look, labels[name])
            _steps(slots, found[name].slots, look, labels[name])
            _steps(again, 100 * found[name].again, look, labels[name])
        tests.set(xlabel="tests: goodput / capacity", xlim=(0, 1.4), ylim=(0, 1), ylabel="share")
        slots.set(xlabel="half seconds: goodput / capacity", xlim=(0, 2))
        again.set(xlabel="tests: segments sent again / %", xscale="log", xlim=(0.01, 20))
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


if __name__ == "__main__":
    sys.exit(main())

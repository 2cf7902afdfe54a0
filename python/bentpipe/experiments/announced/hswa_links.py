"""HSWA-TCP over asymmetric links, section V of its paper, and in rain: docs/hswa-links.md and its figures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

import bentpipe as bp
from bentpipe import weather
from bentpipe.experiments.announced import grid, label, page
from bentpipe.experiments.experiment import Experiment
from bentpipe.experiments.rows import Rows
from bentpipe.pages.markdown import markdown
from bentpipe.papers.hswa.setup import BASE, PACKET_BYTES, throughput
from bentpipe.registry import SCENARIOS
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.kept import Row
from bentpipe.timeline.format import write

CCS = ("hswa", "scps", "reno", "cubic")
DEAF = "hswa-deaf"
"""HSWA whose S stays what the link is at the start."""
LABELS = {cc: label(cc) for cc in CCS} | {DEAF: "HSWA-TCP, p constant"}
BACK = (100.0, 4.0, 2.0, 1.0, 0.5, 0.2)
"""Rates of the way back, Mbit/s. An ACK of 40 bytes answers 1000 bytes, so 100 Mbit/s need 4."""
THERE = (2, 5, 10, 20, 50, 100)
"""Throughputs that the axis of the figure names, Mbit/s."""
ACKS = {"each": 1, "every second": 2}
"""Packets that an ACK acknowledges."""
ORBITS = {"GEO": 1e-8, "LEO": 1e-7}
"""Bit error rates at which HSWA uses much of the link (figure 4 of the paper)."""
QUEUE, SPAN_S, SEEDS = "50 packets", {"GEO": 300.0, "LEO": 60.0}, 5
"""The queue of the way back is ns-2's default."""
RAIN, MODEM = "rain", weather.Modem(symbol_rate="3 Mbaud", margin="0 dB")
"""The carrier of `geo-rain`; without a margin frames are lost until the modem has taken a slower mode."""
RAIN_S, RAIN_SEEDS = 1800.0, 20


class HswaLinks(Experiment):
    """The experiment: links of the paper with a slow way back, and the link of `geo-rain`."""

    name = "hswa-links"
    columns = {  # noqa: RUF012
        "mbps": "rate of in-order packets after the warm-up, headers included, Mbit/s; in rain goodput",
        "rtt_s": "mean RTT, s",
        "window": "mean congestion window, segments",
        "acks_lost": "ACKs dropped by the queue of the way back, percent of those sent",
        "lost": "data packets lost, percent of those sent",
    }

    def cases(self) -> list[Case]:
        """Two orbits, two kinds of receivers, six ways back, and rain; quick: two ways back."""
        back = BACK[:1] + BACK[3:4] if self.quick else BACK
        paths = [way(*of) for of in product(ORBITS, ACKS, back)]
        line = rain(self.lines)
        return grid(paths, CCS, self.seeds(SEEDS), scenario) + grid(
            [RAIN], (*CCS, DEAF), self.seeds(RAIN_SEEDS), lambda _, cc, seed: in_rain(line, cc, seed)
        )

    def measure(self, case: Case, result: bp.Result) -> Row:
        """The measures of a row."""
        of = result.json
        flow = of["flows"][0]
        row = {"lost": 100 * flow["dropped_packets"] / flow["sent_packets"], "rtt_s": flow["rtt_mean_s"]}
        row["window"] = flow["cwnd_mean_segments"]
        if case.keys["path"] == RAIN:
            return row | {"mbps": flow["goodput_bps"] / 1e6, "acks_lost": math.nan}
        settings = {"from_start": False, "packet_bytes": PACKET_BYTES}
        back = next(link for link in of["links"] if link["direction"] == "reverse")
        arrived = back["delivered_packets"] + back["dropped_queue"]
        return row | {
            "mbps": float(throughput(settings, of, result.trace)["mbps"]),
            "acks_lost": 100 * back["dropped_queue"] / arrived,
        }

    def text(self, rows: Rows) -> str:
        """The page."""

        def table(orbit: str, acks: str, of: str, digits: int) -> str:
            paths = [way(orbit, acks, mbps) for mbps in BACK]
            body = [[LABELS[cc], *(rows.cell(of, digits, path=path, cc=cc) for path in paths)] for cc in CCS]
            return markdown(["<algorithm", *(f"{mbps:g} Mbit/s" for mbps in BACK)], body)

        body = [
            [LABELS[cc], *(rows.cell(of, 3, path=RAIN, cc=cc) for of in ("mbps", "lost"))]
            for cc in (*CCS, DEAF)
        ]
        wet = markdown(["<algorithm", "goodput, Mbit/s", "packets lost, %"], body)
        return page(
            __file__, rows, table=table, seeds=SEEDS, rain_seeds=RAIN_SEEDS, rain=wet, way=way,
            clear=MODEM.clear_rate_bps / 1e6,
        )  # fmt: skip

    def views(self, rows: Rows) -> Iterator[tuple[str, Figure]]:
        """Throughput over the rate of the way back; and HSWA in rain."""
        figure = Figure(figsize=(8.6, 3.2), layout="constrained")
        for axes, (orbit, ber) in zip(figure.subplots(1, 2, sharey=True), ORBITS.items(), strict=True):
            for cc in CCS:
                means = [rows.mean("mbps", path=way(orbit, "each", mbps), cc=cc) for mbps in BACK]
                axes.plot(BACK, means, **bp.plot.look(cc, LABELS[cc]))
            axes.set(xscale="log", yscale="log", xlabel="rate of the way back, Mbit/s")
            axes.set_xticks(BACK, [f"{mbps:g}" for mbps in BACK])
            axes.set_yticks(THERE, [f"{mbps:g}" for mbps in THERE])
            axes.minorticks_off()
            axes.set_title(f"{orbit}, bit error rate {ber:g}".replace("e-0", "e-"))
        figure.axes[0].set_ylabel("throughput, Mbit/s")
        figure.axes[0].legend(frameon=False, fontsize="small")
        yield "hswa-links.svg", figure
        with TemporaryDirectory() as folder:
            yield "hswa-rain.svg", _over_time(rain(Path(folder)))


def _over_time(file: Path) -> Figure:
    """Losses of the link of a time line, S, and goodput of three senders, over time; one run each."""
    line = pl.read_csv(file, comment_prefix="#")
    figure = Figure(figsize=(8.6, 5.6), layout="constrained")
    losses, size, goodput = figure.subplots(3, 1, sharex=True)
    t = line["t_s"].to_numpy() / 60
    losses.step(t, line["loss_rate"].to_numpy().clip(1e-10), where="post", color="black", linewidth=0.7)
    down, place = ~line["up"].to_numpy(), losses.get_xaxis_transform()
    losses.fill_between(t, 0, 1, where=down, color="#eeeeee", transform=place)
    losses.set(yscale="log", ylabel="packets lost", ylim=(1e-10, 2))
    for cc in ("hswa", DEAF, "cubic"):
        result = bp.run(in_rain(file, cc, 1, probes=True))
        look = bp.plot.look("hswa" if cc == DEAF else cc) | {"label": LABELS[cc], "marker": ""}
        look |= {"linestyle": ":"} if cc == DEAF else {}
        look |= {"linewidth": 0.9}
        if cc == "hswa":
            s = result.probes.filter(pl.col("probe") == "s_segments")
            size.step(s["t_s"].to_numpy() / 60, s["value"].to_numpy(), where="post", **look)
        rows = result.trace.filter(pl.col("t_s") % 10 < 0.5)
        at, got = rows["t_s"].to_numpy(), rows["delivered_bytes"].to_numpy()
        rate = np.diff(got) * 8 / np.diff(at) / 1e6
        goodput.plot(at[1:] / 60, rate, **look)
    size.set(ylabel="S, segments per\nround trip", ylim=0)
    goodput.plot(t, line["rate_bps"].to_numpy() / 1e6, color="0.75", linewidth=0.7, zorder=0, label="link")
    goodput.set(xlabel="time, minutes", ylabel="goodput, Mbit/s", ylim=0)
    goodput.legend(frameon=False, ncols=4, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def way(orbit: str, acks: str, mbps: float) -> str:
    """The name of a path."""
    return f"{orbit} / {mbps:g} Mbit/s back / {acks}"


def scenario(path: str, cc: str, seed: int) -> dict[str, Any]:
    """The paper's flow with another way back."""
    orbit, back, acks = path.split(" / ")
    made = BASE.changed(span_s=SPAN_S[orbit]).scenario(cc, orbit, ORBITS[orbit], seed)
    queue = {"kind": "drop-tail", "limit": QUEUE}
    made["link"]["sat"]["reverse"] = {"rate": back.removesuffix(" back"), "queue": queue}
    made["flow"][0]["delayed_ack"] = ACKS[acks] > 1
    made["title"] = f"{LABELS[cc]}, {path}"
    return made


def rain(folder: Path) -> Path:
    """The rain of `geo-rain` with a modem that keeps no margin, as a time line in a folder."""
    given = pl.read_csv(SCENARIOS / "geo-rain.csv", comment_prefix="#")
    folder.mkdir(parents=True, exist_ok=True)
    write(weather.follow(given.select("t_s", "attenuation_db"), MODEM), file := folder / "rain.csv")
    return file


def in_rain(line: Path, cc: str, seed: int, *, probes: bool = False) -> dict[str, Any]:
    """One flow over the link of `geo-rain` on a time line."""
    made = BASE.changed(span_s=RAIN_S).scenario("hswa" if cc == DEAF else cc, "GEO", ORBITS["GEO"], seed)
    rate = f"{MODEM.clear_rate_bps / 1e6:g} Mbit/s"
    made["link"]["sat"] = made["link"]["sat"] | {"rate": rate, "timeline": str(line)}
    del made["link"]["sat"]["loss"]
    if cc == DEAF:
        made["flow"][0]["quality_hints"] = False
    if probes:
        made["record"] = {"interval": "500 ms", "probes": True}
    made["title"] = f"{LABELS[cc]} in rain"
    return made

"""Draws the figures of the README: windows on a lossy geostationary link, and a path that moves."""

import tempfile
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from md import DOCS

import bentpipe as bp
from bentpipe.comparison import run_comparison
from bentpipe.document.spans import LinkSpec
from bentpipe.plot.looks import PAGE, fixed, write

SHOWN = ("star", "hswa", "cubic", "reno")
BDP = 10e6 * 0.5 / 8 / 1500


def main() -> None:
    """Draws both."""
    geo_window()
    leo_path()


def leo_path() -> None:
    """Draws the figures of the two commands in the README's part about paths that move."""
    path = bp.orbit.path(
        "Istanbul", "Nairobi", shell="starlink-s1", duration="200 s", every="15 s", handover_break="100 ms"
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "path.parquet"
        bp.timeline.write(path, file)
        traced: dict[str, bp.Result] = {}
        names = ["cubic", "bbr", "star"]
        run_comparison("leo", names, LinkSpec(timeline=file), duration="200 s", seeds=1, traced=traced)
        bp.plot.save(bp.plot.over_path(traced), DOCS / "leo-path.svg")


def geo_window() -> None:
    """Runs each algorithm alone with the same losses and draws its window."""
    known: dict[str, Any] = {entry["id"]: entry for entry in bp.controllers()}
    geo = bp.Link(rate="10 Mbit/s", delay="250 ms", queue=bp.DropTail("432 packets"), loss=bp.BitError(1e-6))
    shown = [name for name in SHOWN if name in known]
    results = bp.run_many(
        [
            bp.Scenario(
                links={"sat": geo},
                flows=[bp.Flow(name, path=["sat"])],
                duration="120 s",
                seed=1,
                record=bp.Record(interval="200 ms"),
            )
            for name in shown
        ]
    )
    with fixed(PAGE | {"font.size": 9}):
        figure = Figure(figsize=(7.6, 3.2), layout="constrained")
        axes = figure.subplots()
        for name, result in zip(shown, results, strict=True):
            goodput = result.flows["goodput_bps"][0] / 1e6
            label = f"{known[name]['label']}, {goodput:.2f} Mbit/s"
            line = {"color": known[name]["colour"], "lw": 1.2, "label": label}
            axes.plot(result.trace["t_s"], result.trace["cwnd"], **line)
        axes.axhline(BDP, color="0.6", lw=0.8, ls="--", zorder=0)
        axes.set(xlabel="time, s", ylabel="cwnd, segments", xlim=(0, 120))
        axes.set_ylim(bottom=0)
        axes.text(121, BDP, "BDP", color="0.4", ha="left", va="center")
        figure.legend(frameon=False, ncols=len(shown), loc="outside upper center")
        write(figure, DOCS / "geo-window.svg")


if __name__ == "__main__":
    main()

"""Web pages over TCP-STAR, section 5 of its paper: docs/star-http.md and its figure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import bentpipe as bp
from bentpipe.experiments.announced import grid, label, page
from bentpipe.experiments.experiment import Experiment
from bentpipe.experiments.rows import Rows
from bentpipe.pages.markdown import markdown
from bentpipe.papers.tcp_star.setup import BASE, BDP, ONE_WAY_S, RATE_BPS
from bentpipe.studies import design
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.kept import Row

CCS = ("star", "tcp-j", "westwood-br", "reno", "cubic")
"""The paper's four, with its set-up, and CUBIC with that of NewReno."""
LABELS = {cc: label(cc) for cc in CCS}
PAGES: dict[str, dict[str, Any]] = {
    "2004": {"connections": 4},
    "today": {
        "main": "30 kB", "objects": 70, "embedded": {"kind": "log-normal", "median": "20 kB", "sigma": 1.0},
        "reading": {"kind": "exponential", "mean": "30 s"},
    },
}  # fmt: skip
"""The model of 3GPP2 (57 kB a page) over four connections, as browsers had when the paper was written, and a
page of 2.3 MB over one connection of HTTP/2."""
BROWSERS = {"one browser": 1, "many browsers": 0}
MANY = {"2004": 400, "today": 13}
"""Browsers whose pages take some seven tenths of the link."""
ERRORS = {"no errors": 0.0, "BER 1e-7": 1e-7, "BER 1e-6": 1e-6}
SEEDS, ALONE_S, TOGETHER_S = 5, 1800.0, 300.0


class StarHttp(Experiment):
    """The experiment: browsers over the link of the paper."""

    name = "star-http"
    columns = {  # noqa: RUF012
        "page_s": "median page load time, s",
        "slow_s": "95th percentile of the page load time, s",
        "pages": "pages loaded by a browser in a minute",
        "again": "data segments sent again, percent of those sent",
    }

    def cases(self) -> list[Case]:
        """Two kinds of pages, one browser or many, three error rates; quick: one browser, small pages."""
        every = [" / ".join(parts) for parts in product(PAGES, BROWSERS, ERRORS)]
        paths = every[: len(ERRORS)] if self.quick else every
        return grid(paths, CCS, self.seeds(SEEDS), scenario)

    def measure(self, case: Case, result: bp.Result) -> Row:  # noqa: ARG002
        """The measures of a row, over the pages of all browsers."""
        took = result.transfers["completion_s"].drop_nulls().to_numpy()
        responses = [flow for flow in result.json["flows"] if flow["half"] == "second"]
        sent, again = (sum(f[of] for f in responses) for of in ("sent_packets", "retransmitted_packets"))
        minutes = float(result.json["simulated_s"]) / 60 * len(responses)
        return {
            "page_s": float(np.median(took)) if took.size else math.nan,
            "slow_s": float(np.quantile(took, 0.95)) if took.size else math.nan,
            "pages": took.size / minutes,
            "again": 100 * again / max(sent, 1),
        }

    def text(self, rows: Rows) -> str:
        """The page."""

        def table(pages: str, browsers: str, of: str, digits: int) -> str:
            paths = [f"{pages} / {browsers} / {error}" for error in ERRORS]
            body = [[LABELS[cc], *(rows.cell(of, digits, path=path, cc=cc) for path in paths)] for cc in CCS]
            return markdown(["<algorithm", *ERRORS], body)

        return page(__file__, rows, table=table, many=MANY, seeds=SEEDS)

    def views(self, rows: Rows) -> Iterator[tuple[str, Figure]]:
        """Median page load time by error rate."""
        figure = Figure(figsize=(8.6, 4.6), layout="constrained")
        panels = figure.subplots(2, 2, sharex=True)
        for axes, (pages, browsers) in zip(panels.flat, product(PAGES, BROWSERS), strict=True):
            for place, cc in enumerate(CCS):
                found = [rows.interval("page_s", path=f"{pages} / {browsers} / {e}", cc=cc) for e in ERRORS]
                known = [one for one in found if one is not None]
                at = np.arange(len(known)) + 0.1 * (place - 2)
                look = {key: value for key, value in bp.plot.look(cc).items() if key != "label"}
                axes.errorbar(
                    at, [one.centre for one in known], [one.half_width for one in known],
                    label=LABELS[cc], capsize=2, **look,
                )  # fmt: skip
            axes.set_title(f"pages of {pages}, {browsers}")
            if pages == "2004":
                axes.set_ylim(0)
            else:
                axes.set(yscale="log", yticks=(3, 10, 30, 100), yticklabels=("3", "10", "30", "100"))
                axes.minorticks_off()
            axes.set_xticks(range(len(ERRORS)), list(ERRORS))
        for axes in panels[:, 0]:
            axes.set_ylabel("median load time, s")
        panels[0, 0].legend(frameon=False, fontsize="small")
        yield "star-http.svg", figure


def scenario(path: str, cc: str, seed: int) -> dict[str, Any]:
    """Browsers of one algorithm over the paper's link, with sockets of 432 segments."""
    pages, browsers, errors = path.split(" / ")
    count = BROWSERS[browsers] or MANY[pages]
    link = design.link(RATE_BPS, f"{ONE_WAY_S * 1e3:g} ms", f"{BDP} packets")
    if ERRORS[errors]:
        link["loss"] = [{"kind": "bit-error", "rate": ERRORS[errors]}]
    flow = BASE.flow(cc, "x", count, shared=False)
    flow |= {"traffic": {"kind": "web", **PAGES[pages]}, "start_jitter": "30 s"}
    if cc == "cubic":
        flow["recovery"] = BASE.recovery
    seconds = ALONE_S if count == 1 else TOGETHER_S
    record = {"flows": False, "transfers": True}
    return design.scenario(f"{path}: {LABELS[cc]}", seconds, seed, {"sat": link}, [flow], record=record)

"""The tables of the spectrum paper, from its closed forms and from our runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

import numpy as np

from bentpipe.analysis import tradeoffs
from bentpipe.papers.spectrum import claims, closed_forms, scenarios
from bentpipe.papers.spectrum.closed_forms import TABLE_5, TABLE_6
from bentpipe.papers.spectrum.scenarios import BASE, CHAIN, FIVE, LABELS
from bentpipe.studies import claim
from bentpipe.studies.claim import Check
from bentpipe.studies.design import where
from bentpipe.studies.judge import Findings, column
from bentpipe.studies.page import interval, plain, plus_minus, shown
from bentpipe.studies.study import Section
from bentpipe.studies.tables import set_up
from bentpipe.studies.text import Table
from bentpipe.studies.words import Words

WORDS = Words.beside(__file__)


def said(values: Sequence[float]) -> str:
    """Mean and half-width of the 95 % interval."""
    return plus_minus(claim.interval(values))


def _checked(checks: Iterable[Check], begins: str, caption: str) -> Table:
    """The checks whose names begin so, as the cells of a table."""
    rows = [
        [
            check.what.removeprefix(begins).strip(", "),
            shown(check.paper),
            interval(check.measured).partition(" [")[0],
            "yes" if check.holds else "no",
        ]
        for check in checks
        if check.what.startswith(begins)
    ]
    return Table(["Cell", "Paper's formula", "Ours", "Holds"], rows, caption)


def special_cases(found: Findings) -> Table:
    """Table 1: the constants of its six rows."""
    said = "Constants of table 1: alpha of the increase rule and c of the increase function"
    return _checked(closed_forms.k1(found.base), "table 1", said)


def indices(found: Findings) -> Table:
    """Table 3: the column of smoothness, at a window of 20 packets."""
    said = "Column smoothness of table 3, W = 20; table 5 has the other two columns"
    return _checked(closed_forms.k11(found.base), "table 3, smoothness at W = 20:", said)


def runs_section(found: Findings) -> Section:
    """Tables 5 and 6: simulation and analysis from the windows that were measured, and the printed ones."""
    return Section(
        "Simulation and analysis",
        WORDS.paragraphs("Simulation and analysis"),
        [square_wave(found), convergence(found)],
    )


def square_wave(found: Findings) -> Table:
    """Table 5: round trips to double the window and losses to halve it."""
    base = found.base
    rows = []
    for cc in FIVE:
        names = ("on", "off", "grow_double", "shrink", "timeouts")
        on, off, grow, shrink, timeouts = (column(base, c, experiment="square", cc=cc) for c in names)
        control, beta = closed_forms.INDEXED[cc]
        cells = [plain(fmean(on)), plain(fmean(off))]
        for kind, got, rule, window in (
            ("grow", grow, tradeoffs.rounds_to_grow, on),
            ("shrink", shrink, tradeoffs.losses_to_shrink, off),
        ):
            low, high = TABLE_5[kind][cc]
            form = plain(float(np.asarray(rule(control, beta, fmean(window)))))
            cells += [said(got), f"{low:g} to {high:g}", form, plain(TABLE_5[f"{kind}_form"][cc])]
        rows.append([LABELS[cc], *cells, said(timeouts)])
    head = ["Control", "window against traffic", "window alone"]
    for what in ("RTT to double", "losses to halve"):
        head += [f"{what}: measured", "paper", "table 3 with our windows", "paper's analysis"]
    return Table([*head, "timeouts"], rows, "Table 5 of the paper beside ours")


def convergence(found: Findings) -> Table:
    """Table 6: round trips to fairness and to efficiency."""
    base = found.base
    rows = []
    for number, what, names, starts, simulated, form in (
        (1, "T2", ("t2", "t2_stay"), TABLE_6["start_fair"], TABLE_6["to_fair"], TABLE_6["fair_form"]),
        (2, "T1", ("t1", "t1_loss"), TABLE_6["start_full"], TABLE_6["to_full"], TABLE_6["full_form"]),
    ):
        for cc in CHAIN:
            at = where(experiment=f"chain-{number}", cc=cc).rows(base)
            w1, w2, total = (plain(fmean(column(at, c))) for c in ("w1", "w2", "total"))
            gap = ["-", "-"] if number == 1 else [said(column(at, "gap")), plain(TABLE_6["gap"][cc])]
            rows.append(
                [
                    what,
                    LABELS[cc],
                    f"{w1}, {w2} of {total}",
                    f"{starts[cc][0]:g}, {starts[cc][1]:g} of {closed_forms.TOTAL:g}",
                    said(column(at, names[0])),
                    plain(simulated[cc]),
                    plain(fmean(claims.analysed(base, number, cc))),
                    plain(form[cc]),
                    said(column(at, names[1])),
                    *gap,
                ]
            )
    head = ["", "Control", "W1, W2 of W", "paper", "RTT: measured", "paper", "closed form, our windows"]
    head += ["paper's analysis", "measured otherwise", "difference then", "paper"]
    otherwise = "Otherwise: T2 until 2 s without a break below 10 packets; T1 until the first loss"
    return Table(head, rows, f"Table 6 of the paper beside ours. {otherwise}")


def setup_section() -> Section:
    """Table 4, and the values that the text leaves open."""
    given = WORDS.rows(
        "Set-up",
        setup=scenarios,
        friendly_ms=1000 * BASE.friendly_rtt_s,
        fast_ms=1000 * BASE.fast_rtt_s,
        slow_ms=1000 * BASE.slow_rtt_s,
        spread_ms=1000 * BASE.dumbbell_spread_s,
        square_ms=1000 * BASE.square_rtt_s,
        chain_ms=1000 * BASE.chain_rtt_s,
    )
    return set_up(given, WORDS.paragraphs("About the set-up"))


def configuration(_: Findings) -> Table:
    """Table 4, and the values that the text leaves open."""
    return setup_section().tables[0]

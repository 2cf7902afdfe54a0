"""The page's sections on the choices, on how far they decide the verdicts, and on simulation and analysis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from bentpipe.analysis import convergence_time, tradeoffs
from bentpipe.studies import sensitivity as sensitivity_of
from bentpipe.studies.claim import Verdict, interval
from bentpipe.studies.page import plain, plus_minus
from bentpipe.studies.spectrum import claims, closed
from bentpipe.studies.spectrum.runs import VARIANTS
from bentpipe.studies.spectrum.setup import BASE, CHAIN, FIVE, label
from bentpipe.studies.study import Plan, Section, Table, Tally

CAPTION = (
    "Checks that hold, by claim: ✓ reproduced, ~ same order, ✗ not reproduced, - not touched by the choice"
)

#: Choices that the text leaves open, and why each was taken.
CHOICES = (
    (
        "a loss in slow start",
        "the control's own cut",
        "Appendix E gives one decrement rule and no exception for slow start.",
    ),
    (
        "SIMD's and AIAD's increase",
        "per ACK, equation 15",
        "Appendix E: this is what the paper's simulator did.",
    ),
    ("AIMD(1/10,1/16)", "a = 0.1", "As printed; equation 4 gives 0.0968."),
    ("packet size", "1000 (500) bytes with 40 of header", "Table 4 gives packet sizes, as ns-2 counts them."),
    ("least timeout", f"{BASE.min_rto_s:g} s", "Two ticks of the printed 0.1 s, the bound of ns-2 in 2001."),
    ("figure 7: round trip", f"{1000 * BASE.friendly_rtt_s:g} ms", "That of the other experiments."),
    (
        "figures 8 to 18: propagation",
        f"{1000 * BASE.dumbbell_rtt_s:g} ms, {1000 * BASE.dumbbell_spread_s:g} ms more or less by flow",
        "With the queue this gives the measured 100 ms that the paper reports; it says that the round trips "
        "of "
        "the flows are drawn at random.",
    ),
    ("bandwidth-delay product", "of the propagation", "As ns-2 scripts compute it before any queue exists."),
    (
        "reverse traffic",
        "4 TCP flows over a link of equal rate and queue",
        "Section 6.1.2; their ACKs cross ours.",
    ),
    (
        "figure 18: link",
        f"{BASE.step_mbps:g} Mbit/s",
        "The text says only that windows stay above 10 packets.",
    ),
    (
        "table 5: propagation and queue",
        f"{1000 * BASE.square_rtt_s:g} ms, RED",
        "With the queue about 100 ms, as the text says; windows then are 11 and 22 packets, from which the "
        "paper's analysis column follows.",
    ),
    (
        "table 5: doubled",
        "one packet below twice the window against the traffic",
        "Section 5 with m = 2, and the steady-state error of one packet.",
    ),
    (
        "figure 20: middle link",
        f"{BASE.middle_mbps:g} Mbit/s, {1000 * BASE.chain_rtt_s:g} ms",
        "The figure's numbers are not in the text; these give W = 110 packets, as the text says, and keep "
        "the "
        "link the bottleneck of flow 2 beside 6 Mbit/s.",
    ),
    (
        "figure 20: background",
        "over one link, half the propagation of the two flows",
        "Gives the windows of about 7 and 100, and 10 and 30 packets.",
    ),
    (
        "table 6: T1",
        "until the sum of the windows is W",
        "W: mean of the sum in the last quarter of the run.",
    ),
    ("table 6: T2", "until the windows first differ by less than 10", "A TCP flow does not stay there."),
)


@dataclass
class Sensitivity(sensitivity_of.Sensitivity):
    """The measured claims under the base and under each changed choice, over the same seeds."""

    def changed(self, claim_id: str) -> dict[str, Verdict]:
        """The variants under which the verdict differs from the base's over the same seeds."""
        base = {c.id: c.verdict for c in self.base}
        return {
            name: c.verdict
            for name, found in self.variants.items()
            for c in found
            if c.id == claim_id and c.verdict != base[claim_id]
        }


def choice(name: str) -> str:
    """What a variant changes, in words."""
    return next(v.choice for v in VARIANTS if v.name == name)


def sensitivity(plan: Plan, runs: pl.DataFrame) -> Sensitivity:
    """The claims for the base and every variant, over the seeds and loads that the variants have."""
    seeds = int(plan.settings["sensitivity_seeds"])
    few = runs.filter(pl.col("seed") <= seeds)
    names = [v.name for v in VARIANTS if v.name in set(runs["variant"])]
    base = few.filter(pl.col("variant") == "base")
    tried = few.filter((pl.col("variant") != "base") & (pl.col("experiment") == "share"))
    if tried.height:
        loads = tried.select("mbps", "n").unique()
        kept = base.filter(pl.col("experiment") == "share").join(loads, on=["mbps", "n"], how="semi")
        base = pl.concat([base.filter(pl.col("experiment") != "share"), kept])
    return Sensitivity(
        claims.evaluate(base),
        {name: claims.evaluate(few.filter(pl.col("variant") == name)) for name in names},
    )


def sensitivity_section(plan: Plan, found: Sensitivity) -> Section:
    """Which verdicts each choice decides."""
    ids = [c.id for c in found.base]
    rows: list[list[str | Tally]] = [["as above (base)", *(Tally(c) for c in found.base), "-"]]
    base = {c.id: c.verdict for c in found.base}
    for name, under in found.variants.items():
        by_id = {c.id: c for c in under}
        decided = [i for i in ids if i in by_id and by_id[i].verdict != base[i]]
        cells: list[str | Tally] = [Tally(by_id[i]) if i in by_id else "-" for i in ids]
        rows.append([choice(name), *cells, ", ".join(decided) or "none"])
    decisive = [i for i in ids if found.changed(i)]
    text = (
        f"Each row changes one choice and repeats the experiments that it touches over "
        f"{plan.settings['sensitivity_seeds']} seeds; the first row is the base over the same seeds, so that "
        "its "
        "intervals are wider than those above and an order that holds there may fail here. "
        + (
            f"A choice decides the verdict of {', '.join(decisive)}."
            if decisive
            else "No choice decides a verdict."
        )
    )
    return Section(
        "How far the choices decide the verdicts",
        [text],
        [Table(["Choice", *ids, "verdicts that change"], rows, CAPTION)],
    )


def choices_section() -> Section:
    """The set-up: table 4, and what the text leaves open."""
    return Section(
        "Set-up",
        [
            "Table 4 of the paper: packets of 1000 bytes (500 in section 6.3), windows of at most 128 "
            "packets, SACK, "
            "timer of 0.1 s, no delayed ACKs; RED by ns-2's rules with gentle, a limit of 2.5 "
            "bandwidth-delay "
            "products, thresholds at 0.15 and 0.5 of it, weight 0.002, max_p 0.1, wait; drop-tail queues of "
            "1.5 "
            "bandwidth-delay products. What the text leaves open:"
        ],
        [Table(["What", "Here", "Why"], [list(row) for row in CHOICES])],
    )


def analysis_section(base: pl.DataFrame) -> Section:
    """Tables 5 and 6: simulation and analysis from the windows that were measured."""
    tables = []
    square = claims.of(base, "square")
    if square.height:
        rows = []
        for cc in FIVE:
            at = claims.of_cc(square, cc)
            control, beta = closed._CONTROL[cc]
            low, high = float(np.mean(at["on"].to_list())), float(np.mean(at["off"].to_list()))
            rows.append(
                [
                    label(cc),
                    plain(low),
                    plain(high),
                    plus_minus(interval(at["grow_double"])),
                    plain(float(np.asarray(tradeoffs.rounds_to_grow(control, beta, low)))),
                    plus_minus(interval(at["grow"])),
                    plus_minus(interval(at["shrink"])),
                    plain(float(np.asarray(tradeoffs.losses_to_shrink(control, beta, high)))),
                    plus_minus(interval(at["timeouts"])),
                ]
            )
        head = ["Control", "window against traffic", "window alone", "RTT to double", "analysis"]
        head += ["RTT to the window alone", "losses to halve", "analysis", "timeouts"]
        tables.append(Table(head, rows, "Table 5 again: measured, and table 3 with the measured windows"))
    rows = []
    for number in (1, 2):
        at_all = claims.of(base, f"chain-{number}")
        for cc in CHAIN if at_all.height else ():
            at = claims.of_cc(at_all, cc)
            timed, beta = closed._TIME[cc]
            w1, w2, total = (float(np.mean(at[c].to_list())) for c in ("w1", "w2", "total"))
            if number == 1:
                theory = convergence_time.fairness_rounds(timed, beta, w2 - w1, closed.EPSILON, total)
                got, other = at["t2"], at["t2_stay"]
            else:
                theory = convergence_time.efficiency_rounds(timed, beta, w1, w2, max(total, w1 + w2 + 1))
                got, other = at["t1"], at["t1_loss"]
            rows.append(
                [
                    "T2" if number == 1 else "T1",
                    label(cc),
                    plain(w1),
                    plain(w2),
                    plain(total),
                    plus_minus(interval(got)),
                    plain(float(np.asarray(theory))),
                    plus_minus(interval(other)),
                ]
            )
    if rows:
        head = ["", "Control", "W1", "W2", "W", "measured (RTT)", "analysis", "measured otherwise"]
        caption = (
            "Table 6 again. Otherwise: T2 until 2 s without a break below 10 packets; T1 until the first loss"
        )
        tables.append(Table(head, rows, caption))
    return Section(
        "Simulation and analysis",
        ["The closed forms of the paper, evaluated with the windows that our runs had before each change."],
        tables,
    )

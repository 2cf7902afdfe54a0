"""The page's sections on the choices, on how far they decide the verdicts, and on simulation and analysis."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from bentpipe.analysis import tradeoffs
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
        "Appendix E gives one decrement rule and no exception for slow start. ns-2.35 halves there, "
        "whatever the constants; the version of 2001 is not known. Tried below.",
    ),
    (
        "SIMD's and AIAD's increase",
        "per ACK, equation 15",
        "Appendix E: this is what the paper's simulator did.",
    ),
    ("AIMD(1/10,1/16)", "a = 0.1", "As printed; equation 4 gives 0.0968."),
    ("packet size", "1000 (500) bytes with 40 of header", "Table 4 gives packet sizes, as ns-2 counts them."),
    ("least timeout", f"{BASE.min_rto_s:g} s", "Two ticks of the printed 0.1 s, the bound of ns-2 in 2001."),
    (
        "figures 8 to 13: length",
        "400 s, throughput of the last 60 s",
        "The 60 s are the paper's, the length is not in the text; section 6.2.1 runs 500 s, section 6.3 "
        "measures after 400 s. With few flows AIAD needs minutes to give up what slow start left it: 160 s "
        "are tried below.",
    ),
    (
        "figures 14 to 17: length",
        "200 s, variation of the last 100 s, the last 20 s drawn",
        "The paper draws 250 to 270 s of 500 s; shares no longer change after some 140 s.",
    ),
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
        "figure 18: settled",
        "the mean window of the next 2 s is within a packet of its later mean",
        "The text says only fast and slow. Two seconds are 20 round trips: a window that a timeout throws "
        "to one packet has not settled.",
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

    #: The runs behind `busy_table`, of the base and of each choice.
    busy: pl.DataFrame = field(default_factory=pl.DataFrame)

    def changed(self, claim_id: str) -> dict[str, Verdict]:
        """The variants under which the verdict differs from the base's over the same seeds."""
        base = {c.id: c.verdict for c in self.base}
        return {
            name: c.verdict
            for name, found in self.variants.items()
            for c in found
            if c.id == claim_id and c.verdict != base[claim_id]
        }

    def low_share(self, name: str, cc: str) -> float | None:
        """Mean ratio of a control to TCP where K3 and K4 find little loss; None if it was not run."""
        found = self.base if name == "base" else self.variants.get(name, [])
        key = {"simd": "K3", "aiad": "K4"}[cc]
        near = [c for k in found if k.id == key for c in k.checks if c.what.endswith("less 1")]
        return 1 + float(np.mean([c.measured.mean for c in near])) if near else None


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
        few.filter(pl.col("experiment") == "busy"),
    )


def sensitivity_section(plan: Plan, found: Sensitivity) -> Section:
    """Which verdicts each choice decides, and what was tried for claim K5."""
    # Variants that touch no claim's runs have a table of their own.
    ids = [c.id for c in found.base]
    rows: list[list[str | Tally]] = [["as above (base)", *(Tally(c) for c in found.base), "-"]]
    base = {c.id: c.verdict for c in found.base}
    for name, under in found.variants.items():
        if not under:
            continue
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
        [
            Table(["Choice", *ids, "verdicts that change"], rows, CAPTION),
            *([busy_table(found.busy)] if found.busy.height else []),
        ],
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


def busy_table(at: pl.DataFrame) -> Table:
    """What AIMD and SIMD get of TCP's throughput at 15 Mbit/s, and what was tried to make AIMD lose it."""
    rows = []
    for name in at["variant"].unique(maintain_order=True).to_list():
        one = {cc: at.filter((pl.col("variant") == name) & (pl.col("cc") == cc)) for cc in ("aimd", "simd")}
        rows.append(
            [
                "as above (base)" if name == "base" else choice(name),
                *(plus_minus(interval(of["ratio"])) for of in one.values()),
                *(plain(float(np.mean(of["least"].to_list()))) for of in one.values()),
                f"{float(np.mean(one['aimd']['loss'].to_list())):.1%}",
                *(plain(float(np.mean(of["timeouts"].to_list()))) for of in one.values()),
            ]
        )
    return Table(
        [
            "Choice",
            "AIMD over TCP",
            "SIMD over TCP",
            "slowest AIMD flow over TCP's mean",
            "slowest SIMD flow",
            "lost or marked",
            "timeouts of an AIMD flow",
            "of a SIMD flow",
        ],
        rows,
        "Claim K5: 16 flows beside 16 of TCP, 15 Mbit/s, RED, and what was tried to make AIMD lose its share",
    )


def analysis_section(base: pl.DataFrame) -> Section:
    """Tables 5 and 6: simulation and analysis from the windows that were measured, and the printed ones."""
    tables = []
    square = claims.of(base, "square")
    if square.height:
        rows = []
        for cc in FIVE:
            at = claims.of_cc(square, cc)
            control, beta = closed.INDEXED[cc]
            low, high = float(np.mean(at["on"].to_list())), float(np.mean(at["off"].to_list()))
            rows.append(
                [
                    label(cc),
                    plain(low),
                    plain(high),
                    plus_minus(interval(at["grow_double"])),
                    _range(claims.GROW_PRINTED[cc]),
                    plain(float(np.asarray(tradeoffs.rounds_to_grow(control, beta, low)))),
                    plain(closed.GROW[cc]),
                    plus_minus(interval(at["shrink"])),
                    _range(claims.SHRINK_PRINTED[cc]),
                    plain(float(np.asarray(tradeoffs.losses_to_shrink(control, beta, high)))),
                    plain(closed.SHRINK[cc]),
                    plus_minus(interval(at["timeouts"])),
                ]
            )
        head = ["Control", "window against traffic", "window alone"]
        for what in ("RTT to double", "losses to halve"):
            head += [f"{what}: measured", "paper", "table 3 with our windows", "paper's analysis"]
        head.append("timeouts")
        tables.append(Table(head, rows, "Table 5 of the paper beside ours"))
    rows = []
    for number in (1, 2):
        at_all = claims.of(base, f"chain-{number}")
        for cc in CHAIN if at_all.height else ():
            at = claims.of_cc(at_all, cc)
            w1, w2, total = (float(np.mean(at[c].to_list())) for c in ("w1", "w2", "total"))
            names = ("t2", "t2_stay") if number == 1 else ("t1", "t1_loss")
            printed, simulated, analysis = (
                (closed.CHAIN_1, claims.TO_FAIR, closed.FAIR)
                if number == 1
                else (closed.CHAIN_2, claims.TO_FULL, closed.FULL)
            )
            gap = ["-", "-"] if number == 1 else [plus_minus(interval(at["gap"])), plain(claims.GAP[cc])]
            rows.append(
                [
                    "T2" if number == 1 else "T1",
                    label(cc),
                    f"{plain(w1)}, {plain(w2)} of {plain(total)}",
                    f"{printed[cc][0]:g}, {printed[cc][1]:g} of {closed.TOTAL:g}",
                    plus_minus(interval(at[names[0]])),
                    plain(simulated[cc]),
                    plain(float(np.mean(claims.analysed(base, number, cc)))),
                    plain(analysis[cc]),
                    plus_minus(interval(at[names[1]])),
                    *gap,
                ]
            )
    if rows:
        head = ["", "Control", "W1, W2 of W", "paper", "RTT: measured", "paper", "closed form, our windows"]
        head += ["paper's analysis", "measured otherwise", "difference then", "paper"]
        caption = (
            "Table 6 of the paper beside ours. Otherwise: T2 until 2 s without a break below 10 packets; T1 "
            "until the first loss"
        )
        tables.append(Table(head, rows, caption))
    return Section(
        "Simulation and analysis",
        [
            "Tables 5 and 6 of the paper, and its closed forms evaluated with the windows that our runs had "
            "before each change."
        ],
        tables,
    )


def _range(of: tuple[float, float]) -> str:
    return f"{of[0]:g} to {of[1]:g}"

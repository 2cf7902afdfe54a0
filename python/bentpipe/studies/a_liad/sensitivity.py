"""How far the choices that the paper leaves open decide the verdicts."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from bentpipe.studies import sensitivity as sensitivity_of
from bentpipe.studies.a_liad import claims
from bentpipe.studies.a_liad.setup import VARIANTS
from bentpipe.studies.page import plain
from bentpipe.studies.study import Plan, Section, Table, Tally

CAPTION = (
    "Checks that hold, by claim: ✓ reproduced, ~ same order, ✗ not reproduced. A choice that does not "
    "concern a claim leaves its runs as they are."
)
#: What makes two runs the same but for the variant.
KEYS = ("experiment", "cc", "rtt_ms", "per", "seed")
#: Numbers of the second table: heading, claim, check, printed value.
NUMBERS = (
    ("A-LIAD in 30 s, %", "A2", 0, "80"),
    ("CUBIC less A-LIAD, %", "A2", 1, "3"),
    ("J, no loss", "A4", 0, "0.995"),
    ("A-LIAD at 0.1 %, %", "A6", 0, "60"),
    ("less at 1 %", "A6", 1, "> 0"),
    ("NewReno loses to STCP, %", "A8", 0, "45"),
    ("to A-LIAD", "A8", 1, "38"),
    ("to CUBIC", "A8", 2, "11"),
)


@dataclass
class Sensitivity(sensitivity_of.Sensitivity):
    """The claims under the base and under each changed choice, over the same seeds."""

    def check(self, variant: str, claim_id: str, index: int) -> float | None:
        """The measured mean of one check under a variant; None if the variant was not run."""
        if variant not in self.variants:
            return None
        return next(c for c in self.variants[variant] if c.id == claim_id).checks[index].measured.mean


def choice(name: str) -> str:
    """What a variant changes, in words."""
    return next(v.choice for v in VARIANTS if v.name == name)


def evaluate(plan: Plan, runs: pl.DataFrame) -> Sensitivity:
    """The claims for the base and every variant, over the seeds that the variants have."""
    few = runs.filter(pl.col("seed") <= int(plan.settings["sensitivity_seeds"]))
    base = few.filter(pl.col("variant") == "base")
    present = set(runs["variant"])
    found = {}
    for variant in VARIANTS:
        if variant.name in present:
            mine = few.filter(pl.col("variant") == variant.name)
            found[variant.name] = claims.evaluate(pl.concat([mine, base.join(mine, on=KEYS, how="anti")]))
    return Sensitivity(claims.evaluate(base), found)


def section(plan: Plan, found: Sensitivity) -> Section:
    """Which verdicts each choice decides, and what the choices do to the printed numbers."""
    # A10 is a calculation: no choice of the set-up enters it.
    ids = [c.id for c in found.base if c.id != "A10"]
    verdicts: list[list[str | Tally]] = [
        ["as above (base)", *(Tally(c) for c in found.base if c.id in ids), "-"],
    ]
    numbers = [["the paper", *(printed for *_, printed in NUMBERS), ""]]
    for name, under in {"base": found.base, **found.variants}.items():
        by_id = {c.id: c for c in under}
        shown = "as above (base)" if name == "base" else choice(name)
        if name != "base":
            changed = [
                a.id for a, b in zip(under, found.base, strict=True) if a.verdict != b.verdict and a.id in ids
            ]
            verdicts.append([shown, *(Tally(by_id[i]) for i in ids), ", ".join(changed) or "none"])
        holds = sum(k.holds for i in ids for k in by_id[i].checks)
        total = sum(len(by_id[i].checks) for i in ids)
        means = [plain(by_id[claim].checks[check].measured.mean) for _, claim, check, _ in NUMBERS]
        numbers.append([shown, *means, f"{holds} / {total}"])
    decided = {i for row in verdicts[1:] for i in str(row[-1]).split(", ") if i != "none"}
    text = (
        f"Each row changes one choice and repeats the study over {plan.settings['sensitivity_seeds']} "
        "seeds; the first row is the base over the same seeds. "
        + (
            f"The choices decide {', '.join(i for i in ids if i in decided)}; the other verdicts hold under "
            "every choice tried."
            if decided
            else "No choice tried changes a verdict."
        )
    )
    return Section(
        "How far the choices decide",
        [text],
        [
            Table(["Choice", *ids, "Verdicts it changes"], verdicts, CAPTION),
            Table(
                ["Choice", *(heading for heading, *_ in NUMBERS), "Checks that hold"],
                numbers,
                "The numbers that the paper prints, under each choice",
            ),
        ],
    )

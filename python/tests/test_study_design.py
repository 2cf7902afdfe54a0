"""The framework of the papers: what is run, how choices are judged, and what is said of them."""

from dataclasses import dataclass
from importlib import import_module

import polars as pl
import pytest

from bentpipe import studies
from bentpipe.studies import design, tables
from bentpipe.studies.assembly import Explanation
from bentpipe.studies.claim import number
from bentpipe.studies.design import BASE, Choices, Design, Replication, Variant, where
from bentpipe.studies.judge import Findings, Sentence, evaluate, judged, sensitivity


@dataclass(frozen=True)
class Setup(Choices):
    buffer: int = 50


@pytest.mark.parametrize("name", studies.PAPERS)
def test_the_modes_of_a_paper_have_enough_seeds(name):
    papers = import_module(f"bentpipe.papers.{name.replace('-', '_')}.setup").DESIGN
    full, quick = papers.plan("full"), papers.plan("quick")
    assert full.settings["seeds"] >= 10
    assert 2 <= quick.settings["sensitivity_seeds"] <= quick.settings["seeds"] < full.settings["seeds"]
    assert len(quick.cases) < len(full.cases) / 2
    assert len({variant.name for variant in papers.variants}) == len(papers.variants)


VARIANTS = (
    Variant("long", "a buffer of 100", Setup(100), where(part="queue"), quick=True),
    Variant("short", "a buffer of 10", Setup(10)),
)


def points(_: Replication) -> list[dict]:
    return [{"part": part, "cc": cc} for part in ("queue", "loss") for cc in ("reno", "cubic")]


def scenario(of: Replication, part: str, cc: str) -> dict:
    return {"seed": of.seed, "buffer": of.setup.buffer, "name": f"{part} {cc}"}


DESIGN = Design(
    Setup(),
    VARIANTS,
    {"quick": design.Size(3, 2), "full": design.Size(5, 2)},
    points,
    scenario,
    measure=lambda *_: {},
    note="Seeds 1 to {size.seeds}.",
    keeps=lambda keys, seed: seed == 1 and keys["cc"] == "reno",
)


def measured(plan, **values: float) -> pl.DataFrame:
    """A rate for each run of a plan: the base's is 10, that of a variant is given."""
    return pl.DataFrame(
        [{**case.keys, "rate": values.get(str(case.keys["variant"]), 10.0)} for case in plan.cases]
    )


def rates_of(part):
    """The check of the rate of a part."""
    return lambda runs: [number("rate", runs.filter(pl.col("part") == part)["rate"].to_list(), 10.0)]


def because(_):
    return "a reason", ["A paragraph."]


CLAIMS = [
    Sentence(
        "Q",
        "The queue",
        "the rate of the runs with a full queue is 10.",
        rates_of("queue"),
        because,
        where(part="queue"),
    ),
    Sentence(
        "L",
        "Losses",
        "the rate of those with losses is 10.",
        rates_of("loss"),
        because,
        where(part=("loss", "none")),
    ),
    Sentence("F", "A closed form", "two is two.", lambda _: [number("two", [2.0, 2.0], 2.0)], because, None),
]


def test_a_mode_runs_the_base_over_all_seeds_and_what_a_variant_touches_over_few():
    quick, full = DESIGN.plan("quick"), DESIGN.plan("full")
    runs = [(c.keys["variant"], c.keys["part"], c.keys["cc"], c.keys["seed"]) for c in quick.cases]
    base = [(BASE, p, cc, s) for s in (1, 2, 3) for p in ("queue", "loss") for cc in ("reno", "cubic")]
    assert runs == base + [("long", "queue", cc, s) for s in (1, 2) for cc in ("reno", "cubic")]
    assert len(full.cases) == 5 * 4 + 2 * 2 + 2 * 4
    assert quick.cases[-1].scenario == {"seed": 2, "buffer": 100, "name": "queue cubic"}
    assert [(c.keys["part"], c.keys["seed"]) for c in full.cases if c.keep_trace] == [
        ("queue", 1),
        ("loss", 1),
    ]
    assert (quick.settings["seeds"], quick.settings["note"]) == (3, "Seeds 1 to 3.")


def test_a_variants_runs_replace_base_runs_with_equal_keys():
    plan = DESIGN.plan("quick")
    runs = measured(plan, long=20.0).filter(pl.col("seed") <= 2)
    merged = judged(runs, "long", DESIGN, plan)
    assert merged.height == 8
    rates = dict(merged.group_by("part").agg(pl.col("rate").unique()).iter_rows())
    assert rates == {"queue": [20.0], "loss": [10.0]}
    assert judged(runs, BASE, DESIGN, plan).equals(runs.filter(pl.col("variant") == BASE))


def test_a_claim_is_judged_under_the_variants_that_touch_its_runs():
    plan = DESIGN.plan("full")
    runs = measured(plan, long=20.0, short=11.0)
    under = sensitivity(CLAIMS, DESIGN, plan, runs.filter(pl.col("seed") <= 2))
    assert [c.id for c in under.base] == ["Q", "L"]
    assert {name: [c.id for c in of] for name, of in under.variants.items()} == {
        "long": ["Q"],
        "short": ["Q", "L"],
    }
    assert (under.mean("long", "Q", 0), under.mean("long", "L", 0), under.mean(BASE, "L", 0)) == (
        20,
        None,
        10,
    )
    assert under.compared(under.base[0]) == {"long": -1, "short": 0}
    assert under.frame().select("variant", "choice").unique(maintain_order=True).rows() == [
        (BASE, "as in the set-up (base)"),
        ("long", "a buffer of 100"),
        ("short", "a buffer of 10"),
    ]


def findings(**rates: float) -> Findings:
    plan = DESIGN.plan("full")
    runs = measured(plan, **rates)
    base = runs.filter(pl.col("variant") == BASE)
    under = sensitivity(CLAIMS, DESIGN, plan, runs.filter(pl.col("seed") <= 2))
    is_open = [s.id for s in CLAIMS if s.open]
    return Findings(plan, runs, base, pl.DataFrame(), evaluate(CLAIMS, base), under, is_open)


def test_claims_about_runs_that_are_not_there_are_left_out_and_closed_forms_are_not():
    some = measured(DESIGN.plan("quick")).filter(pl.col("part") == "loss")
    assert [c.id for c in evaluate(CLAIMS, some)] == ["L", "F"]


def test_the_table_of_choices_says_what_each_changes():
    found = findings(long=20.0, short=11.0)
    assert tables.decided(found) == ["Q"]
    assert tables.held(found) == {BASE: 2, "long": 0, "short": 2}
    numbers = tables.Numbers("Means", [tables.Number("rate", "Q", 0), tables.Number("lost", "L", 0)])
    verdicts, means = tables.choices_section(found, "Text.", numbers=numbers).tables
    assert [[str(cell) for cell in row] for row in verdicts.rows] == [
        ["as above (base)", "4", "✓ 1/1", "✓ 1/1", "-"],
        ["a buffer of 100", "4", "✗ 0/1", "-", "Q"],
        ["a buffer of 10", "4", "✓ 1/1", "✓ 1/1", "none"],
    ]
    assert [list(row) for row in means.rows] == [
        ["the paper", "10.0", "10.0", ""],
        ["as above (base)", "10.0", "10.0", "2 / 2"],
        ["a buffer of 100", "20.0", "-", "0 / 1"],
        ["a buffer of 10", "11.0", "11.0", "2 / 2"],
    ]


def test_an_explanation_has_the_reason_and_what_the_choices_do():
    found = findings(base=20.0, short=11.0)
    queue, _, form = found.claims
    Explanation(lists_failing=True, counts_choices=True).add(queue, CLAIMS[0], found)
    assert queue.note == (
        "0 of 1 checks hold; ours: no cause found; a reason; 2 other choices tried, nearest with: a "
        "buffer of 100 (1 of 1 checks hold)"
    )
    assert queue.detail[:2] == ["Does not hold: rate.", "A paragraph."]
    assert queue.detail[-1] == (
        "Of the other choices tried, it fares better with: a buffer of 100 (reproduced); a buffer of 10 "
        "(reproduced)."
    )
    Explanation(clause_if_failing=True).add(form, CLAIMS[2], found)
    assert (form.note, form.detail) == ("1 of 1 checks hold; a reason", ["A paragraph."])

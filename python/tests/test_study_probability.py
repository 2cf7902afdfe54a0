"""The probability that a claim is reproduced: sets of seeds, and the choice that suits a claim best."""

import polars as pl
import pytest
from toy_study import CHOICES

from bentpipe import ScenarioError, studies
from bentpipe.studies import chance, probability
from bentpipe.studies.claim import Claim, above
from bentpipe.studies.combinations import assembly
from bentpipe.studies.design import BASE


def test_sets_have_as_many_seeds_as_the_study_and_stay_paired():
    """Two algorithms with three seeds in the study, one with two; a run's value is its seed's."""
    seeds = {"a": (1, 2, 3, 1001, 1002, 1003), "b": (1, 2, 3, 1001, 1002, 1003), "c": (1, 2, 1001, 1002)}
    rows = [
        {"variant": "base", "cc": cc, "seed": seed, "value": float(seed)}
        for cc in seeds
        for seed in seeds[cc]
    ]
    drawn = list(probability.draws(pl.DataFrame(rows), ["variant", "cc", "seed"], 40))
    values = [{cc: of.filter(cc=cc).sort("seed")["value"].to_list() for cc in seeds} for of in drawn]
    assert all(of["a"] == of["b"] and len(of["a"]) == 3 and len(of["c"]) == 2 for of in values)
    assert all(of.filter(cc="a")["seed"].sort().to_list() == [1, 2, 3] for of in drawn)
    # All seeds are drawn, and some twice in a set: of 6 values 3 differ with a probability of 5/9.
    assert {value for of in values for value in of["a"]} == set(seeds["a"])
    assert 10 <= sum(len(set(of["a"])) == 3 for of in values) <= 34
    again = list(probability.draws(pl.DataFrame(rows), ["variant", "cc", "seed"], 40))
    assert all(one.equals(other) for one, other in zip(drawn, again, strict=True))


def test_the_base_and_the_choice_that_suits_a_claim_best_are_judged_over_other_seeds(tmp_path, monkeypatch):
    log = tmp_path / "log"
    with pytest.raises(ScenarioError, match="does not have the full run of choices.*study run all --full"):
        probability.estimate([CHOICES], tmp_path)
    studies.run_plan(CHOICES, CHOICES.plan("full"), tmp_path / "choices")
    monkeypatch.setenv("TOY_LOG", str(log))
    found = probability.estimate([CHOICES], tmp_path, workers=1)
    # At 1 Mbit/s no seed gives the 5.8 Mbit that the claim R wants after 2 s, at 3 Mbit/s each does. No
    # choice gives the order that W wants, and the reading its number.
    assert [(of.claim, of.reading, of.reproduced, of.sets) for of in found] == [
        ("R", "base", 0, 100),
        ("R", "rate-3", 100, 100),
        ("W", "base", 0, 100),
        ("W", "fitted", 0, 100),
    ]
    best = found[1]
    assert (best.held, best.checks, best.verdict, best.verdict_from_1001) == (2, 2, *["reproduced"] * 2)
    assert (best.seeds, best.free, best.words) == (4, 1, "3 Mbit/s")
    # Both parts of the base from 1001 on, one of the reading from there, and one of the choice from there and
    # from 3 on: it had two seeds.
    made = [int(line.split()[0]) for line in log.read_text().splitlines()]
    assert len(made) == 2 * 4 + 4 + 4 + 2 and {1001, 1004, 3, 4} <= set(made)
    assert probability.estimate([CHOICES], tmp_path) == found
    assert len(log.read_text().splitlines()) == len(made)


def test_the_file_keeps_other_papers_and_is_taken_only_for_the_same_checks(tmp_path, monkeypatch):
    def of(study: str, reading: str, checks: int) -> chance.Chance:
        return chance.Chance(
            study, "X1", reading, "1,5 BDP", 1, 1, checks, "undecided", "reproduced", 8, 100, 41
        )

    file = tmp_path / "p.csv"
    chance.write([of("one", "base", 2), of("two", "base", 2)], file)
    chance.write([of("two", "base", 1), of("two", "best", 1)], file)
    assert list(chance.shipped(file)) == [of("one", "base", 2), of("two", "base", 1), of("two", "best", 1)]
    monkeypatch.setattr(chance, "shipped", lambda: [of("two", "base", 1), of("two", "best", 1)])
    claim = Claim("X1", "t", "s", [above("order", [1.0, 2.0], [0.0, 0.0])])
    assert chance.shown(chance.known("two", claim)) == "41 %; 41 % with best"
    assert chance.shown(chance.known("one", claim)) == "-"
    two = Claim("X1", "t", "s", [*claim.checks, *claim.checks])
    assert chance.known("two", two) == []


def test_every_claim_of_a_paper_in_the_file_has_its_probabilities():
    """And what suits it best is a choice or a reading of today: else `make probabilities`."""
    for name in dict.fromkeys(of.study for of in chance.shipped()):
        built = assembly(studies.get(name))
        mine = [of for of in chance.shipped() if of.study == name]
        assert {of.claim for of in mine if of.reading == BASE} == {
            s.id for s in built.claims if not s.reference
        }
        names = {of.name for of in (*built.design.variants, *built.design.only_joint, *built.design.readings)}
        assert {of.reading for of in mine} <= {BASE, *names}
        assert all(of.sets >= 20 and 0 <= of.reproduced <= of.sets for of in mine)

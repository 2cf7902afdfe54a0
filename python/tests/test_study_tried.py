"""What a study says of the choices that were tried for a claim."""

from bentpipe.studies.assembly import fares, nearest, tried
from bentpipe.studies.claim import Claim, above, number
from bentpipe.studies.judge import Sensitivity


def claim(rate: float, lead: float, extra: int = 0) -> Claim:
    """A claim with a number, 10, an order, and more orders that hold if there is a lead."""
    checks = [
        number("rate", [rate, rate], 10.0, unit="Mbit/s"),
        above("first above second", [lead, lead], [0.0, 0.0]),
        *(above(f"more {i}", [lead, lead], [0.0, 0.0]) for i in range(extra)),
    ]
    return Claim("X1", "title", "statement", checks)


def under(base: list[Claim], variants: dict[str, list[Claim]]) -> Sensitivity:
    return Sensitivity(base, variants, {name: f"the {name} buffer" for name in variants})


def test_each_failing_check_has_its_range_and_the_choices_under_which_it_holds():
    found = under([claim(5, 1)], {"long": claims(9, 1), "short": claims(4, 1), "other": []})
    # The order holds and has no row.
    assert tried(claim(5, 1), found) == [
        ["rate", "10", "5.00", "4.00 to 9.00 (2 other choices)", "the long buffer"]
    ]


def claims(rate: float, lead: float, extra: int = 0) -> list[Claim]:
    return [claim(rate, lead, extra)]


def test_checks_are_matched_by_name_where_a_choice_has_others():
    found = under([claim(5, -1)], {"long": claims(9, -2, extra=1)})
    rows = tried(claim(5, -1), found)
    assert rows[1] == ["first above second", "> 0", "-1.00", "-2.00 (1 other choice)", "none"]


def test_nothing_is_said_where_nothing_failed_or_was_tried():
    assert tried(claim(10, 1), under([claim(10, 1)], {"long": claims(1, 1)})) == []
    assert tried(claim(5, 1), under([claim(5, 1)], {})) == []
    assert nearest(claim(10, 1), under([claim(10, 1)], {"long": claims(1, 1)})) == ""
    assert nearest(claim(5, 1), under([claim(5, 1)], {})) == ""


def test_the_note_names_the_choice_that_comes_nearest():
    found = under([claim(5, -1)], {"short": claims(5, 1), "long": claims(10, 1)})
    assert (
        nearest(claim(5, -1), found)
        == "2 other choices tried, nearest with: the long buffer (2 of 2 checks hold)"
    )
    worse = under([claim(5, 1)], {"short": claims(5, -1)})
    assert nearest(claim(5, 1), worse) == "1 other choice tried, none comes nearer"


def test_a_verdict_that_the_seeds_do_not_decide_is_no_change():
    wide = Claim("X1", "title", "statement", [above("order", [3.0, 1.0], [0.0, 0.9])])
    wrong = Claim("X1", "title", "statement", [above("order", [0.0, 0.0], [1.0, 1.0])])
    good = Claim("X1", "title", "statement", [above("order", [1.0, 1.0], [0.0, 0.0])])
    found = under([good], {"long": [wide], "short": [wrong]})
    assert found.compared(good) == {"long": 0, "short": -1}
    assert fares(good, found) == ["It fares worse with: the short buffer (not reproduced)."]
    assert dict(found.frame().select("variant", "outcome").iter_rows()) == {
        "base": "yes",
        "long": "undecided",
        "short": "no",
    }
    assert under([wide], {"long": [good]}).compared(wide) == {"long": 0}


def test_a_verdict_is_compared_only_with_choices_that_ran_every_check():
    def at(ratio: dict[int, float]) -> Claim:
        shares = {n: number(f"n = {n}", [of, of], 1.0).known_as(f"{n} flows") for n, of in ratio.items()}
        return Claim("X1", "title", "statement", [above("an order", [1.0] * 2, [0.0] * 2), *shares.values()])

    base = at({8: 1.0, 64: 1.5})
    found = under([base], {"some": [at({8: 1.0})], "all": [at({8: 1.0, 64: 1.4})]})
    # The first choice never ran the failing check: that it holds there is not said, nor is its verdict.
    assert list(found.partly("X1")) == ["some", "all"]
    assert list(found.under("X1")) == ["all"]
    assert "1 other choice tried" in nearest(base, found)
    assert tried(base, found) == [["n = 64", "1", "1.50", "1.40 (1 other choice)", "none"]]


def test_checks_with_a_key_are_matched_by_it_and_not_by_their_place():
    def of(*keys: str) -> Claim:
        return Claim("X1", "t", "s", [number(k, [1.0, 1.0], 1.0).known_as(k) for k in keys])

    low, high = of("low"), of("high")
    assert low.counterpart(high, 0) is None
    assert (same := of("high", "low").counterpart(low, 0)) is not None and same.what == "low"
    assert not high.covers(low)

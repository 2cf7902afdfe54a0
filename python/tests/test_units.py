"""Values with units."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bentpipe import ScenarioError, units


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ("1.5bdp", "1.5 bdp"),
        ("432 packets", "432 packets"),
        ("10Mbit/s", "10 Mbit/s"),
        (" 600  ms ", "600 ms"),
        ("1e6bit/s", "1e6 bit/s"),
        ("soon", "soon"),
        ("12", "12"),
    ],
)
def test_a_space_between_number_and_unit(given_, expected):
    assert units.spaced(given_) == expected


@pytest.mark.parametrize(
    ("text", "value"), [("600 ms", 0.6), ("1.5s", 1.5), ("20 us", 2e-5), ("2 min", 120), ("5ns", 5e-9)]
)
def test_durations(text, value):
    assert units.seconds(text, "rtt") == pytest.approx(value)


@pytest.mark.parametrize(
    "text", ["600", "ms", "", "six ms", "600 m", "-1 s", "0 s", "inf s", "nan s", "1e400 s"]
)
def test_what_is_not_a_duration(text):
    with pytest.raises(ScenarioError, match="^rtt: "):
        units.seconds(text, "rtt")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (9.876e6, "9.876 Mbit/s"),
        (1e9, "1.000 Gbit/s"),
        (12_345, "12.35 kbit/s"),
        (0, "0 bit/s"),
        (10, "10.00 bit/s"),
    ],
)
def test_rates(value, text):
    assert units.rate(value) == text


@given(st.floats(1e-6, 1e7))
def test_digits_keep_four(value):
    assert float(units.digits(value)) == pytest.approx(value, rel=5.001e-4)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.25, "0.25"),
        (1e-5, "1e-5"),
        (-2.5e-7, "-2.5e-7"),
        (20, "20"),
        (9.8764, "9.876"),
        (1.5e10, "1.5e+10"),
    ],
)
def test_short_numbers_have_no_zeros_at_their_end(value, text):
    assert units.short(value) == text


def test_things_are_counted_and_shares_have_a_unit():
    assert (units.many(1, "run"), units.many(1000, "run")) == ("1 run", "1,000 runs")
    assert (units.in_percent(0.1234), units.in_percent(-0.02, "+.0f")) == ("12.3 %", "-2 %")


@pytest.mark.parametrize(
    ("text", "value"), [("1e-4", 1e-4), ("0.01 %", 1e-4), (" 2% ", 0.02), ("%", None), ("2 % x", None)]
)
def test_shares(text, value):
    assert units.share(text) == value


def test_no_value_is_a_dash():
    assert (units.milliseconds(None), units.percent(None)) == ("-", "-")
    assert (units.milliseconds(0.5432), units.milliseconds(0.0123)) == ("543", "12.3")

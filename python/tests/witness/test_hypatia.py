"""A loaded constellation beside Hypatia, in short; in full by scripts/validate.py."""

from __future__ import annotations

import hypatia_load


def test_bursts_arrive_as_in_hypatia() -> None:
    rows = hypatia_load.bursts(hypatia_load.reference("burst"))
    assert [row for row in rows if row[-1] != "agrees"] == []
    received = [sum(int(row[column]) for row in rows) for column in (4, 5)]
    assert abs(received[0] - received[1]) <= 1e-4 * received[0]


def test_pings_take_as_long_as_in_hypatia_and_the_same_have_no_answer() -> None:
    rows = hypatia_load.pings(hypatia_load.reference("ping"))
    assert [row for row in rows if row[-1] != "agrees"] == []


def test_lasers_carry_what_they_carry_in_hypatia() -> None:
    rows = hypatia_load.lasers(hypatia_load.reference("lasers"), range(1, 9))
    assert [row for row in rows if row[-1] != "agrees"] == []


def test_a_hundred_flows_get_what_they_get_in_hypatia() -> None:
    rows = hypatia_load.tcp(hypatia_load.reference("run1"), 5, range(1, 4))
    assert [row for row in rows if row[-1] != "agrees"] == []

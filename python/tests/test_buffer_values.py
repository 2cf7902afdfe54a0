"""Buffers as a user gives them: times, and several in one comparison; and round trips that are too long."""

from __future__ import annotations

import json
from typing import Any

import pytest

import bentpipe as bp
from bentpipe.document.spans import span
from bentpipe.measured.draws import Draw

LINK = ("--rate", "2 Mbit/s", "--rtt", "100 ms")


def test_a_buffer_is_a_time_too() -> None:
    one, several = span("buffer", "4 s"), span("buffer", "500 ms..4 s")
    assert (one.at(0.0), str(one), str(several)) == ("4 s", "4 s", "0.5 to 4 s")
    for text in ("1 bdp..4 s", "1 MB..4 s", "4 s..10 packets"):
        with pytest.raises(bp.ScenarioError, match="two kinds of unit"):
            span("buffer", text)
    assert Draw(8e6, 0.1, "4 s", (), "none", 0.0).buffer_bytes == 4e6


def test_advice_takes_a_buffer_as_a_time(cli: Any) -> None:
    """A CUBIC flow fills it: 4 s at 2 Mbit/s are 1 MB."""
    done = cli("advise", *LINK, "--buffer", "4 s", "--cc", "cubic", "--plan", "1x1x40s", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["question"] == "2 Mbit/s, 100 ms, buffer 4 s"
    cubic = next(row for row in found["algorithms"] if row["cc"] == "cubic")
    assert 3.9 < cubic["queue_p95_s"]["centre"] < 4.01


def test_a_round_trip_that_is_too_long_is_refused_before_the_first_run(cli: Any) -> None:
    done = cli("advise", "--rate", "20 Mbit/s", "--rtt", "600 s")
    assert done.exit_code == 2
    assert done.stderr == "bentpipe: rtt: 600 s is too long; a round trip must be shorter than 60 s\n"


def test_a_comparison_has_a_row_for_each_buffer(cli: Any) -> None:
    given = ("compare", *LINK, "--cc", "cubic,bbr", "--for", "5 s", "--seeds", "1", "--json")
    done = cli(*given, "--buffer", "0.25 bdp, 4 s")
    assert done.exit_code == 0, done.stderr
    rows = {(row["cc"], row["buffer"]): row for row in json.loads(done.stdout)["rows"]}
    assert set(rows) == {(cc, room) for cc in ("cubic", "bbr") for room in ("0.25 bdp", "4 s")}
    alone = json.loads(cli(*given, "--buffer", "4 s").stdout)["rows"]
    assert all("buffer" not in row for row in alone)
    for row in alone:
        assert row["goodput_bps"] == rows[row["cc"], "4 s"]["goodput_bps"]
    for wrong, said in (("1 bdp, 1 bdp", "1 bdp is there twice"), ("1 bdp,", "has an empty part")):
        done = cli(*given, "--buffer", wrong)
        assert done.exit_code == 2 and said in done.stderr
    shown = cli(*given[:-1], "--buffer", "0.25 bdp, 4 s").stdout
    assert "buffer" in shown and "0.25 bdp" in shown

"""docs/satellite-2026.md: its numbers are those of its table, and its claims are judged by their checks."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import bentpipe as bp
from bentpipe.experiments.rows import Rows
from bentpipe.experiments.satellite_2026 import claims, measure, page
from bentpipe.experiments.satellite_2026.page import Satellite2026

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_is_that_of_its_table() -> None:
    rows = Satellite2026(DOCS).read()
    assert Satellite2026(DOCS).stale() == []
    text = (DOCS / "satellite-2026.md").read_text(encoding="utf-8")
    assert set(rows.groups("path")) == {(path.name,) for path in measure.PATHS}
    for cc, label in page.ALGORITHMS.items():
        assert (f"| {label} |" in text) == bool(rows.where(cc=cc))


def test_one_job_by_hand() -> None:
    """Slow start on an empty path: the flight doubles with each round trip from ten segments on.

    Half of 50 Mbit/s over half a second are 1079 segments of 1448 bytes, which is more than the seventh
    flight of 640 and less than the eighth of 1280. That one ends seven round trips after the first, which
    comes after the handshake and half a round trip; the rate of the link spreads it over 0.3 s.
    """
    path = measure.PATHS[0]
    scenario = path.scenario("cubic", bp.Bulk(size="100 MB"), 1, "60 s", bp.Record("50 ms", links=True))
    alone = dataclasses.replace(scenario, flows=scenario.flows[:1])
    found = measure.measure(path, "start", bp.run(alone))
    begins = 0.65 + 0.325 + 7 * 0.65
    assert begins < found["startup_s"] < begins + 0.5
    assert found["start_lost"] > 1000  # plain slow start overruns a queue of 2708 packets


def test_what_was_saved_is_of_the_path(monkeypatch) -> None:
    """50 Mbit/s over 650 ms are 2708 packets of 1500 bytes; 200 Mbit/s over 40 ms are 667."""
    relay = next(path for path in measure.PATHS if path.relay)

    given: list[str] = []
    monkeypatch.setattr(measure.controller, "named_algorithm", given.append)
    measure.PATHS[0].named(f"cubic {measure.SAVED}")
    relay.named(f"cubic {measure.SAVED}", 0)
    assert given == ["cubic resume_cwnd=2708 resume_rtt=0.65", "cubic resume_cwnd=667 resume_rtt=0.04"]


def test_claims_follow_from_rows() -> None:

    def rows(hystart_mb: float, plain_mb: float) -> Rows:
        return Rows(
            {"path": path, "cc": cc, "seed": seed, "start_mb": start_mb + seed / 9}
            for cc, start_mb in ((claims.HYSTART, hystart_mb), (claims.PLAIN, plain_mb))
            for path in claims.LABELS
            for seed in (1, 2, 3)
        )

    (half,) = claims.claims(rows(10.0, 20.0))
    assert (half.id, str(half.verdict)) == ("hystart", "reproduced")
    (alike,) = claims.claims(rows(20.0, 20.0))
    assert str(alike.verdict) == "not reproduced"

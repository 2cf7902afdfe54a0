"""The comparison of LeoCC with BBR (`bentpipe study run leocc`), on a made-up trace."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from bentpipe.experiments.leo import leocc, page
from bentpipe.experiments.rows import Rows
from bentpipe.io.files import read_rows

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leocc, "LENGTH_S", 2.0)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """12 Mbit/s, and 8 ms one way in the first second, 12 ms after."""
    place = tmp_path / "data" / leocc.TRACE
    place.mkdir(parents=True)
    (place / "bw_1.txt").write_text("".join(f"{ms}\n" for ms in range(1, 2001)))
    (place / "delay_1.txt").write_text("8\n" * 100 + "12\n" * 100)
    return tmp_path / "data"


def test_only_the_first_setting_has_other_algorithms_and_rows_of_others_stay(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = leocc.settings
    monkeypatch.setattr(leocc, "settings", lambda *of: dict(list(settings(*of).items())[:2]))
    stored = tmp_path / "leocc.csv"
    stored.write_text((DOCS / "validation" / "leocc.csv").read_text(encoding="utf-8"), encoding="utf-8")
    before = read_rows(stored)
    assert leocc.LeoCC(tmp_path, quick=True, data=data).run() == [stored]
    rows = read_rows(stored)
    both = ["bbr", *page.SENDERS.values()]
    assert [row["cc"] for row in rows[:9]] == [*both, *leocc.RIVALS, *both]
    assert rows[0]["ratio"] == 1 and rows[0]["seeds"] == 2 and 5e6 < rows[0]["goodput_bps"] < 12e6
    assert rows[9:] == before[9:]


def test_every_setting_is_a_scenario(data: Path, tmp_path: Path) -> None:
    for build in leocc.settings(data / leocc.TRACE, None).values():
        build("leocc", 1, tmp_path).check()


def test_a_replay_has_the_delays_of_the_trace_a_constant_or_those_of_the_model(
    data: Path, tmp_path: Path
) -> None:
    found = {}
    for delay in ("trace", "constant", "model"):
        scenario = leocc.replay("bbr", 1, tmp_path, trace=data / leocc.TRACE, delay=delay)
        found[delay] = pl.read_csv(scenario.links["air"].timeline["file"], comment_prefix="#")["delay_s"]
    assert (found["trace"][0], found["trace"][-1]) == (0.008, 0.012)
    assert found["constant"].n_unique() == 1
    assert found["model"].min() == pytest.approx(0.008) and found["model"].n_unique() > 10


def test_the_page_has_the_stored_table() -> None:
    stored = page.leocc(Rows(read_rows(DOCS / "validation" / "leocc.csv")))
    assert stored in (DOCS / "leo.md").read_text(encoding="utf-8")

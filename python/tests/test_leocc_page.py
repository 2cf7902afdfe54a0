"""The comparison of LeoCC with BBR (scripts/leocc.py), on a made-up trace."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def leocc(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    module = importlib.import_module("leocc")
    monkeypatch.setattr(module, "SEEDS", 2)
    monkeypatch.setattr(module, "LENGTH_S", 2.0)
    return module


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """12 Mbit/s, and 8 ms one way in the first second, 12 ms after."""
    place = tmp_path / "trace"
    place.mkdir()
    (place / "bw_1.txt").write_text("".join(f"{ms}\n" for ms in range(1, 2001)))
    (place / "delay_1.txt").write_text("8\n" * 100 + "12\n" * 100)
    return place


def test_every_setting_is_a_scenario_and_only_the_first_has_other_algorithms(
    leocc: ModuleType, trace: Path, tmp_path: Path
) -> None:
    settings = leocc.settings(trace, None)
    for number, build in enumerate(settings.values()):
        (tmp_path / str(number)).mkdir()
        build("leocc", 1, tmp_path / str(number)).check()
    rows = leocc.run("its authors' uplink", settings["its authors' uplink"], tmp_path)
    assert [row["cc"] for row in rows] == ["bbr", *leocc.SENDERS.values(), *leocc.RIVALS]
    assert rows[0]["ratio"] == 1 and 5e6 < rows[0]["goodput_bps"] < 12e6


def test_a_replay_has_the_delays_of_the_trace_a_constant_or_those_of_the_model(
    leocc: ModuleType, trace: Path, tmp_path: Path
) -> None:
    found = {}
    for delay in ("trace", "constant", "model"):
        scenario = leocc.Replay(trace, delay=delay)("bbr", 1, tmp_path)
        found[delay] = pl.read_csv(scenario.links["air"].timeline["file"], comment_prefix="#")["delay_s"]
    assert (found["trace"][0], found["trace"][-1]) == (0.008, 0.012)
    assert found["constant"].n_unique() == 1
    assert found["model"].min() == pytest.approx(0.008) and found["model"].n_unique() > 10


def test_the_page_has_the_stored_table(leocc: ModuleType) -> None:
    stored = leocc.table(leocc.read_rows(leocc.TABLE))
    assert stored in (ROOT / "docs" / "leo.md").read_text(encoding="utf-8")

"""`advise` on every shipped scenario against `compare`."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import bentpipe as bp

ROOT = Path(__file__).parents[2]


@pytest.fixture
def scenarios(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return __import__("advise_scenarios")


def answer(scenarios: ModuleType, taken: str | None, known: bool, **more: Any) -> Any:  # noqa: FBT001
    goodputs = {"cubic": 8e6, "bbr": 9e6, "hybla": 10e6}
    given = {"goodputs_bps": goodputs, "reckless": {}, "plan": "61x20x60s+10", **more}
    return scenarios.ScenarioAnswer("geo", taken, known, **given)


def test_an_answer_loses_against_the_best_that_is_not_reckless(scenarios: ModuleType) -> None:
    assert answer(scenarios, "cubic", True).regret == pytest.approx(0.2)
    assert answer(scenarios, "cubic", True, reckless={"hybla": "it harms"}).regret == pytest.approx(1 / 9)
    assert answer(scenarios, "hybla", True, reckless={"hybla": "it harms"}).regret == 0.0
    assert answer(scenarios, None, False).regret == 1.0
    row = scenarios.row(answer(scenarios, "cubic", False))
    assert row == ["geo", "CUBIC", "8", "no", "Hybla", "10", "20.0 %"]


def test_the_aims_are_two_thirds_decided_and_nine_tenths_of_them_good(scenarios: ModuleType) -> None:
    good, bad = answer(scenarios, "hybla", True), answer(scenarios, "cubic", True)
    undecided = answer(scenarios, "cubic", False)
    aims = scenarios.aims_met
    assert aims([good] * 9 + [bad]) and not aims([good] * 8 + [bad])
    assert aims([good] * 2 + [undecided]) and not aims([good] * 3 + [undecided] * 2)
    said = scenarios.summary([good] * 9 + [bad, undecided])
    assert said == "10 of 11 answers are decided. 9 of these lose less than 5 %, and the worst loses 20.0 %."


def test_a_scenario_is_asked_compared_and_kept(
    scenarios: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asks = ["ship", "--budget", "2 s", "--seeds", "2", "--place", str(tmp_path)]
    assert scenarios.main(asks) == 0
    (kept,) = tmp_path.iterdir()
    found = json.loads(kept.read_text())
    seen = bp.compare("ship", ["bbr"], whole=True, seeds=2, seed=scenarios.FIRST_SEED)
    assert found["goodputs_bps"]["bbr"] == pytest.approx(seen["goodput_bps"][0])
    assert {"cubic", "reno", "hybla", "vegas"} <= set(found["goodputs_bps"])
    assert "1 of 1 answers" in capsys.readouterr().out or not found["known"]
    monkeypatch.setattr(scenarios, "asked", None)
    assert scenarios.main(asks) == 0, "it is not asked again"
    with pytest.raises(SystemExit):
        scenarios.main(["nosuch"])

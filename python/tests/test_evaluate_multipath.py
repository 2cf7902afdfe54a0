"""What RFC 9743 section 7.10 asks of connections over several paths, and the answers of `evaluate`."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import bentpipe as bp
from bentpipe.evaluation.chapter import Chapter
from bentpipe.evaluation.multipath import FAILOVER, SHARED


def evaluated(algorithm: object, *chapters: Chapter, seeds: int = 2) -> bp.Evaluation:
    """The quick set-ups."""
    chosen = [dataclasses.replace(one, seeds={"quick": seeds}) for one in chapters]
    found = bp.Evaluation(algorithm, chapters=chosen, quick=True)
    found.run()
    return found


@pytest.fixture(scope="module")
def lia() -> bp.Evaluation:
    return evaluated("lia", SHARED, FAILOVER, seeds=5)


def answer(found: bp.Evaluation, begins: str, level: str = "MUST") -> dict[str, object]:
    (one,) = [
        a
        for a in found.answers
        if (a["section"], a["level"]) == ("7.10", level) and str(a["asks"]).startswith(begins)
    ]
    return one


def centre(found: bp.Evaluation, name: str, metric: str, label: str, **where: object) -> float:
    interval = found.chapter(name).interval(metric, label, where)
    assert interval is not None
    return float(interval.centre)


@pytest.mark.parametrize("paths", [2, 4])
def test_subflows_of_reno_take_what_as_many_flows_take(lia: bp.Evaluation, paths: int) -> None:
    """Of n + 1 equal flows Reno keeps 1/(n + 1): harm n/(n + 1), and 1/2 by one flow of its own kind."""
    harm = centre(lia, "shared-bottleneck", "harm", "Reno", other="reno", paths=paths)
    assert harm == pytest.approx(paths / (paths + 1), abs=0.07)
    more = centre(lia, "shared-bottleneck", "more_harm", "Reno", other="reno", paths=paths)
    assert more == pytest.approx(paths / (paths + 1) - 1 / 2, abs=0.1)


@pytest.mark.parametrize("paths", [2, 4])
def test_coupled_subflows_take_no_more_than_one_flow(lia: bp.Evaluation, paths: int) -> None:
    """RFC 6356 section 2, goal 2."""
    assert centre(lia, "shared-bottleneck", "more_harm", "LIA", other="reno", paths=paths) < 0.05


def test_the_three_demands_of_the_section_have_answers(lia: bp.Evaluation) -> None:
    shared, failover = answer(lia, "Concurrent"), answer(lia, "Multipath with failover")
    considered = answer(lia, "Concurrent", "SHOULD")
    assert shared["verdict"] == "meets"
    assert failover["verdict"] != "not evaluated"
    assert {one["line"].split()[0] for one in failover["held"]} == {"harm", "every"}
    assert considered["verdict"] == "a matter of judgement" and considered["numbers"]


def test_uncoupled_subflows_do_not_meet_it() -> None:
    found = evaluated("reno", SHARED, seeds=4)
    assert answer(found, "Concurrent")["verdict"] == "does not meet"
    assert answer(found, "Multipath with failover")["verdict"] == "not evaluated"  # it was not run


def test_after_a_failure_all_share_the_path_that_is_left(lia: bp.Evaluation) -> None:
    """One Reno connection and one Reno flow have a half each; nobody has less than a third of its share."""
    assert centre(lia, "failover", "other_share", "Reno", other="reno", connections=1) == pytest.approx(
        0.5, abs=0.1
    )
    for label in ("LIA", "Reno", "CUBIC"):
        for connections in (1, 4):
            assert centre(lia, "failover", "least", label, connections=connections, other="reno") > 1 / 3
        assert centre(lia, "failover", "back", label, connections=1, other="reno") < 10


BLIND = """
import bentpipe as bp


class Blind(bp.Controller):
    def on_ack(self, flow, ack):
        self.cwnd += ack["acked"] / flow["mss"] / 20

    def on_congestion(self, flow, why):
        pass
"""


def test_who_ignores_loss_starves_the_flow_on_the_path_that_is_left(tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text(BLIND)
    found = evaluated(f"{tmp_path}/my.py:Blind", FAILOVER)
    assert answer(found, "Multipath with failover")["verdict"] == "does not meet"
    assert centre(found, "failover", "least", "Blind", connections=1, other="reno") < 0.1

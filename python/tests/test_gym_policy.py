"""A trained policy as a controller: where an algorithm is named, in the emulator, and in the kernel."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

import pytest
from kernel_link import MARKS, OWN, flow_of, link, transfer

import bentpipe as bp
from bentpipe import _core
from bentpipe.breaking.conditions import PARTS
from bentpipe.breaking.record import again
from bentpipe.breaking.search import BATCH
from bentpipe.controller import load_controller
from bentpipe.emulation.session import Emulation
from bentpipe.gym.policy import Policy
from bentpipe.sweeps.fingerprint import source_hash

CLASS = """
from bentpipe.gym.policy import PolicyController


class Climb(PolicyController):
    file = "climb.json"
"""


def climbs(bias: float = 44.0) -> Policy:
    """A policy of one weight that climbs until the round trip is a tenth above its minimum."""
    return Policy([([[-40.0]], [bias])], ["rtt_ratio"], 1, scale=0.2)


@pytest.fixture
def climb(tmp_path: Path) -> str:
    (tmp_path / "climb.py").write_text(CLASS)
    climbs().save(tmp_path / "climb.json")
    return f"{tmp_path / 'climb.py'}:Climb"


def test_a_policy_is_evaluated(climb: str) -> None:
    found = bp.evaluate(climb, quick=True, only=["silence"])
    assert found.label == "Climb"
    means = found.numbers.filter(found.numbers["algorithm"] == "Climb")
    assert means.height and means["mean"].is_finite().all()


@pytest.mark.skipif(importlib.util.find_spec("cmaes") is None, reason="cmaes is not installed")
def test_a_policy_is_attacked_and_the_file_gives_its_number_again(climb: str, tmp_path: Path) -> None:
    few = {"runs": 2 * BATCH, "duration": "3 s", "rate": "1-2 Mbit/s", "rtt": "20-40 ms"}
    found = bp.break_(climb, "slow", without=tuple(PARTS), **few)  # type: ignore[arg-type]
    kept = tmp_path / "found.toml"
    kept.write_text(found.text())
    assert f'cc = "{climb}"' in kept.read_text()
    assert again(kept) == found.measured.value


def test_runs_of_other_weights_are_other_runs(climb: str, tmp_path: Path) -> None:
    first = source_hash(load_controller(climb))
    assert source_hash(load_controller(climb)) == first
    climbs(42.0).save(tmp_path / "climb.json")
    assert source_hash(load_controller(climb)) != first


def test_a_class_has_its_weights_with_it(climb: str, tmp_path: Path) -> None:
    """Then another machine, which has no such file, can run it."""
    made = load_controller(climb)
    (tmp_path / "climb.json").unlink()
    geo = bp.Link(rate="2 Mbit/s", delay="50 ms")
    run = bp.run(bp.Scenario(links={"geo": geo}, flows=[bp.Flow(made, path=["geo"])], duration="10 s"))
    assert run.flows["goodput_bps"][0] > 1e6
    with pytest.raises(bp.ScenarioError, match=r"climb.json"):
        load_controller(climb)


class TestKernel:
    pytestmark = MARKS

    def test_a_policy_steers_the_kernels_tcp(self, climb: str) -> None:
        """Over a lossy link it is faster than Reno, which halves at each loss; it sets the pacing rate."""
        lossy = link(rate="5 Mbit/s", delay="50 ms", loss={"kind": "packet-error", "rate": 0.02})
        with _core.KernelAgent(load_controller(climb), name=OWN) as agent:
            took = {}
            for name in ("reno", agent.name):
                with Emulation(lossy) as emulation, transfer(emulation, name) as one:
                    began = time.monotonic()
                    one.send(1_000_000)
                    took[name] = time.monotonic() - began
                    if name == agent.name:
                        flow = flow_of(agent.status())
            assert flow["fallbacks"] == 0 and flow["pacing_bps"] > 1e6
            assert took[agent.name] < 0.8 * took["reno"], took

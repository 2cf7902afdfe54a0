"""What happens to a connection under the kernel's datapath: loss, marks, timeouts, pauses, pacing."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from kernel_link import (
    MARKS,
    OWN,
    PATIENCE_S,
    Fixed,
    flow_of,
    link,
    nothing_left,
    settled,
    steered,
    transfer,
    until,
)

from bentpipe import Controller, _core
from bentpipe.emulation.session import Emulation

__all__ = ["nothing_left"]
pytestmark = [*MARKS, pytest.mark.usefixtures("nothing_left")]


class Witness(Controller):
    """Reno that writes down what it is told of: what, the phase, its window."""

    events: list[tuple[str, str, float]]

    def on_ack(self, flow: Any, ack: Any) -> None:
        if ack["ce"]:
            self.events.append(("ce", flow["phase"], self.cwnd))
        if flow["phase"] == "recovery" or not flow["cwnd_limited"] or ack["ce"]:
            return
        segments = (ack["acked"] - ack["uncounted"]) / flow["mss"]
        self.cwnd += segments if self.cwnd < self.ssthresh else segments / self.cwnd

    def on_congestion(self, flow: Any, why: Any) -> None:
        self.events.append((why, flow["phase"], self.cwnd))
        self.cwnd, self.ssthresh = self.backoff(flow, why)

    def on_life(self, flow: Any, what: Any) -> None:
        self.events.append((what, flow["phase"], self.cwnd))

    def backoff(self, flow: Any, why: Any) -> tuple[float, float]:
        half = max(self.cwnd / 2, 2.0) if self.cwnd > 1 else self.ssthresh
        return (1.0 if why == "timeout" else half), half


@pytest.fixture
def witness() -> Iterator[type[Witness]]:
    """The class, with nothing written yet."""
    Witness.events = []
    yield Witness


def names(witness: type[Witness]) -> list[str]:
    return [what for what, _, _ in witness.events if what != "ce"]


def test_a_timeout_is_told_and_answered_at_once(witness: type[Witness]) -> None:
    dark = link(loss={"kind": "outage", "from": "0.6 s", "to": "1.6 s"})
    with steered(witness, dark) as (emulation, agent, one):
        one.near.sendall(bytes(2_000_000))
        until(lambda: "timeout" in names(witness), "the timer expires")
        until(lambda: one.window()[0] == 1 or names(witness)[-1] != "timeout", "the window is one segment")
        until(lambda: one.received == 2_000_000, "all has arrived")
        at = names(witness).index("timeout")
        _, _, before = witness.events[at]
        assert before > 1
        # The window grows again in the phase "loss", and no recovery is reported to end.
        later = [what for what in names(witness)[at + 1 :] if what != "timeout"]
        assert later[:1] != ["recovered"]


def test_a_loss_halves_the_window_before_the_agent_knows(witness: type[Witness]) -> None:
    with steered(witness, link(loss={"kind": "packet-error", "rate": 0.003})) as (emulation, agent, one):
        one.send(2_000_000)
        settled(agent)
        found = names(witness)
        # One loss an episode, each ended before the next, but for one that goes over into another.
        episodes = [what for what in found if what in ("loss", "recovered", "timeout")]
        assert episodes.count("loss") >= 2
        assert all((a, b) != ("loss", "loss") for a, b in zip(episodes, episodes[1:], strict=False)), episodes
        # The ACK that ends a recovery belongs to it; what is told then is the window after the cut.
        ends = [window for what, _, window in witness.events if what == "recovered"]
        cuts = [window / 2 for what, _, window in witness.events if what == "loss"]
        assert ends[0] == pytest.approx(cuts[0])


def test_marks_are_told_once_a_window(witness: type[Witness]) -> None:
    marking = link(queue={"kind": "codel", "limit": "400 packets", "ecn": True})
    with Emulation(marking) as emulation:
        for side in ("near", "far"):
            command = ["sysctl", "-qw", "net.ipv4.tcp_ecn=1"]
            assert emulation.popen(command, side).wait(PATIENCE_S) == 0
        with _core.KernelAgent(witness, name=OWN) as agent, transfer(emulation, agent.name) as one:
            one.send(2_500_000)
            settled(agent)
            assert emulation.snapshot()["forward"]["marked"] > 0
            ecn = [event for event in witness.events if event[0] == "ecn"]
            echoes = [event for event in witness.events if event[0] == "ce"]
            assert 0 < len(ecn) < len(echoes)
            assert all(phase == "open" for _, phase, _ in ecn)
            # The ACKs that repeat the echo belong to the reduction, in which the window does not grow.
            first = witness.events.index(ecn[0])
            assert witness.events[first + 1] == ("ce", "recovery", ecn[0][2] / 2)


class Paced(Fixed):
    """17 segments, 250 kB/s."""

    pacing_rate = 250_000


def test_a_rate_that_is_ordered_is_kept() -> None:
    with Emulation(link()) as emulation, _core.KernelAgent(Paced, name=OWN) as agent:
        with transfer(emulation, agent.name) as one:
            one.send(300_000)
            flow = flow_of(agent.status())
            assert flow["pacing_bps"] == 2_000_000
            # 17 segments in 20 ms would be 9.8 Mbit/s, and the kernel sends at most one burst above the rate.
            elapsed, sent = flow["age_s"], 8 * flow["delivered_bytes"]
            assert sent / elapsed < 2_400_000


@pytest.mark.parametrize("paced", ["where the socket is", "always"])
def test_a_window_is_paced_if_asked(paced: str) -> None:
    with steered("reno", link(), paced=paced == "always") as (emulation, agent, one):
        one.send(500_000)
        flow = until(lambda: idle(agent), "all is acknowledged")
        # As tcp_update_pacing_rate: 120 or 200 % of a window in a round trip, paced or not.
        window = 8 * flow["mss"] * flow["cwnd_segments"] / flow["srtt_s"]
        assert 1.1 * window < flow["pacing_bps"] < 2.1 * window
        port = one.far.getsockname()[1]
        look = emulation.popen(["ss", "-tin", f"dport = {port}"], stdout=subprocess.PIPE, text=True)
        shown, _ = look.communicate(timeout=PATIENCE_S)
        assert OWN in shown and f"cwnd:{flow['cwnd_segments']} " in shown, shown


def idle(agent: _core.KernelAgent) -> dict[str, Any] | None:
    """The flow, once nothing is in flight."""
    flow = flow_of(agent.status())
    return None if flow["in_flight_segments"] else flow


def test_a_pause_is_told_when_sending_goes_on(witness: type[Witness]) -> None:
    with steered(witness, link()) as (emulation, agent, one):
        one.send(20_000)
        assert names(witness) == []  # the first segment of a connection follows no pause
        until(lambda: idle(agent), "all is acknowledged")
        one.send(20_000)
        until(lambda: names(witness) == ["idle_restart"], "the pause is told")

"""ns-2 and Bentpipe carry out the same scenarios; goodputs and windows agree (docs/validation.md)."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest
from ns2_curves import Compared, compare
from ns2_grid import EVERY, RATE, Cell, cells, judge, row

import bentpipe as bp
from bentpipe import ns2
from bentpipe.ns2.dumbbell import MSS

needs_ns2 = pytest.mark.skipif(not ns2.available(), reason=ns2.MISSING)
SACK = ns2.AGENTS["sack"]


@needs_ns2
@pytest.mark.slow
@pytest.mark.parametrize("cell", list(cells(quick=True)), ids=lambda c: c.name)
def test_goodput_agrees_with_ns2_or_with_its_rule(cell: Cell) -> None:
    judged = judge(cell)
    # Seed noise must not widen the tolerance so far that nothing could fail.
    goodput = judged[0].goodput
    assert 3.0 * goodput.error <= 0.20 * goodput.theirs.value, f"too few seeds: {row(judged[0])}"
    assert judged[-1].agrees, [row(verdict) for verdict in judged]


@needs_ns2
@pytest.mark.slow
def test_windows_follow_ns2s_or_its_rules() -> None:
    found: list[Compared] = list(compare())
    assert len(found) == 26
    assert [c.row() for c in found if not c.explained] == []


@needs_ns2
def test_the_witness_obeys_the_square_root_law(tmp_path: Path) -> None:
    # Mathis et al. 1997: W = sqrt(8 / 3p) at the peak, 3/4 of it on average. Recovery costs a round trip of
    # growth per loss, so the truth lies a few per cent below.
    drops = tmp_path / "drops"
    drops.write_text("".join(f"{i}\n" for i in range(EVERY - 1, 500_000, EVERY)))
    run = ns2.run(ns2.dumbbell(SACK, rate=RATE, rtt=0.1, buffer=82, duration=600.0, drops=str(drops)))
    closed_form = math.sqrt(1.5 * EVERY) * MSS * 8.0 / 0.1
    assert 0.90 < run.flows[0].goodput_bps / closed_form < 1.0


@needs_ns2
@pytest.mark.parametrize(
    "every", [(997,), (211,), (400, 404, 1200, 1203, 1209)], ids=["one", "often", "bursts"]
)
def test_tahoe_loses_and_repairs_as_ns2s(tmp_path: Path, every: tuple[int, ...]) -> None:
    """Agent/TCP is Tahoe: the same packets are lost, nearly as many are sent and sent again."""
    lost = range(every[0], 30_000, every[0]) if len(every) == 1 else every
    drops = tmp_path / "drops"
    drops.write_text("".join(f"{i}\n" for i in lost))
    agent = ns2.AGENTS["tahoe"]
    said = ns2.dumbbell(agent, rate=RATE, rtt=0.1, buffer=82, duration=60.0, drops=str(drops))
    theirs, ours = ns2.run(said).flows[0], bp.run(said).flows.row(0, named=True)
    assert theirs.retransmitted > 10
    assert ours["retransmitted_packets"] == pytest.approx(theirs.retransmitted, rel=0.05)
    assert ours["sent_packets"] == pytest.approx(theirs.sent, rel=0.02)
    assert ours["goodput_bps"] == pytest.approx(theirs.goodput_bps, rel=0.02)
    assert ours["timeouts"] == theirs.timeouts


@needs_ns2
def test_a_seed_is_a_loss_pattern() -> None:
    first, again, other = (
        ns2.run(ns2.dumbbell(SACK, rate=RATE, rtt=0.1, buffer=82, duration=20.0, per=1e-2, seed=seed))
        .flows[0]
        .sent
        for seed in (1, 1, 2)
    )
    assert first == again != other


@needs_ns2
def test_a_bit_error_rate_loses_as_many_packets_as_its_packet_error_rate() -> None:
    # 12000 bits: 1 - (1 - 1e-6)^12000 = 0.01193 of the packets that are sent.
    said = ns2.dumbbell(SACK, rate=RATE, rtt=0.02, buffer=400, duration=60.0, initial_ssthresh=10)
    core = dataclasses.replace(said.links["core"], loss=bp.BitError(1e-6))
    flow = ns2.run(dataclasses.replace(said, links={**said.links, "core": core})).flows[0]
    assert flow.sent > 20_000
    assert flow.retransmitted / flow.sent == pytest.approx(0.01193, rel=0.25)


@needs_ns2
def test_a_run_tells_starts_windows_and_queues() -> None:
    said = ns2.dumbbell(SACK, rate=RATE, rtt=0.1, buffer=82, duration=10.0, initial_ssthresh=8, start="2 s")
    run = ns2.run(dataclasses.replace(said, record=bp.Record(interval="500 ms")), watch=["core/forward"])
    flow, link = run.flows[0], run.links["core/forward"]
    assert flow.start_s == 2.0
    assert flow.goodput_bps == pytest.approx(flow.delivered * 11680 / 8.0)
    assert [t for t, _, _ in run.windows[0][:3]] == [0.0, 0.5, 1.0]
    assert run.windows[0][-1][2] == 8.0
    # At the end one packet may be on the link before.
    assert 0 <= flow.sent - link.arrived <= 1
    assert (link.dropped, link.marked) == (0, 0)
    assert 0.0 <= link.queue_mean_packets < 1.0


@needs_ns2
def test_a_watched_link_does_not_count_losses_as_drops() -> None:
    said = ns2.dumbbell(SACK, rate=RATE, rtt=0.1, buffer=82, duration=20.0, per=1e-2)
    run = ns2.run(said, watch=["core/forward"])
    assert run.flows[0].retransmitted > 5
    assert run.links["core/forward"].dropped == 0


def test_a_failing_script_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = ns2.dumbbell(SACK, rate=RATE, rtt=0.1, buffer=82, duration=1.0)
    fake = tmp_path / "ns"
    fake.write_text("#!/bin/sh\necho cannot do that\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not ns2.available()
    with pytest.raises(RuntimeError, match="status 3: cannot do that"):
        ns2.run(said)
    fake.unlink()
    with pytest.raises(FileNotFoundError, match="apt install ns2"):
        ns2.run(said)

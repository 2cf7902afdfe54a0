"""SNACK in whole simulations: a flow with it beside one without (docs/tcp.md, SNACK and profile scps)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bentpipe as bp

RTT = 0.6


def transfer(folder: Path, lost: tuple[int, ...], **options: Any) -> dict[str, Any]:
    """1 MB over 10 Mbit/s and 600 ms, without the data packets of these numbers; profile scps, Reno."""
    numbers = folder / "lost"
    numbers.write_text("".join(f"{n}\n" for n in lost))
    link = bp.Link(rate="10 Mbit/s", delay="300 ms", loss=bp.LossTrace(str(numbers)) if lost else None)
    flow = bp.Flow(
        "reno",
        path="sat",
        profile="scps",
        handshake=False,
        traffic=bp.Bulk("1 MB"),
        initial_ssthresh=400,
        **options,
    )
    return bp.run(bp.Scenario(links={"sat": link}, flows=[flow], duration="60 s")).flows.row(0, named=True)


def test_holes_of_a_window_are_filled_together(tmp_path: Path) -> None:
    # Two packets of the last window: NewReno needs a round trip for each, SNACK one for both.
    lost = (670, 680)
    snack = transfer(tmp_path, lost)
    newreno = transfer(tmp_path, lost, snack=False, recovery="newreno")
    assert snack["retransmitted_packets"] == 2
    assert snack["timeouts"] == newreno["timeouts"] == 0
    assert newreno["completion_s"] - snack["completion_s"] == pytest.approx(RTT, rel=0.15)


@pytest.mark.parametrize("vector", [0, 16])
def test_without_losses_nothing_is_told(tmp_path: Path, vector: int) -> None:
    snack = transfer(tmp_path, (), snack_vector=vector)
    newreno = transfer(tmp_path, (), snack=False, recovery="newreno")
    assert snack["completion_s"] == newreno["completion_s"]
    assert snack["retransmitted_packets"] == 0

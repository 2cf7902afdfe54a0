"""ns-2 and Bentpipe carry out the same single-flow scenarios; their goodputs agree (docs/validation.md)."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from ns2_grid import EVERY, Cell, cells, compare, row

from bentpipe import _core, ns2

needs_ns2 = pytest.mark.skipif(not ns2.available(), reason=ns2.MISSING)

PERIODIC = ns2.Dumbbell.of(
    10e6, 0.1, window_bdp=1.8, drops=tuple(range(EVERY - 1, 500_000, EVERY)), duration=600.0
)


@needs_ns2
@pytest.mark.slow
@pytest.mark.parametrize("cell", list(cells()), ids=lambda c: c.name)
def test_goodput_agrees_with_ns2(cell: Cell) -> None:
    verdict = compare(cell)
    # Seed noise must not widen the tolerance so far that nothing could fail.
    assert 3.0 * verdict.error <= 0.10, f"too few seeds: {row(verdict)}"
    assert verdict.agrees, row(verdict)


@needs_ns2
def test_the_witness_obeys_the_square_root_law() -> None:
    # Mathis et al. 1997: W = sqrt(8 / 3p) at the peak, 3/4 of it on average. Recovery costs a round trip of
    # growth per loss, so the truth lies a few per cent below.
    run = ns2.run(PERIODIC, ns2.SENDERS["reno"])
    closed_form = math.sqrt(1.5 * EVERY) * ns2.MSS * 8.0 / PERIODIC.rtt
    assert 0.90 < run.goodput(PERIODIC) / closed_form < 1.0


@needs_ns2
def test_a_seed_is_a_loss_pattern() -> None:
    dumbbell = ns2.Dumbbell.of(10e6, 0.1, per=1e-2, duration=20.0)
    sender = ns2.SENDERS["reno"]
    first, again, other = (ns2.run(dumbbell, sender, seed) for seed in (1, 1, 2))
    assert first.sent == again.sent
    assert first.sent != other.sent


def test_a_failing_script_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "ns"
    fake.write_text("#!/bin/sh\necho cannot do that\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not ns2.available()
    with pytest.raises(RuntimeError, match="status 3: cannot do that"):
        ns2.run(ns2.Dumbbell(), ns2.SENDERS["reno"])
    fake.unlink()
    with pytest.raises(FileNotFoundError, match="apt install ns2"):
        ns2.run(ns2.Dumbbell(), ns2.SENDERS["reno"])


@pytest.mark.parametrize("sender", ns2.SENDERS.values(), ids=lambda s: s.key)
def test_scenarios_are_accepted_and_say_the_same(sender: ns2.Sender, tmp_path: Path) -> None:
    ns2.write_drops(tmp_path / "drops", PERIODIC.drops)
    text = json.dumps(ns2.scenario(PERIODIC, sender, drops_file=tmp_path / "drops"))
    checked = json.loads(_core.check(text))
    assert set(checked["link"]) == {"access", "core", "egress"}
    tcl = ns2.script(PERIODIC, sender)
    assert f"queue-limit $near $far {PERIODIC.buffer}\n" in tcl
    assert f"set window_ {PERIODIC.window}\n" in tcl
    assert checked["link"]["core"]["queue"]["limit"] == f"{PERIODIC.buffer - 1} packets"
    assert checked["flow"][0]["receive_window"] == f"{PERIODIC.window} segments"

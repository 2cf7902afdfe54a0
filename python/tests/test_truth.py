"""The truth table: its arithmetic, and where the machine allows it a real transfer beside a simulated one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from privilege import needs_root

from bentpipe._core import ScenarioError
from bentpipe.experiments.truth import TRANSFERS
from bentpipe.io.files import read_rows, write_rows
from bentpipe.pages.markdown import replaced
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.execution import Ran
from bentpipe.sweeps.kept import Kept
from bentpipe.truth import cell as cells
from bentpipe.truth import measuring
from bentpipe.truth.cell import Cell, Sender
from bentpipe.truth.comparison import compared, curve_distance, table, verdict
from bentpipe.truth.real import TransferFailed, row
from bentpipe.truth.side import Side, grid, held, simulate

RENO = Cell(Sender("kernel", "reno"), 100, 1e-3, 1.0, 1, 20.0)
ROOT = Path(__file__).parent.parent.parent


def test_a_difference_counts_beyond_three_standard_errors():
    # Differences 1, 2 and 3: mean 2, deviation 1, standard error 1 / sqrt(3) = 0.577; three of them are 1.73.
    found = compared([10, 10, 10], [11, 12, 13])
    assert (
        found.counts
        and found.error == pytest.approx(0.2)
        and found.standard_error == pytest.approx(0.577, rel=1e-3)
    )
    # Differences 0, 2 and 4: standard error 2 / sqrt(3) = 1.155; three of them are 3.46.
    assert not compared([10, 10, 10], [10, 12, 14]).counts
    assert compared([10.0], [10.1]).counts, "one seed explains nothing"


def test_the_distance_of_curves_is_a_share_of_the_real_mean():
    real = np.array([10.0, 20.0, 30.0])
    assert curve_distance(real, real) == 0
    assert curve_distance(real, np.array([12.0, 20.0, 26.0])) == pytest.approx(2 / 20)


def test_values_hold_until_the_next_one():
    t, values = np.array([0.0, 1.0, 2.5]), np.array([1.0, 2.0, 3.0])
    assert held(np.array([0.5, 1.0, 2.4, 9.0]), t, values).tolist() == [1, 2, 2, 3]
    assert grid(0.5).tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4])


def _row(sender: str, seed: int, real: float, simulated: float) -> dict[str, Any]:
    place = {
        "sender": sender,
        "rtt_ms": 20,
        "per": 0.0,
        "buffer_bdp": 1.0,
        "link": "",
        "seed": seed,
        "length_s": 20.0,
    }
    names = ("goodput", "rtt", "retransmitted", "cwnd")
    both = {
        f"{name}_{what}": value
        for name in names
        for what, value in (("real", real), ("simulated", simulated))
    }
    return {**place, **both, "curve": 0.1, "kept_time": True, "kernel": "6.1", "lateness_p99_s": 1e-4}


def test_a_table_has_a_row_for_each_sender_and_link(tmp_path):
    rows = [_row("kernel:reno", 1, 10, 11), _row("kernel:reno", 2, 10, 11), _row("agent:star", 1, 10, 9.5)]
    write_rows(tmp_path / "cells.csv", rows)
    made = table(read_rows(tmp_path / "cells.csv"))
    assert [(r["sender"], r["seeds"]) for r in made] == [("kernel:reno", 2), ("agent:star", 1)]
    said = verdict(made, "goodput")
    assert (said.median, said.worst, said.rows) == (pytest.approx(0.075), pytest.approx(0.1), 2)
    assert said.where is not None and said.where["sender"] == "kernel:reno"


def test_the_window_of_a_recovery_is_its_threshold():
    n = 40
    columns = {
        "t_s": [0.05 * i for i in range(n)],
        "cwnd": [100] * 20 + [37] * 20,
        "ssthresh": [0x7FFFFFFF] * 20 + [50] * 20,
        "ca_state": [0] * 20 + [3] * 20,
        "rtt_us": [0] * 4 + [100_000] * 36,
    }
    sent = {"samples": columns, "late_s": 0.0, "last": {"retransmitted": 3, "sent": 300}}
    cell = Cell(Sender("kernel", "reno"), 100, 0.0, 1.0, 1, 2.0)
    found = Side.of(row(cell, 2_500_000, sent))
    assert (found.goodput_bps, found.rtt_s, found.retransmitted) == (1e7, pytest.approx(0.1), 0.01)
    assert set(found.cwnd[:9]) == {100} and set(found.cwnd[10:]) == {50}
    bbr = Cell(Sender("kernel", "bbr"), 100, 0.0, 1.0, 1, 2.0)
    assert set(row(bbr, 0, sent)["cwnd"][10:]) == {37}, "it drives its window itself"


def test_names_in_the_kernel_fit():
    assert Sender.named("kernel:cubic").name_in_kernel(12345) == "cubic"
    assert all(len(sender.name_in_kernel(4_194_303)) <= 15 for sender in cells.SENDERS)
    names = [sender.name_in_kernel(7) for sender in cells.SENDERS]
    assert len(set(names)) == len(names)


def test_the_grid_is_the_one_that_the_page_speaks_of():
    full = cells.full(2, 60)
    assert len({cell.key for cell in full}) == len(full) == 2 * 18 * len(cells.SENDERS)
    assert len({cell.link for cell in full}) == 18
    assert len(cells.AGENT) >= 6 and cells.of_dict(full[5].as_dict()) == full[5]
    assert {str(cell.sender) for cell in cells.chosen(full, ["kernel:*"])} == {
        "kernel:reno",
        "kernel:cubic",
        "kernel:bbr",
    }
    assert {cell.link for cell in cells.chosen(full, ["kernel-reno-20ms-0-1bdp-*"])} == {(20, 0.0, 1.0, "")}
    with pytest.raises(ScenarioError, match="--only nobody: fits no cell"):
        cells.chosen(full, ["nobody"])


def test_the_simulated_side_is_the_scenario_with_profile_linux():
    flow = RENO.scenario()["flow"][0]
    assert (flow["profile"], flow["cc"]) == ("linux", "reno") and "aen" not in flow
    assert Cell(Sender("agent", "star"), 100, 0.0, 1.0, 1, 5.0).scenario()["flow"][0]["aen"] is False
    found = simulate(RENO)
    assert len(found.cwnd) == 199 and 0.1 < found.rtt_s < 0.2 and 0 < found.retransmitted < 0.1


def test_the_kernels_cubic_starts_by_its_hystart():
    cubic = Cell(Sender("kernel", "cubic"), 100, 0.0, 1.0, 1, 20.0)
    peak = simulate(cubic).cwnd[:15].max()
    # A train of ACKs ends slow start before the 83 segments of the queue are full beyond the 83 of the path.
    assert 100 < peak < 166


def test_cubic_leaves_slow_start_where_the_kernel_does():
    """Linux 6.18 on this link: 0.360 % sent again in 20 s, and a window of at most 872 segments."""
    found = simulate(Cell(Sender("kernel", "cubic"), 500, 0.0, 1.0, 1, 20.0))
    assert found.retransmitted == pytest.approx(0.0036, rel=0.1)
    assert 800 < found.cwnd.max() < 950


def test_the_receive_window_holds_a_jump_back():
    """Hybla goes to 423 segments at once. Linux 6.18 had delivered 122 after 2 s: its receiver offers 55."""
    from bentpipe import _core

    cell = Cell(Sender("agent", "hybla"), 500, 0.0, 1.0, 1, 2.0)
    flow = json.loads(_core.run(json.dumps(cell.scenario())).json)["flows"][0]
    assert flow["delivered_bytes"] / 1448 == pytest.approx(122, rel=0.1)


def test_a_link_that_has_a_name_is_a_cell():
    cells_ = cells.further(2, 30)
    assert len({cell.key for cell in cells_}) == len(cells_) == 2 * 11 * 3
    lossy = next(cell for cell in cells_ if cell.named == "ack-loss-10")
    assert lossy.key == "kernel-reno-ack-loss-10-30s-1" and cells.of_dict(lossy.as_dict()) == lossy
    assert lossy.scenario()["link"]["link"]["reverse"]["loss"]["rate"] == 0.1
    split = next(cell for cell in cells_ if cell.named == "geo-pep").scenario()["flow"][0]
    assert split["path"] == ["internet", "sat"] and split["relay"]["cc"] == split["cc"]


def test_acknowledgements_are_lost_in_both_worlds():
    """Ten percent of them, counted where the simulation counts them; the grid's links lose none."""
    import bentpipe

    cell = next(c for c in cells.further(1, 20) if c.named == "ack-loss-10")
    found = bentpipe.run(cell.scenario())
    back = next(link for link in found.json["links"] if link["direction"] == "reverse")
    assert 0.08 < back["dropped_error"] / (back["dropped_error"] + back["delivered_packets"]) < 0.12


def test_a_folder_is_taken_up_where_it_was_left(tmp_path, monkeypatch):
    """The real transfer is not made again, and its simulation is a run as those of all experiments."""
    from bentpipe.experiments import truth as experiment

    real = {"goodput_bps": 4e6, "rtt_s": 0.11, "retransmitted": 0.01, "cwnd": [1.0] * 9}
    about = {"kernel": "6.18.44", "lateness_p99_s": 0.0, "kept_time": True}
    monkeypatch.setattr(experiment, "RealTransfer", lambda *_: pytest.fail("made again"))
    truth = experiment.LinuxTruth(tmp_path, cells=[RENO], tell=pytest.fail)
    with Kept(tmp_path / experiment.TRANSFERS) as kept:
        kept.take(RENO.key, Case({}, {}), Ran(0, measuring.NOTHING, measures={**real, **about}))
        with pytest.raises(ScenarioError, match="another run is writing"):
            truth.run()
    states = []
    assert truth.run(progress=states.append) == [tmp_path / "table.csv"]
    assert (states[-1].done, states[-1].total) == (1, 1)
    (found,) = truth.rows
    alone = simulate(RENO)
    assert found["goodput_simulated"] == alone.goodput_bps and found["goodput_real"] == 4e6
    assert found["curve"] == curve_distance(np.ones(9), alone.cwnd)
    assert read_rows(tmp_path / "cells.csv")[0]["kernel"] == "6.18.44"
    assert not (tmp_path / ".runs").exists()


def test_a_transfer_that_fails_is_left_out_and_one_out_of_time_is_made_again(tmp_path):
    fails, late, good, *others = cells.quick(4)
    attempts = dict.fromkeys((fails, late, good, *others), 0)

    class Played:
        def __init__(self, cell):
            self.cell = cell
            attempts[cell] += 1

        def step(self):
            return True

        def finish(self):
            if self.cell not in (late, good):
                raise TransferFailed("no route")
            way = {"lateness_p99_s": 0.0, "dropped_queue": 0, "dropped_error": 0}
            return {}, {"forward": way, "reverse": way, "kept_time": self.cell == good}

        def abandon(self):
            pytest.fail("they were over")

    left_out = []
    with Kept(tmp_path) as kept:
        job = measuring.TransferJob(kept, 2, left_out.append)
        found = job.rows([fails, late, good], Played)
        assert [attempts[cell] for cell in (fails, late, good)] == [1, measuring.TRIES, 1]
        assert left_out == ["no route"]
        assert [(cell, row["kept_time"]) for cell, row in found.items()] == [(late, False), (good, True)]
        with pytest.raises(TransferFailed):
            measuring.TransferJob(kept, 1, left_out.append).rows(others, Played)


def test_the_page_is_that_of_the_stored_rows():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import linux_truth_md as page
    finally:
        sys.path.pop(0)
    text = page.PAGE.read_text(encoding="utf-8")
    made = page.parts(read_rows(page.CELLS)) | page.linux_truth_paused.parts()
    for name, part in made.items():
        assert replaced(text, name, part) == text, name


@needs_root
def test_the_quick_form_compares_real_transfers(tmp_path):
    """`bentpipe validate kernel`, shortened: three senders at once, in simulation and in the kernel."""
    from typer.testing import CliRunner

    from bentpipe.cli.application import application

    pytest.importorskip("bentpipe.emulation")
    done = CliRunner().invoke(
        application(["validate"]), ["validate", "kernel", "--for", "6", "--json", "--out", str(tmp_path)]
    )
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    found = {r["sender"]: r for r in said["table"]}
    assert {"kernel:reno", "kernel:cubic"} <= found.keys(), said["left_out"]
    for r in found.values():
        # Six seconds say that it is the same link and the same sender, and no more.
        assert 0.5 < r["goodput_real"] / r["goodput_simulated"] < 2
        assert 0.8 < r["rtt_real"] / r["rtt_simulated"] < 1.25
    with Kept(tmp_path / TRANSFERS) as kept:
        assert len(kept.done) == len(found)
    assert not list(tmp_path.glob("*.samples.json"))


@needs_root
def test_acknowledgements_are_lost_behind_the_emulated_link(tmp_path):
    """`bentpipe validate kernel --links`, shortened to one cell: the emulated return link loses ACKs."""
    from typer.testing import CliRunner

    from bentpipe.cli.application import application

    pytest.importorskip("bentpipe.emulation")
    only = ["--only", "kernel-reno-ack-loss-10-*", "--seeds", "1", "--for", "6", "--json"]
    done = CliRunner().invoke(
        application(["validate"]), ["validate", "kernel", "--links", *only, "--out", str(tmp_path)]
    )
    assert done.exit_code == 0, done.output
    (row_,) = json.loads(done.stdout)["table"]
    assert row_["link"] == "ack-loss-10" and 0.5 < row_["goodput_real"] / row_["goodput_simulated"] < 2
    with Kept(tmp_path / TRANSFERS) as kept:
        lost = kept.rows["kernel-reno-ack-loss-10-6s-1"]["acks_lost"]
    # Six seconds of 800 segments, one ACK for one or two: one in ten of 2000 to 5000.
    assert 100 < lost < 800


def test_two_sizes_are_refused():
    from typer.testing import CliRunner

    from bentpipe.cli.application import application

    done = CliRunner().invoke(application(["validate"]), ["validate", "kernel", "--full", "--links"])
    assert done.exit_code == 2 and "give one of --full and --links" in done.output


def test_a_capture_changes_nothing_where_acknowledgements_tell_windows_and_marks(tmp_path):
    """Both share a store with what packets of other flows told before them."""
    import bentpipe

    scenario = Cell(Sender("kernel", "cubic"), 100, 1e-2, 0.2, 1, 8.0).scenario()
    flow = scenario["flow"][0] | {"ecn": "accecn", "ack_jitter": "4 ms"}
    late = {"count": 6, "start": "1 s", "start_jitter": "2 s", "traffic": {"kind": "bulk", "size": "300 kB"}}
    scenario["flow"] = [flow, {**flow, "name": "late", **late}]
    alone, captured = (
        bentpipe.run(scenario, pcap=pcap).json
        for pcap in (None, bentpipe.Capture(tmp_path / "x.pcapng", at="sender"))
    )
    assert alone["flows"] == captured["flows"]

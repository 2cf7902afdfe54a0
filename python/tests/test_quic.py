"""QUIC: the table of `validate quic`, the program behind the emulated link, and the page."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import forked
import pytest

from bentpipe.experiments.truth import TRANSFERS
from bentpipe.io.files import read_rows, write_rows
from bentpipe.sweeps.kept import Kept
from bentpipe.truth import quic_program, quic_table
from bentpipe.truth.quic_program import SENDERS, WORLDS, NotBuilt, QuicCell, full, quick

ROOT = Path(__file__).parents[2]


def built() -> str:
    """The program as a user has it, or as `make test-rust` built it, or a skipped test."""
    tested = ROOT / "target" / "debug" / quic_program.NAME
    try:
        return quic_program.program()
    except NotBuilt as missing:
        if os.access(tested, os.X_OK):
            return str(tested)
        pytest.skip(f"{missing}, or make test-rust")


def a_row(algorithm: str, seed: int, goodput: float, kernel: float | None) -> dict[str, object]:
    """A row as `measure` makes them."""
    worlds = {"simulated": goodput, "kernel": kernel, "quic_simulated": goodput / 2, "quic": goodput}
    columns = {
        f"{world}_{quantity}": None if value is None else value * factor
        for world, value in worlds.items()
        for quantity, factor in (("goodput_bps", 1.0), ("rtt_s", 1e-8), ("lost", 1e-10))
    }
    cell = QuicCell(algorithm, 100, 1e-3, seed, 20.0)
    return {
        **cell.as_dict(),
        "kernel_by": None if kernel is None else "native",
        "quic_late_s": goodput / 1e8,
        **columns,
    }


def test_rows_become_means_and_a_table_that_survives_its_file(tmp_path: Path) -> None:
    rows = [a_row("star", 1, 8e6, 6e6), a_row("star", 2, 8.4e6, None), a_row("reno", 1, 2e6, None)]
    write_rows(tmp_path / "quic.csv", quic_table.over_seeds(rows))
    assert read_rows(tmp_path / "quic.csv")[0]["seeds"] == 2
    heads, body = quic_table.page_rows(read_rows(tmp_path / "quic.csv"))
    assert heads[2:] == list(WORLDS.values())
    # goodput in Mbit/s, RTT in ms, losses in percent
    assert body[0] == [
        "star (native)",
        "100 ms, 0.001",
        "8.20, 82, 0.08",
        "6.00, 60, 0.06",
        "4.10, 41, 0.04",
        "8.20, 82, 0.08",
    ]
    assert quic_table.late_rows(quic_table.over_seeds(rows)) == 1, "0.084 s, and 0.02 s"
    assert body[1][0] == "reno"
    assert body[1][3] == "-"


def test_cells_share_their_link_and_its_losses_with_the_kernels() -> None:
    assert len(full(1, 60.0)) == 6 * len(SENDERS)
    for cell in quick(1, 20.0):
        ours, theirs = cell.scenario(), cell.kernels()[0].scenario()
        assert (ours["link"], ours["seed"], ours["duration"]) == (theirs["link"], theirs["seed"], "20 s")


def test_numbers_leave_the_handshake_out_of_the_rtt() -> None:
    samples = [{"t_s": t / 10, "rtt_s": 0.333 if t < 10 else 0.5} for t in range(1, 21)]
    report = {"goodput_bps": 1e6, "rtt_min_s": 0.5, "lost_packets": 3, "sent_packets": 300}
    assert quic_program.numbers({**report, "samples": samples}) == {
        "goodput_bps": 1e6,
        "rtt_s": 0.5,
        "lost": 0.01,
        "late_s": 0.0,
    }


def test_a_missing_program_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(quic_program, "NAME", "no-such-program")
    with pytest.raises(NotBuilt, match="make quic"):
        quic_program.program()


@pytest.mark.parametrize(
    ("asked", "said"),
    [(["--cc", "rono"], "--cc rono: compared are reno, cubic"), (["--quick", "--full"], "give one of")],
)
def test_a_wrong_request_is_refused(asked: list[str], said: str) -> None:
    done = forked.run(["validate", "quic", *asked])
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_the_program_sends_in_simulated_time() -> None:
    """The page's example, shorter. 96.4 % of 10 Mbit/s is the most."""
    command = [built(), "simulate", str(ROOT / "scenarios" / "geo.toml"), "--cc", "star", "--for", "10"]
    first, second = (
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(2)
    )
    assert first == second
    assert 5e6 < first["goodput_bps"] < 9.64e6
    assert 0.5 < first["rtt_min_s"] < 0.51


def test_the_program_sends_a_file_and_refuses_what_is_wrong(tmp_path: Path) -> None:
    program, port = built(), "127.0.0.1:4477"
    (tmp_path / "sent").write_bytes(os.urandom(300_000))
    serve = [program, "serve", "--listen", port, "--once", "--to", str(tmp_path / "got")]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        try:
            send = [program, "send", port, "--cc", "vegas-l", "--file", str(tmp_path / "sent")]
            done = subprocess.run(send, capture_output=True, text=True, check=True, timeout=30)
            said, _ = server.communicate(timeout=10)
        finally:
            server.kill()
    report = json.loads(done.stdout)
    assert report["complete"]
    assert report["received_bytes"] == json.loads(said)["received_bytes"] == 300_000
    assert (tmp_path / "got").read_bytes() == (tmp_path / "sent").read_bytes()
    wrong = subprocess.run(
        [program, "send", port, "--cc", "rono", "--for", "1"], capture_output=True, check=False
    )
    assert wrong.returncode == 2


@pytest.mark.root
def test_quic_crosses_the_emulated_link(tmp_path: Path) -> None:
    """As far as a busy machine lets the programs run: a twentieth of the simulated bytes at the least."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    tool = built()
    cell = QuicCell("reno", 20, 0.0, 1, 4.0)
    try:
        transfer = quic_program.QuicTransfer(cell, tool)
    except OSError as why:
        pytest.skip(f"no emulated link here: {why}")
    while not transfer.step():
        time.sleep(0.05)
    real, report = transfer.finish()
    simulated = quic_program.simulate(cell, tool, tmp_path)
    assert simulated["goodput_bps"] / 20 < real["goodput_bps"] < 9.64e6
    assert report["forward"]["delivered_bytes"] * 8 > 4 * real["goodput_bps"]
    assert real["rtt_s"] >= 0.02


@pytest.mark.root
def test_a_comparison_goes_on_from_its_files(tmp_path: Path) -> None:
    """`bentpipe validate quic`, shortened to one controller; the second time nothing is transferred."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    env = {**os.environ, "PATH": f"{Path(built()).parent}:{os.environ['PATH']}"}
    again = ["validate", "quic", "--cc", "reno", "--for", "2", "--json", "--out", str(tmp_path)]
    first = forked.run(again, env=env)
    assert first.returncode == 0, first.stderr
    (row,) = json.loads(first.stdout)["table"]
    assert all(row[f"{world}_goodput_bps"] > 1e5 for world in WORLDS), row
    assert row["kernel_by"] == "kernel"
    parts = tmp_path / TRANSFERS / "parts"
    stored = {path.name: path.stat().st_mtime_ns for path in parts.iterdir()}
    with Kept(tmp_path / TRANSFERS) as kept:
        assert kept.done == {"kernel-reno-100ms-0.001-1bdp-2s-1", "quic-reno-100ms-0.001-2s-1"}
    assert json.loads(forked.run(again, env=env).stdout)["table"] == [row]
    assert {path.name: path.stat().st_mtime_ns for path in parts.iterdir()} == stored

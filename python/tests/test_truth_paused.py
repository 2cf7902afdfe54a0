"""Traffic that pauses in both worlds: its cells, its arithmetic, its real programs, and its page."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from privilege import needs_root

import bentpipe as bp
from bentpipe.truth import paused, paused_table
from bentpipe.truth.cell import Sender, chosen
from bentpipe.truth.paused import PausedCell
from bentpipe.truth.real import PROGRAM

ROOT = Path(__file__).parent.parent.parent
PLACE = {"sender": "kernel:bbr", "link": "geo-50", "traffic": "page"}
STORED = {"kept_time": True, "kernel": "6.1", "lateness_p99_s": 1e-4}


def _row(seed: int, real: str, simulated: str, **place: str) -> dict[str, Any]:
    return {**PLACE, **place, "seed": seed, "real": real, "simulated": simulated, **STORED}


def test_a_position_is_the_median_of_its_repeats():
    rows = [
        _row(1, "5.0 1.0 1.0", "5.5 2.0 1.0"),
        _row(2, "5.2 1.2 1.0", "5.5 2.0 1.0"),
        _row(3, "5.1 1.1 1.0", "5.5 2.0"),
    ]
    (found,) = paused_table.table(rows)
    # Medians 5.1 and 1.1; the third position is not complete in one of the three simulations.
    assert found["real"] == [5.1, 1.1] and found["simulated"] == [5.5, 2.0]
    assert found["error"] == pytest.approx([5.5 / 5.1 - 1, 2 / 1.1 - 1])
    assert found["spread"] == pytest.approx(0.2 / 1.1) and found["incomplete"] == 1
    said = paused_table.verdict([found])
    assert said.median == pytest.approx((0.078431 + 0.818182) / 2, rel=1e-4)
    assert said.worst == pytest.approx(0.818182, rel=1e-4) and said.where.endswith("page, position 2")
    assert (said.beyond, said.positions) == (1, 2)


def test_a_difference_within_the_repeats_does_not_count():
    lossy = [_row(1, "1.0", "1.2"), _row(2, "2.0", "2.5"), _row(3, "3.0", "2.9")]
    (found,) = paused_table.table(lossy)
    assert found["error"] == [pytest.approx(0.25)] and found["counts"] == [False]
    said = paused_table.verdict([found])
    assert (said.median, said.worst, said.beyond) == (pytest.approx(0.25), 0.0, 0)
    assert paused_table.exceptions([found])[1] == []


def test_exceptions_name_their_positions_and_the_worst():
    (found,) = paused_table.table([_row(1, "1 1 1 1 1 1", "1 2 2.5 2 1.1 0.5")])
    ((sender, link, traffic, positions, real, ours, error),) = paused_table.exceptions([found])[1]
    assert (sender, link, traffic) == ("kernel:bbr", "geo-50", "page")
    assert (positions, real, ours, error) == ("4 of 6: 2 to 4, 6", "1", "2.5", "+150.0 %")


def test_the_summary_has_a_line_for_each_kind_sender_and_link():
    rows = [
        _row(1, "1 1", "1 1.1"),
        _row(1, "1 1", "1 1.3", sender="kernel:cubic"),
        _row(1, "1", "1", traffic="film"),
    ]
    body = {line[0]: line[1:] for line in paused_table.summary(paused_table.table(rows))[1]}
    assert list(body) == ["all", "page", "film", "kernel:bbr", "kernel:cubic", "geo-50"]
    assert body["film"] == ["0.0 %", "none", "0 of 1"] and body["page"][2] == "1 of 4"
    assert body["all"][1] == "30.0 % (kernel:cubic, geo-50, page, position 2)"


def test_the_grid_is_the_one_that_the_page_speaks_of():
    full = paused.full()
    assert len({cell.key for cell in full}) == len(full) == 3 * (3 * 6 + 5 * 2) * 6
    assert {paused.TRAFFIC[name]["kind"] for name in paused.TRAFFIC} == {"requests", "web", "on-off", "video"}
    assert all(paused.of_dict(cell.as_dict()) == cell for cell in full)
    assert len(chosen(full, ["kernel:*"])) == 3 * 3 * 6 * 6
    sizes = [
        plan[name]
        for plan in paused.TRAFFIC.values()
        for name in ("response", "size", "main", "embedded")
        if name in plan
    ]
    assert all(size % 1448 == 0 for size in sizes), "the simulation would send more than the kernel"


def test_windows_after_a_pause_are_those_of_the_sender():
    """Our datapath sets `cong_control`, so the kernel leaves its window alone; a program of ours does not."""

    def flow(name: str) -> dict[str, Any]:
        return PausedCell(Sender.named(name), "geo-10", "page", 1).scenario()["flow"][0]

    assert flow("agent:tfrc")["idle_restart"] == "none" and flow("agent:tfrc")["aen"] is False
    assert "idle_restart" not in flow("native:star") and "aen" not in flow("kernel:bbr")


def test_every_cell_is_simulated_as_often_as_the_program_asks():
    for traffic in paused.TRAFFIC:
        cell = PausedCell(Sender("kernel", "cubic"), "20-mbit-60-ms", traffic, 1)
        times = paused_table.simulated(cell, bp.run(cell.simulation()))
        assert len(times) == cell.plan["count"] and min(times) > 0.06, traffic
    (handover,) = chosen(paused.full(1), ["kernel-cubic-leo-handover-film-1"])
    assert len(paused_table.simulated(handover, bp.run(handover.simulation()))) == 10


def _talk(first: list[str], second: list[str], plan: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both programs over the loopback; what each printed."""
    common = ["--port", "5017", "--for", "20", "--cc", "cubic", "--plan", json.dumps(plan)]
    pipes = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    programs = [
        subprocess.Popen([sys.executable, "-I", "-S", PROGRAM, *given, *common], text=True, **pipes)
        for given in (first, second)
    ]
    try:
        for program in programs:
            assert program.stdout.readline() == "ready\n"
        begin = time.monotonic() + 0.2
        said = [""] * 2

        def take(number: int) -> None:
            said[number] = programs[number].communicate(f"{begin}\n", timeout=30)[0]

        threads = [threading.Thread(target=take, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for program in programs:
            program.kill()
            program.wait()
    return json.loads(said[0]), json.loads(said[1])


REQUESTS = {"kind": "requests", "response": 90_000, "think": 0.2, "count": 3}
PAGES = {
    "kind": "web",
    "main": 3000,
    "objects": 4,
    "embedded": 9000,
    "parsing": 0.1,
    "reading": 0.2,
    "count": 3,
}
FILM = {"kind": "video", "bitrate": 1e6, "segment": 0.4, "buffer": 0.8, "startup": 0.4, "count": 4}


# A page asks for its main object and four others. A film has room for two segments of 0.4 s: the third waits
# until 0.4 s have been played, and the fourth 0.4 s more.
@needs_root
@pytest.mark.parametrize(("plan", "pauses", "asked"), [(REQUESTS, 0.4, 3), (PAGES, 0.7, 15), (FILM, 0.8, 4)])
def test_the_real_client_asks_and_pauses_as_the_plan_says(plan, pauses, asked):
    began = time.monotonic()
    served, found = _talk(["serve"], ["ask", "127.0.0.1"], {**plan, "request": paused.REQUEST})
    took = time.monotonic() - began
    assert len(found["times"]) == plan["count"] and len(served["windows"]) == asked
    assert all(plan.get("parsing", 0) <= one < 0.5 for one in found["times"])
    assert pauses + 0.2 <= took < pauses + 3


@needs_root
def test_the_real_bursts_wait_for_their_last_acknowledgement():
    plan = {"kind": "on-off", "size": 500_000, "off": 0.2, "count": 3}
    received, found = _talk(["receive"], ["bursts", "127.0.0.1"], plan)
    assert received["bytes"] == 1_500_000 and len(found["times"]) == len(found["windows"]) == 3


@needs_root
def test_the_quick_form_compares_real_traffic(tmp_path):
    """`bentpipe validate kernel --paused --quick`: each kind once, in simulation and in the kernel."""
    from typer.testing import CliRunner

    from bentpipe.cli.application import application

    pytest.importorskip("bentpipe.emulation")
    asked = ["validate", "kernel", "--paused", "--quick", "--json", "--out", str(tmp_path)]
    done = CliRunner().invoke(application(["validate"]), asked)
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    cubic = {r["traffic"]: r for r in said["table"] if r["sender"] == "kernel:cubic"}
    assert set(cubic) == {"requests-small", "page", "on-off", "film"}, said["left_out"]
    for kind, row in cubic.items():
        assert len(row["real"]) == paused.TRAFFIC[kind]["count"]
        # A single repeat on a machine that may be busy; the page holds the errors of a calm one.
        assert paused_table.verdict([row]).median < 0.15, row
    # 30 kB by a warm window: a round trip of 60 ms and 12.6 ms of 21 segments of 1500 bytes at 20 Mbit/s.
    assert median(cubic["requests-small"]["real"][4:]) == pytest.approx(0.0726, rel=0.1)
    # BBR keeps its window in both worlds: no second round trip of 60 ms.
    (bbr,) = [r for r in said["table"] if r["sender"] == "kernel:bbr"]
    assert median(bbr["simulated"][4:]) < 0.12 and median(bbr["real"][4:]) < 0.12
    assert len(said["cells"]) == len(paused.quick())


def test_what_does_not_go_with_paused_traffic_is_refused():
    from typer.testing import CliRunner

    from bentpipe.cli.application import application

    for other in (["--full"], ["--links"], ["--for", "5"]):
        done = CliRunner().invoke(application(["validate"]), ["validate", "kernel", "--paused", *other])
        assert done.exit_code == 2 and "--paused goes with --quick" in done.output

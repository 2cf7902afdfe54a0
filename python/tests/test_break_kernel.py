"""Found failures with the kernel's TCP: the emulated link, what cannot be played, and one real case."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kernel_link import MARKS

from bentpipe.breaking.conditions import Change, Conditions, scenario
from bentpipe.breaking.observation import outages
from bentpipe.breaking.real import LEAD_S, delayed
from bentpipe.breaking.record import RecordHead, read
from bentpipe.breaking.replay import Replayed, share, unplayable, with_linux
from bentpipe.truth.transfer import instants

ZOO = Path(__file__).parents[2] / "scenarios" / "zoo"


def test_every_instant_of_the_emulated_link_is_later_by_the_lead() -> None:
    on = Conditions(
        20.0, loss_rate=0.01, outage_s=0.5, outage_every_s=5.0, cross_share=0.1,
        changes=(Change(4.0, "rate", 1e6), Change(6.0, "delay", 0.2), Change(9.0, "down", 1.0)),
    )  # fmt: skip
    plain = scenario(on, "cubic", 7, second="reno")
    made = delayed(plain)
    assert LEAD_S == 3.0
    link = made["link"]["sat"]
    assert link["rate"] == [["0 s", "10 Mbit/s"], ["7 s", "1 Mbit/s"]]
    assert link["delay"] == [["0 s", "50 ms"], ["9 s", "200 ms"]]
    assert link["up"] == [["0 s", True], ["12 s", False], ["13 s", True]]
    assert link["loss"] == [
        {"kind": "packet-error", "rate": 0.01},
        {"kind": "outage", "every": "5 s", "length": "500 ms", "first": "8 s"},
    ]
    assert (made["duration"], made["seed"]) == ("23 s", 7)
    # The scenario itself stays: its outages at 5 s, 10 s and 15 s, and from 9 s to 10 s.
    assert outages(plain, 20.0) == [(5.0, 5.5), (9.0, 10.5), (15.0, 15.5)]


def test_the_emulated_link_has_the_delays_of_each_flow() -> None:
    """With the names of the flows, which select the streams of their jitter."""
    on = Conditions(20.0, jitter_s=0.06, jitter_all=False, offset_s=0.1, cross_share=0.1)
    made = delayed(scenario(on, "copa", 7, second="copa"))
    assert made["flow"] == [
        {"name": "first", "cc": "reno", "path": ["sat"], "ack_jitter": "60 ms"},
        {"name": "second", "cc": "reno", "path": ["sat"], "extra_delay": "50 ms"},
        {"name": "cross", "cc": "reno", "path": ["sat"]},
    ]


def test_datagrams_go_out_at_their_rate_while_they_are_on() -> None:
    # One every 0.4 s: at 0, 0.4 and 0.8 s of each second that is on, and the same 3 s later.
    assert list(instants(0.4, 1.0, 2.0, 6.0)) == pytest.approx([0, 0.4, 0.8, 3.0, 3.4, 3.8])
    assert list(instants(0.4, 9.0, 2.0, 1.0)) == pytest.approx([0, 0.4, 0.8])


def test_a_case_that_cannot_be_played_has_a_reason() -> None:
    why = {path.stem: reason for path in ZOO.glob("*.toml") if (reason := unplayable(*read(path)))}
    assert set(why) == {"rcp-slow", "tear-starve", "xcp-slow"}
    pair, scenario = read(ZOO / "copa-starve.toml")
    assert unplayable(pair, scenario) == ""
    scenario["flow"][1]["start_jitter"] = "1 s"
    assert unplayable(pair, scenario) == "the emulator does not play start_jitter of a flow"
    del scenario["flow"][1]["start_jitter"]
    scenario["flow"][1]["path"] = ["sat/reverse"]
    assert unplayable(pair, scenario) == "the emulator plays only flows with the path of the first"
    assert why["xcp-slow"].startswith("no header for queues of kind xcp")
    assert why["tear-starve"].startswith("no rate from the receiver")


def replayed(values: list[float], fails: int) -> Replayed:
    return Replayed("bbr-slow", RecordHead.read(ZOO / "bbr-slow.toml"), "kernel:bbr", None, values, fails)


def test_more_than_half_of_the_seeds_confirm_a_case() -> None:
    rows = [replayed([0.1, 0.3, 0.9], 2), replayed([0.1, 0.9], 1), replayed([], 0)]
    assert [row.confirmed for row in rows] == [True, False, None]
    assert [row.value for row in rows] == [0.3, 0.5, None]
    assert rows[0].as_dict()["ratio"] == pytest.approx(0.3 / 0.25600835945663536)
    assert share(rows) == "the kernel confirms 1 of 2 cases that were played (50 %); 1 cannot be played"


def test_a_simulation_with_the_options_of_linux_need_not_fail() -> None:
    """The pulses of this case come at the least timeout of 1 s; Linux has 200 ms."""
    pair, made = read(ZOO / "reno-attack.toml")
    found = with_linux(pair, made, 1)
    assert RecordHead.read(ZOO / "reno-attack.toml").value < 0.001
    assert found is not None and found > 0.5


def test_the_kernel_is_asked_about_a_file(cli: Callable[..., Any]) -> None:
    done = cli("break", "reno", "--kernel")
    assert done.exit_code == 2
    assert "--replay FILE" in done.stderr


@pytest.mark.parametrize("option", ["--seeds", "--at-once"])
def test_what_is_for_the_kernel_alone_is_not_ignored(cli: Callable[..., Any], option: str) -> None:
    done = cli("break", "--replay", ZOO / "reno-attack.toml", option, "4")
    assert done.exit_code == 2
    assert option in done.stderr
    assert "add --kernel" in done.stderr


class TestKernel:
    pytestmark = MARKS

    def test_a_case_is_played_again_by_the_kernels_tcp(self, cli: Callable[..., Any], tmp_path: Path) -> None:
        """LeoCC fills a queue of five packets, and Reno beside it gets nearly nothing, in both worlds."""
        done = cli("break", "--replay", ZOO / "leocc-harm.toml", "--kernel", "--json", "-o", tmp_path)
        assert done.exit_code == 0, done.stderr
        answer = json.loads(done.stdout)
        (row,) = answer["cases"]
        assert (row["sender"], row["seeds"], row["confirmed"]) == ("agent:leocc", 1, True)
        assert 0 <= row["kernel"] < 0.2 and 0 <= row["linux"] < 0.2
        assert row["simulated"] == RecordHead.read(ZOO / "leocc-harm.toml").value
        assert "Reno beside LeoCC delivers" in row["where"]
        assert answer["share"] == "the kernel confirms 1 of 1 cases that were played"
        (kept,) = csv.DictReader((tmp_path / "kernel.csv").read_text().splitlines())
        assert (kept["case"], kept["confirmed"]) == ("leocc-harm", "True")

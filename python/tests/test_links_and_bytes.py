"""What a link has is what runs and what is shown; what goes into a connection comes out of it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import bentpipe as bp

CHANGES = [["0 s", "50 Mbit/s"], ["4 s", "40 Mbit/s"]]
NOMINAL = {"rate": "50 Mbit/s", "delay": "20 ms"}


def run(link: dict[str, Any], *, path: str = "a", duration: str = "10 s", **flow: Any) -> bp.Result:
    """One CUBIC flow over the link `a`."""
    return bp.run(
        {"duration": duration, "link": {"a": link}, "flow": [{"cc": "cubic", "path": [path], **flow}]}
    )


def direction(found: bp.Result, name: str) -> dict[str, Any]:
    """The row of the reverse direction of link `a`, or of the forward one."""
    rows = found.links.to_dicts()
    return next(row for row in rows if row["direction"] == name)


@pytest.mark.parametrize(
    ("link", "most_bps", "least_rtt_s"),
    [
        (
            {"rate": "500 kbit/s", "delay": "200 ms", "nominal": {"rate": "2 Mbit/s", "delay": "50 ms"}},
            5e5,
            0.4,
        ),
        ({"rate": "10 Mbit/s", "delay": "250 ms", "nominal": {"delay": "20 ms"}}, 10e6, 0.5),
        ({"rate": [["0 s", "500 kbit/s"]], "delay": [["0 s", "200 ms"]], "nominal": NOMINAL}, 5e5, 0.4),
    ],
    ids=["plain", "delay", "one-step"],
)
def test_nominal_changes_nothing_but_the_queue(link, most_bps, least_rtt_s) -> None:
    found = run(link)
    (flow,) = found.flows.to_dicts()
    assert flow["goodput_bps"] < most_bps and flow["rtt_min_s"] >= least_rtt_s
    assert direction(found, "forward")["rate_bps"] == most_bps
    # What a limit says in bytes does not follow `nominal`: then nothing does.
    limit = {"queue": {"kind": "drop-tail", "limit": "60 kB"}}
    plain = {key: value for key, value in link.items() if key != "nominal"}
    assert run(link | limit).flows.equals(run(plain | limit).flows)


@pytest.mark.parametrize("nominal", [NOMINAL, {"rate": "50 Mbit/s"}, None])
def test_a_return_direction_of_its_own_rate_has_no_nominal_rate_of_the_other(nominal) -> None:
    own = {"rate": "1 Mbit/s", "delay": "20 ms"}
    link = {"rate": CHANGES, "delay": "20 ms", "reverse": own} | ({"nominal": nominal} if nominal else {})
    found = run(link, path="a/reverse")
    (flow,) = found.flows.to_dicts()
    assert 0.9e6 < flow["goodput_bps"] < 1e6 * 1448 / 1500
    assert direction(found, "reverse")["rate_bps"] == 1e6
    # 1 bdp is 1 Mbit/s x 40 ms = 3.3 packets of 1500 bytes; such a queue has room for five at least.
    assert direction(found, "reverse")["queue_max_packets"] <= 5


def test_a_return_direction_of_the_same_rate_has_the_nominal_values() -> None:
    link = {"rate": CHANGES, "delay": "20 ms", "nominal": {"rate": "3 Mbit/s"}}
    limits = [
        direction(run(link, path=path), name)["queue_max_packets"]
        for path, name in (("a", "forward"), ("a/reverse", "reverse"))
    ]
    assert limits == [10, 10]  # 3 Mbit/s x 40 ms / 1500 bytes


def test_a_rate_that_changes_is_shown_as_its_mean_while_the_path_is_there() -> None:
    """50 Mbit/s for 4 s, 40 Mbit/s for 2 s, then an outage of 2 s, and 40 Mbit/s for 2 s."""
    up = [["0 s", True], ["6 s", False], ["8 s", True]]
    found = run({"rate": CHANGES, "delay": "20 ms", "up": up, "nominal": NOMINAL})
    assert direction(found, "forward")["rate_bps"] == pytest.approx((50e6 * 4 + 40e6 * 4) / 8)


@pytest.mark.parametrize(
    ("name", "link", "rate_bps"), [("earth-observation", "pass", 250e3), ("leo-handover", "leo", 15e6)]
)
def test_a_shipped_return_link_is_shown_with_its_own_rate(name, link, rate_bps) -> None:
    scenario = bp.Scenario.load(name, {"duration": "20 s"})
    rows = bp.run(scenario).links.to_dicts()
    (back,) = [row for row in rows if row["name"] == link and row["direction"] == "reverse"]
    assert back["rate_bps"] == rate_bps


TWO = {name: {"rate": "1 Mbit/s", "delay": "10 ms"} for name in "ab"}


@pytest.mark.parametrize("size", ["33231 bytes", "1429 bytes", "100000 bytes", None])
@pytest.mark.parametrize(
    ("cc", "behind"), [("reno", "xcp"), ("rcp", "reno"), ("tear", "cubic"), ("xcp", "rcp")]
)
def test_a_relay_passes_on_all_bytes_whatever_the_headers(cc, behind, size) -> None:
    flow = {"cc": cc, "path": ["a", "b"], "relay": {"at": "a", "buffer": "86514 bytes", "cc": behind}}
    flow |= {"traffic": {"kind": "bulk", "size": size}} if size else {}
    found = bp.run({"duration": "8 s", "link": TWO, "flow": [flow]}).flows
    first, second = found["delivered_bytes"].to_list()
    assert second <= first
    if size:
        assert first == second == int(size.split()[0])


def test_subflows_bring_what_their_connection_hands_over() -> None:
    """8,597 bytes are six segments of 1,428 and one of 29, whichever subflow brings that."""
    for size, cc, links in (
        (8_597, "reno", {"a": {"rate": "1 Mbit/s", "delay": "50 ms"}}),
        (500_000, "xcp", TWO),
    ):
        flow = {
            "cc": "reno",
            "path": ["a"],
            "traffic": {"kind": "bulk", "size": f"{size} bytes"},
            "subflow": [{"path": [list(links)[-1]], "cc": cc}],
        }
        flows = bp.run({"duration": "8 s", "link": links, "flow": [flow]}).flows
        whole, *parts = flows["delivered_bytes"].to_list()
        assert whole == size == sum(parts), flows


def test_a_stop_makes_no_segment_of_a_connection_short() -> None:
    """The last segment sent before the stop was repaired as if it were the last one of the transfer."""
    lossy = {name: link | {"loss": [{"kind": "packet-error", "rate": 0.05}]} for name, link in TWO.items()}
    flow = {
        "cc": "reno",
        "path": ["a"],
        "stop": "3 s",
        "traffic": {"kind": "bulk", "size": "1000001 bytes"},
        "subflow": [{"path": ["b"], "cc": "reno"}],
    }
    flows = bp.run({"duration": "8 s", "seed": 3, "link": lossy, "flow": [flow]}).flows
    whole, *parts = flows["delivered_bytes"].to_list()
    assert whole <= sum(parts)
    assert {delivered % 1428 for delivered in (whole, *parts)} == {0}, flows


def test_overlapping_outages_of_many_handovers_take_linear_time() -> None:
    """With the square of their number the check alone took more than ten minutes."""
    link = {"rate": "1 Mbit/s", "delay": "10 ms", "handover": {"every": "1 us", "outage": "100 us"}}
    scenario = {"duration": "1 s", "link": {"a": link}, "flow": [{"cc": "reno", "path": ["a"]}]}
    code = f"import bentpipe as bp; print(bp.run({scenario!r}).flows['delivered_bytes'][0])"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    assert ran.stdout == "0\n"  # the path is dark from the first handover on


def test_ctrl_c_ends_a_check(tmp_path) -> None:
    """A check of four million changes takes seconds; it is left at once."""
    file = tmp_path / "long.toml"
    flows = '[[flow]]\ncc = "reno"\npath = ["a"]\n' * 200
    file.write_text(
        'duration = "1 s"\n[link.a]\nrate = "1 Mbit/s"\ndelay = "10 ms"\n'
        f'handover = {{ every = "250 ns", outage = "100 ns" }}\n{flows}',
        encoding="utf-8",
    )
    code = (
        "import sys; from bentpipe import _core\nprint('begins', flush=True)\n"
        "try:\n _core.ScenarioText('', sys.argv[1]).load()\nexcept KeyboardInterrupt:\n print('interrupted')"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(file)],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "begins\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
        assert said == "interrupted\n"
    finally:
        process.kill()


@pytest.mark.parametrize("name", ["ü", "a.b", 'say "x"', "it's", "a b"])
def test_any_name_of_a_link_can_be_written_in_a_key(name, cli, tmp_path: Path) -> None:
    key = f"link.{json.dumps(name)}.rate"
    file = tmp_path / "s.toml"
    quoted = json.dumps(name, ensure_ascii=False)
    file.write_text(
        f'duration = "2 s"\n[link.{quoted}]\nrate = "1 Mbit/s"\ndelay = "10 ms"\n'
        f'[[flow]]\ncc = "reno"\npath = [{quoted}]\n',
        encoding="utf-8",
    )
    ran = cli("run", file, "--json", "--set", f"{key}=2 Mbit/s")
    assert ran.exit_code == 0, ran.stderr
    assert bp.run(bp.Scenario.load(file, {key: "2 Mbit/s"})).links["rate_bps"][0] == 2e6
    varied = bp.sweep(bp.Scenario.load(file), {key: ["1 Mbit/s", "2 Mbit/s"]}, seeds=1)
    assert varied["goodput_bps"].n_unique() == varied.height == 2


@pytest.mark.parametrize("name", ["ü", "a.b", 'say "x"'])
def test_a_drawn_link_of_any_name_runs_by_every_door(name, cli, tmp_path) -> None:
    scenario = {
        "duration": "3 s",
        "link": {name: {"timeline": {"generator": "starlink"}}},
        "flow": [{"cc": "reno", "path": [name]}],
    }
    file = tmp_path / "s.json"
    file.write_text(json.dumps(scenario), encoding="utf-8")
    ran = cli("run", file, "--json")
    assert ran.exit_code == 0, ran.stderr
    by_python = bp.run(scenario).flows["delivered_bytes"][0]
    columns = json.loads(ran.stdout)["flows"]
    by_command = (
        columns["rows"][0][columns["columns"].index("delivered_bytes")] if "rows" in columns else None
    )
    assert by_command in (None, by_python)
    assert bp.compare(bp.Scenario.of(scenario), ["reno"], seeds=1, duration="3 s") is not None


def test_a_drawn_link_with_a_plain_uplink_is_shown_with_the_uplinks_rate() -> None:
    link = {"timeline": {"generator": "starlink"}, "reverse": {"rate": "1 Mbit/s", "delay": "20 ms"}}
    found = run(link, path="a/reverse")
    assert direction(found, "reverse")["rate_bps"] == 1e6
    assert found.flows["rtt_p95_s"][0] < 1.0  # 1 bdp is some packets of 12 ms, not hundreds

"""Runs over whole constellations: scenarios with a table `network`."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.orbit import hypatia, hypatia_runs, loads, networks, simulated
from bentpipe.sweeps.fingerprint import Fingerprints, with_files

CITIES = ["Tokyo", "Paris", "Lagos", "Lima"]
PORT = {"rate": "5 Mbit/s"}


def scenario(**network: Any) -> dict[str, Any]:
    """Four cities over Kuiper's first shell for three seconds."""
    keys = {"shell": "hypatia-kuiper-k1", "reach": "length", "stations": CITIES, "isl": PORT, "gsl": PORT}
    return {
        "duration": "3 s",
        "network": {key: value for key, value in (keys | network).items() if value is not None},
        "flow": [{"cc": "cubic", "pairs": "all"}],
    }


def test_flows_run_between_all_cities() -> None:
    result = bp.run(scenario())
    flows = result.network_flows
    assert flows.height == 12
    assert flows["flow"].to_list() == result.flows["name"].to_list()
    assert set(flows["from"]) == set(flows["to"]) == set(CITIES)
    assert flows["flow"][0] == "cubic:Tokyo>Paris"
    assert (flows["acked_bytes"] <= result.flows["delivered_bytes"]).all()
    paths = bp.orbit.network(CITIES, shell="hypatia-kuiper-k1", reach="length", duration="3 s").paths
    first = paths.filter(pl.col("t_s") == 0.0)
    one_way = dict(zip(first.select("from", "to").iter_rows(), first["delay_s"], strict=True))
    base = flows.filter((pl.col("from") == "Tokyo") & (pl.col("to") == "Paris"))["base_rtt_s"][0]
    # Both ways are one path here.
    assert base == pytest.approx(one_way[1156, 1157] + one_way[1157, 1156], abs=2e-9)
    rtts = dict(zip(result.flows["name"], result.flows["rtt_min_s"], strict=True))
    for name, base_rtt_s in flows.select("flow", "base_rtt_s").iter_rows():
        assert rtts[name] > base_rtt_s


def test_the_same_seed_gives_the_same_run_and_sweeps_take_a_network(tmp_path: Path) -> None:
    given = scenario() | {"record": {"interval": "1 s", "links": True}}
    one, other = bp.run(given), bp.run(given)
    assert one.json | {"wall_s": 0} == other.json | {"wall_s": 0}
    assert one.port_trace.equals(other.port_trace)
    one.save(tmp_path / "run")
    stored = bp.Result.load(tmp_path / "run")
    assert stored.network_flows.equals(one.network_flows)
    assert stored.port_trace.equals(one.port_trace)
    swept = bp.sweep(given, {"network.isl.rate": ["5 Mbit/s", "1 Mbit/s"]}, workers=2)
    sums = swept.group_by("network.isl.rate_bps").agg(pl.col("goodput_bps").sum()).sort("goodput_bps")
    assert sums["network.isl.rate_bps"].to_list() == [1e6, 5e6]
    assert sums["goodput_bps"][1] == pytest.approx(one.flows["goodput_bps"].sum())


def test_threads_change_no_bit_and_stop() -> None:
    fast = {"rate": "100 Mbit/s"}
    given = scenario(isl=fast, gsl=fast, stations=None) | {
        "duration": "500 ms",
        "record": {"interval": "50 ms", "links": True, "flows": True},
        "flow": [{"cc": "bbr", "pairs": "permutation", "profile": "linux"}],
    }
    one, two = bp.run(given), bp.run(given, threads=2)
    assert one.json | {"wall_s": 0} == two.json | {"wall_s": 0}
    assert one.trace.height > 500
    assert one.trace.equals(two.trace, null_equal=True)
    assert one.port_trace.equals(two.port_trace)

    def stop(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bp.run(given | {"duration": "1000 s"}, threads=2, progress=stop)


def test_a_changed_file_of_a_network_is_another_run(tmp_path: Path) -> None:
    tle, track, folder = tmp_path / "a.tle", tmp_path / "track.csv", tmp_path / "folder"
    folder.mkdir()
    given = {
        "network": {"tle": [str(tle)], "hypatia": str(folder), "stations": ["Tokyo", f"Liner = {track}"]}
    }
    points = []
    for changed in (tle, track, folder / "isls.txt", None):
        if changed is not None:
            changed.write_text("some")
        points.append(Fingerprints().point(given))
    assert len({*points}) == 3
    moved = with_files(given, lambda name: f"elsewhere/{Path(name).name}")
    assert moved["network"]["stations"] == ["Tokyo", "Liner =elsewhere/track.csv"]
    assert moved["network"]["tle"] == ["elsewhere/a.tle"]


def test_a_folder_of_hypatia_gives_the_run_of_its_shell(tmp_path: Path) -> None:
    made = bp.orbit.network(CITIES, shell="hypatia-kuiper-k1", reach="length", duration="3 s", step="500 ms")
    hypatia.write(made, tmp_path / "folder")
    folder = scenario(hypatia=str(tmp_path / "folder"), shell=None, reach=None, stations=None)
    ours = bp.run(scenario(update="500 ms"))
    theirs = bp.run(folder)
    # TLEs round the elements: positions differ by less than a metre.
    assert theirs.network_flows["base_rtt_s"].to_list() == pytest.approx(
        ours.network_flows["base_rtt_s"].to_list(), abs=1e-6
    )
    apart = (theirs.flows["delivered_bytes"] - ours.flows["delivered_bytes"].cast(pl.Int64)).abs()
    assert (apart <= 0.05 * ours.flows["delivered_bytes"]).all()


def _hypatia_run(folder: Path, schedule: str, *lines: str) -> Path:
    made = bp.orbit.network(CITIES, shell="hypatia-kuiper-k1", reach="length", duration="3 s")
    hypatia.write(made, folder / "network")
    settings = [
        "simulation_end_time_ns=3000000000",
        'satellite_network_dir="network"',
        *(f"{kind}_data_rate_megabit_per_s=5" for kind in ("isl", "gsl")),
        *(f"{kind}_max_queue_size_pkts=100" for kind in ("isl", "gsl")),
        *lines,
    ]
    (folder / "config_ns3.properties").write_text("\n".join(settings) + "\n", encoding="utf-8")
    (folder / "schedule.csv").write_text(schedule, encoding="utf-8")
    return folder


def test_a_run_of_hypatia_is_a_scenario(tmp_path: Path, cli: Callable[..., Any]) -> None:
    schedule = "0,1156,1157,1000000000000,0,,\n1,1158,1156,50000,500000000,,\n"
    run = _hypatia_run(
        tmp_path, schedule, "tcp_socket_type=TcpCubic",
        "enable_tcp_flow_scheduler=true", 'tcp_flow_schedule_filename="schedule.csv"',
    )  # fmt: skip
    found = cli("orbit", "convert", run, "-o", tmp_path / "few.json")
    assert found.exit_code == 0
    result = bp.run(tmp_path / "few.json")
    assert result.network_flows.select("from", "to").rows() == [("Tokyo", "Paris"), ("Lagos", "Tokyo")]
    assert result.flows["cc"].to_list() == ["cubic", "cubic"]
    assert result.flows["start_s"].to_list() == [0.0, 0.5]
    assert result.flows["delivered_bytes"][1] == 50_000


def test_bursts_and_pings_of_hypatia_are_flows(tmp_path: Path, cli: Callable[..., Any]) -> None:
    run = _hypatia_run(
        tmp_path, "0,1156,1157,2.5,0,1000000000,,\n", "enable_udp_burst_scheduler=true",
        'udp_burst_schedule_filename="schedule.csv"', "enable_pingmesh_scheduler=true",
        "pingmesh_interval_ns=100000000", "pingmesh_endpoint_pairs=set(1156->1158)",
    )  # fmt: skip
    assert cli("orbit", "convert", run, "-o", tmp_path / "few.json").exit_code == 0
    sent = dict(bp.run(tmp_path / "few.json").flows.select("name", "sent_packets").iter_rows())
    # A packet each 4.8 ms for a second, and one each 100 ms from 0 s to 3 s.
    assert sent == {"burst 0": 209, "ping 0": 31}


def test_a_damaged_run_of_hypatia_names_the_line(tmp_path: Path) -> None:
    run = _hypatia_run(
        tmp_path, "0,1156,12,1000,0,,\n", "tcp_socket_type=TcpCubic", "enable_tcp_flow_scheduler=true",
        'tcp_flow_schedule_filename="schedule.csv"',
    )  # fmt: skip
    with pytest.raises(bp.ScenarioError, match="schedule.csv, line 1: node 12 is no ground station"):
        hypatia_runs.read(run, "flows.csv")


def test_the_load_of_a_run_is_that_of_its_ports() -> None:
    result = bp.run(scenario() | {"record": {"interval": "1 s", "links": True, "flows": False}})
    load = loads.of_ports(result.port_trace)
    assert load["t_s"].unique().sort().to_list() == [0.0, 1.0, 2.0]
    totals = load.group_by("from", "to").agg(pl.col("busy").sum(), pl.col("dropped_packets").sum())
    by_name = {row["name"]: row for row in result.json["links"]}
    names = [str(node) for node in range(1156)] + CITIES
    for start, end, busy, dropped in totals.iter_rows():
        port = by_name[f"{names[start]}>{'ground' if end is None else end}"]
        assert busy / 3 == pytest.approx(port["utilisation"], abs=1e-9)
        assert dropped == port["dropped_queue"] + port["dropped_error"]
    assert loads.checked(load, simulated.network_of(result.scenario)).height == load.height


def test_a_stored_run_is_a_page_and_a_map(tmp_path: Path, cli: Callable[..., Any]) -> None:
    file = tmp_path / "net.json"
    file.write_text(json.dumps(scenario() | {"record": {"interval": "1 s", "links": True}}), encoding="utf-8")
    ran, page, drawn = tmp_path / "ran", tmp_path / "net.html", tmp_path / "net.svg"
    found = cli("run", file, "--out", ran)
    assert found.exit_code == 0
    shown = found.output
    assert "cubic:Tokyo>Paris" in shown
    assert "ground" in shown
    assert "ports more; --json prints" in shown
    assert cli("orbit", "network", "--from", ran, "--page", page).exit_code == 0
    without = tmp_path / "without.html"
    bp.orbit.page(simulated.network_of(scenario()), without)
    assert page.stat().st_size > without.stat().st_size + 500
    assert cli("plot", "network", ran, "--at", "2", "-o", drawn).exit_code == 0
    assert drawn.stat().st_size > 10_000


def test_algorithms_are_compared_over_a_network(tmp_path: Path, cli: Callable[..., Any]) -> None:
    file = tmp_path / "net.json"
    file.write_text(json.dumps(scenario()), encoding="utf-8")
    found = cli("compare", "--cc", "cubic,bbr", "--scenario", file, "--seeds", "2")
    assert found.exit_code == 0
    assert "CUBIC" in found.output
    assert "BBR" in found.output


def test_packets_are_captured_at_their_hosts(tmp_path: Path) -> None:
    plain = bp.run(scenario())
    for end, counts in (("sender", "sent_packets"), ("receiver", "delivered")):
        file = tmp_path / f"{end}.pcapng"
        captured = bp.run(scenario(), pcap=bp.Capture(file, at=end))
        assert captured.json | {"wall_s": 0} == plain.json | {"wall_s": 0}
        # Every packet of data leaves one sender; what arrives at receivers is `packets`. Each has an
        # acknowledgement or shares one, and a connection has segments that open it.
        data = plain.flows[counts].sum() if counts in plain.flows.columns else plain.json["packets"]
        blocks = _blocks(file.read_bytes())
        assert data < blocks < 2 * data + 100


def _blocks(content: bytes) -> int:
    """The packets of a pcapng file: enhanced packet blocks, of type 6."""
    at = found = 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        found += kind == 6
        at += length
    return found


def test_a_network_is_not_emulated(tmp_path: Path, cli: Callable[..., Any]) -> None:
    file = tmp_path / "net.json"
    file.write_text(json.dumps(scenario()), encoding="utf-8")
    found = cli("emulate", file, "--", "true")
    assert found.exit_code != 0


def test_a_failure_loses_packets_until_it_is_known() -> None:
    whole = bp.run(scenario())
    path = simulated.network_of(scenario()).paths.filter((pl.col("from") == 1156) & (pl.col("to") == 1157))
    failed = f"satellite {path['via'][0][2]}, from 1 s, detected after 1 s"
    broken = bp.run(scenario(failures=[failed]))
    lost = sum(link["dropped_error"] for link in broken.json["links"])
    assert lost > 0
    assert sum(link["dropped_error"] for link in whole.json["links"]) == 0
    tokyo = "cubic:Tokyo>Paris"
    before, after = (
        dict(r.flows.select("name", "delivered_bytes").iter_rows())[tokyo] for r in (whole, broken)
    )
    assert after < before


def test_shells_of_kuiper_are_one_network() -> None:
    kuiper = [f"kuiper-k{k}" for k in (1, 2, 3)]
    result = bp.run(scenario(shell=kuiper, reach=None))
    one = bp.run(scenario(shell=kuiper[0], reach=None))
    rtt, alone = (dict(r.network_flows.select("flow", "base_rtt_s").iter_rows()) for r in (result, one))
    # More satellites: no path is longer.
    assert all(rtt[flow] <= alone[flow] + 1e-9 for flow in alone)
    assert rtt != alone
    used = {int(name.partition(">")[0]) for name in result.links["name"].cast(pl.String) if name[0].isdigit()}
    assert max(used) >= 1156
    assert result.scenario["network"]["shell"] == kuiper


def test_pings_to_a_station_that_moves_take_its_distance(tmp_path: Path) -> None:
    # 0.1 degrees a second east, 11.1 km: no ship, but what moves far in a minute.
    track = ["t_s,lat,lon", *(f"{t_s},0,{10 + 0.1 * t_s}" for t_s in (-60, 0, 60, 200))]
    (tmp_path / "fast.csv").write_text("\n".join(track) + "\n", encoding="utf-8")
    fast = {"rate": "100 Gbit/s"}
    moving = scenario(
        stations=["Lagos", "Fast = fast.csv"], shell="starlink-s1", reach=None, isl=fast, gsl=fast
    )
    moving |= {
        "duration": "60 s",
        "flow": [{"from": "Lagos", "to": "Fast", "traffic": {"kind": "ping", "interval": "1 s"}}],
        "record": {"transfers": True},
    }
    file = tmp_path / "moving.json"
    file.write_text(json.dumps(moving), encoding="utf-8")
    pings = bp.run(file).transfers.drop_nulls("completion_s")
    assert pings.height > 50
    for start_s, rtt_s in pings.select("start_s", "completion_s").rows()[::7]:
        # A network whose station stands where the moving one is then.
        there = bp.orbit.Point("there", 0.0, 10 + 0.1 * start_s)
        epoch = f"2000-01-01T00:00:{start_s:06.3f}Z"
        still = bp.orbit.network(["Lagos", there], shell="starlink-s1", duration="1 s", epoch=epoch)
        one_way = still.paths.filter(pl.col("from") == 1584)["delay_s"][0]
        # In 30 ms satellites and station move by less than a kilometre.
        assert rtt_s == pytest.approx(2 * one_way, abs=1e-5)


def test_populations_are_those_of_the_cities() -> None:
    known = networks.populations(networks.stations(["top-1000"]))
    assert known == sorted(known, reverse=True)
    assert known[0] > 1e7
    assert networks.populations([networks.Point("nowhere", 0.0, 0.0)]) == []
    drawn = bp.run(scenario() | {"flow": [{"cc": "reno", "pairs": {"gravity": 30}}], "duration": "1 s"})
    assert drawn.network_flows.height == 30


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shell": "kuipr-k1"}, 'network: satellites.shell: no shell is called "kuipr-k1"; did you mean'),
        ({"stations": ["Tokyo", "Pariis"]}, "Pariis"),
        ({"stations": ["Tokyo", "Tokyo"]}, "network: station 'Tokyo' is named twice; give each station once"),
        ({"failures": ["satelite 3"]}, "network: failure 'satelite 3': write"),
        ({"every": "15 s"}, "network: every goes with select"),
        ({"shell": ["kuiper-k1", "kuiper-k1"]}, "network: satellites.shell: kuiper-k1 is named twice"),
        ({"tle": "no.tle"}, "network.tle: shell already gives the satellites"),
        ({"hypatia": "no-folder", "shell": None}, "tles.txt"),
        ({"isl": {"rate": "0 Mbit/s"}}, "network.isl.rate: a rate must be greater than zero"),
    ],
)
def test_mistakes_name_the_key(change: dict[str, Any], message: str) -> None:
    with pytest.raises(bp.ScenarioError) as raised:
        bp.run(scenario(**change))
    assert message in str(raised.value)

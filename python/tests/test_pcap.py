"""Captures: what they cost a run (nothing), where they go, and what happens when they cannot be written."""

import json
import struct

import pytest

import bentpipe as bp


def scenario(**given):
    link = bp.Link(rate="4 Mbit/s", delay="50 ms", loss=bp.PacketError(0.005))
    access = bp.Link(rate="100 Mbit/s", delay="1 ms")
    flows = [
        bp.Flow("reno", path=["access", "sat"], count=2, extra_delay="3 ms"),
        bp.Flow(path=["sat"], traffic=bp.Cbr("100 kbit/s")),
    ]
    links = {"access": access, "sat": link}
    return bp.Scenario(**{"links": links, "flows": flows, "duration": "20 s", **given})


def without_time(result):
    return json.dumps({key: value for key, value in result.json.items() if key != "wall_s"})


def blocks(path):
    """The types of the blocks of a pcapng file; each ends with its length once more."""
    content, at, kinds = path.read_bytes(), 0, []
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        assert length % 4 == 0
        assert struct.unpack_from("<I", content, at + length - 4) == (length,)
        kinds.append(kind)
        at += length
    return kinds


@pytest.mark.parametrize("at", ["sender", "receiver", "sat", "access"])
def test_a_capture_changes_nothing(tmp_path, at):
    plain = without_time(bp.run(scenario()))
    files = [tmp_path / "1.pcapng", tmp_path / "2.pcapng"]
    for file in files:
        assert without_time(bp.run(scenario(), pcap=bp.Capture(file, at=at))) == plain
    assert files[0].read_bytes() == files[1].read_bytes()
    kinds = blocks(files[0])
    interfaces = 2 if at in ("sat", "access") else 3
    assert kinds[: 1 + interfaces] == [0x0A0D0D0A, *[1] * interfaces]
    assert set(kinds[1 + interfaces :]) == {6}
    assert len(kinds) > 1000


def test_every_link_of_a_chain_is_seen(tmp_path):
    """Links that nobody else feeds hand on without an event at each, but not while one is looked at."""
    link = bp.Link(rate="4 Mbit/s", delay="50 ms", queue=bp.DropTail("1000 packets"))
    links = {"a": bp.Link(rate="100 Mbit/s", delay="1 ms"), "b": link, "c": link}
    chain = scenario(links=links, flows=[bp.Flow("reno", path=["a", "b", "c"], traffic=bp.Bulk("500 kB"))])
    counts = []
    for at in links:
        result = bp.run(chain, pcap=bp.Capture(tmp_path / f"{at}.pcapng", at=at))
        counts.append(blocks(tmp_path / f"{at}.pcapng").count(6))
    sent = result.links.filter(result.links["direction"] == "forward")
    assert result.links["dropped_queue"].sum() == 0
    assert counts == [
        result.links.filter(result.links["name"] == at)["delivered_packets"].sum() for at in links
    ]
    assert sent["delivered_packets"].min() > 300


def test_segments_change_nothing_add_up_and_are_saved(tmp_path):
    plain = bp.run(scenario())
    traced = bp.run(scenario(record=bp.Record(segments=True)))
    assert without_time(plain) == without_time(traced)
    assert plain.segments.height == 0
    for flow in traced.json["flows"][:2]:
        rows = traced.segments.filter(traced.segments["flow"] == flow["name"])
        count = {event: n for event, n in rows["event"].value_counts().iter_rows()}
        assert count["sent"] + count["resent"] == flow["sent_packets"]
        assert count["resent"] == flow["retransmitted_packets"] > 0
        assert count["lost"] == flow["dropped_packets"] > 0
        fresh = rows.filter(rows["event"] == "sent")
        assert fresh["from_bytes"].to_list() == [1448 * i for i in range(fresh.height)]
        acks = rows.filter(rows["event"] == "ack")
        assert acks["from_bytes"].is_sorted() and acks["from_bytes"].max() <= flow["delivered_bytes"]
    assert traced.segments["t_s"].is_sorted()
    assert bp.Result.load(traced.save(tmp_path / "r")).segments.equals(traced.segments)


@pytest.mark.parametrize("path", ["/dev/full", "."])
def test_what_cannot_be_written_is_one_clear_error(cli, scenario_file, tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    before = sorted(p.name for p in tmp_path.iterdir())
    done = cli("run", scenario_file, "--pcap", path)
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert f"cannot write the capture {path}: " in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_a_full_disk_stops_the_run_early():
    """Not only at its end: an hour of it would be lost."""
    shares = []
    link = bp.Link(rate="1 Gbit/s", delay="1 ms")
    long = scenario(links={"sat": link}, flows=[bp.Flow("reno", path=["sat"])], duration="20 s")
    with pytest.raises(OSError, match="No space left"):
        bp.run(long, pcap="/dev/full", progress=shares.append)
    assert not shares or max(shares) < 0.5


def test_a_run_that_fails_leaves_the_earlier_file(tmp_path):
    class Broken(bp.Controller):
        def on_ack(self, flow, ack):
            raise RuntimeError("broken")

        def on_congestion(self, flow, why):
            pass

    file = tmp_path / "out.pcapng"
    earlier = b"\n\r\r\nearlier"
    file.write_bytes(earlier)
    link = bp.Link(rate="4 Mbit/s", delay="10 ms")
    broken = bp.Scenario(links={"sat": link}, flows=[bp.Flow(Broken, path=["sat"])], duration="5 s")
    with pytest.raises(RuntimeError, match="broken"):
        bp.run(broken, pcap=file)
    assert [p.name for p in tmp_path.iterdir()] == ["out.pcapng"]
    assert file.read_bytes() == earlier


def test_only_a_capture_is_replaced_by_one(cli, scenario_file, tmp_path):
    before = scenario_file.read_bytes()
    done = cli("run", scenario_file, "--pcap", scenario_file)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"{scenario_file} exists and is not a capture" in done.stderr
    assert scenario_file.read_bytes() == before
    with pytest.raises(bp.ScenarioError, match="is not a capture"):
        bp.run(scenario(), pcap=scenario_file)
    file = tmp_path / "x.pcapng"
    little = (0xA1B2C3D4, 0xA1B23C4D)
    for begin in (b"", b"\n\r\r\n", *(struct.pack(f"{o}I", n) for o in "<>" for n in little)):
        file.write_bytes(begin and begin + b"more")
        bp.run(scenario(), pcap=file)
        assert len(blocks(file)) > 10
    bp.run(scenario(), pcap=file)  # its own


def test_a_capture_does_not_lie_in_a_result(cli, scenario_file, tmp_path):
    for inside in ("d/x.pcapng", "d", "d/e/../x.pcapng"):
        done = cli(
            "run",
            scenario_file,
            "--set",
            "duration=3652 d",
            "--out",
            tmp_path / "d",
            "--pcap",
            tmp_path / inside,
        )
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert f"for example --pcap {tmp_path}/d.pcapng" in done.stderr
        assert [p.name for p in tmp_path.iterdir()] == [scenario_file.name]
    done = cli("run", scenario_file, "--out", tmp_path / "d", "--pcap", tmp_path / "d.pcapng")
    assert (done.exit_code, done.stderr) == (0, "")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d", "d.pcapng", scenario_file.name]


def test_wrong_requests_are_refused(cli, scenario_file, tmp_path):
    file = tmp_path / "out.pcapng"
    for arguments, words in [
        (["--pcap", file, "--pcap-at", "sta"], 'cannot capture at "sta"'),
        (["--pcap-at", "sat"], "add --pcap FILE"),
        (["--pcap-whole"], "add --pcap FILE"),
        (
            ["--pcap", file, "--set", "flow.0.mss=65500 bytes", "--set", "flow.0.header=0 bytes"],
            "65483 bytes",
        ),
    ]:
        done = cli("run", scenario_file, *arguments)
        assert done.exit_code == 2, arguments
        assert words in done.stderr and done.stderr.count("\n") == 1
        assert not file.exists()
    small = scenario(flows=[bp.Flow(path=["sat"], traffic=bp.Cbr("100 kbit/s", packet="27 bytes"))])
    with pytest.raises(bp.ScenarioError, match="27 bytes has no room"):
        bp.run(small, pcap=file)


def test_the_command_line_writes_both(cli, scenario_file, tmp_path):
    file = tmp_path / "out.pcapng"
    done = cli("run", scenario_file, "--pcap", file, "--pcap-at", "receiver", "--pcap-whole")
    assert done.exit_code == 0 and f"written to {file}" in done.stdout
    headers = tmp_path / "headers.pcapng"
    assert cli("run", scenario_file, "--pcap", headers, "--pcap-at", "receiver").exit_code == 0
    assert len(blocks(file)) == len(blocks(headers)) > 1000
    assert file.stat().st_size > 8 * headers.stat().st_size


def test_several_places_have_a_file_each(scenario_file, cli, tmp_path):
    file = tmp_path / "packets.pcapng"
    done = cli("run", scenario_file, "--pcap", file, "--pcap-at", "receiver", "--pcap-at", "sat")
    assert done.exit_code == 0 and f"written to {tmp_path / 'packets-sat.pcapng'}" in done.stdout.replace(
        "\n", ""
    )
    for place, written in (("receiver", file), ("sat", tmp_path / "packets-sat.pcapng")):
        alone = tmp_path / f"alone-{place}.pcapng"
        assert cli("run", scenario_file, "--pcap", alone, "--pcap-at", place).exit_code == 0
        assert alone.read_bytes() == written.read_bytes()
    both = cli("run", scenario_file, "--pcap", "-", "--pcap-at", "receiver", "--pcap-at", "sat")
    assert both.exit_code == 2 and "give --pcap FILE" in both.stderr

"""tshark reads our captures and finds in them what the result says.

tshark knows nothing of the simulator: it parses headers, checks checksums and follows sequence numbers by its
own rules (https://www.wireshark.org/docs/wsug_html_chunked/ChAdvTCPAnalysis.html).
"""

import shutil
import subprocess

import polars as pl
import pytest

import bentpipe as bp

pytestmark = pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark is not installed (apt install tshark)"
)

NUMBERS = {
    "frame.time_epoch": pl.Float64,
    "frame.len": pl.Int64,
    "frame.cap_len": pl.Int64,
    "ip.dsfield.ecn": pl.Int64,
    "ip.checksum.status": pl.Int64,
    "tcp.checksum.status": pl.Int64,
    "udp.checksum.status": pl.Int64,
    "udp.length": pl.Int64,
    "tcp.len": pl.Int64,
    "tcp.seq": pl.Int64,
    "tcp.seq_raw": pl.Int64,
    "tcp.ack": pl.Int64,
    "tcp.window_size": pl.Int64,
    "tcp.options.mss_val": pl.Int64,
    "tcp.options.wscale.shift": pl.Int64,
    "tcp.options.timestamp.tsval": pl.Int64,
    "tcp.options.timestamp.tsecr": pl.Int64,
    "tcp.options.sack.count": pl.Int64,
    "tcp.analysis.ack_rtt": pl.Float64,
    "tcp.analysis.bytes_in_flight": pl.Int64,
}
FLAGS = ("syn", "ack", "fin", "push", "reset", "ece", "cwr")
EVENTS = (
    "retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order", "duplicate_ack",
    "ack_lost_segment", "lost_segment", "zero_window", "window_full", "keep_alive",
)  # fmt: skip
TEXTS = ("frame.interface_name", "ip.src", "ip.id", "_ws.malformed", "tcp.options.sack_perm")
GOOD = 1
"""tshark's checksum status "good"."""


def read(path):
    """One row a packet; events and flags as booleans."""
    names = [*NUMBERS, *(f"tcp.flags.{f}" for f in FLAGS), *(f"tcp.analysis.{e}" for e in EVENTS), *TEXTS]
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", "-E", "occurrence=f"]
    command += [
        "-o",
        "tcp.check_checksum:TRUE",
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "udp.check_checksum:TRUE",
    ]
    for name in names:
        command += ["-e", name]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in said.splitlines()]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    columns = [
        pl.when(pl.col(name) != "").then(pl.col(name)).str.strip_chars().cast(kind, strict=True).alias(name)
        for name, kind in NUMBERS.items()
    ]
    columns += [pl.col(f"tcp.flags.{f}").is_in(["1", "True"]).alias(f) for f in FLAGS]
    columns += [(pl.col(f"tcp.analysis.{e}") != "").alias(e) for e in EVENTS]
    return frame.with_columns(columns)


def scenario(duration="60 s", record=True, seed=1, flows=None, **given):
    link = given.pop("link", bp.Link(rate="4 Mbit/s", delay="100 ms", queue=bp.DropTail("400 packets")))
    flow = bp.Flow(given.pop("cc", "reno"), path=["sat"], **given)
    trace = bp.Record(segments=True, flows=False) if record else None
    return bp.Scenario(links={"sat": link}, flows=flows or [flow], duration=duration, seed=seed, record=trace)


def captured(tmp_path, scenario, **given):
    path = tmp_path / "out.pcapng"
    result = bp.run(scenario, pcap=bp.Capture(path, **given))
    return result, read(path)


def sent(packets):
    """Data segments."""
    return packets.filter(pl.col("tcp.len") > 0)


def again(packets):
    """What tshark takes for data that was sent before.

    It calls a retransmission "out of order" if less than a round trip has passed since the last new data, and
    "spurious" if the data is acknowledged already. At the sender nothing overtakes, so the sum counts.
    """
    kinds = ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order")
    return packets.filter(pl.any_horizontal(kinds) & (pl.col("tcp.len") > 0))


def acknowledgements(packets):
    """Segments without data of the receiving end, the handshake and the teardown left out."""
    back = pl.col("ip.src").str.starts_with("10.128.")
    return packets.filter(back & ~pl.col("syn") & ~pl.col("fin"))


def agrees(result, packets, total=None):
    """What holds for every capture at the sender of a single flow."""
    (flow,) = result.json["flows"]
    assert packets["_ws.malformed"].str.len_chars().sum() == 0
    assert not packets["ack_lost_segment"].any() and not packets["lost_segment"].any()
    assert not packets["zero_window"].any() and not packets["reset"].any()
    assert set(packets["ip.checksum.status"]) == {GOOD}
    assert packets["frame.time_epoch"].is_sorted()
    data = sent(packets)
    assert data.height == flow["sent_packets"]
    assert again(packets).height == flow["retransmitted_packets"]
    acks = acknowledgements(packets)
    trace = result.segments
    ours = trace.filter(pl.col("event") == "ack")
    assert acks.height == ours.height
    assert acks["tcp.ack"].to_list() == (ours["from_bytes"] + 1).to_list()
    assert acks["duplicate_ack"].sum() == (ours["from_bytes"].diff() == 0).sum()
    assert (acks["tcp.options.sack.count"].sum() or 0) == trace.filter(pl.col("event") == "sack").height
    if total is not None:
        assert data.filter(pl.col("tcp.seq") + pl.col("tcp.len") > total + 1).height == 0
        assert data["tcp.len"].sum() == total + again(packets)["tcp.len"].sum()
        last = acks.filter(pl.col("tcp.ack") == total + 1)["frame.time_epoch"][0]
        assert last - flow["start_s"] == pytest.approx(flow["completion_s"], abs=1e-9)
        assert total * 8 / (last - flow["start_s"]) == pytest.approx(flow["goodput_bps"], rel=1e-9)


def test_a_transfer_without_losses(tmp_path):
    total = 3_000_001
    link = bp.Link(rate="3.7 Mbit/s", delay="100 ms", queue=bp.DropTail("400 packets"))
    given = scenario(link=link, traffic=bp.Bulk(f"{total} bytes"), initial_ssthresh=60)
    result, packets = captured(tmp_path, given, whole=True)
    (flow,) = result.json["flows"]
    agrees(result, packets, total)
    assert flow["retransmitted_packets"] == 0
    assert set(packets["tcp.checksum.status"]) == {GOOD}
    assert (packets["frame.len"] == packets["frame.cap_len"]).all()
    # The same samples: tshark measures from the newest segment that an acknowledgement covers.
    samples = packets.filter(pl.col("ip.src").str.starts_with("10.128.") & ~pl.col("fin"))[
        "tcp.analysis.ack_rtt"
    ]
    assert samples.min() == pytest.approx(flow["rtt_min_s"], abs=2e-9)
    assert samples.mean() == pytest.approx(flow["rtt_mean_s"], abs=1e-8)
    # 40 + 20 bytes for a SYN of Linux, 40 + 12 for what has only timestamps, 1500 for a full segment.
    signals = packets.filter((pl.col("tcp.len") == 0) & ~pl.col("ip.src").str.starts_with("10.128."))
    assert signals.select("syn", "ack", "fin", "frame.len").rows() == [
        (True, False, False, 60), (False, True, False, 52), (False, True, True, 52), (False, True, False, 52),
    ]  # fmt: skip
    back = packets.filter((pl.col("syn") | pl.col("fin")) & pl.col("ip.src").str.starts_with("10.128."))
    assert back.select("syn", "ack", "fin", "frame.len").rows() == [
        (True, True, False, 60),
        (False, True, True, 52),
    ]
    assert sent(packets)["frame.len"].max() == 1500
    assert sent(packets)["push"].sum() == 1 and sent(packets)["push"][-1]
    # Every number: opened, all data, closed; the FIN takes one number and is acknowledged.
    assert packets.filter(pl.col("fin"))["tcp.seq"].to_list() == [total + 1, 1]
    assert packets["tcp.ack"].max() == total + 2
    assert result.links["delivered_packets"].to_list() == [
        packets.filter(~pl.col("ip.src").str.starts_with("10.128.")).height,
        packets.filter(pl.col("ip.src").str.starts_with("10.128.")).height,
    ]


def test_losses_on_a_geostationary_link_with_sack(tmp_path):
    geo = bp.Link(
        rate="10 Mbit/s", delay="250 ms", queue=bp.DropTail("432 packets"), loss=bp.PacketError(0.01)
    )
    total = 8_000_000
    result, packets = captured(
        tmp_path, scenario("400 s", link=geo, traffic=bp.Bulk(f"{total} bytes")), whole=True
    )
    (flow,) = result.json["flows"]
    assert flow["retransmitted_packets"] > 30
    agrees(result, packets, total)
    assert set(packets["tcp.checksum.status"]) == {GOOD}
    assert packets["tcp.options.sack.count"].max() == 3
    # The smallest sample is the handshake's: 60 and 60 bytes at 10 Mbit/s and twice 250 ms.
    assert flow["rtt_min_s"] == pytest.approx(0.5 + 2 * 60 * 8 / 10e6, abs=1e-9)
    samples = packets.filter(~pl.col("fin"))["tcp.analysis.ack_rtt"]
    assert samples.min() == pytest.approx(flow["rtt_min_s"], abs=1e-9)
    # tshark measures retransmissions, too, and takes no timestamps: 0.2 % more when this was written.
    assert samples.mean() == pytest.approx(flow["rtt_mean_s"], rel=0.01)


def test_timestamps_are_the_time_and_come_back(tmp_path):
    given = scenario(traffic=bp.Bulk("500 kB"), initial_ssthresh=60)
    result, packets = captured(tmp_path, given)
    agrees(result, packets, 500_000)
    assert packets["tcp.options.timestamp.tsval"].null_count() == 0
    data = sent(packets)
    # Microseconds, and here the capture's clock is the sender's.
    assert data["tcp.options.timestamp.tsval"].to_list() == [
        int(t) for t in (data["frame.time_epoch"] * 1e6 + 1e-3)
    ]
    # RFC 7323 section 4.3: of the segments that an acknowledgement covers, the first one's is echoed.
    stamps = dict(zip(data["tcp.seq"], data["tcp.options.timestamp.tsval"], strict=True))
    acks = acknowledgements(packets)
    begun = [1, *acks["tcp.ack"].to_list()[:-1]]
    assert acks["tcp.options.timestamp.tsecr"].to_list() == [stamps[seq] for seq in begun]


@pytest.mark.parametrize("recovery", ["newreno", "reno"])
def test_losses_without_sack(tmp_path, recovery):
    link = bp.Link(rate="4 Mbit/s", delay="50 ms", queue=bp.DropTail("60 packets"), loss=bp.PacketError(0.01))
    total = 3_000_000
    result, packets = captured(
        tmp_path, scenario("300 s", link=link, recovery=recovery, traffic=bp.Bulk(f"{total} bytes"))
    )
    agrees(result, packets, total)
    assert result.json["flows"][0]["retransmitted_packets"] > 10
    assert set(packets["tcp.options.sack_perm"]) == {""}


def test_delayed_acknowledgements(tmp_path):
    counts = {}
    for delayed in (False, True):
        result, packets = captured(
            tmp_path, scenario(delayed_ack=delayed, traffic=bp.Bulk("2 MB"), initial_ssthresh=60)
        )
        agrees(result, packets, 2_000_000)
        counts[delayed] = acknowledgements(packets).height
    segments = -(-2_000_000 // 1448)
    assert counts[False] == segments
    # Every second one, and a few after the timeout where a round ends with an odd one.
    assert segments / 2 <= counts[True] <= 1.05 * segments / 2


def test_marks_and_their_echo(tmp_path):
    red = bp.Red("100 packets", min="5 packets", max="15 packets", weight=0.02, ecn=True)
    link = bp.Link(rate="4 Mbit/s", delay="50 ms", queue=red)
    given = scenario("30 s", link=link, ecn=True)
    result, packets = captured(tmp_path, given)
    agrees(result, packets)
    marked = result.links.filter(pl.col("direction") == "forward")["marked"][0]
    assert marked > 3
    first = packets.filter(pl.col("ece") & ~pl.col("syn"))
    assert first.height > 0
    # ECT(0) = 2 on new data, never on retransmissions and acknowledgements (RFC 3168 6.1.4 and 6.1.5).
    fresh = sent(packets).join(again(packets), on="frame.time_epoch", how="anti")
    assert set(fresh["ip.dsfield.ecn"]) == {2}
    assert set(acknowledgements(packets)["ip.dsfield.ecn"]) == {0}
    # A SYN offers ECN by both flags, the answer takes it by one (RFC 3168 section 6.1.1).
    assert packets.filter(pl.col("syn")).select("ece", "cwr").rows() == [(True, True), (True, False)]
    assert sent(packets)["cwr"].sum() > 0
    # Behind the queue the marks stand in the packets. Those still on the way at the end were marked, too.
    _, behind = captured(tmp_path, given, at="receiver")
    seen = (sent(behind)["ip.dsfield.ecn"] == 3).sum()
    assert marked - 20 <= seen <= marked
    # Each echo begins with a mark: no more reductions than marks.
    assert sent(packets)["cwr"].sum() <= marked


def test_counters_of_marks(tmp_path):
    """AccECN: what the last acknowledgement counts is what tshark has seen arrive with a mark."""
    red = bp.Red("100 packets", min="5 packets", max="15 packets", weight=0.02, ecn=True)
    link = bp.Link(rate="4 Mbit/s", delay="50 ms", queue=red)
    given = scenario("60 s", link=link, ecn="accecn", initial_ssthresh=30, traffic=bp.Bulk("10 MB"))
    _, packets = captured(tmp_path, given, at="receiver", whole=True)
    assert packets["_ws.malformed"].str.len_chars().sum() == 0
    assert set(packets["tcp.checksum.status"]) == {GOOD}
    marked = (sent(packets)["ip.dsfield.ecn"] == 3).sum()
    assert marked > 10
    # The option has eight bytes: kind 172, its length, two counters of three bytes (RFC 9768 section 3.2.3).
    assert set(acknowledgements(packets)["frame.len"]) == {60}
    command = ["tshark", "-n", "-r", str(tmp_path / "out.pcapng"), "-T", "fields"]
    command += ["-Y", "tcp.len == 0 && tcp.flags.syn == 0 && tcp.flags.fin == 0 && tcp.srcport == 65000"]
    said = subprocess.run(
        [*command, "-e", "tcp.flags", "-e", "tcp.options"], capture_output=True, text=True, check=True
    )
    flags, options = said.stdout.splitlines()[-1].split("\t")
    assert int(flags, 16) >> 6 & 7 == (5 + marked) % 8  # AE, CWR and ECE: the counter begins at 5
    bytes_of = options.replace(":", "")[-16:]
    assert bytes_of[:4] == "ac08" and int(bytes_of[10:], 16) == 1448 * marked


@pytest.mark.parametrize("recovery", ["sack", "newreno"])
def test_both_ends_write(tmp_path, recovery):
    """Data both ways over one connection: tshark finds all bytes, and the acknowledgements on them."""
    lossy = bp.PacketError(0.01)
    link = bp.Link(
        rate="4 Mbit/s", delay="50 ms", queue=bp.DropTail("60 packets"), loss=lossy, reverse={"loss": lossy}
    )
    given = scenario(
        "100 s",
        link=link,
        both_ways={"size": "1 MB"},
        traffic=bp.Bulk("2 MB"),
        recovery=recovery,
        pacing=True,
    )
    result, packets = captured(tmp_path, given, whole=True)
    there, back = result.json["flows"]
    assert packets["_ws.malformed"].str.len_chars().sum() == 0
    assert set(packets["tcp.checksum.status"]) == {GOOD} and not packets["reset"].any()
    assert packets["ip.src"].n_unique() == 2  # one connection
    from_server = pl.col("ip.src").str.starts_with("10.128.")
    for way, total, flow in ((~from_server, 2_000_000, there), (from_server, 1_000_000, back)):
        data = sent(packets.filter(way))
        assert (data["tcp.seq"] + data["tcp.len"]).max() == total + 1
        # Some of the other end's segments are lost ahead of the capture.
        known = data.unique("tcp.seq")["tcp.len"].sum()
        assert known == total
        assert packets.filter(~way)["tcp.ack"].max() == total + 2  # and the FIN
        assert flow["retransmitted_packets"] > 0
    assert sent(packets.filter(~from_server)).height == there["sent_packets"]
    # Acknowledgements ride: data segments of the server tell something new.
    server = packets.filter(from_server & ~pl.col("syn"))
    new = server.filter(pl.col("tcp.ack") > pl.col("tcp.ack").cum_max().shift(1, fill_value=0))
    assert sent(new).height > 20
    assert not packets["ack_lost_segment"].any()
    if recovery == "sack":
        assert sent(packets)["tcp.options.sack.count"].max() >= 1


def test_numbers_wrap_in_the_middle_of_losses(tmp_path):
    # With this seed the initial number of the flow "reno" is 1 691 810 below 2^32.
    link = bp.Link(rate="4 Mbit/s", delay="50 ms", queue=bp.DropTail("60 packets"), loss=bp.PacketError(0.01))
    total = 3_000_000
    result, packets = captured(
        tmp_path, scenario("300 s", link=link, seed=378, traffic=bp.Bulk(f"{total} bytes"))
    )
    assert sent(packets)["tcp.seq_raw"][0] == 2**32 - 1_691_810 + 1
    fresh = sent(packets).join(again(packets), on="frame.time_epoch", how="anti")
    assert (fresh["tcp.seq_raw"].diff() < 0).sum() == 1
    agrees(result, packets, total)


def test_more_than_four_gigabytes(tmp_path):
    link = bp.Link(rate="20 Gbit/s", delay="5 ms", queue=bp.DropTail("3000 packets"))
    given = scenario(
        "3 s", link=link, mss="65000 bytes", initial_ssthresh=400, record=False, traffic=bp.Bulk("4.5 GB")
    )
    path = tmp_path / "out.pcapng"
    result = bp.run(given, pcap=path)
    assert result.json["flows"][0]["completion_s"] is not None
    assert path.stat().st_size < 20e6  # headers alone, at most 112 bytes of the file for each packet
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", "-e", "tcp.len", "-e", "tcp.seq"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lengths, numbers = zip(*((int(n) for n in row.split("\t")) for row in said.splitlines()), strict=True)
    assert sum(lengths) == 4_500_000_000
    # The FIN is at the end of the data, modulo 2^32; tshark counts from the SYN, and the data begins at 1.
    assert (4_500_000_000 + 1) % 2**32 in numbers


def test_a_small_receive_window(tmp_path):
    # 20 segments of 1448 bytes a round trip of 200 ms.
    result, packets = captured(
        tmp_path, scenario("20 s", receive_window="20 segments", delayed_ack=False, traffic=bp.Bulk("1 MB"))
    )
    agrees(result, packets, 1_000_000)
    (flow,) = result.json["flows"]
    assert flow["limited"]["rwnd"] > 0.8
    assert set(acknowledgements(packets)["tcp.window_size"]) == {20 * 1448}
    assert packets["tcp.analysis.bytes_in_flight"].max() == 20 * 1448
    # Each segment that fills the window is one that had to wait for an acknowledgement.
    full = packets["window_full"].sum()
    assert 0.9 * (flow["sent_packets"] - 40) <= full <= flow["sent_packets"]


def test_a_large_window_is_scaled(tmp_path):
    result, packets = captured(tmp_path, scenario("5 s", receive_window="1000 segments"))
    agrees(result, packets)
    # 1448000 bytes need five bits more than 16: 45250 << 5.
    assert set(packets.filter(pl.col("syn"))["tcp.options.wscale.shift"]) == {5}
    assert set(acknowledgements(packets)["tcp.window_size"]) == {1000 * 1448}
    assert set(packets.filter(pl.col("syn"))["tcp.options.mss_val"]) == {1460}


def test_lost_segments_of_the_handshake_come_again(tmp_path):
    # The first packet of each direction is lost: the SYN, then the first SYN-ACK.
    lost = tmp_path / "first.txt"
    lost.write_text("0\n")
    link = bp.Link(
        rate="4 Mbit/s", delay="100 ms", queue=bp.DropTail("100 packets"), loss=bp.LossTrace(str(lost)),
        reverse={"loss": {"kind": "trace", "file": str(lost)}},
    )  # fmt: skip
    result, packets = captured(tmp_path, scenario("20 s", link=link, traffic=bp.Bulk("100 kB")))
    syns = packets.filter(pl.col("syn"))
    # The second SYN goes at 1 s. Its answer is lost, too, but the timer of that, from 1.1 s, sends it again
    # at 2.1 s, before the SYN's, which has doubled (RFC 6298 section 5.5), is due at 3 s.
    assert syns.filter(~pl.col("ack"))["frame.time_epoch"].to_list() == pytest.approx([0, 1], abs=1e-6)
    assert syns.filter(pl.col("ack"))["frame.time_epoch"][0] == pytest.approx(2.2, abs=1e-2)
    assert result.json["flows"][0]["retransmitted_packets"] == 0
    assert result.json["flows"][0]["dropped_packets"] == 0
    assert result.json["flows"][0]["completion_s"] > 2.2


@pytest.mark.parametrize("cc", ["cubic", "star"])
def test_timeouts_and_probes(tmp_path, cc):
    """No acknowledgement for 3 s, then for 5 s; TCP-STAR sends probes of one byte, which count as sent."""
    outages = [bp.Outage(from_="6 s", to="9 s"), bp.Outage(from_="20 s", to="25 s")]
    link = bp.Link(
        rate="4 Mbit/s", delay="150 ms", queue=bp.DropTail("60 packets"), loss=bp.PacketError(0.005),
        reverse={"loss": outages},
    )  # fmt: skip
    result, packets = captured(tmp_path, scenario("100 s", cc=cc, link=link, traffic=bp.Bulk("9 MB")))
    (flow,) = result.json["flows"]
    probes = (sent(packets)["tcp.len"] == 1).sum()
    assert (probes > 0) == (cc == "star") and flow["timeouts"] > 0
    assert sent(packets).height == flow["sent_packets"]
    assert again(packets).height - probes == flow["retransmitted_packets"] > 0
    assert not packets["ack_lost_segment"].any() and packets["_ws.malformed"].str.len_chars().sum() == 0


def test_a_source_that_stops_closes_the_connection(tmp_path):
    result, packets = captured(tmp_path, scenario("20 s", stop="5.01 s"))
    agrees(result, packets)
    assert result.json["flows"][0]["completion_s"] is None  # there was no size to complete
    total = sent(packets)["tcp.len"].sum() - again(packets)["tcp.len"].sum()
    fins = packets.filter(pl.col("fin"))
    assert fins["tcp.seq"].to_list() == [total + 1, 1]
    assert packets["tcp.ack"][-1] == 2  # the last word is the sender's: it has the other end's FIN
    everything = acknowledgements(packets).filter(pl.col("tcp.ack") == total + 1)
    assert everything["frame.time_epoch"][0] == fins["frame.time_epoch"][0]


def test_a_handshake_in_the_paper_profile(tmp_path):
    result, packets = captured(tmp_path, scenario("20 s", profile="paper", handshake=True))
    agrees(result, packets)
    # Segment size 4, SACK permitted 2 + 2, window scale 3 + 1.
    assert packets.filter(pl.col("syn"))["frame.len"].to_list() == [52, 52]


def test_the_paper_profile_has_neither_handshake_nor_timestamps(tmp_path):
    result, packets = captured(tmp_path, scenario("20 s", profile="paper", traffic=bp.Bulk("1 MB")))
    agrees(result, packets, 1_000_000)
    assert not packets["syn"].any() and not packets["fin"].any()
    assert sent(packets)["frame.len"].max() == 1500 and acknowledgements(packets)["frame.len"].min() == 40


def test_constant_rate_traffic_is_udp(tmp_path):
    flows = [
        bp.Flow(path=["sat"], traffic=bp.Cbr("400 kbit/s", packet="500 bytes")),
        bp.Flow("reno", path=["sat"]),
    ]
    result, packets = captured(tmp_path, scenario("5 s", flows=flows, record=False), whole=True)
    udp = packets.filter(pl.col("udp.length").is_not_null())
    assert udp.height == result.json["flows"][0]["sent_packets"]
    assert set(udp["frame.len"]) == {500} and set(udp["udp.length"]) == {480}
    assert set(udp["udp.checksum.status"]) == {GOOD} and set(udp["ip.checksum.status"]) == {GOOD}
    assert set(udp["frame.interface_name"]) == {"sender/cbr"}
    assert set(packets["frame.interface_name"]) == {"sender/cbr", "sender/reno"}
    # 16-bit identifications count the packets of a host.
    assert [int(i, 16) for i in udp["ip.id"]] == list(range(udp.height))


def test_flows_have_addresses_of_their_own(tmp_path):
    flows = [bp.Flow("reno", path=["sat"], count=300, traffic=bp.Bulk("5 kB"))]
    link = bp.Link(rate="100 Mbit/s", delay="10 ms", queue=bp.DropTail("3000 packets"))
    _, packets = captured(tmp_path, scenario("5 s", link=link, flows=flows, record=False))
    assert packets["ip.src"].n_unique() == 600
    first = packets.filter(pl.col("syn"))
    assert first["tcp.seq_raw"].n_unique() == 600
    assert packets.filter(pl.col("fin")).height == 600


def test_the_places_see_the_same_packets(tmp_path):
    """What departs minus what is lost arrives; the link sees what the sender sent."""
    loss = bp.PacketError(0.01)
    link = bp.Link(rate="4 Mbit/s", delay="100 ms", loss=loss, reverse={"loss": loss})
    given = scenario("60 s", traffic=bp.Bulk("1 MB"), link=link)
    result, at_sender = captured(tmp_path, given)
    _, at_receiver = captured(tmp_path, given, at="receiver")
    _, at_link = captured(tmp_path, given, at="sat")
    lost = result.links["dropped_error"].sum() + result.links["dropped_queue"].sum()
    assert result.links["dropped_error"].min() > 0
    key = ["ip.src", "ip.id"]
    forward = ~pl.col("ip.src").str.starts_with("10.128.")
    assert at_link.filter(forward).select(key).equals(at_sender.filter(forward).select(key))
    assert at_link.filter(~forward).select(key).equals(at_receiver.filter(~forward).select(key))
    both = at_sender.join(at_receiver, on=key)
    assert both.height == at_link.height - lost
    assert set(at_link["frame.interface_name"]) == {"sat/forward", "sat/reverse"}
    # 100 ms and the transmission of the packet.
    there = both.filter(forward & (pl.col("frame.len") == 1500))
    delay = there["frame.time_epoch_right"] - there["frame.time_epoch"]
    assert delay.min() == pytest.approx(0.1 + 1500 * 8 / 4e6, abs=1e-9)
    assert not at_receiver["ack_lost_segment"].any()


def test_capinfos_reads_the_file(tmp_path):
    path = tmp_path / "out.pcapng"
    result = bp.run(scenario("10 s"), pcap=path)
    said = subprocess.run(["capinfos", "-M", str(path)], capture_output=True, text=True, check=True).stdout
    about = {
        key.strip(): value.strip() for key, _, value in (line.partition(":") for line in said.splitlines())
    }
    assert "pcapng" in about["File type"]
    assert about["File encapsulation"] == "rawip"
    assert about["File timestamp precision"].startswith("nanoseconds")
    assert about["Capture application"] == f"Bentpipe {bp.__version__}"
    assert int(about["Number of packets"].split()[0]) > result.json["flows"][0]["sent_packets"]

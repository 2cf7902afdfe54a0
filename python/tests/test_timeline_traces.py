"""Traces of other programs: what each format gives, and one line with file and line for what is wrong."""

import gzip
import json
import random
from datetime import UTC, datetime

import pytest
from traced import trace, wrong

import bentpipe as bp

__all__ = ["trace"]


# --- mahimahi


def test_mahimahi_counts_1504_bytes_for_each_line(trace):
    found = trace("0\n5\n5\n150\n200\n", "mahimahi", bin_s=0.1)
    # 3 packets in the first 100 ms, 2 in the second: 3 x 1504 x 8 / 0.1 s = 360,960 bit/s.
    assert found == {"t_s": [0.0, 0.1, 0.2], "rate_bps": [360_960.0, 240_640.0, 240_640.0]}


def test_the_last_bin_of_mahimahi_may_be_shorter(trace):
    found = trace("10\n120\n150\n", "mahimahi", bin_s=0.1)
    assert found["t_s"] == [0.0, 0.1, 0.15]
    assert found["rate_bps"] == [120_320.0, 481_280.0, 481_280.0]


def test_mahimahi_without_a_bin_says_how_to_play_it_packet_by_packet(trace):
    wrong(trace, r'--bin "100 ms".*link\.NAME\.opportunities = ".*a\.txt"', "1\n2\n", "mahimahi")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("1\n2.5\n", "line 2: '2.5' is no whole number of milliseconds"),
        ("1\n-2\n", "line 2: '-2' is no whole number"),
        ("1\n\n2\n", "line 2: the line is empty"),
        ("5\n3\n", "line 2: the time goes back: 3 ms after 5 ms"),
        ("0\n0\n", "line 2: the trace lasts 0 ms"),
        ("1\n9999999999\n", "it has 99,999,999 bins; at most 4,000,000 are read"),
    ],
)
def test_a_damaged_mahimahi_trace(trace, text, said):
    wrong(trace, said, text, "mahimahi", bin_s=0.1)


# --- iperf3


def iperf(intervals, protocol="TCP", **more):
    return json.dumps(
        {
            "start": {"test_start": {"protocol": protocol, "num_streams": 2, **more}},
            "intervals": [
                {
                    "streams": [
                        {"start": begin, "end": end, "bits_per_second": rate / 4},
                        {"start": begin, "end": end, "bits_per_second": 3 * rate / 4},
                    ],
                    "sum": {"start": begin, "end": end, "bits_per_second": rate, "omitted": rate < 0},
                }
                for begin, end, rate in intervals
            ],
        }
    )


def test_iperf3_json_gives_the_sum_or_a_stream(trace):
    text = iperf([(0, 0.5, 8e6), (0.5, 1.0001, 4e6)], reverse=1)
    assert trace(text, "iperf3") == {"t_s": [0.0, 0.5, 1.0001], "rate_bps": [8e6, 4e6, 4e6]}
    assert trace(text, "iperf3", stream=2)["rate_bps"] == [6e6, 3e6, 3e6]
    wrong(trace, "there is no stream 3; the test has 2", text, "iperf3", stream=3)


def test_iperf3_leaves_out_what_was_omitted(trace):
    found = trace(iperf([(0, 1, -1.0), (0, 1, 5e6), (1, 2, 6e6)]), "iperf3")
    assert found == {"t_s": [0.0, 1.0, 2.0], "rate_bps": [5e6, 6e6, 6e6]}


def test_the_intervals_of_a_udp_sender_are_no_capacity(trace):
    text = iperf([(0, 1, 5e8)], protocol="UDP", reverse=0)
    wrong(trace, "what was sent by UDP, not what came through; measure with --reverse", text, "iperf3")
    assert trace(iperf([(0, 1, 5e8)], protocol="UDP", reverse=1), "iperf3")["rate_bps"] == [5e8, 5e8]
    report = json.loads(text) | {"server_output_json": json.loads(iperf([(0, 1, 3e8)]))}
    assert trace(json.dumps(report), "iperf3")["rate_bps"] == [3e8, 3e8]


UDP_REPORT = """Start time: 1716822757537
[27 11:13:01.349334] Reverse mode, remote host 10.0.0.1 is sending
[27 11:13:01.349540] [ ID] Interval       Transfer     Bitrate     Jitter    Lost/Total Datagrams
[27 11:13:01.349620] [  5]   0.00-0.50   sec  17.5 MBytes   294 Mbits/sec  0.017 ms  8726/21836 (40%)
[27 11:13:01.349698] [  5]   0.50-1.00   sec  19.7 MBytes   330 Kbits/sec  0.024 ms  7345/22083 (33%)
[27 11:13:01.349778] [  5]   1.00-4.00   sec  0.00 Bytes  0.00 bits/sec  1.643 ms  0/0 (0%)
[27 11:14:38.325632] [ ID] Interval       Transfer     Bitrate     Jitter    Lost/Total Datagrams
[27 11:14:38.325686] [  5]   0.00-4.06   sec  6.99 GBytes   500 Mbits/sec  0.000 ms  0/535 (0%)  sender
[27 11:14:38.325745] [  5]   0.00-4.00   sec  4.40 GBytes   315 Mbits/sec  0.035 ms  19/53 (37%)  receiver
"""


def test_the_report_of_iperf3_is_read_with_stamps_in_front(trace):
    found = trace(UDP_REPORT, "iperf3")
    assert found == {"t_s": [0.0, 0.5, 1.0, 4.0], "rate_bps": [294e6, 330e3, 0.0, 0.0]}


def test_a_report_of_parallel_streams_has_a_sum(trace):
    rates = {"[  5]": 8.0, "[  7]": 2.0, "[SUM]": 10.0}
    rows = [f"{name}   0.00-1.00   sec  1 MBytes  {rate} Mbits/sec" for name, rate in rates.items()]
    assert trace("\n".join(rows), "iperf3")["rate_bps"] == [10e6, 10e6]
    assert trace("\n".join(rows), "iperf3", stream=2)["rate_bps"] == [2e6, 2e6]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ('{"start": {},\n"intervals": [', "line 2: the JSON is damaged"),
        ('{"error": "unable to connect to server"}', "the test failed: unable to connect to server"),
        ('{"start": {}}', "it has no intervals"),
        ('{"intervals": [{"sum": {"start": 0}}]}', r"intervals\[0\] has no start, end and bits_per_second"),
        (
            iperf([(0, 1, 5e6), (3, 4, 5e6)]),
            r"a gap: intervals\[1\] begins at 3 s, the one before ended at 1 s",
        ),
        (iperf([(0, 1, 5e6), (1, 1, 5e6)]), "the last interval begins at 1 s and ends at 1 s"),
        (iperf([(0, 1, 5e6), (1, float("inf"), 5e6)]), "the last interval begins at 1 s and ends at inf s"),
        (iperf([(0, 2, 5e6), (1, 2, 5e6)]), r"the time goes back: intervals\[1\] begins at 1 s"),
        ("hello\n", "it has no intervals; is it a report of iperf3"),
        ("iperf3: error - unable to connect\n", "line 1: the test failed: unable to connect"),
        (UDP_REPORT.replace("1.00-4.00", "1.50-4.00"), "line 6: a gap: the interval begins at 1.5 s"),
        (UDP_REPORT.replace("330 K", "-330 K"), "line 5: rate_bps is -330000; it must be a number from 0"),
        ("[ ID] Interval  Total Datagrams\n" + UDP_REPORT.splitlines()[3], "what was sent by UDP"),
    ],
)
def test_damaged_reports_of_iperf3(trace, text, said):
    wrong(trace, said, text, "iperf3")


def test_a_rate_of_iperf3_that_no_link_has_is_refused(trace):
    row = "[  5]   {}.00-{}.00   sec  1.00 MBytes  {}bits/sec"
    text = "\n".join(
        row.format(at, at + 1, rate) for at, rate in enumerate(["8.00 M", "2" + "0" * 20 + " G"])
    )
    wrong(trace, r"line 2: the rate is 2e[+]29 bit/s; it must be at most 1e[+]14", text, "iperf3")
    text = iperf([(0, 1, 5e6), (1, 2, 1e30)])
    wrong(trace, r"intervals\[1\]: the rate is 1e[+]30 bit/s", text, "iperf3")


# --- nuttcp

NUTTCP = """[2024-05-27 11:04:35.495196] nuttcp-r: v8.1.4: socket
[2024-05-27 11:04:35.495698]     3.1875 MB /   0.50 sec =   53.4737 Mbps     0 retrans     13 KB-cwnd
[2024-05-27 11:04:35.995415]     8.6250 MB /   0.50 sec =  144.6679 Mbps   107 retrans    900 KB-cwnd
[2024-05-27 11:04:38.995389]     0.0000 MB /   3.00 sec =    0.0000 Mbps     0 retrans     13 KB-cwnd
  113.2500 MB /  10.01 sec =   94.9083 Mbps 1 %TX 2 %RX 0 retrans 0.22 msRTT
"""


def test_nuttcp_intervals_follow_each_other(trace):
    found = trace(NUTTCP, "nuttcp")
    assert found == {"t_s": [0.0, 0.5, 1.0, 4.0], "rate_bps": [53_473_700.0, 144_667_900.0, 0.0, 0.0]}


@pytest.mark.parametrize("tail", ["", "nuttcp-t: send window size = 3000000\n"])
def test_a_rate_of_nuttcp_that_no_link_has_is_refused(trace, tail):
    high = "  0.9537 MB /   1.00 sec = 18446744073709551616.0000 Mbps     0 retrans     13 KB-cwnd\n"
    said = "a.txt, line 3: the rate is 1.84467e[+]25 bit/s; it must be at most 1e[+]14"
    wrong(trace, said, counted([0, 5]) + high + tail, "nuttcp")


def counted(counts, tail=""):
    """A report of seconds of a megabyte each, with these retransmissions."""
    rows = (f"  0.9537 MB /   1.00 sec =    8.0000 Mbps {n:5} retrans     13 KB-cwnd\n" for n in counts)
    return "".join(rows) + tail


def test_nuttcp_reports_retransmissions_late_by_what_the_sender_had_buffered(trace):
    """With 3 MB, what arrives in the fourth second was counted when 0 to 2 MB of the data had arrived.

    The last 3 MB carry no count that covers them, unless the sender's summary has the sum.
    """
    text = counted([0, 0, 0, 60, 0, 0, 0, 0, 0, 0])
    found = trace(text, "nuttcp", buffer_bytes=3e6)["retransmitted_per_s"]
    assert found[:7] == pytest.approx([30, 30, 0, 0, 0, 0, 0], abs=1e-6) and found[7:] == [None] * 4
    whole = trace(counted([0, 0, 0, 60, 0, 0, 0, 0, 0, 0], "nuttcp-t: retrans = 90 cwnd = 5 KB\n"), "nuttcp")
    assert "retransmitted_per_s" not in whole  # the buffer is not known
    sender = "nuttcp-t: send window size = 3000000, receive window size = 3000000\nnuttcp-t: retrans = 90\n"
    known = trace(text + sender, "nuttcp")["retransmitted_per_s"]
    assert known == pytest.approx([30, 30, 0, 0, 0, 0, 0, 10, 10, 10, 10], abs=1e-4)


def test_nuttcp_without_a_buffer_to_speak_of_counts_where_it_reports(trace):
    found = trace(counted([5, 0, 7, 0]), "nuttcp", buffer_bytes=1.0)["retransmitted_per_s"]
    assert found[:3] == pytest.approx([5, 0, 7], abs=1e-4)
    wrong(trace, "--buffer is not for .*a.txt: it counts no retransmissions",
          "megabytes=5.9600 real_seconds=1.00 rate_Mbps=49.9960\n", "nuttcp", buffer_bytes=1e6)  # fmt: skip
    idle = counted([0, 3, 0]).replace("8.0000 Mbps", "0.0000 Mbps")
    assert trace(idle, "nuttcp", buffer_bytes=1e6)["rate_bps"] == [0.0] * 4


def test_a_client_of_nuttcp_that_sends_counts_at_once(trace):
    """Then the server's summary has a buffer, too, which says nothing about the counts."""
    sends = "nuttcp-t: connect to 10.0.0.1 with mss=1408\nnuttcp-t: send window size = 3000000, receive\n"
    found = trace(sends + counted([0, 5, 0, 60]), "nuttcp")
    assert found["retransmitted_per_s"] == [0, 5, 0, 60, 60]
    wrong(trace, "its client sent", sends + counted([0, 5]), "nuttcp", buffer_bytes=3e6)


def test_nuttcp_for_programs_and_for_udp(trace):
    parsed = "megabytes=5.9600 real_seconds=1.00 rate_Mbps=49.9960\n"
    assert trace(parsed, "nuttcp") == {"t_s": [0.0, 1.0], "rate_bps": [49_996_000.0] * 2}
    udp = "   18.1875 MB /   0.50 sec =  305.1234 Mbps   123 / 14200 ~drop/pkt  0.87 ~%loss\n"
    assert trace(udp, "nuttcp")["rate_bps"] == [305_123_400.0] * 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("nuttcp-t: Error: connect: refused\n", "it has no intervals; is it a report of nuttcp -i"),
        (NUTTCP.replace("144.6679", "-144.6679"), "line 3: the rate is negative"),
        (NUTTCP.replace("3.00 sec", "0.00 sec"), "line 4: the interval lasts 0 s"),
    ],
)
def test_damaged_reports_of_nuttcp(trace, text, said):
    wrong(trace, said, text, "nuttcp")


# --- ping


def replies(sequence, stamp=True, step=0.2, rtt=lambda seq: 40.0):
    head = "PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.\n"
    return head + "".join(
        (f"[{1000 + seq * step + rtt(seq) / 1000:.6f}] " if stamp else "")
        + f"64 bytes from 10.0.0.1: icmp_seq={seq} ttl=58 time={rtt(seq):g} ms\n"
        for seq in sequence
    )


def test_half_a_round_trip_is_the_delay_when_the_probe_was_sent(trace):
    found = trace(replies([1, 2, 3], rtt=lambda seq: 10.0 * seq), "ping")
    assert found["t_s"] == pytest.approx([0.0, 0.2, 0.4])
    assert found["delay_s"] == pytest.approx([0.005, 0.010, 0.015])
    assert list(found) == ["t_s", "delay_s"]


def test_a_short_run_of_lost_probes_is_loss_and_a_long_one_an_outage(trace):
    """Of 21 probes 4 and 5 are lost, 0.4 s: loss. 10 to 16 are lost, 1.4 s: dark. 14 are outside, 2 lost."""
    found = trace(replies([1, 2, 3, 6, 7, 8, 9, 17, 18, 19, 20, 21]), "ping")
    assert set(found["loss_rate"]) == {2 / 14}
    before = [True, *found["up"][:-1]]
    changes = [(t, up) for t, up, b in zip(found["t_s"], found["up"], before, strict=True) if up != b]
    assert [up for _, up in changes] == [False, True]
    assert [t for t, _ in changes] == pytest.approx([9 * 0.2, 16 * 0.2])
    longer = trace(replies([1, 2, 3, 6, 7, 8, 9, 17, 18, 19, 20, 21]), "ping", outage_s=2.0)
    assert "up" not in longer and set(longer["loss_rate"]) == {9 / 21}


def test_plain_ping_has_its_times_from_the_summary_or_from_the_caller(trace):
    plain = replies([1, 2, 4], stamp=False)
    summary = "\n5 packets transmitted, 3 received, 40% packet loss, time 2000ms\n"
    found = trace(plain + summary, "ping")
    assert found["t_s"] == pytest.approx([0.0, 0.5, 1.5])
    assert set(found["loss_rate"]) == {2 / 5}
    assert trace(plain, "ping", interval_s=1.0)["t_s"] == pytest.approx([0.0, 1.0, 3.0])
    wrong(trace, 'say --interval "1 s", or measure with ping -D', plain, "ping")


def test_ping_counts_beyond_its_sixteen_bits_and_ignores_doubles(trace):
    text = replies([65534, 65535]) + replies([65536, 65537]).replace("seq=65536", "seq=0").replace(
        "seq=65537", "seq=1"
    )
    last = text.splitlines()[-1]
    found = trace(text + last + " (DUP!)\n", "ping")
    # The lost ones before the first reply are known too: the numbers begin at 1.
    assert found["delay_s"][-4:] == pytest.approx([0.02] * 4)
    assert found["t_s"][-1] - found["t_s"][-4] == pytest.approx(0.6)


def test_stamps_of_ts_are_read(trace):
    text = "".join(
        f"[2024-05-27 11:08:09.{i}54994] 46 bytes from 10.0.0.1: icmp_seq={i} ttl=58 time=48.2 ms\n"
        for i in (1, 3)
    )
    found = trace(text, "ping")
    assert found["t_s"] == pytest.approx([0.0, 0.2])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("PING 10.0.0.1\n", "it has no reply; is it the output of ping"),
        (replies([1, 2]).replace("time=40", "time=-40", 1), "line 2: the round-trip time is negative"),
        (replies([1]) + replies([2], stamp=False), "line 4: this reply has no time, others have"),
        (replies([1, 2, 3, 4]).replace("[1000.84", "[1900.84"), "line 5: a gap: .* --gap"),
        (replies([1, 2, 3]).replace("[1000.64", "[1000.34"), "line 4: the time goes back"),
        (replies([1, 2]).replace("[1000.44", "[yesterday"), "line 3: 'yesterday.*' is no time"),
    ],
)
def test_damaged_output_of_ping(trace, text, said):
    wrong(trace, said, text, "ping")


def test_a_gap_may_be_let_pass(trace):
    text = replies([1, 2, 3, 4]).replace("[1000.84", "[1009.84")
    assert trace(text, "ping", gap_s=10.0)["t_s"][-1] == pytest.approx(9.6)


# --- irtt


def trips(rtts):
    return json.dumps(
        {
            "round_trips": [
                {
                    "seqno": i,
                    "lost": "false" if rtt is not None else "true_down",
                    "timestamps": {
                        "client": {"send": {"wall": 10**18 + i * 10**7, "monotonic": 500 + i * 10**7}}
                    },
                    **({} if rtt is None else {"delay": {"rtt": rtt}}),
                }
                for i, rtt in enumerate(rtts)
            ]
        }
    )


def test_irtt_is_read_also_compressed(trace):
    text = trips([40_000_000, None, 42_000_000])
    wanted = {"t_s": [0.0, 0.02], "delay_s": [0.02, 0.021], "loss_rate": [1 / 3, 1 / 3]}
    assert trace(text, "irtt") == wanted
    assert trace(gzip.compress(text.encode()), "irtt") == wanted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("{", "line 1: the JSON is damaged"),
        ("[]", "it has no round_trips"),
        ('{"round_trips": [{}]}', r"round_trips\[0\] has no time of sending"),
        (trips([None, None]), "none of 2 probes came back"),
        (trips([5, -5]), r"round_trips\[1\]: the round-trip time is negative"),
        (gzip.compress(trips([5]).encode())[:-9], "compressed by gzip, and its end is missing"),
    ],
)
def test_damaged_json_of_irtt(trace, text, said):
    wrong(trace, said, text, "irtt")


# --- CSV

TABLE = "when,down,ping,lost\n0,50,40,1\n500,,50,\n1000,60,,2\n"
NAMES = "t=when:ms, rate=down:Mbit/s, rtt=ping:ms, loss=lost:%"


def test_a_table_is_read_by_its_columns_and_their_units(trace):
    assert trace(TABLE, "csv", columns=NAMES) == {
        "t_s": [0.0, 0.5, 1.0],
        "rate_bps": [50e6, 50e6, 60e6],
        "delay_s": [0.02, 0.025, 0.025],
        "loss_rate": [0.01, 0.01, 0.02],
    }


def test_times_may_be_dates_and_need_not_begin_at_0(trace):
    text = "time,on\n2024-05-27T11:13:01.5-04:00,1\n2024-05-27T11:13:02-04:00,false\n"
    assert trace(text, "csv", columns="t=time:date, up=on") == {"t_s": [0.0, 0.5], "up": [True, False]}


@pytest.mark.parametrize(
    ("text", "columns", "said"),
    [
        (
            TABLE,
            None,
            'say which columns hold what, and in which unit: --columns "t=.*; it has when, down, ping, lost',
        ),
        (TABLE, "t=when, rate=down:Mbit/s", "the unit of when is missing; write t=when:UNIT with s, ms, us"),
        (
            TABLE,
            "t=when:ms, rate=down",
            "the unit of down is missing; write rate=down:UNIT with bit/s, kbit/s",
        ),
        (TABLE, "t=when:ms, rate=down:mbps", "mbps is no unit of rate"),
        (TABLE, "t=when:ms, rate=up:Mbit/s", "has no column up; it has when, down, ping, lost"),
        (TABLE, "t=when:ms, speed=down:Mbit/s", "write t, rate, delay, rtt, loss, up, handover = NAME:UNIT"),
        (TABLE, "t=when:ms", "it needs t and one more"),
        (TABLE, "t=when:ms, rtt=ping:ms, delay=ping:ms", "delay_s is given twice"),
        (TABLE.replace("60", "fast"), NAMES, "line 4: column down: 'fast' is not a number"),
        (TABLE.replace("60", "-60"), NAMES, r"line 4: rate_bps is -6e\+07; it must be a number from 0"),
        (TABLE.replace(",2\n", ",200\n"), NAMES, "line 4: loss_rate is 2; it must be at most 1"),
        (TABLE.replace("1000", "1e400"), NAMES, "line 4: inf s is no time"),
        (TABLE.replace("1000", "400"), NAMES, "line 4: the time goes back: 0.4 s after 0.5 s"),
        (TABLE.replace("1000", "500"), NAMES, "line 4: the time stands twice"),
        (TABLE.replace("500", ""), NAMES, "line 3: the row has no time"),
        (TABLE + "1500,1,1,1\n90000,1,1,1\n", NAMES, "line 6: a gap: this sample comes 88.5 s after"),
        (TABLE + "1500,1\n", NAMES, "line 5: 2 cells; the head names 4 columns"),
        ("when,down\n", "t=when:s, rate=down:bit/s", "holds no sample"),
        ("", NAMES, "the file is empty"),
    ],
)
def test_damaged_tables(trace, text, columns, said):
    wrong(trace, said, text, "csv", columns=columns)


# --- Hypatia


def test_computed_round_trips_of_hypatia(trace):
    found = trace("0,30000000.0\n100000000,0.0000000000\n200000000,32000000.0\n", "hypatia")
    assert found == {"t_s": [0.0, 0.1, 0.2], "delay_s": [0.015, 0.015, 0.016], "up": [True, False, True]}
    first = trace("0,0.0\n100000000,32000000.0\n", "hypatia")
    assert first["delay_s"] == [0.016, 0.016]


def test_computed_paths_of_hypatia(trace):
    found = trace("0,12-3-4-13\n500000000,Unreachable\n600000000,12-4-13\n700000000,12-5-13\n", "hypatia")
    assert found["t_s"] == [0.0, 0.5, 0.6, 0.7]
    assert found["up"] == [True, False, True, True]
    assert found["handover"] == [False, True, False, True]
    assert found["hops"] == [3, None, 2, 2]


def test_forwarding_state_of_hypatia_is_followed_change_by_change(tmp_path):
    (tmp_path / "fstate_0.txt").write_text("12,13,3,0,0\n3,13,13,0,0\n4,13,13,0,0\n")
    (tmp_path / "fstate_100000000.txt").write_text("")
    (tmp_path / "fstate_200000000.txt").write_text("12,13,4,0,0\n")
    (tmp_path / "fstate_1000000000.txt").write_text("12,13,-1,-1,-1\n")
    found = bp.timeline.read_trace(tmp_path, "hypatia", pair=(12, 13))
    assert found.to_dict(as_series=False) == {
        "t_s": [0.0, 0.2, 1.0], "up": [True, True, False],
        "handover": [False, True, True], "hops": [2, 2, None],
    }  # fmt: skip
    with pytest.raises(bp.ScenarioError, match="say between which nodes: --pair 1174,1229"):
        bp.timeline.read_trace(tmp_path, "hypatia")
    with pytest.raises(bp.ScenarioError, match="no line leads from 7 to 13"):
        bp.timeline.read_trace(tmp_path, "hypatia", pair=(7, 13))


def test_pings_of_ns3(trace):
    rows = [f"12,13,{i},{i * 10**8},1,1,1,1,{30_000_000 + i},YES" for i in range(3)]
    rows[1] = "12,13,1,100000000,-1,-1,-1,-1,-1,LOST"
    found = trace("\n".join(rows), "hypatia")
    assert found == {"t_s": [0.0, 0.2], "delay_s": [0.015, 0.015000001], "loss_rate": [1 / 3, 1 / 3]}
    both = [*rows, "13,12,0,0,1,1,1,1,30000000,YES"]
    wrong(trace, "it holds 2 pairs of nodes .* say which: --pair 12,13", "\n".join(both), "hypatia")
    assert trace("\n".join(both), "hypatia", pair=(13, 12)) == {"t_s": [0.0], "delay_s": [0.015]}


def test_round_trips_that_tcp_saw_in_ns3(trace):
    found = trace("0,0,0\n0,60000000,50000000\n0,60000000,52000000\n0,90000000,54000000\n", "hypatia")
    assert found == {"t_s": [0.0, 0.03], "delay_s": [0.026, 0.027]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\n", "line 1: it is no networkx_rtt"),
        ("0,3e7\n1e8,x\n", "line 2: part 2 is no number"),
        ("0,3e7\n1e8,-5\n", "line 2: delay_s is -2.5e-09; it must be a number from 0"),
        ("0,3e7\n1e8,3e7\n5e7,3e7\n", "line 3: the time goes back"),
        ("0,3e7\n1e8,3e7\n2e8,3e7\n9e9,3e7\n", "line 4: a gap"),
        ("0,1-2-3\n1,2,3\n", "line 2: '1,2,3' is no time and path"),
        ("1,2,3,4,5,6,7,8,9,YES\n1,2,3\n", "line 2: a ping has ten parts"),
    ],
)
def test_damaged_outputs_of_hypatia(trace, text, said):
    wrong(trace, said, text, "hypatia")


# --- LeoEM

LEOEM = (
    "1$[-1, 5, 9, -2]$4$[0.002, 0.003, 0.001]$0.006\n"
    "2$[-1, 5, 7, 9, -2]$5$[0.002, 0.001, 0.001, 0.001]$0.005\n"
    "3$[-1, 6, 9, -2]$4$[0.004, 0.003, 0.001]$0.008\n"
    "4$NULL\n"
    "5$[-1, 6, 9, -2]$4$[0.004, 0.003, 0.001]$0.008\n"
)


def test_leoem_breaks_the_path_where_a_dish_changes_its_satellite(trace):
    """By its emulator: a new node between costs no time, a new first satellite 3 x (2 ms + 4 ms)."""
    found = trace(LEOEM, "leoem")
    assert found["t_s"] == pytest.approx([0.0, 1.0, 2.0, 2.018, 3.0, 4.0, 4.012])
    assert found["up"] == [True, True, False, True, False, False, True]
    assert found["handover"] == [False, True, True, False, True, False, False]
    assert found["delay_s"] == [0.006, 0.005, 0.008, 0.008, 0.008, 0.008, 0.008]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        (LEOEM.replace("3$", "4$", 1), "line 3: the line begins with '4'; it should be 3"),
        (LEOEM.replace("4$NULL", "4$"), r"line 4: a second without a path ends in \$NULL"),
        (LEOEM.replace("[0.002, 0.003, 0.001]", "[0.002, 0.003"), "line 1: the parts of a second are"),
        (
            LEOEM.replace("$0.006", "$0.007"),
            "line 1: the delays of the hops are 0.006 s, their sum says 0.007 s",
        ),
        (LEOEM.replace("9, -2]$4", "-2]$4"), "line 1: 4 nodes are announced, 3 stand there with 3 hops"),
    ],
)
def test_damaged_paths_of_leoem(trace, text, said):
    wrong(trace, said, text, "leoem")


# --- all


HISTORY = """Start time: 1716834606028
{"id": "0", "dishGetHistory": {"current": "99", "outages": [
 {"cause": "NO_DOWNLINK", "startTimestampNs": "1400869599500000000", "durationNs": "500000000"},
 {"cause": "BOOTING", "startTimestampNs": "1400869556000000000", "durationNs": "40000000000"},
 {"cause": "NO_PINGS", "startTimestampNs": "1400869599750000000", "durationNs": 1250000000}]}}
End time: 1716834606450
"""


def test_the_outages_of_a_dish_lose_all(trace):
    """GPS second 1400869556 is 18:25:38 UTC on 27 May 2024; the first two that overlap are one."""
    found = trace(HISTORY, "dish")
    assert found["t_s"] == pytest.approx([0, 40, 43.5, 45])
    assert found["loss_rate"] == [1, 0, 1, 0]


def test_outages_have_the_time_of_utc(tmp_path):
    from bentpipe.timeline.traces import dish

    file = tmp_path / "history.json"
    file.write_text(HISTORY)
    first, second, third = dish.outages(file)
    assert datetime.fromtimestamp(first.begin_s, UTC).isoformat() == "2024-05-27T18:25:38+00:00"
    assert [first.cause, second.cause, third.cause] == ["BOOTING", "NO_DOWNLINK", "NO_PINGS"]
    assert (first.length_s, second.length_s, third.length_s) == (40, 0.5, 1.25)


def test_an_outage_from_before_the_dish_knows_the_time_is_left_out(trace):
    undated = '{"cause": "BOOTING", "startTimestampNs": "-1", "durationNs": "0"}'
    found = trace(HISTORY.replace('"outages": [', f'"outages": [{undated},'), "dish")
    assert found["loss_rate"] == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Start time: 5", "the JSON is damaged"),
        ('{"dishGetStatus": {}}', "no dishGetHistory"),
        ('{"dishGetHistory": {"current": "5"}}', "lists no outage"),
        ('{"dishGetHistory": {"outages": 5}}', "should be a list"),
        ('{"dishGetHistory": {"outages": [{"durationNs": "5"}]}}', "outage 1 lacks a whole number"),
        (HISTORY.replace("1250000000", "-5"), "outage 3 has a time or a length that is negative"),
    ],
)
def test_damaged_histories_of_a_dish(trace, text, said):
    wrong(trace, said, text, "dish")


def test_a_wrong_format_or_option_is_named(trace):
    wrong_format = pytest.raises(bp.ScenarioError, match="mahimahi")
    with wrong_format:
        trace("1\n", "mahimah")
    wrong(trace, "--bin says nothing about the format ping", replies([1, 2]), "ping", bin_s=1.0)


def test_bytes_that_are_no_text_are_refused(trace):
    for format in set(bp.timeline.FORMATS) - {"irtt"}:
        options = {"mahimahi": {"bin_s": 0.1}, "csv": {"columns": "t=a:s, up=b"}}.get(format, {})
        wrong(trace, "no text in UTF-8", b"\xff\xfe\x00", format, **options)


WHOLE = {
    "mahimahi": ("0\n5\n5\n150\n200\n", {"bin_s": 0.1}),
    "iperf3": (UDP_REPORT, {}),
    "iperf3 JSON": (iperf([(0, 0.5, 8e6), (0.5, 1, 4e6)]), {}),
    "nuttcp": (NUTTCP, {}),
    "ping": (
        replies([1, 2, 3, 6, 7, 17]) + "20 packets transmitted, 6 received, 70% loss, time 2000ms\n",
        {},
    ),
    "irtt": (trips([40_000_000, None, 42_000_000]), {}),
    "csv": (TABLE, {"columns": NAMES}),
    "hypatia": ("0,30000000.0\n100000000,0.0\n200000000,32000000.0\n", {}),
    "hypatia paths": ("0,12-3-4-13\n500000000,Unreachable\n600000000,12-4-13\n", {}),
    "hypatia pings": ("12,13,0,0,1,1,1,1,30000000,YES\n12,13,1,100000000,-1,-1,-1,-1,-1,LOST\n", {}),
    "leoem": (LEOEM, {}),
    "dish": (HISTORY, {}),
    "nuttcp lumps": (counted([9, 0, 8, 0, 0], "nuttcp-t: retrans = 30\n"), {"buffer_bytes": 1e6}),
    "leoreplayer": ("24\n18\n18\n31\n", {}),
    "conext23": ("Bitrate,Time\n33.3,2023-04-27 14:14:16 CDT\n23.5,2023-04-27 14:14:17 CDT\n", {}),
    "autobahn": ("timestamp_start_dl,download\n2024-04-19 16:23:00.001039872,17.5\n", {}),
}
PIECES = [
    b"-",
    b".",
    b"e999",
    b"nan",
    b"inf",
    b",",
    b"\n",
    b"9" * 5000,
    b"null",
    b"[",
    b'"',
    b" ",
    b"\xff",
    b"$",
    b"NULL",
]


@pytest.mark.parametrize("name", WHOLE)
def test_whatever_is_broken_gets_one_line_or_a_time_line(trace, name):
    chance = random.Random(name)
    text, options = WHOLE[name]
    refused = 0
    for _ in range(150):
        content = bytearray(text.encode())
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(content) + 1)
            content[place : place + chance.randint(0, 6)] = chance.choice(PIECES)
        try:
            trace(bytes(content), name.split()[0], **options)
        except bp.ScenarioError as told:
            refused += 1
            assert "a.txt" in str(told) and "\n" not in str(told)
    assert 0 < refused

"""The parts of `tools/oracle` that need no guest: tables, archives, and where a kernel's members stand."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BTF = Path("/sys/kernel/btf/vmlinux")


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools/oracle"))
    yield
    for name in ("btf", "debian", "guest", "qemu", "trace_table"):
        sys.modules.pop(name, None)


def event(time, kind, **cells):
    socket = {
        "port": 35091,
        "una": 5000,
        "nxt": 5000,
        "cwnd": 10,
        "cnt": 0,
        "ssthresh": 2147483647,
        "state": 0,
    }
    cells = socket | {"t": round(time * 1e6)} | cells
    shown = " ".join(f"{name}={value}" for name, value in cells.items())
    return f"          <idle>-0       [000] ..s2. {time:11.6f}: {kind}: (function+0x0/0x10) {shown}\n"


def ack(time, **cells):
    flow = {
        "delivered": 1,
        "lost": 0,
        "rtt": 100000,
        "srtt": 800000,
        "out": 9,
        "sacked": 0,
        "gone": 0,
        "again": 0,
    }
    return event(time, "ack", **flow, most=10, limited=1, **cells)


def trace(*lines, written=None):
    total = len(lines)
    head = f"# entries-in-buffer/entries-written: {total}/{written or total}   #P:1\n"
    return head + "".join(lines)


def test_a_trace_becomes_a_table():
    from trace_table import table

    text = trace(
        ack(1.0),
        ack(1.1, una=6448, nxt=19480),
        ack(1.106, una=7896, nxt=22376, cwnd=11),
        event(1.112, "ask", una=7896, nxt=22376, cwnd=12),
        "          <idle>-0       [000] ..s2.    1.112001: cut: (a+0x1/0x2 <- b) value=6\n",
        event(1.112, "state", una=7896, nxt=22376, cwnd=12, ssthresh=6, to=3),
        ack(1.112, una=7896, nxt=22376, cwnd=12, ssthresh=6).replace("state=0", "state=3"),
        ack(1.118, una=9344, nxt=22376, cwnd=11, ssthresh=6).replace("state=0", "state=3"),
    )
    assert table(text, "a test", smoothed=False, ticks=False).splitlines() == [
        "# a test",
        "# start,10,800000",
        "A,0,1448,14480,1,0,0,,9,0,1,11,inf",
        "A,6000,,2896,,,,,,,,12",
        "C,6000,6",
        "S,0,3,12,0",
        "A,0,0,0,,,,,,3,,11,6",
    ]


@pytest.mark.parametrize(
    ("lines", "written", "reason"),
    [
        ([ack(1.0)], None, "nothing was sent"),
        ([ack(1.0), ack(1.1, una=6448)], 5000, "2 of 5000 events are left"),
        (
            [ack(1.0), event(1.1, "sample", acked=1, flight=1, rtt=7), ack(1.1, una=6448), ack(1.2)],
            None,
            "pkts_acked has RTT 7 and the ACK 100000",
        ),
        (
            [ack(1.0), event(1.1, "tcp_probe", snd_cwnd=12), ack(1.1, una=6448), ack(1.2)],
            None,
            "tcp_probe has window 12, not 10",
        ),
    ],
)
def test_a_trace_that_is_not_whole_or_contradicts_itself_is_refused(lines, written, reason):
    from trace_table import Unusable, table

    with pytest.raises(Unusable, match=reason):
        table(trace(*lines, written=written), "a test", smoothed=False, ticks=False)


@pytest.mark.skipif(not BTF.exists(), reason="this kernel shows no BTF")
def test_members_stand_where_the_kernels_types_say():
    from btf import Types

    types = Types(BTF.read_bytes())
    assert types.place("ack_sample", "pkts_acked").byte == 0
    assert types.place("ack_sample", "rtt_us").byte == 4
    assert types.place("sock_common", "skc_dport").byte == 12  # Linux keeps this union first for its look-ups
    state = types.place("inet_connection_sock", "icsk_ca_state")
    assert 0 < state.width < 8
    assert types.place("tcp_sock", "icsk_ca_state") == state  # a TCP socket begins with that one
    with pytest.raises(KeyError, match="has no member nonsense"):
        types.place("tcp_sock", "nonsense")


@pytest.mark.skipif(shutil.which("cpio") is None, reason="cpio is missing")
def test_the_archive_is_one_that_cpio_reads(tmp_path):
    from qemu import pack

    archive = pack(
        {"init": (0o100755, b"#!/bin/sh\n"), "a/b/c": (0o100644, b"x" * 5), "a/l": (0o120777, b"b")}
    )
    subprocess.run(["cpio", "-id", "--quiet"], input=archive, cwd=tmp_path, check=True)
    assert (tmp_path / "a/b/c").read_bytes() == b"x" * 5
    assert (tmp_path / "a/l").readlink() == Path("b")
    assert (tmp_path / "init").stat().st_mode & 0o111


def test_what_is_missing_is_named(monkeypatch):
    from debian import Missing, need

    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Missing, match="no-such-qemu is missing; apt-get install qemu-system-x86"):
        need("no-such-qemu", "qemu-system-x86")

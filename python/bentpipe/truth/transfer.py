"""One bulk transfer over plain sockets, as a program of its own at each end; or datagrams of a steady rate.

    transfer.py receive --port P --for S [--every S --out FILE]
    transfer.py send HOST --port P --for S --cc NAME --every S --out FILE
    transfer.py datagrams HOST --port P --for S --rate BITS_PER_SECOND --packet BYTES --on S --off S

Nothing but this traffic crosses the link. Each program says "ready" and then reads a line: the instant of the
connection or of the first datagram on the monotonic clock, which all namespaces of a machine share. `--for`
is the time for which the transfer is watched from then on. The receiver at the end prints its count as JSON,
and writes its course where a file is given. The sender samples `TCP_INFO` and writes its samples as JSON, a
list for each quantity. Datagrams are the unresponsive traffic of kind `cbr`: nothing answers them. None needs
anything but the standard library, so that a machine can start many at once.
"""

import argparse
import json
import select
import socket
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

TCP_INFO_SIZE = 240
WORDS = {
    "unacked": 24,
    "rtt_us": 68,
    "ssthresh": 76,
    "cwnd": 80,
    "retransmitted": 100,
    "received": 152,
    "sent": 156,
    "delivered": 192,
    "snd_wnd": 228,
}
"""Numbers of 32 bits in `struct tcp_info` (include/uapi/linux/tcp.h), by their offset."""
BYTES_ACKED = 120
"""Offset of `tcpi_bytes_acked`, 64 bits."""
CA_STATE = 1
"""Offset of `tcpi_ca_state`, 8 bits: open, disorder, CWR, recovery, loss."""
SEND_BUFFER = 64 << 20
"""Bytes of the send buffer, which the kernel doubles: enough that it never limits the sender.

A segment takes more than 2 KiB of it.
"""
SO_SNDBUFFORCE = 32
CHUNK = bytes(256 << 10)
HEADERS = 28
"""Bytes of IPv4 and UDP in front of the payload of a datagram."""


def sample(sock: socket.socket) -> dict[str, int]:
    """The kernel's statistics of a connection."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_SIZE).ljust(TCP_INFO_SIZE, b"\0")
    found = {name: struct.unpack_from("=I", info, at)[0] for name, at in WORDS.items()}
    found["bytes_acked"] = struct.unpack_from("=Q", info, BYTES_ACKED)[0]
    found["ca_state"] = info[CA_STATE]
    return found


def instant() -> float:
    """Says "ready", and waits for the instant at which the connection is to begin."""
    print("ready", flush=True)
    said = sys.stdin.readline()
    if not said:
        sys.exit(1)  # the process that started this program has gone
    return float(said)


def receive(port: int, length: float, drain: float, every: float, out: str) -> None:
    """Accepts one connection and counts the bytes that arrive until the end.

    Then it reads on for `drain` seconds at the most, or until the sender resets the connection.
    """
    said: dict[str, Any] = {"bytes": 0, "segments": 0, "samples": {"t_s": [], "bytes": []}}
    connection = None
    with socket.create_server(("", port)) as listener:
        begin = instant()
        listener.settimeout(max(0.1, begin + length + 1.0 - time.monotonic()))
        with suppress(TimeoutError):
            connection, _ = listener.accept()
    if connection is not None:
        count(connection, begin, begin + length, every, said)
    print(json.dumps({"bytes": said["bytes"]}), flush=True)
    if connection is not None:
        with connection:
            read_on(connection, drain)
            said["segments"] = sample(connection)["received"]
    if out:
        with open(out, "w", encoding="utf-8") as file:  # noqa: PTH123
            json.dump(said, file)


def count(connection: socket.socket, begin: float, end: float, every: float, said: dict[str, Any]) -> None:
    """Counts bytes until `end`, with a sample not more often than `every` seconds."""
    buffer = bytearray(256 << 10)
    due = begin
    while (left := end - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            read = connection.recv_into(buffer)
        except (TimeoutError, ConnectionError):
            break
        if read == 0:
            break
        said["bytes"] += read
        if (now := time.monotonic()) >= due:
            said["samples"]["t_s"].append(round(now - begin, 6))
            said["samples"]["bytes"].append(said["bytes"])
            due = max(due + every, now)


def read_on(connection: socket.socket, drain: float) -> None:
    """Reads until the sender ends the connection, so that nothing is reset before that."""
    last = time.monotonic() + drain
    buffer = bytearray(256 << 10)
    with suppress(TimeoutError, ConnectionError):
        while (left := last - time.monotonic()) > 0:
            connection.settimeout(left)
            if not connection.recv_into(buffer):
                break


def send(host: str, port: int, length: float, cc: str, every: float, out: str) -> None:
    """Sends without end from the instant on, and writes samples to `out`."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
    sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, SEND_BUFFER)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.setblocking(False)
    begin = instant()
    time.sleep(max(0.0, begin - time.monotonic()))
    started = time.monotonic()
    sock.connect_ex((host, port))
    columns: dict[str, list[float]] = {"t_s": []}
    poll = select.poll()
    poll.register(sock, select.POLLOUT)
    due, end = started, started + length
    failed = None
    while (now := time.monotonic()) < end and failed is None:
        if now >= due:
            columns["t_s"].append(round(now - started, 6))
            for name, value in sample(sock).items():
                columns.setdefault(name, []).append(value)
            due = max(due + every, now)
        try:
            for _, event in poll.poll(max(0.0, (min(due, end) - now) * 1000)):
                if event & (select.POLLERR | select.POLLHUP):
                    failed = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) or 1
                else:
                    sock.send(CHUNK)
        except BlockingIOError:
            pass
        except OSError as wrong:
            failed = wrong.errno
    last = sample(sock)
    sock.close()
    late = started - begin
    said: dict[str, Any] = {"late_s": late, "failed": failed, "last": last, "samples": columns}
    with open(out, "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(said, file)


def instants(interval: float, on: float, off: float, length: float) -> Iterator[float]:
    """When a datagram is sent: every `interval` while on, which takes turns with off."""
    begin = 0.0
    while begin < length:
        number = 0
        while (after := number * interval) < on and begin + after < length:
            yield begin + after
            number += 1
        begin += on + off


def datagrams(to: tuple[str, int], length: float, rate: float, packet: float, on: float, off: float) -> None:
    """Sends datagrams from the instant on."""
    payload = bytes(int(packet) - HEADERS)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(to)
        begin = instant()
        for at in instants(8 * packet / rate, on, off, length):
            time.sleep(max(0.0, begin + at - time.monotonic()))
            with suppress(OSError):  # nothing listens any more
                sock.send(payload)


def main() -> None:
    """Entry point of the program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["send", "receive", "datagrams"])
    parser.add_argument("host", nargs="?", default="")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--for", dest="length", type=float, required=True)
    parser.add_argument("--cc", default="")
    parser.add_argument("--every", type=float, default=0.05)
    parser.add_argument("--drain", type=float, default=2.0)
    parser.add_argument("--out", default="")
    for name in ("rate", "packet", "on", "off"):
        parser.add_argument(f"--{name}", type=float)
    given = parser.parse_args()
    if given.what == "datagrams":
        to = given.host, given.port
        datagrams(to, given.length, given.rate, given.packet, given.on, given.off)
    elif given.what == "receive":
        receive(given.port, given.length, given.drain, given.every, given.out)
    else:
        send(given.host, given.port, given.length, given.cc, given.every, given.out)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)

"""Traffic over plain sockets, as a program of its own at each end: a bulk transfer, pauses, or datagrams.

    transfer.py receive --port P --for S [--every S --out FILE]
    transfer.py send HOST --port P --for S --cc NAME --every S --out FILE
    transfer.py serve --port P --for S --cc NAME --plan JSON
    transfer.py ask HOST --port P --for S --cc NAME --plan JSON
    transfer.py bursts HOST --port P --for S --cc NAME --plan JSON
    transfer.py datagrams HOST --port P --for S --rate BITS_PER_SECOND --packet BYTES --on S --off S

Nothing but this traffic crosses the link. Each program says "ready" and then reads a line: the instant of the
connection or of the first datagram on the monotonic clock, which all namespaces of a machine share. `--for`
is the time for which the transfer is watched from then on. The receiver at the end prints its count as JSON,
and writes its course where a file is given. The sender samples `TCP_INFO` and writes its samples as JSON, a
list for each quantity. A plan is a table of bentpipe.truth.paused, in bytes and seconds: `serve` answers the
requests of `ask`, and `bursts` writes to `receive`. `ask` and `bursts` print how long each transfer took,
`serve` and `bursts` the window at the beginning of each. Datagrams are the unresponsive traffic of kind
`cbr`: nothing answers them. None needs anything but the standard library, so that a machine can start many at
once.
"""

import argparse
import fcntl
import json
import select
import socket
import struct
import sys
import termios
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


def prepared(cc: str) -> socket.socket:
    """A socket whose connections send by this algorithm, at once, and never wait for their buffers."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, SEND_BUFFER)
    return sock


def serve(port: int, length: float, cc: str, plan: dict[str, Any]) -> None:
    """Accepts one connection and answers each request with as many bytes as it asks for."""
    windows: list[int] = []
    with prepared(cc) as listener:
        listener.bind(("", port))
        listener.listen()
        end = instant() + length
        listener.settimeout(max(0.1, end + 1.0 - time.monotonic()))
        with suppress(TimeoutError, ConnectionError):
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(None)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while request := connection.recv(plan["request"], socket.MSG_WAITALL):
                    windows.append(sample(connection)["cwnd"])
                    connection.sendall(bytes(int(request.split(b"\0")[0])))
    print(json.dumps({"windows": windows}), flush=True)


class Client:
    """A client that waits for what it has asked for."""

    def __init__(self, sock: socket.socket, request: int) -> None:
        self._sock, self._request, self._buffer = sock, request, bytearray(1 << 20)

    def get(self, size: int, count: int = 1) -> None:
        """Asks for `count` objects of this size at once, a segment for each request, and reads them."""
        for _ in range(count):
            self._sock.sendall(str(size).encode().ljust(self._request, b"\0"))
        left = size * count
        while left > 0:
            read = self._sock.recv_into(self._buffer)
            if read == 0:
                raise ConnectionError("the server has gone")
            left -= read


def pages(client: Client, plan: dict[str, Any], begin: float) -> Iterator[float]:
    """Loads pages; gives the time that each takes. The first waits for its connection from `begin` on."""
    for _ in range(plan["count"]):
        client.get(plan["main"])
        time.sleep(plan["parsing"])
        client.get(plan["embedded"], plan["objects"])
        yield time.monotonic() - begin
        time.sleep(plan["reading"])
        begin = time.monotonic()


def responses(client: Client, plan: dict[str, Any], begin: float) -> Iterator[float]:
    """Asks again and again; gives the time that each response takes, as `pages` does."""
    for _ in range(plan["count"]):
        client.get(plan["response"])
        yield time.monotonic() - begin
        time.sleep(plan["think"])
        begin = time.monotonic()


def film(client: Client, plan: dict[str, Any], begin: float) -> Iterator[float]:
    """Plays a film of one bitrate; gives the time that each segment takes, as `pages` does.

    A segment is asked for when the buffer has room for it. It plays from `startup` on, and stops while
    the buffer is empty.
    """
    size = -(-int(plan["bitrate"] * plan["segment"]) // 8)
    level, at, plays = 0.0, begin, False
    for _ in range(plan["count"]):
        client.get(size)
        now = time.monotonic()
        yield now - begin
        if plays:
            plays = level > now - at
            level = max(0.0, level - (now - at))
        level, at = level + plan["segment"], now
        plays = plays or level >= plan["startup"]
        begin = now + max(0.0, level + plan["segment"] - plan["buffer"])
        time.sleep(max(0.0, begin - time.monotonic()))


CLIENTS = {"requests": responses, "web": pages, "video": film}


def ask(to: tuple[str, int], length: float, cc: str, plan: dict[str, Any]) -> None:
    """Connects at the instant, and asks a server for what the plan says."""
    with prepared(cc) as sock:
        begin = instant()
        time.sleep(max(0.0, begin - time.monotonic()))
        started, times = time.monotonic(), []
        with suppress(TimeoutError):
            sock.settimeout(length)
            sock.connect(to)
            for took in CLIENTS[plan["kind"]](Client(sock, plan["request"]), plan, started):
                times.append(round(took, 6))
                sock.settimeout(max(0.1, begin + length - time.monotonic()))
                if len(times) == plan["count"] or time.monotonic() > begin + length:
                    break
    print(json.dumps({"late_s": started - begin, "times": times}), flush=True)


OUTQ_EVERY_S = 1e-3
"""How often a burst is looked at, whether all of it is acknowledged."""


def bursts(to: tuple[str, int], length: float, cc: str, plan: dict[str, Any]) -> None:
    """Connects at the instant, and writes bursts; a burst is over when its last byte is acknowledged."""
    times: list[float] = []
    windows: list[int] = []
    with prepared(cc) as sock:
        asked = instant()
        time.sleep(max(0.0, asked - time.monotonic()))
        begin = time.monotonic()
        late = begin - asked
        sock.connect(to)
        while len(times) < plan["count"] and begin < asked + length:
            windows.append(sample(sock)["cwnd"])
            sock.sendall(bytes(plan["size"]))
            while unacknowledged(sock):
                if time.monotonic() > asked + length:
                    break
                time.sleep(OUTQ_EVERY_S)
            else:
                times.append(round(time.monotonic() - begin, 6))
            time.sleep(plan["off"])
            begin = time.monotonic()
    print(json.dumps({"late_s": late, "times": times, "windows": windows}), flush=True)


def unacknowledged(sock: socket.socket) -> int:
    """Bytes that a connection has not sent, or whose acknowledgement is missing."""
    held = struct.pack("i", 0)
    return int(struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, held))[0])


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
    parser.add_argument("what", choices=["send", "receive", "serve", "ask", "bursts", "datagrams"])
    parser.add_argument("host", nargs="?", default="")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--for", dest="length", type=float, required=True)
    parser.add_argument("--cc", default="")
    parser.add_argument("--every", type=float, default=0.05)
    parser.add_argument("--drain", type=float, default=2.0)
    parser.add_argument("--out", default="")
    parser.add_argument("--plan", type=json.loads)
    for name in ("rate", "packet", "on", "off"):
        parser.add_argument(f"--{name}", type=float)
    given = parser.parse_args()
    to = given.host, given.port
    if given.what == "serve":
        serve(given.port, given.length, given.cc, given.plan)
    elif given.what in ("ask", "bursts"):
        (ask if given.what == "ask" else bursts)(to, given.length, given.cc, given.plan)
    elif given.what == "datagrams":
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

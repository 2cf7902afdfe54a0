"""The TCP connections of a network namespace, as the kernel has them and `ss -ti` shows them.

Asked over netlink (NETLINK_SOCK_DIAG, man 7 sock_diag), which takes no privilege: INET_DIAG_CONG is the name
of the congestion control, INET_DIAG_INFO is `struct tcp_info` of include/uapi/linux/tcp.h, whose fields keep
their places for good.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

#: linux/netlink.h, linux/sock_diag.h, linux/inet_diag.h.
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY = 4, 20
_NLM_F_REQUEST, _NLM_F_DUMP, _NLMSG_ERROR, _NLMSG_DONE = 1, 0x300, 2, 3
_INET_DIAG_INFO, _INET_DIAG_CONG = 2, 4
_ASKED = 1 << (_INET_DIAG_INFO - 1) | 1 << (_INET_DIAG_CONG - 1)
#: Connections that may have data under way (net/tcp_states.h): ESTABLISHED, FIN_WAIT1, FIN_WAIT2, CLOSE_WAIT,
#: LAST_ACK, CLOSING.
_STATES = sum(1 << state for state in (1, 4, 5, 8, 9, 11))
_HEADER, _MESSAGE, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=4B48s5I"), struct.Struct("=HH")
#: Places in tcp_info: tcpi_snd_mss (16), tcpi_unacked, _sacked, _lost, _retrans (24 to 36), tcpi_rtt in
#: microseconds (68), tcpi_snd_ssthresh, tcpi_snd_cwnd (76, 80), tcpi_pacing_rate in bytes/s (104),
#: tcpi_bytes_acked (120), tcpi_min_rtt in microseconds (148).
_MSS, _OUT, _RTT_US, _WINDOWS = (16, "=I"), (24, "=4I"), (68, "=I"), (76, "=2I")
_PACING, _BYTES_ACKED, _MIN_RTT_US = (104, "=Q"), (120, "=Q"), (148, "=I")
_LEAST_INFO = 152
#: A threshold that was never set (TCP_INFINITE_SSTHRESH), a pacing rate that no one has set (~0), and an RTT
#: that was never measured (~0).
_NO_THRESHOLD, _NO_RATE, _NO_RTT = 0x7FFF_FFFF, 2**64 - 1, 2**32 - 1


class Endpoint(NamedTuple):
    """An address and a port."""

    address: str
    port: int

    def __str__(self) -> str:
        """As `ss` writes it."""
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


@dataclass(frozen=True)
class Connection:
    """A connection as one of its ends has it.

    Attributes:
        algorithm: the kernel's name of its congestion control.
        ssthresh_segments: None before the first threshold.
        pacing_bps: the most at which it may be paced, which few connections are; None before there is a rate.
        rtt_min_s: None before the first sample.
        acked_bytes: this end's data that the other end has acknowledged.
    """

    local: Endpoint
    remote: Endpoint
    algorithm: str
    mss: int
    cwnd_segments: int
    ssthresh_segments: int | None
    in_flight_segments: int
    pacing_bps: float | None
    srtt_s: float
    rtt_min_s: float | None
    acked_bytes: int

    @property
    def over_loopback(self) -> bool:
        """Whether both ends belong to this machine."""
        return (
            ipaddress.ip_address(self.remote.address).is_loopback or self.local.address == self.remote.address
        )


class Connections:
    """Reads the connections of the namespace in which it is made, from then on in any thread."""

    def __init__(self) -> None:
        """The namespace is that of the calling thread.

        Raises:
            OSError: the kernel has no such sockets.
        """
        kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC
        self._socket = socket.socket(socket.AF_NETLINK, kind, _NETLINK_SOCK_DIAG)
        self._socket.settimeout(5)

    def close(self) -> None:
        """Reads no more."""
        self._socket.close()

    def read(self) -> list[Connection]:
        """The current connections.

        Raises:
            OSError: the kernel refuses.
        """
        found = []
        for family in (socket.AF_INET, socket.AF_INET6):
            request = struct.pack("=BBBxI48x", family, socket.IPPROTO_TCP, _ASKED, _STATES)
            flags = _NLM_F_REQUEST | _NLM_F_DUMP
            length = _HEADER.size + len(request)
            self._socket.send(_HEADER.pack(length, _SOCK_DIAG_BY_FAMILY, flags, 0, 0) + request)
            found += [connection for part in self._answer() if (connection := _connection(part)) is not None]
        return found

    def _answer(self) -> Iterator[memoryview]:
        """The bodies of the messages of one dump."""
        while True:
            rest = memoryview(self._socket.recv(1 << 16))
            while len(rest) >= _HEADER.size:
                length, kind, *_ = _HEADER.unpack_from(rest)
                if kind == _NLMSG_DONE:
                    return
                if kind == _NLMSG_ERROR:
                    number = -struct.unpack_from("=i", rest, _HEADER.size)[0]
                    raise OSError(number, os.strerror(number))
                yield rest[_HEADER.size : length]
                rest = rest[(length + 3) & ~3 :]


def _address(packed: bytes) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address; an IPv4 address in an IPv6 socket is converted to IPv4."""
    address = ipaddress.ip_address(packed)
    return getattr(address, "ipv4_mapped", None) or address


def _connection(message: memoryview) -> Connection | None:
    """One `struct inet_diag_msg` with its attributes; None without `tcp_info`."""
    family, _, _, _, identity, *_ = _MESSAGE.unpack_from(message)
    ports = struct.unpack_from(">HH", identity)
    wide = 16 if family == socket.AF_INET6 else 4
    local, remote = (
        Endpoint(str(_address(identity[at : at + wide])), port)
        for at, port in zip((4, 20), ports, strict=True)
    )
    attributes = dict(_attributes(message[_MESSAGE.size :]))
    info = attributes.get(_INET_DIAG_INFO, b"")
    if len(info) < _LEAST_INFO:
        return None

    def field(place: tuple[int, str]) -> tuple[int, ...]:
        return struct.unpack_from(place[1], info, place[0])

    unacked, sacked, lost, resent = field(_OUT)
    (ssthresh, cwnd), (pacing,), (rtt_min_us,) = field(_WINDOWS), field(_PACING), field(_MIN_RTT_US)
    return Connection(
        local,
        remote,
        algorithm=bytes(attributes.get(_INET_DIAG_CONG, b"")).partition(b"\0")[0].decode(),
        mss=field(_MSS)[0],
        cwnd_segments=cwnd,
        ssthresh_segments=None if ssthresh >= _NO_THRESHOLD else ssthresh,
        in_flight_segments=unacked - sacked - lost + resent,
        pacing_bps=None if pacing == _NO_RATE else 8.0 * pacing,
        srtt_s=field(_RTT_US)[0] * 1e-6,
        rtt_min_s=None if rtt_min_us == _NO_RTT else rtt_min_us * 1e-6,
        acked_bytes=field(_BYTES_ACKED)[0],
    )


def _attributes(rest: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Kind and content of each attribute of a message."""
    while len(rest) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(rest)
        yield kind, rest[_ATTRIBUTE.size : length]
        rest = rest[max((length + 3) & ~3, _ATTRIBUTE.size) :]

"""The TCP connections of a network namespace, as the kernel has them and `ss -ti` shows them.

Asked over netlink (NETLINK_SOCK_DIAG, man 7 sock_diag): INET_DIAG_INFO is `struct tcp_info` of
include/uapi/linux/tcp.h, whose fields keep their places for good.
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
_INET_DIAG_INFO = 2
#: Connections that may have data under way (net/tcp_states.h): ESTABLISHED, FIN_WAIT1, FIN_WAIT2, CLOSE_WAIT,
#: LAST_ACK, CLOSING.
_STATES = sum(1 << state for state in (1, 4, 5, 8, 9, 11))
_HEADER, _MESSAGE, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=4B48s5I"), struct.Struct("=HH")
#: In tcp_info: place and form of the smoothed RTT in microseconds, of the window, of the bytes acknowledged.
_RTT_US, _CWND, _BYTES_ACKED = (68, "=I"), (80, "=I"), (120, "=Q")


class Endpoint(NamedTuple):
    """An address and a port."""

    address: str
    port: int


@dataclass(frozen=True)
class Connection:
    """A connection as one of its ends has it."""

    local: Endpoint
    remote: Endpoint
    cwnd_segments: int
    srtt_s: float
    #: Bytes of this end's data that the other has acknowledged.
    acked_bytes: int


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
        """The connections of now, those over loopback excepted.

        Raises:
            OSError: the kernel refuses.
        """
        found = []
        for family in (socket.AF_INET, socket.AF_INET6):
            request = struct.pack(
                "=BBBxI48x", family, socket.IPPROTO_TCP, 1 << (_INET_DIAG_INFO - 1), _STATES
            )
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
    """An address; one of IPv4 in a socket of IPv6 is what it is at the other end."""
    address = ipaddress.ip_address(packed)
    return getattr(address, "ipv4_mapped", None) or address


def _connection(message: memoryview) -> Connection | None:
    """One `struct inet_diag_msg` with its attributes; None without `tcp_info`, or over loopback."""
    family, _, _, _, identity, *_ = _MESSAGE.unpack_from(message)
    ports = struct.unpack_from(">HH", identity)
    wide = 16 if family == socket.AF_INET6 else 4
    local, remote = (_address(identity[at : at + wide]) for at in (4, 20))
    if remote.is_loopback or local == remote:
        return None
    at = _MESSAGE.size
    while at + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, at)
        if kind == _INET_DIAG_INFO and length - _ATTRIBUTE.size >= 128:
            info = message[at + _ATTRIBUTE.size : at + length]
            rtt_us, cwnd, acked = (
                struct.unpack_from(kind, info, place)[0] for place, kind in (_RTT_US, _CWND, _BYTES_ACKED)
            )
            return Connection(
                Endpoint(str(local), ports[0]), Endpoint(str(remote), ports[1]), cwnd, rtt_us * 1e-6, acked
            )
        at += max((length + 3) & ~3, _ATTRIBUTE.size)
    return None

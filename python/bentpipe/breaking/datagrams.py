"""Unresponsive traffic over an emulated link, as a program of its own: a flow with traffic of kind `cbr`.

    datagrams.py HOST --port P --rate BITS_PER_SECOND --packet BYTES --on S --off S --for S

It says "ready" and then reads a line, as `bentpipe/truth/transfer.py` does: the instant of its first datagram
on the monotonic clock. Then it sends for S seconds, and answers to nothing.
"""

import argparse
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

HEADERS = 28
"""Bytes of IPv4 and UDP in front of the payload."""


def instants(interval: float, on: float, off: float, length: float) -> Iterator[float]:
    """When a datagram is sent: every `interval` while on, which takes turns with off."""
    begin = 0.0
    while begin < length:
        number = 0
        while (after := number * interval) < on and begin + after < length:
            yield begin + after
            number += 1
        begin += on + off


def main() -> None:
    """Entry point of the program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("host")
    parser.add_argument("--port", type=int, required=True)
    for name in ("rate", "packet", "on", "off"):
        parser.add_argument(f"--{name}", type=float, required=True)
    parser.add_argument("--for", dest="length", type=float, required=True)
    given = parser.parse_args()
    payload = bytes(int(given.packet) - HEADERS)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect((given.host, given.port))
        print("ready", flush=True)
        said = sys.stdin.readline()
        if not said:
            sys.exit(1)  # the process that started this program has gone
        begin = float(said)
        for at in instants(8 * given.packet / given.rate, given.on, given.off, given.length):
            time.sleep(max(0.0, begin + at - time.monotonic()))
            with suppress(OSError):  # nothing listens any more
                sock.send(payload)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)

"""Ends what is left in network namespaces when their owner is gone, however it went. A process of its own.

Standard input is a pipe from the owner; arguments are descriptors of the namespaces. When the pipe ends, all
processes in these namespaces are asked to end, and killed if they do not. It imports nothing of Bentpipe.
"""

import os
import signal
import sys
import time

_GRACE_S = 0.2


def inside(namespaces: "set[tuple[int, int]]") -> "list[int]":
    """The processes in any of these namespaces, which are pairs of a device and an inode."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                there = os.stat(f"/proc/{name}/ns/net")
            except OSError:  # it has just ended
                continue
            if (there.st_dev, there.st_ino) in namespaces:
                found.append(int(name))
    return found


def clear(namespaces: "set[tuple[int, int]]") -> None:
    """Ends all processes in these namespaces."""
    began = time.monotonic()
    asked: set[int] = set()
    while left := inside(namespaces):
        late = time.monotonic() - began > _GRACE_S
        for process in left:
            if late or process not in asked:
                asked.add(process)
                try:
                    os.kill(process, signal.SIGKILL if late else signal.SIGTERM)
                except OSError:  # it has just ended
                    pass
        if time.monotonic() - began > 5 * _GRACE_S:
            return  # zombies, which their parents have not asked about
        time.sleep(0.01)


if __name__ == "__main__":
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    seen = [os.fstat(int(fd)) for fd in sys.argv[1:]]
    sys.stdin.buffer.read()
    clear({(s.st_dev, s.st_ino) for s in seen})

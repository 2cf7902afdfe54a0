"""Separate process that ends others left in network namespaces when their owner has gone for any reason.

Standard input is a pipe from the owner; arguments are descriptors of the namespaces. When the pipe ends, all
processes in these namespaces are asked to end, and killed if they do not. It imports nothing of Bentpipe.

With `claim DESCRIPTOR FILE SETTING` in front, it then gives a claim back (see `outside`): if no other process
holds it, the setting gets the value in the file.
"""

import fcntl
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
            return  # zombies that their parents have not reaped
        time.sleep(0.01)


def give_back(descriptor: int, file: str, setting: str) -> None:
    """Undoes a claim, if this was the last emulation that needed it.

    Two watchers of one emulation may end at once, each with a lock of its own. One that cannot have the file
    for itself gives its own lock up, so that the other can, and tries again.
    """
    until = time.monotonic() + _GRACE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        if time.monotonic() > until:
            return  # another emulation needs it
        time.sleep(0.01)
    try:
        if not os.path.samestat(os.fstat(descriptor), os.stat(file)):
            return  # the other watcher was first, and another emulation has claimed it again
    except FileNotFoundError:
        return
    try:
        with open(setting, "wb", buffering=0) as there:
            there.write(os.pread(descriptor, 8, 0))
    except OSError:  # the interface is gone
        pass
    os.unlink(file)


if __name__ == "__main__":
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    given = sys.argv[1:]
    claimed = given[1:4] if given[0] == "claim" else []
    seen = [os.fstat(int(fd)) for fd in given[4 if claimed else 0 :]]
    sys.stdin.buffer.read()
    clear({(s.st_dev, s.st_ino) for s in seen})
    if claimed:
        give_back(int(claimed[0]), claimed[1], claimed[2])

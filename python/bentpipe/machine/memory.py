"""Peak memory of a process."""

from __future__ import annotations


def peak_bytes(pid: int | str = "self") -> int | None:
    """Most memory that a process has held so far; None where the system does not report it, as after its end.

    `ru_maxrss` will not do: a child begins with that of the process which started it.
    """
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            found = [line for line in status if line.startswith("VmHWM:")]
    except OSError:
        return None
    return 1024 * int(found[0].split()[1]) if found else None

"""The machine on which a benchmark ran, and the CPU time of the processes that it started there."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from bentpipe import _core


def describe() -> dict[str, str]:
    """Host, date and system of a measurement; a value is "unknown" where the system does not report it."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "bentpipe": _core.__version__,
        "processor": _field("/proc/cpuinfo", "model name") or platform.machine(),
        "processors": str(os.cpu_count() or "unknown"),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "rustc": _output(["rustc", "--version"]).removeprefix("rustc ").split(" ")[0] or "unknown",
        "load": f"{os.getloadavg()[0]:.1f} at the beginning",
    }


def cpu_of_children() -> float:
    """User and system seconds of all processes that this one has started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _field(path: str, name: str) -> str | None:
    """The value of the first line that begins with `name`."""
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), None)


def _memory() -> str:
    found = _field("/proc/meminfo", "MemTotal")
    return f"{int(found.split()[0]) / (1 << 20):.0f} GiB" if found else "unknown"


def _output(command: list[str]) -> str:
    """The output of a command; empty if there is no such command or it fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""

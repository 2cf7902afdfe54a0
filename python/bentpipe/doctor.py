"""What works on this machine, and what to install for the rest."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Check:
    """One thing that was looked for.

    Attributes:
        name: what it is.
        found: its version or state; None if it is missing.
        needed: True if nothing works without it.
        purpose: what it is for.
        remedy: what to do if it is missing.
    """

    name: str
    found: str | None
    needed: bool
    purpose: str
    remedy: str

    def as_dict(self) -> dict[str, Any]:
        """This check as a table of plain values."""
        return asdict(self)


def examine() -> list[Check]:
    """Looks for everything that Bentpipe uses."""
    return [_python(), _core(), *_packages(), *_extras(), _ns2(), _tshark(), _chromium(), _root()]


def _python() -> Check:
    found = platform.python_version() if sys.version_info >= (3, 11) else None
    return Check("python", found, True, "everything", "install Python 3.11 or later")


def _core() -> Check:
    try:
        module = importlib.import_module("bentpipe._core")
        found = f"{module.version()}, {os.cpu_count()} processors"
    except ImportError:
        found = None
    return Check("simulator core", found, True, "everything", "build it: make build")


def _packages() -> list[Check]:
    purposes = {
        "numpy": "traces",
        "polars": "tables and result files",
        "matplotlib": "figures",
        "scipy": "confidence intervals",
        "jinja2": "study pages",
    }
    return [
        Check(name, _version(name), True, purpose, f"pip install {name}")
        for name, purpose in purposes.items()
    ]


def _extras() -> list[Check]:
    """Packages that only some verbs need, by the name of the extra that installs each."""
    extras = {
        "itur": ("weather", "rain over a place"),
        "marimo": ("explore", "bentpipe explore"),
        "ray": ("ray", "many runs on a cluster"),
    }
    return [
        Check(name, _version(name), False, purpose, f'pip install "bentpipe[{extra}]"')
        for name, (extra, purpose) in extras.items()
    ]


def _version(package: str) -> str | None:
    """The version of a package that is installed; None if it is not."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _ns2() -> Check:
    found = None
    for program in ("ns", "ns2"):
        path = shutil.which(program)
        if path is not None:
            said = _output([path, "-"], "puts [ns-version]\nexit 0\n")
            found = f"{said or 'found'} at {path}"
            break
    return Check("ns-2", found, False, "comparing results and speed with ns-2", "apt install ns2")


def _tshark() -> Check:
    path = shutil.which("tshark")
    found = (_output([path, "--version"], "") or path) if path is not None else None
    return Check("tshark", found, False, "comparing captures with results", "apt install tshark")


def _chromium() -> Check:
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((path for path in map(shutil.which, names) if path is not None), None)
    return Check("chromium", found, False, "looking at pages in tests", "apt install chromium")


def _root() -> Check:
    state = None
    if os.geteuid() == 0:
        tun = Path("/dev/net/tun").exists()
        spaces = Path("/proc/self/ns/net").exists()
        state = "root, namespaces, TUN" if tun and spaces else None
        remedy = "load the tun module: modprobe tun"
    else:
        remedy = "run as root where a test needs namespaces"
    return Check("root and namespaces", state, False, "tests marked root", remedy)


def _output(command: list[str], text: str) -> str:
    """The first line that a command prints; empty if it fails."""
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    lines = done.stdout.split("\n")
    return lines[0].strip()

"""Check of this machine: what works, and what to install for the rest."""

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

from bentpipe.machine import extras


@dataclass(frozen=True)
class CheckItem:
    """One item of the check.

    Attributes:
        name: its name.
        found: its version or state; None if it is missing.
        needed: True if nothing works without it.
        purpose: its purpose.
        remedy: the remedy if it is missing.
    """

    name: str
    found: str | None
    needed: bool
    purpose: str
    remedy: str

    def as_dict(self) -> dict[str, Any]:
        """This check as a table of plain values."""
        return asdict(self)


def examine() -> list[CheckItem]:
    """Looks for everything that Bentpipe uses."""
    return [
        *(_python(), _core(), *_packages(), *_extras()),
        *(_ns2(), _tshark(), _chromium(), _root(), _tun(), _packet_filter()),
        *_kernel(),
    ]


def _python() -> CheckItem:
    found = platform.python_version() if sys.version_info >= (3, 11) else None
    return CheckItem("python", found, True, "everything", "install Python 3.11 or later")


def _core() -> CheckItem:
    try:
        module = importlib.import_module("bentpipe._core")
        found = f"{module.__version__}, {os.cpu_count()} processors"
    except ImportError:
        found = None
    return CheckItem("simulator core", found, True, "everything", "build it: make build")


def _packages() -> list[CheckItem]:
    purposes = {
        "numpy": "traces",
        "polars": "tables and result files",
        "matplotlib": "figures",
        "scipy": "confidence intervals",
        "jinja2": "study pages",
    }
    return [
        CheckItem(name, _version(name), True, purpose, f"pip install {name}")
        for name, purpose in purposes.items()
    ]


def _extras() -> list[CheckItem]:
    return [
        CheckItem(name, _version(name), False, purpose, extras.install(name))
        for name, purpose in extras.PACKAGES.items()
    ]


def _version(package: str) -> str | None:
    """The version of a package that is installed; None if it is not."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _ns2() -> CheckItem:
    found = None
    for program in ("ns", "ns2"):
        path = shutil.which(program)
        if path is not None:
            said = _output([path, "-"], "puts [ns-version]\nexit 0\n")
            found = f"{said or 'found'} at {path}"
            break
    return CheckItem("ns-2", found, False, "comparing results and speed with ns-2", "apt install ns2")


def _tshark() -> CheckItem:
    path = shutil.which("tshark")
    found = (_output([path, "--version"], "") or path) if path is not None else None
    return CheckItem("tshark", found, False, "comparing captures with results", "apt install tshark")


def _chromium() -> CheckItem:
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((path for path in map(shutil.which, names) if path is not None), None)
    return CheckItem("chromium", found, False, "looking at pages in tests", "apt install chromium")


def _root() -> CheckItem:
    from bentpipe.kernel import machine

    state = None
    lacking = {"CAP_SYS_ADMIN", "CAP_NET_ADMIN"} - machine.capabilities()
    if lacking:
        remedy = f"run as root; {' and '.join(sorted(lacking))} missing"
    else:
        who = "root" if os.geteuid() == 0 else "CAP_SYS_ADMIN, CAP_NET_ADMIN"
        state = f"{who}, namespaces" if Path("/proc/self/ns/net").exists() else None
        remedy = "a kernel with network namespaces"
    return CheckItem("root and namespaces", state, False, "bentpipe emulate; tests marked root", remedy)


def _tun() -> CheckItem:
    device = Path("/dev/net/tun")
    found = str(device) if device.exists() else None
    return CheckItem("TUN", found, False, "bentpipe emulate", "load the module: modprobe tun")


def _packet_filter() -> CheckItem:
    from bentpipe.emulation import outside

    remedy = (
        "as root, a kernel with nf_tables: modprobe nf_tables nft_masq nft_chain_nat; no program is needed"
    )
    found = "nf_tables" if outside.packet_filter() else None
    return CheckItem("packet filter", found, False, "bentpipe emulate --nat", remedy)


def _kernel() -> list[CheckItem]:
    """Checks for controllers in the kernel's TCP: the needs of this machine and of the build."""
    from bentpipe.kernel import machine

    verb = "bentpipe kernel"
    support = machine.support()
    built, ops = support.get("compiled", {}), support.get("cong_control", {})
    arity = f"cong_control has {ops.get('parameters')} parameters: {ops.get('reason')}"
    group, bpffs = support.get("cgroup", {}), machine.bpffs()
    iperf3, qemu, clang = shutil.which("iperf3"), machine.qemu(), machine.clang()
    iperf3_is = iperf3 and (machine.first_line([iperf3, "--version"]) or iperf3)
    old = "the extension is too old to tell"
    rebuild = "build it again where clang, libelf-dev and zlib1g-dev are installed: make setup"
    privileges = "run as root, or with CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN"
    mount = "--pin mounts it; or: mount -t bpf bpf /sys/fs/bpf"
    qemu_for = "traces of the kernel's own algorithms"
    return [
        CheckItem(name, found, False, purpose, remedy)
        for name, found, purpose, remedy in (
            ("kernel", machine.release(), verb, "run Linux 6.1 or later"),
            ("kernel support", built.get("reason") if built.get("ok") else None, verb, rebuild),
            ("BTF", machine.readable(machine.BTF), verb, "a kernel with CONFIG_DEBUG_INFO_BTF=y"),
            ("struct_ops for TCP", arity if ops.get("ok") else None, verb, ops.get("reason") or old),
            ("BPF privileges", machine.privilege(), verb, privileges),
            (
                "cgroup v2",
                group.get("reason") if group.get("ok") else None,
                f"{verb} run",
                group.get("reason") or old,
            ),
            ("bpffs", None if bpffs is None else str(bpffs), f"{verb} attach --pin", mount),
            ("clang", clang, f"building {verb}, not using it", "apt install clang"),
            ("iperf3", iperf3_is, "transfers by real TCP", "apt install iperf3"),
            ("qemu", qemu, qemu_for, "apt install qemu-system-x86"),
        )
    ]


def _output(command: list[str], text: str) -> str:
    """The first line that a command prints; empty if it fails."""
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    lines = done.stdout.split("\n")
    return lines[0].strip()

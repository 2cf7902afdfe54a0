"""Boots a kernel in QEMU with time counted in instructions, and returns the guest's output.

The guest's initial file system has the kernel's own format, cpio "newc":
`Documentation/driver-api/early-userspace/buffer-format.rst` of the kernel.
"""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

from debian import Kernel, Missing, need

# One nanosecond of the guest for each instruction, and idle time passes at once.
VIRTUAL_TIME = ["-icount", "shift=0,sleep=off,align=off", "-rtc", "base=2026-01-01,clock=vm", "-seed", "1"]
MACHINE = ["-machine", "pc", "-accel", "tcg", "-cpu", "qemu64", "-smp", "1", "-m", "768", "-nic", "none"]

Files = dict[str, tuple[int, bytes]]
"""Path in the guest: mode with the file's type, and contents."""

_DIRECTORY, _FILE, _LINK = 0o040755, 0o100644, 0o120777


def boot(kernel: Kernel, files: Files, limit_s: float) -> tuple[dict[str, bytes], str]:
    """Boots `kernel` with `files`; returns the files that came by its second serial port, and its console.

    Raises Missing if the guest does not end within `limit_s` seconds of this machine's time or sends nothing.
    """
    qemu = need("qemu-system-x86_64", "qemu-system-x86")
    with tempfile.TemporaryDirectory(prefix="oracle-") as place:
        initrd, said, results = (Path(place, name) for name in ("initrd", "console", "results"))
        initrd.write_bytes(pack(files))
        command = [str(qemu), *MACHINE, *VIRTUAL_TIME, "-display", "none", "-monitor", "none", "-no-reboot"]
        command += ["-serial", f"file:{said}", "-serial", f"file:{results}"]
        command += ["-kernel", str(kernel.image), "-initrd", str(initrd)]
        command += ["-append", "console=ttyS0 quiet nokaslr random.trust_cpu=off panic=-1"]
        _run(command, limit_s)
        console = said.read_text(errors="replace") if said.exists() else ""
        try:
            with tarfile.open(fileobj=io.BytesIO(results.read_bytes())) as archive:
                members = [(member, archive.extractfile(member)) for member in archive.getmembers()]
                kept = {member.name.removeprefix("./"): file.read() for member, file in members if file}
        except (OSError, EOFError, tarfile.TarError):
            raise Missing(f"the guest wrote no results; its console ends: {console[-2000:]}") from None
    return kept, console


def _run(command: list[str], limit_s: float) -> None:
    """Runs QEMU at low priority and ends it when this program is interrupted."""
    child = subprocess.Popen(["nice", "-n", "15", *command], stdin=subprocess.DEVNULL)
    try:
        child.wait(limit_s)
    except subprocess.TimeoutExpired:
        raise Missing(f"the guest did not end within {limit_s:.0f} s") from None
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()


def program(files: Files, path: Path) -> None:
    """Adds a program at /sbin, with the libraries that it is linked to."""
    files[f"sbin/{path.name}"] = (_FILE | 0o111, path.read_bytes())
    listed = subprocess.run(["ldd", str(path)], capture_output=True, text=True)
    for library in re.findall(r"(/\S+) \(0x", listed.stdout):
        files[library.lstrip("/")] = (_FILE | 0o111, Path(library).read_bytes())


def base(init: str, modules: list[tuple[str, bytes]]) -> Files:
    """busybox, iproute2, ethtool, `modules` under /modules, and `init` as the first program."""
    files: Files = {"init": (_FILE | 0o111, init.encode())}
    files["bin/busybox"] = (_FILE | 0o111, need("busybox", "busybox-static").read_bytes())
    files["bin/sh"] = (_LINK, b"busybox")
    for name, package in (("ip", "iproute2"), ("tc", "iproute2"), ("ethtool", "ethtool")):
        program(files, need(name, package))
    for name, code in modules:
        files[f"modules/{name}.ko"] = (_FILE, code)
    for name in ("proc", "sys", "dev", "tmp", "run", "var/run"):
        files[name] = (_DIRECTORY, b"")
    return files


def pack(files: Files) -> bytes:
    """The archive. Same files, same bytes: no times, no owners."""
    for path in list(files):
        for parent in Path(path).parents:
            if str(parent) != ".":
                files.setdefault(str(parent), (_DIRECTORY, b""))
    out = bytearray()
    for number, path in enumerate([*sorted(files, key=lambda p: (p.count("/"), p)), "TRAILER!!!"], 1):
        mode, content = files.get(path, (0, b""))
        name = path.encode() + b"\0"
        numbers = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0]
        out += b"070701" + b"".join(b"%08x" % n for n in numbers) + name
        out += b"\0" * (-len(out) % 4) + content
        out += b"\0" * (-len(out) % 4)
    return bytes(out)

"""An initial file system for the guest, in the kernel's own format.

That is cpio "newc": `Documentation/driver-api/early-userspace/buffer-format.rst` of the kernel.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tools import need

Files = dict[str, tuple[int, bytes]]
"""Path in the guest: mode with the file's type, and contents."""

_DIRECTORY, _FILE, _LINK = 0o040755, 0o100644, 0o120777


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

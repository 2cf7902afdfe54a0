"""Boots a kernel in QEMU with time counted in instructions, and returns the guest's output."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from pathlib import Path

from debian import Kernel
from initramfs import Files, pack
from tools import Missing, need

# One nanosecond of the guest for each instruction, and idle time passes at once.
VIRTUAL_TIME = ["-icount", "shift=0,sleep=off,align=off", "-rtc", "base=2026-01-01,clock=vm", "-seed", "1"]
MACHINE = ["-machine", "pc", "-accel", "tcg", "-cpu", "qemu64", "-smp", "1", "-m", "768", "-nic", "none"]


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

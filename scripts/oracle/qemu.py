"""Boots a kernel in QEMU with time counted in instructions, and gives back what the guest wrote."""

from __future__ import annotations

import io
import signal
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

from debian import Kernel
from initramfs import Files, pack
from tools import Missing, need

# One nanosecond of the guest for each instruction, and idle time passes at once: nothing depends on this machine.
VIRTUAL_TIME = ["-icount", "shift=0,sleep=off,align=off", "-rtc", "base=2026-01-01,clock=vm", "-seed", "1"]
MACHINE = ["-machine", "pc", "-accel", "tcg", "-cpu", "qemu64", "-smp", "1", "-m", "768", "-nic", "none"]
SPACE = 192 << 20


def boot(kernel: Kernel, files: Files, limit_s: float) -> tuple[dict[str, bytes], str]:
    """Boots `kernel` with `files`; returns the files that the guest left in its archive on /dev/vda, and its console.

    Raises Missing if the guest does not end within `limit_s` seconds of this machine's time or leaves no archive.
    """
    qemu = need("qemu-system-x86_64", "qemu-system-x86")
    with tempfile.TemporaryDirectory(prefix="oracle-") as place:
        disk, initrd = Path(place, "disk"), Path(place, "initrd")
        initrd.write_bytes(pack(files))
        with disk.open("wb") as empty:
            empty.truncate(SPACE)
        command = [
            str(qemu),
            *MACHINE,
            *VIRTUAL_TIME,
            "-display",
            "none",
            "-monitor",
            "none",
            "-serial",
            "stdio",
        ]
        command += ["-no-reboot", "-kernel", str(kernel.image), "-initrd", str(initrd)]
        command += ["-drive", f"file={disk},format=raw,if=virtio"]
        command += ["-append", "console=ttyS0 quiet nokaslr random.trust_cpu=off panic=-1"]
        console = _run(command, limit_s)
        try:
            with tarfile.open(fileobj=io.BytesIO(disk.read_bytes())) as archive:
                members = [m for m in archive.getmembers() if m.isfile()]
                return {m.name.removeprefix("./"): archive.extractfile(m).read() for m in members}, console  # type: ignore[union-attr]
        except tarfile.TarError:
            raise Missing(f"the guest wrote no results; its console ends: {console[-2000:]}") from None


def _run(command: list[str], limit_s: float) -> str:
    """Runs QEMU at low priority and ends it when this program is interrupted."""
    with tempfile.TemporaryFile() as console:
        child = subprocess.Popen(
            ["nice", "-n", "15", *command], stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT
        )
        end = time.monotonic() + limit_s
        try:
            while child.poll() is None:
                if time.monotonic() > end:
                    raise Missing(f"the guest did not end within {limit_s:.0f} s")
                time.sleep(0.1)
        finally:
            if child.poll() is None:
                child.send_signal(signal.SIGKILL)
                child.wait()
        console.seek(0)
        return console.read().decode(errors="replace")

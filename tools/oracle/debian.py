"""Programs and kernel images of Debian, which apt and dpkg bring; the images are kept."""

from __future__ import annotations

import lzma
import os
import re
import shutil
import subprocess
from pathlib import Path

# By series: the pattern for apt's list of packages, and the suite of the version.
SERIES = {
    "6.1": (r"linux-image-6\.1\.0-(\d+)-amd64", "bookworm"),
    "6.12": (r"linux-image-6\.12\.(\d+)\+deb12-amd64", "bookworm-backports"),
}


class Missing(Exception):
    """Something that the oracle needs is missing; the message names it, and how to get it."""


def need(program: str, package: str) -> Path:
    """The path of `program`; raises Missing with the Debian package that has it."""
    found = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin")
    if found is None:
        raise Missing(f"{program} is missing; apt-get install {package}")
    return Path(found)


class Kernel:
    """An unpacked kernel image: `series` ("6.1"), `release` ("6.1.0-56-amd64"), the image and its modules."""

    def __init__(self, series: str, root: Path) -> None:
        self.series = series
        images = sorted((root / "boot").glob("vmlinuz-*"))
        if len(images) != 1:
            raise Missing(f"{root} holds {len(images)} kernel images, not one; remove it and start again")
        self.image = images[0]
        self.release = self.image.name.removeprefix("vmlinuz-")
        self._modules = {
            path.name.split(".ko")[0].replace("-", "_"): path
            for path in (root / "lib/modules" / self.release).rglob("*.ko*")
        }

    def modules(self, *names: str) -> list[tuple[str, bytes]]:
        """The modules and all that they depend on, in the order of loading; built-in ones are left out."""
        done: dict[str, bytes] = {}

        def add(name: str) -> None:
            name = name.replace("-", "_")
            if name in done or name not in self._modules:
                return
            path = self._modules[name]
            code = path.read_bytes()
            code = lzma.decompress(code) if path.suffix == ".xz" else code
            depends = re.search(rb"\0depends=([^\0]*)\0", code)
            for other in depends[1].decode().split(",") if depends else []:
                if other:
                    add(other)
            done[name] = code

        for name in names:
            add(name)
        return list(done.items())

    def has(self, module: str) -> bool:
        """Whether the kernel comes with this module."""
        return module in self._modules


def newest(series: str) -> str:
    """The newest package of `series` that apt knows."""
    need("apt-cache", "apt")
    pattern, suite = SERIES[series]
    names = subprocess.run(
        ["apt-cache", "search", "--names-only", "^linux-image-"], check=True, capture_output=True, text=True
    ).stdout
    found = {int(m[1]): m[0] for m in re.finditer(rf"^{pattern}(?= )", names, re.MULTILINE)}
    if not found:
        raise Missing(f"apt knows no kernel of {series}; add {suite} to its sources and run apt-get update")
    return found[max(found)]


def kernel(series: str, keep: Path) -> Kernel:
    """The kernel of `series`; earlier downloads are used again."""
    root = keep / f"linux-{series}"
    if not (root / "boot").is_dir():
        package = newest(series)
        need("dpkg", "dpkg")
        debs = keep / "deb"
        debs.mkdir(parents=True, exist_ok=True)
        if not list(debs.glob(f"{package}_*.deb")):
            print(f"downloading {package}", flush=True)
            done = subprocess.run(["apt-get", "download", package], cwd=debs, capture_output=True, text=True)
            if done.returncode:
                reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
                raise Missing(f"apt-get download {package} failed: {reason[0]}")
        partial = keep / f"linux-{series}.partial"
        subprocess.run(["rm", "-rf", str(partial)], check=True)
        deb = sorted(debs.glob(f"{package}_*.deb"))[-1]
        subprocess.run(["dpkg", "-x", str(deb), str(partial)], check=True)
        partial.rename(root)
    return Kernel(series, root)

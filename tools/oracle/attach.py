"""Attaches our controllers inside Debian's kernels, by the agent and natively; each carries a transfer."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import qemu
from debian import Kernel, Missing, need
from guest import GuestPath, assemble, network, script

LINK = GuestPath(
    "kernels", "5 Mbit/s, RTT 300 ms, every 400th packet lost", 5000, 300, 150, 6.0, drop_every=400
)
NATIVE = ("star", "a-liad", "hswa", "vegas-l", "hybla")
FIRST_PORT = 5100
TARGET = "x86_64-unknown-linux-gnu"


@dataclass(frozen=True)
class Attached:
    """One controller in one kernel: how it was attached, its own status, and the traffic on the link."""

    kernel: str
    how: str
    cc: str
    status: dict[str, object]
    used: bool
    goodput_mbit: float
    gone: bool


def program(root: Path) -> Path:
    """The guest's program (crates/kernel/examples/oracle_guest.rs), linked without any library."""
    cargo = need("cargo", "cargo, or install Rust by rustup")
    gcc = need("gcc", "gcc")
    library = subprocess.run(
        [str(gcc), "-print-file-name=libelf.a"], capture_output=True, text=True, check=True
    )
    environment = os.environ | {
        "RUSTFLAGS": "-C target-feature=+crt-static",
        "LIBBPF_SYS_LIBRARY_PATH": str(Path(library.stdout.strip()).parent),
    }
    command = [str(cargo), "build", "--release", "-p", "bentpipe-kernel", "--features", "bpf"]
    command += ["--example", "oracle_guest", "--target", TARGET]
    if subprocess.run(["nice", *command], cwd=root, env=environment).returncode:
        raise Missing("the guest's program could not be built; it needs clang, libelf-dev and zlib1g-dev")
    return root / "target" / TARGET / "release/examples/oracle_guest"


def _one(how: str, cc: str, port: int) -> str:
    name = ("bp_" if how == "agent" else "bpn_") + cc.replace("-", "_")
    return script(
        "attach", how=how, cc=cc, name=name, port=port, result=f"/out/{how}-{cc}", seconds=LINK.seconds,
        but_one=LINK.seconds - 1,
    )  # fmt: skip


def attach(kernel: Kernel, root: Path, transfer: Path, limit_s: float) -> list[Attached]:
    """Boots `kernel` once and attaches every controller in turn, each with a transfer of its own.

    Raises Missing if the guest does not come to its end, or one could not be attached.
    """
    cases = [("agent", "star"), *(("native", cc) for cc in NATIVE)]
    body = network(LINK, "cubic") + "".join(
        _one(how, cc, FIRST_PORT + i) for i, (how, cc) in enumerate(cases)
    )
    wanted = ("veth", "sch_netem", "sch_ingress", "cls_matchall", "act_gact", "tcp_diag")
    files, console = qemu.boot(
        kernel, assemble(kernel, wanted, body, (transfer, program(root), need("ss", "iproute2"))), limit_s
    )
    kept_in = root / "out/oracle/kernels" / kernel.series
    kept_in.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (kept_in / name).write_bytes(content)
    done = []
    for how, cc in cases:
        kept = {
            end: files.get(f"{how}-{cc}.{end}", b"").decode()
            for end in ("json", "err", "ss", "before", "after", "left")
        }
        if not kept["json"].strip():
            log = files.get("log", b"").decode()
            reason = kept["err"].strip() or f"{log[-800:]} {console[-300:]}"
            raise Missing(f"{kernel.release} did not attach {cc} ({how}): {reason}")
        status = json.loads(kept["json"])
        name = status["name"]
        bytes_received = int(kept["after"]) - int(kept["before"])
        used = re.search(rf"\b{re.escape(name)}\b.*bytes_acked:\d{{5,}}", kept["ss"]) is not None
        gone = name not in kept["left"].split()
        done.append(
            Attached(kernel.release, how, cc, status, used, bytes_received * 8 / LINK.seconds / 1e6, gone)
        )
    return done

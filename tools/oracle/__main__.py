"""Records the kernel's own congestion control, ACK by ACK, as test data for ours (docs/oracle.md).

Boots Debian's kernel in QEMU with time counted in instructions, so that a run gives the same bits on every
machine. Keeps what it downloads and makes in out/oracle and resumes where it was interrupted.

    python tools/oracle record [--algorithm NAME]... [--link NAME]... [--again]
    python tools/oracle twice ALGORITHM LINK
    python tools/oracle kernels [--series 6.1|6.12]
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import attach
import btf
import debian
import guest
import qemu
import trace_table
from debian import Missing, need
from guest import LINKS, MODULES, GuestPath, Module

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KEEP = ROOT / "out/oracle"
DATA = ROOT / "crates/cc/tests/linux"
SERIES = "6.1"
LIMIT_S = 900.0


def transfer() -> Path:
    """The guest's program for traffic, without any library."""
    program, source = KEEP / "transfer", HERE / "transfer.rs"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        rustc = need("rustc", "rustc, or install Rust by rustup")
        command = [str(rustc), "--edition", "2024", "-O", "-C", "target-feature=+crt-static"]
        subprocess.run([*command, "-C", "strip=symbols", "-o", str(program), str(source)], check=True)
    return program


def types_of(kernel: debian.Kernel) -> btf.Types:
    """The kernel's types, from its own mouth; kept."""
    kept = KEEP / f"btf-{kernel.release}"
    if not kept.exists():
        print(f"asking {kernel.release} for its types", flush=True)
        asking = guest.assemble(kernel, (), "cp /sys/kernel/btf/vmlinux /out/btf\n")
        files, console = qemu.boot(kernel, asking, LIMIT_S)
        if "btf" not in files:
            raise Missing(
                f"{kernel.release} has no /sys/kernel/btf/vmlinux; its console ends: {console[-500:]}"
            )
        kept.write_bytes(files["btf"])
    return btf.Types(kept.read_bytes())


def run(kernel: debian.Kernel, link: GuestPath, module: Module) -> bytes:
    """The trace buffer of one run."""
    files, console = qemu.boot(
        kernel, guest.trace_guest(kernel, types_of(kernel), link, module, transfer()), LIMIT_S
    )
    if "trace" not in files or b"refused" in files["log"]:
        log = files.get("log", b"").decode(errors="replace")
        raise Missing(f"the guest recorded no trace; its log ends: {log[-1500:]}{console[-500:]}")
    return files["trace"]


def record(modules: list[Module], links: list[GuestPath], *, again: bool) -> None:
    """Writes the table of every algorithm on every link, unless its trace is there already."""
    kernel = debian.kernel(SERIES, KEEP)
    DATA.mkdir(parents=True, exist_ok=True)
    for link in links:
        for module in modules:
            name = f"{module.name}-{link.name}"
            kept = KEEP / "traces" / f"{name}.trace"
            if again or not kept.exists():
                begin = time.monotonic()
                kept.parent.mkdir(parents=True, exist_ok=True)
                partial = kept.with_suffix(".partial")
                partial.write_bytes(run(kernel, link, module))
                partial.rename(kept)
                print(f"{name}: recorded in {time.monotonic() - begin:.0f} s", flush=True)
            about = f"Linux {kernel.release}, {module.name}; {link.about}; see docs/oracle.md"
            rows = trace_table.table(kept.read_text(), about, smoothed=module.smoothed, ticks=module.ticks)
            (DATA / f"{name}.csv").write_text(rows)
            print(f"{name}: {rows.count(chr(10)) - 2} events, {len(rows)} bytes", flush=True)


def twice(link: GuestPath, module: Module) -> None:
    """Records the same run two times; an error unless both traces are the same, bit for bit."""
    kernel = debian.kernel(SERIES, KEEP)
    sums = []
    for _ in range(2):
        trace = run(kernel, link, module)
        sums.append(hashlib.md5(trace).hexdigest())
        print(f"{sums[-1]}  {module.name}-{link.name}, {trace.count(b': ack: ')} ACKs", flush=True)
    if sums[0] != sums[1]:
        raise Missing("the two traces differ: something in the guest depends on this machine's time")


def kernels(every: list[str]) -> None:
    """Attaches our controllers in Debian's kernels and prints a line for each."""
    found: list[dict[str, object]] = []
    bad = []
    for series in every:
        for one in attach.attach(debian.kernel(series, KEEP), ROOT, transfer(), LIMIT_S):
            found.append(dataclasses.asdict(one))
            said = [f"{one.goodput_mbit:.2f} Mbit/s"]
            if one.how == "agent":
                fallbacks = f"{one.status['fallbacks']} fallbacks"
                said += [f"{one.status['orders']} orders", fallbacks]
                if not one.status["orders"]:
                    bad.append(f"{one.kernel}: the agent gave no order")
            if not one.used:
                bad.append(f"{one.kernel}: no socket used {one.cc} ({one.how})")
            if not one.gone:
                bad.append(f"{one.kernel}: {one.cc} ({one.how}) stayed registered")
            print(f"{one.kernel}  {one.how:6}  {one.cc:8}  {', '.join(said)}", flush=True)
    (KEEP / "kernels.json").write_text(json.dumps(found, indent=1))
    if bad:
        raise Missing("; ".join(bad))


def main() -> int:
    """Runs the command of the arguments; 1 if something is missing, 130 when interrupted."""
    parser = argparse.ArgumentParser(
        prog="oracle", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    recording = verbs.add_parser("record", help="write crates/cc/tests/linux/*.csv")
    recording.add_argument(
        "--algorithm", action="append", choices=list(MODULES), help="only this one (may be repeated)"
    )
    recording.add_argument(
        "--link", action="append", choices=list(LINKS), help="only on this one (may be repeated)"
    )
    recording.add_argument("--again", action="store_true", help="boot again where a trace is kept")
    both = verbs.add_parser("twice", help="run the same twice and compare the bits")
    both.add_argument("algorithm", choices=list(MODULES))
    both.add_argument("link", choices=list(LINKS))
    inside = verbs.add_parser(
        "kernels", help="attach our controllers in Debian's kernels, with a transfer each"
    )
    inside.add_argument("--series", action="append", choices=list(debian.SERIES), help="only this one")
    given = parser.parse_args()
    KEEP.mkdir(parents=True, exist_ok=True)
    os.environ["LC_ALL"] = "C"
    # Also where a shell started this in the background, which lets SIGINT pass; either ends the guest.
    for what in (signal.SIGINT, signal.SIGTERM):
        signal.signal(what, signal.default_int_handler)
    try:
        if given.verb == "record":
            modules = [MODULES[name] for name in given.algorithm or MODULES]
            record(modules, [LINKS[name] for name in given.link or LINKS], again=given.again)
        elif given.verb == "kernels":
            kernels(given.series or list(debian.SERIES))
        else:
            twice(LINKS[given.link], MODULES[given.algorithm])
    except (Missing, trace_table.Unusable) as reason:
        print(f"oracle: {reason}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("oracle: interrupted; what was recorded is kept, start again to go on", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Measures the emulator beside others: lateness of packets, processor time, and the highest rate forwarded.

    make bench-emu                     # as root, on a quiet machine; 15 minutes
    python tools/emulators --quick   # short runs at 100 Mbit/s, for a look
    python tools/emulators --check   # only: is docs/emulator.md that of the stored numbers?

Beside Bentpipe it measures mahimahi (Netravali and others, USENIX ATC 2015; mm-link and mm-delay in PATH,
setuid) and the kernel's netem qdisc, where they are there. Numbers go to docs/emulator.json, tables to
docs/emulator.md. Each row is two runs:

- load: four TCP connections of iperf3 with CUBIC at full speed; their goodput, the processor time of the
  emulator alone for each 100 Mbit that it forwards, and Bentpipe's own histogram of lateness;
- delay: 100 packets a second that are sent back at once, while UDP takes half of the rate; the amount by
  which their round trips exceed the link's.

The most that Bentpipe forwards is the highest rate of a link, in steps of 15 %, at which 99 % of packets are
within the bound of lateness and TCP gets nine tenths of its maximum.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import loads
from md import DOCS, filled, stale
from tools import Bentpipe, Mahimahi, Netem, Tool

from bentpipe.bench.measure import describe
from bentpipe.emulation.session import LATENESS_BOUND_S
from bentpipe.pages.markdown import markdown, rendered

PAGE, NUMBERS = DOCS / "emulator.md", DOCS / "emulator.json"
RATES_MBPS = (10, 100, 300, 1000)
RTTS_MS = (20, 500)
STEP, FIRST_MBPS, LAST_MBPS = 1.15, 300.0, 4000.0
PAYLOAD = 1448 / 1500
"""The goodput of TCP with timestamps at a rate that counts IP bytes."""


def measured(tool: Tool, rate_mbps: float, rtt_ms: float, load_s: float) -> dict[str, Any]:
    """One row."""
    row: dict[str, Any] = {"tool": tool.name, "rate_mbps": rate_mbps, "rtt_ms": rtt_ms}
    with tool.link(rate_mbps, rtt_ms) as link:
        # Slow start takes a few round trips before all is as it stays.
        began, skip_s = link.processor_s(), 2 + 10 * rtt_ms / 1e3
        row["goodput_mbps"], forwarded_mbit = loads.tcp(link, load_s + skip_s, skip_s)
        row["processor_s_per_100_mbit"] = 100 * (link.processor_s() - began) / forwarded_mbit
    row |= link.lateness()
    with tool.link(rate_mbps, rtt_ms) as link:
        row |= loads.excess(link, rate_mbps / 2, rtt_ms, load_s / 2)
    return row


def most(load_s: float) -> dict[str, Any]:
    """The highest rate at which Bentpipe keeps time, at 20 ms."""
    best: dict[str, Any] = {}
    rate, failed = FIRST_MBPS, 0
    while failed < 2 and rate < LAST_MBPS:
        with Bentpipe().link(rate, 20) as link:
            goodput, _ = loads.tcp(link, load_s + 2, 2)
        late = link.lateness()
        kept = late["lateness_p99_s"] <= LATENESS_BOUND_S and goodput >= 0.9 * PAYLOAD * rate
        say(f"{rate:.0f} Mbit/s: {goodput:.0f}, 99 % within {late['lateness_p99_s'] * 1e3:.3f} ms, {kept=}")
        if kept:
            best, failed = {"rate_mbps": rate, "goodput_mbps": goodput, **late}, 0
        else:
            failed += 1
        rate *= STEP
    return best


def tables(stored: dict[str, Any]) -> str:
    """The contents of docs/emulator.md."""
    heads = ["<link", "<RTT", "<emulator", "TCP, Mbit/s", "processor time, s per 100 Mbit",
             "50 % late by, ms", "99 %", "99.9 %", "all", "RTT longer by, ms: 50 %", "99 %"]  # fmt: skip
    rows = []
    for row in sorted(stored["rows"], key=lambda row: (row["rate_mbps"], row["rtt_ms"])):
        late = [f"{row[f'lateness_{part}_s'] * 1e3:.3f}" if f"lateness_{part}_s" in row else ""
                for part in ("p50", "p99", "p999", "max")]  # fmt: skip
        rows.append([
            f"{row['rate_mbps']:g} Mbit/s", f"{row['rtt_ms']:g} ms", row["tool"],
            f"{row['goodput_mbps']:.1f}", f"{row['processor_s_per_100_mbit']:.3f}", *late,
            f"{row['excess_p50_s'] * 1e3:.2f}", f"{row['excess_p99_s'] * 1e3:.2f}",
        ])  # fmt: skip
    template = Path(__file__).with_name("page.md")
    return rendered(template, **stored, table=markdown(heads, rows)).strip()


def say(text: str) -> None:
    """One line on standard error, at once."""
    print(text, file=sys.stderr, flush=True)


def machine() -> dict[str, Any]:
    """The machine of the measurement."""
    about = describe()
    return {
        "date": about["date"], "kernel": platform.release(), "processors": os.cpu_count(),
        "processor": about["processor"], "load": os.getloadavg()[0],
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, or checks the page."""
    parser = argparse.ArgumentParser(description="Measures the emulator beside others.")
    parser.add_argument(
        "--quick", action="store_true", help="short runs of 100 Mbit/s; the page stays as it is"
    )
    parser.add_argument("--check", action="store_true", help="only say whether the page is up to date")
    parser.add_argument("--only", default="", help="names of emulators, with commas between")
    given = parser.parse_args(arguments)
    if given.check:
        stored = json.loads(NUMBERS.read_text(encoding="utf-8"))
        if stale(filled(PAGE, {"measured": tables(stored)})):
            say("docs/emulator.md is not that of docs/emulator.json")
            return 1
        return 0
    about, rows, missing = machine(), [], {}
    for tool in (Bentpipe(), Mahimahi(), Netem()):
        if given.only and tool.name not in given.only.split(","):
            continue
        if why := tool.lacks():
            missing[tool.name] = why
            say(f"{tool.name} is left out: {why}")
            continue
        for rate in (100,) if given.quick else RATES_MBPS:
            for rtt in RTTS_MS:
                row = measured(tool, rate, rtt, 3 if given.quick else 20)
                say(json.dumps(row))
                rows.append(row)
    stored = {"machine": about, "rows": rows, "missing": missing, "most": most(2 if given.quick else 8)}
    if given.quick or given.only:
        print(tables(stored))
        return 0
    NUMBERS.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(filled(PAGE, {"measured": tables(stored)})[PAGE], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

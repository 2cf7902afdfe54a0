"""Runs at the ends of the ranges, each in a process of its own: time, memory, numbers that arithmetic gives.

    python python/tests/witness/extremes.py [NAME ...]

prints docs/validation/extremes.csv in a quarter of an hour, nearly all of it for
2^32 segments. Exit status 1 if a number is not what it must be, or a run took more memory than it may.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import data_file

import bentpipe as bp

DAY = 86_400


@dataclass(frozen=True)
class Extreme:
    """A scenario at the end of a range.

    `check` gets the object that `bentpipe run --json` prints; it returns what must be so, each with whether
    it is. `most_mb` bounds the memory that the run takes beyond the interpreter and its libraries. `quick`:
    the test suite runs it.
    """

    name: str
    about: str
    scenario: str
    check: Callable[[dict[str, Any]], dict[str, bool]]
    most_mb: int
    quick: bool = True


def one(duration: str, rate: str, delay: str, flow: str, link: str = "") -> str:
    """A scenario of one link and one table of flows."""
    head = f'duration = "{duration}"\n[link.l]\nrate = "{rate}"\ndelay = "{delay}"\n{link}\n'
    return f'{head}[[flow]]\npath = ["l"]\n{flow}\n'


def cbr(rate: str, packet: str, more: str = "") -> str:
    """A flow of constant rate."""
    return f'traffic = {{ kind = "cbr", rate = "{rate}", packet = "{packet}" }}\n{more}'


def bulk(size: str) -> str:
    """A transfer."""
    return f'traffic = {{ kind = "bulk", size = "{size}" }}\n'


def room(limit: str) -> str:
    """A drop-tail queue."""
    return f'queue = {{ kind = "drop-tail", limit = "{limit}" }}'


def _one_bit(r: dict[str, Any]) -> dict[str, bool]:
    # 1000 bytes take 8000 s: 30 d = 2,592,000 s have room for 324, the last of which is still propagating.
    return {"323 packets": r["packets"] == 323, "link busy always": r["links"][0]["utilisation"] == 1.0}


def _one_tbit(r: dict[str, Any]) -> dict[str, bool]:
    # From 5 ms on, packets of 12,000 bits arrive: 105 ms x 1e12 / 12,000 = 8,750,000, less the pause of the
    # first round trip, in which 833,000 of 833,333 are sent.
    return {
        "8.746 to 8.75 million packets": 8_746_000 <= r["packets"] <= 8_750_000,
        "none lost": r["links"][0]["dropped_queue"] == 0,
    }


def _microsecond(r: dict[str, Any]) -> dict[str, bool]:
    return {
        "RTT 1 us": abs(r["flows"][0]["rtt_min_s"] - 1e-6) <= 2e-9,
        "a segment each RTT": 998_000 <= r["packets"] <= 1_000_000,
    }


def _hundred_seconds(r: dict[str, Any]) -> dict[str, bool]:
    # One round trip opens the connection. 10,000 packets of 12,000 bits at 100 Mbit/s take 1.2 s, and the
    # last is acknowledged 100 s later. Acknowledgements of 416 bits and opening take less than 20 us.
    return {
        "done after 201.2 s": abs(r["flows"][0]["completion_s"] - 201.2) < 2e-5,
        "in one window": r["flows"][0]["sent_packets"] == 10_000,
    }


def _nothing_arrives(r: dict[str, Any]) -> dict[str, bool]:
    flow = r["flows"][0]
    return {
        "nothing delivered": flow["delivered_bytes"] == 0 and flow["goodput_bps"] == 0,
        # Every 60 s or 120 s, but for the first minutes.
        "21,590 to 43,250 timeouts": 21_590 <= flow["timeouts"] <= 43_250,
        "all lost": flow["dropped_packets"] == flow["sent_packets"] > 0,
    }


def _no_buffer(r: dict[str, Any]) -> dict[str, bool]:
    link = r["links"][0]
    return {
        "1 passes, 9,999 are dropped": (link["delivered_packets"], link["dropped_queue"]) == (1, 9_999),
        "queue empty": link["queue_max_packets"] == 0,
    }


def _many_flows(r: dict[str, Any]) -> dict[str, bool]:
    return {
        "10^9 bytes delivered": sum(f["delivered_bytes"] for f in r["flows"]) == 10**9,
        "all complete": all(f["completion_s"] is not None for f in r["flows"]),
    }


def _month(r: dict[str, Any]) -> dict[str, bool]:
    # 30 x 86,400 s x 100 kbit/s / 12,000 bits.
    return {"at most 21.6 million packets": 21_000_000 < r["packets"] <= 21_600_000}


def _long_queue(r: dict[str, Any]) -> dict[str, bool]:
    # 10,000 bits at 1 kbit/s take 10 s; of 11 s of packets, one has been sent, one is being sent.
    link, sent = r["links"][0], r["flows"][0]["sent_packets"]
    return {
        "11 million packets": abs(sent - 11_000_000) <= 1,
        "10^7 wait": link["queue_max_packets"] == 10**7,
        "the rest dropped": link["dropped_queue"] == sent - 10**7 - 2,
    }


def _centuries(r: dict[str, Any]) -> dict[str, bool]:
    # 520,000 bits at 1 bit/s: 3650 x 86,400 s have room for 606.5.
    first, second = r["links"][0], r["links"][2]
    return {
        "606 packets": r["packets"] == second["delivered_packets"] == 606,
        "the rest waits": first["queue_max_packets"] == r["flows"][0]["sent_packets"] - 1,
    }


def _bytes_beyond_32_bits(r: dict[str, Any]) -> dict[str, bool]:
    return {"6,000,000,001 bytes delivered": r["flows"][0]["delivered_bytes"] == 6_000_000_001}


WRAP = 2**32
_LOST = [10, *(WRAP + i for i in (-1500, -3, -2, -1, 0, 1, 2, 700))]


def _segments_beyond_32_bits(r: dict[str, Any]) -> dict[str, bool]:
    flow = r["flows"][0]
    return {
        f"{WRAP + 10_000:,} bytes delivered": flow["delivered_bytes"] == WRAP + 10_000,
        f"{len(_LOST)} lost and sent again": flow["retransmitted_packets"] == len(_LOST),
        "no timeout": flow["timeouts"] == 0,
    }


EXTREMES = [
    Extreme(
        "1 bit/s",
        "constant rate, 30 days",
        one("30 d", "1 bit/s", "1 us", cbr("1 bit/s", "1000 bytes")),
        _one_bit,
        10,
    ),
    Extreme(
        "1 Tbit/s",
        "RTT 10 ms, window 833,000 segments",
        one(
            "110 ms",
            "1 Tbit/s",
            "5 ms",
            'cc = "reno"\nhandshake = false\ninitial_window = 833000\nreceive_window = "833000 segments"',
        ),
        _one_tbit,
        400,
    ),
    Extreme(
        "RTT 1 us",
        "100 Tbit/s, window one segment, 1 s",
        one(
            "1 s",
            "100 Tbit/s",
            "500 ns",
            'cc = "reno"\nreceive_window = "1 segments"\ndelayed_ack = false',
        ),
        _microsecond,
        10,
    ),
    Extreme(
        "RTT 100 s, initial window 10^4 segments",
        "100 Mbit/s, 14.48 MB",
        one(
            "1000 s",
            "100 Mbit/s",
            "50 s",
            'cc = "reno"\ninitial_window = 10000\ninitial_rto = "300 s"\nmax_rto = "600 s"\n'
            + bulk("14480000 bytes"),
            room("20000 packets"),
        ),
        _hundred_seconds,
        10,
    ),
    Extreme(
        "PER 1",
        "CUBIC, 10 Mbit/s, RTT 500 ms, 30 days",
        one(
            "30 d",
            "10 Mbit/s",
            "250 ms",
            'cc = "cubic"\nhandshake = false',
            'loss = { kind = "packet-error", rate = 1.0 }',
        ),
        _nothing_arrives,
        10,
    ),
    Extreme(
        "no buffer",
        "initial window 10^4 segments, 10 Mbit/s",
        one(
            "150 ms",
            "10 Mbit/s",
            "100 ms",
            'cc = "reno"\ninitial_window = 10000\nprofile = "paper"',
            room("0 packets"),
        ),
        _no_buffer,
        10,
    ),
    Extreme(
        "10^5 flows",
        "10 kB each, 10 Gbit/s, RTT 20 ms",
        one(
            "10 s",
            "10 Gbit/s",
            "10 ms",
            'cc = "reno"\ncount = 100000\nstart_jitter = "1 s"\n' + bulk("10 kB"),
            room("200000 packets"),
        ),
        _many_flows,
        700,
    ),
    Extreme(
        "30 days",
        "Reno, 100 kbit/s, RTT 500 ms",
        one("30 d", "100 kbit/s", "250 ms", 'cc = "reno"'),
        _month,
        10,
        quick=False,
    ),
    Extreme(
        "queue of 10^7 packets",
        "constant 10 Gbit/s before 1 kbit/s, 11 s",
        one("11 s", "1 kbit/s", "1 ms", cbr("10 Gbit/s", "1250 bytes"), room("10000000 packets")),
        _long_queue,
        1000,
    ),
    Extreme(
        "a queue that lasts 1900 years",
        "115,384 packets of 65 kB before 1 bit/s, 10 years",
        'duration = "3650 d"\n'
        f'[link.a]\nrate = "1 bit/s"\ndelay = "1 ms"\n{room("1000000 packets")}\n'
        '[link.b]\nrate = "1 Gbit/s"\ndelay = "1 ms"\n'
        f'[[flow]]\npath = ["a", "b"]\nstop = "3 s"\n{cbr("20 Gbit/s", "65000 bytes")}',
        _centuries,
        20,
    ),
    Extreme(
        "6 GB in one flow",
        "CUBIC, 100 Gbit/s, RTT 2 ms",
        one("100 s", "100 Gbit/s", "1 ms", 'cc = "cubic"\n' + bulk("6000000001 bytes")),
        _bytes_beyond_32_bits,
        50,
    ),
    Extreme(
        "2^32 segments in one flow",
        "one byte each, 1 Gbit/s, RTT 1 ms; losses where the number wraps",
        one(
            "3000 s",
            "1 Gbit/s",
            "500 us",
            'cc = "reno"\nmss = "1 byte"\nreceive_window = "2000 segments"\n'
            + bulk(f"{WRAP + 10_000} bytes"),
            'loss = { kind = "trace", file = "lost.txt" }',
        ),
        _segments_beyond_32_bits,
        10,
        quick=False,
    ),
]


@dataclass(frozen=True)
class Measured:
    """What came of an extreme. Memory is what the run took beyond what the process had before it, MB."""

    packets: int
    wall_s: float
    cpu_s: float
    run_mb: float
    process_mb: float
    found: dict[str, bool]

    def wrong(self, extreme: Extreme) -> list[str]:
        """What is not as it must be."""
        wrong = [what for what, holds in self.found.items() if not holds]
        if self.run_mb > extreme.most_mb:
            wrong.append(f"{self.run_mb:.0f} MB, more than {extreme.most_mb}")
        return wrong


def _memory_mb(what: str) -> float:
    """VmHWM (the most) or VmRSS (now) of this process, MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{what}:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError(f"/proc/self/status has no {what}")


def _here(extreme: Extreme) -> Measured:
    """Runs it in this process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "extreme.toml"
        path.write_text(extreme.scenario)
        (Path(folder) / "lost.txt").write_text("\n".join(map(str, _LOST)))
        scenario = bp.Scenario.load(path)
        before = _memory_mb("VmRSS")
        began, began_cpu = time.monotonic(), time.process_time()
        result = bp.run(scenario)
        wall, cpu = time.monotonic() - began, time.process_time() - began_cpu
    most = _memory_mb("VmHWM")
    found = extreme.check(result.json)
    return Measured(result.json["packets"], wall, cpu, max(0.0, most - before), most, found)


def measure(extreme: Extreme) -> Measured:
    """Runs it in a process of its own."""
    command = [sys.executable, __file__, "--here", extreme.name]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise RuntimeError(f"{extreme.name}: {ran.stderr.strip()[-1000:]}")
    return Measured(**json.loads(ran.stdout))


COLUMNS = """
extreme scenario delivered_packets wall_s cpu_s run_memory_mb process_memory_mb holds verdict
""".split()
"""Of the data file. `holds` says what was asked; where the verdict is `differs`, what does not hold."""


def row(extreme: Extreme, m: Measured) -> list[str]:
    """One row of the data file."""
    wrong = m.wrong(extreme)
    return [
        extreme.name,
        extreme.about,
        f"{m.packets}",
        f"{m.wall_s:.2f}",
        f"{m.cpu_s:.2f}",
        f"{m.run_mb:.0f}",
        f"{m.process_mb:.0f}",
        "; ".join(wrong or m.found),
        "differs" if wrong else "agrees",
    ]


def main() -> int:
    """Runs all, or those that are named."""
    names = sys.argv[1:]
    if names[:1] == ["--here"]:
        (extreme,) = (e for e in EXTREMES if e.name == names[1])
        print(json.dumps(vars(_here(extreme))))
        return 0
    known = {e.name: e for e in EXTREMES}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no extreme is called {unknown[0]!r}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    print(data_file.line(COLUMNS))
    worst = 0
    for extreme in [known[name] for name in names] or EXTREMES:
        found = measure(extreme)
        print(data_file.line(row(extreme, found)), flush=True)
        worst = max(worst, int(bool(found.wrong(extreme))))
    return worst


if __name__ == "__main__":
    sys.exit(main())

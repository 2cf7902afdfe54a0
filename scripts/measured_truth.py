"""Does the truth lie in the ranges that `bentpipe.measured` gives? Prints the table of docs/advise.md.

    python scripts/measured_truth.py [SEEDS]

Known links are simulated, their packets captured at the sender (`bentpipe run --pcap`), and the capture read
as one of a real link would be. tshark is needed.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import bentpipe as bp
from bentpipe.measured import estimate


@dataclass(frozen=True)
class Known:
    """A link, and the flow that measures it."""

    name: str
    rate_bps: float
    rtt_s: float
    buffer_bytes: float
    loss: bp.PacketError | bp.GilbertElliott | None = None
    share: float = 0.0
    cc: str = "cubic"
    duration: str = "30 s"


LINKS = [
    Known("GEO, no loss", 10e6, 0.6, 750e3, duration="60 s"),
    Known("GEO, 1e-3", 10e6, 0.6, 750e3, bp.PacketError(1e-3), 1e-3, "bbr", "60 s"),
    Known("VSAT return, deep", 2e6, 0.55, 400e3, duration="90 s"),
    Known("LEO, 1e-3", 50e6, 0.04, 250e3, bp.PacketError(1e-3), 1e-3, "bbr", "20 s"),
    Known("LEO, short buffer", 50e6, 0.04, 60e3, duration="20 s"),
    Known("MEO, bursts", 20e6, 0.15, 375e3, bp.GilbertElliott(2e-4, 0.2, 0.0, 0.5), 5e-4, "bbr", "60 s"),
]


def main() -> None:
    """Prints a row for each link, and as comments what lay outside."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print("| link | rate | RTT | loss | bursts | buffer |")
    print("|---|---|---|---|---|---|")
    for known in LINKS:
        held = {"rate_bps": 0, "rtt_s": 0, "loss": 0, "buffer_bytes": 0}
        bursty, least, shown = 0, 0, ""
        for seed in range(1, seeds + 1):
            found = measured(known, seed)
            truth = {"rate_bps": known.rate_bps, "rtt_s": known.rtt_s, "loss": known.share,
                     "buffer_bytes": known.buffer_bytes}  # fmt: skip
            for name, value in truth.items():
                one = found.of(name)
                if one is None:
                    continue
                ends = one.low * (1 - 1e-9) <= value and (
                    one.bound == "least" or value <= one.high * (1 + 1e-9)
                )
                held[name] += ends
                if not ends:
                    shown += f"# {known.name} seed {seed}: {name} is {value:g}: {one}\n"
            loss = found.of("loss")
            bursty += loss is not None and loss.bursts is not None
            room = found.of("buffer_bytes")
            least += room is not None and room.bound == "least"
        cells = [f"{count} of {seeds}" for count in held.values()]
        cells.insert(3, f"seen in {bursty} of {seeds}")
        cells[-1] += f", {least} as a lower bound" if least else ""
        print(f"| {known.name} | {' | '.join(cells)} |")
        print(shown, end="", flush=True)


def measured(known: Known, seed: int) -> bp.measured.Estimates:
    """What the capture of one run says."""
    link = bp.Link(
        rate=f"{known.rate_bps:.0f} bit/s",
        delay=f"{known.rtt_s / 2 * 1e9:.0f} ns",
        queue=bp.DropTail(f"{known.buffer_bytes:.0f} bytes"),
        loss=known.loss,
    )
    flow = bp.Flow(known.cc, path=["sat"])
    scenario = bp.Scenario(links={"sat": link}, flows=[flow], duration=known.duration, seed=seed)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "run.pcapng"
        bp.run(scenario, pcap=path)
        return estimate([path])


if __name__ == "__main__":
    main()

"""Real side of a cell: a transfer of the kernel's TCP behind the emulated link."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np

from bentpipe.truth import paused
from bentpipe.truth.cell import SAMPLE_S, Cell
from bentpipe.truth.paused import PausedCell
from bentpipe.truth.side import grid, held, mean_after_handshake

PROGRAM = str(Path(__file__).with_name("transfer.py"))
PORT = 5001
LEAD_S = 0.1
"""From the instant at which both programs are ready to the connection."""
START_S = 60.0
"""Time limit for both programs to be ready: many start at once."""
PATIENCE_S = 10.0
"""Time limit for the programs to end; after that they are killed."""
BEHIND_S = 0.05
"""Traffic over handovers that begins later than it ought to is made again."""
LATE_S = 5e-4
"""So late may one packet in a hundred of paused traffic be: a response may take 30 ms."""
INFINITE = 0x7FFF_FFFF
"""The threshold of a connection that has none (`TCP_INFINITE_SSTHRESH`)."""
REDUCING = (2, 3)
"""`TCP_CA_CWR` and `TCP_CA_Recovery`: the window then is that of proportional rate reduction."""


class TransferFailed(RuntimeError):
    """A real transfer could not be made; the message names it and the reason."""


class Emulated(ABC):
    """Programs at both ends of the emulated link of a cell. Leave it by `finish` or `abandon`."""

    LENGTH_S: float
    """How long they may take from the beginning on."""
    AFTER_S = 0.0
    """They begin at the earliest this long after the link."""

    def __init__(self, cell: Cell | PausedCell, seed: int) -> None:
        from bentpipe.emulation.session import Emulation

        self._held = ExitStack()
        self._key = cell.key
        try:
            self._emulation: Any = self._held.enter_context(Emulation(cell.scenario(), seed=seed))
            self._due = time.monotonic() + self.AFTER_S
            self._programs = [self._start(side, command) for side, command in self.commands()]
        except BaseException:
            self.abandon()
            raise
        self._begun = False
        self._last = time.monotonic() + START_S

    @abstractmethod
    def commands(self) -> list[tuple[str, list[str]]]:
        """The end and the arguments of each program. The one that listens comes first."""

    def _start(self, side: str, arguments: list[str]) -> subprocess.Popen[str]:
        command = [sys.executable, "-I", "-S", PROGRAM, *arguments]
        command += ["--port", str(PORT), "--for", repr(self.LENGTH_S)]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        process: subprocess.Popen[str] = self._emulation.popen(command, side=side, text=True, **pipes)
        self._held.callback(end, process)
        return process

    def step(self) -> bool:
        """Begins the transfer once both programs are ready. True when it is over, or has taken too long."""
        now = time.monotonic()
        outputs = [process.stdout for process in self._programs if process.stdout is not None]
        if not self._begun and len(select.select(outputs, [], [], 0)[0]) == len(outputs):
            begin = max(now + LEAD_S, self._due)
            self._behind_s = begin - self._due
            for process in self._programs:
                assert process.stdin is not None
                with suppress(BrokenPipeError):
                    process.stdin.write(f"{begin!r}\n")
                    process.stdin.flush()
            self._begun = True
            self._last = begin + self.LENGTH_S + PATIENCE_S
        return all(process.poll() is not None for process in self._programs) or now > self._last

    def said(self) -> list[dict[str, Any]]:
        """What each program printed at its end.

        Raises:
            TransferFailed: one failed.
        """
        outputs = [_said(process) for process in self._programs]
        ended = [process.returncode for process in self._programs]
        if any(ended):
            why = f"the programs ended with {ended[0]} and {ended[1]}"
            complaint = next((wrong for _, wrong in reversed(outputs) if wrong), "")
            raise TransferFailed(f"{self._key}: {last_line(complaint) or why}")
        return [json.loads(last) if (last := last_line(out)).startswith("{") else {} for out, _ in outputs]

    def abandon(self) -> None:
        """Ends the programs and the emulated link."""
        self._held.close()


class RealTransfer(Emulated):
    """A real bulk transfer that is under way.

    Args:
        cell: the transfer and its link.
        folder: folder that the sender's program may write to.
        algorithm: the kernel's name of the congestion control.
    """

    def __init__(self, cell: Cell, folder: Path, algorithm: str) -> None:
        self.cell, self._algorithm, self.LENGTH_S = cell, algorithm, cell.length_s
        self._samples = folder / f"{cell.key}.samples.json"
        super().__init__(cell, cell.seed)

    def commands(self) -> list[tuple[str, list[str]]]:
        """A receiver at the far end, a sender at the near one."""
        sends = ["send", self._emulation.peer, "--cc", self._algorithm]
        return [
            ("far", ["receive"]),
            ("near", [*sends, "--every", str(SAMPLE_S), "--out", str(self._samples)]),
        ]

    def finish(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The numbers of the transfer and the emulator's report, once it is over.

        Raises:
            TransferFailed: a program at one of the ends failed.
        """
        try:
            received = int(self.said()[0]["bytes"])
            sent = json.loads(self._samples.read_text(encoding="utf-8"))
        finally:
            self.abandon()
        if sent["failed"]:
            raise TransferFailed(f"{self.cell.key}: the connection failed (errno {sent['failed']})")
        return row(self.cell, received, sent), self._emulation.report()

    def abandon(self) -> None:
        """Ends the programs and the emulated link, and removes their files."""
        super().abandon()
        self._samples.unlink(missing_ok=True)


class PausedTransfer(Emulated):
    """Real traffic with pauses that is under way.

    Args:
        cell: the traffic and its link.
        algorithm: the kernel's name of the congestion control of both ends.
    """

    LENGTH_S, AFTER_S = paused.LIMIT_S, paused.START_S

    def __init__(self, cell: PausedCell, algorithm: str) -> None:
        self.cell, self._algorithm = cell, algorithm
        super().__init__(cell, cell.seed)

    def commands(self) -> list[tuple[str, list[str]]]:
        """Bursts from the near end to the far one, or a server at the near end whose client is far."""
        given = ["--cc", self._algorithm, "--plan", json.dumps(self.cell.plan)]
        near, far = self._emulation.addresses[0][0], self._emulation.peer
        if self.cell.plan["kind"] == "on-off":
            return [("far", ["receive"]), ("near", ["bursts", far, *given])]
        return [("near", ["serve", *given]), ("far", ["ask", near, *given])]

    def finish(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """How long each transfer took (`times`), the window at its beginning, and the emulator's report.

        Raises:
            TransferFailed: a program at one of the ends failed, or nothing was complete.
        """
        try:
            listens, asks = self.said()
        finally:
            self.abandon()
        if not asks["times"]:
            raise TransferFailed(f"{self.cell.key}: nothing was complete in {self.LENGTH_S:g} s")
        report = self._emulation.report()
        behind = self._behind_s > BEHIND_S and self.cell.link == paused.HANDOVERS
        late = max(report[way]["lateness_p99_s"] for way in ("forward", "reverse")) > LATE_S
        return {**listens, **asks}, {**report, "kept_time": report["kept_time"] and not (behind or late)}


def row(cell: Cell, received: int, sent: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a transfer (`Side.of`): bytes received, and the samples of the sender's program."""
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in sent["samples"].items()}
    at = grid(cell.length_s)
    t = columns["t_s"]
    reducing = np.isin(columns["ca_state"], REDUCING) & (columns["ssthresh"] < INFINITE)
    if cell.sender.algorithm == "bbr":
        reducing[:] = False  # it drives its window itself
    cwnd = np.where(reducing, columns["ssthresh"], columns["cwnd"])
    last = sent["last"]
    return {
        "goodput_bps": received * 8 / cell.length_s,
        "rtt_s": mean_after_handshake(at, held(at, t, columns["rtt_us"]) / 1e6),
        "retransmitted": last["retransmitted"] / max(1, last["sent"]),
        "cwnd": held(at, t, cwnd).tolist(),
        "late_s": sent["late_s"],
        "samples": len(t),
    }


def _said(process: subprocess.Popen[str]) -> tuple[str, str]:
    try:
        return process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()


def last_line(text: str) -> str:
    """The last line of what a program has said; empty if it said nothing."""
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def end(process: subprocess.Popen[str]) -> None:
    """Ends a program, and closes its pipes."""
    if process.poll() is None:
        process.kill()
    process.communicate()

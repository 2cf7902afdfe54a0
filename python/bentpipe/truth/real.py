"""The real side of a cell: a transfer of the kernel's TCP behind the emulated link."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from bentpipe.truth.cell import Cell
from bentpipe.truth.curve import Side, grid, held, mean_after_handshake

PROGRAM = str(Path(__file__).with_name("transfer.py"))
PORT = 5001
LEAD_S = 0.7
"""From the start of the programs to the connection."""
PATIENCE_S = 10.0
"""How long the programs may take to end, after that they are killed."""
SAMPLE_S = 0.025
"""Distance of the sender's samples."""
INFINITE = 0x7FFF_FFFF
"""The threshold of a connection that has none (`TCP_INFINITE_SSTHRESH`)."""
REDUCING = (2, 3)
"""`TCP_CA_CWR` and `TCP_CA_Recovery`: the kernel's window then is what proportional rate reduction lets out."""


class TransferFailed(RuntimeError):
    """A real transfer could not be made; the message says which and why."""


class Transfer:
    """A real transfer that is under way. Leave it by `finish` or `abandon`, which end all that it started."""

    def __init__(self, cell: Cell, folder: Path) -> None:
        from bentpipe.emulation import Emulation

        self.cell = cell
        self._samples = folder / f"{cell.key}.samples.json"
        self._held = ExitStack()
        try:
            self._emulation: Any = self._held.enter_context(Emulation(cell.scenario(), seed=cell.seed))
            begin = time.monotonic() + LEAD_S
            self._receiver = self._start("receive", "far", begin)
            self._sender = self._start("send", "near", begin)
        except BaseException:
            self.abandon()
            raise
        self._end = begin + cell.length_s

    def _start(self, what: str, side: str, begin: float) -> subprocess.Popen[str]:
        command = [sys.executable, "-I", "-S", PROGRAM, what]
        if what == "send":
            command += [self._emulation.peer, "--cc", self.cell.sender.kernel_name]
            command += ["--every", str(SAMPLE_S), "--out", str(self._samples)]
        command += ["--port", str(PORT), "--at", repr(begin), "--for", repr(self.cell.length_s)]
        process: subprocess.Popen[str] = self._emulation.popen(
            command, side=side, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._held.callback(_end, process)
        return process

    @property
    def over(self) -> bool:
        """Have both programs ended, or had the time to?"""
        ended = [process.poll() is not None for process in (self._receiver, self._sender)]
        return all(ended) or time.monotonic() > self._end + PATIENCE_S

    def finish(self) -> tuple[Side, dict[str, Any]]:
        """The numbers of the transfer and the emulator's report, once it is over.

        Raises:
            TransferFailed: a program at one of the ends failed.
        """
        try:
            said, wrong = _said(self._receiver)
            _, complaint = _said(self._sender)
            if self._sender.returncode != 0 or self._receiver.returncode != 0:
                raise TransferFailed(f"{self.cell.key}: {_last_line(complaint or wrong) or 'a program died'}")
            received = int(json.loads(said.splitlines()[-1])["bytes"])
            sent = json.loads(self._samples.read_text(encoding="utf-8"))
        finally:
            self.abandon()
        if sent["failed"]:
            raise TransferFailed(f"{self.cell.key}: the connection failed (errno {sent['failed']})")
        report = self._emulation.report()
        return side(self.cell, received, sent, report), report

    def abandon(self) -> None:
        """Ends the programs and the emulated link, and removes what they wrote."""
        self._held.close()
        self._samples.unlink(missing_ok=True)


def side(cell: Cell, received: int, sent: dict[str, Any], report: dict[str, Any]) -> Side:
    """The numbers of a transfer: bytes received, and what the sender's program wrote."""
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in sent["samples"].items()}
    at = grid(cell.length_s)
    t = columns["t_s"]
    reducing = np.isin(columns["ca_state"], REDUCING) & (columns["ssthresh"] < INFINITE)
    if cell.sender.algorithm == "bbr":
        reducing[:] = False  # it drives its window itself
    cwnd = np.where(reducing, columns["ssthresh"], columns["cwnd"])
    srtt = held(at, t, columns["rtt_us"]) / 1e6
    last = sent["last"]
    return Side(
        goodput_bps=received * 8 / cell.length_s,
        rtt_s=mean_after_handshake(at, srtt),
        retransmitted=last["retransmitted"] / max(1, last["sent"]),
        cwnd=held(at, t, cwnd),
        more={
            "late_s": sent["late_s"],
            "samples": len(t),
            "kept_time": report.get("kept_time"),
            "srtt": srtt,
        },
    )


def _said(process: subprocess.Popen[str]) -> tuple[str, str]:
    try:
        return process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
    process.communicate()

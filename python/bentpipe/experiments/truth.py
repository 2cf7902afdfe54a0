"""Simulator beside reality: the same transfers simulated, and with the kernel's TCP or over QUIC, as root.

Real transfers take as long as they last, many at a time. Their rows are kept in the experiment's folder, so
an interrupted experiment goes on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import bentpipe as bp
from bentpipe import terminal
from bentpipe.experiments.experiment import Experiment
from bentpipe.experiments.rows import Rows
from bentpipe.io.files import write_rows
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.engine import Interrupted
from bentpipe.sweeps.kept import Kept, Row
from bentpipe.terminal.progress import State
from bentpipe.truth import cell as cells_of
from bentpipe.truth import comparison, measuring, paused, paused_table, quic_program, quic_table
from bentpipe.truth.cell import Cell
from bentpipe.truth.measuring import TransferJob
from bentpipe.truth.paused import PausedCell
from bentpipe.truth.quic_program import QuicCell, QuicTransfer
from bentpipe.truth.real import PausedTransfer, RealTransfer, TransferFailed
from bentpipe.truth.side import Side, simulated

Of = TypeVar("Of", Cell, PausedCell, QuicCell)
Numbers = dict[str, float]
TRANSFERS = "transfers"
"""The folder of the rows of real transfers (`Kept`), in that of an experiment."""


class Truth(Experiment, Generic[Of]):
    """A comparison of real transfers with simulated ones.

    Args:
        out: as for `Experiment`, with `quick`, `fresh` and `data`.
        cells: the transfers; those of the quick or the full form by default.
        at_once: number of links that are emulated at a time.
        tell: called with a line for each omission, with the reason.

    Attributes:
        real: the row of each real transfer.
        rows: of each cell, once it has run.
        means: of the rows over the seeds, likewise.
    """

    AT_ONCE: ClassVar[int]
    GRIDS: ClassVar[Mapping[str, Callable[..., list[Any]]]]
    """The transfers of each form, from the number of seeds and the length in s, which have defaults."""

    def __init__(
        self,
        out: Path,
        *,
        cells: Sequence[Of] | None = None,
        at_once: int | None = None,
        tell: Callable[[str], None] = terminal.note,
        quick: bool = False,
        **given: Any,
    ) -> None:
        super().__init__(out, quick=quick, **given)
        self.cells: Sequence[Of] = cells or self.GRIDS["quick" if quick else "full"]()
        self.at_once, self.tell = at_once or self.AT_ONCE, tell
        self.real: dict[Any, Row] = {}
        self.rows: list[dict[str, Any]] = []
        self.means: list[dict[str, Any]] = []

    def run(self, *, workers: int = 0, progress: Callable[[State], None] | None = None) -> list[Path]:
        """Makes the transfers that the folder lacks, then the simulations; see `Experiment.run`.

        Raises:
            OSError: the machine or the privileges do not allow an emulated link.
            ScenarioError: another process writes to the folder.
            TransferFailed: no transfer can be made at all.
        """
        with Kept(self.out / TRANSFERS) as kept:
            if self.fresh:
                kept.wanted = kept.done - set(self.keys())
                kept.prune()
            what = f"{self.name}: real transfers"
            try:
                self.transfer(TransferJob(kept, self.at_once, self.tell, progress, what))
            except KeyboardInterrupt:
                done = (
                    f"{len(kept.done & kept.wanted):,} transfers are done and kept, those under way are lost"
                )
                raise Interrupted(f"{done}; the same command goes on from there") from None
            kept.finish()
            return super().run(workers=workers, progress=progress)

    def keys(self) -> Iterable[str]:
        """The keys of the real transfers."""
        return (cell.key for cell in self.cells)

    def transfer(self, job: TransferJob) -> None:
        """Makes the real transfers that the folder lacks, by default with the kernel's TCP.

        Those that cannot be made are left out.
        """
        cells: Sequence[Any] = self.cells
        self.real = job.by_kernel(cells, self.start)
        self.cells = list(self.real)

    def start(self, cell: Any, algorithm: str) -> Any:
        """Starts a transfer by the kernel's name of its algorithm, by default one without pauses."""
        return RealTransfer(cell, self.out, algorithm)

    def measure(self, case: Case, result: bp.Result) -> Row:
        """The quantities of a simulated transfer, and its window on the grid of both worlds."""
        side = simulated(cells_of.of_dict(dict(case.settings)), result)
        return {**measuring.quantities(side), comparison.CURVE: side.cwnd.tolist()}

    def cases(self) -> list[Case]:
        """The simulation of each cell."""
        return list(map(self.simulation, self.cells))

    def simulation(self, cell: Any) -> Case:
        """The simulation of a cell, by default that of the kernel's TCP."""
        return Case({"transfer": cell.key}, cell.scenario(traced=True), settings=cell.as_dict())


class LinuxTruth(Truth[Cell]):
    """The kernel's TCP (`bentpipe validate kernel`)."""

    name = "linux-truth"
    AT_ONCE = 12
    GRIDS = {"quick": cells_of.quick, "full": cells_of.full, "links": cells_of.further}  # noqa: RUF012

    def finish(self, rows: Rows) -> list[Path]:
        """Writes the rows and their means."""
        self.rows = [
            measuring.row(cell, real, row) for (cell, real), row in zip(self.real.items(), rows, strict=True)
        ]
        self.means = comparison.table(self.rows)
        write_rows(self.out / "cells.csv", self.rows)
        write_rows(self.out / "table.csv", self.means)
        return [self.out / "table.csv"]


class PausedTruth(Truth[PausedCell]):
    """The kernel's TCP under traffic that pauses (`bentpipe validate kernel --paused`)."""

    name = "paused-truth"
    AT_ONCE = 12
    GRIDS = {"quick": paused.quick, "full": paused.full}  # noqa: RUF012

    def start(self, cell: PausedCell, algorithm: str) -> PausedTransfer:
        """Starts traffic that pauses."""
        return PausedTransfer(cell, algorithm)

    def simulation(self, cell: PausedCell) -> Case:
        """The simulation of a cell, with its bursts."""
        return Case({"transfer": cell.key}, cell.simulation(), settings=cell.as_dict())

    def measure(self, case: Case, result: bp.Result) -> Row:
        """How long each transfer of the simulation took."""
        return {"times": paused_table.simulated(paused.of_dict(dict(case.settings)), result)}

    def finish(self, rows: Rows) -> list[Path]:
        """Writes the rows, a line for each repeat, and their medians."""
        self.rows = [
            paused_table.row(cell, real, row["times"])
            for (cell, real), row in zip(self.real.items(), rows, strict=True)
        ]
        self.means = paused_table.table(self.rows)
        write_rows(self.out / "paused.csv", self.rows)
        return [self.out / "paused.csv"]


class QuicTruth(Truth[QuicCell]):
    """TCP and QUIC (`bentpipe validate quic`)."""

    name = "quic-truth"
    AT_ONCE = 6
    GRIDS = {"quick": quic_program.quick, "full": quic_program.full}  # noqa: RUF012

    def keys(self) -> Iterable[str]:
        """Those over QUIC, and those by every sender of the kernel that could run the controller."""
        return [*super().keys(), *(kernel.key for cell in self.cells for kernel in cell.kernels())]

    def transfer(self, job: TransferJob) -> None:
        """Real transfers over QUIC and over TCP, and QUIC's simulations by the program itself.

        TCP's are each by the first sender that can run the controller in this kernel.

        Raises:
            NotBuilt: the program is not there.
        """
        tool, left_out = quic_program.program(), list[str]()

        def simulate(cell: QuicCell) -> Numbers | None:
            try:
                return quic_program.simulate(cell, tool, self.out)
            except TransferFailed as failure:
                self.tell(str(failure))
                return None

        self.quic = job.rows(self.cells, lambda cell: QuicTransfer(cell, tool))
        self.tcp: dict[QuicCell, tuple[Cell, Row]] = {}
        for rank in range(max(len(cell.kernels()) for cell in self.cells)):
            wanted = {c: c.kernels()[rank] for c in self.cells if c not in self.tcp and c.kernels()[rank:]}
            quiet = replace(job, tell=left_out.append)
            there = quiet.by_kernel(list(wanted.values()), self.start)
            self.tcp |= {cell: (tcp, there[tcp]) for cell, tcp in wanted.items() if tcp in there}
        if len(self.tcp) < len(self.cells):
            for line in left_out:  # a sender that another replaces is not missed
                self.tell(line)
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            self.simulated = dict(zip(self.cells, threads.map(simulate, self.cells), strict=True))

    def simulation(self, cell: QuicCell) -> Case:
        """TCP's simulation of a cell."""
        return super().simulation(cell.kernels()[0])

    def finish(self, rows: Rows) -> list[Path]:
        """Writes the means over the seeds."""
        self.rows = [
            self._row(cell, row) for cell in self.cells for row in rows.where(transfer=cell.kernels()[0].key)
        ]
        self.means = quic_table.over_seeds(self.rows)
        write_rows(self.out / "quic.csv", self.means)
        return [self.out / "quic.csv"]

    def _row(self, cell: QuicCell, row: Row) -> dict[str, Any]:
        quic, (kernel, tcp) = self.quic.get(cell), self.tcp.get(cell, (None, None))
        real = None if tcp is None else quic_table.tcp(measuring.quantities(Side.of(tcp)))
        worlds = (quic_table.tcp(row), real, self.simulated[cell], quic)  # as in `WORLDS`
        columns = {
            f"{world}_{quantity}": None if found is None else found[quantity]
            for world, found in zip(quic_program.WORLDS, worlds, strict=True)
            for quantity in quic_table.QUANTITIES
        }
        by = kernel.sender.home if kernel else None
        return {**cell.as_dict(), "kernel_by": by, "quic_late_s": (quic or {}).get("late_s"), **columns}

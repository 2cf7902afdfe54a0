"""Simulator beside reality: the same transfers simulated, and with the kernel's TCP or over QUIC, as root.

Real transfers take as long as they last, many at a time. Each is a file of the experiment's folder, so an
interrupted experiment goes on.
"""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import bentpipe as bp
from bentpipe import terminal
from bentpipe.experiments.experiment import Experiment
from bentpipe.experiments.rows import Rows
from bentpipe.io.files import replace_text, write_rows
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.engine import Interrupted
from bentpipe.sweeps.kept import Row
from bentpipe.sweeps.store import Lock
from bentpipe.terminal.progress import State
from bentpipe.truth import cell as cells_of
from bentpipe.truth import comparison, measuring, paused, paused_table, quic_program, quic_table
from bentpipe.truth.cell import Cell
from bentpipe.truth.measuring import TransferJob
from bentpipe.truth.paused import PausedCell
from bentpipe.truth.quic_program import QuicCell, QuicTransfer
from bentpipe.truth.real import TransferFailed
from bentpipe.truth.side import TransferStore, simulated

Of = TypeVar("Of", Cell, PausedCell, QuicCell)
Numbers = dict[str, float]


class Truth(Experiment, Generic[Of]):
    """A comparison of real transfers with simulated ones.

    Args:
        out: as for `Experiment`, with `quick`, `fresh` and `data`.
        cells: the transfers; those of the quick or the full form by default.
        at_once: number of links that are emulated at a time.
        tell: called with a line for each omission, with the reason.

    Attributes:
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
        self.at_once, self.tell, self.store = at_once or self.AT_ONCE, tell, TransferStore(out)
        self.rows: list[dict[str, Any]] = []
        self.means: list[dict[str, Any]] = []

    def run(self, *, workers: int = 0, progress: Callable[[State], None] | None = None) -> list[Path]:
        """Makes the transfers that the folder lacks, then the simulations; see `Experiment.run`.

        Raises:
            OSError: the machine or the privileges do not allow an emulated link.
            ScenarioError: another process writes to the folder.
            TransferFailed: no transfer can be made at all.
        """
        self.out.mkdir(parents=True, exist_ok=True)
        lock = Lock(self.out)
        lock.take()
        try:
            files = list(self.files())
            for file in files if self.fresh else ():
                file.unlink(missing_ok=True)
            try:
                what = f"{self.name}: real transfers"
                self.transfer(TransferJob(self.at_once, self.tell, progress, what))
            except KeyboardInterrupt:
                done = f"{sum(map(Path.exists, files)):,} of {len(files):,} transfers are done and kept"
                raise Interrupted(
                    f"{done}, those under way are lost; the same command goes on from there"
                ) from None
            return super().run(workers=workers, progress=progress)
        finally:
            lock.release()

    def files(self) -> Iterable[Path]:
        """The files of real transfers, by default one for each cell."""
        return map(self.store.file, self.cells)

    @abstractmethod
    def transfer(self, job: TransferJob) -> None:
        """Makes the real transfers that the folder lacks."""

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

    def transfer(self, job: TransferJob) -> None:
        """Transfers of the kernel's TCP; those that cannot be made are left out."""
        self.cells = job.measure(self.cells, self.store)

    def finish(self, rows: Rows) -> list[Path]:
        """Writes the rows and their means."""
        self.rows = [
            measuring.row(cell, self.store.get(cell), row) for cell, row in zip(self.cells, rows, strict=True)
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

    def transfer(self, job: TransferJob) -> None:
        """Real traffic; what cannot be made is left out."""
        self.cells = job.measure_paused(self.cells, self.store)

    def simulation(self, cell: PausedCell) -> Case:
        """The simulation of a cell, with its bursts."""
        return Case({"transfer": cell.key}, cell.simulation(), settings=cell.as_dict())

    def measure(self, case: Case, result: bp.Result) -> Row:
        """How long each transfer of the simulation took."""
        return {"times": paused_table.simulated(paused.of_dict(dict(case.settings)), result)}

    def finish(self, rows: Rows) -> list[Path]:
        """Writes the rows, a line for each repeat, and their medians."""
        stored = [json.loads(file.read_text(encoding="utf-8")) for file in self.files()]
        self.rows = [
            paused_table.row(cell, real, row["times"])
            for cell, real, row in zip(self.cells, stored, rows, strict=True)
        ]
        self.means = paused_table.table(self.rows)
        write_rows(self.out / "paused.csv", self.rows)
        return [self.out / "paused.csv"]


class QuicTruth(Truth[QuicCell]):
    """TCP and QUIC (`bentpipe validate quic`)."""

    name = "quic-truth"
    AT_ONCE = 6
    GRIDS = {"quick": quic_program.quick, "full": quic_program.full}  # noqa: RUF012

    def files(self) -> Iterable[Path]:
        """Two files for each cell; TCP's is that of the first sender of the kernel that there is."""
        for cell in self.cells:
            yield self.store.file(cell)
            tcp = [self.store.file(kernel) for kernel in cell.kernels()]
            yield next((file for file in tcp if file.exists()), tcp[0])

    def transfer(self, job: TransferJob) -> None:
        """Real transfers over QUIC and over TCP, and QUIC's simulations by the program itself.

        TCP's are each by the first sender that can run the controller in this kernel.

        Raises:
            NotBuilt: the program is not there.
        """
        tool, left_out = quic_program.program(), list[str]()
        files = {cell: self.store.file(cell) for cell in self.cells}
        lacking = [cell for cell in files if not files[cell].exists()]

        def keep(nth: int, numbers: Numbers, report: Mapping[str, Any]) -> None:
            cell = lacking[nth]
            kept = {**cell.as_dict(), "numbers": numbers, "kept_time": report.get("kept_time")}
            replace_text(files[cell], json.dumps(kept, indent=1) + "\n")

        def simulate(cell: QuicCell) -> Numbers | None:
            try:
                return quic_program.simulate(cell, tool, self.out)
            except TransferFailed as failure:
                self.tell(str(failure))
                return None

        job.work_off([partial(QuicTransfer, cell, tool) for cell in lacking], keep)
        stored = {cell: file.read_text(encoding="utf-8") for cell, file in files.items() if file.exists()}
        self.quic = {cell: json.loads(text)["numbers"] for cell, text in stored.items()}
        self.tcp: dict[QuicCell, Cell] = {}
        for rank in range(max(len(cell.kernels()) for cell in self.cells)):
            wanted = {c: c.kernels()[rank] for c in self.cells if c not in self.tcp and c.kernels()[rank:]}
            there = replace(job, tell=left_out.append).measure(list(wanted.values()), self.store)
            self.tcp |= {cell: kernel for cell, kernel in wanted.items() if kernel in there}
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
        quic, kernel = self.quic.get(cell), self.tcp.get(cell)
        real = quic_table.tcp(measuring.quantities(self.store.get(kernel)[0])) if kernel else None
        worlds = (quic_table.tcp(row), real, self.simulated[cell], quic)  # as in `WORLDS`
        columns = {
            f"{world}_{quantity}": None if found is None else found[quantity]
            for world, found in zip(quic_program.WORLDS, worlds, strict=True)
            for quantity in quic_table.QUANTITIES
        }
        by = kernel.sender.home if kernel else None
        return {**cell.as_dict(), "kernel_by": by, "quic_late_s": (quic or {}).get("late_s"), **columns}

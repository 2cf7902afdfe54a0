"""Found failures with the kernel's TCP: which of them show there, too.

Each TCP flow uses the kernel's own algorithm where this kernel has it, and else ours through the agent
(docs/kernel.md). The link is the emulator's. The number of the goal and its limit are those of the
simulation.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from bentpipe import _core
from bentpipe.breaking import mechanism
from bentpipe.breaking.conditions import CROSS
from bentpipe.breaking.real import LOOK_S, PlayedRun, play
from bentpipe.breaking.record import RecordHead, read
from bentpipe.breaking.trials import Algorithm, Pair, SearchRuns
from bentpipe.emulation.congestion import is_there
from bentpipe.machine.linux import MODULES, way
from bentpipe.sweeps.lab import Lab
from bentpipe.truth.cell import Sender
from bentpipe.truth.measuring import TRIES
from bentpipe.truth.real import TransferFailed

PLAYED = ("name", "cc", "path", "start", "traffic", "profile", "extra_delay", "ack_jitter")
"""Keys of a flow that the emulator and its programs play; the profile is the kernel's own."""

Tell = Callable[[int, int], None]
"""Called with the cases done, and all cases."""


@dataclass(frozen=True)
class Replayed:
    """A case in the kernel.

    Attributes:
        name: of its file.
        record: the head of the file.
        sender: where the algorithm runs: "kernel:bbr" is the kernel's own, "agent:copa" is ours.
        linux: the median of the number in simulations of these seeds with the options of Linux
            (`profile = "linux"`), so without the differences of these options.
        values: the number of the goal, for each seed.
        fails: how many of them are failures.
        skipped: why it was not played; empty if it was.
        where: where the mechanism shows in the kernel, sentences from the samples.
        kept_time: whether the emulator kept time in every run.
    """

    name: str
    record: RecordHead
    sender: str
    linux: float | None = None
    values: Sequence[float] = ()
    fails: int = 0
    skipped: str = ""
    where: str = ""
    kept_time: bool = True

    @property
    def value(self) -> float | None:
        """The median of the numbers; None if it was not played."""
        return statistics.median(self.values) if self.values else None

    @property
    def confirmed(self) -> bool | None:
        """Whether more than half of the seeds fail; None if it was not played."""
        return 2 * self.fails > len(self.values) if self.values else None

    def as_dict(self) -> dict[str, Any]:
        """Its columns in a table."""
        value = self.value
        simulated = self.record.value
        return {
            "case": self.name,
            "cc": self.record.algorithm,
            "goal": self.record.goal,
            "sender": self.sender,
            "simulated": simulated,
            "linux": self.linux,
            "kernel": value,
            "ratio": None if value is None or simulated == 0 else value / simulated,
            "fails": self.fails if self.values else None,
            "seeds": len(self.values),
            "confirmed": self.confirmed,
            "kept_time": self.kept_time if self.values else None,
            "skipped": self.skipped,
            "where": self.where,
            "release": os.uname().release,
        }


@dataclass
class _Case:
    path: Path
    record: RecordHead
    pair: Pair
    scenario: dict[str, Any]
    sender: str = ""
    linux: float | None = None
    runs: list[tuple[dict[str, Any], dict[str, Future[PlayedRun]]]] = field(default_factory=list)


def replay(
    files: Sequence[Path], *, seeds: int = 1, at_once: int = 4, progress: Tell = lambda _done, _all: None
) -> list[Replayed]:
    """Plays found failures again with the kernel's TCP. Each seed takes twice the duration of the scenario.

    Args:
        files: of found failures.
        seeds: how many seeds of each, from that of the file on; the median counts.
        at_once: links that are emulated at a time.
        progress: called when a case is done.

    Raises:
        ScenarioError: a file is no record of a failure.
        OSError: a file cannot be read, or the machine does not allow an emulated link.
    """
    cases = [_Case(path, RecordHead.read(path), *read(path)) for path in files]
    found: dict[Path, Replayed] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as held:
        kernel = _Kernel(held)
        runnable = []
        for case in cases:
            reason = unplayable(case.pair, case.scenario)
            try:
                if not reason:
                    case.sender = str(kernel.sender(case.pair.subject)[0])
                    kernel.sender(case.pair.yardstick)
            except _core.KernelError as wrong:
                reason = str(wrong)
            if reason:
                found[case.path] = Replayed(case.path.stem, case.record, case.sender, skipped=reason)
            else:
                case.linux = with_linux(case.pair, case.scenario, seeds)
                runnable.append(case)
        progress(len(found), len(cases))
        pool, stop = ThreadPoolExecutor(at_once), Event()
        held.callback(pool.shutdown, cancel_futures=True)
        held.callback(stop.set)  # first: whoever interrupts this does not wait for runs in real time
        for case in runnable:
            for seed, scenario in enumerate(_seeded(case.scenario, seeds)):
                place = Path(folder, f"{case.path.stem}-{seed}")
                roles = case.pair.goal.scenarios(scenario, case.pair.yardstick.cc)
                jobs = {
                    role: pool.submit(_run, case.pair, one, kernel, place / role, stop)
                    for role, one in roles.items()
                }
                case.runs.append((scenario, jobs))
        for case in runnable:
            found[case.path] = _judged(case)
            progress(len(found), len(cases))
    return [found[case.path] for case in cases]


def share(rows: Sequence[Replayed]) -> str:
    """The share that the kernel confirms, in a sentence."""
    played = [row for row in rows if row.values]
    confirmed = sum(row.confirmed is True for row in played)
    skipped = len(rows) - len(played)
    rest = f"; {skipped} cannot be played" if skipped else ""
    part = f" ({100 * confirmed / len(played):.0f} %)" if len(played) > 1 else ""
    return f"the kernel confirms {confirmed} of {len(played)} cases that were played{part}{rest}"


def with_linux(pair: Pair, scenario: Mapping[str, Any], seeds: int) -> float | None:
    """The median number of simulations with the options of Linux, as far as the kernel has them.

    None if the yardstick gets nearly nothing there.
    """
    options = {"profile": "linux", "aen": False}  # the kernel has no such probe
    flows = [{**flow, **options} if "cc" in flow else flow for flow in scenario["flow"]]
    with Lab(workers=1) as lab:
        found = SearchRuns(pair, lab).measure_scenarios(_seeded({**scenario, "flow": flows}, seeds))
    values = [one.value for one in found if one is not None]
    return statistics.median(values) if values else None


def unplayable(pair: Pair, scenario: Mapping[str, Any]) -> str:
    """Why a scenario cannot be played; empty if it can."""
    for one in (pair.subject, pair.yardstick):
        name = one.cc["name"] if isinstance(one.cc, Mapping) else one.cc
        if not way(name).had:
            return str(_core.kernel_gaps(name)[0])
    for flow in scenario["flow"]:
        for key in flow:
            if key not in PLAYED:
                return f"the emulator does not play {key} of a flow"
    first, *others = (flow["path"] for flow in scenario["flow"])
    if any(other != first for other in others):
        return "the emulator plays only flows with the path of the first"
    return ""


class _Kernel:
    """The kernel's names of algorithms; those that it lacks are given to it, as long as `held` is open."""

    def __init__(self, held: ExitStack) -> None:
        self._held = held
        self._names: dict[str, tuple[Sender, str]] = {}

    def sender(self, algorithm: Algorithm) -> tuple[Sender, str]:
        """Who sends with an algorithm, and the kernel's name of it.

        Raises:
            KernelError: the kernel does not take it.
        """
        key = json.dumps(algorithm.cc)
        if key not in self._names:
            self._names[key] = self._given(algorithm)
        return self._names[key]

    def _given(self, algorithm: Algorithm) -> tuple[Sender, str]:
        own = MODULES.get(algorithm.cc) if isinstance(algorithm.cc, str) else None
        name = algorithm.cc if own == "built in" else (own or "").removeprefix("tcp_")
        if own is not None and is_there(name):
            return Sender("kernel", name), name
        spec = next(iter(algorithm.own.values()), algorithm.cc)
        table = algorithm.cc if isinstance(algorithm.cc, Mapping) else {"name": algorithm.cc}
        plain = next(iter(algorithm.own), str(table["name"]))
        sender = Sender("agent", plain)
        name = sender.name_in_kernel(os.getpid() + len(self._names))
        self._held.enter_context(_core.KernelAgent(spec, name=name))
        return sender, name


def _seeded(scenario: Mapping[str, Any], seeds: int) -> list[dict[str, Any]]:
    """The scenario with its seed, and with those that follow."""
    return [{**scenario, "seed": scenario["seed"] + more} for more in range(seeds)]


def _judged(case: _Case) -> Replayed:
    """A case when all its runs are over; skipped if one failed."""
    values, where, kept = [], "", True
    try:
        for scenario, jobs in case.runs:
            while wait(jobs.values(), LOOK_S).not_done:
                pass  # looks for Ctrl-C, which need not wake this thread
            runs = {role: job.result() for role, job in jobs.items()}
            measured = case.pair.measured(scenario, {role: run.row for role, run in runs.items()})
            kept = kept and all(run.kept_time is not False for run in runs.values())
            if measured is None:
                raise TransferFailed(f"{case.pair.yardstick.label} gets nearly nothing in the kernel")
            values.append(measured.value)
            where = where or mechanism.sentence(
                case.pair, scenario, {role: run.traces for role, run in runs.items()}
            )
    except TransferFailed as failure:
        return Replayed(case.path.stem, case.record, case.sender, case.linux, skipped=str(failure))
    fails = sum(map(case.pair.goal.fails, values))
    return Replayed(case.path.stem, case.record, case.sender, case.linux, values, fails, "", where, kept)


def _run(pair: Pair, scenario: Mapping[str, Any], kernel: _Kernel, folder: Path, stop: Event) -> PlayedRun:
    """A run; once more if it failed, or if the emulator did not keep time."""
    algorithms = {json.dumps(one.cc): kernel.sender(one)[1] for one in (pair.yardstick, pair.subject)}
    names = {
        flow["name"]: algorithms[json.dumps(flow["cc"])] for flow in scenario["flow"] if flow["name"] != CROSS
    }
    for attempt in range(1, TRIES):
        place = folder / str(attempt)
        place.mkdir(parents=True)
        with suppress(TransferFailed):
            found = play(scenario, names, place, stop)
            if found.kept_time is not False:
                return found
    place = folder / str(TRIES)
    place.mkdir(parents=True)
    return play(scenario, names, place, stop)

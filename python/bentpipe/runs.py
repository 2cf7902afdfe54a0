"""Running scenarios."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.controller import only_named
from bentpipe.io.files import CAPTURE, check_kind, try_place
from bentpipe.machine.watchdog import watched
from bentpipe.result import Result
from bentpipe.scenario import Scenario


@dataclass(frozen=True)
class Capture:
    """The packets of a run as a file in the format pcapng.

    Args:
        path: the file; it appears when the run is complete.
        at: the point of observation: "sender" (the hosts that send data), "receiver", or the name of a link
            (the traffic offered to it, in both directions).
        whole: keep the payload, which is zeros, and not only the headers.
    """

    path: str | Path
    at: str = "sender"
    whole: bool = False


def run(
    scenario: Scenario | Mapping[str, Any] | str | Path,
    seed: int | None = None,
    *,
    pcap: str | Path | Capture | None = None,
    threads: int = 1,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Simulates one scenario.

    Args:
        scenario: a scenario, its table as a dict, a TOML or JSON file, the name of a scenario that comes with
            the package, or a directory that `Result.save` wrote.
        seed: used instead of the scenario's own.
        pcap: write the packets to this file, as the senders see them; or a `Capture`, which gives the place.
        threads: the most threads for a run over a constellation; 0 for one per processor. No result depends
            on them.
        progress: called now and then with the simulated share of the duration, 0 to 1.

    Raises:
        ScenarioError: the scenario is not correct, or its packets cannot be captured as asked for; the file
            for them exists and is not a capture.
        ControllerError: a controller written in Python failed; the cause is its exception, if it raised one.
        OSError: the capture cannot be written; nothing is left of it.
    """
    scenario = Scenario.of(scenario)
    if isinstance(pcap, str | Path):
        pcap = Capture(pcap)
    elif pcap is not None and not isinstance(pcap, Capture):
        raise _core.ScenarioError(f"pcap: give a path or a bp.Capture, not {pcap!r}")
    if seed is not None:
        scenario = dataclasses.replace(scenario, seed=seed)
    text = scenario.as_written()
    _supplied(scenario)
    capture = None if pcap is None else (str(pcap.path), pcap.at, pcap.whole)
    if pcap is not None:
        prepare_capture(Path(pcap.path))
    controllers = scenario.controllers()
    with watched(controllers.values()):
        raw = _core.run(text, controllers or None, progress, capture, threads)
    return Result(raw)


def prepare_capture(path: Path) -> None:
    """Checks that a capture can be written there, and makes its folder.

    Raises:
        ScenarioError: the file exists and is not a capture.
        OSError: nothing can be written there.
    """
    if path.is_dir():  # the engine reports that
        return
    check_kind(path, CAPTURE)
    if not path.exists() or path.is_file():  # not a device
        try_place(path)


def run_many(
    scenarios: Sequence[Scenario | Mapping[str, Any] | str | Path],
    threads: int = 0,
    *,
    progress: Callable[[int], None] | None = None,
) -> list[Result]:
    """Simulates many scenarios in parallel; the results come in the order of the scenarios.

    All are checked before the first runs. Scenarios with controllers written in Python run one after the
    other, because only one thread at a time can run Python; the others use `threads` threads.

    Args:
        scenarios: the scenarios to simulate, each as for `run`.
        threads: 0 for one per processor.
        progress: called with the number of runs done so far.

    Raises:
        ScenarioError: a scenario is not correct.
        ControllerError: a controller written in Python failed; the cause is its exception, if it raised one.
    """
    from bentpipe.sweeps.case import Case
    from bentpipe.sweeps.lab import Lab

    checked = [Scenario.of(scenario) for scenario in scenarios]
    for scenario in checked:
        scenario.check()
        _supplied(scenario)
    cases = [Case({}, json.loads(s.as_written()), controllers=s.controllers()) for s in checked]
    found: dict[int, Result] = {}
    with Lab(workers=threads, near=True) as lab:
        for over in lab.each(cases):
            for ran in over:
                if ran.raw is None:
                    raise ran.failure or RuntimeError(ran.error)
                found[ran.number] = Result(ran.raw)
            if progress is not None and over:
                progress(len(found))
    return [found[i] for i in range(len(cases))]


def _supplied(scenario: Scenario) -> None:
    """Refuses a flow whose controller is not here: a stored result or a page has only its name."""
    for i, flow in enumerate(scenario.flows):
        relay = flow.relay if isinstance(flow.relay, Mapping) else {}
        for key, cc in (("cc", flow.cc), ("relay.cc", relay.get("cc"))):
            if (wrong := only_named(cc["name"] if isinstance(cc, Mapping) else cc)) is not None:
                raise _core.ScenarioError(f"flow.{i}.{key}: {wrong}")

"""A link from measurements: all estimates of several files, and the scenario that they make."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import numpy as np

from bentpipe import _core
from bentpipe.document.plain import to_plain
from bentpipe.document.spans import Span
from bentpipe.io import kinds
from bentpipe.io.foreign import refuse, unpacked
from bentpipe.measured import iperf3
from bentpipe.measured.counters import Found
from bentpipe.measured.draws import WEIGHING_S, Draw, DrawSpaces, Evidence, Possible, Told
from bentpipe.measured.hypotheses import Count, Watched
from bentpipe.measured.quantities import NAMES, Estimate, best, floor, share
from bentpipe.measured.said import sentences, typical
from bentpipe.measured.transfers import IperfTest
from bentpipe.timeline.traces import ping
from bentpipe.timeline.traces.iperf3 import Iperf3Report
from bentpipe.timeline.traces.iperf3 import report as iperf3_report
from bentpipe.timeline.traces.probes import OUTAGE_S, Probe, atlas_outage, atlas_probes, dark, irtt_probes

_ASK = {
    "rate_bps": ("rate", 'rate ("20 Mbit/s")', "iperf3 --json, or a capture at the sender of an upload"),
    "rtt_s": ("rtt", 'rtt ("600 ms")', "ping -D"),
}
PING_DIGITS = 3
"""Significant digits of a round trip in the output of ping (iputils, `ping_common.c`)."""
_ALMOST = 5.0
"""The least round trips, in percent: those below are of the path with almost no queue."""


@dataclass(frozen=True)
class Estimates:
    """The estimates of a link from files.

    Attributes:
        all: every estimate of every file.
        losses: packets in order with those that were lost, and numbers of lost packets.
        tests: transfers of known algorithms.
        unused: for transfers that are no evidence, the reasons.
    """

    all: Sequence[Estimate]
    losses: Sequence[Watched | Count] = ()
    tests: Sequence[IperfTest] = ()
    unused: Sequence[str] = ()

    def of(self, name: str) -> Estimate | None:
        """The best estimate of "rate_bps", "rtt_s", "loss" or "buffer_bytes"; None if no file gives it."""
        return best(self.all, name)

    def __str__(self) -> str:
        return "\n".join(map(str, self._best()))

    def possible(
        self,
        given: Mapping[str, Span],
        seed: int = 1,
        effort: float = 1.0,
        tell: Told | None = None,
        until: float | None = None,
        beside: Sequence[tuple[str, int]] = (),
    ) -> Possible:
        """Links drawn with their probability given all measurements.

        Args:
            given: rate, rtt, buffer, per or ber as the user gives them; they override measurements.
            seed: the same one gives the same links.
            effort: amount of simulation, 1 for `draws.PACKETS`, which take `WEIGHING_S` of two processors.
            tell: called with the current task, the links done, and about how many there will be.
            until: begin no further round after this moment, by `time.monotonic`.
            beside: flows of others, (algorithm, how many), that were there in all measurements.

        Raises:
            ScenarioError: rate or round-trip time is neither given nor known; the message asks for it.
            KeyboardInterrupt: the user stopped it.
        """
        self._ask(given)
        known = Evidence(
            estimates={one.name: one for one in self._best()},
            watched=[one for one in self.losses if isinstance(one, Watched)],
            counts=[one for one in self.losses if isinstance(one, Count)],
            tests=self._counted(),
            given=given,
            beside=beside,
        )
        search = DrawSpaces(known, np.random.default_rng([seed, 0x6C696E6B]))
        losses = search.losses()
        if not known.tests:
            return search.alone(losses)
        return search.weighed(losses, effort, tell or (lambda what, done, total: None), until)

    def notes(self, found: Possible, given: Mapping[str, Span]) -> list[str]:
        """The source of each quantity, and the joint conclusions, a sentence each."""
        said = [f"Measured: {one}." for one in self._best()]
        return [*said, *self.left_out(), *sentences(found, given)]

    def left_out(self) -> list[str]:
        """For each transfer that is no evidence, the reason."""
        rate, counted = self.of("rate_bps"), self._counted()
        other = [one.source.name for one in self.tests if one not in counted]
        as_rate = "" if rate is None else f" and the rate is from {rate.source.name}"
        return [
            *self.unused,
            *(
                f"The test in {name} was not simulated: it went the other way{as_rate}. If both ran from the "
                "same sender, run both with -R or both without it."
                for name in other
            ),
        ]

    def _best(self) -> list[Estimate]:
        return [one for name in NAMES if (one := self.of(name))]

    def _counted(self) -> list[IperfTest]:
        """Only transfers in the direction of the rate count."""
        rate = self.of("rate_bps")
        tests = list(self.tests)
        if rate is not None and tests:
            way = next((one.reverse for one in tests if one.source == rate.source), tests[0].reverse)
            tests = [one for one in tests if one.reverse == way]
        return tests

    def _ask(self, given: Mapping[str, Span]) -> None:
        for name, (key, example, how) in _ASK.items():
            if key not in given and self.of(name) is None:
                names = list(dict.fromkeys(str(one.source) for one in self.all))
                raise _core.ScenarioError(
                    f"the {key} is not in {', '.join(names)}; give {example}, or measure it ({how})"
                )


def estimate(files: Sequence[str | Path]) -> Estimates:
    """The estimates of a link from measurements.

    Args:
        files: of the kinds that `kind` knows; captures (pcap, pcapng) need tshark.

    Raises:
        ScenarioError: a file is none of these, or damaged, or contains no estimate.
        OSError: it cannot be read.
    """
    if isinstance(files, str | Path):
        files = [files]
    every = [(Path(file), kind(Path(file))) for file in files]
    reports = [(file, iperf3_report(file)) for file, of in every if of == "iperf3"]
    _check_once(every, [report for _, report in reports])
    found: list[Estimate] = []
    losses: list[Watched | Count] = []
    for file, of in every:
        if of in _PROBES:
            estimates, seen = _probes(file, of)
        elif of in _READERS:
            read: Callable[[Path], Found] = import_module(f"bentpipe.measured.{of}").estimates
            estimates, seen = read(file)
        else:
            continue
        found += estimates
        losses += seen
    least = best(found, "rtt_s")  # of probes and captures, which see it better than a test
    tests: list[IperfTest] = []
    unused: list[str] = []
    for file, report in reports:
        of_test, counts, transfer = iperf3.read(report, None if least is None else least.value)
        found += of_test
        losses += counts
        if isinstance(transfer, IperfTest):
            tests.append(transfer)
        else:
            unused.append(f"The test in {file.name} was not simulated: {transfer}.")
    if not found:
        raise _core.ScenarioError("measured: no file is given")
    return Estimates(found, losses, tests, unused)


def measured_files(first: Sequence[Path] | None, more: Sequence[Path] | None) -> list[Path]:
    """The files of `--measured FILE...`: those of the option, and those that follow.

    Raises:
        ScenarioError: files are given without the option, or one does not exist.
    """
    if more and not first:
        raise _core.ScenarioError(
            f"{more[0]} belongs to no option: a link needs --link, a whole scenario --scenario, files of "
            'measurements --measured, and a value with a blank quotes, "20 Mbit/s"'
        )
    files = [*(first or ()), *(more or ())]
    for file in files:
        if not file.exists():
            raise _core.ScenarioError(f"--measured {file}: there is no such file")
    return files


def scenario_text(files: Sequence[str | Path], tell: Told | None = None, budget_s: float = math.inf) -> str:
    """A commented scenario file of the likeliest link that the files leave possible, with one CUBIC flow.

    Args:
        files: as for `estimate`.
        tell: called with the current task, the runs done, and all of them.
        budget_s: seconds that the simulation of the transfers may take, about; `WEIGHING_S` are enough.

    Raises:
        ScenarioError: a file is wrong, or they give no rate or no round-trip time; the message asks for it.
        OSError: a file cannot be read.
    """
    found = estimate(files)
    effort = min(budget_s / WEIGHING_S, 1.0)
    left = found.possible({}, effort=effort, tell=tell, until=time.monotonic() + budget_s)
    link = typical(left)
    names = ", ".join(Path(file).name for file in files)
    rate, rtt, loss, buffer = (found.of(name) for name in ("rate_bps", "rtt_s", "loss", "buffer_bytes"))
    lines = [
        f"# Estimated from {_comment(names)}. A range in brackets is what one of the files leaves open.",
        *(f"# {_comment(line)}" for line in [*found.left_out(), *sentences(left, {})]),
        f'title = "one CUBIC flow over a link estimated from {_quoted(names)}"',
        'duration = "60 s"',
        "seed = 1",
        "",
        "[link.sat]",
        f"# {_comment(str(rate))}",
        f'rate = "{link.rate_bps / 1e6:.4g} Mbit/s"',
        f"# {_comment(str(rtt))}; half of it is the delay of each way",
        f'delay = "{link.rtt_s / 2 * 1e3:.6g} ms"',
        _comment(f"# {buffer}" if buffer else "# The files tell the buffer only by what the transfer did."
                 if link.buffer else "# The files do not tell the buffer: one bandwidth-delay product."),
        f'queue = {{ kind = "drop-tail", limit = "{link.buffer or "1 bdp"}" }}',
        _comment(f"# {loss}" if loss else "# The files do not tell the loss."),
        *_losses(link),
    ]  # fmt: skip
    return "\n".join([*lines, "", "[[flow]]", 'cc = "cubic"', 'path = ["sat"]', *_load(link), ""])


def _load(link: Draw) -> list[str]:
    """The flow of others' traffic, if there is any."""
    if link.load is None:
        return []
    flow = link.load.flow("sat", link.rate_bps)
    kept = to_plain(flow.traffic) | {"rate": f"{link.load.share * link.rate_bps / 1e6:.4g} Mbit/s"}
    return [
        "", "# The rate of the transfers swings, as if this traffic shared the link.", "[[flow]]",
        f'name = "{flow.name}"', 'path = ["sat"]', f"traffic = {_table(kept)}",
        f'start_jitter = "{flow.start_jitter}"',
    ]  # fmt: skip


def _losses(link: Draw) -> list[str]:
    """The line of the losses, if there are any."""
    tables = [_table(to_plain(one)) for one in link.losses]
    if len(tables) > 1:
        return [f"loss = [{', '.join(tables)}]"]
    return [f"loss = {table}" for table in tables]


def _table(of: Mapping[str, object]) -> str:
    """A table of TOML in one line, its numbers to three digits."""
    shown = (f"{value:.3g}" if isinstance(value, float) else f'"{value}"' for value in of.values())
    return f"{{ {', '.join(f'{key} = {value}' for key, value in zip(of, shown, strict=True))} }}"


def _comment(text: str) -> str:
    """Text that stays in its line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _quoted(text: str) -> str:
    return _comment(text).replace("\\", "\\\\").replace('"', '\\"')


_READERS = ("capture", "ndt7", "qlog", "flent", "ss", "dish")
"""Kinds of files that a module of this name reads."""
_PROBES = ("ping", "irtt", "atlas")


def _probes(path: Path, of: str) -> Found:
    """The estimates from a file of probes."""
    if of == "ping":
        log = ping.log(path)
        remark = "" if log.timed else f"; sent {ping.USUAL_S:g} s apart, as is usual"
        return _of_probes(path, log.probes(), PING_DIGITS, remark)
    if of == "irtt":
        return _of_probes(path, irtt_probes(path))
    probes, apart_s = atlas_probes(path)
    return _of_probes(path, probes, outage_s=atlas_outage(apart_s))


def kind(path: Path) -> str:
    """The kind of a measurement: "iperf3", or one of those above.

    Raises:
        ScenarioError: it is none of them; the message says what it is.
        OSError: it cannot be read.
    """
    found = kinds.kind(path)
    if found is None:
        refuse(
            path, None, "it is none of: iperf3 (JSON or text), ping, fping, irtt (JSON), RIPE Atlas, NDT7, "
            "qlog, flent, ss -tin, a dish's history, pcap, pcapng",
        )  # fmt: skip
    if kinds.MEASURED not in found.uses:
        refuse(path, None, f"it is {found.words}, no measurement of a link; {found.taken_by}")
    return found.name


def _check_once(files: Sequence[tuple[Path, str]], reports: Sequence[Iperf3Report]) -> None:
    """Checks that no measurement is given twice, under whatever name: it would count as two.

    Raises:
        ScenarioError: one is, or two reports are of one test of iperf3.
        OSError: a file cannot be read.
    """
    known: dict[object, Path] = {}
    for file, of in files:
        with file.open("rb") as stream:
            marks: list[object] = [hashlib.file_digest(stream, "sha256").digest()]
        if of != "capture":
            marks.append(hashlib.sha256(unpacked(file)).digest())
        for mark in marks:
            if (other := known.setdefault(mark, file)) is not file:
                _twice(file, "it is the same measurement as", other)
    for report in reports:
        cookie = iperf3.cookie(report)
        if cookie and (other := known.setdefault(cookie, report.path)) is not report.path:
            _twice(report.path, "it is of the same test of iperf3 as", other)


def _twice(file: Path, what: str, other: Path) -> NoReturn:
    refuse(file, None, f"{what} {other.name}, and would count twice; give one of them")


def _of_probes(
    path: Path,
    sent: Sequence[Probe],
    digits: int | None = None,
    remark: str = "",
    outage_s: float = OUTAGE_S,
) -> Found:
    """Round-trip time without queues, and loss outside outages.

    Args:
        path: the file, for messages.
        sent: its probes.
        digits: number of significant digits to which the program rounds times above a millisecond; None if
            exact.
        remark: on their times.
        outage_s: lost for longer is an outage.

    Raises:
        ScenarioError: no probe came back.
    """
    trips = np.array([probe.rtt_s for probe in sent if probe.rtt_s is not None])
    if not trips.size:
        refuse(path, None, f"none of {len(sent)} probes came back")
    least, low = floor(trips)
    almost = float(np.percentile(trips, _ALMOST))
    rounded = _rounding(least, digits)
    how = f"least of {trips.size} round trips; to their 5th percentile"
    found = [Estimate("rtt_s", least, max(low - rounded, 0.0), almost + rounded, how, path)]
    unseen = dark(sent, outage_s)
    outside = [probe for probe, is_dark in zip(sent, unseen, strict=True) if not is_dark]
    lost = sum(probe.rtt_s is None for probe in outside)
    value, low, high = share(lost, len(outside))
    outages = f", without {sum(unseen)} in outages" if any(unseen) else ""
    how = f"{lost} of {len(outside)} probes, either way, Wilson's interval{outages}{remark}"
    found.append(Estimate("loss", value, low, high, how, path, weight=2))
    return found, [_watched(path, sent)]


def _watched(path: Path, sent: Sequence[Probe]) -> Watched:
    """The probes that were lost, outages included."""
    lost = np.array([probe.rtt_s is None for probe in sent])
    trips = np.array([math.nan if probe.rtt_s is None else probe.rtt_s for probe in sent])
    return Watched(lost, np.array([probe.sent_s for probe in sent]), path, trips)


def _rounding(value: float, digits: int | None) -> float:
    """Half of the last digit that is shown of a time, seconds."""
    if digits is None or value < 1e-3:
        return 0.0
    places = math.floor(math.log10(value * 1e3)) - digits + 1
    return 0.5e-3 * 10.0 ** min(places, 0)

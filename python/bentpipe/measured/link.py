"""A link from measurements: all estimates of several files, and the scenario that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bentpipe import _core
from bentpipe.advice.spans import Span
from bentpipe.measured.quantities import Estimate, best
from bentpipe.models import GilbertElliott, PacketError
from bentpipe.scenario import Link

_ASK = {
    "rate_bps": ("rate", '--rate "20 Mbit/s"', "iperf3 --json, or a capture at the sender of an upload"),
    "rtt_s": ("rtt", '--rtt "600 ms"', "ping -D"),
}
PING_DIGITS = 3
"""Significant digits of a round trip in the output of ping (iputils, `ping_common.c`)."""
_SAME = 0.02
"""Ends of a range that differ by less than this share are one value."""


@dataclass(frozen=True)
class Estimates:
    """What files say of a link.

    Attributes:
        all: every estimate of every file.
    """

    all: Sequence[Estimate]

    def of(self, name: str) -> Estimate | None:
        """The best estimate of "rate_bps", "rtt_s", "loss" or "buffer_bytes"; None if no file tells."""
        return best(self.all, name)

    def __str__(self) -> str:
        return "\n".join(
            str(one) for name in ("rate_bps", "rtt_s", "loss", "buffer_bytes") if (one := self.of(name))
        )

    def spans(self, given: Mapping[str, Span]) -> dict[str, Span]:
        """The ranges for `bentpipe advise`, without what is given.

        Raises:
            ScenarioError: rate or round-trip time is neither given nor known; the message asks for it.
        """
        self._ask(given)
        found = {}
        if "rate" not in given and (rate := self.of("rate_bps")):
            found["rate"] = _span("rate", rate, 1e6, "Mbit/s")
        if "rtt" not in given and (rtt := self.of("rtt_s")):
            found["rtt"] = _span("rtt", rtt, 1e-3, "ms")
        if (
            not {"per", "ber"} & set(given)
            and (loss := self.of("loss"))
            and loss.bursts is None
            and loss.high > 0
        ):
            found["per"] = Span("per", loss.low, loss.high, "")
        if "buffer" not in given and (buffer := self.of("buffer_bytes")):
            found["buffer"] = _span("buffer", buffer, 1e3, "kB")
        return found

    def link(self, spans: Mapping[str, Span]) -> Link:
        """The link with the best guesses; `spans` are laid over it for each run."""
        rate, rtt = self.of("rate_bps"), self.of("rtt_s")
        self._ask(spans)
        loss = self.of("loss")
        bursts = loss.bursts if loss is not None and not {"per", "ber"} & set(spans) else None
        return Link(
            rate=f"{rate.value:.6g} bit/s" if rate else spans["rate"].at(0.5),
            delay=f"{rtt.value / 2 * 1e3:.6g} ms" if rtt else "1 ms",
            loss=None if bursts is None else _chain(loss),
        )

    def notes(self, spans: Mapping[str, Span]) -> list[str]:
        """Where each quantity comes from, a sentence each."""
        said = []
        for name in ("rate_bps", "rtt_s", "loss", "buffer_bytes"):
            one = self.of(name)
            if one is None:
                continue
            said.append(f"Measured: {one}.")
            if one.bursts is not None:
                said.append(f"Losses come in bursts, {one.bursts.length:.2g} in a row on average.")
        return said

    def _ask(self, given: Mapping[str, Span]) -> None:
        for name, (key, example, how) in _ASK.items():
            if key not in given and self.of(name) is None:
                files = ", ".join(dict.fromkeys(str(one.source) for one in self.all)) or "the files"
                raise _core.ScenarioError(
                    f"{files} do not tell the {key}; say {example}, or measure it ({how})"
                )


def estimate(files: Sequence[str | Path]) -> Estimates:
    """What measurements say of a link.

    Args:
        files: of iperf3 (JSON or text), ping, irtt (JSON), or captures (pcap, pcapng; they need tshark).

    Raises:
        ScenarioError: a file is none of these, or damaged, or says nothing.
        OSError: it cannot be read.
    """
    from bentpipe.measured import capture, iperf3, probes
    from bentpipe.measured.recognise import kind
    from bentpipe.timeline.traces import irtt, ping

    if isinstance(files, str | Path):
        files = [files]
    found: list[Estimate] = []
    tests: list[Path] = []
    for file in map(Path, files):
        match kind(file):
            case "capture":
                found += capture.estimates(file)
            case "iperf3":
                tests.append(file)
            case "irtt":
                found += probes.estimates(file, irtt.sent(file))
            case _:
                found += probes.estimates(file, ping.sent(file), PING_DIGITS)
    floor = best(found, "rtt_s")  # of probes and captures, which see it better than a test
    for file in tests:
        found += iperf3.estimates(file, None if floor is None else floor.value)
    if not found:
        raise _core.ScenarioError("measured: no file is given")
    return Estimates(found)


def measured_files(first: Sequence[Path] | None, more: Sequence[Path] | None) -> list[Path]:
    """The files of `--measured FILE...`: those of the option, and those that follow.

    Raises:
        ScenarioError: files are given without the option.
    """
    if more and not first:
        raise _core.ScenarioError(f"{more[0]}: say what it is, --link, --scenario or --measured")
    return [*(first or ()), *(more or ())]


def scenario_text(files: Sequence[str | Path]) -> str:
    """A commented scenario file of the link that the files were measured on, with one CUBIC flow.

    Raises:
        ScenarioError: a file is wrong, or they tell no rate or no round-trip time; the message asks for it.
        OSError: a file cannot be read.
    """
    found = estimate(files)
    link = found.link({})
    rate, rtt, loss, buffer = (found.of(name) for name in ("rate_bps", "rtt_s", "loss", "buffer_bytes"))
    assert rate is not None and rtt is not None
    names = ", ".join(Path(file).name for file in files)
    lines = [
        f"# Estimated from {_comment(names)}. A range in brackets is what the files leave open.",
        f'title = "one CUBIC flow over a link estimated from {_quoted(names)}"',
        'duration = "60 s"',
        "seed = 1",
        "",
        "[link.sat]",
        f"# {_comment(str(rate))}",
        f'rate = "{rate.value / 1e6:.4g} Mbit/s"',
        f"# {_comment(str(rtt))}; half of it is the delay of each way",
        f'delay = "{rtt.value / 2 * 1e3:.6g} ms"',
    ]
    if buffer is not None:
        lines += [
            f"# {_comment(str(buffer))}",
            f'queue = {{ kind = "drop-tail", limit = "{buffer.value:.0f} bytes" }}',
        ]
    else:
        lines += [
            "# The files do not tell the buffer: one bandwidth-delay product, as for any link.",
            'queue = { kind = "drop-tail", limit = "1 bdp" }',
        ]
    if loss is None:
        lines += ["# The files do not tell the loss: none."]
    else:
        lines += [f"# {_comment(str(loss))}"]
        if loss.bursts is not None:
            lines += [f"# Losses come in bursts, {loss.bursts.length:.3g} in a row on average."]
            chain = link.loss
            assert isinstance(chain, GilbertElliott)
            lines += [
                f'loss = {{ kind = "gilbert-elliott", p = {chain.p:.4g}, r = {chain.r:.4g}, '
                f"good_loss = 0.0, bad_loss = {chain.bad_loss:.4g} }}"
            ]
        elif loss.value > 0:
            lines += [f'loss = {{ kind = "{PacketError.kind}", rate = {loss.value:.4g} }}']
    lines += ["", "[[flow]]", 'cc = "cubic"', 'path = ["sat"]', ""]
    return "\n".join(lines)


def _span(name: str, one: Estimate, scale: float, unit: str) -> Span:
    """The range of an estimate, or its value if that is as good as one."""
    low, high = one.low / scale, one.high / scale
    if high - low <= _SAME * high:
        low = high = one.value / scale
    return Span(name, low, high, unit)


def _chain(loss: Estimate | None) -> GilbertElliott:
    assert loss is not None and loss.bursts is not None
    return GilbertElliott(p=loss.bursts.p, r=loss.bursts.r, good_loss=0.0, bad_loss=loss.bursts.bad_loss)


def _comment(text: str) -> str:
    """Text that stays in its line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _quoted(text: str) -> str:
    return _comment(text).replace("\\", "\\\\").replace('"', '\\"')

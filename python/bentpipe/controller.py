"""The base class of congestion controllers written in Python.

A controller keeps its window in `cwnd` and its slow-start threshold in `ssthresh`, both in segments, and
changes them on an acknowledgement or on congestion. The sender does the rest: fast recovery, retransmission,
the limits of the receiver. Reno, complete:

    import bentpipe as bp

    class MyReno(bp.Controller):
        def on_ack(self, flow, ack):
            if flow["phase"] == "recovery" or not flow["cwnd_limited"]:
                return
            segments = (ack["acked"] - ack["uncounted"]) / flow["mss"]
            if self.cwnd < self.ssthresh:
                self.cwnd += segments
            else:
                self.cwnd += segments / self.cwnd

        def on_congestion(self, flow, why):
            if self.cwnd > 1:  # not at a timeout that follows another
                self.ssthresh = max(self.cwnd / 2, 2)
            self.cwnd = 1 if why == "timeout" else self.ssthresh

Use the class wherever an algorithm is named: `bp.Flow(MyReno, path=["sat"])`, or on the command line
`bentpipe compare --link geo --cc reno,my.py:MyReno`.

A window grows in the phase "loss", too: that is the slow start after a timeout. An exception of a controller,
or a window that is not a number, ends the run in a `ControllerError`. It names class, method, file and line,
simulated time and flow.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict

from bentpipe import _core
from bentpipe.machine.watchdog import LIMIT_S
from bentpipe.registry import check_parameters, find, unknown


class FlowState(TypedDict):
    """The state of a flow, up to date before any method is called. Times in seconds, data in bytes."""

    now_s: float
    """The present instant."""
    mss: int
    """Payload of a full segment."""
    in_flight: int
    """Sent and believed to be in the network."""
    delivered: int
    """Delivered to the receiver so far, in order or not."""
    lost: int
    """Declared lost so far."""
    rtt_s: float | None
    """The latest round-trip time sample; None, as the next three, before the first."""
    rtt_min_s: float | None
    """The smallest sample so far."""
    srtt_s: float | None
    """Smoothed round-trip time (RFC 6298)."""
    rttvar_s: float | None
    """Its variation (RFC 6298)."""
    round: int
    """Round trips completed."""
    phase: str
    """One of "open", "recovery" (fast recovery) or "loss" (after a timeout)."""
    cwnd_limited: bool
    """Whether the window, and nothing else, limited the sender in the last round trip."""
    reduced: bool
    """At a timeout: has congestion cut the window already in the window of data that is outstanding? A window
    algorithm then keeps its slow-start threshold."""
    rwnd: int | None
    """The receive window; None if it does not bind."""


class AckReport(TypedDict):
    """The data of an acknowledgement. Times in seconds, data in bytes."""

    acks: int
    """Acknowledgements in this report."""
    acked: int
    """Newly delivered."""
    lost: int
    """Newly declared lost."""
    uncounted: int
    """The part of `acked` that must not count for growth: beyond one segment an ACK (RFC 5681), or two (RFC
    3465). All of it, if no ACK advanced."""
    ce: int
    """Newly acknowledged as marked "congestion experienced"."""
    round_end: bool
    """Whether this is the last acknowledgement of a round trip."""
    rtt_s: float | None
    """Mean of the round-trip time samples; None, as the next two, without a sample."""
    rtt_min_s: float | None
    """The smallest of them."""
    rtt_max_s: float | None
    """The largest of them."""
    rate: int | None
    """Delivery rate in bytes per second; None without a sample."""
    app_limited: bool
    """Whether the sender was short of data when the segment of that sample was sent."""


class PathChange(TypedDict):
    """A hint that the path changes hands: another satellite, gateway or route. Times in seconds."""

    ahead_s: float
    """Time until the change; 0 if it has happened."""
    dark_s: float
    """Time from then on in which nothing passes; 0 also if unknown."""


class RateChange(TypedDict):
    """A hint that the rate of the path's slowest link changes. Rates in bytes per second."""

    ahead_s: float
    """Time until the change; 0 if it has happened."""
    before: float
    """The rate until then."""
    after: float
    """The rate from then on."""


class LinkQuality(TypedDict):
    """A hint that the errors of the path change."""

    ahead_s: float
    """Time until the change; 0 if it has happened."""
    bit_error_rate: float
    """The share of bits in error from then on. A packet error rate counts as the one with the same effect."""


class Controller(ABC):
    """A congestion-control algorithm: subclass it and write `on_ack` and `on_congestion`.

    A subclass may also define `on_undo(flow)`: the last congestion was spurious, and `cwnd` and `ssthresh`
    have been set back already; `on_life(flow, what)`: "idle_restart", "recovered", "mss_changed" or
    "window_validated" happened;
    `on_path_change(flow, change)`: a hint that the path changes hands, given to classes that define it
    unless the flow's `path_hints` says otherwise; `on_rate_change(flow, change)`: a hint that the rate of the
    path changes, given if the flow's `rate_hints` says so; `on_link_quality(flow, change)`: a hint that the
    errors of the path change, given to classes that define it unless `quality_hints` says otherwise;
    `backoff(flow, why) -> (cwnd, ssthresh)`: what `on_congestion` would do, without doing it; and
    `probes() -> dict[str, float | None]`: quantities inside it by name, for runs that record them
    (`Record(probes=True)`); a name ends in its unit, as "base_rtt_s", and None is a value not known yet.

    Args:
        mss: payload bytes of a full segment.
        initial_window: the window to start with, in segments.
    """

    cwnd: float
    """Congestion window in segments, finite and not negative; below 1 it counts as 1."""
    ssthresh: float
    """Slow-start threshold in segments, not negative; first `math.inf`, or the flow's `initial_ssthresh`."""
    pacing_rate: float | None = None
    """Rate to send at, in bytes per second, finite and not negative; None leaves pacing to the sender."""

    call_limit_s: float = LIMIT_S
    """How long a call of a method may take, in seconds of real time; then the run ends with an error."""

    def __init__(self, mss: int, initial_window: float) -> None:
        self.mss = mss
        self.cwnd = initial_window
        self.ssthresh = math.inf

    @classmethod
    def files_read(cls) -> list[Path]:
        """Files that the controller reads beside its source. A stored run is repeated if one has changed."""
        return []

    @abstractmethod
    def on_ack(self, flow: FlowState, ack: AckReport) -> None:
        """New data was acknowledged."""

    @abstractmethod
    def on_congestion(self, flow: FlowState, why: str) -> None:
        """A congestion episode began; `why` is "loss", "ecn" or "timeout".

        Called once per episode, and again at each timeout that follows another. There the threshold stays as
        the first has set it (RFC 5681 section 3.1).
        """


def is_own(name: str) -> bool:
    """Is this the name of a controller in a file, "FILE.py:CLASS"?"""
    return ":" in name and not name.startswith(("python:", "javascript:"))


def only_named(name: Any) -> str | None:
    """Why a controller cannot run that a scenario only names, and what to do; None for every other name."""
    kind, _, own = name.partition(":") if isinstance(name, str) else ("", "", "")
    if kind == "javascript":
        return (
            f"{own} is a controller written in JavaScript, which runs only in the page that simulates; "
            f"write it in Python (docs/own-controller.md), and name it FILE.py:{own}"
        )
    if kind == "python":
        return (
            f"{own} is a controller written in Python, which the scenario only names; "
            f"give it again: --cc FILE.py:{own}, or cc={own} in Python"
        )
    return None


def load_controller(spec: str) -> type[Controller]:
    """The controller class that "FILE.py:CLASS" names.

    Raises:
        ScenarioError: the file cannot be read or run, or has no such class, or the class lacks a method.
    """
    file, _, name = spec.rpartition(":")
    path = Path(file)
    if not path.is_file():
        beside = {one.stem: one for one in sorted(path.parent.glob("*.py"))}
        near = [f"{beside[stem]}:{name}" for stem in _core.nearest(path.stem, list(beside))]
        hint = f"; did you mean {near[0]}?" if near else ""
        raise _core.ScenarioError(f"{spec}: there is no file {file!r}{hint}")
    known = importlib.util.spec_from_file_location(f"bentpipe_user_{path.stem}", path)
    if known is None or known.loader is None:
        raise _core.ScenarioError(f"{spec}: {file} is not a Python file")
    module = importlib.util.module_from_spec(known)
    sys.modules[known.name] = module
    try:
        known.loader.exec_module(module)
    except Exception as error:
        raise _core.ScenarioError(f"{spec}: {file} does not load: {_one_line(error)}") from error
    found: Any = getattr(module, name, None)
    if found is None:
        classes = [n for n, v in vars(module).items() if isinstance(v, type) and v.__module__ == known.name]
        raise _core.ScenarioError(f"{spec}: {unknown('class', name, classes)}")
    check_controller(found, spec)
    return found  # type: ignore[no-any-return]


def check_controller(found: Any, spec: str) -> None:
    """Checks that `found` is a class with the methods of a controller, none of them a generator or `async`.

    Raises:
        ScenarioError: it is not; `spec` names it in the message.
    """
    if not isinstance(found, type):
        raise _core.ScenarioError(f"{spec}: {found!r} is not a class")
    missing = {name for name in ("on_ack", "on_congestion") if not callable(getattr(found, name, None))}
    missing |= getattr(found, "__abstractmethods__", frozenset())
    if missing:
        raise _core.ScenarioError(f"{spec}: the class does not define {' and '.join(sorted(missing))}")
    try:
        inspect.signature(found).bind(1448, 10.0)
    except TypeError as error:
        raise _core.ScenarioError(
            f"{spec}: __init__ is called as __init__(mss, initial_window): {_one_line(error)}; "
            "derive the class from bp.Controller, or let __init__ take the two and hand them on"
        ) from None
    except ValueError:  # it has no signature to look at
        pass
    for name in _METHODS:
        if any(is_so(getattr(found, name, None)) for is_so in _LAZY):
            raise _core.ScenarioError(
                f"{spec}: {name} has a yield or is an async def, so a call would not run it; write it without"
            )


def misspelt(objects: Iterable[Any]) -> list[str]:
    """Warnings about attributes and methods that look like those of `Controller` but are not.

    Args:
        objects: controllers after a run; each class is looked at once.
    """
    said: dict[str, None] = {}
    for made in {type(one): one for one in objects}.values():
        own = [name for name in (*vars(made), *_defined(type(made))) if name not in _KNOWN]
        for name in own:
            near = next((known for known in _LOOKED_FOR if _alike(name, known)), None)
            if near is not None:
                what = "method" if callable(getattr(made, name, None)) else "attribute"
                said[f"{type(made).__name__}.{name}: nothing reads this {what}; did you mean {near}?"] = None
    return list(said)


def _defined(cls: type) -> list[str]:
    """The names that a class and its bases define, without those of `Controller`."""
    return [name for base in cls.__mro__ if base not in (Controller, ABC, object) for name in vars(base)]


def _alike(name: str, known: str) -> bool:
    """Whether `name` is a misspelling of `known`: two letters swapped, or one wrong, missing or extra.

    A user's own names are not: the first letter is right (not rwnd), and nothing is added at an end (not
    cwnd2, _cwnd).
    """
    name, n = name.lower(), len(known)
    if name[:1] != known[0]:
        return False
    if len(name) == n:
        wrong = [i for i in range(n) if name[i] != known[i]]
        swapped = len(wrong) == 2 and [name[i] for i in wrong] == [known[i] for i in reversed(wrong)]
        return len(wrong) <= 1 or (swapped and wrong[1] == wrong[0] + 1)
    if len(name) == n - 1:
        return any(name == known[:i] + known[i + 1 :] for i in range(1, n))
    return len(name) == n + 1 and any(known == name[:i] + name[i + 1 :] for i in range(1, n))


_METHODS = (
    "__init__",
    "on_ack",
    "on_congestion",
    "on_undo",
    "on_life",
    "on_path_change",
    "on_rate_change",
    "on_link_quality",
    "backoff",
    "probes",
    "files_read",
)
_KNOWN = ("cwnd", "ssthresh", "pacing_rate", "mss", *_METHODS)
_LOOKED_FOR = tuple(name for name in _KNOWN if name not in ("mss", "__init__"))
_LAZY = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def named_algorithm(given: Any) -> Any:
    """The value of `Flow.cc` for one of the algorithms to compare."""
    if isinstance(given, str) and is_own(given):
        return load_controller(given)
    if isinstance(given, str):
        if (wrong := only_named(given)) is not None:
            raise _core.ScenarioError(f"cc: {wrong}")
        name, *arguments = given.split() or [given]
        known = find(name)["id"]
        parameters = dict(map(_argument, arguments))
        check_parameters(known, parameters)
        return {"name": known, **parameters} if parameters else known
    return given


def spelled(algorithm: Any) -> str:
    """An algorithm as a command or a file names it, to the last digit: "vegas alpha=2.0"."""
    if isinstance(algorithm, str):
        return algorithm
    if isinstance(algorithm, Mapping):
        return " ".join([str(algorithm["name"]), *parameters(algorithm)])
    return str(getattr(algorithm, "__qualname__", algorithm))


def parameters(cc: Any) -> list[str]:
    """The parameters of an algorithm, each as a command has it: "alpha=2.0"."""
    given = cc.items() if isinstance(cc, Mapping) else ()
    return [f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in given if k != "name"]


def _argument(text: str) -> tuple[str, Any]:
    """Name and value of "NAME=VALUE", one parameter of an algorithm."""
    name, _, value = text.partition("=")
    if not (name and value):
        raise _core.ScenarioError(f"cc: {text!r} is no parameter; write e.g. path_change=reset")
    if value in ("true", "false"):
        return name, value == "true"
    try:
        return name, float(value)
    except ValueError:
        return name, value

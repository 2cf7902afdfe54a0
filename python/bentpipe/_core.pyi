from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "EVENTS_PER_PROGRESS",
    "VECTOR_EVENTS",
    "ControllerError",
    "EmulatedNetwork",
    "Environments",
    "KernelAgent",
    "KernelError",
    "KernelGroup",
    "RawResult",
    "ScenarioError",
    "ScenarioText",
    "Threads",
    "__version__",
    "check",
    "controllers",
    "drawn_line",
    "drawn_profiles",
    "drill",
    "kernel_detach",
    "kernel_gaps",
    "kernel_status",
    "kernel_support",
    "kernel_sweep_groups",
    "key_parts",
    "measures",
    "nearest",
    "orbit_network",
    "orbit_path",
    "orbit_shells",
    "orbit_snapshot",
    "queues",
    "random_scenario",
    "read_file",
    "run",
    "schema",
    "tables",
    "units",
    "vectors",
]

__version__: str

VECTOR_EVENTS: list[str]
EVENTS_PER_PROGRESS: int
"""A run reports its progress once in so many events."""

class ControllerError(RuntimeError):
    """A controller written in Python failed; the message says which, where and when."""

    lines: tuple[str, ...]
    """The message in a few lines: what happened, the line of the source, when and in which flow, what would
    be right. Empty if there is no more to say than the message."""

class ScenarioError(ValueError):
    """A scenario, or a request to do with one, is wrong; the message is one line for each mistake."""

    mistakes: tuple[str, ...]
    """The lines of the message, if the scenario was read or checked as a whole; empty otherwise."""

@final
class EmulatedNetwork:
    """Ends, which are network namespaces without names, and links between ends that run by the wall clock. On
    Linux alone. Failures for want of privilege are OSErrors whose message says what it takes."""

    def __new__(
        cls,
        ends: int,
        links: list[tuple[int, int, str]],
        interval_ns: int | None = None,
        capture: tuple[str, str, bool] | None = None,
        mtu: int = 1500,
    ) -> Self:
        """Links are numbers of a near and a far end, and a scenario as JSON: the route of its first flow.
        Other flows on this route have their own access delays and jitter; see `flow_addresses`.

        With `interval_ns`, samples are taken so often. A capture is a path, a place, and whether packets are
        kept whole. `mtu` is the largest packet of all links, bytes.
        """

    def start_relay(self, scenario: str, controllers: list[str]) -> str:
        """Makes end 1 a relay between the first two links, with the buffer of the scenario's first flow.

        `controllers` are the kernel's names, the best first; gives that with which the relay sends.
        """

    def relayed(self) -> str:
        """What the relay has done so far, as JSON; null without one."""

    @property
    def changes_until_s(self) -> float | None:
        """Until when rates, delays or losses change; None if they never do. The last values then hold."""

    def start(self) -> None:
        """Time 0: packets are forwarded from now on."""

    def check(self) -> None:
        """Raises an OSError if a link has stopped forwarding by itself."""

    def enter(self, end: int) -> None:
        """Moves the calling thread to an end. Threads and processes that it starts are there, too."""

    def open_outside(self, end: int, interface: str, closed: bool) -> None:
        """Lets the ends reach what is behind an interface of the caller's namespace, through that end.

        If `closed`, nothing but what belongs to emulations is forwarded that comes in by the interface.
        """

    def descriptor(self, end: int) -> int:
        """The file descriptor of an end's namespace."""

    @staticmethod
    def addresses(link: int) -> tuple[str, str]:
        """Addresses of the near and the far end of a link."""

    @staticmethod
    def addresses_ipv6(link: int) -> tuple[str, str]:
        """Addresses of IPv6 of the near and the far end of a link."""

    def flow_addresses(self, link: int) -> dict[int, str]:
        """The addresses of the far end of a link, by the index of a flow in the scenario.

        Packets from or to an address have the access delay and the jitter of its flow.
        """

    @property
    def has_ipv6(self) -> bool:
        """Do the ends have addresses of IPv6?"""

    def status(self, link: int, histogram: bool = False) -> str:
        """What the link has done so far, as JSON."""

    def stop(self) -> int:
        """Ends forwarding, completes the capture, and says how many packets that has missed."""

    def link_reports(self) -> str:
        """After the end, a row for each direction that is crossed, as in a run's report: JSON."""

    def link_trace(self) -> dict[str, NDArray[np.generic]]:
        """After the end, samples of these directions, a column a name, as in a run's result."""

@final
class Environments:
    """Runs that pause at the end of each step, for agents that learn.

    The settings are one JSON object: `flows` (names of the flows that agents control), `acts` ("rate",
    "window", "both"), `step` ("ack", {"rtts": 0.5} or {"seconds": 0.1}), `scale`, `bounds` (two numbers),
    `observe` (names of measures), `history`, `reward` (a list of name and weight), `most_steps` (or null).
    """

    def __new__(cls, settings: str, count: int, threads: int) -> Self: ...
    def step(
        self,
        arrays: dict[str, NDArray[np.generic]],
        fresh: Sequence[tuple[int, str, list[float]]],
        only_fresh: bool,
    ) -> None:
        """Begins the episodes of `fresh` (number, scenario as JSON, first rate of each agent as a multiple of
        that of its slowest link), and makes a step in each other environment unless `only_fresh`.

        The arrays are flat: `actions` (float64) is read, and `observations` (float32), `rewards`, `measures`
        (float64), `complete` and `cut_off` (bool) are filled. Python's lock is not held meanwhile.
        """

@final
class RawResult:
    """What a run yields: one JSON object, and traces as columns."""

    @property
    def json(self) -> str: ...
    @property
    def scenario(self) -> str: ...
    @property
    def flow_names(self) -> list[str]: ...
    @property
    def link_names(self) -> list[str]: ...
    def trace(self) -> dict[str, NDArray[np.generic]]: ...
    def link_trace(self) -> dict[str, NDArray[np.generic]]: ...
    def port_trace(self) -> dict[str, NDArray[np.generic]]: ...
    def segments(self) -> dict[str, NDArray[np.generic]]: ...
    def probes(self) -> dict[str, NDArray[np.generic]]: ...
    def transfers(self) -> dict[str, NDArray[np.generic]]: ...
    @property
    def probe_names(self) -> list[str]: ...
    @property
    def event_names(self) -> list[str]: ...

@final
class ScenarioText:
    """The text of a scenario, read and parsed once: that of a file, or the one that is given."""

    def __new__(
        cls, name: str, path: str | PathLike[str] | None = None, text: str | None = None
    ) -> ScenarioText:
        """Messages call it `name`. ScenarioError: the file cannot be read."""

    @property
    def text(self) -> str:
        """The text as it was written."""

    def load(self, overrides: Sequence[tuple[str, str]] = ..., sweep: bool = False) -> str:
        """The scenario with overrides, checked, as JSON.

        Files of overrides are in the working directory, or else beside the scenario. Of the file of a
        sweep, the keys that say what is varied (`vary`, `seeds`) are left out.
        """

@final
class Threads:
    """Threads that run scenarios, which they also read and check; 0: one a core."""

    def __new__(cls, threads: int = 0) -> Threads: ...
    @property
    def threads(self) -> int: ...
    def start(self, number: int, scenario_json: str) -> None:
        """Gives a scenario to the next free thread; `number` is what its result is called by."""

    def finished(self, timeout_s: float) -> list[tuple[int, RawResult | Exception]]:
        """Waits for a result, or as long as that, and gives all that there are."""

    def stop(self) -> None:
        """Ends the runs in hand, forgets those that wait, and waits for the threads."""

def controllers() -> str: ...
def queues() -> str: ...
def units() -> str:
    """The units of "time" (ns), "rate" (bit/s) and "size" (bytes) as JSON.

    Of each unit the factor and its spellings, the usual one first.
    """

def nearest(wrong: str, names: list[str]) -> list[str]:
    """Those of `names` that look like `wrong`, best first, at most three."""

def check(scenario_json: str) -> str: ...
def key_parts(key: str) -> list[str] | None:
    """The parts of a dotted key, each without its quotes; None if it is no key."""

def measures() -> str:
    """The measures of a monitor interval as a JSON list: `name`, `low`, `high`, `neutral`, `about`."""

def schema() -> str: ...
def read_file(path: str | PathLike[str], limit: int, head: bool = False) -> bytes:
    """The bytes of a regular file of at most `limit` bytes, as the simulator reads the files of a scenario;
    with `head`, the first of them, of a file of any size.

    No more is read than the file says it holds, so that nothing waits. ScenarioError says why a file is
    refused: a directory, a pipe, a device, a file of the kernel (/proc, /sys), or one that is larger.
    OSError: it cannot be opened.
    """

def tables() -> str:
    """The columns of all tables of a run, as JSON: a row of each, of zeros and empty texts."""

def random_scenario(data: bytes, losses: str) -> str:
    """The random scenario that some bytes stand for, as TOML: for tests.

    `losses` is the file that its traces of losses name.
    """

def drawn_profiles() -> str:
    """The constants of the models by the names of their profiles, each with its interval, as JSON.

    Beside `profiles` it has `period_s` and `phase_s`: the time between reconfigurations, and the first one
    after a full minute.
    """

def drawn_line(table_json: str, seed: int, duration_ns: int) -> dict[str, Any]:
    """The line of a table `timeline` that a scenario accepts.

    Columns t_s, rate_bps, delay_s, up and handover; outages, pairs of seconds; nominal, rate and delay.
    """

def run(
    scenario_json: str,
    controllers: dict[str, Callable[..., Any]] | None = None,
    progress: Callable[[float], Any] | None = None,
    capture: tuple[str, str, bool] | None = None,
    threads: int = 1,
) -> RawResult: ...
def drill(text: str, strict: bool) -> tuple[str, int, str]:
    """Plays a packetdrill script: what came of it in a word, the line that is to blame, and what it says."""
    ...

def vectors(scenario_json: str, sequences: int, calls: int, without: list[str]) -> str:
    """Test vectors of the controller of the scenario's first flow that has one of the registry's."""
    ...

def orbit_shells() -> str:
    """The shells that have a name, as a JSON list of objects.

    Each has `name`, `about`, `source`, `planes`, `per_plane`, `inclination_deg`, `altitude_km`,
    `mean_motion_rev_per_day`,
    `raan_span_deg`, `phase` (`"half-slot"` or `{"walker": F}`), `min_elevation_deg`, `greatest_length_km` (or
    null), `lasers`, and
    `epoch` (UTC, `"2000-01-01T00:00:00Z"`).
    """

def orbit_path(request_json: str, progress: Callable[[float], Any] | None = None) -> dict[str, Any]:
    """The path between two ground points over a duration, and how long light takes for it.

    The request is one JSON object. Keys without a default are needed; a key that is not known is an error.

    - `satellites`: exactly one of
      `{"shell": NAME}`;
      `{"walker": {"planes", "per_plane", "inclination_deg", and either "altitude_km" or
      "mean_motion_rev_per_day";
      "raan_span_deg": 360, "phase": "half-slot" or {"walker": F}, "min_elevation_deg": 25, "lasers": true,
      "epoch": "2000-01-01T00:00:00Z"}}`;
      `{"tle": TEXT, "file": NAME}` (lines of two or three; `file` is what messages call the text);
      `{"omm": TEXT, "format": "json" | "csv" | "kvn", "file": NAME}`.
    - `a`: a ground point, `{"name", "lat", "lon", "alt_m": 0, "min_elevation_deg": null}`, or one that moves,
      `{"name", "waypoints": [[t_s, lat, lon, alt_m], ...], "min_elevation_deg": null}` (great circles at
      constant speed; held before
      the first waypoint and after the last). WGS 84, geodetic, degrees.
    - `b`: the other ground point; null only if there are gateways.
    - `gateways`: [] ground points, for `mode` "bent-pipe". Without any, `b` is at the other end of the bent
      pipe. With some and no
      `b`, the path ends at the gateway. With both, the leg from the gateway to `b` is a great circle on the
      ground.
    - `duration_s`, `step_s`. Rows are at 0, step_s, ... below duration_s, and at each end of a handover's
      break.
    - `epoch`: null, the UTC instant of t_s = 0. By default the shell's own, or that of the newest TLE or OMM.
    - `mode`: null, `"lasers"` or `"bent-pipe"`. By default lasers if the shell has them.
    - `choose`: `"shortest-path"` (default), `"highest-elevation"` or `"longest-visible"`.
    - `when`: `"every-step"` (default), `"when-lost"`, or `{"every_s": 15, "first_s": 0}`. What is chosen and
      held is the first and
      the last satellite, and the gateway; a satellite that is lost is replaced at once. Between them the
      lasers' path is the shortest at each step.
    - `min_elevation_deg`: null, by default the shell's (25 degrees for a TLE or OMM). That of a ground point
      comes first.
    - `reach`: `"elevation"` (default), or `"length"`: in reach is a satellite up to `greatest_length_km`
      away, as in Hypatia.
      `greatest_length_km`: null, by default the shell's own, or else altitude / sin(min_elevation_deg).
    - `handover_break_s`: 0. For so long after a change of the first satellite, the last one or the gateway,
      `up` is false.
    - `ground_speed`: 0.6666666666666666, of light in the ground leg, as a share of c.
    - `ut1_minus_utc_s`: 0.

    The result has

    - `columns`: name to array, a row per step:
      `t_s` float64; `rtt_ms` float64, twice the time one way (which is rounded to whole nanoseconds), NaN if
      unreachable;
      `first_sat` and `last_sat` int64, -1 if unreachable (plane x per_plane + slot from 0; of a TLE or OMM
      the NORAD number);
      `gateway` int32, index, -1 if none; `hops` int32, radio and laser links, 0 if unreachable;
      `reachable` bool; `up` bool, reachable and no break; `handover` bool: the path is another than that of
      the last reachable row;
      `access` bool: a handover at which the first satellite, the last one or the gateway changed (not only
      the route between);
      `first_elevation_deg` and `last_elevation_deg` float64, NaN if unreachable;
      `a_in_reach` and `b_in_reach` int32: satellites in reach of `a`, and of `b`; of a bent pipe, those in
      reach of `a` that reach the other end too;
      `route` int32: index into `routes`, -1 if unreachable.
    - `routes`: list of lists of satellites, from `a` to `b`.
    - `info`: JSON object: `epoch`, `satellites` (their number), `mode`, `min_elevation_deg`, `shell` (or
      null), `warnings` (list).

    A request that is wrong raises ScenarioError, one line. Ctrl-C ends the work within a second. `progress`
    is told the share
    that is done, from 0 to 1, some ten times a second.
    """

def orbit_network(request_json: str, progress: Callable[[float], Any] | None = None) -> dict[str, Any]:
    """The next hop from every satellite and station of a constellation to every station, over time.

    The request is one JSON object with `satellites`, `duration_s`, `step_s`, `epoch`, `min_elevation_deg`,
    `reach`, `greatest_length_km` and `ut1_minus_utc_s` as for `orbit_path`; `stations`, a list of points;
    `lasers`, pairs of satellites by index (by default the +grid of the shell); `threads` (1). The rules of
    routing are `route` ("length" or "hops"), `choose` and `when` as for `orbit_path`, `relays`, `failures`.

    Nodes are satellites by index, then stations. Returns `tables` (arrays t_ns, node, destination, next,
    -1 without a path) and `paths` (t_ns, from, to, delay_ns, infinite without a path), which hold changes;
    `via`, the nodes on all paths in a row, and `ends`, where those of each path end in it; `failed` (arrays
    node and laser (one of them is -1), from_ns, to_ns); `satellites` (numbers), `lasers` (pairs), `tles`
    (the text of a shell, or None), and `info`, JSON with epoch, shell, min_elevation_deg, warnings.

    Raises:
        ScenarioError: a value is wrong.
        KeyboardInterrupt: it was interrupted.
    """

def orbit_snapshot(request_json: str, t_s: float) -> dict[str, Any]:
    """Where satellites and ground points of a request are at one instant: for a map.

    `sat` int64, `lat` and `lon` in degrees (WGS 84, geodetic), `alt_km`, all arrays; `points`: list of
    `(name, lat, lon, alt_m)` of `a`, `b` and the gateways; `lasers`: list of pairs of satellites with a laser
    link.
    """

class KernelError(RuntimeError):
    """The kernel's datapath could not be used; the message is one line."""

@final
class KernelAgent:
    """A controller in the kernel's TCP: the datapath under a name of its own, and a thread that serves it."""

    def __new__(
        cls,
        spec: str | dict[str, float | bool | str] | Callable[[int, float], object],
        *,
        name: str | None = None,
        native: bool = False,
        pin: str | PathLike[str] | None = None,
        flows: int = 8192,
        ring_bytes: int = ...,
        paced: bool = False,
    ) -> Self:
        """Loads and registers it; `KernelError` says what is missing, before anything is changed.

        `spec` is an algorithm of the registry, such a one with parameters (`{"name": "hswa", "a": 2}`), or a
        class of a controller. The kernel's `name` is `bp_` and the algorithm's unless given, cut to 15
        characters; with `native` the in-kernel program `bpn_...` is registered and there is no agent. With
        `pin`, a directory, it outlives the process, and one that is pinned there already is taken up again,
        flows and all. `paced` paces sockets by cwnd / srtt where the controller leaves that open.
        """
    @property
    def name(self) -> str: ...
    def status(self) -> str:
        """What it is doing, as JSON."""
    def step(self, timeout_s: float) -> bool:
        """Waits for the end of the agent, at most so long: true if it has ended. Raises what ended it."""
    def close(self) -> None:
        """Ends the agent, and unregisters the algorithm unless it is pinned."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: object) -> None: ...

@final
class KernelGroup:
    """A control group below the caller's whose TCP connections use one algorithm of the kernel."""

    def __new__(cls, name: str) -> Self: ...
    @property
    def path(self) -> Path | None:
        """The group's directory; None once it is closed."""
    def take(self, pid: int) -> None:
        """Puts a process into the group; what it starts stays there too."""
    def close(self) -> None:
        """Takes the program away and removes the group."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: object) -> None: ...

def kernel_support() -> str:
    """What this machine and this build can do, each fact with a reason, as JSON."""

def kernel_status() -> str:
    """Every datapath and native program on this machine, as a list in JSON."""

def kernel_detach(name: str, pin: str | PathLike[str] | None = None) -> bool:
    """Unregisters what is pinned as `name` in the directory `pin`, or was left behind; false for nothing."""

def kernel_sweep_groups() -> str:
    """Removes the control groups of runs that were killed; a list in JSON of path, moved (pids), removed."""

def kernel_gaps(name: str) -> list[str]:
    """What the kernel's TCP cannot carry of an algorithm, a sentence each."""

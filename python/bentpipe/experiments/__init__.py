"""Every experiment of the laboratory in one list.

Papers are studies (`bentpipe.papers`, `bentpipe.studies`). The others that `bentpipe study run` runs are
modules here, each with a class (`bentpipe.experiments.experiment`). The rest has a verb of its own.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bentpipe.experiments.experiment import Experiment


OWN = {
    "leo": ("leo.page:Leo", "", "Every controller over paths that move"),
    "satellite-2026": (
        "satellite_2026.page:Satellite2026", "", "Start-up, files, pages and films over satellites",
    ),
    "buffers": ("buffers:Buffers", "", "Every controller behind buffers of 1/16 to 4 BDP over GEO"),
    "gallery": ("gallery:Gallery", "", "The window of every controller over one GEO link"),
    "simd-tfrc": ("announced.simd_tfrc:SimdTfrc", "", "SIMD beside TFRC, which its paper announces"),
    "star-http": ("announced.star_http:StarHttp", "", "Web pages over TCP-STAR, which its paper announces"),
    "hswa-links": ("announced.hswa_links:HswaLinks", "", "HSWA-TCP over asymmetric links, and in rain"),
    "hypatia": ("hypatia:Hypatia", "", "A loaded constellation, as in Hypatia's paper and beyond it"),
    "network-rules": ("network_rules:NetworkRules", "", "Each rule of a loaded constellation, changed alone"),
    "starlink": ("starlink.capacity:OverCapacity", " --data DIR", "BBR over measured Starlink capacity"),
    "starlink-model": ("starlink.model:Validation", " --data DIR", "TCP over the model of Starlink"),
    "starlink-race": ("starlink.model:StarlinkRace", "", "Algorithms over all ends of the model of Starlink"),
    "starlink-both": ("starlink.model:Both", "", "A download and an upload over the model of Starlink"),
    "linux-truth": ("truth:LinuxTruth", "", "Simulator beside Linux kernel, as root"),
    "paused-truth": ("truth:PausedTruth", "", "Traffic that pauses beside Linux kernel, as root"),
    "quic-truth": ("truth:QuicTruth", "", "TCP and QUIC, simulated and real, as root"),
    "leocc": ("leo.leocc:LeoCC", " --data DIR", "LeoCC in its authors' setting and in ours"),
}  # fmt: skip
"""The experiments of this package by name: module and class, what follows the name where it is run, title."""

OTHERS = {"rfc9743": ("bentpipe evaluate NAME", "An algorithm beside CUBIC and Reno, by RFC 9743")}
"""Experiments that `bentpipe study run` does not run, by name: how they are run, title."""


def listed() -> list[dict[str, str]]:
    """All experiments: papers, those of this package, others.

    Each has a `name`, a `title`, and a `command`, the line of a shell that runs it.
    """
    from bentpipe.studies import available

    run = "bentpipe study run "
    found = [(name, run + name, title) for name, title in available().items()]
    found += [(name, run + name + needs, title) for name, (_, needs, title) in OWN.items()]
    found += [(name, *other) for name, other in OTHERS.items()]
    return [{"name": name, "title": title, "command": command} for name, command, title in found]


def check_name(name: str) -> None:
    """Checks that `bentpipe study run` can run an experiment of this name.

    Raises:
        ScenarioError: there is none, or it is run in another way, which the message says.
    """
    from bentpipe._core import ScenarioError
    from bentpipe.registry import unknown
    from bentpipe.studies import available

    if name in OTHERS:
        raise ScenarioError(f"{name} is run by: {OTHERS[name][0]}")
    if name not in (known := [*available(), *OWN]):
        raise ScenarioError(unknown("study", name, known))


def load(name: str) -> type[Experiment]:
    """The experiment of `OWN` of that name, which is loaded now."""
    module, _, found = OWN[name][0].partition(":")
    kind: type[Experiment] = getattr(import_module(f"{__name__}.{module}"), found)
    return kind

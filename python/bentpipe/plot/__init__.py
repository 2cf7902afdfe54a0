"""Figures of results, in the size and type of a two-column paper, with the registry's colours and markers.

Each function returns a `Drawing`, a matplotlib figure that notebooks show and that has its numbers in
`data`. `save(figure, "cwnd.pdf", data=True)` writes it as vectors with embedded fonts, and cwnd.csv beside
it. Inside `with sized("screen"):` figures are drawn for a screen. docs/plots.md shows them all.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bentpipe.plot.cdfs import cdf
    from bentpipe.plot.drawing import Drawing, figure, save
    from bentpipe.plot.heatmaps import heatmap
    from bentpipe.plot.looks import HEIGHT, RC, SIZES, WIDTH, look, sized, styled
    from bentpipe.plot.over_key import against
    from bentpipe.plot.over_time import bdp_segments, cwnd, goodput, queue, rtt
    from bentpipe.plot.paths import over_path
    from bentpipe.plot.segments import sequence
    from bentpipe.plot.sharing import convergence
    from bentpipe.plot.standard import completion, fairness, friendliness, utilisation
    from bentpipe.plot.tradeoff import throughput_delay

_HOME = {
    "HEIGHT": "looks",
    "RC": "looks",
    "SIZES": "looks",
    "WIDTH": "looks",
    "Drawing": "drawing",
    "against": "over_key",
    "bdp_segments": "over_time",
    "cdf": "cdfs",
    "completion": "standard",
    "convergence": "sharing",
    "cwnd": "over_time",
    "fairness": "standard",
    "figure": "drawing",
    "friendliness": "standard",
    "goodput": "over_time",
    "heatmap": "heatmaps",
    "look": "looks",
    "over_path": "paths",
    "queue": "over_time",
    "rtt": "over_time",
    "save": "drawing",
    "sequence": "segments",
    "sized": "looks",
    "styled": "looks",
    "throughput_delay": "tradeoff",
    "utilisation": "standard",
}

__all__ = [
    "HEIGHT",
    "RC",
    "SIZES",
    "WIDTH",
    "Drawing",
    "against",
    "bdp_segments",
    "cdf",
    "completion",
    "convergence",
    "cwnd",
    "fairness",
    "figure",
    "friendliness",
    "goodput",
    "heatmap",
    "look",
    "over_path",
    "queue",
    "rtt",
    "save",
    "sequence",
    "sized",
    "styled",
    "throughput_delay",
    "utilisation",
]


def __getattr__(name: str) -> Any:
    """Loads a public name on its first use (PEP 562): the verbs start without matplotlib."""
    if name not in _HOME:
        raise AttributeError(f"module 'bentpipe.plot' has no attribute {name!r}")
    value = getattr(import_module(f"bentpipe.plot.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

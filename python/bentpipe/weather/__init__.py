"""Weather: rain over a place by the ITU-R recommendations, and a modem that follows it.

    import bentpipe as bp

    station = bp.weather.Station("1.35,103.82", band="ka", geo="100E")
    bp.weather.attenuation(station)                       # exceeded for shares of an average year
    bp.weather.fade(station, availability=99.5, seed=1)   # attenuation over time
    line = bp.weather.timeline(station, availability=99.5, modem=bp.weather.Modem(clear_sky="14 dB"))

All of it rests on the package `itur`, the optional extra `weather`, which is loaded when it is used.
docs/weather.md says what each number means.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bentpipe.weather.climate import attenuation
    from bentpipe.weather.fades import fade, same_rain
    from bentpipe.weather.figure import draw
    from bentpipe.weather.line import follow, timeline
    from bentpipe.weather.modcods import modcod_table
    from bentpipe.weather.modem import Modem
    from bentpipe.weather.station import Station

_HOME = {
    "Modem": "modem",
    "Station": "station",
    "attenuation": "climate",
    "draw": "figure",
    "fade": "fades",
    "follow": "line",
    "modcod_table": "modcods",
    "same_rain": "fades",
    "timeline": "line",
}

__all__ = [
    "Modem",
    "Station",
    "attenuation",
    "draw",
    "fade",
    "follow",
    "modcod_table",
    "same_rain",
    "timeline",
]


def __getattr__(name: str) -> Any:
    """Loads a public name on its first use (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module 'bentpipe.weather' has no attribute {name!r}")
    value = getattr(import_module(f"bentpipe.weather.{_HOME[name]}"), name)
    globals()[name] = value
    return value

"""Weather: rain over a place by the ITU-R recommendations, and a modem that follows it.

    import bentpipe as bp

    station = bp.weather.Station("1.35,103.82", band="ka", geo="100E")
    bp.weather.attenuation(station)                       # exceeded for shares of an average year
    bp.weather.fade(station, availability=99.5, seed=1)   # attenuation over time
    line = bp.weather.timeline(station, availability=99.5, modem=bp.weather.Modem(clear_sky="14 dB"))

All of it rests on the package `itur`, the optional extra `weather`, which only `climate` loads, on first
use. `station` is the place and its path, `climate` the long-term statistics and the earlier results on disk,
`fades` the series of P.1853, `modem` the table of modes and a modem's reaction to a fade. docs/weather.md
defines each number.
"""

from bentpipe import lazily

__getattr__, __dir__, __all__ = lazily.attach(__name__, __file__)

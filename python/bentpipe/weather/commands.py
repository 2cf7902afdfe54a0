"""The verb `bentpipe weather`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bentpipe import _core, terminal, units
from bentpipe.cli import completion
from bentpipe.cli.verbs import option
from bentpipe.io.files import FIGURES, check_kind

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.weather.modem import Modem
    from bentpipe.weather.station import Station

_TABLE = (0.01, 0.1, 1.0)


def weather_verb(
    at: Annotated[
        str, option("PLACE", 'A name, or latitude and longitude: "1.35,103.82".', completes=completion.places)
    ],
    band: Annotated[
        str | None, option("BAND", "ku (12 GHz), ka (20), q (40) or v (50).", completes=completion.bands)
    ] = None,
    frequency: Annotated[str | None, option("F", 'Instead of a band: "19.7 GHz".')] = None,
    availability: Annotated[
        float,
        option("PERCENT", "The time line holds the fade that is exceeded for the rest of an average year."),
    ] = 99.5,
    geo: Annotated[str | None, option("LONGITUDE", 'Of a GEO satellite: "100E" (the own meridian).')] = None,
    elevation: Annotated[str | None, option("ANGLE", 'Instead of --geo: "35 deg".')] = None,
    polarisation: Annotated[str, option("KIND", "circular, horizontal or vertical.")] = "circular",
    antenna: Annotated[str, option("DIAMETER", "For scintillation.")] = "60 cm",
    height: Annotated[str | None, option("HEIGHT", 'Above sea level: "120 m" (from a map).')] = None,
    duration: Annotated[str, option("TIME", "Length of the time line.", "--for")] = "1 h",
    step: Annotated[str, option("TIME", "Between two rows.")] = "1 s",
    seed: Annotated[int, option("N", "Another seed, another event.", min=0)] = 1,
    clear_sky: Annotated[str, option("RATIO", "Es/N0 (C/N in the symbol rate) without rain.")] = "14 dB",
    symbol_rate: Annotated[str, option("RATE", "Of the carrier.")] = "30 Mbaud",
    standard: Annotated[str, option("NAME", "dvb-s2x or dvb-s2.")] = "dvb-s2x",
    margin: Annotated[str, option("RATIO", "What a mode must have to spare.")] = "1 dB",
    hysteresis: Annotated[str, option("RATIO", "What a higher mode must have beyond that.")] = "0.3 dB",
    reaction: Annotated[str, option("TIME", "From a fade to the first frame in another mode.")] = "870 ms",
    noise: Annotated[
        str, option("KELVIN", 'Of the receiver, which rain warms; "none" for an uplink.')
    ] = "242 K",
    out: Annotated[
        Path | None,
        option("FILE", "The time line, .parquet or .csv (weather-PLACE-BAND.parquet).", "--out", "-o"),
    ] = None,
    figure: Annotated[
        Path | None, option("FILE", "The picture, .svg, .pdf or .png (beside the time line).")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the answer as JSON; write only what is named.")
    ] = False,
) -> None:
    """Rain over a place by ITU-R recommendations, and what a modem makes of it: a time line and a picture."""
    from bentpipe.weather.modem import Modem
    from bentpipe.weather.station import Station

    units.seconds(duration, "--for")
    station = Station(at, band, frequency, geo, elevation, polarisation, antenna, height)
    modem = Modem(
        clear_sky, symbol_rate, standard, margin, hysteresis, reaction, None if noise == "none" else noise
    )
    if out is None and not json:
        out = Path(f"weather-{_slug(station)}.parquet")
    if figure is None and out is not None and not json:
        figure = out.with_suffix(".svg")
    if out is not None:
        from bentpipe.timeline.format import check_place

        check_place(out)
    if figure is not None:
        if figure.suffix not in FIGURES:
            raise _core.ScenarioError(f"--figure {figure}: the name must end in {', '.join(FIGURES)}")
        check_kind(figure, FIGURES[figure.suffix])

    from bentpipe import timeline as form
    from bentpipe.plot import save
    from bentpipe.weather.climate import attenuation, climate
    from bentpipe.weather.fades import depth_db, fade, law, series_sum
    from bentpipe.weather.figure import draw
    from bentpipe.weather.modem import follow, summary

    if sys.stderr.isatty():  # the maps take seconds to load
        terminal.note(f"rain over {station.described} ...")
    with terminal.Bar("a year of rain") as bar:
        fades = fade(
            station, availability=availability, duration=duration, step=step, seed=seed, progress=bar
        )
    found, depth = climate(station), depth_db(station, availability)
    line = follow(fades, modem)
    shares = sorted({*_TABLE, round(100 - availability, 9)})
    causes = attenuation(station, shares)
    made = summary(line)
    answer: dict[str, Any] = {
        "schema": 1,
        "station": {"place": station.described, **station.numbers, "height_km": found.height_km},
        "rain": {
            "rate_exceeded_0.01_percent_mm_h": found.rain_rate_mm_h,
            "percent_of_time": found.rain_percent,
            "height_km": found.rain_height_km,
        },
        "attenuation": causes.to_dicts(),
        "event": {
            "availability_percent": availability,
            "depth_db": depth,
            "greatest_db": fades["attenuation_db"].max(),
            "seed": seed,
            "sha256": series_sum(fades["attenuation_db"]),
        },
        "link": {
            "clear_sky_rate_bps": modem.clear_rate_bps,
            "mean_rate_bps": made.mean_rate_bps,
            "mean_goodput_bps": made.mean_goodput_bps,
            "outage": made.outage,
            "modcods": made.modcods.to_dicts(),
        },
    }

    if out is not None:
        form.write(line, out)
    if figure is not None:
        title = (
            f"{station.described}, {station.frequency_ghz:g} GHz, an event of {availability:g} % availability"
        )
        save(draw(line, title, depth), figure)
    if json:
        terminal.answer(answer)
        return
    fitted = law(found)
    _show_rain(station, answer, [fitted.exceeded(share) for share in shares])
    _show_link(answer, line, modem)
    for written in (out, figure):
        if written is not None:
            terminal.line(f"written to {terminal.plain(str(written))}")


def _slug(station: Station) -> str:
    """Place and band for the name of a file."""
    place = station.place[0] or station.at
    what = station.band or f"{station.frequency_ghz:g}ghz"
    return re.sub(r"[^a-z0-9.-]+", "-", f"{place}-{what}".lower()).strip("-")


def _show_rain(station: Station, answer: dict[str, Any], fitted: list[float]) -> None:
    rain = answer["rain"]
    terminal.line(
        f"{station.described}, {station.frequency_ghz:g} GHz {station.polarisation}, {station.seen}"
    )
    heads = ["exceeded %", "rain dB", "in series dB", "gases dB", "clouds dB", "scintill. dB", "all dB"]
    rows = []
    for row, series in zip(answer["attenuation"], fitted, strict=True):
        others = (row[f"{part}_db"] for part in ("gas", "cloud", "scintillation", "total"))
        parts = (f"{part:.2f}" for part in (row["rain_db"], series, *others))
        rows.append([f"{row['exceeded_percent']:g}", *parts])
    terminal.show_whole("", heads, rows)
    terminal.line(
        f"Rain: {rain['rate_exceeded_0.01_percent_mm_h']:.1f} mm/h exceeded 0.01 % of an average year, "
        f"some rain {rain['percent_of_time']:.2g} % of it (P.837)."
    )
    event = answer["event"]
    terminal.line(
        f"Availability {event['availability_percent']:g} %: {event['depth_db']:.2f} dB of rain (P.618); "
        f"the event's greatest: {event['greatest_db']:.2f} dB. "
        f"Seed {event['seed']}, series {event['sha256'][:12]}."
    )


def _show_link(answer: dict[str, Any], line: pl.DataFrame, modem: Modem) -> None:
    link = answer["link"]
    columns: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        ("<mode", lambda row: row["modcod"] or "none (down)"),
        ("time %", lambda row: units.percent(row["share"])),
        ("rate", lambda row: units.rate(row["rate_bps"]) if row["modcod"] else "-"),
        ("lost %", lambda row: units.percent(row["loss_rate"], 2) if row["modcod"] else "-"),
    ]
    terminal.line()
    terminal.show_rows("", columns, link["modcods"], whole=True)
    terminal.line(
        f"Rate: {units.rate(link['clear_sky_rate_bps'])} under a clear sky ({modem.clear_sky}), "
        f"{units.rate(link['mean_rate_bps'])} on average here, "
        f"{units.rate(link['mean_goodput_bps'])} without what is lost; "
        f"outage {units.percent(link['outage'], 2)} % of {2 * line['t_s'][-1] - line['t_s'][-2]:g} s."
    )

"""The verbs `bentpipe orbit ...`: paths, networks, shells and places; and `bentpipe plot network`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bentpipe import _core, terminal, units
from bentpipe.cli import completion
from bentpipe.cli.verbs import (
    FigureOut,
    Json,
    NumbersCommand,
    Size,
    Workers,
    argument,
    option,
    write_and_show,
)
from bentpipe.io.files import FIGURES, check_kind, make_folder, replace_frame, try_place
from bentpipe.plot.commands import write_figure
from bentpipe.timeline.commands import plot_app

if TYPE_CHECKING:
    from bentpipe.orbit.paths import Solution
    from bentpipe.plot import Drawing

app = typer.Typer(help="Paths through satellites: shells, TLEs, handovers, networks.", no_args_is_help=True)


Shells = Annotated[
    list[str] | None,
    option(
        "NAME", "See bentpipe orbit shells; by default starlink-s1. Repeatable.", completes=completion.shells
    ),
]
Elements = Annotated[
    list[Path] | None,
    option("FILE", "Satellites from TLEs, or OMMs (CSV, JSON, KVN, XML). Repeatable.", exists=True),
]


class Places(NumbersCommand):
    """A verb whose arguments may be coordinates."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the arguments.

        Raises:
            ScenarioError: options stand behind two dashes, where they would be places.
        """
        behind = args[args.index("--") + 1 :] if "--" in args else []
        option = next((word for word in behind if word.startswith("--")), None)
        if option is not None:
            raise _core.ScenarioError(
                f"{option} stands behind --, where it is a place; coordinates need no --"
            )
        return super().parse_args(ctx, args)


@app.command("path", cls=Places)
def path_verb(
    a: Annotated[
        str,
        argument(
            "PLACE",
            'A name, "35.69,139.69" (degrees), "lat,lon,11 km", '
            '"Frankfurt to New York at 900 km/h, 11 km", or FILE.csv of t_s,lat,lon,alt.',
            completes=completion.places,
        ),
    ],
    b: Annotated[
        str | None,
        argument("PLACE", "The other end; may be left out with --gateway.", completes=completion.places),
    ] = None,
    shell: Shells = None,
    tle: Elements = None,
    for_: Annotated[str, option("TIME", "How long.", "--for")] = "200 s",
    step: Annotated[str, option("TIME", "From row to row.")] = "1 s",
    epoch: Annotated[
        str | None,
        option("UTC", "The start, \"2026-11-22T10:00:00Z\"; by default the shell's, or the newest TLE's."),
    ] = None,
    lasers: Annotated[
        bool | None, typer.Option("--lasers/--bent-pipe", help="By default lasers if the shell has them.")
    ] = None,
    gateway: Annotated[
        list[str] | None, option("PLACE", 'Of a bent pipe; repeatable. "all": every known one.')
    ] = None,
    select: Annotated[
        str, option("HOW", "shortest-path, highest-elevation or longest-visible.")
    ] = "shortest-path",
    every: Annotated[
        str | None, option("TIME", 'When satellites are chosen: "15 s", or "lost"; by default every step.')
    ] = None,
    break_: Annotated[
        str | None, option("TIME", "Nothing passes for so long after a handover.", "--break")
    ] = None,
    min_elevation: Annotated[float | None, option("DEGREES", "By default the shell's.")] = None,
    reach: Annotated[str, option("RULE", '"elevation", or "length" as in Hypatia.')] = "elevation",
    out: Annotated[
        list[Path] | None,
        option(
            "FILE|DIR",
            "A time line (.parquet, .csv), a picture (.svg, .png, .pdf), or a directory for all.",
            "--out",
            "-o",
        ),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute it again, whatever is kept.")] = False,
    json: Json = False,
) -> None:
    """The path between two places over time: handovers, reach, round-trip time, and pictures."""
    from bentpipe.orbit import tables
    from bentpipe.orbit.paths import solve

    a, b = a.strip(), None if b is None else b.strip()
    mode = None if lasers is None else "lasers" if lasers else "bent-pipe"
    if mode == "lasers" and gateway:
        raise _core.ScenarioError(
            "--lasers and --gateway exclude each other: a gateway belongs to a bent pipe"
        )
    if b is None and not gateway:
        raise _core.ScenarioError("name a second place, or a --gateway at which the path ends")
    units.seconds(for_, "--for")
    for place in out or []:
        _check(place)
    with terminal.Bar(f"{a} to {b or 'the gateway'}") as bar:
        found = solve(
            a, b, shell=shell, tle=tle, duration=for_, step=step, epoch=epoch, mode=mode,
            gateway=gateway or None, select=select, every=every, handover_break=break_,
            min_elevation=min_elevation, reach=reach, progress=bar, keep=not fresh,
        )  # fmt: skip

    def write() -> None:
        for place in out or []:
            _write(found, place)

    def show() -> None:
        terminal.warn(found.info["warnings"])
        step_s = units.seconds(step, "step")
        names = ["t_s", "rtt_ms", "first_sat", "last_sat", "hops", "reachable"]
        terminal.give(
            lambda: {"rows": found.frame.select(names).to_dicts()},
            lambda: tables.show_path(found, step_s),
            json=json,
        )

    write_and_show(write, show)
    if not json:
        if break_ is not None:
            terminal.line(f"after each handover nothing passes for {terminal.plain(break_)}")
        for place in out or []:
            terminal.line(f"written to {terminal.plain(str(place))}")


@app.command("network", cls=Places)
def network_verb(
    places: Annotated[
        list[str] | None,
        argument(
            "PLACE",
            "Stations: names, coordinates, top-100, top-1000, or FILE.csv of name,lat,lon,alt; by default "
            "top-100, a hundred cities.",
            completes=completion.places,
        ),
    ] = None,
    shell: Shells = None,
    tle: Elements = None,
    from_: Annotated[
        Path | None,
        option(
            "DIR",
            "Satellites, lasers, stations and times of a folder of Hypatia, or of what `run --out` wrote.",
            "--from",
            exists=True,
        ),
    ] = None,
    for_: Annotated[str | None, option("TIME", "How long; by default 200 s.", "--for")] = None,
    step: Annotated[str | None, option("TIME", "From table to table; by default 1 s.")] = None,
    epoch: Annotated[
        str | None,
        option("UTC", "The start, \"2026-11-22T10:00:00Z\"; by default the shell's, or the newest TLE's."),
    ] = None,
    min_elevation: Annotated[float | None, option("DEGREES", "By default the shell's.")] = None,
    reach: Annotated[
        str | None, option("RULE", '"elevation", or "length" as in Hypatia; by default elevation.')
    ] = None,
    route: Annotated[
        str, option("RULE", '"length": the shortest path, or "hops": the fewest links.')
    ] = "length",
    select: Annotated[
        str, option("HOW", "A station's satellite: shortest-path, highest-elevation or longest-visible.")
    ] = "shortest-path",
    every: Annotated[
        str | None, option("TIME", 'When it is selected: "15 s", or "lost"; by default every step.')
    ] = None,
    relays: Annotated[
        bool, typer.Option("--relays", help="Stations pass on what is for others, as in Hypatia.")
    ] = False,
    lasers: Annotated[
        bool, typer.Option("--lasers/--no-lasers", help="By default lasers if the shell has them.")
    ] = True,
    fail: Annotated[
        list[str] | None,
        option(
            "WHAT",
            '"satellite 17", "laser 17-18", "station Tokyo" or "5 % of lasers, seed 3"; then ", from 20 s to '
            '60 s" and ", detected after 5 s". Repeatable.',
        ),
    ] = None,
    out: Annotated[
        Path | None, option("DIR", "Write tables.parquet, paths.parquet and nodes.csv.", "--out", "-o")
    ] = None,
    hypatia: Annotated[
        Path | None, option("DIR", "Write a folder that Hypatia's programs read.", "--hypatia")
    ] = None,
    page: Annotated[
        Path | None,
        option("FILE.html", "Write a page: globe, map and paths over time, for a browser.", "--page"),
    ] = None,
    load: Annotated[
        Path | None,
        option("FILE", "For --page: the load of links, .parquet or .csv.", "--load", exists=True),
    ] = None,
    workers: Workers = 0,
    json: Json = False,
) -> None:
    """The next hop from every satellite and station to every station, over time, and the paths."""
    from bentpipe.orbit import globe, loads, networks, simulated, tables
    from bentpipe.orbit import hypatia as folders
    from bentpipe.pages.page import check_page
    from bentpipe.sweeps.execution import cores

    if load is not None and page is None:
        raise _core.ScenarioError("--load is drawn by --page FILE.html")
    if page is not None:
        if page.suffix != ".html":
            raise _core.ScenarioError(f"--page {page}: the name of a page ends in .html")
        check_page(page)
        try_place(page)
    loaded = None if load is None else loads.read(load)
    if from_ is not None and (places or shell or tle or reach or min_elevation is not None or not lasers):
        raise _core.ScenarioError("--from has satellites, lasers, stations and reach; leave the others out")
    ran = None if from_ is None or not simulated.is_stored(from_) else simulated.stored(from_)
    known = None if from_ is None or ran is not None else folders.read(from_)
    usual = ("200 s", "1 s")
    if known is not None and known.step_s is not None:
        usual = (f"{known.duration_s} s", f"{known.step_s} s")
    duration, step = for_ or usual[0], step or usual[1]
    if hypatia is not None:
        folders.check_times(units.seconds(duration, "--for"), units.seconds(step, "--step"))
        if known is not None or tle or len(shell or []) > 1:
            raise _core.ScenarioError("--hypatia goes with one shell: its first line has planes and slots")
    for folder in filter(None, (out, hypatia)):
        make_folder(folder)
    common: dict[str, Any] = {
        "route": route, "select": select, "every": every, "relays": relays, "failures": fail or [],
        "duration": duration, "step": step, "epoch": epoch, "threads": workers or cores(),
    }  # fmt: skip
    with terminal.Bar("tables") as bar:
        if ran is not None:
            made, recorded = ran
            loaded = recorded if loaded is None else loaded
        elif known is None:
            made = networks.network(
                places or None, shell=shell, tle=tle, min_elevation=min_elevation, reach=reach or "elevation",
                lasers=None if lasers else [], progress=bar, **common,
            )  # fmt: skip
        else:
            made = folders.network_of(known, progress=bar, **common)
    found = None if known is None or known.tables is None else folders.agreement(made, known.tables)

    def write() -> None:
        if out is not None:
            networks.write(made, out)
        if hypatia is not None:
            folders.write(made, hypatia)
        if page is not None:
            globe.page(made, page, loaded)

    def show() -> None:
        terminal.warn(made.info["warnings"])
        terminal.give(
            lambda: tables.network_sums(made) | ({} if found is None else {"agreement": asdict(found)}),
            lambda: tables.show_network(made, found),
            json=json,
        )

    write_and_show(write, show)
    if not json:
        for place in filter(None, (out, hypatia, page)):
            terminal.line(f"written to {terminal.plain(str(place))}")


@plot_app.command("network")
def plot_verb(
    folder: Annotated[Path, argument("DIR", "What `orbit network -o` wrote, or `run --out`.")],
    out: FigureOut,
    load: Annotated[
        Path | None, option("FILE", "The load of links, .parquet or .csv.", "--load", exists=True)
    ] = None,
    at: Annotated[float, option("SECONDS", "The instant.", "--at", min=0)] = 0.0,
    size: Size = "page",
    data: Annotated[Path | None, option("FILE", "Write the numbers too: .csv or .parquet.", "--data")] = None,
    json: Json = False,
) -> None:
    """Draw the satellites and lasers of a network on a map of the world, coloured by utilisation."""
    from bentpipe.orbit import loads, networks, simulated

    def draw() -> Drawing:
        from bentpipe.orbit import figures

        made, loaded = (
            simulated.stored(folder) if simulated.is_stored(folder) else (networks.read(folder), None)
        )
        return figures.network(made, loaded if load is None else loads.read(load), at)

    write_figure(draw, out=out, size=size, data=data, no_data=data is None, json=json)


@app.command("convert")
def convert_verb(
    run: Annotated[Path, argument("DIR", "A run of Hypatia: a folder with config_ns3.properties.")],
    out: Annotated[Path, option("FILE", "The scenario, .json; a CSV of its flows beside it.", "--out", "-o")],
    json: Json = False,
) -> None:
    """A run of Hypatia's ns-3 programs as a scenario: TCP flows, bursts of UDP, pings."""
    from bentpipe.orbit import hypatia_runs

    if out.suffix != ".json":
        raise _core.ScenarioError(f"--out {out}: the name of a scenario ends in .json")
    pairs = out.with_name(f"{out.stem}-flows.csv")
    made = hypatia_runs.read(run, pairs.name)
    written = [str(place) for place in ((out, pairs) if made.pairs is not None else (out,))]

    def show() -> None:
        terminal.give(
            lambda: {"written": written, "flows": len(made.scenario["flow"])},
            lambda: terminal.line("\n".join(f"written to {terminal.plain(place)}" for place in written)),
            json=json,
        )

    write_and_show(lambda: hypatia_runs.write(made, out, pairs), show)


@app.command("shells")
def shells_verb(json: Json = False) -> None:
    """The shells that have a name."""
    from bentpipe.orbit.paths import shells
    from bentpipe.orbit.tables import show_shells

    known = shells()
    terminal.give(lambda: {"shells": known.to_dicts()}, lambda: show_shells(known), json=json)


@app.command("places")
def places_verb(
    name: Annotated[str | None, argument("[NAME]", "One place: where is it?")] = None,
    kind: Annotated[str | None, option("KIND", "Only city, station or gateway.")] = None,
    json: Json = False,
) -> None:
    """The places that have a name: cities, stations, gateways."""
    from bentpipe.orbit import ground
    from bentpipe.orbit.paths import places
    from bentpipe.orbit.tables import show_places

    known = places(kind)
    if name is not None:
        point = ground.find(name)
        known = known.filter(known["name"] == point.name)
    terminal.give(lambda: {"places": known.to_dicts()}, lambda: show_places(known), json=json)


def _check(place: Path) -> None:
    """Checks, before the work, that a path may be written to a place.

    Raises:
        ScenarioError: the name has another ending, or something else is there.
        OSError: nothing can be written there.
    """
    from bentpipe.timeline.format import KINDS

    kinds = KINDS | FIGURES
    if place.suffix in kinds:
        check_kind(place, kinds[place.suffix])
        try_place(place)
        return
    if place.suffix and not place.is_dir():
        raise _core.ScenarioError(
            f"--out {place}: write a time line (.parquet, .csv), a picture (.svg, .png, .pdf), or a directory"
        )
    if place.exists() and not place.is_dir():
        raise _core.ScenarioError(f"--out {place} exists and is no directory; choose another")
    make_folder(place)


def _write(found: Solution, place: Path) -> None:
    """Writes a path as a time line, a picture, or a directory with both, by the ending of the name."""
    from bentpipe import timeline
    from bentpipe.timeline.format import KINDS

    if place.suffix in KINDS:
        timeline.write(found.frame, place)
        return
    from bentpipe.orbit import figures
    from bentpipe.orbit.tables import events
    from bentpipe.plot import save

    if place.suffix in FIGURES:
        save(figures.both(found), place)
        return
    timeline.write(found.frame, place / "timeline.parquet")
    replace_frame(place / "handovers.csv", events(found))
    save(figures.rtt(found), place / "rtt.svg")
    save(figures.world(found), place / "map.svg")

"""The verbs of `study`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from bentpipe import terminal
from bentpipe.cli import completion
from bentpipe.cli.verbs import FAILED, Json, Ray, Size, Workers, argument, option

app = typer.Typer(help="Published experiments, repeated.", no_args_is_help=True)
Fresh = Annotated[bool, typer.Option("--fresh", help="Repeat runs that are there already.")]
SHOWN = 20
"""Rows of an experiment's table that are printed."""


@app.command("list")
def study_list(json: Json = False) -> None:
    """Every experiment, and how it is run."""
    from bentpipe.experiments import listed

    if json:
        terminal.answer({"studies": listed()})
        return
    rows = [list(one.values()) for one in listed()]
    terminal.show_whole("", ["<name", "~title", "<run by"], rows)


@app.command("run")
def study_run(
    names: Annotated[
        list[str], argument("NAME...", 'Experiments, or "all" for the papers.', completes=completion.studies)
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Few seeds, short runs (the default).")] = False,
    full: Annotated[bool, typer.Option("--full", help="As published.")] = False,
    out: Annotated[
        Path | None,
        option(
            "DIR",
            "Where to write; several studies get a directory each in it, and one page about all.",
            "--out",
            "-o",
        ),
    ] = None,
    workers: Workers = 0,
    ray: Ray = None,
    fresh: Fresh = False,
    data: Annotated[
        Path | None, option("DIR", "Measured data of others that an experiment needs (docs/starlink.md).")
    ] = None,
    figure: Annotated[str | None, typer.Option("--figure", "--table", metavar="N", hidden=True)] = None,
    json: Json = False,
) -> None:
    """Repeat published experiments: figures, claims and a page for each, and a page about all.

    An experiment that is no paper writes a table, and with --full a page and figures. An interrupted job goes
    on where it was when the same command is given again.

    For one figure or table there is `bentpipe study show`.
    """
    from bentpipe import _core, experiments, studies
    from bentpipe.cli.tables import show_claims, show_counts
    from bentpipe.studies.study import StudyResult
    from bentpipe.sweeps.ray import on_ray

    if quick and full:
        raise _core.ScenarioError("--quick and --full exclude each other")
    if figure is not None:
        raise _core.ScenarioError(
            "study run repeats all of a paper; one figure or table of it: "
            f"bentpipe study show {names[0]} --figure {figure}"
        )
    wanted = list(studies.available()) if names == ["all"] else list(dict.fromkeys(names))
    for name in wanted:
        experiments.check_name(name)
    root = out or Path("out/studies")
    own = [name for name in wanted if name in experiments.OWN]
    if own:
        if len(wanted) > len(own) or ray is not None:
            raise _core.ScenarioError(f"{own[0]} is run without papers and without --ray")
        places = {name: out or root / name for name in own}
        return _run_own(places, workers, json, quick=not full, fresh=fresh, data=data)
    if data is not None:
        raise _core.ScenarioError("--data is for experiments that are no papers, such as starlink")
    mode = "full" if full else "quick"
    page = None
    with terminal.RunsBar() as bar:
        cluster = on_ray(ray)
        if len(wanted) == 1:
            places = {wanted[0]: out or root / wanted[0]}
            results = studies.run_each(places, mode, bar.at, workers=workers, fresh=fresh, executor=cluster)
        else:
            results, page = studies.run_all(
                wanted, mode, root, bar.at, workers=workers, fresh=fresh, executor=cluster
            )
    done = [result for result in results if isinstance(result, StudyResult)]
    if json:
        terminal.answer(
            {"studies": [{"name": r.name, "page": str(r.page), "claims": r.claims} for r in done]}
        )
    else:
        for result in done:
            show_claims(result.title, result.claims, result.page)
        if page is not None:
            show_counts(done, page)
    for failure in (result for result in results if not isinstance(result, StudyResult)):
        terminal.error(f"study {failure.name} failed: {failure.why}; what is finished of it is kept")
    if len(done) < len(results):
        raise typer.Exit(FAILED)


def _run_own(places: Mapping[str, Path], workers: int, json: bool, **asked: Any) -> None:  # noqa: FBT001
    """Runs experiments that are no papers, one after the other."""
    from bentpipe.experiments import load
    from bentpipe.io.files import read_rows

    done = []
    for name, place in places.items():
        try:
            with terminal.RunsBar(name) as bar:
                files = load(name)(place, **asked).run(workers=workers, progress=bar.at)
        except RuntimeError as failure:
            terminal.error(f"study {name} failed: {failure}; what is finished of it is kept")
            raise typer.Exit(FAILED) from None
        done.append({"name": name, "files": [str(file) for file in files]})
        if not json:
            if files and files[0].suffix == ".csv" and (rows := read_rows(files[0])):
                shown = [["-" if one is None else str(one) for one in row.values()] for row in rows[:SHOWN]]
                terminal.show_table(name, [f"<{head}" for head in rows[0]], shown)
                if len(rows) > SHOWN:
                    terminal.line(f"{len(rows) - SHOWN:,} rows more are in the file")
            terminal.line(f"written to {terminal.plain(', '.join(map(str, files)))}")
    if json:
        terminal.answer({"studies": done})


@app.command("show")
def study_show(
    paper: Annotated[str, argument("PAPER", "A study's name.", completes=completion.papers)],
    figure: Annotated[
        str | None, option("N", "The figure of this number, or one of our own by name.")
    ] = None,
    table: Annotated[str | None, option("N", "The table of this number.")] = None,
    out: Annotated[
        list[Path] | None,
        option(
            "FILE",
            "Where to write it: .png, .svg, .pdf or .csv. Repeatable. Default: PAPER-figure-N.png.",
            "--out",
            "-o",
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="With --fresh: all seeds, as published; without it few.")
    ] = False,
    run: Annotated[
        Path | None, option("DIR", "A finished run to take it from. Default: out/studies.", "--from")
    ] = None,
    size: Size = "paper",
    workers: Workers = 0,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run what it needs, though its runs ship with Bentpipe.")
    ] = False,
    json: Json = False,
) -> None:
    """List the figures and tables of a paper, or give one of them beside what the paper prints.

    It is taken from a finished run if there is one, else from the runs that ship with Bentpipe.
    """
    from bentpipe import _core, studies
    from bentpipe.cli.tables import show_places, show_shown
    from bentpipe.plot import sized
    from bentpipe.registry import unknown
    from bentpipe.studies import show
    from bentpipe.studies.places import PlaceKind

    if paper not in (known := studies.available()):
        raise _core.ScenarioError(unknown("study", paper, list(known)))
    if figure is not None and table is not None:
        raise _core.ScenarioError("--figure and --table exclude each other")
    study, number = studies.get(paper), figure if table is None else table
    if number is None:
        if out or full or run or fresh or size != "paper":
            raise _core.ScenarioError("name a figure or a table: --figure N or --table N")
        return terminal.give(
            lambda: {"places": [place.as_dict() for place in study.places()]},
            lambda: show_places(study),
            json=json,
        )
    for path in out or []:
        show.check_ending(path)
    with sized(size):
        with terminal.Bar("running") as bar:
            shown = show.show(
                study,
                [PlaceKind.TABLE] if figure is None else [PlaceKind.FIGURE, PlaceKind.OWN],
                number,
                "full" if full else None,
                run or show.FINISHED,
                workers=workers,
                fresh=fresh,
                progress=bar,
            )
        files = [shown.write(path) for path in out or [Path(f"{paper}-{shown.place.name}.png")]]
    written = {"files": [str(path) for path in files]}
    terminal.give(lambda: shown.as_dict() | written, lambda: show_shown(shown, files), json=json)


@app.command("fit")
def study_fit(
    name: Annotated[str, argument("NAME", "A study.")],
    seeds: Annotated[int, option("N", "Seeds of each combination.", min=2)] = 3,
    most: Annotated[int, option("N", "Combinations to try, at most.", min=1)] = 500,
    minutes: Annotated[float, option("T", "How long, at most.")] = 120.0,
    workers: Workers = 0,
    ray: Ray = None,
    fresh: Fresh = False,
    out: Annotated[Path | None, option("DIR", "Where to write.", "--out", "-o")] = None,
    keep: Annotated[Path | None, option("DIR", "Write the result there as well, as NAME.json.")] = None,
    json: Json = False,
) -> None:
    """Search which of a paper's open choices, taken together, make most of its checks hold.

    Tries the base, each choice, each pair, and goes on from the best; then confirms the best over all seeds
    and over others. An interrupted search goes on where it was when the same command is given again.
    """
    from bentpipe import _core, studies
    from bentpipe.cli.tables import show_fit
    from bentpipe.registry import unknown
    from bentpipe.studies import fit
    from bentpipe.sweeps.ray import on_ray

    known = studies.available()
    if name not in known:
        raise _core.ScenarioError(unknown("study", name, list(known)))
    place = out or Path("out/fits") / name
    with terminal.FitBar() as bar:
        limits = fit.Limits(seeds, most, minutes)
        found = fit.fit(
            studies.get(name),
            place,
            limits,
            workers=workers,
            fresh=fresh,
            progress=bar.at,
            executor=on_ray(ray),
        )
    files = fit.write(found, place, keep)
    terminal.give(found.as_dict, lambda: show_fit(found, files), json=json)


@app.command("probabilities")
def study_probabilities(
    names: Annotated[list[str], argument("NAME...", 'Papers, or "all".', completes=completion.papers)],
    out: Annotated[Path, option("DIR", "The folder of their full runs.", "--out", "-o")] = Path(
        "out/studies"
    ),
    workers: Workers = 0,
    fresh: Fresh = False,
    keep: Annotated[Path | None, option("FILE", "Write the result there as well, as CSV.")] = None,
    json: Json = False,
) -> None:
    """How often other seeds reproduce each claim of a paper, under the base and under what suits it best.

    Takes the runs of `bentpipe study run NAME --full`, makes as many with other seeds, and draws sets of
    seeds from all of them. An interrupted job goes on where it was when the same command is given again.
    """
    from bentpipe import _core, studies
    from bentpipe.cli.tables import show_chances
    from bentpipe.registry import unknown
    from bentpipe.studies import chance, probability
    from bentpipe.studies.job import StudyFailed

    known = studies.available()
    wanted = list(known) if names == ["all"] else list(dict.fromkeys(names))
    for name in wanted:
        if name not in known:
            raise _core.ScenarioError(unknown("study", name, list(known)))
    try:
        with terminal.RunsBar() as bar:
            found = probability.estimate(
                list(map(studies.get, wanted)), out, workers=workers, fresh=fresh, progress=bar.at
            )
    except StudyFailed as failure:
        terminal.error(f"{failure}; what is finished is kept")
        raise typer.Exit(FAILED) from None
    files = [out / chance.SHIPPED.name, *filter(None, [keep])]
    chance.write(found, *files)
    terminal.give(
        lambda: {"probabilities": list(map(asdict, found)), "files": list(map(str, files))},
        lambda: show_chances(found, files),
        json=json,
    )

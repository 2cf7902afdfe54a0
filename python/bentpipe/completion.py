"""What the shell offers when a word is incomplete: names of algorithms, of queues and of scenarios."""

from __future__ import annotations


def algorithms_of(incomplete: str) -> list[str]:
    """The algorithms that the last of several names with commas between may become."""
    from bentpipe.registry import controllers

    before, comma, last = incomplete.rpartition(",")
    return [before + comma + entry["id"] for entry in controllers() if entry["id"].startswith(last)]


def queues_of(incomplete: str) -> list[str]:
    """The kinds of queues that a word may become."""
    from bentpipe.registry import queues

    return [entry["kind"] for entry in queues() if entry["kind"].startswith(incomplete)]


def scenarios_of(incomplete: str) -> list[str]:
    """The shipped scenarios that a word may become, and the TOML files and folders beside it."""
    from pathlib import Path

    from bentpipe.presets.shipped import names

    shipped = [name for name in names() if name.startswith(incomplete)]
    folder, slash, last = incomplete.rpartition("/")
    try:
        beside = sorted(Path(folder + slash or ".").iterdir())
    except OSError:
        return shipped
    fits = (p for p in beside if p.name.startswith(last) and (last.startswith(".") or p.name[0] != "."))
    files = [folder + slash + p.name + "/" * p.is_dir() for p in fits if p.is_dir() or p.suffix == ".toml"]
    return shipped + files


def studies_of(incomplete: str) -> list[str]:
    """The studies that a word may become."""
    from bentpipe.studies import available

    return [name for name in available() if name.startswith(incomplete)]

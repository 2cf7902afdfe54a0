"""Shell completions: scenarios, algorithms, queues and studies."""

from __future__ import annotations

from bentpipe.registry import controllers, queues
from bentpipe.source import SCENARIOS


def scenarios(incomplete: str) -> list[str]:
    """Scenarios that come with the package; files are offered by the shell itself."""
    return sorted(path.stem for path in SCENARIOS.glob(f"{incomplete.lower()}*.toml"))


def algorithms(incomplete: str) -> list[str]:
    """Algorithms; the last of several with commas between."""
    before, comma, last = incomplete.rpartition(",")
    names = [entry["id"] for entry in controllers()]
    return [before + comma + name for name in names if name.startswith(last.lower())]


def kinds_of_queue(incomplete: str) -> list[str]:
    """Kinds of queues."""
    return [entry["kind"] for entry in queues() if entry["kind"].startswith(incomplete.lower())]


def papers(incomplete: str) -> list[str]:
    """Studies."""
    from bentpipe.studies import available

    return [name for name in available() if name.startswith(incomplete.lower())]


def studies(incomplete: str) -> list[str]:
    """Studies, and "all"."""
    return [*(["all"] if "all".startswith(incomplete.lower()) else []), *papers(incomplete)]

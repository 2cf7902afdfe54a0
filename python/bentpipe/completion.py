"""Names that a shell may offer for a word that is being typed: scenarios, algorithms, places and so on."""

from __future__ import annotations

import json
from collections.abc import Iterable

from bentpipe import _core
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


def places(incomplete: str) -> list[str]:
    """Places that have a name."""
    from bentpipe.orbit.ground import table

    names: list[str] = table()["name"].unique(maintain_order=True).to_list()
    return _beginning(names, incomplete)


def shells(incomplete: str) -> list[str]:
    """Shells of satellites."""
    return _beginning([one["name"] for one in json.loads(_core.orbit_shells())], incomplete)


def bands(incomplete: str) -> list[str]:
    """Bands of frequencies."""
    from bentpipe.weather.station import BANDS

    return _beginning(BANDS, incomplete)


def goals(incomplete: str) -> list[str]:
    """Goals of advice."""
    from bentpipe.advice.question import GOALS

    return _beginning(GOALS, incomplete)


def formats(incomplete: str) -> list[str]:
    """Formats that a time line can be imported from."""
    from bentpipe.timeline.traces import FORMATS

    return _beginning(FORMATS, incomplete)


def sizes(incomplete: str) -> list[str]:
    """Sizes of figures."""
    from bentpipe.plot.looks import SIZES

    return _beginning(SIZES, incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.lower().startswith(incomplete.lower())]

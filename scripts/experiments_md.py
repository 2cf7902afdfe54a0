"""The pages of experiments in docs, which `bentpipe study run NAME --full --out docs` writes."""

from md import DOCS

from bentpipe.experiments import OWN, load


def stale() -> list[str]:
    """The parts that are not those of their tables or of new runs, a line each."""
    return [line for name in OWN for line in load(name)(DOCS).stale()]


def write() -> None:
    """Writes the only page that takes seconds."""
    load("gallery")(DOCS).run()

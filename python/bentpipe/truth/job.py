"""Shared parts of the verbs of `bentpipe validate`: options, the folder of the transfers, interrupts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from bentpipe.verbs import Stopped, option

Seeds = Annotated[int | None, option("N", "Seeds of each cell.", "--seeds", min=1)]
Length = Annotated[float | None, option("SECONDS", "Length of a transfer.", "--for", min=1)]
AtOnce = Annotated[int, option("N", "Links emulated at a time.", "--at-once", min=1, max=64)]
Out = Annotated[
    Path | None,
    option(
        "DIR",
        "Keep the transfers and the tables there; the same command goes on where it was stopped.",
        "--out",
        "-o",
    ),
]


def check_size(**asked: bool) -> None:
    """Refuses two sizes at once, each an option of its own.

    Raises:
        ScenarioError: more than one was asked for.
    """
    from bentpipe._core import ScenarioError

    given = [f"--{name}" for name, wanted in asked.items() if wanted]
    if len(given) > 1:
        raise ScenarioError(f"give one of {' and '.join(given)}")


@contextmanager
def folder_of(out: Path | None) -> Iterator[Path]:
    """The folder for the transfers: the user's, or one that is gone afterwards."""
    if out is not None:
        yield out
        return
    with TemporaryDirectory() as made:
        yield Path(made)


@contextmanager
def resumable(out: Path | None) -> Iterator[None]:
    """Real transfers: on Ctrl-C, a message says what is kept.

    Raises:
        Stopped: they were interrupted.
    """
    try:
        yield
    except KeyboardInterrupt:
        kept = "" if out is None else f"; the same command goes on from what is in {out}"
        raise Stopped(f"transfers under way are lost{kept}") from None

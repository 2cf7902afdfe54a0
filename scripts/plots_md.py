"""The figures of docs/plots.md: every verb of `bentpipe plot` with its picture, by its own commands.

The page is written by hand. Its commands are run as they are printed, in an empty folder with the scenarios
of the page, and a mark below each figure has a fingerprint of its numbers. `make site` draws them, and
`python scripts/plots_md.py DIR` draws them as pictures, to look at.
"""

import hashlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl
from md import DOCS

PAGE = DOCS / "plots.md"
DIGITS = 6


def figures() -> dict[str, list[str]]:
    """The figures of the page, in its order: by name, which is the heading, the commands that draw it."""
    found = re.findall(r"^### (\S+)\n.*?^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    return {name: commands.replace("\\\n", " ").splitlines() for name, commands in found}


def scenarios() -> dict[str, str]:
    """The scenarios of the page by the names of their files."""
    return dict(re.findall(r"^```toml\n# (\S+)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S))


def figure_file(commands: Sequence[str]) -> str:
    """The name of the file that the last command writes."""
    words = shlex.split(commands[-1])
    return words[words.index("-o") + 1]


def draw_all(place: Path) -> None:
    """Runs every command of the page in a folder, which is made."""
    place.mkdir(exist_ok=True)
    for name, text in scenarios().items():
        (place / name).write_text(text, encoding="utf-8")
    for figure, commands in figures().items():
        for command in commands:
            words = [sys.executable, "-m", *shlex.split(command)]
            if figure == "sequence" and "plot" in words:
                words += ["--data", "sequence.csv"]
            done = subprocess.run(words, cwd=place, capture_output=True, text=True, env=os.environ)
            if done.returncode:
                sys.exit(f"{command}\n{done.stderr}")


def digest(table: Path) -> str:
    """A fingerprint of the numbers of a figure, whatever the last digits of them."""
    frame = pl.read_csv(table, infer_schema_length=None)
    numbers = [name for name, kind in frame.schema.items() if kind.is_float()]
    text = frame.with_columns(pl.col(numbers).round_sig_figs(DIGITS)).write_csv()
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def page(place: Path) -> str:
    """The page with the numbers of the figures that are drawn in a folder."""
    text = PAGE.read_text(encoding="utf-8")
    for commands in figures().values():
        file = figure_file(commands)
        shown, mark = f"](plots/{file})\n", f"<!-- numbers {digest((place / file).with_suffix('.csv'))} -->\n"
        text = re.sub(re.escape(shown) + r"(<!-- numbers \w+ -->\n)?", shown + mark, text)
    return text


@contextmanager
def drawn() -> Iterator[Path]:
    """A folder in which all commands of the page were run."""
    with tempfile.TemporaryDirectory() as folder:
        draw_all(Path(folder))
        yield Path(folder)


def stale() -> list[str]:
    """The parts of the page that do not agree with new runs, one line each."""
    with drawn() as place:
        same = PAGE.read_text(encoding="utf-8") == page(place)
    return [] if same else ["docs/plots.md does not agree with the runs"]


def write() -> None:
    """Writes the numbers of the page."""
    with drawn() as place:
        PAGE.write_text(page(place), encoding="utf-8")


def pictures(place: Path, folder: Path) -> None:
    """Every figure as a picture, in each size."""
    folder.mkdir(parents=True, exist_ok=True)
    for figure, commands in figures().items():
        words = shlex.split(commands[-1])[:-2]
        for size in ("paper", "screen"):
            out = folder.resolve() / f"{figure}-{size}.png"
            more = [] if figure == "sequence" else ["--no-data"]
            command = [sys.executable, "-m", *words, "-o", str(out), "--size", size, *more]
            subprocess.run(command, cwd=place, check=True, capture_output=True)


if __name__ == "__main__":
    with drawn() as made:
        pictures(made, Path(sys.argv[1]))

"""Writes the pages and other files that follow from code and stored numbers, or checks them.

    python scripts/docs.py [NAME ...]            # `make docs`
    python scripts/docs.py --check [NAME ...]    # `make docs-check`: fails if something is out of date
    python scripts/docs.py --pictures            # `make site`: draws the pictures that git ignores

A name is one of `PAGES`, by default all: modules beside this file, and the experiments. A module has
`pages()`, the text of each file, and `FOLDER` if no other page may be there; or `write()`, and `stale()` for
what is out of date.
"""

import shutil
import subprocess
import sys
import tempfile
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

import md

from bentpipe.experiments import OWN, load

EXPERIMENTS = "experiments"
"""The pages that `bentpipe study run NAME --full --out docs` writes."""
PAGES = (
    "controllers_md", "queues_md", "quic_md", "linux_truth_md", "scenario_md", "lab_notebook", "models_py",
    EXPERIMENTS, "plots_md", "validate", "performance_md", "zoo_md", "evaluate_md",
)  # fmt: skip
PICTURES = [
    line.removeprefix("/docs/")
    for line in (md.ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    if line.startswith("/docs/")
]
"""Patterns of the pictures that are not in the repository."""


def stale(name: str) -> list[str]:
    """The parts of pages that are out of date, a line each."""
    if name == EXPERIMENTS:
        return [line for own in OWN for line in load(own)(md.DOCS).stale()]
    module = import_module(name)
    if hasattr(module, "stale"):
        found: list[str] = module.stale()
        return found
    return md.stale(module.pages(), getattr(module, "FOLDER", None))


def write(name: str) -> None:
    """Writes pages; of experiments the only one that takes seconds."""
    if name == EXPERIMENTS:
        load("gallery")(md.DOCS).run()
        return
    module = import_module(name)
    if hasattr(module, "write"):
        module.write()
        return
    pages, folder = module.pages(), getattr(module, "FOLDER", None)
    if folder is not None:
        folder.mkdir(exist_ok=True)
        for old in set(folder.glob("*.md")) - set(pages):
            old.unlink()
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")


def is_picture(path: Path) -> bool:
    """Whether a file is one of `PICTURES`."""
    return any(fnmatch(str(path), f"{md.DOCS}/{pattern}") for pattern in PICTURES)


def draw() -> None:
    """Draws `PICTURES`: from stored numbers, and from runs that take seconds."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        import_module("plots_md").draw_all(place / "plots")
        import_module("linux_truth_md").draw(place / "linux-truth")
        witness = [sys.executable, import_module("validate").PROGRAMS / "equilibria.py"]
        subprocess.run(
            [*witness, "--figure", place / "equilibria.svg"], stdout=subprocess.DEVNULL, check=True
        )
        load("gallery")(place).run()
        for name in (
            "leo",
            "satellite-2026",
            "simd-tfrc",
            "star-http",
            "hswa-links",
            "hypatia",
            "network-rules",
        ):
            load(name)(md.DOCS).draw(place)
        for pattern in PICTURES:
            for old in md.DOCS.glob(pattern):
                old.unlink()
            for new in place.glob(pattern):
                target = md.DOCS / new.relative_to(place)
                target.parent.mkdir(exist_ok=True)
                shutil.copyfile(new, target)


def main() -> int:
    """Writes or checks; 1 if a page is out of date."""
    asked = md.command_line(__doc__)
    asked.add_argument("name", nargs="*", metavar="NAME", help="by default all")
    asked.add_argument("--check", action="store_true", help="write nothing; fail if a page is out of date")
    asked.add_argument("--pictures", action="store_true", help="draw the pictures that git ignores")
    asked.add_argument("--features", help="of the workspace, as scripts/features.sh says; for quic_md")
    given = asked.parse_args()
    if given.pictures:
        draw()
        return 0
    wrong = []
    for name in given.name or PAGES:
        if given.features is not None and name == "quic_md":
            import_module(name).FEATURES = given.features  # type: ignore[attr-defined]
        if given.check:
            wrong += stale(name)
        else:
            write(name)
    for line in wrong:
        print(f"{line}: run `make docs`", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

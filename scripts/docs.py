"""Writes the pages and other files that follow from code and stored numbers, or checks them.

    python scripts/docs.py [NAME ...]            # `make docs`
    python scripts/docs.py --check [NAME ...]    # `make docs-check`: fails if something is out of date

A name is one of `PAGES`, by default all: modules beside this file. A module has `pages()`, the text of each
file, and `FOLDER` if no other page may be there; or `write()` and `stale()`, which names what is out of date.
"""

import sys
from importlib import import_module
from types import ModuleType

import md

PAGES = (
    "controllers_md", "queues_md", "quic_md", "linux_truth_md", "scenario_md", "lab_notebook", "models_py",
    "experiments_md", "plots_md", "validate", "performance_md", "zoo_md", "evaluate_md",
)  # fmt: skip


def stale(module: ModuleType) -> list[str]:
    """The parts of its pages that are out of date, a line each."""
    if hasattr(module, "stale"):
        found: list[str] = module.stale()
        return found
    return md.stale(module.pages(), getattr(module, "FOLDER", None))


def write(module: ModuleType) -> None:
    """Writes its pages."""
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


def main() -> int:
    """Writes or checks; 1 if a page is out of date."""
    asked = md.command_line(__doc__)
    asked.add_argument("name", nargs="*", metavar="NAME", help="by default all")
    asked.add_argument("--check", action="store_true", help="write nothing; fail if a page is out of date")
    asked.add_argument("--features", help="of the workspace, as scripts/features.sh says; for quic_md")
    given = asked.parse_args()
    wrong = []
    for name in given.name or PAGES:
        module = import_module(name)
        if given.features is not None and name == "quic_md":
            module.FEATURES = given.features  # type: ignore[attr-defined]
        wrong += stale(module) if given.check else (write(module) or [])
    for line in wrong:
        print(f"{line}: run `make docs`", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

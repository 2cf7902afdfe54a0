"""Prints what pyproject.toml needs to build, run and test the package, one requirement a line.

pip installs these alone, so that the extension is built once, by maturin, and not a second time inside pip.
"""

import tomllib
from pathlib import Path


def main() -> None:
    """Prints the requirements of the build, of the package and of its `dev` extra."""
    table = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    project = table["project"]
    wanted = [
        *table["build-system"]["requires"],
        *project["dependencies"],
        *project["optional-dependencies"]["dev"],
    ]
    print("\n".join(dict.fromkeys(wanted)))


if __name__ == "__main__":
    main()

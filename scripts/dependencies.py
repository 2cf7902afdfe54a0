"""Prints the requirements in pyproject.toml, one a line: to build, run and test the package; or one extra.

pip installs these alone, so that the extension is built once, by maturin, and not a second time inside pip.
"""

import sys
import tomllib
from pathlib import Path


def main() -> None:
    """Prints the requirements of build, package and its `dev` extra, or those of the extra that is named."""
    table = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    project = table["project"]
    if len(sys.argv) > 1:
        print("\n".join(project["optional-dependencies"][sys.argv[1]]))
        return
    wanted = [
        *table["build-system"]["requires"],
        *project["dependencies"],
        *project["optional-dependencies"]["dev"],
    ]
    print("\n".join(dict.fromkeys(wanted)))


if __name__ == "__main__":
    main()

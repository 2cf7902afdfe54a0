"""Installs the requirements in pyproject.toml into this interpreter's environment.

    python scripts/dependencies.py         # to build, run and test the package
    python scripts/dependencies.py PART    # to build it alone ("build"), or those of an extra ("docs")

The package itself is not among them, so that the extension is built once, by maturin, and not a second time
inside pip. uv takes a tenth of pip's time. It reads none of pip's settings, so it gets those of `UV` as
variables. Where uv cannot be had, or fails, pip installs.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}
"""Settings of pip, and uv's variables of the same meaning."""


def requirements(part: str | None) -> list[str]:
    """Those of `build` or of the extra named; without a name those of build, package and the `dev` extra."""
    table = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    project = table["project"]
    parts = {"build": table["build-system"]["requires"], **project["optional-dependencies"]}
    if part is not None:
        return list(parts[part])
    return list(dict.fromkeys([*parts["build"], *project["dependencies"], *parts["dev"]]))


def variables(settings: str) -> dict[str, str]:
    """The variables for uv, from what `pip config list` prints."""
    pairs = (line.partition("=") for line in settings.splitlines())
    named = {key.rpartition(".")[2]: value.strip("'\"") for key, _, value in pairs}
    return {UV[key]: value for key, value in named.items() if key in UV}


def main() -> int:
    """Installs; the exit status of the last installer tried."""
    wanted = requirements(sys.argv[1] if len(sys.argv) > 1 else None)
    pip = [sys.executable, "-m", "pip"]
    install, uv = ["install", "--quiet"], Path(sys.executable).with_name("uv")
    if not uv.exists():
        subprocess.run([*pip, *install, "--only-binary=uv", "uv"], stderr=subprocess.DEVNULL, check=False)
    if uv.exists():
        config = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=False)
        by_uv = [str(uv), "pip", *install, "--python", sys.executable, *wanted]
        if subprocess.run(by_uv, env=os.environ | variables(config.stdout), check=False).returncode == 0:
            return 0
        print("uv could not install the requirements; pip tries now", file=sys.stderr)
    return subprocess.run([*pip, *install, *wanted], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

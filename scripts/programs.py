"""Programs of the workspace, built by cargo."""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent


def built(name: str, *arguments: str) -> Path:
    """The path of the program that `cargo build` makes with these arguments.

    Args:
        name: of the program, an example or not.
        arguments: those of cargo; they decide what else need not be built again.

    Raises:
        CalledProcessError: it cannot be built; cargo has said why.
    """
    command = ["cargo", "build", "--locked", *arguments, "--message-format=json"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    said = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
    return Path(next(m["executable"] for m in said if m.get("executable") and m["target"]["name"] == name))

"""The programs that the oracle needs from the system, and the message where one is missing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


class Missing(Exception):
    """Something that the oracle needs is missing; the message names it, and how to get it."""


def need(program: str, package: str) -> Path:
    """The path of `program`; raises Missing with the Debian package that has it."""
    found = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin")
    if found is None:
        raise Missing(f"{program} is missing; apt-get install {package}")
    return Path(found)

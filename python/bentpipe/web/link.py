"""Links to runs in the page that simulates: a scenario in the fragment of the page's address.

`link.js` reads and writes the same fragments in the page.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bentpipe.document.plain import document
from bentpipe.registry import SCENARIOS
from bentpipe.sweeps.fingerprint import with_files
from bentpipe.web import installed

#: The page beside a report or a study, to which their links lead.
BESIDE = "bentpipe.html"
#: Most links of one page; each has about 700 bytes.
MOST = 200


def fragment(text: str) -> str:
    """The end of an address, from "#" on, that opens the page with a scenario in TOML."""
    packer = zlib.compressobj(9, wbits=-15)  # without a head, as "deflate-raw" of browsers
    packed = packer.compress(text.encode()) + packer.flush()
    return "#text=" + base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")


def run_in_page(scenario: Mapping[str, Any]) -> str | None:
    """The fragment that opens the page with this scenario; None if the page cannot run it.

    It has no controllers in Python, and of the files that a scenario may name only those of shipped ones.
    """
    if any(str(flow.get("cc")).startswith("python:") for flow in scenario.get("flow", [])):
        return None
    others = []

    def named(file: str) -> str:
        path = Path(file)
        if path.suffix != ".csv" or path.resolve().parent != SCENARIOS.resolve():
            others.append(file)
        return path.name

    table = with_files(scenario, named)
    return None if others else fragment(document(table))


def links(runs: Iterable[tuple[str, Mapping[str, Any]]], page: Path) -> list[tuple[str, str]]:
    """Links from a page to the runs that the simulator beside it can make; it is written if there is any.

    Args:
        runs: words and a scenario for each run; the first `MOST` that can be run are taken.
        page: the page that has the links.

    Returns:
        Words and address. Nothing if this installation has no compiled simulator at hand, or if another file
        has its name.

    Raises:
        OSError: the simulator cannot be written.
    """
    beside = page.with_name(BESIDE)
    if page.name == BESIDE or not installed.is_at_hand(beside):
        return []
    found = []
    for words, scenario in runs:
        if (end := run_in_page(scenario)) is not None:
            found.append((words, BESIDE + end))
        if len(found) == MOST:
            break
    if found:
        installed.write(beside, compiled=True)
    return found

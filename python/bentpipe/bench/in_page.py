"""The module of the page, run by node: the processor time of a browser without the browser.

node runs the WebAssembly of `make web` with V8, as Chromium does. The program that it runs is
`crates/web/speed.mjs`, so this works in a checkout of the repository alone.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from functools import cache
from typing import Any

from bentpipe.bench.cases import BenchCase
from bentpipe.bench.worker import segment_bytes
from bentpipe.scenario import Scenario
from bentpipe.web import installed

_PROGRAM = installed.CLONE / "crates" / "web" / "speed.mjs"
_COMPILED = installed.CLONE / "target" / "web" / "wasm32-unknown-unknown"
_LIMIT_S = 600.0


def missing() -> str | None:
    """What it lacks here, None if nothing."""
    if not _PROGRAM.is_file():
        return "only a checkout of the repository can run it"
    if shutil.which("node") is None:
        return "node is not here (Debian: nodejs)"
    # The module of these sources: one that lies about may be of others.
    if not _COMPILED.is_dir():
        return "it is not compiled; run make web"
    return None


def run(case: BenchCase, *, quick: bool) -> dict[str, Any]:
    """One measurement, as `measure.here` gives it, after V8 has compiled everything.

    Raises:
        RuntimeError: node failed.
        ScenarioError: the module could not be compiled.
    """
    with tempfile.NamedTemporaryFile(suffix=".wasm") as file:
        file.write(_module())
        file.flush()
        done = subprocess.run(
            ["node", "--no-liftoff", str(_PROGRAM), file.name, str(case.path)],
            input=json.dumps(case.changed(quick=quick)),
            capture_output=True,
            text=True,
            check=False,
            timeout=_LIMIT_S,
        )
    if done.returncode != 0:
        raise RuntimeError(f"node failed: {done.stderr.strip()[-300:]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return {
        "packets": sum(answer["delivered_bytes"]) // segment_bytes(Scenario.load(case.path).to_json()),
        "cpu_s": answer["cpu_s"],
        "events": None,
        "peak_bytes": answer["peak_bytes"],
        "grown_bytes": None,
    }


@cache
def _module() -> bytes:
    return installed.module()

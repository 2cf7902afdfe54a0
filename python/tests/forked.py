"""The command line in a process of its own, which is forked from one that has imported it already.

To start Python and to import the command line takes longer than most commands do. A test whose subject is
what the process does with its arguments, its limits and its files takes this. A test of how the process
starts, of its pipes, or of signals starts `python -m bentpipe`.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

# Modules that neither start threads nor read the environment when they are imported.
_IMPORTED = [
    "bentpipe.cli.application",
    "bentpipe.runs",
    "bentpipe.cli.tables",
    "pydantic",
    "rich.console",
    "typer._adapters",
]
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(_IMPORTED)


def run(
    words: Sequence[object],
    *,
    input: str = "",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    limits: Mapping[int, int] | None = None,
    timeout: float = 120.0,
    program: str = "bentpipe.cli.application:main",
) -> subprocess.CompletedProcess[str]:
    """Runs `bentpipe WORDS` to its end, as `subprocess.run` would.

    Args:
        words: the arguments.
        input: its standard input.
        env: its environment; that of this process if None.
        cwd: its working directory; that of this process if None.
        limits: soft and hard limits by their number, such as `resource.RLIMIT_AS`.
        timeout: after how many seconds it is killed.
        program: its function, "MODULE:NAME".

    Raises:
        TimeoutExpired: it was killed.
    """
    arguments = [str(word) for word in words]
    with tempfile.TemporaryDirectory(prefix="bentpipe-forked-") as folder:
        streams = [Path(folder, name) for name in ("stdin", "stdout", "stderr")]
        for stream in streams:
            stream.write_text(input if stream.name == "stdin" else "", encoding="utf-8")
        process = _CONTEXT.Process(
            target=_work,
            args=(program, arguments, streams, dict(env or os.environ), cwd or Path.cwd(), limits or {}),
        )
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(arguments, timeout)
        out, err = (stream.read_text(encoding="utf-8", errors="replace") for stream in streams[1:])
    return subprocess.CompletedProcess(arguments, process.exitcode, out, err)


def _work(
    program: str,
    words: Sequence[str],
    streams: Sequence[Path],
    environment: Mapping[str, str],
    where: Path,
    limits: Mapping[int, int],
) -> None:
    """What the process does."""
    module, name = program.split(":")
    for number, stream in enumerate(streams):
        opened = os.open(stream, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_APPEND)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(where)
    for limit, most in limits.items():
        resource.setrlimit(limit, (most, most))
    sys.argv = ["bentpipe", *words]
    getattr(importlib.import_module(module), name)()

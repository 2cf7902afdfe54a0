"""Compares a sweep that is killed at random with an undisturbed one, in its result and in its time.

    python tools/sweep_kills.py                              # 10,000 runs, ten kills: minutes
    python tools/sweep_kills.py --runs 200 --kills 3 --duration "10 s"

The same command is run to its end once, and then again in another directory, where it is killed (SIGKILL)
at random moments and given again. Prints times and the state as JSON; exit status 1 if the two differ.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import polars as pl

from bentpipe.sweeps.dataset import read

SWEEP = Path(__file__).with_suffix(".toml")
POINTS = 100


def main() -> int:
    """Runs both and compares them."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--runs", type=int, default=10_000)
    options.add_argument("--kills", type=int, default=10)
    options.add_argument("--duration", default="60 s", help="simulated time of a run")
    options.add_argument("--workers", type=int, default=0)
    options.add_argument("--flush", type=float, help="write so often, in s, and not about every second")
    options.add_argument("--random", type=int, default=1, help="seed of the times of the kills")
    options.add_argument("--place", type=Path, help="a directory that is kept")
    given = options.parse_args()
    if given.place is not None:
        given.place.mkdir(parents=True)
        return measure(given, given.place)
    with tempfile.TemporaryDirectory() as place:
        return measure(given, Path(place))


def measure(given: argparse.Namespace, place: Path) -> int:
    """The same in a directory."""
    seeds = max(1, given.runs // POINTS)
    text = SWEEP.read_text().replace("60 s", given.duration).replace("seeds = 100", f"seeds = {seeds}")
    (place / "sweep.toml").write_text(text)
    quiet, killed = place / "quiet", place / "killed"
    began = time.monotonic()
    sweep = start(place, quiet, given)
    while sweep.poll() is None and not (quiet / "sweep.json").exists():
        time.sleep(0.01)
    planned = time.monotonic() - began
    undisturbed = finish(sweep, began)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    times = random.Random(given.random)
    kept: list[int] = []
    wall = 0.0
    for number in range(given.kills):
        began = time.monotonic()
        sweep = start(place, killed, given)
        # Each attempt gets a share of the runs that are left, so all kills come before the end, however fast
        # the machine is. A share below 0 is a kill while the sweep is still planned.
        share, there = times.uniform(-0.2, 1.0), stored(killed)
        enough, last = there + share * (seeds * POINTS - there) / (given.kills - number + 1), math.inf
        if share < 0:
            enough, last = math.inf, began + planned * times.random()
        while sweep.poll() is None and stored(killed) < enough and time.monotonic() < last:
            time.sleep(0.01)
        time.sleep(times.uniform(0.0, given.flush or 1.0) if share >= 0 else 0.0)
        if sweep.poll() is None:
            os.kill(sweep.pid, signal.SIGKILL)
            sweep.wait()
            there = (killed / "sweep.json").exists()
            kept.append(read(killed).flows["run"].n_unique() if there else 0)
        wall += time.monotonic() - began
    began = time.monotonic()
    wall += finish(start(place, killed, given), began)
    alike = {name: same(quiet, killed, name) for name in ("flows", "links", "failed")}
    found = {
        "runs": seeds * POINTS,
        "duration": given.duration,
        "processors": len(os.sched_getaffinity(0)),
        "undisturbed_s": round(undisturbed, 1),
        "runs_per_s": round(seeds * POINTS / undisturbed, 1),
        "processor_s": round(used.ru_utime + used.ru_stime, 1),
        "planned_s": round(planned, 1),
        "kills": len(kept),
        "runs_kept_at_kills": kept,
        "with_kills_s": round(wall, 1),
        "files": len(list(killed.glob("*/*.parquet"))),
        "megabytes": round(sum(path.stat().st_size for path in quiet.rglob("*")) / 1e6, 1),
        "equal": alike,
    }
    print(json.dumps(found, indent=1))
    whole = read(killed).flows["run"].n_unique() == seeds * POINTS
    return 0 if all(alike.values()) and whole and len(kept) == given.kills else 1


def stored(place: Path) -> int:
    """How many runs are on disk at this moment."""
    found = 0
    for part in place.glob("parts/*.json"):
        with suppress(OSError):  # it has just been merged with others
            found += len(json.loads(part.read_text())["runs"])
    return found


def start(place: Path, out: Path, given: argparse.Namespace) -> subprocess.Popen[bytes]:
    """Begins the sweep."""
    flush = "" if given.flush is None else f"from bentpipe.sweeps import job; job.FLUSH_S = {given.flush}; "
    command = [sys.executable, "-c", f"{flush}from bentpipe.cli.application import main; main()"]
    command += ["sweep", "sweep.toml", "--out", str(out.resolve()), "--workers", str(given.workers)]
    return subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(sweep: subprocess.Popen[bytes], began: float) -> float:
    """Waits for the end of a sweep, which must be a good one; how long it took, in seconds."""
    _, said = sweep.communicate()
    if sweep.returncode:
        raise SystemExit(f"the sweep ended with status {sweep.returncode}: {said.decode()}")
    return time.monotonic() - began


def same(one: Path, other: Path, table: str) -> bool:
    """Whether both have the same rows, as Bentpipe reads them and as any reader does."""
    if not getattr(read(one), table).equals(getattr(read(other), table)):
        return False
    files = [list((place / table).glob("*.parquet")) for place in (one, other)]
    plain = [pl.read_parquet(some).sort("run", maintain_order=True) if some else None for some in files]
    if plain[0] is None or plain[1] is None:
        return plain[0] is plain[1]
    return plain[0].sort(pl.all()).equals(plain[1].sort(pl.all()))


if __name__ == "__main__":
    sys.exit(main())

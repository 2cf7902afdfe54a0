"""Files of orbital elements: what is read whatever the file's name, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

NAMES = (
    "OBJECT_NAME", "OBJECT_ID", "EPOCH", "MEAN_MOTION", "ECCENTRICITY", "INCLINATION", "RA_OF_ASC_NODE",
    "ARG_OF_PERICENTER", "MEAN_ANOMALY", "EPHEMERIS_TYPE", "CLASSIFICATION_TYPE", "NORAD_CAT_ID",
    "ELEMENT_SET_NO", "REV_AT_EPOCH", "BSTAR", "MEAN_MOTION_DOT", "MEAN_MOTION_DDOT",
)  # fmt: skip
# A made-up satellite whose number has six digits, as no TLE can have it.
CELLS = (
    "MADE-UP", "2026-160A", "2026-08-20T00:00:00.000000", "15.06", ".0001", "53.05", "10.0", "0.0", "16.36",
    "0", "U", "100002", "999", "100", ".0001", "1E-05", "0",
)  # fmt: skip


def as_csv(epoch: str = CELLS[2]) -> str:
    return f"{','.join(NAMES)}\n{','.join(CELLS).replace(CELLS[2], epoch)}\n"


@pytest.mark.parametrize("year", ["0001", "1600", "1956", "2200", "2300", "9999"])
def test_an_epoch_beyond_the_clock_is_refused_in_one_line(cli: Any, tmp_path: Path, year: str) -> None:
    """1600 to 1707 and from 2292 on, nanoseconds since 2000 do not fit into 64 bits."""
    (tmp_path / "gp.csv").write_text(as_csv(f"{year}-02-14T04:27:39.231072"))
    done = cli("orbit", "path", "beijing", "new-york", "--tle", tmp_path / "gp.csv", "--for", "1 min")
    assert done.exit_code == 2 and done.stderr.count("\n") == 1
    assert f"gp.csv, line 2: EPOCH: {year}-02-14 " in done.stderr
    assert "years 1957 to 2199" in done.stderr

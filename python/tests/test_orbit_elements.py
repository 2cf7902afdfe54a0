"""Files of orbital elements: what is read whatever the file's name, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bentpipe as bp

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


def message(**changed: str) -> str:
    """One OMM: leaves in groups that say nothing, each on a line of its own."""
    cells = dict(zip(NAMES, CELLS, strict=True)) | changed
    groups = {"metadata": NAMES[:2], "meanElements": NAMES[2:9], "tleParameters": NAMES[9:]}
    body = ""
    for group, names in groups.items():
        body += (
            f"<{group}>\n" + "".join(f"<{name}>{cells[name]}</{name}>\n" for name in names) + f"</{group}>\n"
        )
    return f'<omm id="CCSDS_OMM_VERS" version="2.0">\n<body><segment>\n{body}</segment></body>\n</omm>\n'


def as_xml(*messages: str) -> str:
    """As CCSDS 505.0-B-3 and celestrak.org have it."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<ndm>\n{"".join(messages)}</ndm>\n'


def texts() -> dict[str, str]:
    kvn = "\n".join(f"{name} = {cell}" for name, cell in zip(NAMES, CELLS, strict=True))
    return {
        "csv": as_csv(),
        "json": json.dumps([dict(zip(NAMES, CELLS, strict=True))]),
        "kvn": f"CCSDS_OMM_VERS = 2.0\n{kvn}\n",
        "xml": as_xml(message()),
    }


ISS = (  # celestrak.org's example of the format, with its checksums
    "1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927\n"
    "2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537\n"
)


def path_of(place: Path) -> Any:
    options = {"duration": "2 h", "step": "1 min", "mode": "bent-pipe", "min_elevation": 10}
    return bp.orbit.path("45,10", "48,15", tle=place, **options)


@pytest.mark.parametrize("name", ["gp.txt", "gp", "gp.tle", "gp.csv", "gp.json", "gp.kvn", "gp.xml"])
def test_elements_are_recognised_whatever_the_name(tmp_path: Path, name: str) -> None:
    """`curl URL > starlink.txt` holds what celestrak.org sends by default: a table."""
    place = tmp_path / name
    found = []
    for text in texts().values():
        place.write_text(text)
        found.append(path_of(place))
    for frame in found[1:]:
        assert frame.equals(found[0])
    assert set(found[0].filter(found[0]["reachable"])["first_sat"]) <= {100002}
    place.write_text(ISS)
    assert bp.orbit.path("45,10", "48,15", tle=place, duration="2 s", mode="bent-pipe").height == 2


def test_xml_of_many_messages_names_the_line_of_a_wrong_one(tmp_path: Path) -> None:
    place = tmp_path / "gp.txt"
    place.write_text(as_xml(message(), message(NORAD_CAT_ID="100003", INCLINATION="steep")))
    # Two lines before the first message, which has 27.
    with pytest.raises(bp.ScenarioError, match=r"gp.txt, line 30: INCLINATION: invalid float literal"):
        path_of(place)
    place.write_text(as_xml(message(), message(NORAD_CAT_ID="100003", MEAN_ANOMALY="200")))
    assert path_of(place).height == 120


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (as_xml(message()).replace("</ndm>", "</nmd>"), "line 30: the XML is damaged: mismatched tag"),
        (
            as_xml(message()).replace("<ndm>", '<!DOCTYPE ndm [<!ENTITY a "b">]><ndm>'),
            "line 2: it declares a document type, which no OMM does",
        ),
        (as_xml(), "line 1: no orbital elements"),
        ("<html><body>No GP data found</body></html>", "it is XML of another program, no orbital elements"),
        ("No GP data found\n", "line 1: no orbital elements"),
        (
            "64 bytes from 192.0.2.1: icmp_seq=1 ttl=9 time=3 ms\n",
            "it is the output of ping or fping, no orb",
        ),
        (
            '{"event": "start", "data": {}}\n',
            "it is a report of iperf3, no orbital elements; bentpipe advise",
        ),
    ],
)
def test_what_is_no_file_of_elements_is_named(cli: Any, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "gp.tle").write_text(text)
    done = cli("orbit", "path", "beijing", "new-york", "--tle", tmp_path / "gp.tle", "--for", "1 min")
    assert done.exit_code == 2 and done.stderr.count("\n") == 1
    assert f"gp.tle{', ' if said.startswith('line') else ': '}{said}" in done.stderr

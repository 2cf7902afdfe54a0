"""The verb `drill`: scripts that pass, differ, and cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

OURS = Path(__file__).parents[2] / "crates" / "drill" / "tests" / "packetdrill" / "scripts"
SCRIPT = OURS / "slow_start" / "byte_counting_up_to_two_segments.pkt"


def test_our_own_scripts_pass(cli: Any) -> None:
    done = cli("drill", OURS, "--strict", "--json")
    found = json.loads(done.stdout)["scripts"]
    assert done.exit_code == 0
    assert len(found) > 70
    assert {one["verdict"] for one in found} == {"pass"}
    assert found[0]["script"] == str(sorted(OURS.rglob("*.pkt"))[0].relative_to(OURS))


def test_a_script_that_says_something_else_differs_with_its_line(cli: Any, tmp_path: Path) -> None:
    """Six segments more than two are no eight but by the limit of RFC 3465."""
    text = SCRIPT.read_text(encoding="utf-8")
    place = tmp_path / "changed.pkt"
    place.write_text(text.replace("tcpi_snd_cwnd == 8", "tcpi_snd_cwnd == 10"), encoding="utf-8")
    number = next(i for i, line in enumerate(text.splitlines(), 1) if "tcpi_snd_cwnd == 8" in line)
    done = cli("drill", place, "--json")
    (found,) = json.loads(done.stdout)["scripts"]
    assert (done.exit_code, found["verdict"], found["line"]) == (1, "differs", number)
    table = cli("drill", place, SCRIPT)
    assert (table.exit_code, table.stdout.splitlines()[-1]) == (1, "1 differs, 1 pass")


def test_what_is_not_packetdrill_is_unreadable(cli: Any, tmp_path: Path) -> None:
    place = tmp_path / "prose.pkt"
    place.write_text("It was a dark and stormy night.\n", encoding="utf-8")
    done = cli("drill", place)
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (1, "1 unreadable")


def test_a_place_without_scripts_is_one_message(cli: Any, tmp_path: Path) -> None:
    done = cli("drill", tmp_path)
    assert done.exit_code == 2
    assert done.stderr.strip().endswith("no script (*.pkt) is in this folder")
    missing = cli("drill", tmp_path / "nowhere.pkt")
    assert missing.exit_code != 0
    assert "nowhere.pkt" in missing.stderr and "Traceback" not in missing.stderr

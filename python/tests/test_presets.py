"""Scenarios that come with the package run and name their sources; `scenario new` makes others of them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import bentpipe as bp
from bentpipe.document.spans import LinkSpec
from bentpipe.presets.draft import draft
from bentpipe.presets.shipped import shipped, text

PEOPLE_HAVE = (
    "earth-observation geo-aircraft geo-backhaul geo-consumer geo-hts geo-onoff geo-quic geo-rural "
    "geo-web-load leo-consumer ship vsat-polling vsat-upload"
).split()
SOURCE = re.compile(
    r"https?://|RFC \d|ITU-[TR]|ETSI|EN 30\d|\(\d{4}\)|[A-Z]\w+ \d{4}|bentpipe (orbit|weather)|\.toml"
)


@pytest.mark.parametrize("preset", shipped(), ids=lambda preset: preset.name)
def test_a_scenario_that_comes_with_the_package_delivers_data(preset) -> None:
    assert preset.title and preset.about
    result = bp.run(bp.Scenario.load(preset.name, {"duration": "5 s"}))
    assert result.flows["goodput_bps"].min() > 0


@pytest.mark.parametrize("name", PEOPLE_HAVE)
def test_every_number_of_a_link_has_its_source_or_says_that_it_is_ours(name) -> None:
    """The comment above has a source, or some comment has the number; a delay may be half a round trip."""
    content = text(name)
    head = content.partition("\ntitle")[0]
    assert SOURCE.search(head)
    elsewhere = "".join(text(other) for other in re.findall(r"([\w-]+)\.toml", head))
    said = numbers("".join(re.findall(r"^#.*$", content, re.MULTILINE)))
    comment: list[str] = []
    for line in content.partition("[link.")[2].splitlines():
        if line.startswith("#"):
            comment.append(line)
        elif re.match(r"(rate|delay|loss|handover|access)\s*=", line):
            above = " ".join(comment)
            sourced = SOURCE.search(above) or "ours" in above or line in elsewhere
            halves = {value / 2 for value in said} if line.startswith("delay") else set()
            percent = {value / 100 for value in said} if line.startswith("loss") else set()
            assert sourced or numbers(line) <= said | halves | percent, f"{name}: {line}"
            comment = []
        elif line.startswith("["):
            comment = []


def numbers(line: str) -> set[float]:
    return {float(number) for number in re.findall(r"\d+(?:\.\d+)?", line)}


def test_a_new_scenario_has_what_was_asked_for_and_runs(cli, tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    given = ["--rate", "20Mbit/s", "--rtt", "600 ms", "--per", "1e-4", "--buffer", "0.5 bdp", "--flows", "2"]
    done = cli("scenario", "new", "--out", file, *given, "--cc", "cubic, hybla")
    assert done.exit_code == 0, done.stderr
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    link = table["link"]["sat"]
    assert (link["rate"], link["delay"]) == ("20 Mbit/s", "300 ms")
    assert link["queue"] == {"kind": "drop-tail", "limit": "0.5 bdp"}
    assert link["loss"] == {"kind": "packet-error", "rate": 1e-4}
    assert [(flow["cc"], flow["count"]) for flow in table["flow"]] == [("cubic", 2), ("hybla", 2)]
    assert cli("run", file, "--set", 'duration="5 s"').exit_code == 0


def test_a_new_scenario_takes_no_time_line() -> None:
    with pytest.raises(bp.ScenarioError, match="timeline: a new scenario takes none"):
        draft(LinkSpec(timeline="orbit.csv"))


def test_what_is_commented_out_in_a_new_scenario_is_right(tmp_path: Path) -> None:
    """Each line of a comment that sets a key may be taken into use."""
    content = draft()
    keys = re.findall(r"^# (\w+ = .*)$", content, re.MULTILINE)
    assert len(keys) >= 5
    for line in keys:
        file = tmp_path / "used.toml"
        file.write_text(content.replace(f"# {line}", line, 1), encoding="utf-8")
        bp.Scenario.load(file)


def test_a_file_is_replaced_only_when_that_is_asked_for(cli, tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text("precious")
    done = cli("scenario", "new", "--out", file)
    assert done.exit_code == 2
    assert done.stderr.strip() == f"bentpipe: {file} exists; --force replaces it"
    assert file.read_text() == "precious"
    assert cli("scenario", "new", "--out", file, "--force").exit_code == 0
    assert bp.Scenario.load(file).links["sat"].rate == "10 Mbit/s"


@pytest.mark.parametrize("base", ["geo", "geo-rain", "vsat-dama", "leo"])
def test_a_scenario_made_from_another_runs_anywhere(base, cli, tmp_path: Path, monkeypatch) -> None:
    """Its time line is found from another folder, and the old value stays beside the new."""
    monkeypatch.chdir(tmp_path)
    done = cli("scenario", "new", "--from", base, "--cc", "hybla", "--buffer", "0.5 bdp", "-o", "my.toml")
    assert done.exit_code == 0, done.stderr
    content = Path("my.toml").read_text(encoding="utf-8")
    assert "# Instead of" in content and "changed: queue, cc" in content
    old, new = bp.Scenario.load(base), bp.Scenario.load("my.toml", {"duration": "5 s"})
    (name,) = old.links
    assert new.links[name].delay == old.links[name].delay
    assert new.flows[0].cc == "hybla"
    assert bp.run(new).flows["goodput_bps"][0] > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rate", "20"], 'bentpipe: --rate: "20" has no unit; write e.g. "10 Mbit/s"'),
        (["--buffer", "9 parsecs"], 'bentpipe: --buffer: unit "parsecs" is not'),
        (["--rtt", "600"], "--rtt: '600' is not a duration"),
        (["--ber", "1e-6", "--per", "1e-4"], "give one of them"),
        (["--cc", "cubik"], "did you mean cubic"),
        (["--from", "leo", "--rate", "20 Mbit/s"], "link.leo.rate is not one value there"),
        (["--from", "geo-pep", "--rate", "20 Mbit/s"], "has the links internet and sat"),
        (["--from", "goe"], "did you mean geo"),
        (["--measured", "ping.log", "--rate", "20 Mbit/s"], "--measured estimates the link"),
    ],
)
def test_a_wrong_request_for_a_scenario_is_one_line(arguments, said, cli) -> None:
    done = cli("scenario", "new", *arguments)
    assert done.exit_code == 2
    assert said in done.stderr and len(done.stderr.splitlines()) == 1


def test_list_and_show_print_what_there_is(cli) -> None:
    listed = cli("scenario", "list")
    assert all(preset.name in listed.stdout for preset in shipped())
    assert cli("scenario", "show", "ship").stdout == text("ship")

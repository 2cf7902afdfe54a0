"""Files of others: bounded before and after decompression, never waited for, hardly quoted."""

from __future__ import annotations

import gzip
import io
import json
import os
import resource
import shutil
import signal
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forked
import polars as pl
import pytest
from forms import form

import bentpipe as bp
from bentpipe import _core
from bentpipe.io import foreign
from bentpipe.measured import capture
from bentpipe.measured.link import estimate, kind
from bentpipe.orbit import ground, paths
from bentpipe.timeline.traces import FORMATS

SECRET = "admin:$6$topsecret$hash:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n"


def bomb(megabytes: int) -> bytes:
    """JSON of irtt with blanks in it, compressed a thousandfold."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    blanks = b" " * (1 << 20)
    parts = [packer.compress(b'{"round_trips":['), *(packer.compress(blanks) for _ in range(megabytes))]
    return b"".join([*parts, packer.compress(b"]}"), packer.flush()])


def run(*words: object, memory: int = 2 << 30) -> subprocess.CompletedProcess[str]:
    """The command line with so much address space."""
    return forked.run(words, limits={resource.RLIMIT_AS: memory}, timeout=60)


def refused(ran: subprocess.CompletedProcess[str], *said: str) -> None:
    assert ran.returncode == 2, ran.stderr[-500:]
    assert ran.stderr.count("\n") == 1 and len(ran.stderr) < 600, ran.stderr[:700]
    for part in said:
        assert part in ran.stderr


def test_a_gzip_bomb_stops_at_the_bound(tmp_path: Path) -> None:
    """Blanks, in the long form a gigabyte. What is read is 256 MiB, so 2 GB of address space are enough."""
    (tmp_path / "bomb.json.gz").write_bytes(bomb(form(300, 1024)))
    where = tmp_path / "bomb.json.gz"
    said = "bomb.json.gz: decompressed it is larger than 256 MiB"
    for packed in ("irtt", "dish"):
        refused(run("timeline", "import", where, "--format", packed, "--out", tmp_path / "x.parquet"), said)
    refused(run("scenario", "new", "--measured", where), said)


def readers() -> dict[str, Callable[[Path], Any]]:
    """Every reader of a file of somebody else, by a name for it."""
    options = {"mahimahi": {"bin_s": 0.1}, "csv": {"columns": "t=a:s, up=b"}}

    def importer(name: str) -> Callable[[Path], Any]:
        return lambda path: bp.timeline.read_trace(path, name, **options.get(name, {}))

    return {
        **{name: importer(name) for name in FORMATS},
        "time line": bp.timeline.read,
        "measured": lambda path: estimate([path]),
        "positions": ground.read,
        "elements": lambda path: paths.path("Istanbul", "Nairobi", tle=path, duration="10 s"),
        "scenario": bp.Scenario.load,
        "result": lambda path: bp.Result.load(path.parent),
    }


def place_for(name: str, folder: Path) -> Path:
    return folder / {"time line": "x.csv", "result": "run.json"}.get(name, "x.txt")


@pytest.mark.parametrize("name", readers())
def test_every_reader_refuses_a_file_beyond_its_bound(tmp_path: Path, name: str) -> None:
    """Sparse, so that it takes no disk: reading it would take 4 GiB."""
    place = place_for(name, tmp_path)
    with place.open("wb") as stream:
        stream.write(b"{" if name == "measured" else b"t_s,up\n")
        stream.truncate(4 << 30)
    with pytest.raises(bp.ScenarioError, match=r"larger than \d+ MiB") as raised:
        readers()[name](place)
    assert str(place.parent) in str(raised.value)


@pytest.mark.parametrize("name", readers())
def test_no_reader_waits_for_a_pipe(tmp_path: Path, name: str) -> None:
    place = place_for(name, tmp_path)
    os.mkfifo(place)
    with pytest.raises(bp.ScenarioError) as raised:
        readers()[name](place)
    assert any(why in str(raised.value) for why in ("pipe", "no file", "not a result"))


@pytest.mark.parametrize(
    "name", ["/proc/kmsg", "/proc/version", "/sys/kernel/mm/transparent_hugepage/enabled"]
)
def test_a_file_of_the_kernel_is_refused_and_not_waited_for(tmp_path: Path, name: str) -> None:
    if not Path(name).exists():
        pytest.skip(f"there is no {name} here")
    (tmp_path / "link.csv").symlink_to(name)
    scenario = tmp_path / "a.toml"
    base = 'duration="1 s"\n[[flow]]\ncc="reno"\npath=["a"]\n[link.a]\nrate="1 Mbit/s"\ndelay="1 ms"\n'
    for key in (
        f'timeline = "{name}"',
        'timeline = "link.csv"',
        f'opportunities = "{name}"',
        f'loss = {{ kind = "trace", file = "{name}" }}',
    ):
        scenario.write_text(base + key)
        refused(run("run", scenario), "file of the kernel")
    refused(run("run", name), "file of the kernel")
    refused(run("timeline", "check", tmp_path / "link.csv"), "file of the kernel")
    refused(run("timeline", "import", name, "--format", "ping", "--out", tmp_path / "x.csv"), "of the kernel")


def test_an_empty_file_is_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "x.csv").touch()
    with pytest.raises(bp.ScenarioError, match=r"x.csv: the file is empty"):
        bp.timeline.read(tmp_path / "x.csv")
    assert _core.read_file(tmp_path / "x.csv", 10) == b""


def test_a_file_that_is_not_there_is_the_error_of_python(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        _core.read_file(tmp_path / "none", 10)
    assert (raised.value.filename, raised.value.strerror) == (
        str(tmp_path / "none"),
        "No such file or directory",
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[" + "[]," * 8_000_001 + "[]]", "values; at most 16,000,000"),
        ("\n" * 4_000_001 + "x", "lines; at most 4,000,000"),
        ("," * 16_000_001 + "x", "cells; at most 16,000,000"),
    ],
)
def test_small_files_that_stand_for_many_values_are_refused(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "x.txt").write_text(content)
    with pytest.raises(bp.ScenarioError, match=said):
        if content.startswith("["):
            foreign.value(tmp_path / "x.txt", content.encode())
        else:
            foreign.lines(tmp_path / "x.txt")


def test_a_parquet_file_is_refused_by_its_count_of_rows(tmp_path: Path) -> None:
    """Half a megabyte of 70 million rows, 0.6 GB; and lists, whose items no count of rows tells."""
    place = tmp_path / "x.parquet"
    pl.select(t_s=pl.repeat(0.0, 70_000_000)).write_parquet(place)
    assert place.stat().st_size < 1_000_000
    with pytest.raises(bp.ScenarioError, match=r"x.parquet: it has 70,000,000 cells; at most 64,000,000"):
        bp.timeline.read(place)
    pl.DataFrame({"t_s": [0.0], "up": [[True, False]]}).write_parquet(place)
    with pytest.raises(bp.ScenarioError, match=r"x.parquet: a cell of up holds several values"):
        bp.timeline.read(place)
    link = bp.Link(rate="1 Mbit/s", delay="10 ms", timeline=str(place))
    with pytest.raises(bp.ScenarioError, match=r"link\.l\.timeline.*several values"):
        bp.run(bp.Scenario(links={"l": link}, flows=[bp.Flow("reno", path=["l"])], duration="3 s"))


def test_a_parquet_footer_that_lies_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    pl.DataFrame({"t_s": [0.0, 1.0], "up": [True, False]}).write_parquet(buffer)
    whole = buffer.getvalue()
    place = tmp_path / "x.parquet"
    for at in range(len(whole) - 200, len(whole), 3):
        place.write_bytes(whole[:at] + b"\xff" + whole[at + 1 :])
        ran = None
        try:
            bp.timeline.read(place)
        except bp.ScenarioError as error:
            ran = str(error)
        assert ran is None or (str(place) in ran and "\n" not in ran)


@pytest.mark.parametrize("name", readers())
def test_no_message_repeats_a_file_that_was_not_meant(tmp_path: Path, name: str) -> None:
    for text in (SECRET, SECRET.replace(":", ","), "# " + SECRET, '{"topsecret": 1}', "topsecret"):
        place = place_for(name, tmp_path)
        place.write_text(text)
        with pytest.raises(Exception) as raised:  # noqa: B017, PT011
            readers()[name](place)
        if (name == "csv" and "," in text) or (name == "scenario" and text.startswith("{")):
            continue  # a head of several columns is a table, and an object of JSON is a scenario
        assert "topsecret" not in str(raised.value), str(raised.value)


@pytest.mark.parametrize("key", ["timeline", "loss", "opportunities", "sizes"])
def test_a_scenario_does_not_print_the_file_that_it_names(tmp_path: Path, key: str) -> None:
    (tmp_path / "shadow").write_text(SECRET)
    given = {
        "timeline": 'rate="1 Mbit/s"\ntimeline = "shadow"',
        "loss": 'rate="1 Mbit/s"\nloss = { kind = "trace", file = "shadow" }',
        "opportunities": 'rate="1 Mbit/s"\nopportunities = "shadow"',
        "sizes": 'rate="1 Mbit/s"',
    }[key]
    traffic = {
        "sizes": 'traffic = { kind = "short-flows", load = 0.1, size = { kind = "file", file = "shadow" } }'
    }
    place = tmp_path / "a.toml"
    place.write_text(
        f'duration="1 s"\n[link.a]\ndelay="1 ms"\n{given}\n[[flow]]\ncc="reno"\npath=["a"]\n'
        + traffic.get(key, "")
    )
    ran = run("run", place)
    assert ran.returncode == 2 and "shadow" in ran.stderr
    assert "line 1" in ran.stderr or key == "sizes"
    assert "topsecret" not in ran.stderr and "admin" not in ran.stderr, ran.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("csv", "{long},b\n0,true\n"),
        ("csv", "a,b\n{long},true\n"),
        ("mahimahi", "1\n{long}\n"),
        ("hypatia", "0,1-2-3\n{long},{long}\n"),
        ("hypatia", "0,3e7\n{long}x,1\n"),
        ("leoem", "1$NULL\n{long}$NULL\n"),
        ("leoreplayer", "24\n{long}\n"),
        ("conext23", "{long},b\n0,1\n"),
        ("conext23", "time,throughput\n{long},1\n"),
        ("autobahn", "timestamp_start_dl,download\n2024-04-19,{long}x\n"),
        ("iperf3", "iperf3: error - {long}\n"),
        ("time line", "# bentpipe timeline {long}\nt_s,up\n"),
        ("time line", "{long},up\n0,true\n"),
        ("time line", "t_s,rate_bps\n0,{long}x\n"),
        ("positions", "t_s,lat,lon\n0,{long}x,0\n"),
    ],
)
def test_a_message_quotes_at_most_sixty_characters(tmp_path: Path, name: str, text: str) -> None:
    place = place_for(name, tmp_path)
    place.write_text(text.replace("{long}", "9" * 100_000))
    with pytest.raises(bp.ScenarioError) as raised:
        readers()[name](place)
    said = str(raised.value).replace(str(place), "")
    assert "9" * 62 not in said and len(said) < 400, said[:500]


@pytest.mark.parametrize(
    ("name", "begins", "repeats"),
    [
        ("nuttcp", "", "9"),
        ("nuttcp", "", "megabytes="),
        ("nuttcp", "megabytes=1 real_sec=", "1"),
        ("iperf3", "[  5]   ", "9"),
        ("iperf3", "[  5]   0.00-1.00   sec  1 MBytes  ", "9"),
        ("ping", "", "["),
        ("ping", "", "64 bytes from "),
        ("ping", "64 bytes from 1.1.1.1: icmp_seq=1 ttl=1 time=", "9"),
        ("ping", "", "1 packets transmitted, 1 received"),
        ("positions", "t_s,lat,lon", "9"),
    ],
)
def test_a_long_line_is_refused_at_once(tmp_path: Path, name: str, begins: str, repeats: str) -> None:
    """A million characters. To look at each pair of them takes hours."""
    text = begins + repeats * (1_000_000 // len(repeats))
    place = place_for(name, tmp_path)
    place.write_text(text)
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it takes too long"))
    signal.alarm(10)
    try:
        with pytest.raises(bp.ScenarioError):
            readers()[name](place)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "dish",
            '{"dishGetHistory": {"outages": [{"startTimestampNs": 1%s, "durationNs": 1}]}}' % ("0" * 400),
        ),
        ("dish", '{"dishGetHistory": {"outages": [{"startTimestampNs": Infinity, "durationNs": 1}]}}'),
        ("iperf3", '{"start": null, "intervals": [{}]}'),
        ("iperf3", '{"start": {"test_start": []}, "intervals": [{}]}'),
    ],
)
def test_json_with_values_of_another_kind_is_refused(tmp_path: Path, name: str, text: str) -> None:
    place = place_for(name, tmp_path)
    place.write_text(text)
    with pytest.raises(bp.ScenarioError, match="outage 1 lacks|test_start is no object"):
        readers()[name](place)


def test_a_run_quotes_at_most_sixty_characters_of_a_cell(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("t_s,rate_bps\n0," + "9" * 1_000_000 + "\n")
    link = bp.Link(rate="1 Mbit/s", delay="10 ms", timeline=str(tmp_path / "x.csv"))
    with pytest.raises(bp.ScenarioError, match="too high") as raised:
        bp.run(bp.Scenario(links={"l": link}, flows=[bp.Flow("reno", path=["l"])], duration="3 s"))
    assert len(str(raised.value)) < 400


def test_check_and_run_agree_on_lines_that_a_carriage_return_ends(tmp_path: Path) -> None:
    for text, line in (("t_s,up\r0,true\r1,false\r", 1), ("t_s,up\r\n0,true\r1,false\r\n", 2)):
        (tmp_path / "cr.csv").write_bytes(text.encode())
        said = rf"line {line}: a carriage return without a line feed ends no line; save the file"
        with pytest.raises(bp.ScenarioError, match=said):
            bp.timeline.read(tmp_path / "cr.csv")
        link = bp.Link(rate="1 Mbit/s", delay="10 ms", timeline=str(tmp_path / "cr.csv"))
        with pytest.raises(bp.ScenarioError, match=said):
            bp.run(bp.Scenario(links={"l": link}, flows=[bp.Flow("reno", path=["l"])], duration="3 s"))


def test_captures_of_any_size_are_recognised_by_their_head(tmp_path: Path) -> None:
    place = tmp_path / "x.pcap"
    with place.open("wb") as stream:
        stream.write(b"\xd4\xc3\xb2\xa1")
        stream.truncate(8 << 30)
    assert kind(place) == "capture"
    place.write_bytes(gzip.compress(b"\xd4\xc3\xb2\xa1" + os.urandom(1 << 20)))
    assert kind(place) == "capture"


def test_a_capture_has_a_bound_of_packets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed, four megabytes may be a hundred million packets. What cannot be TCP counts, too."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    packet = b"\0" * 8 + (60).to_bytes(4, "little") * 2 + b"\0" * 60
    head = b"\xd4\xc3\xb2\xa1\2\0\4\0" + b"\0" * 8 + b"\xff\xff\0\0\1\0\0\0"
    (tmp_path / "x.pcap").write_bytes(gzip.compress(head + packet * 101))
    monkeypatch.setattr(capture, "_MOST_PACKETS", 100)
    with pytest.raises(bp.ScenarioError, match=r"x.pcap: it has more than 100 packets; cut it with editcap"):
        estimate([tmp_path / "x.pcap"])
    monkeypatch.setattr(capture, "_MOST_PACKETS", 101)
    with pytest.raises(bp.ScenarioError) as raised:
        estimate([tmp_path / "x.pcap"])
    assert "more than" not in str(raised.value)


def test_what_fits_is_read_as_before(tmp_path: Path) -> None:
    report = {"round_trips": [], "stats": list(range(1000))}
    whole = gzip.compress(json.dumps(report).encode())
    (tmp_path / "x.gz").write_bytes(whole + gzip.compress(b"\n"))  # gzip of two members is one stream
    assert json.loads(foreign.unpacked(tmp_path / "x.gz")) == report
    assert foreign.split(tmp_path / "x", "a\r\nb\n\nc") == ["a", "b", "", "c"]

"""Damaged and hostile files: one clear message, the right status, bounded time and memory, nothing lost."""

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import forked
import pytest

import bentpipe as bp
from bentpipe import plot, terminal
from bentpipe.io import files
from bentpipe.result import check_place

COMMAND = [sys.executable, "-c", "from bentpipe.cli.application import main; main()"]


def attack(path, *more, **given):
    """`bentpipe run` with four GB of address space: a file that takes more memory than that fails."""
    return forked.run(["run", path, *more], limits={resource.RLIMIT_AS: 4 << 30}, timeout=30, **given)


def refused(ran, status=2, most=1):
    """What is said of a request that is wrong: one line, or one for each mistake of a scenario."""
    assert ran.returncode == status, ran.stderr[-500:]
    assert ran.stdout == ""
    lines = ran.stderr.splitlines()
    assert 1 <= len(lines) <= most, ran.stderr[-500:]
    assert "Traceback" not in ran.stderr and "panicked" not in ran.stderr
    for line in lines:
        assert line.startswith("bentpipe: ") and line.isprintable() and len(line) < 1000
    return ran.stderr


FILES = {
    "a hundred megabytes": (b"# " + b"x" * 100_000_000, "larger than 16 MiB"),
    "deep lists": (b"a = " + b"[" * 200_000 + b"]" * 200_000, "not valid TOML"),
    "deep tables": (b"a = " + b"{a=" * 100_000 + b"1" + b"}" * 100_000, "not valid TOML"),
    "a deep header": (b"[" + b".".join([b"a"] * 200_000) + b"]\nb = 1\n", "not valid TOML"),
    "NUL": (b"seed = 1\n\0", "NUL"),
    "no UTF-8": (b"seed = 1 # \xff\xfe", "UTF-8"),
    "UTF-16": ("seed = 1".encode("utf-16"), "UTF-8"),
    "a million digits": (b"seed = " + b"9" * 1_000_000, "too large"),
    "an exponent": (b'duration = "1e999999999 s"', "too large"),
    "not a number": (b"[link.a]\nloss = nan\n", "finite"),
    "a hundred thousand syntax errors": (b"seed = 1\n" + b"a b\n" * 100_000, "99980 more"),
    "a hundred thousand bare words": (b"".join(b"k%d = x\n" % i for i in range(100_000)), "stands in quotes"),
    "a hundred thousand wrong numbers": (b"".join(b"k%d = nan\n" % i for i in range(100_000)), "finite"),
    "a key of a megabyte": (b"k" * 1_000_000 + b" = 1", "unknown key"),
    "half a million keys": (b"\n".join(b"k%d = 1" % i for i in range(500_000)), "at least"),
    "nothing": (b"", "duration"),
    "1e400": (b'[link.a]\nloss = { kind = "packet-error", rate = 1e400 }\n', "finite"),
    "-nan": (b'[link.a]\nloss = { kind = "packet-error", rate = -nan }\n', "finite"),
    "2^64": (b"seed = 18446744073709551616", "18446744073709551615"),
    "-2^63": (b"seed = -9223372036854775808", "seed"),
    "less than nothing": (b'duration = "-0.1 s"', "negative"),
    "escapes": (b'[link."\\u001b[2J"]\nrate = "\\u001b]0;x\\u0007"\n', "rate"),
}


@pytest.mark.parametrize("what", FILES)
def test_a_hostile_file_is_refused_with_a_line_for_each_mistake(tmp_path, what):
    content, word = FILES[what]
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    said = refused(attack(path), most=21)
    assert word in said and "x.toml" in said


@pytest.mark.parametrize("kind", ["directory", "loop", "dangling", "pipe", "device"])
def test_what_is_no_file_is_refused(tmp_path, kind):
    path = tmp_path / "x.toml"
    match kind:
        case "directory":
            path.mkdir()
        case "loop":
            path.symlink_to(path)
        case "dangling":
            path.symlink_to("/nowhere/at/all")
        case "pipe":
            os.mkfifo(path)
        case _:
            path.symlink_to("/dev/zero")
    said = refused(attack(path))
    assert "x.toml" in said and ("is no regular file" in said) == (kind in ("pipe", "device"))


def test_a_scenario_may_be_a_link_to_a_file(scenario_file, tmp_path):
    (tmp_path / "a.toml").symlink_to("b.toml")
    (tmp_path / "b.toml").symlink_to(scenario_file)
    ran = attack(tmp_path / "a.toml", "--set", "duration=1 s", "--json")
    assert ran.returncode == 0 and json.loads(ran.stdout)["packets"] > 0


TRACES = {
    "pipe": "a pipe, a socket or a device",
    "/dev/zero": "a pipe, a socket or a device",
    "directory": "directory",
    "loop": "symbolic links",
    "nowhere": "no such file",
    "": "this is a directory",
    "1\nx\n": "line 2",
    "-1": "line 1",
    "18446744073709551616": "line 1",
    "1.5": "line 1",
    "\0": "line 1",
    "1\n\x1b[2J\n": "line 2",
    "1\n\udcff\n": "UTF-8",
}


@pytest.mark.parametrize("what", TRACES)
def test_what_is_no_trace_of_losses_is_refused(scenario_file, tmp_path, what):
    path = tmp_path / "lost.txt"
    match what:
        case "pipe":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "loop":
            path.symlink_to(path)
        case "/dev/zero" | "nowhere" | "":
            path = what
        case _:
            path.write_bytes(what.encode(errors="surrogateescape"))
    table = f'link.sat.loss={{kind="trace",file="{path}"}}'
    said = refused(attack(scenario_file, "--set", table))
    assert "link.sat.loss.file" in said and TRACES[what] in said


def test_a_trace_of_losses_may_be_empty_or_name_what_never_comes(scenario_file, tmp_path):
    for text in ("", "# none\n\n", "18446744073709551615\n7\n7\n5 # again\n"):
        (tmp_path / "lost.txt").write_text(text)
        table = 'link.sat.loss={kind="trace",file="lost.txt"}'
        ran = attack(scenario_file, "--set", table, "--set", "duration=5 s", "--json", cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
        lost = json.loads(ran.stdout)["links"][0]["dropped_error"]
        assert lost == (2 if "7" in text else 0)


NASTY = '[/x] [bold]\x1b[2J\x07--><script>alert("x\'")</script>&amp;]]>$\\frac{$'
NAME = NASTY.replace("/", "")
"""The same as the name of a link or a flow, in which "/" only separates names."""


def nasty(tmp_path):
    text = bp.Scenario(
        links={NAME: bp.Link(rate="1 Mbit/s", delay="10 ms")},
        flows=[bp.Flow("reno", path=[NAME], name=NAME)],
        duration="2 s",
        title=NASTY,
    )
    quoted = json.dumps(NAME)
    path = tmp_path / "nasty.toml"
    path.write_text(
        f'title = {json.dumps(NASTY)}\nduration = "2 s"\n'
        f'[link.{quoted}]\nrate = "1 Mbit/s"\ndelay = "10 ms"\n'
        f'[[flow]]\nname = {quoted}\ncc = "reno"\npath = [{quoted}]\n'
    )
    return text, path


def test_names_steer_neither_tables_nor_the_terminal(tmp_path):
    _, path = nasty(tmp_path)
    ran = attack(path)
    assert ran.returncode == 0, ran.stderr
    for text in (ran.stdout, ran.stderr):
        assert "\x1b" not in text and "\x07" not in text
    assert "[/x] [bold]\\x1b[2J\\x07--><script>" in ran.stdout
    assert json.loads(attack(path, "--json").stdout)["flows"][0]["name"] == NAME


def test_a_title_is_text_beside_the_bar(tmp_path, on_a_terminal):
    _, path = nasty(tmp_path)
    words = ["run", str(path), "--set", 'record={interval="1 ms"}', "--set", "duration=400 s"]
    words += ["--set", "link.*.rate=100 Mbit/s"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    # The bar comes only after a while, and how long the run takes is the machine's affair.
    at_once = (
        "from bentpipe import terminal; terminal.Bar._AFTER_S = 0.0; "
        "from bentpipe.cli import application; application.main()"
    )
    command = [sys.executable, "-c", at_once, *words]
    status, said = on_a_terminal(command, environment)
    assert status == 0, said
    assert b"[/x] [bold]\\x1b[2J\\x07--><script>" in said
    assert b"\x1b[2J\x07" not in said


@pytest.mark.filterwarnings("ignore:constrained_layout not applied")  # such names leave no room
def test_names_are_text_in_every_plot(tmp_path):
    scenario, _ = nasty(tmp_path)
    scenario.record = bp.Record(interval="100 ms", links=True, segments=True)
    result = bp.run(scenario)
    drawings = {
        "cwnd": plot.cwnd(result, ssthresh=True),
        "sequence": plot.sequence(result, flow=NAME),
    }
    for name, drawing in drawings.items():
        path = plot.save(drawing, tmp_path / f"{name}.svg")
        # What parses as XML and has no element of its own for a name has it as text.
        elements = {e.tag.rpartition("}")[2] for e in ElementTree.parse(path).iter()}
        assert "script" not in elements and "path" in elements, elements
        assert "<script" not in path.read_text()


@pytest.mark.parametrize(
    ("links", "flow", "key"),
    [
        ({"a/b": {}}, "star", "link.a/b"),
        ({"a": {}, "a/reverse": {}}, "star", "link.a/reverse"),
        ({"a": {}}, "web/3", "flow.0.name"),
        ({"": {}}, "star", "a name is not empty"),
    ],
)
def test_a_name_has_no_slash(tmp_path, links, flow, key):
    """It separates names in rows, traces and random streams: "a/reverse" is a direction of "a"."""
    path = tmp_path / "slash.toml"
    tables = "".join(f'[link."{name}"]\nrate = "1 Mbit/s"\ndelay = "10 ms"\n' for name in links)
    first = next(iter(links))
    path.write_text(f'duration = "2 s"\n{tables}[[flow]]\nname = "{flow}"\ncc = "reno"\npath = ["{first}"]\n')
    said = refused(attack(path, "--out", str(tmp_path / "out")))
    assert key in said.replace('"', "") and ("separates names" in said or not first)
    assert not (tmp_path / "out").exists()


def test_the_schema_knows_that_a_name_has_no_slash():
    from bentpipe.document.schema import scenario_schema

    schema = scenario_schema()
    pattern = schema["properties"]["link"]["propertyNames"]["pattern"]
    assert re.fullmatch(pattern, "sat") and not re.search(pattern, "a/b")
    assert schema["$defs"]["Flow"]["properties"]["name"]["pattern"] == pattern


def test_very_many_rows_are_counted_and_not_laid_out(capsys):
    result = bp.run(
        bp.Scenario(
            links={"a": bp.Link(rate="1 Mbit/s", delay="10 ms")},
            flows=[bp.Flow("reno", path=["a"], count=20_000)],
            duration="1 ms",
        )
    )
    from bentpipe.cli.tables import show_run

    show_run(result)
    shown = capsys.readouterr().out
    assert "reno x 20" in shown and shown.count("\n") < 60
    terminal.warn(["x"] * 5000)
    assert capsys.readouterr().err.count("\n") == terminal.MOST_ROWS + 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--ber", "nan"], "no probability"),
        (["--per", "inf"], "no probability"),
        (["--seeds", "100000000000"], "more than 1000000 runs"),
        (["--seed", "18446744073709551615", "--seeds", "2"], "seed: too large"),
        (["--flows", "99999999999999999999999"], "count: too large"),
    ],
)
def test_absurd_numbers_are_refused(cli, options, said):
    ran = cli("compare", "--link", "geo", "--cc", "reno", "--for", "1 s", *options)
    assert (ran.exit_code, ran.stdout) == (2, "") and said in ran.stderr


def test_a_place_that_cannot_be_written_is_said_before_the_run(scenario_file, tmp_path):
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file" / "x", tmp_path / ("x" * 300), "/proc/x"):
        said = refused(attack(scenario_file, "--set", "duration=3652 d", "--out", str(place)), 1)
        assert "Errno" not in said
    assert refused(attack(scenario_file, "--set", "duration=3652 d", "--out", str(tmp_path / "file")))
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("name", ["x" * 255, "x" * 252, "\u00e9" * 127, "x" * 201])
def test_a_name_may_be_as_long_as_the_system_allows(scenario_file, tmp_path, name):
    """255 bytes; what stands there until all is written has a shorter name, and is cleared away."""
    place = tmp_path / "here" / name
    for _ in range(2):
        ran = attack(scenario_file, "--set", "duration=1 s", "--out", str(place))
        assert ran.returncode == 0, ran.stderr
    assert bp.Result.load(place).flows.height == 1
    pcap = tmp_path / "here" / f"{name[:100]}{'y' * (len(os.fsencode(name)) - len(os.fsencode(name[:100])))}"
    ran = attack(scenario_file, "--set", "duration=1 s", "--pcap", str(pcap))
    assert ran.returncode == 0, ran.stderr
    assert {p.name for p in (tmp_path / "here").iterdir()} == {name, pcap.name}


def test_what_a_killed_process_left_under_a_long_name_is_removed(tmp_path):
    from bentpipe.io.files import replace

    place = tmp_path / ("x" * 250)
    work = []
    replace(place, lambda path: (work.append(path), path.write_text("new")))
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    left = work[0].with_name(work[0].name.replace(f".{os.getpid()}.", f".{child.pid}."))
    left.write_text("half")
    replace(place, lambda path: path.write_text("newer"))
    assert [p.name for p in tmp_path.iterdir()] == [place.name] and place.read_text() == "newer"


def full():
    """Files of at most 4 kB, as a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_a_full_disk_loses_neither_the_answer_nor_the_earlier_result(scenario_file, tmp_path):
    place = tmp_path / "out"
    assert attack(scenario_file, "--set", "duration=1 s", "--out", place).returncode == 0
    before = {p.name: p.read_bytes() for p in place.iterdir()}
    words = ["run", str(scenario_file), "--set", 'record={interval="1 ms"}', "--out", str(place)]
    ran = subprocess.run([*COMMAND, *words], capture_output=True, text=True, timeout=60, preexec_fn=full)
    assert ran.returncode == 1 and ran.stderr.count("\n") == 1
    assert "goodput" in ran.stdout
    assert {p.name: p.read_bytes() for p in place.iterdir()} == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "sat.toml"]


DIES = """
import os, sys
import bentpipe as bp
from bentpipe.io import files

def die(step, path):
    if step == int(sys.argv[2]):
        os.kill(os.getpid(), 9)

real, steps = os.rename, iter(range(9))
def rename(old, new):
    die(next(steps), new)
    real(old, new)
    die(next(steps), new)

os.rename = rename
link = bp.Link(rate="1 Mbit/s", delay="10 ms")
bp.run(bp.Scenario(links={"a": link}, flows=[bp.Flow("reno", path=["a"])], duration="2 s")).save(sys.argv[1])
"""


@pytest.mark.parametrize("step", range(4))
def test_a_save_that_is_killed_beside_a_rename_loses_nothing(tmp_path, step):
    link = bp.Link(rate="1 Mbit/s", delay="10 ms")
    first = bp.run(bp.Scenario(links={"a": link}, flows=[bp.Flow("reno", path=["a"])], duration="1 s"))
    place = first.save(tmp_path / "out")
    ran = subprocess.run([sys.executable, "-c", DIES, str(place), str(step)], check=False)
    assert ran.returncode == -signal.SIGKILL
    assert place.exists() == (step in (0, 3))
    check_place(place)  # as the next run does before it begins
    assert bp.Result.load(place).json["simulated_s"] == (1.0 if step == 0 else 2.0)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_what_somebody_else_writes_or_owns_is_not_swept(tmp_path):
    mine = [f".out.{os.getpid()}.5", ".out.backup", ".out", ".other.99999999", "out.99999999"]
    for name in mine:
        (tmp_path / name).mkdir()
    (tmp_path / ".out.99999999.1").mkdir()
    (tmp_path / ".out.99999999.1" / "new").mkdir()
    (tmp_path / ".out.99999999").write_text("half a file")
    check_place(tmp_path / "out")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(mine)


def test_a_killed_capture_is_swept_by_the_next(scenario_file, tmp_path):
    (tmp_path / ".x.pcapng.99999999").write_bytes(b"half")
    assert attack(scenario_file, "--set", "duration=1 s", "--pcap", tmp_path / "x.pcapng").returncode == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["sat.toml", "x.pcapng"]


def test_a_result_goes_where_a_link_points(scenario_file, tmp_path):
    real, link, loop = tmp_path / "disk" / "real", tmp_path / "out", tmp_path / "loop"
    link.symlink_to(real)  # which does not exist yet
    loop.symlink_to(loop)
    for seconds in (1, 2):
        ran = attack(scenario_file, "--set", f"duration={seconds} s", "--out", link)
        assert ran.returncode == 0, ran.stderr
        assert link.is_symlink() and bp.Result.load(link).json["simulated_s"] == seconds
    assert [p.name for p in real.parent.iterdir()] == ["real"]
    assert "link to itself" in refused(attack(scenario_file, "--set", "duration=1 s", "--out", loop))
    assert loop.is_symlink()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    link = bp.Link(rate="1 Mbit/s", delay="10 ms", loss=bp.PacketError(0.01))
    record = bp.Record(interval="100 ms", links=True, segments=True)
    flows = [bp.Flow("reno", path=["a"], count=2)]
    run = bp.run(bp.Scenario(links={"a": link}, flows=flows, duration="5 s", record=record))
    return run.save(tmp_path_factory.mktemp("saved") / "out")


def test_a_damaged_result_is_refused(saved, tmp_path):
    """Bytes changed, lost, added, in any of the files: one line that says so."""
    chance = random.Random(1)
    refusals = 0
    for i in range(200):
        place = tmp_path / str(i)
        shutil.copytree(saved, place)
        path = chance.choice(sorted(place.iterdir()))
        bytes_ = bytearray(path.read_bytes())
        at = chance.randrange(len(bytes_))
        match i % 5:
            case 0:
                del bytes_[at:]
            case 1:
                bytes_[at] ^= chance.randrange(1, 256)
            case 2:
                bytes_[-1 - at % 500] ^= chance.randrange(1, 256)
            case 3:
                bytes_[at:at] = chance.randbytes(50)
            case _:
                bytes_ = bytearray() if chance.random() < 0.5 else bytearray(b"[" * 100_000)
        path.write_bytes(bytes_)
        try:
            bp.Result.load(place)
        except bp.ScenarioError as wrong:
            assert str(place) in str(wrong)
            refusals += 1
        shutil.rmtree(place)
    # Some changes leave JSON the same: a space.
    assert refusals >= 195


def test_a_table_that_is_missing_is_named(saved, tmp_path):
    shutil.copytree(saved, tmp_path / "r")
    (tmp_path / "r" / "trace.parquet").unlink()
    ran = forked.run(["plot", "sequence", tmp_path / "r", "-o", tmp_path / "x.svg"])
    assert "damaged result directory: trace.parquet: No such file" in refused(ran)


# Run with a place and a size by `unshare`, where it alone sees what it mounts.
MOUNTED = """
import json, os, subprocess, sys
place, scenario, read_only = sys.argv[1:4]
sys.path.insert(0, sys.argv[4])
import forked
mount = lambda *words: subprocess.run(["mount", *words, place], check=True)
run = lambda *words: forked.run(words)
there = lambda: sorted(os.path.relpath(os.path.join(d, f), place) for d, _, fs in os.walk(place) for f in fs)
mount("-t", "tmpfs", "-o", "size=200k", "tmpfs")
short = ["--set", "duration=1 s"]
ran = [run("run", scenario, *short, *to) for to in (["--out", place + "/r"], ["--pcap", place + "/p"])]
before = there()
if read_only == "yes":
    mount("-o", "remount,ro", "tmpfs")
ran += [
    run("run", scenario, "--set", 'record={interval="100 us", links=true}', "--out", place + "/r"),
    run("run", scenario, "--pcap", place + "/p"),
]
if read_only == "no":
    open(place + "/fill", "wb").write(bytes(os.statvfs(place).f_bavail * os.statvfs(place).f_frsize))
compare = ["compare", "--link", scenario, "--cc", "reno", "--for", "1 s", "--seeds", "1", "--out"]
ran += [
    run(*compare, place + "/c.csv"),
    run(*compare, place + "/c.parquet"),
    run("plot", "sequence", sys.argv[5], "-o", place + "/p.svg"),
    run("study", "run", "tcp-star", "--workers", "1", "--out", place + "/study"),
]
print(json.dumps([[[r.returncode, "goodput" in r.stdout, r.stderr] for r in ran], before, there()]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("read_only", ["no", "yes"], ids=["full", "read-only"])
def test_a_disk_that_takes_no_more_is_named_and_nothing_is_lost(scenario_file, saved, tmp_path, read_only):
    """A file system of its own, which also holds for root, who may write to any directory."""
    enter = ["unshare", "--map-root-user", "--mount"]
    place = tmp_path / "disk"
    place.mkdir()
    can = [*enter, "mount", "-t", "tmpfs", "tmpfs", str(place)]
    if shutil.which("unshare") is None or subprocess.run(can, capture_output=True, check=False).returncode:
        pytest.skip("no file systems can be mounted here (unshare --map-root-user --mount)")
    given = [str(place), str(scenario_file), read_only, str(Path(__file__).parent), str(saved)]
    done = subprocess.run(
        [*enter, sys.executable, "-c", MOUNTED, *given], capture_output=True, text=True, check=True
    )
    ran, before, after = json.loads(done.stdout)
    assert [r[0] for r in ran[:2]] == [0, 0], ran[:2]
    assert [Path(p).name for p in before] == ["p", "flows.parquet", "links.parquet", "run.json"]
    for (status, _, said), what in zip(
        ran[2:], ("r", "p", "c.csv", "c.parquet", "p.svg", "study"), strict=True
    ):
        assert status == 1 and said.startswith("bentpipe: ") and said.count("\n") == 1, (what, said)
        why = "Read-only file system" if read_only == "yes" else "No space left on device"
        assert f"{place}/{what}" in said and why in said and "Errno" not in said, said
    # A full disk shows when the run is over: its answer is not lost.
    assert ran[2][1] == (read_only == "no")
    left = [p for p in after if p != "fill" and not p.startswith("study/.runs/")]
    assert left == before, "neither the earlier files nor others"


def test_an_argument_that_is_no_text_is_refused():
    ran = subprocess.run([*COMMAND, "run", b"\xff\xfe"], capture_output=True, text=True, check=False)
    assert "argument 2" in refused(ran) and "UTF-8" in ran.stderr


def test_a_capture_and_a_number_of_workers_are_checked():
    with pytest.raises(bp.ScenarioError, match="pcap: give a path or a bp.Capture, not 3"):
        bp.run("geo", pcap=3)
    with pytest.raises(bp.ScenarioError, match="-1 workers"):
        bp.run_many(["geo"], threads=-1)
    with pytest.raises(bp.ScenarioError, match="-1 workers"):
        bp.sweep("geo", {"flow.0.cc": ["reno"]}, seeds=1, workers=-1)


def test_of_several_runs_that_write_to_one_place_one_writes(tmp_path, scenario_file, monkeypatch):
    """A run that ends last would replace the result of the others without a word."""
    monkeypatch.chdir(tmp_path)
    command = [*COMMAND, "run", str(scenario_file), "--out", "out", "--seed"]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = [subprocess.Popen([*command, str(seed)], **pipe) for seed in (1, 2, 3)]
    said = [process.communicate() for process in running]
    refusals = [err for (_, err), process in zip(said, running, strict=True) if process.returncode == 2]
    assert sum(process.returncode == 0 for process in running) == 3 - len(refusals) >= 1
    assert all("another run is writing to out" in err and err.count("\n") == 1 for err in refusals)
    with files.only_writer(Path("out")):
        assert "another run is writing to out" in refused(attack(scenario_file, "--out", "out"))
    assert attack(scenario_file, "--out", "out").returncode == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted({"out", scenario_file.name})

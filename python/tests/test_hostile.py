"""Damaged and hostile files: one clear message, the right status, bounded time and memory, nothing lost."""

import json
import os
import resource
import signal
import subprocess
import sys
import time

import pytest

import bentpipe as bp
from bentpipe import terminal

COMMAND = [sys.executable, "-c", "from bentpipe.cli import main; main()"]


def bounded():
    """Four GB of address space: a file that takes more memory than that fails."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


def attack(path, *more, **given):
    return subprocess.run(
        [*COMMAND, "run", str(path), *more],
        capture_output=True,
        text=True,
        timeout=30,
        preexec_fn=bounded,
        **given,
    )


def refused(ran, status=2):
    assert ran.returncode == status, ran.stderr[-500:]
    assert ran.stdout == ""
    assert ran.stderr.startswith("bentpipe: ") and ran.stderr.count("\n") == 1, ran.stderr[-500:]
    assert "Traceback" not in ran.stderr and "panicked" not in ran.stderr
    assert len(ran.stderr) < 1000
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
    "half a million keys": (b"\n".join(b"k%d = 1" % i for i in range(500_000)), "unknown key"),
    "nothing": (b"", "duration"),
}


@pytest.mark.parametrize("what", FILES)
def test_a_hostile_file_is_refused_with_one_line(tmp_path, what):
    content, word = FILES[what]
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    said = refused(attack(path))
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
    assert "x.toml" in refused(attack(path))


NASTY = "[/x] [bold]\x1b[2J\x07<script>$\\frac{$"


def nasty(tmp_path):
    text = bp.Scenario(
        links={NASTY: bp.Link(rate="1 Mbit/s", delay="10 ms")},
        flows=[bp.Flow("reno", path=[NASTY], name=NASTY)],
        duration="2 s",
        title=NASTY,
    )
    quoted = json.dumps(NASTY)
    path = tmp_path / "nasty.toml"
    path.write_text(
        f'title = {quoted}\nduration = "2 s"\n[link.{quoted}]\nrate = "1 Mbit/s"\ndelay = "10 ms"\n'
        f'[[flow]]\nname = {quoted}\ncc = "reno"\npath = [{quoted}]\n'
    )
    return text, path


def test_names_steer_neither_tables_nor_the_terminal(tmp_path):
    _, path = nasty(tmp_path)
    ran = attack(path)
    assert ran.returncode == 0, ran.stderr
    for text in (ran.stdout, ran.stderr):
        assert "\x1b" not in text and "\x07" not in text
    assert "[/x] [bold]\\x1b[2J\\x07<script>" in ran.stdout
    assert json.loads(attack(path, "--json").stdout)["flows"][0]["name"] == NASTY


def test_names_are_text_in_a_plot(tmp_path):
    scenario, _ = nasty(tmp_path)
    scenario.record = bp.Record(interval="100 ms")
    figure = bp.plot.cwnd(bp.run(scenario))
    figure.savefig(tmp_path / "x.svg")
    assert "<script" not in (tmp_path / "x.svg").read_text()


def test_very_many_rows_are_counted_and_not_laid_out(capsys):
    result = bp.run(
        bp.Scenario(
            links={"a": bp.Link(rate="1 Mbit/s", delay="10 ms")},
            flows=[bp.Flow("reno", path=["a"], count=20_000)],
            duration="1 ms",
        )
    )
    from bentpipe.tables import show_run

    since = time.process_time()
    show_run(result)
    assert time.process_time() - since < 10
    shown = capsys.readouterr().out
    assert f"and {20_000 - terminal.MOST_ROWS:,} flows more" in shown
    terminal.warn(["x"] * 5000)
    assert capsys.readouterr().err.count("\n") == terminal.MOST_ROWS + 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--ber", "nan"], "not a finite number"),
        (["--per", "inf"], "not a finite number"),
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
        since = time.monotonic()
        said = refused(attack(scenario_file, "--set", "duration=3652 d", "--out", str(place)), 1)
        assert time.monotonic() - since < 10 and "Errno" not in said
    assert refused(attack(scenario_file, "--set", "duration=3652 d", "--out", str(tmp_path / "file")))
    assert (tmp_path / "file").read_text() == "mine"


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


def test_a_killed_run_leaves_a_whole_result_or_none(scenario_file, tmp_path):
    """Killed at ten moments: what is in place is whole, and a further run gives what one alone gives."""
    words = ["run", str(scenario_file), "--set", 'record={interval="1 ms"}', "--json", "--out"]
    since = time.monotonic()
    whole = tmp_path / "whole"
    subprocess.run([*COMMAND, *words, str(whole)], check=True, capture_output=True)
    takes = time.monotonic() - since
    wanted = bp.Result.load(whole)
    place = tmp_path / "out"
    for i in range(10):
        run = subprocess.Popen([*COMMAND, *words, str(place)], stdout=-3, stderr=-3)
        time.sleep(takes * (0.55 + 0.05 * i))
        run.kill()
        run.wait()
        if place.exists():
            assert bp.Result.load(place).trace.equals(wanted.trace, null_equal=True)
    subprocess.run([*COMMAND, *words, str(place)], check=True, capture_output=True)
    again = bp.Result.load(place)
    assert again.flows.equals(wanted.flows) and again.links.equals(wanted.links)
    assert again.trace.equals(wanted.trace)

"""The command line: what it answers, and one line for what is wrong."""

import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import forked
import pytest
import typer
from forms import form

import bentpipe as bp
from bentpipe import _core
from bentpipe.cli.application import application

COMMAND = [sys.executable, "-c", "from bentpipe.cli.application import main; main()"]


OWN = """
import bentpipe as bp


class Fixed(bp.Controller):
    def on_ack(self, flow, ack):
        pass

    def on_congestion(self, flow, why):
        self.ssthresh = self.cwnd = 8
"""


def answer(ran):
    assert (ran.exit_code, ran.stderr) == (0, "")
    return json.loads(ran.stdout)


def test_version(cli):
    ran = cli("--version")
    assert (ran.exit_code, ran.stdout) == (0, f"bentpipe {bp.__version__}\n")


def verbs_with_options():
    """Each verb, "plot rtt", and the names of each of its options."""

    def walk(command, name: str):
        if not hasattr(command, "commands"):
            yield name, [tuple(param.opts) for param in command.params]
        for word, verb in getattr(command, "commands", {}).items():
            yield from walk(verb, f"{name} {word}".strip())

    return list(walk(typer.main.get_command(application()), ""))


def test_every_verb_has_help_and_an_option_without_a_value_is_shown_without_one(cli):
    for name, options in verbs_with_options():
        ran = cli(*name.split(), "--help")
        assert ran.exit_code == 0 and f"Usage: bentpipe {name}" in ran.stdout
        assert options and "bool" not in ran.stdout


def test_what_a_verb_writes_has_one_option_in_two_lengths():
    """Whoever has learned -o at one verb finds it at all."""
    for name, options in verbs_with_options():
        assert not [one for one in options if ("--out" in one) != ("-o" in one)], name


def test_every_verb_answers_programs_too():
    """But those that serve or change something, and `schema` and `cc vectors`, whose answers are JSON."""
    without = {name for name, options in verbs_with_options() if ("--json",) not in options}
    assert without == {"explore", "schema", "cc vectors", "kernel attach", "kernel detach"}


def test_what_was_written_is_named_as_json(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bp.run(bp.Scenario.load("geo", {"duration": "1 s", "record": {"interval": "100 ms"}})).save("run")
    drawn = answer(cli("plot", "rtt", "run", "-o", "x.svg", "--json"))
    assert drawn == {"schema": 1, "figure": "x.svg", "numbers": "x.csv"}
    made = answer(cli("scenario", "new", "-o", "new.toml", "--rate", "1 Mbit/s", "--json"))
    assert made["file"] == "new.toml" and made["text"] == Path("new.toml").read_text()
    Path("line.csv").write_text("t_s,rate_bps\n0,1e6\n5,2e6\n", encoding="utf-8")
    longer = answer(cli("timeline", "stretch", "line.csv", "-o", "long.csv", "--time", 2, "--json"))
    assert longer == {"schema": 1, "file": "long.csv", "rows": 2, "columns": ["t_s", "rate_bps"]}
    shown = answer(cli("plot", "timeline", "long.csv", "-o", "long.svg", "--json"))
    assert shown["figure"] == "long.svg"


def test_a_file_in_an_override_is_beside_the_user(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("slow.csv").write_text("t_s,rate_bps,delay_s\n0,1e6,0.1\n5,1e6,0.1\n", encoding="utf-8")
    ran = cli("run", "geo", "--set", "link.geo.timeline=slow.csv", "--set", "duration=20s", "--json")
    assert ran.exit_code == 0
    assert json.loads(ran.stdout)["flows"][0]["goodput_bps"] < 1e6
    ran = cli("run", "geo", "--set", "link.geo.timeline=slwo.csv")
    assert ran.exit_code == 2 and 'no file "slwo.csv" is in the working directory, nor in ' in ran.stderr


def test_messages_about_a_shipped_scenario_call_it_by_its_name(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = cli("run", "GEO", "--set", "link.geo.rate=10")
    assert ran.stderr.startswith("bentpipe: scenario geo (override): link.geo.rate: 10 has no unit")
    ran = cli("plot", "cwnd", "geo", "-o", "x.svg")
    assert ran.exit_code == 2 and "bentpipe run geo --out DIR writes one" in ran.stderr
    assert (
        "1 run: one scenario x 1 seed; nothing varies"
        in cli("sweep", "geo", "-o", "one", "--set", "duration=1s").output
    )


def test_a_comparison_is_a_table_for_latex(cli, tmp_path):
    place = tmp_path / "table.tex"
    words = ["compare", "--link", "geo", "--cc", "reno,cubic", "--for", "5 s", "--seeds", "2"]
    shown = cli(*words, "-o", place)
    assert shown.exit_code == 0 and f"written to {place}" in shown.stdout
    text = place.read_text(encoding="utf-8")
    assert text.startswith("% Bentpipe: geo: mean of 2 runs, 95 % confidence\n\\begin{tabular}{l")
    assert r"\toprule" in text and r"used & RTT" in text and r"\% & ms" in text and "$\\pm$" in text
    rows = [line for line in text.splitlines() if line.startswith(("CUBIC", "Reno"))]
    assert len(rows) == 2 and len({line.count("&") for line in text.splitlines() if "&" in line}) == 1
    again = cli(*words, "-o", place)
    assert again.exit_code == 0 and place.read_text(encoding="utf-8") == text
    place.write_text("mine", encoding="utf-8")
    refused = cli(*words, "-o", place)
    assert refused.exit_code == 2 and "is not a table for LaTeX" in refused.stderr


def test_a_share_in_percent_is_that_probability(cli):
    words = ["compare", "--link", "geo", "--cc", "reno", "--for", "5 s", "--seeds", "1", "--json"]
    one, other = (cli(*words, "--per", text).stdout for text in ("1 %", "0.01"))
    assert json.loads(one)["rows"][0]["goodput_bps"] == json.loads(other)["rows"][0]["goodput_bps"]


def test_a_scenario_as_json_is_the_same_scenario_with_every_default(cli, tmp_path):
    shown = cli("scenario", "show", "geo", "--json")
    assert shown.exit_code == 0
    table = json.loads(shown.stdout)
    assert table["link"]["geo"]["queue"]["kind"] == "drop-tail" and "profile" in table["flow"][0]
    place = tmp_path / "geo.json"
    place.write_text(shown.stdout, encoding="utf-8")
    ours, shipped = (json.loads(cli("run", one, "--json").stdout) for one in (str(place), "geo"))
    assert ours["flows"] == shipped["flows"] and ours["links"] == shipped["links"]


def test_run_answers_with_tables(cli, scenario_file):
    ran = cli("run", scenario_file)
    assert (ran.exit_code, ran.stderr) == (0, "")
    for word in ("a test", "reno", "goodput", "Mbit/s", "sat ->", "sat <-", "limited by"):
        assert word in ran.stdout


def test_run_json_is_the_result_object(cli, scenario_file):
    found = answer(cli("run", scenario_file, "--json"))
    direct = bp.run(bp.Scenario.load(scenario_file)).json
    assert {**found, "wall_s": 0} == {**direct, "wall_s": 0}


def test_run_json_is_the_same_bytes_in_two_processes(scenario_file):
    def once():
        done = subprocess.run([*COMMAND, "run", scenario_file, "--json"], capture_output=True, check=True)
        return [line for line in done.stdout.splitlines() if b'"wall_s"' not in line]

    assert once() == once()


def test_run_overrides(cli, scenario_file):
    found = answer(
        cli(
            "run", scenario_file, "--json", "--seed", 9, "--set", "link.sat.rate=1 Mbit/s",
            "--set", "duration=5 s", "--set", "flow.0.cc=star",
        )
    )  # fmt: skip
    assert (found["seed"], found["simulated_s"], found["links"][0]["rate_bps"]) == (9, 5, 1e6)
    assert found["flows"][0]["cc"] == "star"
    shorter = answer(cli("run", scenario_file, "--json", "--set", "duration=5 s", "--for", "2 s"))
    assert shorter["simulated_s"] == 2


def test_run_cc_replaces_every_algorithm_and_leaves_other_traffic(cli, scenario_file):
    more = (
        '[[flow]]\ncc = "star"\npath = ["sat"]\n'
        '[[flow]]\nname = "noise"\npath = ["sat"]\ntraffic = { kind = "cbr", rate = "100 kbit/s" }\n'
    )
    scenario_file.write_text(scenario_file.read_text() + more)
    found = answer(cli("run", scenario_file, "--cc", "cubic", "--json"))
    assert [(f["name"], f["cc"]) for f in found["flows"][:2]] == [("cubic-1", "cubic"), ("cubic-2", "cubic")]
    assert found["flows"][2]["name"] == "noise"


def test_an_own_controller_in_a_file_or_an_override_is_run_as_sweep_runs_it(cli, scenario_file, tmp_path):
    """The file lies beside the scenario. A later override holds."""
    (scenario_file.parent / "own.py").write_text(OWN)
    written = scenario_file.read_text()
    first = answer(cli("run", scenario_file, "--set", "flow.0.cc=own.py:Fixed", "--json"))["flows"][0]
    assert first["cc"] == "Fixed"
    inside = scenario_file.with_name("inside.toml")
    inside.write_text(re.sub(r"^cc = .*$", 'cc = "own.py:Fixed"', written, count=1, flags=re.MULTILINE))
    found = answer(cli("run", inside, "--json"))["flows"][0]
    assert found == first
    assert answer(cli("run", inside, "--set", "flow.0.cc=reno", "--json"))["flows"][0]["cc"] == "reno"
    assert bp.run(bp.Scenario.load(inside)).json["flows"][0] == first
    assert cli("sweep", inside, "--vary", "flow.0.extra_delay=0ms", "--out", tmp_path / "s").exit_code == 0
    wrong = cli("run", inside, "--set", "flow.0.cc=own.py:Fixd")
    assert (wrong.exit_code, wrong.stderr.count("\n")) == (2, 1) and "did you mean Fixed" in wrong.stderr


def test_a_stored_result_runs_again(cli, scenario_file, tmp_path):
    first = answer(cli("run", scenario_file, "--seed", 3, "--out", tmp_path / "r", "--json"))
    for again in (tmp_path / "r", tmp_path / "r" / "run.json"):
        assert {**answer(cli("run", again, "--json")), "wall_s": 0} == {**first, "wall_s": 0}
    shorter = answer(cli("run", tmp_path / "r", "--set", "duration=5s", "--json"))
    assert (shorter["simulated_s"], shorter["seed"]) == (5, 3)


def test_a_stored_result_of_an_own_controller_asks_for_it_again(cli, scenario_file, tmp_path):
    own = tmp_path / "own.py"
    own.write_text(OWN)
    assert cli("run", scenario_file, "--cc", f"{own}:Fixed", "--out", tmp_path / "r").exit_code == 0
    ran = cli("run", tmp_path / "r")
    assert (ran.exit_code, ran.stderr.count("\n")) == (2, 1)
    assert (
        "flow.0.cc: Fixed is a controller written in Python" in ran.stderr
        and "--cc FILE.py:Fixed" in ran.stderr
    )
    assert cli("run", tmp_path / "r", "--cc", f"{own}:Fixed").exit_code == 0


@pytest.mark.parametrize("form", ["toml", "json"])
def test_a_scenario_comes_from_standard_input(scenario_file, form):
    text = scenario_file.read_text()
    if form == "json":
        text = json.dumps(bp.Scenario.load(scenario_file).to_dict())
    words = ["run", "-", "--set", "duration=3s", "--json"]
    ran = forked.run(words, input=text)
    assert ran.returncode == 0 and json.loads(ran.stdout)["simulated_s"] == 3
    wrong = forked.run(words, input=text.replace("duration", "duratoin"))
    assert wrong.returncode == 2 and wrong.stderr.startswith("bentpipe: standard input")


def test_packets_go_to_standard_output_and_the_tables_do_not(scenario_file, tmp_path):
    words = [*COMMAND, "run", str(scenario_file), "--set", "duration=2s", "--pcap"]
    ran = subprocess.run([*words, "-"], capture_output=True, check=True)
    subprocess.run([*words, str(tmp_path / "p.pcapng")], capture_output=True, check=True)
    assert ran.stdout == (tmp_path / "p.pcapng").read_bytes()
    assert b"2.000 s simulated" in ran.stderr
    both = subprocess.run([*words, "-", "--json"], capture_output=True, check=False)
    assert (both.returncode, both.stdout) == (2, b"")


@pytest.mark.parametrize("closed", [1, 2])
@pytest.mark.parametrize("file", ["geo", "nothing"])
def test_a_closed_stream_is_no_crash_and_loses_no_file(tmp_path, file, closed):
    words = [*COMMAND, "run", file, "--set", "duration=1s", "--out", tmp_path / "out"]
    closing = ["sh", "-c", f'exec "$@" {closed}>&-', "sh"]
    ran = subprocess.run([*closing, *words], capture_output=True, text=True, check=False)
    assert ran.returncode == (2 if file == "nothing" else 0)
    assert "Traceback" not in ran.stdout + ran.stderr
    if file == "geo":
        assert (closed == 2 or ran.stderr == "") and bp.Result.load(tmp_path / "out").json["flows"]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("run ge", "geo"),
        ("run --cc veg", "vegas"),
        ("compare --cc reno,cub", "reno,cubic"),
        ("queue show co", "codel"),
        ("orbit path Nairo", "Nairobi"),
        ("orbit path Rome Paris --shell kuip", "kuiper-k1"),
        ("weather --band k", "ka"),
        ("advise --goal com", "completion"),
        ("timeline import x --format hyp", "hypatia"),
        ("plot rtt x --size sl", "slide"),
        ("run geo --set link.geo.del", "link.geo.delay"),
        ("run geo --set flow.0.c", "flow.0.cc"),
        ("emulate geo-rain-ku --set link.sat.satellite.", "link.sat.satellite.geo"),
    ],
)
def test_a_shell_completes_names(typed, offered):
    asked = {"COMP_WORDS": f"bentpipe {typed}", "COMP_CWORD": str(len(typed.split()))}
    asked["_BENTPIPE_COMPLETE"] = "complete_bash"
    ran = forked.run([], env={**os.environ, **asked})
    assert offered in ran.stdout.split()


@pytest.mark.parametrize(
    ("shell", "has"), [("bash", "COMP_CWORD"), ("zsh", "#compdef"), ("fish", "complete_fish")]
)
def test_the_script_of_each_shell_is_its_own(cli, shell, has):
    ran = cli("--show-completion", shell)
    assert ran.exit_code == 0 and has in ran.stdout


def test_an_emulation_is_not_simulated(cli, tmp_path):
    """The flow of its scenario has never run there."""
    kept = bp.run(bp.Scenario.load("geo", {"duration": "1 s"}))
    kept.json["emulation"] = {}
    kept.save(tmp_path / "tr")
    ran = cli("run", tmp_path / "tr")
    assert (ran.exit_code, ran.stdout) == (2, "") and "its programs cannot be simulated" in ran.stderr


def test_the_report_of_an_emulation_is_refused_by_one_line(cli, tmp_path):
    report = tmp_path / "report.json"
    report.write_text(
        json.dumps({"forward": {}, "reverse": {}, "kept_time": True, "lateness_bound_s": 0.002})
    )
    ran = cli("run", report)
    assert ran.exit_code == 2 and len(ran.stderr.splitlines()) == 1
    assert "is the report of an emulation" in ran.stderr and "--trace DIR" in ran.stderr


def test_a_shell_that_completes_nothing_is_named(cli):
    ran = cli("--show-completion", "zhs")
    assert (ran.exit_code, ran.stdout) == (2, "") and "did you mean zsh?" in ran.stderr


def test_completion_is_installed_for_the_shell_that_is_named(tmp_path):
    words = [*COMMAND, "--install-completion", "zsh"]
    env = {**os.environ, "HOME": str(tmp_path)}
    ran = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / ".zfunc/_bentpipe").read_text().startswith("#compdef bentpipe")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_the_first_tab_in_zsh_already_offers_names(tmp_path):
    env = {"HOME": str(tmp_path), "PATH": f"{tmp_path}:/usr/bin:/bin", "TERM": "dumb"}
    (tmp_path / "bentpipe").write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    (tmp_path / "bentpipe").chmod(0o755)
    env |= {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    subprocess.run([*COMMAND, "--install-completion", "zsh"], env=env, capture_output=True, check=True)
    terminal, far = pty.openpty()
    shell = subprocess.Popen(
        ["zsh", "-i"], env=env, stdin=far, stdout=far, stderr=far, start_new_session=True
    )
    os.close(far)
    seen, until, typed = b"", time.monotonic() + 30, False
    while b"utilisation" not in seen and time.monotonic() < until:
        if select.select([terminal], [], [], 0.5)[0]:
            seen += os.read(terminal, 65536)
        elif not typed and seen:  # the prompt is there
            os.write(terminal, b"bentpipe plot util\t")
            typed = True
    shell.kill()
    shell.wait()
    os.close(terminal)
    assert b"utilisation" in seen


@pytest.mark.parametrize(
    "words",
    [
        "cc list", "cc show reno", "queue list", "queue show red", "scenario list", "study list",
        "study show hswa", "orbit shells", "orbit places", "kernel list", "doctor",
    ],
)  # fmt: skip
def test_every_answer_has_the_version_of_its_form(cli, words):
    assert answer(cli(*words.split(), "--json"))["schema"] == 1


@pytest.mark.parametrize(
    "words",
    [
        "run geo --pcap",
        "run geo --out",
        "scenario new -o",
        "plot rtt {run} -o",
        "weather --at Paris --band ku -o",
    ],
)
def test_no_folder_is_made_in_the_root_of_the_file_system(cli, tmp_path, words):
    """A slip in the first letters of a path is a slip for root, too."""
    run = tmp_path / "run"
    bp.run(bp.Scenario.load("geo", {"duration": "1 s", "record": {"interval": "100 ms"}})).save(run)
    place = Path("/no-such-folder/x.csv" if "weather" in words else "/no-such-folder/x.svg")
    ran = cli(*words.format(run=run).split(), place)
    assert (ran.exit_code, ran.stderr) == (1, f"bentpipe: {place}: there is no folder /no-such-folder\n")
    assert not place.parent.exists()


def test_the_folder_of_a_file_is_made(cli, tmp_path):
    place = tmp_path / "new" / "packets.pcapng"
    assert cli("run", "geo", "--set", "duration=1s", "--pcap", place).exit_code == 0 and place.is_file()


def test_the_title_says_which_flows_were_changed(cli, tmp_path):
    shown = cli("run", "geo", "--cc", "cubic", "--set", "flow.0.count=2", "--set", "duration=1s").stdout
    assert "one Reno flow over GEO, with cc = cubic, flow.0.count = 2: 1.000 s simulated" in " ".join(
        shown.split()
    )
    assert "flow over GEO: 1.000 s" in cli("run", "geo", "--set", "duration=1s").stdout


def test_many_flows_are_summed(cli, scenario_file):
    words = ["run", scenario_file, "--set", "flow.0.count=50", "--set", "duration=5s"]
    shown = cli(*words).stdout
    flows = json.loads(cli(*words, "--json").stdout)["flows"]
    assert "reno x 50" in shown and "reno-1 " not in shown
    together = next(line.split() for line in shown.splitlines() if line.split()[:2] == ["reno", "50"])
    assert float(together[2]) == pytest.approx(sum(flow["goodput_bps"] for flow in flows) / 1e6, rel=1e-3)
    assert float(together[6]) == pytest.approx(bp.stats.jain(f["goodput_bps"] for f in flows), abs=1e-3)
    assert "together" not in cli("run", scenario_file).stdout


def test_a_sum_over_flows_of_different_lives_is_called_that(cli, tmp_path):
    said = "the sum can be above the rate of the link"
    flow, late = ({"cc": "reno", "path": ["sat"], **more} for more in ({}, {"start": "4 s"}))
    link = {"rate": "2 Mbit/s", "delay": "10 ms"}
    for flows, differ in (([flow, flow], False), ([flow, late], True)):
        file = tmp_path / "flows.json"
        file.write_text(json.dumps({"duration": "8 s", "link": {"sat": link}, "flow": flows}))
        assert (said in " ".join(cli("run", file).stdout.split())) == differ
        swept = cli("sweep", file, "-o", tmp_path / f"swept-{differ}").stdout
        assert (said in " ".join(swept.split())) == differ


def test_two_algorithms_are_summed_apart_and_together(cli, tmp_path):
    flows = [bp.Flow("reno", path=["sat"], count=2), bp.Flow("cubic", path=["sat"])]
    link = bp.Link(rate="2 Mbit/s", delay="10 ms")
    (tmp_path / "two.json").write_text(
        json.dumps(bp.Scenario(links={"sat": link}, flows=flows, duration="5 s").to_dict())
    )
    shown = cli("run", tmp_path / "two.json").stdout
    assert re.search(r"^ reno +2 ", shown, re.MULTILINE)
    assert not re.search(r"^ cubic +1 ", shown, re.MULTILINE)  # nothing to sum
    assert re.search(r"^ all +3 ", shown, re.MULTILINE)


def test_compare_takes_a_rate_and_a_round_trip_for_a_link(cli):
    words = ["compare", "--rate", "4 Mbit/s", "--rtt", "40 ms", "--cc", "reno", "--for", "5 s", "--seeds", 1]
    found = answer(cli(*words, "--json"))
    link = bp.Link(rate="4 Mbit/s", delay="20 ms")
    alike = bp.compare(link, ["reno"], duration="5 s", seeds=1)
    assert found["rows"][0]["goodput_bps"] == alike["goodput_bps"][0] > 3e6
    assert found["link"] == "4 Mbit/s, 40 ms"


def test_a_relay_of_an_override_may_be_the_name_of_its_algorithm(cli, tmp_path):
    shown = cli("run", "geo-pep", "--set", "flow.0.relay=bbr").stdout
    assert "cubic/second (bbr)" in shown
    ran = cli("sweep", "geo-pep", "--vary", "flow.0.relay=none,hybla", "--out", tmp_path / "out", "--json")
    goodputs = {group["flow.0.relay"]: group["goodput_bps"] for group in answer(ran)["groups"]}
    assert list(goodputs) == ["none", "hybla"] and len(set(map(str, goodputs.values()))) == 2


def test_a_relay_of_an_override_that_is_not_understood_names_the_file_and_the_key(cli):
    ran = cli("run", "geo", "--set", "flow.0.relay=")
    assert ran.exit_code == 2
    assert ran.stderr.startswith('bentpipe: scenario geo: flow.0.relay: write "none", "hybla", or "gateway, ')


def test_a_title_of_millions_of_characters_is_shortened(cli, scenario_file):
    scenario_file.write_text(scenario_file.read_text().replace("a test", "x" * 5_000_000))
    ran = cli("run", scenario_file, "--set", "duration=1s")
    assert ran.exit_code == 0 and len(ran.stdout) < 5000


@pytest.mark.parametrize("columns", [80, 100])
def test_compare_fits_the_terminal(cli, scenario_file, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    ran = cli("compare", "--link", scenario_file, "--cc", "reno,star", "--flows", 2, "--seeds", 2)
    assert (ran.exit_code, ran.stderr) == (0, "")
    lines = ran.stdout.splitlines()
    assert max(map(len, lines)) <= columns
    heads = " ".join(lines)
    for word in ("goodput", "RTT", "retr.", "Jain", "congestion", "handshake", "recovery"):
        assert word in heads
    assert sum(line.split()[:1] == ["Reno"] for line in lines) == 2


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_compare_out(cli, scenario_file, tmp_path, ending):
    import polars as pl

    target = tmp_path / "new" / f"t.{ending}"
    assert cli("compare", "--link", scenario_file, "--cc", "reno", "--out", target).exit_code == 0
    read = pl.read_csv if ending == "csv" else pl.read_parquet
    assert read(target)["cc"].to_list() == ["reno"]
    assert [p.name for p in target.parent.iterdir()] == [target.name]


def test_cc_list_and_show(cli):
    known = answer(cli("cc", "list", "--json"))["algorithms"]
    assert known == bp.controllers()
    listed = cli("cc", "list").stdout
    for entry in known:
        assert entry["id"] in listed
        shown = cli("cc", "show", entry["id"])
        assert (shown.exit_code, shown.stderr) == (0, "")
        assert entry["label"] in shown.stdout
        assert all(param["name"] in shown.stdout for param in entry["params"])
    assert answer(cli("cc", "show", known[-1]["id"], "--json")) == {"schema": 1, **known[-1]}


def test_queue_list_and_show(cli):
    known = answer(cli("queue", "list", "--json"))["queues"]
    assert known == bp.queues()
    schema = json.loads(_core.schema())["$defs"]["Queue"]
    kinds = [kind["properties"]["kind"]["const"] for kind in schema["oneOf"]]
    assert [entry["kind"] for entry in known] == kinds
    listed = cli("queue", "list").stdout
    for entry in known:
        assert entry["kind"] in listed
        assert answer(cli("queue", "show", entry["kind"], "--json")) == {"schema": 1, **entry}
        shown = cli("queue", "show", entry["kind"])
        assert (shown.exit_code, shown.stderr) == (0, "")
        assert entry["label"] in shown.stdout
        assert all(key["name"] in shown.stdout for key in entry["keys"])


def test_a_key_of_a_queue_has_its_values_in_words(cli):
    shown = " ".join(cli("queue", "show", "red").stdout.split())
    for words in ("by_size false true, false", "weight 0.002 1e-09 to 1", "mark_p - 0 to 1"):
        assert words in shown
    assert "0.15 0 to 1; packets, bytes," in shown


def test_one_figure_of_a_study_is_shown_by_another_verb(cli):
    ran = cli("study", "run", "a-liad", "--figure", 5)
    assert (ran.exit_code, ran.stdout) == (2, "") and "bentpipe study show a-liad --figure 5" in ran.stderr


def test_study_list(cli):
    found = answer(cli("study", "list", "--json"))["studies"]
    assert found and {"name", "title", "command"} == set(found[0])
    assert found[0]["name"] in cli("study", "list").stdout


@pytest.fixture
def two_studies(monkeypatch):
    """Two studies that take no time, in place of the real ones; the calls are kept."""
    from bentpipe.studies.job import Failure
    from bentpipe.studies.study import StudyResult
    from bentpipe.sweeps.engine import Interrupted

    calls = []
    numbers = {"paper": 2.0, "measured": 2.1, "ci95": [2.0, 2.2]}
    check = {"what": "rate", "kind": "number", "n": 3, "unit": "", "holds": True, "counted": True, **numbers}
    claim = {"id": "A1", "title": "t", "verdict": "reproduced", "note": "n", "headline": 0, **numbers}
    claim.update(checks=[check], possible=["reproduced"] * 2, probabilities=[])

    def run_each(places, mode, progress, *, workers, fresh, executor):
        if workers == 9:
            raise Interrupted("7 of 8 runs are done")
        results = []
        for name, place in places.items():
            calls.append((name, mode, place, workers, fresh))
            title, page = f"Study {name.upper()}", Path(place) / "index.html"
            result = StudyResult(name, title, "c", mode, "note", 1, 2, 3.0, [claim], [], page, [page])
            failed = name == "b" and mode == "full"
            results.append(Failure(name, "RuntimeError: the sweep\nfailed") if failed else result)
        return results

    monkeypatch.setattr(bp.studies, "available", lambda: {"a": "Study A", "b": "Study B"})
    monkeypatch.setattr(bp.studies, "run_each", run_each)
    return calls


def test_study_run(cli, two_studies, tmp_path):
    ran = cli("study", "run", "a", "--full", "--out", tmp_path, "--workers", 3)
    assert (ran.exit_code, ran.stderr) == (0, "")
    for word in ("Study A", "A1", "2.000", "2.100", "2.000 to 2.200", "reproduced", f"{tmp_path}/index.html"):
        assert word in ran.stdout
    found = answer(cli("study", "run", "all", "--json", "--out", tmp_path))
    assert [study["name"] for study in found["studies"]] == ["a", "b"]
    assert "All studies" in cli("study", "run", "all", "--out", tmp_path, "--fresh").stdout
    cli("study", "run", "b")
    assert two_studies == [
        ("a", "full", tmp_path, 3, False),
        ("a", "quick", tmp_path / "a", 0, False),
        ("b", "quick", tmp_path / "b", 0, False),
        ("a", "quick", tmp_path / "a", 0, True),
        ("b", "quick", tmp_path / "b", 0, True),
        ("b", "quick", Path("out/studies/b"), 0, False),
    ]


def test_a_study_that_fails(cli, two_studies, tmp_path):
    ran = cli("study", "run", "b", "--full")
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert ran.stderr.count("\n") == 1 and "study b failed: RuntimeError: the sweep failed" in ran.stderr
    ran = cli("study", "run", "all", "--full", "--out", tmp_path)
    assert ran.exit_code == 1
    assert "A1" in ran.stdout and "study b failed" in ran.stderr


def test_studies_that_are_interrupted(cli, two_studies):
    ran = cli("study", "run", "a", "--workers", 9)
    assert (ran.exit_code, ran.stdout) == (130, "")
    assert ran.stderr == "bentpipe: interrupted; 7 of 8 runs are done\n"


def test_doctor(cli):
    found = {check["name"]: check for check in answer(cli("doctor", "--json"))["checks"]}
    assert found["simulator core"]["found"].startswith(bp.__version__)
    assert all(check["found"] for check in found.values() if check["needed"])
    assert "ns-2" in cli("doctor").stdout


def test_doctor_names_what_is_missing(cli, monkeypatch):
    monkeypatch.setenv("PATH", "")
    ran = cli("doctor")
    assert ran.exit_code == 0
    assert "apt install ns2" in ran.stdout


def test_doctor_finds_that_root_lacks_a_capability(cli, monkeypatch):
    monkeypatch.setattr("bentpipe.kernel.machine.capabilities", lambda: {"CAP_NET_ADMIN"})
    found = {check["name"]: check for check in answer(cli("doctor", "--json"))["checks"]}
    assert found["root and namespaces"]["found"] is None
    assert found["root and namespaces"]["remedy"] == "run as root; CAP_SYS_ADMIN missing"


WRONG = [
    ("rn", "run"),
    ("run", "FILE"),
    ("run ''", "give a scenario: a file"),
    ("run /dev/zero", "is no regular file"),
    ("run {file} --sed 4", "--seed"),
    ("run {file} --seed x", "--seed"),
    ("run {file} --seed -1", "--seed"),
    ("run nothing.toml", "there is no file 'nothing.toml'\n"),
    ("run {dir}/unknwon.toml", "/unknown.toml?"),
    ("run {dir}/unknown.tml", "/unknown.toml?"),
    ("run geo.tml", "there is no file 'geo.tml'; did you mean geo, which comes with the package?"),
    ("run {file} --for long", "duration"),
    ("run {file} --cc reno,cubic", "one algorithm is needed here; bentpipe compare takes several"),
    ("advise --rate 20 Mbit/s", "Mbit/s belongs to no option: "),
    ("compare --cc reno --rate 20 Mbit/s", '; a value with a blank needs quotes: "20 Mbit/s"'),
    ("run {file} --cc mine.py", "mine.py is a file; name the class in it, too: mine.py:CLASS"),
    (
        "emulate geo ping -c 3 10.77.0.2",
        "No such option: -c; options of COMMAND go behind two dashes: -- COMMAND -c",
    ),
    ("kernel run star curl --fail x", "No such option: --fail; options of COMMAND go behind two dashes"),
    ("run gео", "geo"),
    ("run {dir}", "directory"),
    ("run {binary}", "binary.toml"),
    ("run {broken}", "broken.toml:2"),
    ("run {unknown}", "dely"),
    ("run {file} --cc renoo", "did you mean reno"),
    ("run {file} --set nonsense", "KEY=VALUE"),
    ("run {file} --set =3", "KEY=VALUE"),
    ("run {file} --set 'link.sta.rate=1 Mbit/s'", 'no link is called "sta"; did you mean sat?'),
    ("run {file} --set link.sat.rate=fast", "link.sat.rate"),
    ("run {file} --set link.sat.rate=", "link.sat.rate"),
    ("run {file} --set flow.7.cc=reno", "flow"),
    ("run {file} --set flow.0.cc=renoo", "reno"),
    ("run {file} --out {dir}", "not a result directory"),
    ("run {file} --cc qqqqqq", "bentpipe cc list has all"),
    ("run {file} --set record.traces=true", "records traces, a row every 100 ms"),
    ("run {other}", "this is no scenario: line 2 and others are not TOML; a scenario has lines such as"),
    ("emulate {other} -- true", "this is no scenario: line 2"),
    ("compare --scenario {other} --cc reno", "this is no scenario: line 2"),
    ("sweep {other} --out {dir}/swept", "this is no scenario: line 2"),
    ("scenario new --from {other}", "this is no scenario: line 2"),
    ("run {file} --cc 'star foo=1'", 'star has no parameter "foo"; there are bw_at_timeout'),
    ("run {file} --cc 'star afer_timeout=lift'", "did you mean after_timeout?; see bentpipe cc show"),
    ("run {file} --cc 'bbr slow_start=search'", "its start is part of its own model"),
    ("compare --link leo --timeline none.csv --cc reno", "'none.csv' does not exist"),
    ("compare --link geo --cc reno --figure x.svg --size big", "no size of a figure"),
    ("timeline check none.csv", "'none.csv' does not exist"),
    ("advise --measured none.json", "--measured none.json: there is no such file"),
    ("scenario new --measured none.json", "--measured none.json: there is no such file"),
    ("scenario new --rate '1 Mbit/s' --budget '5 s'", "add --measured FILE"),
    ("advise --rate '10 Mbit/s'", 'add its rtt, for example "600 ms"'),
    ("weather --at Paris", "say which band"),
    ("compare --cc reno", 'say which link: link ("geo", or a file)'),
    ("compare --link geo", "--cc"),
    ("compare --link geo --cc ,", "cc"),
    ("compare --link geoo --cc reno", "did you mean geo"),
    ("compare --link geo --cc reno,renoo", "did you mean reno"),
    ("compare --link geo --cc reno --rate quick", "rate"),
    ("compare --link geo --cc reno --ber x", "--ber"),
    ("compare --link geo --cc reno --ber 7", "no probability"),
    ("compare --link geo --cc reno --per '1 percent'", 'write 1e-4 or "0.01 %"'),
    ("compare --link geo --cc reno --flows 0", "--flows"),
    ("compare --link geo --cc reno --for long", "duration"),
    ("compare --link geo --cc reno --out x.xlsx", ".parquet"),
    ("cc show renoo", "did you mean reno"),
    ("cc shw", "show"),
    ("queue show codl", "did you mean codel"),
    ("study run nothing", "no study is called"),
    ("study run", "NAME"),
    ("study run all --quick --full", "exclude"),
]


@pytest.mark.parametrize(("words", "said"), WRONG)
def test_a_wrong_request_gets_one_line_and_status_2(cli, scenario_file, tmp_path, words, said):
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "other.toml").write_text("# an address book\nAda: 1815\nGrace: 1906\nRadia: 1951\n")
    (tmp_path / "broken.toml").write_text('duration = "1 s"\n[link.sat\n')
    (tmp_path / "unknown.toml").write_text(scenario_file.read_text().replace("delay", "dely"))
    places = {
        "file": scenario_file,
        "dir": tmp_path,
        **{name: tmp_path / f"{name}.toml" for name in ("binary", "broken", "other", "unknown")},
    }
    ran = cli(*(word.format(**places) for word in shlex.split(words)))
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr.startswith("bentpipe: ") and ran.stderr.count("\n") == 1
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


def test_work_that_fails_gives_status_1(cli, scenario_file, tmp_path):
    (tmp_path / "wall").write_text("a file, not a directory")
    ran = cli("run", scenario_file, "--out", tmp_path / "wall" / "r")
    assert ran.exit_code == 1
    assert ran.stderr.count("\n") == 1 and "Traceback" not in ran.stderr


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("verb", ["run", "compare", "orbit path"])
def test_interrupting_a_long_run_ends_it_at_once(scenario_file, verb):
    text = scenario_file.read_text().replace("20 s", "1000000 s").replace("2 Mbit/s", "500 Mbit/s")
    scenario_file.write_text(text.replace("loss =", "# loss ="))
    words = {
        "run": ["run", scenario_file],
        "compare": ["compare", "--link", scenario_file, "--cc", "reno,star"],
        "orbit path": "orbit path Paris Moscow --shell starlink-s1 --for 720h --step 1s".split(),
    }
    command = [*COMMAND, *words[verb]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            while cpu_seconds(process.pid) < 1:  # it has long begun to simulate
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)  # the runs would take hours
        finally:
            process.kill()
    assert (process.returncode, out, err) == (130, "", "bentpipe: interrupted\n")


def test_a_closed_pipe_is_no_error():
    script = (
        f"{sys.executable} -c 'from bentpipe.cli.application import main; main()' cc list --json | head -1"
    )
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {script}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


FILES = [
    ["run", "{file}", "--out", "{dir}/out"],
    ["run", "{file}", "--json", "--out", "{dir}/out"],
    ["compare", "--link", "{file}", "--cc", "reno", "--seeds", "1", "--out", "{dir}/out.csv"],
    ["compare", "--link", "{file}", "--cc", "reno", "--seeds", "1", "--json", "--out", "{dir}/out.parquet"],
]


# The quick form has each kind of output both ways, and each way of a table and of JSON.
@pytest.mark.parametrize(
    ("which", "unbuffered"),
    form([(0, ""), (1, "1"), (2, "1"), (3, "")], [(which, un) for which in range(4) for un in ("", "1")]),
)
def test_files_are_written_though_nothing_can_be_printed(scenario_file, tmp_path, which, unbuffered):
    words = FILES[which]
    command = [*COMMAND, *(word.format(file=scenario_file, dir=tmp_path) for word in words)]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    place = tmp_path / words[-1].rpartition("/")[2]

    def run_to(stdout):
        with os.fdopen(stdout, "w") as stream:
            return subprocess.run(
                command, stdout=stream, stderr=subprocess.PIPE, text=True, env=environment, check=False
            )

    done = run_to(os.open("/dev/full", os.O_WRONLY))
    said = "bentpipe: standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, said)
    assert place.exists()
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    reading, writing = os.pipe()
    os.close(reading)
    done = run_to(writing)
    assert (done.returncode, done.stderr) == (0, "")
    assert place.exists()


def test_a_table_and_a_file_that_both_fail_are_a_failure(scenario_file, tmp_path):
    code = """
import pathlib, sys
from bentpipe import result
from bentpipe.cli import application as cli
def fail(*_):
    raise OSError(28, "No space left on device", sys.argv[-1])
result.Result.save = fail
cli.main()
"""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        words = ["run", str(scenario_file), "--out", str(tmp_path / "out")]
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            stdout=stream,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, f"bentpipe: {tmp_path}/out: No space left on device\n")


@pytest.mark.parametrize("ending", ["csv", "parquet", "svg", "pdf", "png", "json"])
def test_a_file_of_another_kind_is_not_overwritten(cli, scenario_file, tmp_path, ending):
    target = tmp_path / f"mine.{ending}"
    words = {
        "csv": ["compare", "--link", scenario_file, "--cc", "reno", "--for", "3652 d", "--out"],
        "parquet": ["compare", "--link", scenario_file, "--cc", "reno", "--for", "3652 d", "--out"],
        "json": ["bench", "--out"],
    }.get(ending, ["plot", "sequence", tmp_path / "r", "-o"])
    target.write_text("my notes")
    ran = cli(*words, target)
    assert (ran.exit_code, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert f"{target} exists and is not " in ran.stderr
    assert target.read_text() == "my notes"
    target.unlink()
    target.mkdir()
    ran = cli(*words, target)
    assert (ran.exit_code, ran.stderr) == (1, f"bentpipe: {target}: Is a directory\n")


def test_a_file_of_the_same_kind_is_replaced(cli, scenario_file, tmp_path, monkeypatch):
    run = ["run", scenario_file, "--set", "record={segments=true}", "--out", tmp_path / "r"]
    compare = ["compare", "--link", scenario_file, "--cc", "reno", "--seeds", 1, "--out"]
    monkeypatch.setattr("bentpipe.bench.measure.measure", lambda *_, **__: {"schema": 1})
    assert cli(*run).exit_code == 0
    for words in (
        run,
        *([*compare, tmp_path / f"t.{ending}"] for ending in ("csv", "parquet")),
        *(["plot", "sequence", tmp_path / "r", "-o", tmp_path / f"f.{end}"] for end in ("svg", "pdf", "png")),
        ["bench", "--json", "--only", "a", "--out", tmp_path / "b.json"],
    ):
        for _ in range(2):
            ran = cli(*words)
            assert (ran.exit_code, ran.stderr) == (0, "")
    assert f"written to {tmp_path / 'r'}, in place of the result of 'a test', seed 1" in cli(
        *run
    ).stdout.replace("\n", "")


def test_importing_loads_neither_polars_nor_matplotlib():
    code = (
        "import sys, bentpipe; bentpipe.Link; bentpipe.run; bentpipe.Result; bentpipe.__version__;"
        "print([m for m in ('polars', 'matplotlib', 'scipy', 'rich', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_public_name_exists():
    for name in bp.__all__:
        assert getattr(bp, name) is not None
    assert set(bp.__all__) <= set(dir(bp))
    with pytest.raises(AttributeError, match="nothing"):
        _ = bp.nothing


def test_no_verb_needs_a_terminal(scenario_file):
    done = forked.run(["run", scenario_file], env={**os.environ, "TERM": "dumb"})
    assert done.returncode == 0 and "\x1b" not in done.stdout and done.stderr == ""


def test_long_work_reports_itself_in_a_log(monkeypatch, capsys):
    from bentpipe import terminal

    monkeypatch.setattr(terminal.Bar, "_FIRST_S", 0.0)
    with terminal.Bar("a year of rain") as bar:
        bar(0.25)
        bar(0.5)  # not a second time within a minute
    said = capsys.readouterr().err
    assert "a year of rain: 25%" in said and "left" in said and "50%" not in said


def test_the_backend_of_a_notebook_is_not_that_of_the_command_line(tmp_path):
    """Matplotlib refuses to load with a backend that is not in this environment."""
    file = tmp_path / "geo.toml"
    file.write_text(
        'duration = "5 s"\nrecord = { interval = "100 ms" }\n[link.s]\nrate = "1 Mbit/s"\ndelay = "10 ms"\n'
        '[[flow]]\ncc = "reno"\npath = ["s"]\n'
    )
    env = os.environ | {"MPLBACKEND": "module://no_such_inline.backend_inline"}
    out, figure = tmp_path / "out", tmp_path / "a.svg"
    for words in (["run", file, "--out", out], ["plot", "cwnd", out, "-o", figure]):
        done = subprocess.run([*COMMAND, *map(str, words)], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert figure.exists()

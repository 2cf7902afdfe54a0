"""bentpipe advise: what is asked, within which time, and what is said."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import pytest

import bentpipe as bp
from bentpipe import advice as package
from bentpipe.advice import flags, linux, ranking, schedule
from bentpipe.advice.question import Candidate
from bentpipe.advice.spans import span
from bentpipe.advice.trials import Trials, startup
from bentpipe.advice.work import Unanswered
from bentpipe.source import SCENARIOS

LINK: dict[str, Any] = {"rate": "4 Mbit/s", "rtt": "100 ms"}
PLAN = "4x2x5s+4x2x5s"
FEW = ["hybla", "vegas"]


@pytest.fixture(scope="module")
def answer() -> bp.Advice:
    return bp.advise(**LINK, per="1e-3", cc=FEW, plan=PLAN)


def trials(name: str, **values: list[float]) -> Trials:
    return Trials(Candidate(name, name, name), values)


@pytest.mark.parametrize(
    ("name", "text", "low", "high", "unit"),
    [
        ("per", "1e-4", 1e-4, 1e-4, ""),
        ("per", 1e-4, 1e-4, 1e-4, ""),
        ("per", "0.5 %", 0.005, 0.005, ""),
        ("per", "1e-5-1e-3", 1e-5, 1e-3, ""),
        ("ber", "1e-7..1e-6", 1e-7, 1e-6, ""),
        ("rate", "5-20 Mbit/s", 5, 20, "Mbit/s"),
        ("rate", "5Mbit/s..20Mbit/s", 5, 20, "Mbit/s"),
        ("rate", "500 kbit/s to 2 Mbit/s", 0.5, 2, "Mbit/s"),
        ("rtt", "600ms", 600, 600, "ms"),
        ("buffer", "0.5-2 bdp", 0.5, 2, "bdp"),
    ],
)
def test_a_value_is_one_number_or_a_range(
    name: str, text: str | float, low: float, high: float, unit: str
) -> None:
    found = span(name, text)
    assert (found.low, found.high, found.unit) == pytest.approx((low, high, unit))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("per", "often", '"1e-4"'),
        ("per", "1.5", "0 to 1"),
        ("rate", "20", '"20 Mbit/s"'),
        ("rate", "0 Mbit/s", '"20 Mbit/s"'),
        ("rate", "1,5 Mbit/s", '"20 Mbit/s"'),
        ("rtt", "9 to 3 ms", "lower end first"),
        ("buffer", "1 bdp..3 packets", "two kinds of unit"),
    ],
)
def test_what_is_no_value_is_refused(name: str, text: str, said: str) -> None:
    with pytest.raises(bp.ScenarioError, match=said):
        span(name, text)


def test_wide_ranges_are_drawn_from_by_magnitude() -> None:
    assert float(span("per", "1e-6..1e-2").at(0.5)) == pytest.approx(1e-4)
    assert span("rate", "10-20 Mbit/s").at(0.5) == "15 Mbit/s"


def test_every_sentence_of_the_answer_stands_on_runs(answer: bp.Advice) -> None:
    shown = answer.to_dict()
    assert shown["plan"] == PLAN
    assert {row["cc"] for row in shown["algorithms"]} == {"cubic", "reno", *FEW}
    for row in shown["algorithms"]:
        assert 0 < row["goodput_bps"]["centre"] < 4e6
        assert row["goodput_bps"]["low"] <= row["goodput_bps"]["centre"] <= row["goodput_bps"]["high"]
        assert 4 < row["file_s"]["centre"] < 60  # 2 MB at 4 Mbit/s take 4 s
        assert 0 <= row["harm_cubic"]["centre"] <= 1
    cubic = next(row for row in shown["algorithms"] if row["cc"] == "cubic")
    assert cubic["harm_cubic"]["centre"] == 0
    assert any("rate 4 Mbit/s" in line for line in shown["assumptions"])
    assert any("5 s" in line and "round trips" in line for line in shown["assumptions"])
    assert shown["advice"][0].startswith(("Use ", "Keep CUBIC"))


def test_the_same_plan_gives_the_same_numbers(answer: bp.Advice) -> None:
    again = bp.advise(**LINK, per=1e-3, cc=FEW, plan=PLAN)
    assert again.to_dict()["algorithms"] == answer.to_dict()["algorithms"]
    assert f"--plan {PLAN}" in answer.command


def test_page_and_json_are_written(answer: bp.Advice, tmp_path: Path) -> None:
    page = answer.write(tmp_path / "out")
    text = page.read_text()
    assert page.name == "advice.html"
    assert "4 Mbit/s, 100 ms, per 0.001" in text
    assert json.loads((tmp_path / "out" / "advice.json").read_text()) == answer.to_dict()
    assert text.index("</h1>") < text.index(answer.sentences()[0].split(":")[0]) < text.index("<h2")


def test_a_range_is_another_link_for_each_seed() -> None:
    found = bp.advise(rate="2-8 Mbit/s", rtt="50 ms", cc=["vegas"], plan="3x3x5s")
    goodputs = found.trials["cubic"].of("goodput_bps")
    assert max(goodputs) > 1.5 * min(goodputs)
    assert any(line.startswith("Taken as a range: rate 2 to 8 Mbit/s") for line in found.assumptions)


def test_a_time_line_with_rate_and_delay_is_a_link(tmp_path: Path) -> None:
    place = tmp_path / "line.csv"
    place.write_text("t_s,rate_bps,delay_s\n0,4000000,0.05\n3,2000000,0.05\n")
    found = bp.advise(timeline=place, cc=["vegas"], plan="3x1x6s")
    assert 1e6 < found.trials["cubic"].mean("goodput_bps") < 3e6
    assert found.question.title == "time line line.csv"
    with pytest.raises(bp.ScenarioError, match=r"rtt: .* has it"):
        bp.advise(timeline=place, rtt="10 ms")
    with pytest.raises(bp.ScenarioError, match="say which link"):
        bp.advise(timeline=Path(__file__).parents[2] / "scenarios" / "leo.csv")


def test_hybla_on_a_shared_vsat_is_flagged() -> None:
    found = bp.advise("vsat", flows=20, cc=["hybla"], plan="3x1x30s")
    kinds = {flag.kind for flag in found.flagged["hybla"]}
    assert "loss" in kinds
    assert found.trials["hybla"].mean("own_loss") > 0.2
    assert found.recommended == "cubic"
    assert all("hybla" not in group for group in found.groups)
    assert any(line.startswith("Do not use Hybla") for line in found.sentences())


def test_what_stands_back_is_not_called_reckless() -> None:
    usual = trials("cubic", own_loss=[0.0], cubic_bps=[5e6], beside_cubic_bps=[5e6], harm_cubic=[0.0],
                   queue_p50_s=[0.1], goodput_bps=[1e7])  # fmt: skip
    for own, said in ((3e5, []), (8e6, ["harm"])):
        other = trials("other", own_loss=[0.0], cubic_bps=[5e5], beside_cubic_bps=[own], harm_cubic=[0.9],
                       queue_p50_s=[0.0], goodput_bps=[1e7])  # fmt: skip
        found = flags.flags(other, {"cubic": usual, "other": other}, shared=True)
        assert [flag.kind for flag in found] == said
        assert flags.flags(other, {"cubic": usual, "other": other}, shared=False) == []


def test_differences_of_two_percent_are_ties() -> None:
    some = {
        "a": trials("a", goodput_bps=[10.0, 10.1, 9.9]),
        "b": trials("b", goodput_bps=[9.9, 10.0, 9.8]),
        "c": trials("c", goodput_bps=[9.0, 9.1, 8.9]),
    }
    assert ranking.groups(some, "throughput") == [["a", "b"], ["c"]]


def test_one_that_finished_no_file_comes_last() -> None:
    some = {
        "a": trials("a", file_s=[math.nan, math.nan]),
        "b": trials("b", file_s=[30.0, 31.0]),
    }
    assert ranking.groups(some, "completion") == [["b"], ["a"]]


def test_start_up_ends_at_nine_tenths_of_what_comes() -> None:
    import numpy as np

    t = np.arange(0, 20.05, 0.1)
    delivered = np.where(t < 5, 0.0, (t - 5) * 1e6)
    assert startup(t, delivered, 0.5) == pytest.approx(6.0, abs=0.15)
    assert math.isnan(startup(t, np.zeros_like(t), 0.5))


def test_a_budget_is_shared_out_and_never_exceeded_by_the_plan() -> None:
    small = schedule.screening(36, 60, 0.6, 2e-3, 30, 2)
    assert schedule.seconds_of(small, 2e-3, 2) < 15
    assert schedule.screening(36, 60, 0.6, 5.0, 30, 2) == schedule.Stage(36, 1, 10)
    assert schedule.screening(36, 60, 0.1, 5.0, 30, 2) == schedule.Stage(36, 1, 2)
    assert schedule.finals(small, 60, 3.0, 15) == schedule.Stage(8, 7, 60)
    assert schedule.finals(small, 60, 300.0, 15) is None
    assert str(schedule.read("34x3x30s+8x20x60s")) == "34x3x30s+8x20x60s"


def test_a_budget_that_is_over_ends_the_work_with_what_is_there() -> None:
    began = time.monotonic() - 1000
    found = bp.advise("geo", budget="30 s", begun=began)
    assert {"cubic", "reno"} <= set(found.trials)
    assert len(found.trials) < len(bp.controllers())
    assert found.schedule.final is None
    assert any(line.startswith("The time was not enough for") for line in found.cut)
    assert f"the time was enough for {len(found.trials)} of" in found.sentences()[-1]


def test_the_best_eight_go_on_and_the_rest_is_named() -> None:
    names = ["bic", "htcp", "westwood", "hybla", "vegas", "veno", "yeah", "illinois", "scalable"]
    found = bp.advise(**LINK, cc=names, plan="11x1x5s+8x2x5s")
    assert found.schedule.screen.algorithms == 11
    assert len(found.trials) < 11
    (line,) = [
        line for line in found.cut if line.startswith("Screened with one seed and not among the best 8")
    ]
    gone = {name for name in names if name not in found.trials}
    assert len(line.partition(": ")[2].split(", ")) == len(gone)


def stop_at(what: str, count: int) -> Any:
    def progress(doing: str, done: int, total: int) -> None:
        assert 0 <= done <= total
        if doing.startswith(what) and done >= count:
            raise KeyboardInterrupt

    return progress


def test_an_interrupt_keeps_what_is_finished() -> None:
    found = bp.advise(**LINK, cc=FEW, plan=PLAN, progress=stop_at("the best", 3))
    assert found.interrupted
    assert found.schedule.final is None
    assert set(found.trials) == {"cubic", "reno", *FEW}
    assert "interrupted" in " ".join(found.sentences())


def test_an_interrupt_in_the_first_seed_keeps_whole_algorithms() -> None:
    found = bp.advise(**LINK, cc=[*FEW, "bic", "htcp"], plan="6x2x20s", progress=stop_at("screening", 14))
    assert found.interrupted
    assert {"cubic", "reno"} <= set(found.trials) < {"cubic", "reno", "bic", "htcp", *FEW}
    assert any(line.startswith("It was interrupted before") for line in found.cut)


def test_an_interrupt_before_anything_is_known_says_so() -> None:
    with pytest.raises(Unanswered, match="nothing is known"):
        bp.advise(**LINK, cc=FEW, plan=PLAN, progress=stop_at("screening", 0))


def test_progress_begins_at_nothing() -> None:
    seen: list[tuple[str, int, int]] = []
    bp.advise(**LINK, cc=FEW, plan="4x2x2s", progress=lambda *state: seen.append(state))
    counts = [(done, total) for what, done, total in seen if what.startswith("screening")]
    assert counts[0] == (0, 32)
    assert counts[-1] == (32, 32)
    assert [done for done, _ in counts] == sorted(done for done, _ in counts)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "say which link"),
        ({"rate": "1 Mbit/s"}, "say which link"),
        ({"link": "geo", "scenario": "geo"}, "one of link, scenario and measured"),
        ({"link": "geo", "per": 1e-4, "ber": 1e-7}, "per or ber"),
        ({"link": "geo", "goal": "speed"}, "no goal is called"),
        ({"link": "geo", "competing": ["many cubic"]}, "3 cubic"),
        ({"link": "geo", "budget": "soon"}, "not a duration"),
        ({"link": "geo", "plan": "8 of them"}, "34x3x30s"),
        ({"link": "geo", "plan": PLAN, "thorough": True}, "not both"),
        ({"scenario": "geo", "rate": "1 Mbit/s"}, "played as it stands"),
        ({"rate": "1 Mbit/s", "rtt": "10 ms", "per": 1.0}, "nothing comes back"),
    ],
)
def test_a_wrong_question_is_answered_with_what_would_be_right(options: dict[str, Any], said: str) -> None:
    with pytest.raises(bp.ScenarioError, match=said):
        bp.advise(**options)


class Broken(bp.Controller):
    """Fails at its first acknowledgement."""

    def on_ack(self, flow: Any, ack: Any) -> None:
        raise RuntimeError("no idea")

    def on_congestion(self, flow: Any, why: str) -> None:
        self.cwnd /= 2


def test_a_controller_that_fails_is_named() -> None:
    with pytest.raises(bp.ControllerError, match=r"Broken.*no idea"):
        bp.advise(**LINK, cc=[Broken], plan="3x1x2s")


def test_algorithms_are_named_as_for_compare() -> None:
    found = bp.advise(**LINK, cc="CUBIC, vegas alpha=3, { name = 'simd', beta = 0.1 }, vegas", plan="5x1x2s")
    labels = {one.candidate.label for one in found.trials.values()}
    assert labels == {"CUBIC", "Reno", "Vegas", "Vegas alpha=3", "SIMD beta=0.1"}
    assert found.command.endswith("--cc 'CUBIC, vegas alpha=3, simd beta=0.1, vegas' --plan 5x1x2s")
    with pytest.raises(bp.ScenarioError, match="did you mean"):
        bp.advise(**LINK, cc="cubik")


def test_linux_lines_are_commands_that_linux_has() -> None:
    assert linux.commands("bbr") == ["modprobe tcp_bbr", "sysctl -w net.ipv4.tcp_congestion_control=bbr"]
    assert linux.commands("westwood-plus")[-1].endswith("=westwood")
    assert linux.commands("reno") == ["sysctl -w net.ipv4.tcp_congestion_control=reno"]
    assert linux.commands("star") == []
    known = {entry["id"] for entry in bp.controllers()} if hasattr(bp, "controllers") else None
    assert known is None or set(linux.MODULES) <= known


def test_the_package_gives_its_names_and_no_others() -> None:
    assert package.advise is bp.advise
    with pytest.raises(AttributeError, match="nonsense"):
        _ = package.nonsense


def test_the_first_line_is_the_answer(cli: Any, tmp_path: Path) -> None:
    done = cli("advise", "--rate", "4 Mbit/s", "--rtt", "100 ms", "--per", "1e-3", "--cc", "hybla,vegas",
               "--plan", PLAN, "--out", tmp_path / "out")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith(("Use ", "Keep CUBIC"))
    assert "To repeat it exactly:" in done.stdout
    assert (tmp_path / "out" / "advice.html").is_file()
    assert "screening 4 algorithms" in done.stderr


def test_a_file_of_somebody_else_is_not_replaced(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "advice.html").write_text("mine")
    done = cli("advise", "--link", "geo", "--cc", "vegas", "--plan", "3x1x2s", "--out", tmp_path)
    assert done.exit_code == 2
    assert "is no page of Bentpipe" in done.stderr
    assert (tmp_path / "advice.html").read_text() == "mine"


def test_an_answer_that_was_interrupted_is_shown_with_status_130(
    cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bentpipe.advice import commands

    monkeypatch.setattr(commands._Bars, "__call__", lambda self, *state: stop_at("the best", 3)(*state))
    done = cli("advise", "--rate", "4 Mbit/s", "--rtt", "100 ms", "--cc", "hybla,vegas", "--plan", PLAN)
    assert done.exit_code == 130
    assert done.stdout.startswith(("Use ", "Keep CUBIC"))
    assert done.stderr == "bentpipe: interrupted; the answer rests on the runs that were done\n"


def test_each_stage_has_a_bar_that_begins_at_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from bentpipe import terminal
    from bentpipe.advice.commands import _Bars

    seen: list[str] = []
    monkeypatch.setattr(terminal.RunsBar, "__enter__", lambda self: seen.append("begins"))
    monkeypatch.setattr(terminal.RunsBar, "__exit__", lambda self, *failure: seen.append("ends"))
    monkeypatch.setattr(
        terminal.RunsBar, "at", lambda self, state: seen.append(f"{state.done}/{state.total}")
    )
    bars = _Bars()
    for state in (("screening", 0, 8), ("screening", 4, 8), ("the best 8", 0, 6)):
        bars(*state)
    bars.close()
    assert seen == ["begins", "0/8", "4/8", "ends", "begins", "0/6", "ends"]


def test_json_is_the_answer_alone(cli: Any) -> None:
    done = cli(
        "advise", "--rate", "4 Mbit/s", "--rtt", "100 ms", "--cc", "vegas", "--plan", "3x1x2s", "--json"
    )
    shown = json.loads(done.stdout)
    assert shown["schema"] == 1
    assert shown["recommended"] in {"cubic", "reno", "vegas"}
    assert shown["question"] == "4 Mbit/s, 100 ms"


def test_no_line_is_wider_than_sixty_columns(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    done = cli(
        "advise", "--rate", "4 Mbit/s", "--rtt", "100 ms", "--cc", "highspeed,star", "--plan", "4x2x2s"
    )
    lines = done.stdout.splitlines()
    wide = [line for line in lines if len(line) > 60 and not line.startswith("bentpipe advise")]
    assert wide == []
    assert "HighSpeed" in done.stdout  # no word is broken


@pytest.mark.parametrize("option", ["--link", "--scenario"])
@pytest.mark.parametrize("name", sorted(file.stem for file in SCENARIOS.glob("*.toml")))
def test_every_shipped_scenario_gets_an_answer(cli, monkeypatch, name: str, option: str) -> None:
    monkeypatch.setenv("BENTPIPE_TRACEBACK", "1")
    ran = cli("advise", option, name, "--cc", "hybla", "--plan", "3x1x5s")
    assert ran.exit_code == 0 and "Hybla" in ran.stdout, ran.stderr


def test_behind_a_relay_the_client_counts() -> None:
    """The first half of geo-pep takes 40 ms and is done once the relay has all; a file crosses both."""
    asked = {"cc": ["hybla"], "plan": "3x1x10s"}
    split = bp.advise(scenario="geo-pep", relay="gateway", **asked)
    whole = bp.advise(scenario="geo-pep", relay="none", **asked)
    for answer in (split, whole):
        assert all(one.mean("file_s") > 1.7 for one in answer.trials.values())  # 2 MB at 10 Mbit/s take 1.6 s
        assert all(one.mean("queue_p95_s") < 0.6 for one in answer.trials.values())  # the buffer, 0.54 s
    assert "--relay none" in whole.command and "relay none" in whole.question.title
    with pytest.raises(bp.ScenarioError, match="advise takes one; compare takes several"):
        bp.advise("geo-pep", relay="none,hybla")

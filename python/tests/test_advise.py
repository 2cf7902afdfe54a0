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
from bentpipe.advice import flags, ranking, schedule
from bentpipe.advice import trials as advice_trials
from bentpipe.advice.question import Candidate, Question
from bentpipe.advice.race import Race, Unanswered
from bentpipe.advice.trials import Trials, comparable, startup, steady_goodput
from bentpipe.document.spans import span
from bentpipe.machine import linux
from bentpipe.measured.draws import Draw
from bentpipe.registry import SCENARIOS
from bentpipe.sweeps.execution import Processes
from bentpipe.sweeps.lab import Lab

LINK: dict[str, Any] = {"rate": "4 Mbit/s", "rtt": "100 ms"}
PLAN = "4x3x5s+2"
FEW = ["hybla", "vegas"]
BEST_SO_FAR = ("CUBIC, the default of Linux, is best so far", "Hybla is best so far", "Reno is best so far")


@pytest.fixture(scope="module")
def answer() -> bp.Advice:
    return bp.advise(**LINK, per="1e-3", cc=FEW, plan=PLAN)


def test_a_notebook_shows_the_answer_and_not_the_question(answer: bp.Advice) -> None:
    first = answer.sentences()[0]
    assert repr(answer) == f"Advice({first})"
    shown = answer._repr_html_()
    assert f"<p>{first}</p>" in shown and "cubic" in shown and "Scenario(" not in shown


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
        ("rate", "0 Mbit/s", "must be above zero"),
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


def test_a_range_takes_the_spellings_of_units_that_scenarios_take() -> None:
    assert str(span("rate", "20 Mbps")) == "20 Mbit/s"
    assert span("rtt", "0.5-0.7 sec").at(0.5) == "0.6 s"
    assert span("buffer", "64 KiB..1 MiB").at(0.0) == "65536 bytes"
    assert str(span("buffer", "1 BDP")) == "1 bdp"
    with pytest.raises(bp.ScenarioError, match="no value"):
        span("rate", "20 MB/s")


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
    assert shown["advice"][shown["known"] is False].startswith(("Use ", "Keep CUBIC", *BEST_SO_FAR))


def test_page_and_json_are_written(answer: bp.Advice, tmp_path: Path) -> None:
    page = answer.write(tmp_path / "out")
    text = page.read_text()
    assert page.name == "advice.html"
    assert "4 Mbit/s, 100 ms, per 0.001" in text
    assert json.loads((tmp_path / "out" / "advice.json").read_text()) == answer.to_dict()
    assert text.index("</h1>") < text.index(answer.sentences()[0].split(":")[0]) < text.index("<h2")


def test_a_range_is_another_link_for_each_seed() -> None:
    found = bp.advise(rate="2-8 Mbit/s", rtt="50 ms", cc=["vegas"], plan="3x3x5s+0")
    goodputs = found.trials["cubic"].of("goodput_bps")
    assert max(goodputs) > 1.5 * min(goodputs)
    assert any(line.startswith("Taken as a range: rate 2 to 8 Mbit/s") for line in found.assumptions)


def test_the_page_of_a_plan_without_runs_beside_others_lacks_their_chart(tmp_path: Path) -> None:
    found = bp.advise(rate="2 Mbit/s", rtt="50 ms", cc=["vegas"], plan="2x1x3s+0")
    page = found.write(tmp_path).read_text(encoding="utf-8")
    assert "Goodput and queueing delay." in page and "at whose cost" not in page


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
    assert found.trials["hybla"].mean("own_loss") > 0.15
    assert found.recommended == "cubic"
    assert all("hybla" not in group for group in found.groups)
    assert any(line.startswith("Do not use Hybla") for line in found.sentences())
    assert any(row["cc"] == "hybla" and row["rank"] is None for row in found.rows())


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


def test_start_up_ends_at_nine_tenths_of_what_comes_and_the_long_run_follows() -> None:
    import numpy as np

    t = np.arange(0, 20.05, 0.1)
    delivered = np.where(t < 5, 0.0, (t - 5) * 1e6)
    assert startup(t, delivered, 0.5) == pytest.approx(6.0, abs=0.15)
    assert math.isnan(startup(t, np.zeros_like(t), 0.5))
    assert steady_goodput(t, delivered) == pytest.approx(8e6)
    assert steady_goodput(t[:1], delivered[:1]) == 0


def test_what_start_up_drops_is_no_standing_loss() -> None:
    """Slow start overshoots the buffer of a GEO link; afterwards CUBIC drops next to nothing."""
    found = bp.advise(rate="10 Mbit/s", rtt="600 ms", per=1e-4, cc=["cubic"], plan="2x2x60s+0")
    assert found.trials["cubic"].mean("loss") > 0.02 > 3 * found.trials["cubic"].mean("own_loss")


def test_a_download_is_start_up_and_has_no_standing_loss() -> None:
    """10 MiB by BBR lose an eighth of their packets, and are there fourteen times sooner than by CUBIC."""
    found = bp.advise("geo-quic", cc=["bbr"], plan="3x2x60s+2")
    assert any("traffic of the scenario, start-up included" in said for said in found.assumptions)
    assert not any("second half" in said for said in found.assumptions)
    assert found.trials["bbr"].mean("own_loss") > 0.05
    assert "bbr" not in found.flagged
    assert found.recommended == "bbr"
    assert found.trials["bbr"].mean("goodput_bps") > 10 * found.trials["cubic"].mean("goodput_bps")


def test_runs_become_shorter_until_five_seeds_fit_the_budget() -> None:
    whole = schedule.Schedule(60, schedule.MOST_SEEDS, 60)
    assert schedule.shorter(whole, 0.1, 6.0, 15) == schedule.Schedule(60, schedule.MOST_SEEDS, 30)
    assert schedule.shorter(whole, 0.6, 1e3, 15).run_s == schedule.LEAST_TRIPS * 0.6
    assert schedule.shorter(whole, 0.01, 1e3, 15).run_s == schedule.LEAST_RUN_S
    assert str(schedule.read("34x3x30s+8")) == "34x3x30s+8"
    assert schedule.read("34x3x30s").costs == schedule.COSTS


def test_a_budget_that_is_over_ends_the_work_with_what_is_there() -> None:
    began = time.monotonic() - 1000
    found = bp.advise("geo", budget="30 s", begun=began)
    assert {"cubic", "reno"} <= set(found.trials)
    assert len(found.trials) < len(bp.controllers())
    assert any(line.startswith("The time was not enough for") for line in found.cut)
    assert f"the time was enough for {len(found.trials)} of" in found.sentences()[0]


def test_a_budget_too_short_for_all_says_not_yet_known() -> None:
    found = bp.advise("vsat", budget="1 s", flows=20)
    assert {"cubic", "reno"} <= set(found.trials)
    assert found.doubts
    assert found.sentences()[0].startswith("Not yet known: ")
    assert found.to_dict()["known"] is False


def test_a_budget_is_what_the_processors_simulate_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "packets_per_s", lambda: 6e6)
    assert schedule.Budget(10.0, 0.0, 2).part(0.5) == pytest.approx(0.5 * 10 * 2 * 6e6 * 2 / 3)


def test_a_speed_is_that_of_the_fastest_sample_rounded_down_to_a_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = iter([0.0, 4.0, 10.0, 12.0, 20.0, 28.0])  # the samples take 4, 2 and 8 s
    monkeypatch.setattr(schedule.time, "thread_time", lambda: next(steps))
    scenario = bp.Scenario.load("geo-consumer", {"duration": schedule.SAMPLE[1]})
    packets = bp.run(scenario).json["packets"]
    assert packets / 2 / schedule.STEP < schedule.packets_per_s() <= packets / 2


def test_the_plan_counts_work_and_not_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is half as fast makes the same runs, and gives the same answer."""
    asked: dict[str, Any] = {"rate": "10 Mbit/s", "rtt": "100 ms", "cc": ["bbr", "vegas"], "budget": "4 s"}
    monkeypatch.setattr(schedule, "PATIENCE", 1000.0)
    monkeypatch.setattr(schedule, "packets_per_s", lambda: 6e6)
    first = bp.advise(**asked)
    measured = advice_trials.measured

    def slow(*args: Any) -> dict[str, float]:
        time.sleep(0.01)
        return measured(*args)

    monkeypatch.setattr(advice_trials, "measured", slow)
    again = bp.advise(**asked)
    assert again.plan == first.plan and first.plan.seeds < schedule.MOST_SEEDS
    assert again.to_dict() == first.to_dict()


def test_runs_that_are_kept_are_not_made_again_wherever_they_were_made(
    answer: bp.Advice, tmp_path: Path
) -> None:
    def none() -> Processes:
        raise AssertionError("a run is made again")

    asked: dict[str, Any] = {**LINK, "per": "1e-3", "cc": FEW, "plan": PLAN, "out": tmp_path}
    for executor in (lambda: Processes(2), none):
        assert bp.advise(**asked, executor=executor).to_dict() == answer.to_dict()
    with pytest.raises(AssertionError):
        bp.advise(**asked, executor=none, fresh=True)


def test_nobody_leaves_the_race_on_a_single_seed_and_who_leaves_is_named() -> None:
    """At 2 % of loss BBR has ten times what CUBIC has: those that losses stop leave, after five seeds."""
    names = ["bbr", "htcp", "westwood", "vegas", "veno"]
    found = bp.advise(rate="10 Mbit/s", rtt="300 ms", per=0.02, cc=names, plan="7x6x60s+2")
    assert found.recommended == "bbr"
    assert "bbr" not in found.left and "cubic" not in found.left
    assert found.left and min(found.left.values()) >= schedule.LEAST_SEEDS_HAD
    (line,) = [line for line in found.cut if line.startswith("Left the race after")]
    assert len(line.partition(": ")[2].split(", ")) == len(found.left)
    assert {len(found.trials[name].values["goodput_bps"]) for name in found.left} == set(found.left.values())


def test_one_leaves_only_if_its_interval_lies_below_the_best() -> None:
    best = trials("a", goodput_bps=[10.0, 10.2, 9.8, 10.1, 9.9])
    worse = trials("b", goodput_bps=[5.0, 5.1, 4.9, 5.2, 4.8])
    noisy = trials("c", goodput_bps=[1.0, 16.0, 2.0, 15.0, 3.0])
    assert ranking.is_behind(best, worse, "throughput")
    assert not ranking.is_behind(best, noisy, "throughput")
    assert not ranking.is_behind(best, trials("d", goodput_bps=[1.0]), "throughput")
    assert ranking.is_tied(best, best, "throughput") and not ranking.is_tied(best, noisy, "throughput")


def measured_links(*rates: float) -> Question:
    draws = [Draw(rate, 0.1, None, (), "none", 0.0) for rate in rates]
    return Question(link=bp.Link(rate="1 Mbit/s", delay="50 ms"), draws=draws)


def test_over_measured_links_the_fastest_does_not_decide() -> None:
    """Each run is over another link; goodputs count as shares of its rate."""
    fast = trials("fast", goodput_bps=[90.0, 0.5, 0.5], file_s=[1.0, 2.0])
    even = trials("even", goodput_bps=[60.0, 0.9, 0.9], file_s=[2.0, 1.0])
    some = {"fast": fast, "even": even}
    assert ranking.order(some, "throughput") == ["fast", "even"]
    found = comparable(some, measured_links(100.0, 1.0))
    assert found["fast"].values == {"goodput_bps": [0.9, 0.5, 0.005], "file_s": [1.0, 2.0]}
    assert ranking.order(found, "throughput") == ["even", "fast"]
    assert comparable(some, Question(link=bp.Link(rate="1 Mbit/s", delay="50 ms"))) == some


def test_over_measured_links_doubt_counts_against_an_algorithm() -> None:
    def of(harm: list[float], loss: list[float]) -> dict[str, Any]:
        kept = {"goodput_bps": [1.0] * 4, "own_loss": loss, "queue_p50_s": [0.0] * 4, "harm_cubic": harm}
        return kept | {"beside_cubic_bps": [2.0] * 4, "cubic_bps": [1.0] * 4}

    usual = trials("cubic", **of([0.0] * 4, [0.01] * 4))
    for harm, loss, kinds in (
        ([0.48, 0.48, 0.48, 0.48], [0.0] * 4, []),
        ([0.1, 0.1, 0.9, 0.8], [0.0] * 4, ["harm"]),  # 0.475 in the mean, give or take 0.22
        (
            [0.0] * 4,
            [0.05, 0.04, 0.0, 0.0],
            ["loss"],
        ),  # 0.0225, less than 3 times CUBIC's; on half of the links more
    ):
        one = trials("one", **of(harm, loss))
        some = {"cubic": usual, "one": one}
        assert flags.flags(one, some, shared=True) == []
        assert [flag.kind for flag in flags.flags(one, some, shared=True, drawn=True)] == kinds


@pytest.mark.parametrize(
    ("harm", "more", "doubts"),
    [([0.1, 0.9, 0.7, 0.6] * 2, 3.0, 1), ([0.8, 0.9] * 4, 3.0, 0), ([0.1, 0.9] * 4, 1.05, 0)],
    ids=["in doubt", "harmful", "hardly better"],
)
def test_a_better_one_that_may_be_harmless_leaves_the_answer_open(
    harm: list[float], more: float, doubts: int
) -> None:
    goodputs = {"cubic": 0.5, "hybla": 1.0, "vivace": more}
    some = {
        one: trials(one, goodput_bps=[rate * 1e6] * 8, harm_cubic=harm if one == "vivace" else [0.0] * 8)
        for one, rate in goodputs.items()
    }
    found = bp.Advice(
        question=measured_links(10e6), plan=schedule.read("3x8x60s+8"), trials=some, asked=3,
        finalists=list(some), left={}, groups=[["hybla"], ["cubic"]],
        flagged={"vivace": [flags.Flag("harm", "it harms")]},
        assumptions=[], cut=[], command="", rtt_s=0.1,
    )  # fmt: skip
    assert found.recommended == "hybla"
    assert len(found.doubts) == doubts
    assert all("may take less than half from a CUBIC flow" in doubt for doubt in found.doubts)


def test_less_delay_of_one_that_is_too_slow_is_not_as_good() -> None:
    """Reno leaves the queue empty with a fifth of the rate; the goal demands 80 % of the most goodput."""
    numbers = {"tcp-j": (17.9, 1.6), "illinois": (16.0, 16.0), "reno": (4.2, 1.2), "cubic": (14.6, 159.0)}
    some = {
        one: trials(one, goodput_bps=[rate * 1e6] * 8, queue_p95_s=[wait / 1e3] * 8)
        for one, (rate, wait) in numbers.items()
    }
    found = bp.Advice(
        question=Question(link="geo", goal="delay"), plan=schedule.read("4x8x60s+8"), trials=some, asked=4,
        finalists=["tcp-j", "reno", "cubic"], left={}, groups=[[one] for one in numbers], flagged={},
        assumptions=[], cut=[], command="", rtt_s=0.6,
    )  # fmt: skip
    assert (found.recommended, found.recommended_in_linux) == ("tcp-j", "illinois")
    assert not found.doubts
    assert "illinois" in {row["cc"] for row in found.final_rows()}


def test_the_table_has_the_algorithm_with_the_least_delay_beside_a_reckless_fast_one() -> None:
    """A reckless flow's goodput is no reason to call the others slow."""
    question = Question(link="geo", goal="delay")
    asked, _ = question.candidates(())
    race = Race(Lab(), question, asked, [], lambda what, done, total: None)
    usual = {"jain": 1.0, "rtt_min_s": 0.5, "rtt_p50_s": 0.5, "loss": 0.0, "own_loss": 0.0, "resent": 0.0}
    for one in asked:
        goodput, waits, lost = {"vegas": (7.5e6, 0.01, 0.0), "star": (1e7, 0.9, 0.2)}.get(
            one.id, (9e6, 0.5, 0.0)
        )
        row = usual | {"goodput_bps": goodput, "rtt_p95_s": 0.5 + waits, "own_loss": lost, "startup_s": 1.0}
        race._found[one.id, "alone"] = [row] * 3
    finalists = race.finalists()
    assert finalists[0] == "vegas" and finalists[-1] == "star"
    assert race._first(race.compared(), {"star"}) == "vegas"


def test_a_wrong_name_is_told_before_measurements_are_weighed() -> None:
    files = [Path(__file__).parent / "measured" / name for name in ("vsat-ping.log", "vsat-iperf3.json")]

    def weighed(what: str, done: int, total: int) -> None:
        raise AssertionError(what)

    for wrong in ({"cc": "bbbr"}, {"goal": "speed"}, {"flows": 0}):
        with pytest.raises(bp.ScenarioError):
            bp.advise(measured=files, progress=weighed, **wrong)


def test_the_same_algorithm_is_recommended_whoever_else_is_asked() -> None:
    """What was wrong once: by default Hybla, with --cc not BBR, thoroughly BBR."""
    link: dict[str, Any] = {"rate": "10 Mbit/s", "rtt": "507 ms", "per": 0.02}
    few = bp.advise(**link, cc=["bbr", "hybla"], plan="4x6x60s+2")
    more = bp.advise(**link, cc=["bbr", "hybla", "illinois", "htcp", "vegas"], plan="7x8x60s+2")
    assert few.recommended == more.recommended == few.to_dict()["recommended"] == "bbr"


def test_what_cannot_be_had_is_not_recommended() -> None:
    found = bp.advise(rate="4 Mbit/s", rtt="300 ms", per=0.01, cc=["peach", "hybla"], plan="4x5x60s+2")
    assert linux.way(found.recommended or "").had
    assert {row["cc"]: row["had"] for row in found.rows()} == {
        "peach": "router", "hybla": "module", "cubic": "built in", "reno": "built in"
    }  # fmt: skip


def test_a_time_line_is_played_whole_or_in_windows_over_all_of_it(tmp_path: Path) -> None:
    place = tmp_path / "line.csv"
    place.write_text("t_s,rate_bps\n0,8000000\n700,1000000\n1400,1000000\n")
    found = bp.advise(bp.Link(rate="8 Mbit/s", delay="25 ms"), timeline=place, cc=["reno"], plan="2x4x20s+0")
    goodputs = found.trials["cubic"].of("goodput_bps")
    assert min(goodputs) < 1.1e6 and max(goodputs) > 6e6, "seeds play windows before and after the change"
    assert any("drawn evenly over it" in line for line in found.assumptions)
    short = tmp_path / "short.csv"
    short.write_text("t_s,rate_bps\n0,8000000\n15,4000000\n30,8000000\n")
    whole = bp.advise(bp.Link(rate="8 Mbit/s", delay="25 ms"), timeline=short, cc=["reno"], budget="20 s")
    assert whole.plan.run_s == 30
    assert "The time line of 30 s is played whole." in whole.assumptions


def test_the_buffer_follows_the_time_line(tmp_path: Path) -> None:
    """One bandwidth-delay product of 80 Mbit/s is eight times that of the link that it is laid over."""
    place = tmp_path / "line.csv"
    place.write_text("t_s,rate_bps\n0,80000000\n20,80000000\n")
    found = bp.compare("geo", ["reno"], timeline=place, duration="20 s", seeds=1)
    plain = bp.compare("geo", ["reno"], rate="80 Mbit/s", duration="20 s", seeds=1)
    assert found["goodput_bps"][0] == pytest.approx(plain["goodput_bps"][0], rel=0.02)


def stop_at(what: str, count: int) -> Any:
    def progress(doing: str, done: int, total: int) -> None:
        assert 0 <= done <= total
        if doing.startswith(what) and done >= count:
            raise KeyboardInterrupt

    return progress


def test_an_interrupt_keeps_what_is_finished() -> None:
    found = bp.advise(**LINK, cc=FEW, plan=PLAN, progress=stop_at("what the best", 3))
    assert found.interrupted
    assert found.plan.costs == 0
    assert set(found.trials) == {"cubic", "reno", *FEW}
    assert "interrupted" in " ".join(found.sentences())


def test_an_interrupt_in_the_first_seed_keeps_whole_algorithms() -> None:
    names = [*FEW, "bic", "htcp", "veno", "yeah", "illinois", "scalable", "highspeed", "westwood"]
    found = bp.advise(**LINK, cc=names, plan="12x2x120s", progress=stop_at("racing", 6))
    assert found.interrupted
    assert {"cubic", "reno"} <= set(found.trials) < {"cubic", "reno", *names}
    assert any(line.startswith("It was interrupted before") for line in found.cut)


def test_an_interrupt_before_anything_is_known_says_so() -> None:
    for plan in (PLAN, None):
        with pytest.raises(Unanswered, match="nothing is known"):
            bp.advise(**LINK, cc=FEW, plan=plan, progress=stop_at("racing", 0))


def test_progress_begins_at_nothing() -> None:
    seen: list[tuple[str, int, int]] = []
    bp.advise(**LINK, cc=FEW, plan="4x2x2s", progress=lambda *state: seen.append(state))
    counts = [(done, total) for what, done, total in seen if what.startswith("racing")]
    assert counts[0] == (0, 8)
    assert counts[-1] == (8, 8)
    assert [done for done, _ in counts] == sorted(done for done, _ in counts)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, r'say which link: link \("geo", or a file\)'),
        ({"rate": "1 Mbit/s"}, 'rate alone is no link; add its rtt, for example "600 ms"'),
        ({"link": "geo", "scenario": "geo"}, "one of link, scenario and measured"),
        ({"link": "geo", "per": 1e-4, "ber": 1e-7}, "per or ber"),
        ({"link": "geo", "goal": "speed"}, "no goal is called"),
        ({"link": "geo", "competing": ["many cubic"]}, "3 cubic"),
        ({"link": "geo", "budget": "soon"}, "not a duration"),
        ({"link": "geo", "plan": "8 of them"}, "60x12x60s"),
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
    assert found.command.endswith("--cc 'CUBIC, vegas alpha=3, simd beta=0.1, vegas' --plan 5x1x2s+10")
    with pytest.raises(bp.ScenarioError, match="did you mean"):
        bp.advise(**LINK, cc="cubik")


def test_each_way_to_have_an_algorithm() -> None:
    assert linux.way("bbr").commands == [
        "modprobe tcp_bbr",
        "sysctl -w net.ipv4.tcp_congestion_control=bbr",
    ]
    assert linux.way("westwood-plus").commands[-1].endswith("=westwood")
    assert linux.way("reno").commands == ["sysctl -w net.ipv4.tcp_congestion_control=reno"]
    star = linux.way("star")
    assert star.kind == "attach" and star.commands == ["bentpipe kernel attach star --congctl default"]
    assert any("AEN" in lack for lack in star.lacks)
    for name, kind in (
        ("xcp", "router"),
        ("peach", "router"),
        ("olia", "simulation"),
        ("tear", "simulation"),
    ):
        assert linux.way(name).kind == kind and not linux.way(name).had and not linux.way(name).commands
    assert linux.way("Mine").kind == "attach"
    assert set(linux.MODULES) <= {entry["id"] for entry in bp.controllers()}


def test_the_package_gives_its_names_and_no_others() -> None:
    assert package.advise is bp.advise
    with pytest.raises(AttributeError, match="nonsense"):
        _ = package.nonsense


def test_the_first_line_is_the_answer(cli: Any, tmp_path: Path) -> None:
    done = cli("advise", "--rate", "4 Mbit/s", "--rtt", "100 ms", "--per", "1e-3", "--cc", "hybla,vegas",
               "--plan", PLAN, "--out", tmp_path / "out")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith(("Use ", "Keep CUBIC", "Not yet known"))
    assert "To repeat it exactly:" in done.stdout
    assert (tmp_path / "out" / "advice.html").is_file()
    assert "racing 4 algorithms" in done.stderr


@pytest.mark.parametrize("paper", ["A4", "letter"])
def test_the_answer_fits_one_sheet_of_paper(answer: bp.Advice, tmp_path: Path, paper: str) -> None:
    from bentpipe.advice.sheet import write_sheet

    pytest.importorskip("fpdf")
    content = write_sheet(answer, tmp_path / "answer.pdf", paper).read_bytes()
    assert content.startswith(b"%PDF-") and content.count(b"/Type /Page\n") == 1
    width = {"A4": b"595.28", "letter": b"612"}[paper]
    assert b"/MediaBox [0 0 " + width in content
    with pytest.raises(bp.ScenarioError, match="A4"):
        write_sheet(answer, tmp_path / "answer.pdf", "foolscap")


def test_a_directory_that_is_called_like_a_page_is_refused(cli: Any, tmp_path: Path) -> None:
    done = cli("advise", "--link", "geo", "--plan", "3x1x2s", "--out", tmp_path / "answer.html")
    assert done.exit_code == 2 and "it names a directory" in done.stderr
    assert not list(tmp_path.iterdir())


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

    monkeypatch.setattr(commands.Bars, "__call__", lambda self, *state: stop_at("what the best", 3)(*state))
    done = cli("advise", "--rate", "4 Mbit/s", "--rtt", "100 ms", "--cc", "hybla,vegas", "--plan", PLAN)
    assert done.exit_code == 130
    assert done.stdout.startswith(("Use ", "Keep CUBIC", "Not yet known"))
    assert done.stderr == "bentpipe: interrupted; the answer rests on the runs that were done\n"


def test_each_stage_has_a_bar_that_begins_at_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from bentpipe import terminal
    from bentpipe.advice.commands import Bars

    seen: list[str] = []
    monkeypatch.setattr(terminal.RunsBar, "__enter__", lambda self: seen.append("begins"))
    monkeypatch.setattr(terminal.RunsBar, "__exit__", lambda self, *failure: seen.append("ends"))
    monkeypatch.setattr(
        terminal.RunsBar, "at", lambda self, state: seen.append(f"{state.done}/{state.total}")
    )
    bars = Bars()
    for state in (("screening", 0, 8), ("screening", 4, 8), ("the best 8", 0, 6)):
        bars(*state)
    bars.close()
    assert seen == ["begins", "0/8", "4/8", "ends", "begins", "0/6", "ends"]


def test_json_is_the_answer_alone(cli: Any) -> None:
    done = cli(
        "advise", "--rate", "4 Mbit/s", "--rtt", "100 ms", "--cc", "vegas", "--plan", "3x1x2s", "--json"
    )
    shown = json.loads(done.stdout)
    assert shown["schema"] == 2
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


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--link", "--scenario"])
@pytest.mark.parametrize("name", sorted(file.stem for file in SCENARIOS.glob("*.toml")))
def test_every_shipped_scenario_gets_an_answer(cli, monkeypatch, name: str, option: str) -> None:
    monkeypatch.setenv("BENTPIPE_TRACEBACK", "1")
    ran = cli("advise", option, name, "--cc", "hybla", "--plan", "3x1x2s+2")
    assert ran.exit_code == 0 and "Hybla" in ran.stdout, ran.stderr


def test_behind_a_relay_the_client_counts() -> None:
    """The first half of geo-pep takes 40 ms and is done once the relay has all; a file crosses both."""
    asked = {"cc": ["hybla"], "plan": "3x1x10s"}
    split = bp.advise(scenario="geo-pep", relay="gateway", **asked)
    whole = bp.advise(scenario="geo-pep", relay="none", **asked)
    for answer in (split, whole):
        assert all(one.mean("file_s") > 1.7 for one in answer.trials.values())  # 2 MB at 10 Mbit/s take 1.6 s
        assert all(one.mean("queue_p95_s") < 0.6 for one in answer.trials.values())  # the buffer, 0.54 s
    own = bp.advise(scenario="geo-pep", cc=["hybla"], plan="3x1x2s")
    named = "The relay splits each connection and sends on by hybla."
    for answer, expected in ((own, True), (split, False), (whole, False)):
        assert any(line.startswith(named) for line in answer.assumptions) == expected
    assert "--relay none" in whole.command and "relay none" in whole.question.title
    with pytest.raises(bp.ScenarioError, match="advise takes one; compare takes several"):
        bp.advise("geo-pep", relay="none,hybla")

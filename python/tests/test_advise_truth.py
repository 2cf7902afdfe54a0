"""The truth set of `bentpipe advise`: the drawing, the runs, the table, the regret, the seal."""

import dataclasses
import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe.advice.question import Candidate
from bentpipe.measured import estimate

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "advise-truth.csv"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    monkeypatch.syspath_prepend(ROOT / "tools")
    monkeypatch.syspath_prepend(ROOT / "scripts")
    names = ("links", "measure", "table", "files", "judge", "truth")
    return SimpleNamespace(**{name: __import__(f"advise_{name}") for name in names})


@pytest.fixture
def small(scripts):
    """A link that is fast to simulate, without a time line."""
    plain = scripts.links.draw()[0]
    return dataclasses.replace(
        plain, rate_bps=1e6, rtt_s=0.1, buffer_bdp=1.0, queue="drop-tail", per=0.0, burst=None, flows=2,
        competing=(), load=None, scenario="",
    )  # fmt: skip


# The drawing.


def test_the_drawing_is_the_same_each_time_and_one_link_does_not_change_another(scripts):
    again = scripts.links.draw()
    assert again == scripts.links.draw()
    assert [one.number for one in again] == list(range(180))
    # Drawn once and never since: whoever changes the drawing makes the stored table worthless.
    assert again[0].words() == (
        "1.82 Mbit/s, 82 ms, drop-tail of 1.1 BDP (14 packets), PER 2.8e-04, beside a constant rate of 26 %"
    )
    assert again[59].words() == (
        "8.62 Mbit/s, 134 ms, drop-tail of 0.36 BDP (35 packets), beside a constant rate of 23 %"
    )


def test_what_is_drawn_lies_in_its_range_and_is_a_correct_question(scripts):
    links = scripts.links
    for one in links.draw():
        assert 0.5e6 <= one.rate_bps <= 25e6
        assert 0.02 <= one.rtt_s <= 0.65
        assert 0.2 <= one.buffer_bdp <= 4
        assert one.buffer_packets >= 4
        assert one.queue in ("drop-tail", "codel", "fq-codel", "pie", "red")
        assert one.per == 0 or (1e-6 <= one.per <= 2e-2 and one.burst is None)
        assert one.burst is None or (2 <= one.burst[0] <= 30 and 1e-5 <= one.burst[1] <= 1e-2)
        assert 1 <= one.flows <= 5
        assert not (one.competing and one.load)
        assert sum(count for _, count in one.competing) <= 3
        assert 60 <= one.run_s <= 90
        one.question().check()


def test_all_kinds_are_there_and_each_set_has_three_time_lines(scripts):
    links = scripts.links.draw()
    sets = [links[first : first + 30] for first in (0, 30, 60, 90, 120, 150)]
    assert [one.number for one in links] == list(range(180))
    assert [one.sealed for one in links] == [False] * 150 + [True] * 30
    for some in sets:
        assert sum(bool(one.scenario) for one in some) == 3
        assert any(one.per for one in some) and any(one.burst for one in some)
        assert any(one.competing for one in some) and any(one.load for one in some)
    assert {one.scenario for one in links[:60]} - {""} == set(scripts.links.TIME_LINES)


def test_bursts_lose_the_share_and_have_the_length_that_were_drawn(scripts, small):
    one = dataclasses.replace(small, rate_bps=20e6, burst=(8.0, 0.01), flows=1)
    (link,) = one.link().links.values()
    (loss,) = link.loss
    assert 1 / loss.r == pytest.approx(8)
    assert loss.p / (loss.p + loss.r) == pytest.approx(0.01)
    flow = bp.Flow(path=["link"], traffic=bp.Cbr("10 Mbit/s"))
    sent = bp.run(dataclasses.replace(one.link(), flows=[flow], duration="60 s")).json["flows"][0]
    assert sent["dropped_packets"] / sent["sent_packets"] == pytest.approx(0.01, rel=0.3)


def test_windows_of_a_time_line_are_spread_over_it(scripts):
    one = next(one for one in scripts.links.draw() if one.scenario == "geo-rain")
    offsets = [one.offset_s(n) for n in range(60)]
    last = 1799 - one.run_s
    assert min(offsets) >= 0 and max(offsets) <= last
    counts, _ = np.histogram(offsets, bins=6, range=(0, last))
    assert counts.min() >= 9
    counts, _ = np.histogram(offsets[:10], bins=5, range=(0, last))
    assert counts.min() >= 1
    moved = scripts.links.draw()[one.number].question(3).link.links
    assert next(iter(moved.values())).timeline["offset"] == f"{offsets[3]:g} s"


# The runs.


def alone(scripts, one, cc, n=3):
    plain = scripts.measure._plain(one.question(), Candidate(cc, cc, cc), "alone", one.run_s)
    at = scripts.measure._at(plain, n, 0.0)
    return at, scripts.measure._alone(one, bp.run(at)._raw)


def test_goodput_and_losses_of_the_second_half(scripts, small):
    at, found = alone(scripts, small, "cubic")
    # Bytes that the receiver has, by the sender's segments: one that was resent counts once.
    segments = bp.run({**at, "record": {"interval": "1 s", "segments": True}}).segments
    sent = segments.filter(pl.col("event") == "sent").height * 1448 * 8
    assert found["steady_bps"] < 1e6 * 1448 / 1500 * 1.0001
    assert found["steady_bps"] == pytest.approx(sent / 60, rel=0.03)
    whole = bp.run({**at, "record": None}).json
    half = bp.run({**at, "duration": "30 s", "record": None}).json
    dropped = [result["links"][0]["dropped_queue"] for result in (half, whole)]
    offered = [result["links"][0]["offered_packets"] for result in (half, whole)]
    assert dropped[1] > dropped[0]
    steady = (dropped[1] - dropped[0]) / (offered[1] - offered[0])
    assert found["steady_loss"] == pytest.approx(steady, rel=0.05)
    assert found["own_loss"] == pytest.approx(dropped[1] / sum(f["sent_packets"] for f in whole["flows"]))
    delivered = sum(flow["delivered_bytes"] for flow in whole["flows"])
    assert found["goodput_bps"] == pytest.approx(8 * delivered / 60, rel=0.02)


def test_a_repair_in_the_middle_of_a_run_is_no_goodput(scripts):
    # CUBIC repairs losses from second 28 to 30 here; what then comes at once was sent before.
    one = scripts.links.draw()[18]
    most = one.rate_bps * 1448 / 1500
    trace = bp.run(alone(scripts, one, "cubic")[0]).trace
    jump = dict(trace.select("t_s", "delivered_bytes").rows())
    assert 8 * (jump[60.0] - jump[30.0]) / 30 > 1.04 * most
    for cc in ("cubic", "reno"):
        assert alone(scripts, one, cc)[1]["steady_bps"] == pytest.approx(most, rel=0.002)


def test_what_has_arrived_follows_from_what_is_delivered_later(scripts):
    # Ten bytes arrive between two rows; byte 20 is lost and repaired between rows 5 and 6.
    delivered = np.array([0, 10, 20, 20, 20, 20, 59, 69], dtype=float)
    arrived = [scripts.measure._arrived(delivered, row, 10.0) for row in range(8)]
    assert arrived == [0, 10, 20, 29, 39, 49, 59, 69]


def test_a_link_has_a_row_for_each_algorithm_and_seed_and_is_not_run_twice(
    scripts, small, tmp_path, monkeypatch
):
    two = [Candidate("cubic", "CUBIC", "cubic"), Candidate("reno", "Reno", "reno")]
    question = type(small.question())
    monkeypatch.setattr(question, "candidates", lambda self, chosen: (two, []))
    said = []
    scripts.measure.measure([small], tmp_path, 5, said.append)
    block = scripts.measure.rows(tmp_path, small)
    assert block.select("cc", "seed").rows() == [(one.id, n) for n in range(5) for one in two]
    assert block.null_count().sum_horizontal().item() == 0
    scripts.measure.measure([small], tmp_path, 5, said.append)
    assert said == [f"link 0, seeds 0 to 4: {n} runs; 1 of 1" for n in (30, 0)]
    assert scripts.measure.rows(tmp_path, dataclasses.replace(small, rate_bps=2e6)) is None

    table = scripts.table.aggregate(tmp_path, [small], 60)
    scripts.table.write(tmp_path / "table.csv", table)
    read = scripts.table.read(tmp_path / "table.csv")[0].rows
    own = block.filter(pl.col("cc") == "reno")
    assert read["reno"]["seeds"] == 5
    assert read["reno"]["steady_bps"] == pytest.approx(own["steady_bps"].mean(), rel=1e-3)
    assert read["reno"]["steady_bps_se"] == pytest.approx(own["steady_bps"].std() / 5**0.5, rel=0.05)
    usual = block.filter(pl.col("cc") == "cubic")["cubic_bps"].to_numpy()
    harm = np.maximum(0, 1 - own["cubic_bps"].to_numpy() / usual)
    assert read["reno"]["harm"] == pytest.approx(harm.mean(), rel=1e-3, abs=1e-9)
    assert read["cubic"]["harm"] == 0


def test_an_algorithm_that_changed_is_measured_again_and_its_rows_alone(
    scripts, small, tmp_path, monkeypatch
):
    three = [Candidate(cc, cc, cc) for cc in ("cubic", "reno", "vegas")]
    monkeypatch.setattr(type(small.question()), "candidates", lambda self, chosen: (three, []))
    for place, only in (("all", []), ("again", ["vegas"])):
        scripts.measure.measure([small], tmp_path / place, 5, lambda text: None, only)
    path = tmp_path / "table.csv"
    scripts.table.update(path, scripts.table.aggregate(tmp_path / "all", [small], 5), [small])
    before = path.read_bytes()
    again = scripts.table.aggregate(tmp_path / "again", [small], 5)
    assert again["cc"].to_list() == ["cubic", "vegas"]
    scripts.table.update(path, again, [small])
    assert path.read_bytes() == before
    scripts.table.update(path, again.with_columns(harm=pl.lit(0.25)), [small])
    changed = pl.read_csv(path)
    assert changed.select("cc", "harm").rows()[1] != ("reno", 0.25)
    assert changed["cc"].to_list() == ["cubic", "reno", "vegas"] and changed["harm"][2] == 0.25
    monkeypatch.setattr(type(small.question()), "candidates", lambda self, chosen: (three[:2], []))
    scripts.table.update(path, again, [small])
    assert pl.read_csv(path)["cc"].to_list() == ["cubic", "reno"]


# The regret.


def made(scripts, **rows):
    """A table of one link: by algorithm what differs from a flow that harms nobody."""
    usual = dict.fromkeys(scripts.table.QUANTITIES, 0.0) | {
        "steady_bps": 4e6, "beside_steady_bps": 2e6, "cubic_steady_bps": 2e6, "queue_p50_s": 0.02,
        "seeds": 60,
    } | {f"{name}_se": 0.0 for name in scripts.table.QUANTITIES}  # fmt: skip
    return scripts.table.LinkTruth({cc.replace("_", "-"): usual | values for cc, values in rows.items()})


def test_regret_is_the_share_of_the_goal_that_is_lost_against_the_best_that_can_be_had(scripts):
    truth = made(
        scripts,
        cubic={"steady_bps": 4e6},
        hybla={"steady_bps": 8e6},
        xcp={"steady_bps": 9.5e6},  # no kernel has it
        bbr={"steady_bps": 9e6, "steady_loss": 0.2},
        star={"steady_bps": 8.5e6, "steady_harm": 0.6, "beside_steady_bps": 3e6, "cubic_steady_bps": 1e6},
        vegas={"steady_bps": 9.2e6, "queue_p50_s": 0.5},
    )
    assert set(truth.reckless()) == {"bbr", "star", "vegas"}
    assert "drops 20 %" in truth.reckless()["bbr"]
    assert truth.best() == "hybla"
    assert truth.regret("hybla") == 0
    assert truth.regret("cubic") == pytest.approx(0.5)
    assert truth.regret("bbr") == 0
    assert truth.regret(None) == 1


def test_losses_of_start_up_alone_make_nobody_reckless(scripts):
    truth = made(scripts, cubic={}, hybla={"steady_bps": 8e6, "own_loss": 0.3, "harm": 0.9})
    assert truth.reckless() == {}
    assert truth.best() == "hybla"


def test_who_is_near_a_threshold_by_the_truth_s_own_error_is_doubtful(scripts):
    near = {"beside_steady_bps": 3e6, "cubic_steady_bps": 1e6, "steady_harm_se": 0.02}
    truth = made(
        scripts,
        cubic={},
        hybla={**near, "steady_harm": 0.47},
        bbr={**near, "steady_harm": 0.53},
        yeah={**near, "steady_harm": 0.45},
        star={**near, "steady_harm": 0.55},
    )
    assert set(truth.reckless()) == {"bbr", "star"}
    assert truth.doubtful() == {"hybla", "bbr"}
    better = made(scripts, cubic={}, hybla={**near, "steady_harm": 0.47, "steady_bps": 8e6})
    assert (better.best(), better.best(scripts.table.INTERVAL)) == ("hybla", "cubic")
    assert (better.regret("cubic"), better.regret("cubic", scripts.table.INTERVAL)) == (0.5, 0.0)
    one = scripts.links.draw()[0]
    for cc, reckless in (("cubic", False), ("bbr", False), ("star", True)):
        verdict = scripts.judge.Judged(one, answer(scripts, recommended=cc), truth)
        assert (verdict.best, verdict.regret, bool(verdict.reckless)) == ("cubic", 0.0, reckless)


def answer(scripts, **values):
    usual = {
        "link": 0, "recommended": "cubic", "recommended_in_linux": "cubic", "known": True, "flagged": [],
        "plan": "2x1x1s", "took_s": 1.0,
    }  # fmt: skip
    return scripts.judge.Answer(**usual | values)


def test_an_answer_is_a_hit_if_it_loses_little_and_is_not_reckless(scripts):
    truth = made(
        scripts, cubic={}, hybla={"steady_bps": 4.1e6}, bbr={"steady_bps": 9e6, "steady_loss": 0.2},
        yeah={"steady_bps": 3.2e6}, xcp={"steady_bps": 4.2e6},
    )  # fmt: skip
    one = scripts.links.draw()[0]

    def verdict(**values):
        return scripts.judge.Judged(one, answer(scripts, **values), truth)

    assert verdict().hit
    assert not verdict(recommended="bbr").hit and "reckless: it drops" in scripts.judge.miss(
        verdict(recommended="bbr")
    )
    slow = verdict(recommended="yeah", flagged=["hybla"], known=False)
    assert not slow.hit and slow.regret == pytest.approx(1 - 3.2 / 4.1)
    assert 'calls hybla reckless; the answer begins with "Not yet known"' in scripts.judge.miss(slow)
    # What no user can have counts as the best that the answer names for Linux.
    assert verdict(recommended="xcp").answer.taken == "cubic"
    assert verdict(recommended=None, recommended_in_linux=None).regret == 1
    found = [verdict(), slow, verdict(recommended="bbr")]
    assert scripts.judge.summary(found) == (
        "**1 of 3 are hits.** If the best may be in doubt, 2 lose less than 5 % and 2 less than 15 %."
    )
    text = scripts.judge.page({0: truth}, found, [])
    assert text.count("| 0 to 29 | 2 | 2 | 22.0 % | 1 |") == 1
    assert text.count("**miss**") == 2 and text.count("\n- 0: ") == 2
    assert "60 seeds\nfrom 100000 on" in text


# The judge.


def test_sealed_links_are_refused_without_the_flag(scripts, tmp_path):
    with pytest.raises(SystemExit, match="link 150 is sealed"):
        scripts.truth.main(["judge", "--links", "3,150", "--place", str(tmp_path), "--docs", str(tmp_path)])
    assert not list(tmp_path.iterdir())
    assert [one.number for one in scripts.links.chosen(None, sealed=False)] == list(range(150))
    assert [one.number for one in scripts.links.chosen([150, 3], sealed=True)] == [150, 3]
    assert len(scripts.links.chosen(None, sealed=True)) == 180


def test_the_judge_asks_once_and_writes_the_page(scripts, tmp_path, monkeypatch, capsys):
    asked = []

    def advise(*args, **kwargs):
        asked.append((args, kwargs))
        return SimpleNamespace(
            recommended="cubic", recommended_in_linux="cubic", flagged={"bbr": []}, plan="2x1x1s", doubts=[]
        )

    monkeypatch.setattr(scripts.judge.bp, "advise", advise)
    monkeypatch.setattr(scripts.table, "read", lambda path: {2: made(scripts, cubic={}, reno={})})
    words = ["judge", "--links", "2", "--place", str(tmp_path), "--docs", str(tmp_path)]
    assert scripts.truth.main(words) == 0
    assert scripts.truth.main(words) == 0
    ((args, kwargs),) = asked
    assert isinstance(args[0], bp.Scenario)
    assert kwargs == {"flows": 1, "competing": ["1 cubic"], "budget": "30 s"}
    assert "| 2 | 1.16 Mbit/s" in capsys.readouterr().out
    text = (tmp_path / "advise-truth.md").read_text(encoding="utf-8")
    assert "**1 of 1 are hits.**" in text and "Not judged with the code as it is now." in text
    assert scripts.truth.main([*words, "--fresh", "--measured"]) == 0
    assert [path.name for path in asked[-1][1]["measured"]] == ["ping.log", "cubic.json", "bbr.json"]
    assert asked[-1][1]["competing"] == ["1 cubic"]
    assert set(asked[-1][1]) == {"measured", "flows", "competing", "budget"}


# Files as an operator would have them.


def test_files_of_a_link_say_what_the_link_is(scripts, small, tmp_path):
    one = dataclasses.replace(small, rate_bps=4e6, rtt_s=0.3, per=0.02, flows=1)
    trips = scripts.files.round_trips(one)
    assert min(trips.values()) == pytest.approx(0.3, abs=2e-3)
    assert 30_000 - len(trips) == pytest.approx(30_000 * 0.02, rel=0.2)
    paths = scripts.files.write(dataclasses.replace(one, per=0.0), tmp_path)
    found = estimate(paths)
    rate, rtt = found.of("rate_bps"), found.of("rtt_s")
    assert rate.low <= 4.03e6 and rate.high >= 3.9e6
    assert rtt.low <= 0.3 <= rtt.high + 2e-3
    for cc, path in zip(("cubic", "bbr"), paths[1:], strict=True):
        report = json.loads(path.read_text(encoding="utf-8"))
        assert len(report["intervals"]) == 60
        assert report["end"]["sender_tcp_congestion"] == cc
        total = sum(part["sum"]["bytes"] for part in report["intervals"])
        assert total == report["end"]["sum_sent"]["bytes"] >= report["end"]["sum_received"]["bytes"]
        retransmits = sum(part["sum"]["retransmits"] for part in report["intervals"])
        assert retransmits == report["end"]["sum_sent"]["retransmits"] > 0


def test_ping_writes_times_as_iputils_does(scripts):
    assert [scripts.files._shown(v) for v in (123.4, 99.96, 12.34, 1.234, 0.1234)] == [
        "123", "100.0", "12.3", "1.23", "0.123",
    ]  # fmt: skip


# The stored table.


@pytest.mark.skipif(not TABLE.exists(), reason="the truth has not been measured yet")
def test_the_stored_table_has_every_link_and_algorithm(scripts):
    assert TABLE.stat().st_size < 2_500_000
    table = scripts.table.read(TABLE)
    links = scripts.links.draw()
    assert list(table) == [one.number for one in links]
    for one in links:
        rows = table[one.number].rows
        candidates, _ = one.question().candidates(())
        assert set(rows) == {candidate.id for candidate in candidates}
        for cc, row in rows.items():
            assert row["seeds"] >= 10, (one.number, cc)
            known = [row[name] for name in scripts.table.QUANTITIES if name != "file_s"]
            assert not any(math.isnan(value) for value in known), (one.number, cc)
            assert 0 <= row["steady_bps"] <= one.rate_bps
        assert table[one.number].best() in rows


@pytest.mark.slow
def test_half_of_a_rate_that_another_flow_has_is_no_slower_link(scripts, tmp_path):
    """Beside one CUBIC flow, which is named or not: 0.517 Mbit/s, of which BBR has 0.23."""
    one = scripts.links.draw()[21]
    assert one.competing == (("cubic", 1),)
    measured = estimate(scripts.files.write(one, tmp_path))
    named, unnamed = (measured.possible({}, effort=1 / 12, beside=beside) for beside in (one.competing, ()))
    rates = [np.median([link.rate_bps for link in found.draws]) for found in (named, unnamed)]
    assert rates[0] == pytest.approx(one.rate_bps, rel=0.3)
    assert rates[1] < 0.6 * one.rate_bps
    # The queue drops pings: these are no losses of the way.
    losses = [np.median([link.loss for link in found.draws]) for found in (named, unnamed)]
    assert losses[0] < 0.005 < losses[1]

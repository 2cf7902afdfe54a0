"""Links that measurements leave possible: losses under rival hypotheses, and transfers as evidence."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forms import form

import bentpipe as bp
from bentpipe import _core
from bentpipe.advice import schedule
from bentpipe.document.plain import Model
from bentpipe.document.spans import Span
from bentpipe.measured import draws, estimate, hypotheses, iperf3, transfers
from bentpipe.measured.draws import Possible
from bentpipe.measured.fitting import Fitting
from bentpipe.measured.hypotheses import BURSTS, FADES, INDEPENDENT, Watched
from bentpipe.measured.population import Points, PointSource, effective, populate, systematic, uniform
from bentpipe.measured.said import ends, typical
from bentpipe.measured.transfers import RUN, Played, differences, log_fit, scenario
from bentpipe.timeline.traces.iperf3 import report as report_of
from bentpipe.units import seconds

REAL = Path(__file__).parent / "measured"
RATE = {"rate": Span("rate", 50.0, 50.0, "Mbit/s")}
QUICK = form(1 / 12, 1 / 6)
"""The effort: the share of the packets that an answer simulates."""
REPEATED = form(1 / 60, 1 / 6)
"""The effort where only two answers are compared and no number of them is judged."""


def possible(
    names: Sequence[str], given: dict[str, Span] | None = None, seed: int = 1, effort: float = QUICK
) -> Possible:
    return estimate([REAL / name for name in names]).possible(given or {}, seed, effort)


@functools.cache
def shared(*names: str, rate: bool = False) -> Possible:
    """What is possible after these files, and perhaps the rate. It takes a second, so tests share it."""
    return possible(names, RATE if rate else None)


def weight(found: Possible, name: str) -> float:
    return sum(share for one, share in found.hypotheses.items() if one.name == name)


@pytest.fixture
def download() -> Possible:
    """A ping that saw one burst of five losses, and BBR that got 43 of 50 Mbit/s."""
    return shared("vsat-ping.log", "vsat-iperf3.json")


def test_no_loss_of_sixty_is_no_loss_of_three_per_cent() -> None:
    found = shared("vsat-short-ping.log", rate=True)
    losses = [one.loss for one in found.draws]
    assert np.median(losses) < 0.002
    assert np.mean(losses) < 0.015
    assert 0 < min(losses) < 1e-5


def test_losses_in_a_row_are_no_independent_ones(download: Possible) -> None:
    alone = shared("vsat-ping.log", rate=True)
    for found in (alone, download):
        assert weight(found, "independent") < 0.1
        assert sum(found.hypotheses.values()) == pytest.approx(1)


def test_what_a_ping_cannot_tell_stays_open() -> None:
    alone = shared("vsat-ping.log", rate=True)
    assert min(weight(alone, "bursts"), weight(alone, "fades")) > 0.1


def test_a_transfer_tells_rare_bursts_from_frequent_ones_and_a_slower_link() -> None:
    test = iperf3.read(report_of(REAL / "vsat-iperf3.json"))[2]
    assert not isinstance(test, str)

    def fit(rate: str, begins: float) -> float:
        losses = [bp.GilbertElliott(begins, 0.05, 1e-7, 0.5)]
        runs = [scenario(test, Played(rate, 0.507, "1 bdp", losses, 1.0, seed), 20.0) for seed in (1, 2, 3)]
        return float(np.mean([log_fit(test, raw(one), 20.0) for one in runs]))

    truth = fit("50 Mbit/s", 1e-5)
    assert truth > -2
    assert fit("50 Mbit/s", 1 / 300) < truth - 2  # as often as the ping's packets say
    assert fit("40 Mbit/s", 1e-5) < truth - 1


def raw(asked: bp.Scenario) -> _core.RawResult:
    found = bp.run(asked)._raw
    assert found is not None
    return found


def upload(link: Played, cc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> transfers.IperfTest:
    """iperf3's JSON of an upload over a link, as the kernel would tell it."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "tools")
    import advise_files

    asked = transfers.IperfTest(
        Path(), cc, cc, 1, False, 0.0, 60.0, 1e6, (1e6,) * 60, False, 0, None, (None,)
    )
    run = dataclasses.replace(scenario(asked, link, 60.0), record=bp.Record("1 s", segments=True))
    place = tmp_path / "iperf3.json"
    place.write_text(json.dumps(advise_files.report(bp.run(run), cc)))
    found = iperf3.read(report_of(place))[2]
    assert not isinstance(found, str)
    return found


def test_round_trips_tell_a_queue_of_four_packets_from_one_of_eight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(buffer: str, seed: int) -> Played:
        return Played("5.5 Mbit/s", 0.024, buffer, [], 1.0, seed)

    test = upload(link("4 packets", 1), "bbr", tmp_path, monkeypatch)
    fits = [
        log_fit(test, raw(scenario(test, link(buffer, 2), 60.0)), 60.0)
        for buffer in ("4 packets", "8 packets")
    ]
    assert fits[0] > -1 > -4.5 > fits[1]


def test_losses_after_the_start_are_told_from_overshoot_and_bursts_from_single_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(loss: Model, seed: int) -> Played:
        return Played("7.6 Mbit/s", 0.123, "63 packets", [loss], 1.0, seed)

    bursts, single, none = bp.GilbertElliott(2.7e-4, 0.22), bp.PacketError(1.2e-3), bp.PacketError(1e-7)
    test = upload(link(bursts, 1), "bbr", tmp_path, monkeypatch)
    assert test.intervals is not None and sum(test.intervals.resent[:5]) > sum(test.intervals.resent[30:])
    found = {
        loss: differences(test, raw(scenario(test, link(loss, 2), 60.0)), 60.0)
        for loss in (bursts, single, none)
    }
    assert abs(found[none]["resent_early"]) < 1 < -found[none]["resent_late"]
    assert max(abs(found[bursts][name]) for name in ("resent_early", "resent_late", "lossy")) < 1.5
    assert found[single]["lossy"] > found[bursts]["lossy"] + 0.5


def test_a_silence_is_chance_and_moves_no_other_quantity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bursts longer than the window: with one seed a transfer is dead for 40 s, with another it is not."""

    def link(seed: int) -> Played:
        return Played("611 kbit/s", 0.026, "4 packets", [bp.GilbertElliott(4.4e-4, 1 / 14)], 1.0, seed)

    def silent(test: transfers.IperfTest) -> int:
        assert test.intervals is not None
        return int((~test.intervals.alive).sum())

    awake, dead = (upload(link(seed), "cubic", tmp_path, monkeypatch) for seed in (1, 20))
    assert silent(dead) == 41 and silent(awake) == 0
    assert dead.goodput_bps < 0.4 * awake.goodput_bps
    assert dead.alive_bps == pytest.approx(awake.alive_bps, rel=0.05)
    found = differences(dead, raw(scenario(dead, link(1), 60.0)), 60.0)
    assert found.pop("silent") < -1
    assert max(map(abs, found.values())) < 2


def test_traffic_that_pauses_is_seen_by_the_swing_of_the_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate, none = 20e6, Played("20 Mbit/s", 0.1, "1 bdp", [], 1.0, 1)
    load = transfers.Pausing(0.5, 4.0, 2.0)
    assert load.mean == pytest.approx(1 / 3)
    busy = dataclasses.replace(none, load=load.flow("link", rate))
    slower = dataclasses.replace(none, rate="13.3 Mbit/s", seed=2)
    test = upload(busy, "bbr", tmp_path, monkeypatch)
    like, unlike = (
        differences(test, raw(scenario(test, one, 60.0)), 60.0)["swing"]
        for one in (dataclasses.replace(busy, seed=2), slower)
    )
    assert abs(like) < 1 < -unlike - 0.5


def test_the_kind_of_queue_is_asked_for_where_a_transfer_can_tell(download: Possible) -> None:
    assert {one.queue for one in shared("vsat-ping.log", rate=True).draws} == {"drop-tail"}
    assert len({one.queue for one in download.draws}) > 1


def test_scattered_losses_are_independent() -> None:
    found = possible(["lossy-ping.log"], RATE)
    assert weight(found, "independent") > 0.8
    low, high = np.percentile([one.loss for one in found.draws if one.hypothesis == "independent"], (5, 95))
    assert low < 0.02 < high < 0.06


def test_a_transfer_narrows_the_rate_and_says_so(download: Possible) -> None:
    low, high = ends(download, "rate")
    assert low < 50e6 < high
    by = download.weighed
    assert by is not None and by.widened is not None and by.ruled_out > 0.3
    notes = estimate([REAL / "vsat-ping.log", REAL / "vsat-iperf3.json"]).notes(download, {})
    assert any("the measured transfer by BBR, which received 42.58 Mbit/s" in line for line in notes)
    assert any(line.startswith("Losses are ") and "in fades that last for a time" in line for line in notes)
    assert any(line.startswith("One more measurement would narrow most") for line in notes)


def test_four_streams_are_the_receivers_sum() -> None:
    report = json.loads((REAL / "vsat-four-iperf3.json").read_text())
    received = report["end"]["sum_received"]["bits_per_second"] * 1500 / 1448
    rate = estimate([REAL / "vsat-four-iperf3.json"]).of("rate_bps")
    assert rate is not None and rate.value == pytest.approx(received, rel=0.15)
    test = iperf3.read(report_of(REAL / "vsat-four-iperf3.json"))[2]
    assert not isinstance(test, str)
    assert (test.cc, test.streams, test.resent, test.reverse) == ("bbr", 4, 3880, False)


def test_a_download_tells_what_its_sender_knows() -> None:
    test = iperf3.read(report_of(REAL / "vsat-iperf3.json"))[2]
    assert not isinstance(test, str)
    assert (test.cc, test.streams, test.resent, test.reverse) == ("bbr", 1, 3866, True)
    assert test.intervals is None and test.by_receiver
    upload = iperf3.read(report_of(REAL / "vsat-upload-iperf3.json"))[2]
    assert not isinstance(upload, str) and upload.intervals is not None
    intervals = upload.intervals
    assert (intervals.width_s, len(intervals.rtts_s)) == (pytest.approx(1, abs=0.01), len(intervals.resent))
    assert max(intervals.rtts_s) == pytest.approx(1.014158)
    assert sum(intervals.resent) == upload.resent


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"end": {"sender_tcp_congestion": "dragonfly"}}, "'dragonfly' is not known here"),
        ({"end": {"sender_tcp_congestion": None}}, "does not name the algorithm"),
        ({"start": {"test_start": {"target_bitrate": 10**6}}}, "its rate was limited"),
    ],
)
def test_a_transfer_that_cannot_be_simulated_leaves_the_ranges(
    change: dict[str, Any], why: str, tmp_path: Path
) -> None:
    report = json.loads((REAL / "clean-iperf3.json").read_text())
    for part, values in change.items():
        for key, value in values.items():
            report[part][key] = {**report[part][key], **value} if isinstance(value, dict) else value
    place = tmp_path / "test.json"
    place.write_text(json.dumps(report))
    found = estimate([place])
    left = found.possible({})
    assert left.weighed is None
    rate = found.of("rate_bps")
    assert rate is not None
    assert rate.low - 1 <= ends(left, "rate")[0] <= ends(left, "rate")[1] <= rate.high + 1
    assert any(why in line and "test.json" in line for line in found.notes(left, {}))


def test_both_directions_at_once_and_text_are_not_simulated(tmp_path: Path) -> None:
    assert iperf3.read(report_of(REAL / "vsat-bidir-iperf3.json"))[2] == "it went in both directions at once"
    place = tmp_path / "iperf3.txt"
    place.write_text("[  5]   0.00-1.00   sec  1.00 MBytes  8.39 Mbits/sec    0    100 KBytes\n")
    assert "--json" in str(iperf3.read(report_of(place))[2])


def test_a_transfer_of_the_other_direction_is_named_with_the_cure(download: Possible) -> None:
    found = estimate([REAL / "vsat-iperf3.json", REAL / "vsat-upload-iperf3.json", REAL / "vsat-ping.log"])
    (said,) = [one for one in found.notes(download, {}) if "the other way" in one]
    counted = next(one for one in found.all if one.name == "rate_bps" and one is found.of("rate_bps")).source
    (other,) = {"vsat-iperf3.json", "vsat-upload-iperf3.json"} - {counted.name}
    assert said.startswith(f"The test in {other} was not simulated: it went the other way")
    assert counted.name in said and "-R" in said
    alone = estimate([REAL / "vsat-iperf3.json", REAL / "vsat-ping.log"])
    assert alone.left_out() == []


def test_two_transfers_together_tell_what_neither_tells_alone() -> None:
    """At 1 % of losses CUBIC has 0.5 of 20 Mbit/s: it says nothing of the rate, and BBR little of losses."""
    names = ["geo-quic-ping.log", "geo-quic-cubic-iperf3.json", "geo-quic-bbr-iperf3.json"]
    both = possible(names, effort=1 / 6)
    one = shared("geo-quic-ping.log", "geo-quic-cubic-iperf3.json")
    assert both.weighed is not None and one.weighed is not None
    assert [test.cc for test in both.weighed.tests] == ["cubic", "bbr"]
    low, high = ends(both, "rate")
    assert 0.7 * 20e6 < low < 20e6 < high < 1.4 * 20e6
    assert ends(one, "rate")[0] < 0.5 * 20e6
    low, high = ends(both, "loss")
    assert 0.001 < low < 0.01 * 1.5 and 0.01 / 1.5 < high < 0.03


@pytest.mark.parametrize(
    ("names", "word"),
    [
        (["geo-quic-ping.log", "geo-quic-cubic-iperf3.json"], "iperf3 -C bbr"),
        (["vsat-ping.log", "vsat-iperf3.json"], "iperf3 -C cubic"),
    ],
)
def test_with_one_transfer_the_other_kind_is_asked_for(names: list[str], word: str) -> None:
    found = shared(*names)
    (line,) = [
        line
        for line in estimate([REAL / name for name in names]).notes(found, {})
        if line.startswith("One more measurement would narrow most")
    ]
    assert word in line


def test_a_hopeless_link_is_not_simulated_with_the_other_transfer_and_work_is_counted() -> None:
    tests = [iperf3.read(report_of(REAL / f"geo-quic-{cc}-iperf3.json"))[2] for cc in ("cubic", "bbr")]
    assert not any(isinstance(test, str) for test in tests)

    def link(rate: str, delay_s: float, per: float) -> Played:
        return Played(rate, delay_s, "1 bdp", [bp.PacketError(per)], 1.0, 1)

    good, bad = link("20 Mbit/s", 0.6, 0.01), link("2 Mbit/s", 0.3, 0.1)

    def fitted(*links: Played) -> tuple[np.ndarray[Any, np.dtype[np.float64]], float]:
        fit = Fitting(tests, 0, 0.6, 1e9)  # type: ignore[arg-type]
        return fit(links, lambda done: None), fit.worked

    both, work = fitted(good, bad)
    alone, of_good = fitted(good)
    assert both[0] == alone[0] > -10 and both[1] < alone[0] - 10
    assert fitted(good, bad)[1] == work
    # Of the bad one there are a run by CUBIC, which loses a tenth, and nothing by BBR: 60 s of 2 Mbit/s.
    assert RUN < work - of_good < RUN + 5000
    assert of_good > 2 * RUN + 60 * 12e6 / 12_000


def test_a_transfer_that_no_link_explains_is_not_used(tmp_path: Path) -> None:
    report = json.loads((REAL / "vsat-upload-iperf3.json").read_text())
    for stream in report["end"]["streams"]:  # a round trip that fell to a fifth meanwhile
        stream["sender"] |= {"min_rtt": 100_000, "mean_rtt": 500_000, "max_rtt": 9_000_000}
    place = tmp_path / "test.json"
    place.write_text(json.dumps(report))
    found = estimate([place, REAL / "vsat-short-ping.log"])
    left = found.possible({}, 1, QUICK)
    assert left.weighed is not None and left.weighed.widened is None
    assert any(line.startswith("No link in these ranges explains") for line in found.notes(left, {}))


def test_the_same_seed_gives_the_same_links_and_another_one_others() -> None:
    files = ["vsat-ping.log", "vsat-iperf3.json"]
    first, again, other = (possible(files, seed=seed, effort=REPEATED).draws for seed in (1, 1, 2))
    assert again == first != other


def test_what_the_user_says_goes_before() -> None:
    given = {"per": Span("per", 1e-3, 1e-3, ""), "buffer": Span("buffer", 1.0, 1.0, "bdp"), **RATE}
    found = possible(["vsat-ping.log", "vsat-iperf3.json"], given)
    assert {one.buffer for one in found.draws} == {"1 bdp"}
    assert {one.rate_bps for one in found.draws} == {50e6}
    assert {one.losses for one in found.draws} == {(bp.PacketError(1e-3),)}


def test_the_first_runs_are_spread_over_all_losses() -> None:
    found = shared("vsat-short-ping.log", rate=True)
    ranks = np.argsort(np.argsort([one.loss for one in found.draws], kind="stable"))
    assert abs(int(ranks[0]) - len(ranks) // 2) <= 1
    quarter = len(ranks) // 4
    for first in range(0, 12, 4):
        assert len({int(rank) // quarter for rank in ranks[first : first + 4]}) >= 3


def test_typical_is_of_the_likeliest_kind_and_the_simplest_where_nothing_tells(download: Possible) -> None:
    likeliest = max(download.hypotheses, key=lambda one: download.hypotheses[one])
    assert typical(download).hypothesis == likeliest.name != "independent"
    assert typical(shared("vsat-short-ping.log", rate=True)).hypothesis == "independent"


@pytest.mark.slow
@pytest.mark.parametrize("probes", form([300], [300, 0]))
def test_a_simulated_truth_is_in_most_ranges(probes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "tools")
    import measured_truth as truth

    known = truth.Known("GEO", 10e6, 0.5, 600e3, bp.PacketError(1e-3), 1e-3, "bbr", "20 s")
    held = [truth.within(known, truth.left(known, seed, probes, QUICK)) for seed in (1, 2, 3)]
    assert sum(sum(one.values()) for one in held) >= 10
    for name in ("rate", "round trip"):
        assert sum(one[name] for one in held) >= 2


def every(chain: hypotheses.LossChain, count: int) -> dict[tuple[bool, ...], float]:
    """The probability of each sequence of losses, summed over all sequences of states."""
    stay = np.array([[1 - chain.begins[0], chain.begins[0]], [chain.ends[0], 1 - chain.ends[0]]])
    start = np.array([1 - chain.in_bad[0], chain.in_bad[0]])
    loses = np.array([chain.good[0], chain.bad[0]])
    found = {}
    for lost in itertools.product([False, True], repeat=count):
        total = 0.0
        for states in itertools.product([0, 1], repeat=count):
            chance = start[states[0]]
            for i, state in enumerate(states):
                chance *= loses[state] if lost[i] else 1 - loses[state]
                chance *= stay[state, states[i + 1]] if i + 1 < count else 1.0
            total += chance
        found[lost] = total
    return found


@pytest.mark.parametrize(
    ("one", "of"),
    [
        (INDEPENDENT, {"per": 0.2}),
        (BURSTS, {"begins": 0.1, "length": 3.0, "inside": 0.7, "beside": 0.05}),
        (FADES, {"between_s": 2.0, "length_s": 0.7, "inside": 0.9, "beside": 0.01}),
    ],
    ids=["independent", "bursts", "fades"],
)
def test_the_likelihood_is_that_of_all_ways_together(
    one: hypotheses.Hypothesis, of: dict[str, float]
) -> None:
    arrays = {name: np.array([value]) for name, value in of.items()}
    sent_s = 0.2 * np.arange(5)
    exact = every(one.chain(arrays, 0.2), 5)
    assert sum(exact.values()) == pytest.approx(1)
    for lost, chance in exact.items():
        seen = Watched(np.array(lost), sent_s, Path("x"))
        found = hypotheses.log_likelihood(one, arrays, [seen], [])
        assert np.exp(found[0]) == pytest.approx(chance, rel=1e-6)


@pytest.mark.parametrize("own", [0.0, 0.004])
def test_losses_at_a_short_queue_are_those_of_the_link(own: float) -> None:
    """Others fill a queue of 100 ms every 4 s; it then drops probes, 1 % of all. The link loses a share."""
    random = np.random.default_rng(7)
    at = np.arange(30_000) * 0.01
    filled = (at % 4.0) / 4.0
    dropped = (filled > 0.98) & (random.random(len(at)) < 0.5)
    lost = dropped | (random.random(len(at)) < own)
    assert dropped.mean() == pytest.approx(0.01, rel=0.1)
    seen = Watched(lost, at, Path("ping.log"), np.where(lost, np.nan, 0.3 + 0.1 * (0.1 + 0.9 * filled)))
    shares = np.geomspace(1e-6, 0.1, 400)
    for one, of in ((INDEPENDENT, {"per": shares}), (FADES, _fades(shares))):
        log = hypotheses.log_likelihood(one, of, (), seen.bounds())
        fits = shares[log > log.max() - 5]
        assert fits.min() < max(own, 1e-5) < fits.max() < (0.01 if one is INDEPENDENT else 0.015)
        assert own == 0 or fits.min() > own / (10 if one is INDEPENDENT else 100)
    unseen = dataclasses.replace(seen, rtt_s=None).bounds()
    fits = shares[hypotheses.log_likelihood(INDEPENDENT, {"per": shares}, (), unseen) > -5]
    assert fits.min() < 2e-6 and fits.max() > 0.01


def _fades(shares: np.ndarray) -> dict[str, np.ndarray]:
    """Fades of 0.1 s that lose everything, this share of the time."""
    one = np.ones_like(shares)
    return {"between_s": 0.1 / shares, "length_s": 0.1 * one, "inside": one, "beside": 1e-3 * one}


def test_fades_are_played_with_their_share_of_losses() -> None:
    of = {"between_s": 9.0, "length_s": 1.0, "inside": 0.5, "beside": 1e-7}
    models = FADES.models(of, 0.3)
    link = bp.Link(rate="10 Mbit/s", delay="10 ms", loss=models)
    probes = bp.Flow(path=["link"], traffic=bp.Cbr("1 Mbit/s"))
    run = bp.run(bp.Scenario(links={"link": link}, flows=[probes], duration="100 s", seed=1)).json
    assert run["flows"][0]["dropped_packets"] / run["flows"][0]["sent_packets"] == pytest.approx(
        0.05, rel=0.1
    )


def test_populations_find_a_law_that_is_known() -> None:
    random = np.random.default_rng(7)

    def fit(points: Points) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.where(points.kind == 1, np.log(3.0), 0.0) - 0.5 * ((points.at[:, 0] - 0.7) / 0.02) ** 2

    first: PointSource = uniform(2, 2, random)
    found = populate(first, first.log_density, fit, [1, 1], [400, 400, 400], random)
    weights = found.weights()
    assert effective(weights) > 200
    assert weights[found.points.kind == 1].sum() == pytest.approx(0.75, abs=0.06)
    mean = (weights * found.points.at[:, 0]).sum()
    assert mean == pytest.approx(0.7, abs=0.004)
    assert np.sqrt((weights * (found.points.at[:, 0] - mean) ** 2).sum()) == pytest.approx(0.02, rel=0.15)
    assert len(systematic(weights, 64, random)) == 64


@pytest.mark.parametrize(("budget", "patience"), [("6 s", 1000.0), ("24 s", 0.0)], ids=["calm", "busy"])
def test_the_command_of_an_answer_gives_the_same_links_however_busy_the_machine_was(
    budget: str, patience: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draws, "PACKETS", REPEATED * draws.PACKETS)
    files = [REAL / "clean-iperf3.json", REAL / "clean-ping.log"]
    monkeypatch.setattr(schedule, "PATIENCE", patience)
    answer = bp.advise(measured=files, cc=["vegas"], duration="2 s", budget=budget)
    monkeypatch.setattr(schedule, "PATIENCE", 1000.0)
    words = shlex.split(answer.command)
    given = {name: words[words.index(f"--{name}") + 1] for name in ("plan", "budget")}
    again = bp.advise(measured=files, cc=["vegas"], duration="2 s", **given)  # type: ignore[arg-type]
    assert again.question.draws == answer.question.draws
    repeats_s = seconds(given["budget"], "budget")
    assert repeats_s == seconds(budget, "budget") if patience else 0 < repeats_s < 24


def test_a_measured_answer_repeats_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draws, "PACKETS", REPEATED * draws.PACKETS)
    files = [REAL / "clean-iperf3.json", REAL / "clean-ping.log"]
    answers = [bp.advise(measured=files, cc=["vegas"], plan="3x2x5s", budget="3 s") for _ in range(2)]
    assert answers[0].to_dict() == answers[1].to_dict()
    assert "--budget '3 s'" in answers[0].command
    assert "a measured link" in answers[0].question.title

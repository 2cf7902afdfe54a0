"""The experiments with measured Starlink and with its model, on made-up files of the measurement's form."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.experiments.rows import Rows
from bentpipe.experiments.starlink import capacity, experiment, model, statistics
from bentpipe.experiments.starlink import measured as data
from bentpipe.experiments.starlink.experiment import by_setting, transfers
from bentpipe.timeline.drawn import PROFILES

NOON = 1_716_825_600
STAMP = "[2024-05-27 12:00:00.000000]"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def udp(begin_s: int, rates: list[float]) -> str:
    rows = [
        f"{STAMP} [  5] {i / 2:6.2f}-{i / 2 + 0.5:.2f}  sec  1.0 MBytes  {rate:g} Mbits/sec  0.017 ms  8/21"
        for i, rate in enumerate(rates)
    ]
    head = (
        f"Start time: {begin_s * 1000}\n{STAMP} [ ID] Interval Transfer Bitrate Jitter Lost/Total Datagrams"
    )
    end = f"{STAMP} [  5]   0.00-120.00 sec  4.4 GBytes   9 Mbits/sec  0.035 ms  1/2 (37%)  receiver"
    return "\n".join([head, *rows, end, f"End time: {begin_s * 1000 + 120_000}"]) + "\n"


def tcp(begin_s: int, rates: list[float], again: int) -> str:
    """A report of a receiving client with the server's summary; its buffer of 2 MB is 8 s of 2 Mbit/s."""
    rows = [
        f"{STAMP}   1.0 MB /   0.50 sec = {rate:g} Mbps   {again if i == 0 else 0} retrans   13 KB-cwnd"
        for i, rate in enumerate(rates)
    ]
    end = [f"{STAMP} nuttcp-t: send window size = 2000000", f"{STAMP} nuttcp-t: retrans = {again}"]
    return "\n".join([f"Start time: {begin_s * 1000}", *rows, *end]) + "\n"


def ping(rtt_ms: float) -> str:
    return "".join(
        f"[2024-05-27 12:00:{i:02}.000000] 46 bytes from h: icmp_seq={i + 1} ttl=58 time={rtt_ms + i:g} ms\n"
        for i in range(60)
    )


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """Two UDP tests of 4 Mbit/s, a TCP test of 2 Mbit/s between them, and a run that was refused."""
    kinds = {
        "1": udp(NOON, [4.0] * 240),
        "2": tcp(NOON + 400, [1.0, 3.0] * 120, 213),
        "3": udp(NOON + 800, [4.0] * 240),
    }
    for name, text in kinds.items():
        run = tmp_path / data.PLACE / data.DAY / name
        run.mkdir(parents=True)
        (run / f"{'tcp' if name == '2' else 'udp'}_downlink_{name}.out").write_text(text)
        (run / f"ping_{name}.out").write_text(ping(40.0))
    refused = tmp_path / data.PLACE / data.DAY / "0"
    refused.mkdir()
    (refused / "tcp_downlink_0.out").write_text("Start time: 5\nEnd time: 6\n")
    return tmp_path


def test_a_measured_transfer_is_a_share_of_the_capacity_on_both_sides(measured):
    capacities, tests, skipped = data.measured(measured)
    assert [(c.begin_s, c.mean_bps, c.rtt_s) for c in capacities] == [
        (NOON, 4e6, pytest.approx(0.04)), (NOON + 800, 4e6, pytest.approx(0.04)),
    ]  # fmt: skip
    assert len(tests) == 1 and len(skipped) == 1 and "./0/tcp_downlink_0.out" in skipped[0]
    found = transfers(measured, data.DAY, "downlink")
    assert found.share == pytest.approx([0.5])
    assert np.percentile(found.slots, [25, 75]) == pytest.approx([0.25, 0.75])
    # 2 Mbit/s over 120 s are 21,306.8 segments of 1408 bytes.
    assert found.again["settled"] == pytest.approx([213 / 21306.8], rel=1e-4)
    assert found.idle == 0.0


def test_a_transfer_without_a_capacity_near_is_left_out(measured):
    capacities, _, _ = data.measured(measured)
    assert data.near(capacities, NOON + 400) == 4e6
    assert data.near(capacities, NOON + 800 + 15 * 60 + 1) is None


def test_the_page_gets_distributions_and_no_measurement(measured, tmp_path, monkeypatch, cli):
    """CUBIC alone fills a steady 4 Mbit/s: 1408 of each 1460 bytes, at 1428/1400 of that rate."""
    chosen = [variant for variant in capacity.VARIANTS if variant.name in ("bbr-bare", "cubic-bare")]
    monkeypatch.setattr(capacity, "VARIANTS", chosen)
    monkeypatch.setattr(
        capacity, "SHOWN", {"measured": ("black", "-", 1.0), "cubic-bare": ("blue", "-", 1.0)}
    )
    out = tmp_path / "docs"
    command = ["study", "run", "starlink", "--data", str(measured), "--out", str(out), "--json"]
    done = cli(*command, "--full")
    table, page = (out / "validation" / "starlink.csv"), out / "starlink.md"
    assert json.loads(done.stdout)["studies"] == [{"name": "starlink", "files": [str(table), str(page)]}]
    lines = table.read_text().splitlines()
    names = [line.split(",")[0] for line in lines]
    assert names == ["transfers", "measured", "reported", "bbr-bare", "cubic-bare"]
    row = dict(zip(lines[0].split(","), lines[4].split(","), strict=True))
    assert float(row["goodput_p50"]) == pytest.approx(1428 / 1400 * 1408 / 1460, abs=0.03)
    text = page.read_text()
    assert "2 UDP tests and 1 TCP tests were read, 1 runs were not." in text
    assert (out / "starlink.svg").read_bytes().startswith(b"<?xml")
    page.write_text("# Head\n\n" + text + "\nTail\n")
    assert cli(*command, "--full").exit_code == 0
    assert page.read_text() == "# Head\n\n" + text + "\nTail\n"
    page.unlink()
    assert cli(*command).exit_code == 0
    assert (out / "starlink.csv").read_text().splitlines() == lines  # two capacities are all
    assert not page.exists()


def test_the_rate_changes_with_the_capacity(measured, tmp_path):
    """A path that is dark for the second minute delivers at most half."""
    (whole_rate, _), _, _ = data.measured(measured)
    file = measured / data.PLACE / data.DAY / "1" / "udp_downlink_1.out"
    file.write_text(udp(NOON, [4.0] * 120 + [0.0] * 120))
    (half, _), _, _ = data.measured(measured)
    runs = [
        capacity.scenario(c, capacity.VARIANTS[0], tmp_path / f"{i}.csv", seed=1)
        for i, c in enumerate((whole_rate, half))
    ]
    whole, part = (bp.run(run).flows["delivered_bytes"][0] for run in runs)
    assert part == pytest.approx(whole / 2, rel=0.03)


def test_what_is_sent_in_an_outage_of_the_dish_is_lost(measured, tmp_path):
    """30 s of 120 s are dark: a quarter is lost, and what BBR needs to come back."""
    place = measured / data.DISH / data.DAY / "4"
    place.mkdir(parents=True)
    began = (NOON + 60 - 315_964_800 + 18) * 10**9
    outage = f'{{"cause": "NO_DOWNLINK", "startTimestampNs": "{began}", "durationNs": "30000000000"}}'
    (place / "dish_history.out").write_text(
        f'Start time: 1\n{{"dishGetHistory": {{"outages": [{outage}]}}}}\n'
    )
    (dark, other), _, _ = data.measured(measured)
    assert dark.outages.rows() == [(0, 0), (60, 1), (90, 0), (120, 0)]
    assert other.outages.rows() == [(0, 0), (120, 0)]
    variant = replace(capacity.VARIANTS[0], outages=True)
    whole, part = (
        bp.run(capacity.scenario(one, variant, tmp_path / f"{i}.csv", seed=1)).flows["delivered_bytes"][0]
        for i, one in enumerate((other, dark))
    )
    assert 0.6 < part / whole < 0.75


def test_a_window_that_falls_without_a_loss_is_a_sign(tmp_path):
    place = tmp_path / "1"
    place.mkdir()
    rows = [(0, 13), (0, 27), (5, 13), (0, 12), (0, 5), (0, 12)]
    text = "".join(f"1 MB / 0.50 sec = 8 Mbps {again} retrans {kb} KB-cwnd\n" for again, kb in rows)
    (place / "tcp_downlink_1.out").write_text(text)
    (place / "tcp_downlink_2.out").write_text("refused\n")
    assert data._signs(tmp_path, "tcp_downlink") == data.Signs(1, falls=2, rises=2, least=1, below=0)


def test_the_statistics_of_drawn_tests_are_the_constants_they_are_drawn_with() -> None:
    made = statistics.drawn(60)
    tests = statistics.split(made)
    known = PROFILES["car-2024"]
    constants = {
        "levels: standard deviation over mean": known.level_cv,
        "half seconds in a period: standard deviation over mean, median": known.course_cv,
        "the same: standard deviation of its logarithm": known.course_spread,
    }
    for name, constant in constants.items():
        value, low, high = statistics.interval(tests, statistics.STATISTICS[name])
        assert low < value < high and value == pytest.approx(constant.value, rel=0.15), name
    every = statistics.LENGTHS["time between outages, s"](made.windows)
    assert known.outage_every_s.low < every < known.outage_every_s.high


def test_the_capacity_of_a_day_leaves_out_what_an_outage_touches(measured) -> None:
    begin_ns = (NOON + 10 - 315_964_800 + 18) * 10**9
    place = measured / data.DISH / data.DAY / "1"
    place.mkdir(parents=True)
    (place / "dish_history.out").write_text(
        '{"dishGetHistory": {"outages": [{"cause": "NO_PINGS", '
        f'"startTimestampNs": "{begin_ns}", "durationNs": "1000000000"}}]}}}}'
    )
    day = statistics.of_day(measured, data.DAY)
    assert [len(slots) for slots in day.slots] == [240, 240]
    # Half seconds whose middle is within 0.75 s of the outage from 10 to 11 s.
    assert np.flatnonzero(~day.clear[0]).tolist() == [19, 20, 21, 22] and day.clear[1].all()
    assert [list(lengths) for lengths in day.windows] == [[1.0], [], []]


def test_measured_transfers_have_the_capacity_of_their_neighbours(measured) -> None:
    seen = transfers(measured, data.DAY, "downlink")
    assert seen.capacity_bps == [4e6] and seen.share == pytest.approx([0.5])
    assert seen.pooled(25) == pytest.approx(1.0) and seen.idle == 0
    # 213 retransmissions, all in the first of 24 times of 5 s, and nothing was delivered before them.
    assert seen.quiet == {"reported": pytest.approx(23 / 24), "settled": pytest.approx(23 / 24)}
    assert seen.again["settled"] == pytest.approx([213 / 21306.8], rel=1e-4)


def simulated(setting: model.SenderSetting) -> experiment.Tests:
    """Two runs of a setting."""
    rows = [
        model.Validation(Path()).measure(case, bp.run(bp.Scenario.from_dict(case.scenario)))
        for case in setting.cases(range(1, 3))
    ]
    return by_setting(Rows(rows))[()]


def test_simulated_tests_are_shares_of_what_udp_would_get() -> None:
    slow = model.SenderSetting("bbr", "S", loss=1e-4, rate=5e6, length_s=30.0)
    found = simulated(slow)
    assert all(0.3 < share < 0.66 for share in found.share)  # of 65 % of the rate
    scenario = slow.scenario(2)
    assert scenario.links["starlink"].queue.limit == "2.5 bdp"
    result = bp.run(scenario)
    assert found.slots_bps[1].mean() == pytest.approx(result.flows["goodput_bps"][0], rel=0.02)
    window = simulated(model.SenderSetting("bbr", "D", window="10 kB", rate=5e6, length_s=30.0))
    assert window.pooled(50) < found.pooled(50)


def test_each_mark_fails_alone() -> None:
    both = {"reported": [0.01] * 3, "settled": [0.01] * 3}
    quiet = {"reported": 0.5, "settled": 0.5}
    seen = experiment.Tests([1e6] * 3, [np.full(240, 5e5)] * 3, both, quiet)
    assert model._fails(seen, seen) == "none" and model._fails_up(seen, seen) == "none"
    wrong = {
        "a": {"capacity_bps": [8e5] * 3},
        "b": {"again": dict.fromkeys(both, [0.016] * 3)},
        "b (settled)": {"again": {**both, "settled": [0.016] * 3}},
        "c": {"capacity_bps": [1.2e6] * 3, "slots_bps": [np.full(240, 6e5)] * 3},
        "d": {"slots_bps": [np.where(np.arange(240) < 6, 0.0, 5e5)] * 3},
        "e": {"quiet": dict.fromkeys(quiet, 0.3)},
        "e (reported)": {"quiet": {**quiet, "reported": 0.3}},
    }
    for mark, change in wrong.items():
        assert model._fails(replace(seen, **change), seen) == mark
    fewer = replace(seen, again=dict.fromkeys(both, [0.006] * 3))
    assert model._fails_up(fewer, seen) == "f: sent again"
    assert model._fails_up(replace(seen, slots_bps=[np.full(240, 6e5)] * 3), seen) == "f: goodput"


def test_a_count_passes_through_the_buffer_of_the_sender() -> None:
    """100 bytes a second and a buffer of 900: filled again at 3, 6, ... s, read from 9, 12, ... s on."""
    ends = np.arange(1.0, 21.0)
    late = data.through_buffer(np.array([1.5, 4.5, 4.6, 19.0]), ends, 100 * ends, 900.0)
    assert {int(end): count for end, count in zip(ends, late, strict=True) if count} == {9: 1, 12: 2}


def test_a_simulated_sender_is_counted_as_the_measured_one(monkeypatch) -> None:
    """The count of a run with a buffer that is never full is prompt, and one behind a buffer comes later."""
    scenario = bp.Scenario.load(
        "geo", {"duration": "60 s", "record.interval": "500 ms", "record.segments": True}
    )
    result = bp.run(scenario)
    again = result.flows["retransmitted_packets"][0]
    prompt = data.of_result(result, late=False)
    assert prompt.reported.sum() == again > 0 and (prompt.settled == prompt.reported).all()
    assert sum(prompt.windows("reported")) == again
    monkeypatch.setattr(data, "BUFFER_BYTES", 3e6)
    late = data.of_result(result, late=True)
    first = [int(np.flatnonzero(one)[0]) for one in (prompt.reported, late.reported)]
    assert first[0] < first[1] and late.reported.sum() <= again
    known = ~np.isnan(late.settled)
    # Whole lumps: what was written for a third of the buffer is spread over it.
    assert late.settled[known].sum() == pytest.approx(prompt.reported[known].sum(), abs=0.1 * again)
    assert np.isnan(late.settled[-1]) and len(late.windows("settled")) < len(late.windows("reported"))


def test_both_directions_at_once_are_those_of_the_preset(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(model, "LENGTH_S", 5.0)
    monkeypatch.setattr(model, "SENDERS", {"CUBIC": "cubic"})
    (tmp_path / "throughput.csv").write_text(
        "download,upload\n" + "".join(f"{i},{2 * i}\n" for i in range(1, 12))
    )
    tables = model.Both(tmp_path, quick=True, data=tmp_path).run()
    assert tables == [tmp_path / "starlink_both.csv", tmp_path / "starlink_both_seconds.csv"]
    rows = tables[0].read_text().splitlines()
    assert len(rows) == 5 and rows[1].startswith('CUBIC,"D, few"')
    seconds = tables[1].read_text()
    assert '"Autobahn, April 2024","2, 4, 6, 8, 10","4.0, 7.0, 12.0, 17.0, 20.0",1.00' in seconds


def test_the_race_has_every_end_for_each_algorithm(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(model, "LENGTH_S", 5.0)
    monkeypatch.setattr(model, "RACED", {"BBR": "bbr"})
    (table,) = model.StarlinkRace(tmp_path, quick=True).run()
    heads, row = table.read_text().splitlines()
    assert heads.startswith('algorithm,"D, 6e-6",') and heads.endswith('"sent again, D, 2e-5",uplink')
    assert row.startswith("BBR,") and len(row.split(",")) == 9


def test_the_model_is_validated_day_by_day(measured, tmp_path, monkeypatch) -> None:
    """One day alone; TCP's uplink is its downlink. The link is slow, so that the sender's buffer is left."""
    monkeypatch.setattr(data, "DAYS", (data.DAY,))
    monkeypatch.setattr(statistics, "MODEL_TESTS", 5)
    monkeypatch.setattr(statistics, "BOOTSTRAP", 5)
    monkeypatch.setattr(data, "BUFFER_BYTES", 2e6)
    for name, more in (("1", 0.0), ("3", 0.1)):  # periods of 3, 4 and 5 Mbit/s that vary by 10 to 50 %
        rates = [
            (4 + i // 30 % 3 - 1) * (1 + more + (-1) ** (i // 2) * (0.1 + 0.1 * (i // 30 % 5)))
            for i in range(240)
        ]
        file = measured / data.PLACE / data.DAY / name / f"udp_downlink_{name}.out"
        file.write_text(udp(NOON + 400 * (int(name) - 1), rates))
    run = measured / data.PLACE / data.DAY / "2"
    (run / "tcp_uplink_2.out").write_text((run / "tcp_downlink_2.out").read_text())
    dark = measured / data.DISH / data.DAY / "4"
    dark.mkdir(parents=True)
    began = [(NOON + at - 315_964_800 + 18) * 10**9 for at in (30, 60, 430)]
    outages = [
        f'{{"cause": "NO_PINGS", "startTimestampNs": "{at}", "durationNs": "{10**9 + i}"}}'
        for i, at in enumerate(began)
    ]
    (dark / "dish_history.out").write_text(f'{{"dishGetHistory": {{"outages": [{", ".join(outages)}]}}}}')
    validated, fitted = model.Validation(tmp_path / "out", quick=True, data=measured).run()
    rows = validated.read_text().splitlines()
    assert [row.split(",")[1].strip('"') for row in rows[1:]] == [
        "measured downlink", "BBR", "BBR", "measured uplink", "CUBIC with HyStart",
    ]  # fmt: skip
    # 2 Mbit/s over 4.07: periods of 3, 4, 5, 3, 4, 5, 3 and 4 Mbit/s, of the second test a tenth more.
    assert rows[1].startswith('27 May,measured downlink,"49, 49, 49",') and "\U0001f534" in rows[2]

    assert fitted.read_text().startswith(',27 May,model\n"level: median, Mbit/s",')


def test_a_table_is_a_csv_file_and_a_part_of_the_page(tmp_path, monkeypatch) -> None:
    page = tmp_path / "starlink.md"
    page.write_text("<!-- starlink_race -->\nold\n<!-- end starlink_race -->\nrest\n")
    table = ("starlink_race", [["algorithm", "D, 6e-6"], ["BBR", "84"]], "")
    monkeypatch.setattr(model.StarlinkRace, "parts", lambda *_: [table])
    model.StarlinkRace(tmp_path).finish(Rows())
    text = page.read_text()
    assert "| BBR | 84 |" in text and "old" not in text and text.endswith("rest\n")
    assert (tmp_path / "validation" / "starlink_race.csv").read_text() == 'algorithm,"D, 6e-6"\nBBR,84\n'


def test_the_race_names_algorithms_that_there_are() -> None:
    for cc in model.RACED.values():
        model.SenderSetting(cc, "D").scenario(1).check()

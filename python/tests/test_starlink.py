"""The comparison with measured Starlink (scripts/starlink.py), on made-up files of the same form."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import bentpipe as bp

ROOT = Path(__file__).parents[2]
NOON = 1_716_825_600
STAMP = "[2024-05-27 12:00:00.000000]"


@pytest.fixture
def starlink(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("starlink")


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
    rows = [
        f"{STAMP}   1.0 MB /   0.50 sec = {rate:g} Mbps   {again if i == 0 else 0} retrans   13 KB-cwnd"
        for i, rate in enumerate(rates)
    ]
    return "\n".join([f"Start time: {begin_s * 1000}", *rows]) + "\n"


def ping(rtt_ms: float) -> str:
    return "".join(
        f"[2024-05-27 12:00:{i:02}.000000] 46 bytes from h: icmp_seq={i + 1} ttl=58 time={rtt_ms + i:g} ms\n"
        for i in range(30)
    )


@pytest.fixture
def measured(starlink: ModuleType, tmp_path: Path) -> Path:
    """Two UDP tests of 4 Mbit/s, a TCP test of 2 Mbit/s between them, and a run that was refused."""
    kinds = {
        "1": udp(NOON, [4.0] * 240),
        "2": tcp(NOON + 400, [1.0, 3.0] * 120, 213),
        "3": udp(NOON + 800, [4.0] * 240),
    }
    for name, text in kinds.items():
        run = tmp_path / starlink.PLACE / starlink.DAY / name
        run.mkdir(parents=True)
        (run / f"{'tcp' if name == '2' else 'udp'}_downlink_{name}.out").write_text(text)
        (run / f"ping_{name}.out").write_text(ping(40.0))
    refused = tmp_path / starlink.PLACE / starlink.DAY / "0"
    refused.mkdir()
    (refused / "tcp_downlink_0.out").write_text("Start time: 5\nEnd time: 6\n")
    return tmp_path


def test_a_measured_transfer_is_a_share_of_the_capacity_on_both_sides(starlink, measured):
    capacities, transfers, skipped = starlink.measured(measured)
    assert [(c.begin_s, c.mean_bps, c.rtt_s) for c in capacities] == [
        (NOON, 4e6, pytest.approx(0.04)), (NOON + 800, 4e6, pytest.approx(0.04)),
    ]  # fmt: skip
    assert len(transfers) == 1 and len(skipped) == 1 and "./0/tcp_downlink_0.out" in skipped[0]
    found = starlink.distribution(transfers, lambda at: starlink.near(capacities, at))
    assert found.whole == pytest.approx([0.5])
    assert np.percentile(found.slots, [25, 75]) == pytest.approx([0.25, 0.75])
    # 2 Mbit/s over 120 s are 21,306.8 segments of 1408 bytes.
    assert found.again == pytest.approx([213 / 21306.8], rel=1e-4)
    assert found.idle == 0.0


def test_a_transfer_without_a_capacity_near_is_left_out(starlink, measured):
    capacities, _, _ = starlink.measured(measured)
    assert starlink.near(capacities, NOON + 400) == 4e6
    assert starlink.near(capacities, NOON + 800 + 15 * 60 + 1) is None


def test_the_page_gets_distributions_and_no_measurement(starlink, measured, tmp_path, monkeypatch):
    """CUBIC alone fills a steady 4 Mbit/s: 1408 of each 1460 bytes, at 1428/1400 of that rate."""
    chosen = [variant for variant in starlink.VARIANTS if variant.name in ("bbr-bare", "cubic-bare")]
    monkeypatch.setattr(starlink, "VARIANTS", chosen)
    monkeypatch.setattr(
        starlink, "SHOWN", {"measured": ("black", "-", 1.0), "cubic-bare": ("blue", "-", 1.0)}
    )
    out = tmp_path / "docs"
    assert starlink.main([str(measured), "--out", str(out)]) == 0
    lines = (out / "validation" / "starlink.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "transfers",
        "measured",
        "bbr-bare",
        "cubic-bare",
    ]
    row = dict(zip(lines[0].split(","), lines[3].split(","), strict=True))
    assert float(row["goodput_p50"]) == pytest.approx(1428 / 1400 * 1408 / 1460, abs=0.03)
    page = (out / "starlink.md").read_text()
    assert "2 UDP tests and 1 TCP tests were read, 1 runs were not." in page
    assert (out / "starlink.svg").read_bytes().startswith(b"<?xml")
    again = out / "starlink.md"
    again.write_text("# Head\n\n" + page + "\nTail\n")
    assert starlink.main([str(measured), "--out", str(out)]) == 0
    assert again.read_text() == "# Head\n\n" + page + "\nTail\n"


def test_the_rate_changes_with_the_capacity(starlink, measured, tmp_path):
    """A path that is dark for the second minute delivers at most half."""
    (capacity, _), _, _ = starlink.measured(measured)
    file = measured / starlink.PLACE / starlink.DAY / "1" / "udp_downlink_1.out"
    file.write_text(udp(NOON, [4.0] * 120 + [0.0] * 120))
    (half, _), _, _ = starlink.measured(measured)
    runs = [
        starlink.scenario(c, starlink.VARIANTS[0], tmp_path / f"{i}.csv", seed=1)
        for i, c in enumerate((capacity, half))
    ]
    whole, part = (bp.run(run).flows["delivered_bytes"][0] for run in runs)
    assert part == pytest.approx(whole / 2, rel=0.03)


def test_what_is_sent_in_an_outage_of_the_dish_is_lost(starlink, measured, tmp_path):
    """30 s of 120 s are dark: a quarter is lost, and what BBR needs to come back."""
    place = measured / starlink.DISH / starlink.DAY / "4"
    place.mkdir(parents=True)
    began = (NOON + 60 - 315_964_800 + 18) * 10**9
    outage = f'{{"cause": "NO_DOWNLINK", "startTimestampNs": "{began}", "durationNs": "30000000000"}}'
    (place / "dish_history.out").write_text(
        f'Start time: 1\n{{"dishGetHistory": {{"outages": [{outage}]}}}}\n'
    )
    (capacity, other), _, _ = starlink.measured(measured)
    assert capacity.outages.rows() == [(0, 0), (60, 1), (90, 0), (120, 0)]
    assert other.outages.rows() == [(0, 0), (120, 0)]
    variant = replace(starlink.VARIANTS[0], outages=True)
    whole, part = (
        bp.run(starlink.scenario(one, variant, tmp_path / f"{i}.csv", seed=1)).flows["delivered_bytes"][0]
        for i, one in enumerate((other, capacity))
    )
    assert 0.6 < part / whole < 0.75


def test_a_window_that_falls_without_a_loss_is_a_sign(starlink, tmp_path):
    place = tmp_path / "1"
    place.mkdir()
    rows = [(0, 13), (0, 27), (5, 13), (0, 12), (0, 5), (0, 12)]
    text = "".join(f"1 MB / 0.50 sec = 8 Mbps {again} retrans {kb} KB-cwnd\n" for again, kb in rows)
    (place / "tcp_downlink_1.out").write_text(text)
    (place / "tcp_downlink_2.out").write_text("refused\n")
    assert starlink._signs(tmp_path, "tcp_downlink") == starlink.Signs(1, falls=2, rises=2, least=1, below=0)


def test_other_days_are_not_read(starlink, measured, capsys):
    assert starlink.main([str(measured / "nowhere")]) == 2
    assert "is no directory" in capsys.readouterr().err

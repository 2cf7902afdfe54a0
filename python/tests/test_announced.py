"""The studies that papers announce: what runs, and what is measured, by made-up runs."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from bentpipe.experiments.announced import hswa_links, simd_tfrc, star_http
from bentpipe.papers.spectrum.scenarios import BASE


def result(end: float, **rates: Any) -> Any:
    """A run of some flows, each with its goodput in Mbit/s at each tenth of a second."""
    t = np.arange(0, end, 0.1)
    frames, flows = [], []
    for name, rate in rates.items():
        delivered = np.cumsum(np.full(t.size, rate) if np.isscalar(rate) else rate(t)) * 0.1e6 / 8
        frames.append(pl.DataFrame({"t_s": t, "flow": [name] * t.size, "delivered_bytes": delivered}))
        flows.append({"name": name, "dropped_packets": 3, "sent_packets": 300})
    return SimpleNamespace(trace=pl.concat(frames), json={"simulated_s": end, "flows": flows})


@pytest.mark.parametrize("path", [*simd_tfrc.LOSSES, *simd_tfrc.LINKS, simd_tfrc.WAVE, simd_tfrc.PAIR])
def test_tfrc_takes_the_place_of_simd_and_of_nothing_else(path: str) -> None:
    simd, tfrc = (simd_tfrc.scenario(path, cc, 1) for cc in ("simd", "tfrc"))
    pairs = zip(simd["flow"], tfrc["flow"], strict=True)
    changed = {f["name"] for f, g in pairs if f.get("cc") != g.get("cc")}
    assert changed == {f["name"] for f in simd["flow"] if f.get("cc") == BASE.control("simd")}
    assert {f["cc"]["name"] for f in tfrc["flow"] if f["name"] in changed} == {"tfrc"}
    assert simd["link"] == tfrc["link"]


def test_the_time_to_take_free_room_and_the_losses() -> None:
    # 0.7 Mbit/s while the other traffic is on, 30 of 60 s; then 0.1 Mbit/s more each second, up to 1.4. Over
    # the last second the mean is 1.26 where the rate is 1.31: after 6.1 s.
    def rate(t: Any) -> Any:
        return np.where(t % 60 < 30, 0.7, np.minimum(0.7 + 0.1 * (t % 60 - 30), 1.4))

    got = simd_tfrc._wave(result(simd_tfrc.CYCLES * 60.0, x=rate))
    assert got["rise_s"] == pytest.approx(6.1, abs=0.15)
    assert got["lost"] == 1.0
    # Of the 30 s: 7 s at 1.05 and 23 at 1.4 of 1.5 Mbit/s, less half a second of the mean's delay.
    assert got["used"] == pytest.approx(100 * (7 * 1.05 + 23 * 1.4) / 30 / 1.5, abs=1)


def test_two_flows_are_fair_when_they_differ_by_an_eleventh_of_their_sum() -> None:
    # 1 and 4 Mbit/s at 400 s; each second 0.1 from one to the other. 0.4545 of 5 is reached after 12.7 s, and
    # the mean over two seconds a second later.
    def small(t: Any) -> Any:
        return np.clip(1 + 0.1 * (t - 400), 1, 2.5)

    got = simd_tfrc._pair(result(850.0, s1=small, s2=lambda t: 5 - small(t)))
    assert got["fair_s"] == pytest.approx(13.7, abs=0.2)
    assert simd_tfrc._pair(result(850.0, s1=1.0, s2=4.0))["fair_s"] == simd_tfrc.AFTER_S


def test_browsers_share_the_link_of_the_paper() -> None:
    made = star_http.scenario("today / many browsers / BER 1e-6", "reno", 1)
    (flow,) = made["flow"]
    assert (flow["count"], flow["recovery"], flow["traffic"]["objects"]) == (13, "newreno", 70)
    assert made["link"]["sat"]["rate"] == "10 Mbit/s"
    assert "loss" not in star_http.scenario("2004 / one browser / no errors", "star", 1)["link"]["sat"]


def test_the_way_back_is_slower_and_the_way_there_the_papers() -> None:
    made = hswa_links.scenario(hswa_links.way("LEO", "every second", 0.5), "hswa", 1)
    link = made["link"]["sat"]
    assert (link["rate"], link["reverse"]["rate"]) == ("100 Mbit/s", "0.5 Mbit/s")
    assert made["flow"][0]["delayed_ack"] is True


def test_the_modem_without_a_margin_loses_frames(tmp_path: Any) -> None:
    line = pl.read_csv(hswa_links.rain(tmp_path), comment_prefix="#")
    lost = line.filter(pl.col("loss_rate") > 0)["loss_rate"].to_list()
    assert len(lost) > 100
    assert min(lost) < 1e-6 < max(lost)
    made = hswa_links.in_rain(tmp_path / "rain.csv", hswa_links.DEAF, 1)
    assert made["flow"][0]["quality_hints"] is False

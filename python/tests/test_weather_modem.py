"""The modem that follows a fade, and the table that it steps through."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe._core import ScenarioError
from bentpipe.weather.modem import (
    DVB_S2,
    DVB_S2X,
    STANDARDS,
    Modem,
    es_n0,
    follow,
    ladder,
    late,
    lost,
    summary,
)

BITS = {"QPSK": 2, "8PSK": 3, "8APSK": 3, "16APSK": 4, "32APSK": 5, "64APSK": 6, "128APSK": 7, "256APSK": 8}


def fade(*parts: tuple[int, float]) -> pl.DataFrame:
    """A fade of so many seconds at each attenuation."""
    values = [depth for seconds, depth in parts for _ in range(seconds)]
    return pl.DataFrame({"t_s": [float(i) for i in range(len(values))], "attenuation_db": values})


@pytest.mark.parametrize("mode", DVB_S2 + DVB_S2X, ids=lambda mode: mode.name)
def test_the_efficiency_follows_from_the_frame(mode):
    modulation, rate = mode.name.removesuffix("-L").split()
    over, under = map(int, rate.split("/"))
    # EN 302 307-1, clause 5: of a FECFRAME of 64,800 bits `rate` is left, less 192, 160 or 128 of BCH
    # (table 5a), less a header of 80. It is sent in slots of 90 symbols after a header of one slot.
    slots = math.ceil(64800 / BITS[modulation] / 90)
    bits = {64800 * over // under - parity - 80 for parity in (192, 160, 128)}
    assert round(mode.efficiency * (slots + 1) * 90, 1) in [pytest.approx(each, abs=0.1) for each in bits]


@pytest.mark.parametrize("mode", DVB_S2 + DVB_S2X, ids=lambda mode: mode.name)
def test_no_mode_beats_shannon_and_none_is_far_from_it(mode):
    limit = 10 * math.log10(2**mode.efficiency - 1)
    assert limit < mode.threshold_db < limit + 4


def test_a_ladder_rises_in_both_and_nothing_beats_its_steps():
    for standard, modes in STANDARDS.items():
        steps = ladder(standard)
        assert [step.threshold_db for step in steps] == sorted({step.threshold_db for step in steps})
        assert [step.efficiency for step in steps] == sorted({step.efficiency for step in steps})
        for mode in modes:
            assert any(s.threshold_db <= mode.threshold_db and s.efficiency >= mode.efficiency for s in steps)
    assert bp.weather.modcod_table().filter("in_ladder").height == len(ladder("dvb-s2x"))


def test_rain_takes_from_the_signal_and_adds_to_the_noise():
    # 3 dB: 10^-0.3 = 0.501187; (275 - 2.7) x 0.498813 / 242 = 0.561268; 10 log10(1.561268) = 1.9348 dB.
    assert es_n0(np.array([3.0]), Modem()).tolist() == [round((14 - 3 - 1.9348) * 100)]
    assert es_n0(np.array([3.0]), Modem(noise=None)).tolist() == [1100]
    assert es_n0(np.array([0.0]), Modem()).tolist() == [1400]


def test_a_sudden_fade_loses_what_is_sent_before_the_modem_knows():
    line = follow(fade((10, 0.0), (10, 5.0), (10, 0.0)), Modem(noise=None))
    # 14 dB carry what needs 14 - 1.3: 32APSK 11/15 (12.17). 9 dB carry what needs 8: 16APSK 3/5-L (7.41).
    assert line["modcod"].to_list() == ["32APSK 11/15"] * 11 + ["16APSK 3/5-L"] * 10 + ["32APSK 11/15"] * 9
    assert line["rate_bps"].unique(maintain_order=True).to_list() == [108_616_080.0, 71_101_290.0]
    assert line["loss_rate"].to_list() == [0.0] * 10 + [1.0] + [0.0] * 19
    assert line["up"].all()
    assert line["es_n0_db"].unique(maintain_order=True).to_list() == [14.0, 9.0]
    bp.timeline.check(line)


def test_a_modem_that_reacts_later_loses_more():
    line = follow(fade((10, 0.0), (20, 5.0)), Modem(noise=None, reaction="3.5 s"))
    assert line["loss_rate"].sum() == 4.0


def test_below_the_slowest_mode_nothing_is_sent_once_it_is_known():
    line = follow(fade((5, 0.0), (5, 20.0), (5, 0.0)), Modem(noise=None))
    assert line["up"].to_list() == [True] * 6 + [False] * 5 + [True] * 4
    assert bp.timeline.handovers(line) == []  # the satellite after an outage is the one before
    assert line["rate_bps"].to_list()[6:11] == [0.0] * 5
    assert line["modcod"].to_list()[6:11] == [""] * 5
    assert line["loss_rate"].to_list()[5] == 1.0
    assert line["loss_rate"][6:].sum() == 0.0


def test_the_slowest_mode_is_kept_without_margin():
    line = follow(fade((5, 0.0), (5, 16.8)), Modem(noise=None))
    # -2.8 dB; QPSK 2/9 needs -2.85.
    assert line["modcod"][-1] == "QPSK 2/9"
    assert line["loss_rate"][-1] < 1e-5


def test_a_higher_mode_needs_the_hysteresis_and_the_own_one_does_not():
    # 32APSK 11/15 at 12.17 dB is kept from 13.17 dB and taken from 13.47 dB; next below: 32APSK 32/45.
    modem = Modem(noise=None)
    known = np.array([1400, 1320, 1316, 1320, 1346, 1347])
    names = [modem.modes[i].name for i in modem.follow(known)]
    kept, below = "32APSK 11/15", "32APSK 32/45"
    assert names == [kept, kept, below, below, below, kept]


def test_frames_are_lost_along_a_line_over_the_waterfall():
    modem = Modem()
    place = next(i for i, mode in enumerate(modem.modes) if mode.name == "16APSK 2/3-L")
    at = np.array([843, 843 - 15, 843 - 30, 843 + 15])
    share = lost(at, np.full(4, place), modem)
    assert share.tolist() == pytest.approx([1e-5, 1.0, 1.0, 0.0])
    (half,) = lost(np.array([836]), np.array([place]), modem)  # 0.07 of 0.15 dB
    assert math.log10(half) == pytest.approx(-5 * (1 - 0.07 / 0.15), abs=1e-3)


def test_what_is_known_is_as_old_as_the_reaction():
    values = np.arange(6)
    assert late(values, 1.0, 0.87).tolist() == [0, 0, 1, 2, 3, 4]
    assert late(values, 1.0, 2.0).tolist() == [0, 0, 0, 1, 2, 3]
    assert late(values, 0.1, 0.3).tolist() == [0, 0, 0, 0, 1, 2]
    assert late(values, 1.0, 60.0).tolist() == [0] * 6


def test_a_summary_counts_time_rate_and_losses():
    line = follow(fade((10, 0.0), (10, 5.0)), Modem(noise=None))
    made = summary(line)
    assert made.modcods["modcod"].to_list() == ["32APSK 11/15", "16APSK 3/5-L"]
    assert made.modcods["share"].to_list() == [11 / 20, 9 / 20]
    assert made.mean_rate_bps == pytest.approx((11 * 108_616_080 + 9 * 71_101_290) / 20)
    assert made.mean_goodput_bps == pytest.approx((10 * 108_616_080 + 9 * 71_101_290) / 20)
    assert made.outage == 1 / 20


def test_the_rate_under_a_clear_sky_is_that_of_a_line_without_rain():
    modem = Modem(clear_sky="11.7 dB", symbol_rate="36 Mbaud", standard="dvb-s2")
    line = follow(fade((3, 0.0)), modem)
    assert line["rate_bps"].to_list() == [modem.clear_rate_bps] * 3
    # 11.7 - 1.3 = 10.4 dB carry 16APSK 3/4 (10.21 dB): 36e6 x 2.966728.
    assert modem.clear_rate_bps == 106_802_208


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"clear_sky": "14"}, "clear_sky: '14' does not say how much; write for example '14 dB'"),
        ({"clear_sky": "-5 dB"}, "below -2.85 dB, the threshold of the slowest mode"),
        ({"symbol_rate": "36 MHz"}, "symbol_rate: '36 MHz' does not say how much"),
        ({"symbol_rate": "-36 Mbaud"}, "out of range"),
        ({"standard": "dvb-s"}, "none of dvb-s2, dvb-s2x"),
        ({"margin": "-1 dB"}, "margin: '-1 dB' is out of range; it must be from 0 to 20 dB"),
        ({"hysteresis": "x"}, "hysteresis"),
        ({"reaction": "0 s"}, "must be positive"),
        ({"noise": "0 K"}, "noise: '0 K' is out of range"),
    ],
)
def test_a_modem_that_is_none_is_refused(given: dict[str, str], message: str):
    with pytest.raises(ScenarioError, match=message):
        Modem(**given)

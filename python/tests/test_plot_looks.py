"""One colour and marker for each algorithm, which people who see red and green alike can tell too."""

import itertools
import re
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest

import bentpipe as bp
from bentpipe.plot.looks import styled
from bentpipe.registry import OWN_COLOURS, controllers, style

COMMON = ("cubic", "reno", "bbr", "bbr3", "hybla", "star", "hswa", "vegas", "copa", "leocc", "satcp")
"""What is compared most: the kernel's, and those made for satellites."""

# G. Machado, M. Oliveira, L. Fernandes: A Physiologically-based Model for Simulation of Color Vision
# Deficiency, IEEE Transactions on Visualization and Computer Graphics 15(6), 2009, table 1 at severity 1.0.
VISIONS = {
    "trichromacy": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}


def lab(colour, vision):
    """A colour as it is seen, in CIELAB (D65)."""
    code = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(code <= 0.04045, code / 12.92, ((code + 0.055) / 1.055) ** 2.4)
    seen = np.clip(VISIONS[vision] @ linear, 0, 1)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )  # IEC 61966-2-1
    ratio = to_xyz @ seen / np.array([0.9505, 1.0, 1.089])
    x, y, z = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def apart(a, b):
    """The smallest difference of two colours under any vision (CIE 1976)."""
    return min(float(np.linalg.norm(lab(a, v) - lab(b, v))) for v in VISIONS)


@pytest.mark.parametrize(("a", "b"), list(itertools.combinations(COMMON, 2)))
def test_what_is_often_drawn_together_differs_in_colour_for_everybody(a, b):
    assert apart(style(a)["colour"], style(b)["colour"]) > 9, (a, b)


def test_algorithms_of_like_colours_differ_in_marker():
    known = controllers()
    for a, b in itertools.combinations(known, 2):
        assert a["marker"] != b["marker"] or apart(a["colour"], b["colour"]) > 9, (a["id"], b["id"])


def test_an_own_controller_is_never_black_and_looks_the_same_by_its_name():
    looks = {name: bp.plot.look(name) for name in ("python:Mine", "Mine", "python:Gentle", "python:Other")}
    assert looks["python:Mine"] == looks["Mine"]
    assert looks["Mine"]["label"] == "Mine"
    assert len({(look["color"], look["marker"]) for look in looks.values()}) == 3
    assert all(look["markerfacecolor"] == "white" for look in looks.values())
    assert {look["color"] for look in looks.values()} <= set(OWN_COLOURS)
    for own in OWN_COLOURS:
        assert all(apart(own, style(cc)["colour"]) > 9 for cc in ("cubic", "reno", "star", "hswa", "vegas"))


def test_nothing_is_black_or_dark_grey_on_a_dark_face():
    from bentpipe.plot.looks import grey

    assert (bp.plot.look("cubic")["color"], grey(0.35)) == ("#000000", "0.35")
    with mpl.rc_context({"axes.facecolor": "black", "text.color": "white"}):
        assert (bp.plot.look("cubic")["color"], grey(0.35)) == ("white", "0.65")
        assert bp.plot.look("bbr") == bp.plot.look("bbr") and bp.plot.look("bbr")["color"] != "white"


def test_further_flows_of_an_algorithm_differ_in_dashes():
    dashes = [bp.plot.look("cubic", nth=n)["linestyle"] for n in range(3)]
    assert len(set(dashes)) == 3
    assert bp.plot.look("cubic", "$a$")["label"] == r"\$a\$"


@pytest.fixture
def recorded():
    scenario = bp.Scenario.load("geo", {"duration": "5 s", "record.interval": "100 ms"})
    return bp.run(scenario)


def words(figure):
    """Family and size of the label of the abscissa, and the size of a tick's."""
    axes = figure.axes[0]
    tick = axes.xaxis.get_major_ticks()[0].label1
    return axes.xaxis.label.get_fontfamily(), axes.xaxis.label.get_fontsize(), tick.get_fontsize()


def test_settings_of_the_user_win(recorded):
    assert words(bp.plot.cwnd(recorded)) == (["sans-serif"], 8, 7)
    with mpl.rc_context({"font.family": "serif", "axes.labelsize": 11}):
        assert words(bp.plot.cwnd(recorded)) == (["serif"], 11, 7)
        with bp.plot.sized("slide"):
            assert words(bp.plot.cwnd(recorded)) == (["serif"], 11, pytest.approx(2.2 * 7))
        assert mpl.rcParams["axes.labelsize"] == 11
    assert words(bp.plot.cwnd(recorded)) == (["sans-serif"], 8, 7)


def test_settings_within_settings_are_ours_again(recorded):
    """What `styled` has set is no setting of the user where it is used again inside."""
    with styled(), bp.plot.sized("slide"):
        assert words(bp.plot.cwnd(recorded))[1] == pytest.approx(2.2 * 8)


def test_a_matplotlibrc_in_the_working_directory_is_read(tmp_path):
    (tmp_path / "matplotlibrc").write_text("font.family: serif\n")
    bp.run(bp.Scenario.load("geo", {"duration": "2 s", "record.interval": "100 ms"})).save(tmp_path / "r")
    command = [sys.executable, "-m", "bentpipe", "plot", "cwnd", "r", "-o", "x.svg", "--no-data"]
    subprocess.run(command, cwd=tmp_path, check=True)
    families = re.findall(r"font-family: ([^;]*)", (tmp_path / "x.svg").read_text())
    assert families and all(one.endswith(", serif") for one in families)

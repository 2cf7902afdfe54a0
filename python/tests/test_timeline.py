"""Time lines combined, stretched, summed up, drawn, and the verbs that do it."""

import json

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.timeline.measures import course

ORBIT = pl.DataFrame(
    {
        "t_s": [0.0, 10.0, 20.0, 30.0],
        "delay_s": [0.020, 0.030, 0.010, 0.012],
        "handover": [False, False, True, False],
        "hops": [4, 4, 5, 5],
    }
)
RATE = pl.DataFrame({"t_s": [0.0, 5.0, 15.0], "rate_bps": [8e6, 4e6, 6e6]})
DARK = pl.DataFrame({"t_s": [0.0, 2.0, 3.0, 9.0], "up": [True, False, True, False], "delay_s": [0.02] * 4})


def lists(frame):
    return frame.to_dict(as_series=False)


# --- join


def test_a_join_has_the_rows_of_both_and_its_delay_keeps_to_the_lines():
    """At 5 s the line from 20 ms to 30 ms is at 25 ms; before the handover at 20 s the delay holds."""
    found = bp.timeline.join(ORBIT, RATE)
    assert lists(found) == {
        "t_s": [0.0, 5.0, 10.0, 15.0, 20.0, 30.0],
        "rate_bps": [8e6, 4e6, 4e6, 6e6, 6e6, 6e6],
        "delay_s": pytest.approx([0.020, 0.025, 0.030, 0.030, 0.010, 0.012]),
        "handover": [False, False, False, False, True, False],
        "hops": [4, 4, 4, 4, 5, 5],
    }
    held = bp.timeline.join(ORBIT, RATE, delay="steps")
    assert held["delay_s"].to_list() == [0.020, 0.020, 0.030, 0.030, 0.010, 0.012]


def test_the_second_may_begin_later_or_earlier():
    later = bp.timeline.join(ORBIT, RATE, offset_s=3.0)
    assert later.filter(pl.col("t_s").is_in([0.0, 3.0, 8.0, 18.0]))["rate_bps"].to_list() == [
        8e6,
        8e6,
        4e6,
        6e6,
    ]
    earlier = bp.timeline.join(ORBIT, RATE, offset_s=-6.0)
    assert earlier["t_s"].to_list() == [0.0, 9.0, 10.0, 20.0, 30.0]
    assert earlier["rate_bps"].to_list() == [4e6, 6e6, 6e6, 6e6, 6e6]


def test_a_handover_of_the_second_stays_one_instant():
    found = bp.timeline.join(RATE, ORBIT, offset_s=1.0)
    assert found.filter("handover")["t_s"].to_list() == [21.0]
    assert bp.timeline.join(ORBIT, ORBIT.with_columns(rate_bps=1.0), offset_s=7.0)["t_s"].len() == 8


def test_where_the_path_is_dark_the_delay_does_not_move():
    dark = DARK.with_columns(delay_s=pl.Series([0.02, 0.04, 0.06, 0.08]))
    found = bp.timeline.join(
        dark, pl.DataFrame({"t_s": [0.0, 1.0, 2.5, 6.0], "rate_bps": [1.0, 2.0, 3.0, 4.0]})
    )
    assert found["delay_s"].to_list() == [0.02, 0.02, 0.04, 0.04, 0.06, 0.06, 0.08]


def test_what_both_have_must_be_chosen():
    with pytest.raises(bp.ScenarioError, match="both time lines have rate_bps; .*--take rate_bps"):
        bp.timeline.join(RATE, RATE)
    assert bp.timeline.join(RATE, RATE.with_columns(rate_bps=1.0), columns=["rate_bps"])["rate_bps"][0] == 1.0
    with pytest.raises(bp.ScenarioError, match="the second time line has no column delay_s; it has rate_bps"):
        bp.timeline.join(ORBIT, RATE, columns=["delay_s"])


# --- stretch


def test_a_stretched_line_lasts_longer_and_keeps_its_delays():
    found = bp.timeline.stretch(ORBIT, time=2.0)
    assert found["t_s"].to_list() == [0.0, 20.0, 40.0, 60.0]
    assert found["delay_s"].to_list() == ORBIT["delay_s"].to_list()


def test_a_mean_rate_is_the_mean_over_time():
    """8 Mbit/s for 5 s, 4 for 10 s: 80 Mbit in 15 s; the last row lasts no time."""
    found = bp.timeline.stretch(RATE, mean_rate=1e6)
    assert found["rate_bps"].to_list() == pytest.approx(
        [8 * 15 / 80 * 1e6, 4 * 15 / 80 * 1e6, 6 * 15 / 80 * 1e6]
    )
    assert bp.timeline.stretch(RATE, rate=0.5)["rate_bps"].to_list() == [4e6, 2e6, 3e6]


@pytest.mark.parametrize(
    ("frame", "given", "said"),
    [
        (RATE, {"time": 0.0}, "the time is 0; it must be a number above 0"),
        (RATE, {"rate": -1.0}, "the rate is -1"),
        (RATE, {"rate": 2.0, "mean_rate": 1e6}, "exclude each other"),
        (ORBIT, {"rate": 2.0}, "no column rate_bps"),
        (ORBIT, {"mean_rate": 1e6}, "no rate above 0"),
    ],
)
def test_what_cannot_be_stretched(frame, given, said):
    with pytest.raises(bp.ScenarioError, match=said):
        bp.timeline.stretch(frame, **given)


# --- summary


def test_a_summary_weighs_by_time():
    assert bp.timeline.summary(RATE) == {
        "rows": 3, "duration_s": 15.0, "handovers": 0,
        "rate_bps": {"least": 4e6, "mean": pytest.approx(80e6 / 15), "most": 8e6},
    }  # fmt: skip
    orbit = bp.timeline.summary(ORBIT)
    assert orbit["handovers"] == 1
    # Along the lines: (25 + 20 + 11) ms over three times 10 s.
    assert orbit["delay_s"]["mean"] == pytest.approx(0.056 / 3)


def test_outages_are_counted_with_their_lengths():
    found = bp.timeline.summary(
        pl.concat([DARK, pl.DataFrame({"t_s": [9.5], "up": [False], "delay_s": [0.02]})])
    )
    assert (found["outages"], found["dark_s"], found["longest_outage_s"]) == (2, 1.5, 1.0)
    assert found["handovers"] == 2


def test_the_course_shows_the_mean_of_each_slot():
    drawn = course(
        pl.DataFrame({"t_s": [0.0, 24.0, 36.0, 48.0], "rate_bps": [8.0, 0.0, 4.0, 4.0]}), "rate_bps"
    )
    assert drawn == "\u2588" * 24 + " " * 12 + "\u2585" * 12


# --- figure


def test_the_figure_has_a_panel_for_each_quantity_with_its_unit():
    whole = bp.timeline.join(bp.timeline.join(ORBIT, RATE), DARK, columns=["up"])
    whole = whole.with_columns(loss_rate=0.01)
    figure = bp.timeline.draw(whole)
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "rate, Mbit/s",
        "2 \u00d7 delay, ms",
        "loss, %",
        "up",
    ]
    assert figure.axes[-1].get_xlabel() == "time, s"
    assert figure.axes[0].get_title(loc="right").startswith("| 1 handover ")
    delays = figure.axes[1].lines[0]
    # From 9 s on the path is dark, and nothing is drawn; before that it held its 25 ms of 5 s.
    assert max(y for y in delays.get_ydata() if y == y) == pytest.approx(50.0)
    rates = figure.axes[0].lines[0]
    assert rates.get_drawstyle() == "steps-post" and max(rates.get_ydata()) == 8.0


def test_outages_are_shaded_and_handovers_are_lines():
    figure = bp.timeline.draw(DARK)
    (axes, _) = figure.axes
    shades, handovers = axes.collections
    # The outage at the end has no length.
    assert [path.get_extents().intervalx.tolist() for path in shades.get_paths()] == [[2.0, 3.0]]
    assert [path.vertices[0, 0] for path in handovers.get_paths()] == [2.0, 9.0]
    assert bp.timeline.draw(DARK, between=(4.0, 9.0)).axes[0].get_title(loc="right") == "| 1 handover"


def test_an_interval_outside_is_refused():
    with pytest.raises(bp.ScenarioError, match="ends at 15 s; there is nothing between 20 and 15 s"):
        bp.timeline.draw(RATE, between=(20.0, 30.0))


def test_long_time_lines_are_drawn_in_minutes_or_hours():
    for factor, unit in ((1.0, "s"), (100.0, "min"), (1000.0, "h")):
        figure = bp.timeline.draw(bp.timeline.stretch(RATE, time=factor))
        assert figure.axes[-1].get_xlabel() == f"time, {unit}"


# --- the verbs


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bp.timeline.write(ORBIT, "orbit.parquet")
    bp.timeline.write(RATE, "rate.csv")
    (tmp_path / "m.trace").write_text("5\n5\n100\n")
    return tmp_path


def done(cli, *words):
    ran = cli(*words)
    assert (ran.exit_code, ran.stderr) == (0, ""), ran.stderr
    return ran.stdout


def test_import_join_stretch_and_plot_from_the_command_line(cli, files):
    said = done(
        cli, "timeline", "import", "m.trace", "--format", "mahimahi", "--bin", "100 ms", "-o", "m.parquet"
    )
    assert said == "written to m.parquet: 2 rows over 0.1 s of rate_bps\n"
    done(cli, "timeline", "join", "orbit.parquet", "rate.csv", "--offset", "-6 s", "-o", "both.csv")
    assert bp.timeline.read("both.csv")["t_s"].to_list() == [0.0, 9.0, 10.0, 20.0, 30.0]
    done(cli, "timeline", "stretch", "both.csv", "--mean-rate", "50 Mbit/s", "--time", "2", "-o", "s.parquet")
    assert bp.timeline.summary(bp.timeline.read("s.parquet"))["rate_bps"]["mean"] == pytest.approx(50e6)
    assert done(cli, "plot", "timeline", "s.parquet", "-o", "s.svg") == "written to s.svg\n"
    assert (files / "s.svg").read_bytes().startswith(b"<?xml")


def test_show_answers_with_a_table_or_as_json(cli, files):
    said = done(cli, "timeline", "show", "orbit.parquet")
    assert "10.0 ms" in said and "4 rows over 30 s; 1 handovers" in said
    shown = json.loads(done(cli, "timeline", "show", "rate.csv", "--json"))
    assert shown == {"schema": 1, **bp.timeline.summary(RATE)}


def test_check_says_everything_that_is_wrong(cli, files):
    assert done(cli, "timeline", "check", "rate.csv") == "rate.csv: 3 rows over 15 s of rate_bps\n"
    (files / "bad.csv").write_text("t_s,rate_bps,loss_rate\n0,1,0\n2,-1,0\n1,1,7\n")
    ran = cli("timeline", "check", "bad.csv")
    assert ran.exit_code == 2
    assert [line.split(":")[1] for line in ran.stderr.splitlines()] == [
        " bad.csv, line 4, column t_s",
        " bad.csv, line 3, column rate_bps",
        " bad.csv, line 4, column loss_rate",
    ]
    assert len(json.loads(cli("timeline", "check", "bad.csv", "--json").stdout)["faults"]) == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["timeline", "import", "m.trace", "--format", "mahimahi", "-o", "m.txt"],
            "must end in .parquet or .csv",
        ),
        (["timeline", "import", "m.trace", "--format", "mahimahi", "-o", "m.csv"], "opportunities = "),
        (
            ["timeline", "import", "m.trace", "--format", "ping", "--gap", "soon", "-o", "m.csv"],
            "is not a duration",
        ),
        (["timeline", "import", "m.trace", "--format", "hypatia", "--pair", "1", "-o", "m.csv"], "two nodes"),
        (
            ["timeline", "import", "m.trace", "--format", "nuttcp", "--buffer", "1", "-o", "m.csv"],
            "--buffer: '1' is not a size",
        ),
        (["timeline", "import", "m.trace", "--format", "ping", "-o", "m.trace.csv"], "it has no reply"),
        (["timeline", "show", "m.trace"], "ends in .parquet or .csv"),
        (["timeline", "stretch", "rate.csv", "--mean-rate", "50", "-o", "m.csv"], "write for example"),
        (["plot", "timeline", "rate.csv", "-o", "m.gif"], "must end in .svg, .pdf or .png"),
        (["timeline", "join", "rate.csv", "orbit.parquet", "-o", "m.trace"], "must end in .parquet or .csv"),
    ],
)
def test_wrong_requests_get_one_line_and_status_2(cli, files, words, said):
    ran = cli(*words)
    assert ran.exit_code == 2
    assert said in ran.stderr and ran.stderr.count("\n") == 1


def test_another_kind_of_file_is_not_overwritten(cli, files):
    (files / "notes.csv").write_text("my notes\n")
    ran = cli("timeline", "join", "rate.csv", "orbit.parquet", "-o", "notes.csv")
    assert ran.exit_code == 2 and "exists and is not a time line in CSV" in ran.stderr
    assert (files / "notes.csv").read_text() == "my notes\n"

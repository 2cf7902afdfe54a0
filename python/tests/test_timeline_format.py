"""The file of a time line: what is read back, and one line for everything that can be wrong with one."""

from pathlib import Path

import polars as pl
import pytest

import bentpipe as bp

GOOD = """t_s,rate_bps,delay_s,loss_rate,up,handover
0,1e8,0.02,0,true,
15,,0.025,,false,true
15.5,6e7,,0.1,true,
"""


@pytest.fixture
def table(tmp_path):
    def made(text, name="a.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return made


def test_an_empty_cell_holds_the_value_of_the_row_before(table):
    found = bp.timeline.read(table(GOOD))
    assert found.to_dict(as_series=False) == {
        "t_s": [0.0, 15.0, 15.5],
        "rate_bps": [1e8, 1e8, 6e7],
        "delay_s": [0.02, 0.025, 0.025],
        "loss_rate": [0.0, 0.0, 0.1],
        "up": [True, False, True],
        "handover": [False, True, False],
    }


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_is_written_is_read_again(tmp_path, ending):
    frame = pl.DataFrame(
        {"hops": [3, 4], "up": [True, False], "t_s": [0.0, 0.1 + 0.2], "delay_s": [0.1 / 3, None]}
    )
    path = bp.timeline.write(frame, tmp_path / "new" / f"x.{ending}")
    again = bp.timeline.read(path)
    assert again.columns == ["t_s", "delay_s", "up", "hops"]
    assert again["t_s"].to_list() == [0.0, 0.1 + 0.2]
    assert again["delay_s"].to_list() == [0.1 / 3, 0.1 / 3]
    assert again["hops"].to_list() == [3, 4]
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_the_version_stands_in_the_file(tmp_path):
    frame = pl.DataFrame({"t_s": [0.0], "up": [True]})
    bp.timeline.write(frame, tmp_path / "x.parquet")
    assert pl.read_parquet_metadata(tmp_path / "x.parquet")["bentpipe.timeline"] == "1"
    assert (
        bp.timeline.write(frame, tmp_path / "x.csv").read_text().startswith("# bentpipe timeline 1\nt_s,up\n")
    )


def test_the_same_time_line_gives_the_same_bytes(tmp_path):
    frame = pl.DataFrame({"t_s": [0.0, 1.0], "rate_bps": [1e6, 2e6]})
    first, second = (bp.timeline.write(frame, tmp_path / f"{i}.parquet").read_bytes() for i in (1, 2))
    assert first == second


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a.csv: the file is empty"),
        ("# bentpipe timeline 1\n", "a.csv: the file is empty"),
        ("# bentpipe timeline 2\nt_s,up\n0,true\n", "a.csv, line 1: the time line has version 2; .* up to 1"),
        ("# bentpipe timeline x\nt_s,up\n0,true\n", "a.csv, line 1: 'x' is no version"),
        ("rate_bps\n1\n", "a.csv: the column t_s is missing; its columns are rate_bps"),
        ("t_s,speed\n0,1\n", "a.csv: no column says what changes; it needs at least one of rate_bps, "),
        ("t_s,up\n", "a.csv: there is no row"),
        ("t_s,up,up\n0,true,true\n", "a.csv, line 1: two columns have the same name"),
        ("t_s,up\n0,true\n1\n", "a.csv, line 3: 1 cells; the head names 2 columns"),
        ("t_s,up\n1,true\n", "a.csv, line 2, column t_s: 1 is the first time; it must be 0"),
        ("t_s,up\n0,true\n2,true\n1,true\n", "a.csv, line 4, column t_s: times must increase"),
        ("t_s,up\n0,true\n1,true\n1.0000000001,true\n", "a.csv, line 4, column t_s: times must increase"),
        ("t_s,up\n0,true\n,true\n", "a.csv, line 3, column t_s: every row must have a time"),
        (
            "# bentpipe timeline 1\nt_s,rate_bps\n0,5\n1,-3\n",
            "a.csv, line 4, column rate_bps: -3 is negative",
        ),
        ("t_s,delay_s\n0,5\n1,-0.01\n", "a.csv, line 3, column delay_s: -0.01 is negative"),
        ("t_s,delay_s\n0,5\n1,nan\n", "a.csv, line 3, column delay_s: nan is no finite number"),
        ("t_s,rate_bps\n0,inf\n", "a.csv, line 2, column rate_bps: inf is no finite number"),
        (
            "t_s,rate_bps\n0,2e14\n",
            r"a.csv, line 2, column rate_bps: 2e\+14 is too high; it must be at most 1e\+14",
        ),
        ("t_s,delay_s\n0,1\n5,1e5\n", "a.csv, line 3, column delay_s: 100000 is too high"),
        ("t_s,delay_s\n0,1\n4e9,1\n", "a.csv, line 3, column t_s: 4000000000 is too high"),
        ("t_s,loss_rate\n0,1.5\n", "a.csv, line 2, column loss_rate: 1.5 is not between 0 and 1"),
        ("t_s,rate_bps\n0,\n1,5\n", "a.csv, line 2, column rate_bps: empty; the first row must have a value"),
        ("t_s,up\n0,\n1,true\n", "a.csv, line 2, column up: empty; the first row must have a value"),
        ("t_s,rate_bps\n0,10 Mbit/s\n", "a.csv, line 2, column rate_bps: '10 Mbit/s' is not a number"),
        ("t_s,up\n0,1\n", "a.csv, line 2, column up: '1' is not true or false"),
        ('t_s,up\n0,"true\n', "a.csv, line 2: unexpected end of data"),
    ],
)
def test_a_broken_table_gets_one_line_with_its_place_and_no_run(table, text, said):
    with pytest.raises(bp.ScenarioError, match=said) as raised:
        bp.timeline.read(table(text))
    assert "\n" not in str(raised.value)
    link = bp.Link(rate="1 Mbit/s", delay="10 ms", timeline=str(table(text)))
    with pytest.raises(bp.ScenarioError, match=r"link\.l\.timeline"):
        bp.run(bp.Scenario(links={"l": link}, flows=[bp.Flow("reno", path=["l"])], duration="3 s"))


def test_other_files_are_refused(tmp_path):
    for name, content, said in [
        ("a.parquet", b"t_s,up\n0,true\n", "no Parquet table"),
        ("b.parquet", b"PAR1" + bytes(40), "no Parquet table, or a damaged one"),
        ("c.csv", b"\xff\xfe\x00", "no text in UTF-8"),
        ("d.json", b"{}", r"ends in \.parquet or \.csv; bentpipe timeline import"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(bp.ScenarioError, match=said):
            bp.timeline.read(tmp_path / name)
    pl.DataFrame({"t_s": [0.0], "up": [True]}).write_parquet(
        tmp_path / "e.parquet", metadata={"bentpipe.timeline": "2"}
    )
    with pytest.raises(bp.ScenarioError, match="version 2"):
        bp.timeline.read(tmp_path / "e.parquet")


def test_a_frame_counts_its_rows_and_its_faults():
    frame = pl.DataFrame({"t_s": [0.0, 1.0, 1.0], "rate_bps": [1.0, -1.0, float("nan")]})
    with pytest.raises(bp.ScenarioError, match=r"^here, row 3, column t_s: .* \(and 2 more"):
        bp.timeline.check(frame, "here")
    assert [fault.split(":")[0] for fault in bp.timeline.faults(frame)] == [
        ", row 3, column t_s",
        ", row 3, column rate_bps",
        ", row 2, column rate_bps",
    ]
    with pytest.raises(bp.ScenarioError, match="column up: it holds Int64; it must be true or false"):
        bp.timeline.check(pl.DataFrame({"t_s": [0.0], "up": [1]}))
    with pytest.raises(bp.ScenarioError, match="column delay_s: it holds String; it must be numbers"):
        bp.timeline.check(pl.DataFrame({"t_s": [0.0], "delay_s": ["20 ms"]}))


def test_a_path_that_goes_dark_changes_hands_unless_the_file_says_when():
    dark = pl.DataFrame({"t_s": [0.0, 1.0, 2.0, 3.0], "up": [True, False, False, True]})
    assert bp.timeline.handovers(dark) == [1.0]
    assert bp.timeline.handovers(dark.with_columns(handover=pl.Series([None, None, True, None]))) == [2.0]
    assert bp.timeline.handovers(pl.DataFrame({"t_s": [0.0], "rate_bps": [1.0]})) == []


def test_a_frame_that_is_no_time_line_is_not_written(tmp_path):
    with pytest.raises(bp.ScenarioError, match="no row"):
        bp.timeline.write(pl.DataFrame({"t_s": [], "up": []}), tmp_path / "x.csv")
    with pytest.raises(bp.ScenarioError, match=r"must end in \.parquet or \.csv"):
        bp.timeline.write(pl.DataFrame({"t_s": [0.0], "up": [True]}), tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_simulator_plays_what_is_written(tmp_path, ending):
    """8 Mbit/s for 5 s, dark for 5 s, 4 Mbit/s for 10 s: 10 MB of packets, less the last on the way."""
    frame = pl.DataFrame(
        {"t_s": [0.0, 5.0, 10.0], "rate_bps": [8e6, 8e6, 4e6], "up": [True, False, True], "hops": [2, 2, 3]}
    )
    path = bp.timeline.write(frame, tmp_path / f"x.{ending}")
    link = bp.Link(rate="8 Mbit/s", delay="5 ms", timeline=str(path), queue=bp.DropTail("1000 packets"))
    flow = bp.Flow(path=["l"], traffic=bp.Cbr(rate="9 Mbit/s"))
    result = bp.run(bp.Scenario(links={"l": link}, flows=[flow], duration="20 s"))
    assert result.flows["delivered_bytes"][0] == pytest.approx(10e6, abs=10 * 1500)


def test_the_example_of_the_page_is_a_time_line(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "timeline.md").read_text(encoding="utf-8")
    example = page.split("```csv\n")[1].split("```")[0]
    (tmp_path / "leo.csv").write_text(example)
    found = bp.timeline.read(tmp_path / "leo.csv")
    assert found["rate_bps"].to_list() == [100e6, 100e6, 60e6, 60e6]
    assert found["up"].to_list() == [True, False, True, True]
    assert set(bp.timeline.FORMATS) == {
        line.split("`")[1] for line in page.splitlines() if line.startswith("| `")
    } - {*found.columns, "loss_rate"}

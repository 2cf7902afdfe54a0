"""Traces with many tests in one file, or one trace in two files: LeoReplayer, CoNEXT 2023, the Autobahn."""

import pytest
from traced import trace, wrong

__all__ = ["trace"]


# --- LeoReplayer

DELAYS = "24\n18\n18\n31\n"
OPPORTUNITIES = "3\n5\n5\n12\n25\n"


def test_delays_of_leoreplayer_are_10_ms_apart_and_end_after_the_last(trace):
    found = trace(DELAYS, "leoreplayer")
    assert found == {"t_s": [0, 0.01, 0.02, 0.03, 0.04], "delay_s": [0.024, 0.018, 0.018, 0.031, 0.031]}
    assert trace(DELAYS, "leoreplayer", interval_s=0.5)["t_s"] == [0, 0.5, 1, 1.5, 2]


def test_a_directory_of_leoreplayer_has_rate_and_delay_until_the_shorter_ends(trace):
    """In bins of 20 ms: 4 x 1504 bytes give 2.4064 Mbit/s; 1 in 5 ms, until 25 ms, again 2.4064."""
    found = trace({"bw_17.txt": OPPORTUNITIES, "delay_17.txt": DELAYS}, "leoreplayer", bin_s=0.02)
    assert found == {
        "t_s": [0, 0.01, 0.02, 0.025],
        "rate_bps": pytest.approx([2_406_400.0] * 4),
        "delay_s": [0.024, 0.018, 0.018, 0.018],
    }
    longer = {"bw_17.txt": OPPORTUNITIES + "90\n", "delay_17.txt": DELAYS}
    assert trace(longer, "leoreplayer", bin_s=0.02)["t_s"] == [0, 0.01, 0.02, 0.03, 0.04]


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        ("", {}, "a.txt: the file is empty"),
        ("hello\n", {}, "line 1: it is no delay in whole milliseconds"),
        ("24\n18.5\n", {}, "line 2: '18.5' is no delay in whole milliseconds"),
        ("24\n-1\n", {}, "line 2: '-1' is no delay"),
        ("24\n\n18\n", {}, "line 2: the line is empty"),
        ("22\n9999\n10001\n", {}, "line 3: a delay of '10001' ms is longer than 10 s; for opportunities"),
        (DELAYS, {"bin_s": 0.1}, r"--bin: .*a\.txt is a file of delays"),
        (DELAYS, {"interval_s": 0.0005}, r"--interval 0.0005 s: LeoReplayer counts whole milliseconds"),
        ({"delay_1.txt": DELAYS}, {"bin_s": 0.1}, r"17: it has no files bw_\*\.txt"),
        (
            {"delay_1.txt": DELAYS, "delay_2.txt": DELAYS, "bw_1.txt": "5\n"},
            {"bin_s": 0.1},
            "17: it has 2 files delay_",
        ),
        ({"delay_1.txt": DELAYS, "bw_1.txt": "5\n"}, {}, r'bw_1\.txt: .*--bin "100 ms"'),
        (
            {"delay_1.txt": DELAYS, "bw_1.txt": "5\n3\n"},
            {"bin_s": 0.1},
            r"bw_1\.txt, line 2: the time goes back",
        ),
    ],
)
def test_damaged_traces_of_leoreplayer(trace, given, options, said):
    wrong(trace, said, given, "leoreplayer", **options)


# --- CoNEXT 2023

CONEXT = """time,throughput,speed,latitude,longtitu,area_type
2023-04-12 10:40:20 CDT,147,62.9,45.4,-93.2,rural
2023-04-12 10:40:21 CDT,26.5,62.2,45.4,-93.2,rural
2023-04-12 10:40:23 CDT,0.0,62.2,45.4,-93.2,urban
2023-04-12 12:00:00 CDT,80,62.2,45.4,-93.2,urban
2023-04-12 12:00:01 CDT,81
2023-04-05 09:00:00 CDT,12,62.2,45.4,-93.2,urban
"""


def test_a_table_of_conext_holds_tests_that_end_at_a_gap_or_where_the_time_goes_back(trace):
    first = trace(CONEXT, "conext23", test=1)
    assert first == {"t_s": [0, 1, 3, 4], "rate_bps": [147e6, 26.5e6, 0, 0]}
    assert trace(CONEXT, "conext23", test=2) == {"t_s": [0, 1, 2], "rate_bps": [80e6, 81e6, 81e6]}
    assert trace(CONEXT, "conext23", test=3) == {"t_s": [0, 1], "rate_bps": [12e6, 12e6]}
    # 4,777 s after the third second the fourth begins; a step back ends a test in any case.
    assert trace(CONEXT, "conext23", test=1, gap_s=4777)["t_s"] == [0, 1, 3, 4780, 4781, 4782]


def test_a_table_of_parallel_connections_has_other_names(trace):
    found = trace("Bitrate,Time\n33.3,2023-04-27 14:14:16 CDT\n23.5,2023-04-27 14:14:17 CDT\n", "conext23")
    assert found == {"t_s": [0, 1, 2], "rate_bps": pytest.approx([33.3e6, 23.5e6, 23.5e6])}


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("", {}, "the file is empty"),
        ("secret\n1\n", {}, "line 1: it names no columns time and throughput or Time and Bitrate; is it"),
        (CONEXT.split("\n")[0], {}, "the file holds no sample"),
        (CONEXT, {}, "it holds 3 tests, .* more than 10 s .* say which: --test 1 has the most rows, 3"),
        (CONEXT, {"test": 4}, "there is no test 4; the file holds 3"),
        (CONEXT.replace("26.5", "fast"), {}, "line 3: column throughput: 'fast' is not a number"),
        (CONEXT.replace("26.5", "-26.5"), {}, "line 3: column throughput: '-26.5' is no rate"),
        (CONEXT.replace("26.5", "nan"), {}, "line 3: column throughput: 'nan' is no rate"),
        (CONEXT.replace("26.5", "1e305"), {}, "line 3: column throughput: '1e305' is no rate"),
        (CONEXT.replace(":21 CDT", ":21 EST"), {}, "line 3: column time: '.*EST' is not a time"),
        (CONEXT.replace(":21 CDT", ":71 CDT"), {}, "line 3: column time: '.*' is not a time"),
        (CONEXT.replace(":01 CDT,81", ":01 CDT"), {}, "line 6: 1 cells; time or throughput is missing"),
        (CONEXT.replace(":21 CDT", ":20 CDT"), {"test": 1}, "line 3: the time stands twice"),
    ],
)
def test_damaged_tables_of_conext(trace, text, options, said):
    wrong(trace, said, text, "conext23", **options)


# --- Autobahn


def autobahn(*rows):
    head = (
        "timestamp_start_dl,timestamp_end_dl,download,timestamp_start_ul,timestamp_end_ul,upload,Speed(m/s)"
    )
    day = "2024-04-19 16:23"
    return "\n".join(
        [head, *(f"{day}:{a},{day}:{a},{down},{day}:{b},{day}:{b},{up},27.5" for a, b, down, up in rows)]
    )


DRIVE = autobahn(
    ("00.001000064", "00.000250112", 17.5, 12.25), ("01.001000064", "01.000250112", 218, 0),
    ("01.001000064", "01.000250112", 218, 0), ("03.001000064", "03.000250112", 0.5, 14),
)  # fmt: skip


def test_a_drive_on_the_autobahn_has_two_directions_and_no_row_twice(trace):
    down = trace(DRIVE, "autobahn")
    assert down["t_s"] == pytest.approx([0, 1, 3, 4], abs=1e-6)
    assert down["rate_bps"] == [17.5e6, 218e6, 0.5e6, 0.5e6]
    up = trace("," + DRIVE.replace("\n", "\n892,"), "autobahn", direction="up")  # as with bridges: an index
    assert up["rate_bps"] == [12.25e6, 0, 14e6, 14e6]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("", {}, "the file is empty"),
        (DRIVE, {"direction": "left"}, "--direction 'left': write down or up"),
        (
            DRIVE.replace("upload", "u"),
            {"direction": "up"},
            "it names no columns timestamp_start_ul and upload",
        ),
        (DRIVE.replace("23:03.0", "43:03.0"), {}, "it holds 2 tests"),
        (DRIVE.replace("0.5", "?"), {}, "line 5: column download: '\\?' is not a number"),
        (DRIVE.replace("2024-04-19 16:23:00.001", "yesterday"), {}, "line 2: column timestamp_start_dl"),
    ],
)
def test_damaged_tables_of_the_autobahn(trace, text, options, said):
    wrong(trace, said, text, "autobahn", **options)

"""Browsers, players of video and files, against arithmetic by hand."""

from __future__ import annotations

import math

import polars as pl
import pytest
from test_workloads import PROMPT, row, run

import bentpipe as bp

ASKED = 402
"""A request of 350 bytes on the wire, bytes."""
ACK, FULL, SYN = 52, 1500, 60
BIT = 8 / 10e6
"""A byte at 10 Mbit/s, seconds."""
HANDSHAKE = 0.5 + (2 * SYN + ACK) * BIT


def web(objects=3, **more) -> bp.Web:
    """Pages whose objects all have one segment; 100 ms of parsing, 5 s of reading."""
    sizes = {"main": "1448 bytes", "embedded": "1448 bytes"}
    return bp.Web(**sizes, objects=objects, parsing="100 ms", reading="5 s", **more)


def test_a_page_takes_two_round_trips_on_one_connection() -> None:
    """The main object, parsing, and three objects whose requests go out at once.

    The server acknowledges a request and then answers, so three answers take three acknowledgements and three
    segments of its link. The next page begins 5 s after the last byte of this one.
    """
    found = run(web(), **PROMPT)
    one = 0.5 + (ASKED + ACK + FULL) * BIT
    page = one + 0.1 + 0.5 + (ASKED + 3 * (ACK + FULL)) * BIT
    times, starts = found.transfers["completion_s"].to_list(), found.transfers["start_s"].to_list()
    assert times[0] == pytest.approx(HANDSHAKE + page, abs=1e-8)
    assert times[1:-1] == pytest.approx([page] * (len(times) - 2), abs=1e-8)
    gaps = [b - a - took for a, b, took in zip(starts[:-1], starts[1:], times[:-1], strict=True)]
    assert gaps == pytest.approx([5] * len(gaps)) and len(gaps) > 6
    assert found.transfers["bytes"].unique().to_list() == [4 * 1448]
    asked, answered = row(found, "app/requests"), row(found, "app/responses")
    assert (answered["transfer"], answered["transfers"], asked["transfers"]) == ("page", len(times), None)
    assert answered["completion_p50_s"] == pytest.approx(page, abs=1e-8)
    assert asked["delivered_bytes"] == 350 * 4 * answered["completed"]


def test_further_connections_open_when_there_are_objects_for_them() -> None:
    """Two objects on two connections: the second is there a handshake later, on the first page alone.

    Its SYN leaves behind the request on the first connection.
    """
    found = run(web(2, connections=2), **PROMPT)
    one = 0.5 + (ASKED + ACK + FULL) * BIT
    first = HANDSHAKE + one + 0.1 + ASKED * BIT + HANDSHAKE + one
    times = found.transfers["completion_s"].to_list()
    assert times[0] == pytest.approx(first, abs=2e-3)
    # Both requests at once, and the answers one behind the other.
    assert times[1] == pytest.approx(one + 0.1 + one + (ACK + FULL) * BIT, abs=2e-3)
    assert found.flows["name"].to_list() == ["app/requests", "app/responses"]
    assert row(found, "app/responses")["delivered_bytes"] == 3 * 1448 * len(times)
    shares = [v for k, v in row(found, "app/responses").items() if k.startswith("limited_")]
    assert sum(shares) == pytest.approx(1)


def test_pages_are_those_of_the_seed_and_the_name_whatever_carries_them() -> None:
    pages = bp.Web(reading="1 s")

    def sizes(traffic: bp.Web, **more) -> list[int]:
        return run(traffic, duration="120 s", **more).transfers["bytes"].to_list()[:15]

    one = sizes(pages)
    assert sizes(pages, cc="cubic", delay="20 ms") == one and len(one) == 15
    assert sizes(bp.Web(reading="1 s", connections=6)) == one
    assert sizes(pages, seed=2) != one and sizes(pages, name="other") != one


def test_six_connections_carry_six_objects_at_a_time() -> None:
    """Of nine objects three wait for a connection that is free: a round trip more than all at once."""
    once, six = (run(web(9, connections=n), **PROMPT).transfers["completion_s"].to_list()[1] for n in (1, 6))
    assert six - once == pytest.approx(0.5, abs=0.02)


def test_video_waits_while_its_buffer_is_full() -> None:
    """Segments of 4 s at 1 Mbit/s: 346 segments of TCP. With room for three, one is asked for every 4 s."""
    traffic = bp.Video(ladder=["1 Mbit/s"], buffer="12 s")
    found = run(traffic, **PROMPT)
    starts = found.transfers["start_s"].to_list()
    assert [b - a for a, b in zip(starts[3:-1], starts[4:], strict=True)] == pytest.approx(
        [4] * (len(starts) - 4)
    )
    seen = row(found, "app/responses")
    assert (seen["transfer"], seen["video_stalls"], seen["video_switches"]) == ("segment", 0, 0)
    assert seen["video_bitrate_bps"] == 1e6
    assert seen["video_startup_s"] == pytest.approx(found.transfers["completion_s"][0])
    assert seen["video_startup_s"] + seen["video_played_s"] == pytest.approx(60)
    assert row(found, "app/requests")["video_stalls"] is None


def test_video_above_the_rate_of_the_link_stands_still_for_the_rest_of_the_time() -> None:
    """2 Mbit/s over 1 Mbit/s of goodput 1448/1500: what is played is half of that share of the time."""
    found = run(
        bp.Video(ladder=["2 Mbit/s"]), rate="1 Mbit/s", delay="10 ms", duration="600 s",
        queue=bp.DropTail("200 packets"),
    )  # fmt: skip
    seen = row(found, "app/responses")
    assert seen["video_played_s"] == pytest.approx(600 * 0.5 * 1448 / 1500, rel=0.03)
    times = seen["video_startup_s"] + seen["video_played_s"] + seen["video_stalled_s"]
    assert times == pytest.approx(600) and seen["video_stalls"] > 50


def test_video_climbs_with_its_buffer_and_stays() -> None:
    found = run(bp.Video(buffer="60 s"), rate="20 Mbit/s", delay="20 ms", duration="300 s")
    seen = row(found, "app/responses")
    last = found.transfers.filter(pl.col("completion_s").is_not_null())["bytes"][-1]
    # Four seconds of 5.8 Mbit/s, in whole segments.
    assert last == math.ceil(5.8e6 * 4 / 8 / 1448) * 1448
    assert seen["video_stalls"] == 0 and 1 <= seen["video_switches"] <= 9
    ended = run(bp.Video(buffer="60 s", length="30 s"), rate="20 Mbit/s", duration="300 s")
    assert row(ended, "app/responses")["video_played_s"] == pytest.approx(32)  # whole segments
    assert row(ended, "app/responses")["transfers"] == 8


def test_a_connection_that_a_stop_forestalls_never_begins() -> None:
    """The parsing ends, and the second connection would open, after the browser has stopped."""
    found = run(web(2, connections=2), stop=f"{HANDSHAKE + 0.6:.3f} s", **PROMPT)
    for half in ("requests", "responses"):
        shares = row(found, f"app/{half}")
        assert sum(value for name, value in shares.items() if name.startswith("limited_")) == pytest.approx(1)


@pytest.mark.parametrize(
    "traffic",
    [
        bp.OnOff(size="30 kB", off="5 s"),
        bp.Requests("30 kB", think="5 s"),
        web(),
        web(connections=2),
        bp.Video(ladder=["1 Mbit/s"], buffer="12 s"),
    ],
    ids=["on-off", "requests", "web", "web-2", "video"],
)
def test_every_pause_is_told_to_the_controller(traffic) -> None:
    """RFC 5681 section 4.1: the pauses are longer than the retransmission timeout of about 1 s."""
    heard: dict[int, list[str]] = {}

    class Spy(bp.Controller):
        def on_ack(self, flow, ack) -> None:
            self.cwnd += 1 if self.cwnd < 100 else 0

        def on_congestion(self, flow, why) -> None:
            self.cwnd = 10

        def on_life(self, flow, what) -> None:
            heard.setdefault(id(self), []).append(what)

    found = run(traffic, cc=Spy, **PROMPT)
    counts = sorted(events.count("idle_restart") for events in heard.values())
    assert counts[-1] >= 6, found.flows


def test_a_file_has_a_completion_time_or_a_warning() -> None:
    done = run(bp.Bulk(size="1 MB"))
    assert row(done)["completion_s"] > 0.8 and not done.warnings
    late = run(bp.Bulk(size="100 MB"), count=2)
    assert late.flows["completion_s"].to_list() == [None, None]
    (said,) = late.warnings
    assert "app-1, and 1 more: the transfer was not complete when the run ended" in said
    assert not run(bp.Bulk(size="100 MB"), stop="10 s").warnings


@pytest.mark.parametrize(
    ("traffic", "said"),
    [
        (bp.Web(main="0 bytes"), "traffic.main: there is nothing to send"),
        (bp.Web(objects=2_000_000), "traffic.objects: 2000000 is too many"),
        (bp.Web(objects=bp.ParetoCount(5.0, 1.0, 2.0)), "traffic.objects.most: must be larger than least"),
        (bp.Web(connections=0), "traffic.connections"),
        (bp.Web(request="0 bytes"), "a request is not empty"),
        (bp.Web(main=bp.LogNormal("1 kB", 1.0, most="500 bytes")), "main.most: median"),
        (bp.Video(ladder=[]), "traffic.ladder: needs bitrates above zero"),
        (bp.Video(ladder=["2 Mbit/s", "1 Mbit/s"]), "each larger than the one before"),
        (bp.Video(segment="0 s"), "traffic.segment: must be longer than zero"),
        (bp.Video(buffer="1 s"), "traffic.buffer: .* must have room for one segment"),
        (bp.Video(buffer="8 s", startup="9 s"), "traffic.startup: must be at most buffer"),
    ],
    ids=str,
)
def test_a_wrong_browser_or_player_is_one_line(traffic, said) -> None:
    with pytest.raises(bp.ScenarioError, match=said):
        run(traffic)


def test_tables_show_page_loads_and_video(cli, tmp_path) -> None:
    file = tmp_path / "s.toml"
    flows = "".join(
        f'[[flow]]\ncc = "cubic"\npath = ["sat"]\nname = "{kind}"\ntraffic = {{ kind = "{kind}" }}\n'
        for kind in ("web", "video")
    )
    file.write_text('duration = "30 s"\n[link.sat]\nrate = "10 Mbit/s"\ndelay = "20 ms"\n' + flows)
    done = cli("run", str(file))
    assert done.exit_code == 0, done.stderr
    for head in ("page loads of", "video segments of", "video of", "start-up"):
        assert head in done.stdout, done.stdout


def test_what_was_seen_is_kept(tmp_path) -> None:
    found = run(bp.Video(buffer="12 s"))
    found.save(tmp_path / "kept")
    kept = bp.Result.load(tmp_path / "kept")
    assert kept.flows.equals(found.flows) and kept.json == found.json

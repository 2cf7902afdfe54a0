"""Dialogues and bursts through a relay, against arithmetic by hand.

20 ms lie between the server and the relay, 250 ms between the relay and the client, both at 10 Mbit/s.
Packets have 52 bytes beside their data.
"""

from __future__ import annotations

import polars as pl
import pytest
from test_workloads import PROMPT, row

import bentpipe as bp
from bentpipe.plot.routes import route

BIT = 8 / 10e6
"""A byte at 10 Mbit/s, seconds."""
ACK, FULL, SYN, ASKED = 52, 1500, 60, 402
HANDSHAKE = 0.5 + (2 * SYN + ACK) * BIT
"""Of the client with the relay; that of the relay with the server ends before."""
ROUND = 0.54
"""Without what packets take."""


def run(traffic, *, duration="60 s", loss=None, relay: dict | bool = True, **flow) -> bp.Result:
    queue = bp.DropTail("10000 packets")
    links = {
        "net": bp.Link(rate="10 Mbit/s", delay="20 ms", queue=queue),
        "sat": bp.Link(rate="10 Mbit/s", delay="250 ms", queue=queue, loss=loss or []),
    }
    keys = {"at": "gateway", "buffer": "4 MB", **(relay if isinstance(relay, dict) else {})}
    flow = {"cc": "reno", "name": "app", **PROMPT, **flow}
    return bp.run(
        bp.Scenario(
            links=links,
            flows=[bp.Flow(path=["net", "sat"], traffic=traffic, relay=keys if relay else None, **flow)],
            duration=duration,
            seed=1,
            record=bp.Record(transfers=True, flows=False),
        )
    )


def times(found: bp.Result) -> list[float]:
    return found.transfers["completion_s"].drop_nulls().to_list()


def test_a_request_crosses_both_halves_and_its_answer_comes_back() -> None:
    """A request of 152 bytes and an answer of 1052, each sent on when it has come; the server acknowledges
    first. The relay spares the first of them the way to the server in the handshake, and the others nothing.
    """
    wanted = ROUND + (2 * 152 + ACK + 2 * 1052) * BIT
    traffic = bp.Requests("1 kB", think="2 s")
    found = run(traffic)
    took = times(found)
    assert took[0] == pytest.approx(HANDSHAKE + wanted, abs=2e-9)
    assert took[1:] == pytest.approx([wanted] * (len(took) - 1), abs=2e-9) and len(took) > 20
    assert times(run(traffic, relay=False))[1:10] == pytest.approx([wanted] * 9, abs=2e-9)
    starts = found.transfers["start_s"].to_list()
    gaps = [b - a - t for a, b, t in zip(starts[:-1], starts[1:], took, strict=False)]
    assert gaps == pytest.approx([2] * len(gaps))


def test_every_way_has_two_rows_and_each_host_its_own_controller() -> None:
    found = run(bp.Requests("1 kB", think="2 s"), relay={"cc": "hybla"}, stop="50 s")
    rows = found.flows.select("name", "half", "cc", "transfer").rows()
    assert rows == [
        ("app/requests/first", "first", "reno", None),
        ("app/requests/second", "first", "hybla", None),
        ("app/responses/first", "first", "reno", None),
        ("app/responses/second", "second", "hybla", "response"),
    ]
    many = found.transfers.height
    assert found.flows["delivered_bytes"].to_list() == [100 * many] * 2 + [1000 * many] * 2
    assert row(found, "app/responses/second")["completed"] == many
    near, far = 0.04, 0.5
    assert found.flows["rtt_min_s"].to_list() == pytest.approx([far, near, near, far], abs=3e-3)


def test_the_server_grows_its_window_on_the_short_half_and_the_relay_begins_with_its_own() -> None:
    """Thirty segments. The server sends ten, and the others from their first acknowledgement on, after 40 ms.

    The relay may send forty at first, so it sends on each when it comes. Without a relay the server waits for
    the client.
    """
    traffic = bp.Requests(f"{30 * 1448} bytes", think="5 s")
    ask = ROUND / 2 + (2 * 152 + ACK) * BIT
    near = 0.04 + (FULL + ACK) * BIT
    wanted = ask + near + 20 * FULL * BIT + 0.02 + FULL * BIT + 0.25
    assert times(run(traffic, relay={"initial_window": 40}))[0] == pytest.approx(HANDSHAKE + wanted, abs=2e-9)
    # With ten segments at first the relay waits for the client instead: a round trip of its half.
    kept = times(run(traffic))[0]
    later = ask + FULL * BIT + 0.02 + 0.5 + (FULL + ACK) * BIT + 20 * FULL * BIT + 0.25
    assert kept == pytest.approx(HANDSHAKE + later, abs=2e-9)


def test_an_access_delay_is_between_the_server_and_the_relay() -> None:
    traffic = bp.Requests("1 kB", think="2 s")
    plain, late = times(run(traffic)), times(run(traffic, extra_delay="30 ms"))
    # The handshake with the server still ends before the request comes to the relay. The acknowledgement is
    # on its way already when the answer enters the link.
    wanted = [took + 0.06 - ACK * BIT for took in plain[:9]]
    assert late[:9] == pytest.approx(wanted, abs=2e-9)


def web(objects=3, **more) -> bp.Web:
    """Pages whose objects all have one segment; 100 ms of parsing, 5 s of reading."""
    sizes = {"main": "1448 bytes", "embedded": "1448 bytes"}
    return bp.Web(**sizes, objects=objects, parsing="100 ms", reading="5 s", **more)


ONE = ROUND + (2 * ASKED + ACK + 2 * FULL) * BIT
"""An object of one segment."""


def test_a_page_counts_from_the_clients_request_to_its_last_byte_at_the_client() -> None:
    """The answers of three requests at once are one behind the other, an acknowledgement before each."""
    found = run(web())
    page = ONE + 0.1 + ROUND + (2 * ASKED + 3 * (ACK + FULL) + FULL) * BIT
    took = times(found)
    assert took[0] == pytest.approx(HANDSHAKE + page, abs=2e-9)
    assert took[1:] == pytest.approx([page] * (len(took) - 1), abs=2e-9) and len(took) > 6
    seen = row(found, "app/responses/second")
    assert (seen["transfer"], seen["completion_p50_s"]) == ("page", pytest.approx(page, abs=2e-9))
    assert row(found, "app/responses/first")["transfer"] is None


def test_a_further_connection_opens_on_both_halves() -> None:
    found = run(web(2, connections=2), relay={"cc": "hybla"})
    took = times(found)
    assert took[0] == pytest.approx(HANDSHAKE + ONE + 0.1 + ASKED * BIT + HANDSHAKE + ONE, abs=2e-3)
    assert took[1] == pytest.approx(ONE + 0.1 + ONE + (ACK + FULL) * BIT, abs=2e-3)
    names = ["requests/first", "requests/second", "responses/first", "responses/second"]
    assert found.flows["name"].to_list() == [f"app/{name}" for name in names]
    assert row(found, "app/responses/second")["delivered_bytes"] == 3 * 1448 * len(took)
    for of in found.flows.iter_rows(named=True):
        assert sum(v for k, v in of.items() if k.startswith("limited_")) == pytest.approx(1)


@pytest.mark.parametrize("traffic", [bp.Web(reading="2 s", connections=4), bp.Web(reading="2 s")], ids=str)
def test_pages_are_the_same_with_a_relay_as_without(traffic) -> None:
    given, split = (
        run(traffic, relay=relay, duration="100 s").transfers["bytes"].to_list()[:15]
        for relay in (False, True)
    )
    assert given == split and len(given) == 15


@pytest.mark.parametrize(
    "traffic",
    [
        bp.Requests(bp.Exponential("60 kB"), think="1 s"),
        bp.Web(reading="1 s"),
        bp.Web(reading="1 s", connections=6),
        bp.Video(ladder=["500 kbit/s"], buffer="12 s"),
    ],
    ids=["requests", "web", "web-6", "video"],
)
def test_nothing_is_lost_or_made_in_the_relay(traffic) -> None:
    """A twentieth of the packets is lost on the satellite's link, and the buffer has room for 20 segments.

    The client asks no more after 60 s; by 200 s all has come.
    """
    small = {"buffer": f"{20 * 1448} bytes"}
    found = run(traffic, loss=bp.PacketError(0.05), relay=small, stop="60 s", duration="200 s")
    asked, passed, sent, came = found.flows["delivered_bytes"].to_list()
    assert asked == passed > 0 and sent == came > 100_000
    seen = row(found, "app/responses/second")
    assert (
        seen["completed"] >= seen["transfers"] - 1
    )  # of a page the user has left, the rest is never asked for
    assert seen["retransmitted_packets"] > 5
    if isinstance(traffic, bp.Requests | bp.Video):
        assert came == found.transfers["bytes"].sum()


def test_a_video_plays_what_has_come_through_the_relay() -> None:
    found = run(bp.Video(ladder=["1 Mbit/s"], buffer="12 s"))
    starts = found.transfers["start_s"].to_list()
    assert [b - a for a, b in zip(starts[3:-1], starts[4:], strict=True)] == pytest.approx(
        [4] * (len(starts) - 4)
    )
    seen = row(found, "app/responses/second")
    assert (seen["transfer"], seen["video_stalls"], seen["video_bitrate_bps"]) == ("segment", 0, 1e6)
    assert seen["video_startup_s"] == pytest.approx(times(found)[0])
    assert seen["video_startup_s"] + seen["video_played_s"] == pytest.approx(60)
    others = found.flows.filter(pl.col("name") != "app/responses/second")
    assert others["video_stalls"].to_list() == [None] * 3


def test_a_burst_is_over_for_the_server_when_the_relay_has_it_and_complete_when_the_client_has() -> None:
    """Twenty segments in two flights on the server's half; the relay sends on each when it comes."""
    found = run(bp.OnOff(size="28960 bytes", off="5 s"), relay={"initial_window": 40})
    assert found.transfers["flow"].unique().to_list() == ["app/second"]
    last = 0.04 + (FULL + ACK) * BIT + 10 * FULL * BIT + 0.02
    took, starts = times(found), found.transfers["start_s"].to_list()
    assert took[1:] == pytest.approx([last + (FULL + ACK) * BIT + 0.5] * (len(took) - 1), abs=2e-9)
    gaps = [b - a for a, b in zip(starts[1:-1], starts[2:], strict=True)]
    assert gaps == pytest.approx([last + 0.02 + ACK * BIT + 5] * len(gaps), abs=2e-9) and len(gaps) > 7
    assert [row(found, f"app/{half}")["transfer"] for half in ("first", "second")] == [None, "burst"]


def test_a_burst_cut_by_a_stop_still_reaches_the_client() -> None:
    found = run(bp.OnOff(size="10 MB", off="1 s"), stop="3 s")
    (took,) = found.transfers["completion_s"]
    assert 3 < took < 60
    assert row(found, "app/second")["delivered_bytes"] == found.transfers["bytes"].sum() < 10_000_000


def test_written_out_defaults_make_the_same_run() -> None:
    scenario = bp.Scenario(
        links={name: bp.Link(rate="10 Mbit/s", delay="20 ms") for name in ("net", "sat")},
        flows=[
            bp.Flow(
                "cubic", ["net", "sat"], traffic=web(connections=2), extra_delay="3 ms", ack_jitter="2 ms",
                relay={"at": "gateway", "buffer": "1 MB", "cc": "bbr", "initial_window": 20},
            )
        ],
        duration="20 s",
    )  # fmt: skip
    found = bp.run(scenario)
    (given,) = found.scenario["flow"]
    assert (given["extra_delay"], given["ack_jitter"]) == ("3 ms", "2 ms")
    again = bp.run(bp.Scenario.of(found.scenario))
    assert again.json["flows"] == found.json["flows"]


@pytest.mark.parametrize("relay", [True, False])
def test_the_route_of_each_row_is_the_way_of_its_data(relay) -> None:
    found = run(web(), relay=relay, duration="5 s", extra_delay="3 ms")
    ways = [(route(found, name).there, route(found, name).access_s) for name in found.flows["name"]]
    down, up = (("net", "forward"), ("sat", "forward")), (("sat", "reverse"), ("net", "reverse"))
    late = pytest.approx(0.006)
    assert route(found, "app/2/" + found.flows["name"][0].partition("/")[2]).there == ways[0][0]
    if relay:
        assert ways == [(up[:1], 0.0), (up[1:], late), (down[:1], late), (down[1:], 0.0)]
    else:
        assert ways == [(up, late), (down, late)]

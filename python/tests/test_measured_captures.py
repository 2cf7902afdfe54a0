"""Links from captures: several connections together, packets that the card has yet to cut, other paths."""

from __future__ import annotations

import gzip
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

import bentpipe as bp
from bentpipe.measured import Estimates, estimate

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark, which is not here")
RATE, RTT, BUFFER = 8e6, 0.1, 200e3


def holds(found: Estimates, name: str, truth: float, about: float = 0.0) -> bool:
    one = found.of(name)
    assert one is not None
    return one.low * (1 - about) <= truth and (one.bound == "least" or truth <= one.high * (1 + about))


def captured(place: Path, *flows: bp.Flow, duration: str = "15 s", **more: Any) -> Path:
    link = bp.Link(rate="8 Mbit/s", delay="50 ms", queue=bp.DropTail("200 kB"))
    links = {"sat": link, **more}
    bp.run(bp.Scenario(links=links, flows=list(flows), duration=duration, seed=2), pcap=place)
    return place


def test_parallel_connections_are_summed(tmp_path: Path) -> None:
    flows = bp.Flow("cubic", path=["sat"], count=4, start_jitter="1 s")
    found = estimate([captured(tmp_path / "four.pcapng", flows)])
    rate = found.of("rate_bps")
    assert rate is not None and "of 4 connections together" in rate.method
    assert rate.value == pytest.approx(RATE, rel=0.02)
    assert holds(found, "rate_bps", RATE)
    assert holds(found, "rtt_s", RTT, 0.02)
    assert holds(found, "buffer_bytes", BUFFER, 0.02)


def test_a_connection_over_another_path_is_named_and_left_out(tmp_path: Path) -> None:
    other = bp.Link(rate="2 Mbit/s", delay="200 ms", queue=bp.DropTail("30 kB"))
    flows = bp.Flow("cubic", path=["sat"]), bp.Flow("cubic", path=["other"])
    found = estimate([captured(tmp_path / "two.pcapng", *flows, other=other)])
    rate = found.of("rate_bps")
    assert rate is not None and "(not of 1 more over other paths, with " in rate.method
    assert rate.value == pytest.approx(RATE, rel=0.02)


def offloaded(whole: bytes, records: int) -> bytes:
    """A pcapng with runs of data packets as one record each, as a capture before the card cuts them has them.

    Packets of one instant that follow each other in the sequence become one; lengths and sequence numbers
    are those of IPv4 and TCP (RFC 791, RFC 9293).
    """
    found, run = bytearray(), []

    def data(block: bytes) -> tuple[int, int, bytes] | None:
        kind, _, _, _, _, size, _ = struct.unpack_from("<7I", block)
        packet = block[28 : 28 + size]
        if kind != 6 or packet[9] != 6:
            return None
        heads = 20 + 4 * (packet[32] >> 4)
        length = struct.unpack_from(">H", packet, 2)[0] - heads
        return (struct.unpack_from(">I", packet, 24)[0], length, packet[:heads]) if length else None

    def flush() -> None:
        if run:
            (_, _, heads), total = data(run[0]), sum(data(block)[1] for block in run)  # type: ignore[misc, index]
            packet = heads[:2] + struct.pack(">H", len(heads) + total) + heads[4:] + bytes(total)
            padded = packet + bytes(-len(packet) % 4)
            size = 32 + len(padded)
            found.extend(
                struct.pack("<2I", 6, size) + run[0][8:20] + struct.pack("<2I", len(packet), len(packet))
            )
            found.extend(padded + struct.pack("<I", size))
            run.clear()

    at = 0
    while at < len(whole):
        size = struct.unpack_from("<I", whole, at + 4)[0]
        block, at = whole[at : at + size], at + size
        one = data(block)
        before = data(run[-1]) if run else None
        if one is None or before is None or one[0] != before[0] + before[1] or len(run) == records:
            flush()
        if one is None:
            found.extend(block)
        else:
            run.append(block)
    flush()
    return bytes(found)


@pytest.mark.parametrize("records", [2, 8])
def test_headers_of_packets_that_the_card_cuts_are_counted_for_each_segment(
    tmp_path: Path, records: int
) -> None:
    """Counted once for each record, they made the rate 1.7 % (2 to a record) or 3 % (8) too low."""
    loss = bp.PacketError(2e-3)
    link = bp.Link(rate="8 Mbit/s", delay="50 ms", queue=bp.DropTail("200 kB"), loss=loss)
    scenario = bp.Scenario(links={"sat": link}, flows=[bp.Flow("bbr", path=["sat"])], duration="30 s", seed=2)
    bp.run(scenario, pcap=tmp_path / "plain.pcapng")
    place = tmp_path / "tso.pcapng.gz"
    place.write_bytes(gzip.compress(offloaded((tmp_path / "plain.pcapng").read_bytes(), records), 1))
    plain, found = estimate([tmp_path / "plain.pcapng"]), estimate([place])
    rate, before = found.of("rate_bps"), plain.of("rate_bps")
    assert rate is not None and before is not None
    assert rate.value == pytest.approx(before.value, rel=1e-3) == pytest.approx(RATE, rel=0.01)
    assert holds(found, "loss", 2e-3)

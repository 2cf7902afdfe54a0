"""The gallery of docs/gallery.md: it shows every controller, and what it marks is what happened."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bentpipe as bp
from bentpipe.experiments import gallery

ROOT = Path(__file__).parents[2]


def test_every_controller_has_its_section_and_its_figure():
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    for entry in bp.controllers():
        assert f"\n## {entry['label']}\n" in text, entry["id"]
        assert f"](gallery/{entry['id']}.svg)](controllers/{entry['id']}.md)" in text


def test_timeouts_are_found_where_they_are():
    # Without tail loss probes, which put the timeout off. Everything is lost from 10 s to 16 s.
    # The last ACK of what was sent before comes at 10.5 s and starts the timer anew. It is at least 1 s
    # longer than the round trip of 0.5 s: the first timeout is at 12.0 s, or little later. It doubles, so
    # that others follow 3 s and 6 s after it. The last retransmission goes through.
    outage = bp.Outage(from_="10 s", to="16 s")
    link = bp.Link(rate="1 Mbit/s", delay="250 ms", queue=bp.DropTail("100 packets"), loss=outage)
    flow = bp.Flow("reno", path=["sat"], initial_ssthresh=20, receive_window="30 segments", tlp=False)
    scenario = bp.Scenario(links={"sat": link}, flows=[flow], duration="120 s")
    total = bp.run(scenario).json["flows"][0]["timeouts"]
    found = gallery.timeouts(scenario, total)
    assert total == len(found) == 3
    assert found == pytest.approx([12.0, 15.1, 21.2], abs=0.3)
    assert gallery.timeouts(dataclasses.replace(scenario, duration="120 s"), 0) == []


@given(st.lists(st.floats(0, 100), min_size=2, max_size=60), st.floats(0.01, 20))
def test_a_thinned_line_is_as_near_as_asked(values, tolerance):
    x, y = np.arange(float(len(values))), np.array(values)
    kept = gallery.thinned(x, y, tolerance)
    assert kept[0][0] == 0 and kept[0][-1] == len(values) - 1
    assert set(zip(*kept, strict=True)) <= set(zip(x, y, strict=True))
    # The distance to a line is its vertical part times the cosine of the slope.
    steepest = np.max(np.abs(np.diff(kept[1]) / np.diff(kept[0])))
    off = np.abs(np.interp(x, *kept) - y) / np.hypot(1, steepest)
    assert np.all(off <= tolerance * (1 + 1e-9))


def test_a_page_that_shows_other_runs_is_found(tmp_path, monkeypatch):
    entries = [entry for entry in bp.controllers() if entry["id"] in ("reno", "fast")]
    monkeypatch.setattr(bp, "controllers", lambda: entries)
    assert gallery.Gallery(tmp_path).run() == [tmp_path / "gallery.md"]
    assert gallery.Gallery(tmp_path).stale() == []
    figures = sorted((tmp_path / "gallery").iterdir())
    assert [figure.name for figure in figures] == ["fast.svg", "reno.svg"]
    for figure in figures:
        texts = ET.parse(figure).getroot().iter("{http://www.w3.org/2000/svg}text")
        shown = " ".join("".join(text.itertext()) for text in texts)
        assert all(title in shown for title in gallery.PANELS)
        assert figure.stat().st_size < 25_000
    # One window a tenth of a segment wider.
    measure = gallery.Gallery.measure

    def wider(self, case, result):
        row = measure(self, case, result)
        if case.keys["cc"] == "reno":
            row["cwnd"][50] += 0.1
        return row

    with monkeypatch.context() as patch:
        patch.setattr(gallery.Gallery, "measure", wider)
        assert gallery.Gallery(tmp_path).stale() == ["gallery.md does not agree with the runs"]

"""The page of a constellation: its data against the tables, its size, and what a reader does; and the map."""

from __future__ import annotations

import base64
import gzip
import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import browser
import forms
import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe import _core
from bentpipe.orbit import figures, globe, loads, networks

CITIES = ["Tokyo", "Paris", "Lagos", "Sao Paulo"]
#: Reached by no satellite of the shell: a station without a path.
NORTH = bp.orbit.Point("Longyearbyen", 78.2, 15.6)
LIGHT_KM_S = 299_792.458

needs_chromium = pytest.mark.skipif(browser.CHROMIUM is None, reason="needs Chromium, which is not here")


@pytest.fixture(name="made", scope="module")
def _made() -> networks.Network:
    shell = {"shell": "hypatia-kuiper-k1", "reach": "length"}
    return networks.network([*CITIES, NORTH], duration="60 s", step="1 s", **shell)


def load_of(made: networks.Network) -> pl.DataFrame:
    """Two intervals: a laser in both directions, a port up and a port down; another laser is never busy."""
    (a, b), (c, d) = made.lasers[0], made.lasers[9]
    up = len(made.satellites)
    rows = [
        (0.0, a, b, 0.25, 0.5, 0), (0.0, b, a, 0.75, 12.25, 3), (0.0, up, None, 1.0, 40.0, 9),
        (0.0, c, d, 0.0, 0.0, 0), (30.0, a, b, 0.5, 2.0, 1), (30.0, b, None, 0.1, 0.0, 0),
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=list(loads.COLUMNS), orient="row")


def decoded(html: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What the page holds, read as its script does: base 85 with a point for "<", gzip, planes of bytes."""
    known = json.loads(re.findall(r'<script type="application/json" id="known">(.*?)</script>', html)[0])
    text = re.findall(r'<script type="text/plain" id="arrays">(.*?)</script>', html)[0]
    content = gzip.decompress(base64.b85decode(text.replace(".", "<")))
    arrays = {}
    for name, (start, count) in known["arrays"].items():
        planes = np.frombuffer(content, np.uint8, 4 * count, start).reshape(4, count).astype(np.int64)
        arrays[name] = planes[0] + (planes[1] << 8) + (planes[2] << 16) + (planes[3] << 24)
    return known, arrays


def paths_of(known: dict[str, Any], arrays: dict[str, np.ndarray]) -> pl.DataFrame:
    """The paths of a page in the form of `Network.paths`, without delays."""
    first, count = known["count"], len(known["stations"])
    ends = np.cumsum([0, *arrays["route_length"]])
    routes = [arrays["route_via"][a:b].tolist() for a, b in zip(ends, ends[1:], strict=False)]
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    rows, at = [], 0
    for (a, b), many in zip(pairs, arrays["path_rows"], strict=True):
        for row in range(at, at + many):
            chosen = int(arrays["path_route"][row])
            way = routes[(chosen - 1) // 2] if chosen else []
            way = way if chosen % 2 else way[::-1]
            rows.append((arrays["path_step"][row] * known["step_s"], first + a, first + b, way, chosen > 0))
        at += many
    return pl.DataFrame(rows, schema=["t_s", "from", "to", "via", "reached"], orient="row")


def test_the_paths_of_the_page_are_those_of_the_tables(made: networks.Network) -> None:
    found = paths_of(*decoded(globe.html(made)))
    wanted = made.paths.sort("from", "to", "t_s")
    assert found["via"].to_list() == wanted["via"].to_list()
    assert found["reached"].to_list() == wanted["delay_s"].is_not_null().to_list()
    for name in ("t_s", "from", "to"):
        assert found[name].to_list() == wanted[name].to_list()
    assert not found["reached"].all() and found.filter(pl.col("t_s") > 0).height > 10


def test_positions_of_the_page_give_the_delays_of_the_tables(made: networks.Network) -> None:
    """At the instants of knots, where nothing is interpolated; 16 bits round positions to 0.1 km."""
    known, arrays = decoded(globe.html(made))
    knots = (arrays["knots"] - 32_768).reshape(-1, known["count"], 3) * known["unit_km"]
    places = np.vstack([knots[0], [station[1:] for station in known["stations"]]])
    start = made.paths.filter(pl.col("t_s") == 0, pl.col("delay_s").is_not_null())
    assert start.height == 12
    for _, a, b, way, delay_s in start.iter_rows():
        legs = np.diff(places[[a, *way, b]], axis=0)
        assert np.linalg.norm(legs, axis=1).sum() / LIGHT_KM_S == pytest.approx(delay_s, abs=3e-6)


def test_loads_of_the_page_are_those_of_the_frame(made: networks.Network) -> None:
    known, arrays = decoded(globe.html(made, load_of(made)))
    assert (known["load"]["starts"], known["load"]["end_s"]) == ([0.0, 30.0], 60.0)
    (a, b), up = made.lasers[0], len(made.satellites)
    links = list(zip(arrays["load_from"].tolist(), arrays["load_to"].tolist(), strict=True))
    assert sorted(links) == sorted([(a, b + 1), (b, a + 1), (up, 0), (b, 0)])
    busy, queue, dropped = (arrays[f"load_{name}"].reshape(2, 4) for name in ("busy", "queue", "dropped"))
    back, port = links.index((b, a + 1)), links.index((up, 0))
    assert (busy[0, back], queue[0, back], dropped[0, back]) == (75, 122, 3)
    assert (busy[0, port], busy[1, port]) == (100, 0)
    assert (busy[1, links.index((a, b + 1))], busy[1, links.index((b, 0))]) == (50, 10)


def test_intervals_of_a_long_load_are_joined(made: networks.Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(globe, "MOST_CELLS", 4)
    known, arrays = decoded(globe.html(made, load_of(made)))
    assert known["load"]["starts"] == [0.0]
    links = list(zip(arrays["load_from"].tolist(), arrays["load_to"].tolist(), strict=True))
    a, b = made.lasers[0]
    one = links.index((a, b + 1))
    # Means of 0.25 and 0.5, and of 0.5 and 2 packets; one is dropped.
    assert (arrays["load_busy"][one], arrays["load_queue"][one], arrays["load_dropped"][one]) == (38, 12, 1)


def test_a_page_of_a_whole_shell_is_small(made: networks.Network) -> None:
    """100 cities and 200 s in the long form: 52,716 rows of paths in 0.40 MB."""
    shell = {"shell": "hypatia-kuiper-k1", "reach": "length"}
    whole = forms.form(made, None) or networks.network(duration="200 s", **shell)
    html = globe.html(whole)
    assert len(html) < forms.form(300_000, 1_000_000)
    assert "http://" not in html.replace("http://www.w3.org", "") and "fetch(" not in html


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda load: load.drop("busy"), "has no column 'busy'; it has t_s, from"),
        (lambda load: load.with_columns(busy=pl.lit("x")), "busy is String"),
        (lambda load: load.with_columns(pl.col("from") + 0.5), "from is Float64; it is a whole number"),
        (lambda load: load.with_columns(t_s=60.0), "row 1: t_s is 60.0; the network lasts from 0 s to 60 s"),
        (lambda load: load.with_columns(busy=1.5), "row 1: busy is 1.5; a share is 0 to 1"),
        (lambda load: load.with_columns(pl.col("from") + 5000), "row 1: from is 5"),
        (lambda load: load.with_columns(to=pl.col("from")), "row 1: there is no laser from 0 to 0"),
        (lambda load: load.with_columns(queue_mean_packets=float("nan")), "row 1: queue_mean_packets is nan"),
        (lambda load: load.with_columns(dropped_packets=-1), "row 1: dropped_packets is -1"),
        (lambda load: pl.concat([load, load[1:2]]), "row 7: an earlier row has the same link"),
    ],
)
def test_a_load_of_another_network_is_refused(
    made: networks.Network, change: Callable[[pl.DataFrame], pl.DataFrame], said: str
) -> None:
    with pytest.raises(_core.ScenarioError, match=re.escape(said)):
        globe.html(made, change(load_of(made)))


def test_what_no_page_can_show_is_refused(
    made: networks.Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(_core.ScenarioError, match="name two or more"):
        globe.html(replace(made, stations=made.stations[:1]))
    (tmp_path / "notes.html").write_text("mine")
    with pytest.raises(_core.ScenarioError, match="no page of Bentpipe"):
        bp.orbit.page(made, tmp_path / "notes.html")
    monkeypatch.setattr(globe, "MOST_PATHS", 5)
    with pytest.raises(_core.ScenarioError, match="a page takes 5; name fewer stations"):
        globe.html(made)


def test_a_name_ends_no_script(made: networks.Network) -> None:
    nasty = replace(made.stations[0], name="</script><script>alert(1)</script>")
    html = globe.html(replace(made, stations=[nasty, *made.stations[1:]]))
    assert html.count("<script") == html.count("</script>") == 4


def test_the_map_has_the_load_of_the_instant(made: networks.Network) -> None:
    load = load_of(made)
    drawn = figures.network(made, load, 29.0).data
    assert drawn.height == len(made.lasers)
    assert drawn.row(0) == (*made.lasers[0], 0.25, 0.75)
    assert drawn.row(9) == (*made.lasers[9], 0.0, 0.0)
    assert figures.network(made, load, 30.0).data.row(0)[2:] == (0.5, 0.0)
    (legend,) = [axes.get_legend() for axes in figures.network(made, load).axes if axes.get_legend()]
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["idle laser", "satellite", "station"]
    with pytest.raises(_core.ScenarioError, match="the instant is 61 s; the network lasts from 0 s to 60 s"):
        figures.network(made, load, 61.0)


def test_a_stored_network_is_the_same(made: networks.Network, tmp_path: Path) -> None:
    networks.write(made, tmp_path)
    again = networks.read(tmp_path)
    assert again.tables.equals(made.tables) and again.paths.equals(made.paths)
    assert globe.html(again) == globe.html(made)
    (tmp_path / "paths.parquet").write_bytes(b"PAR1")
    with pytest.raises(_core.ScenarioError, match="holds a damaged network"):
        networks.read(tmp_path)
    with pytest.raises(_core.ScenarioError, match="holds no network; bentpipe orbit network -o"):
        networks.read(tmp_path / "elsewhere")


def test_the_commands_write_page_and_map(cli: Callable[..., SimpleNamespace], tmp_path: Path) -> None:
    (tmp_path / "load.csv").write_text(
        "t_s,from,to,busy,queue_mean_packets,dropped_packets\n0,0,1,0.5,2,1\n0,0,,1,3.5,0\n"
    )
    options = ["--shell", "hypatia-kuiper-k1", "--for", "2 s", "-o", tmp_path / "net"]
    options += ["--page", tmp_path / "net.html", "--load", tmp_path / "load.csv"]
    said = cli("orbit", "network", "Tokyo", "Paris", *options)
    assert f"written to {tmp_path / 'net.html'}" in said.stdout.replace("\n", "")
    known, arrays = decoded((tmp_path / "net.html").read_text("utf-8"))
    assert [station[0] for station in known["stations"]] == ["Tokyo", "Paris"]
    assert arrays["load_busy"].tolist() == [100, 50]
    numbers = tmp_path / "map.csv"
    cli("plot", "network", tmp_path / "net", "--load", tmp_path / "load.csv", "-o", tmp_path / "map.svg",
        "--data", numbers)  # fmt: skip
    assert (tmp_path / "map.svg").read_text("utf-8").startswith("<?xml")
    assert pl.read_csv(numbers).row(0) == ("map", 0, 1, 0.5, 0.0)
    for wrong, words in (
        (["--load", tmp_path / "load.csv"], "--load is drawn by --page"),
        (["--page", tmp_path / "net.txt"], "the name of a page ends in .html"),
        (["--page", tmp_path / "n.html", "--load", numbers], "has no column 't_s'"),
    ):
        said = cli("orbit", "network", *wrong)
        assert said.exit_code == 2 and words in said.stderr


def shown(window: browser.Browser, t_s: float) -> dict[str, Any]:
    """Goes to an instant by the slider, and returns what is said there."""
    window.run(f"""(() => {{
      const slider = document.getElementById("time");
      slider.value = {t_s};
      slider.dispatchEvent(new Event("input"));
    }})()""")
    return until(window, lambda now: now["t"] == t_s)


def until(window: browser.Browser, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        now: dict[str, Any] = json.loads(window.run("document.body.dataset.shown ?? '{}'"))
        if now and holds(now):
            return now
        time.sleep(0.05)
    raise TimeoutError


@needs_chromium
def test_the_page_shows_the_path_of_the_tables(
    made: networks.Network, window: browser.Browser, tmp_path: Path
) -> None:
    page, first = tmp_path / "net.html", len(made.satellites)
    bp.orbit.page(made, page, load_of(made))
    window.open(page.as_uri() + "#from=Lagos&to=Tokyo&t=0")
    until(window, lambda now: now["from"] == "Lagos")
    names = [point.name for point in made.stations]
    ends = first + names.index("Lagos"), first + names.index("Tokyo")
    rows = made.paths.filter(pl.col("from") == ends[0], pl.col("to") == ends[1])
    assert rows.height > 1
    for nth, (t_s, _, _, via, delay_s) in enumerate(rows.iter_rows()):
        now = shown(window, t_s)
        assert now["path"] == [ends[0], *via, ends[1]]
        # Between knots the positions are interpolated.
        assert now["delay_s"] == pytest.approx(delay_s, abs=3e-6)
        assert now["next_s"] == (rows["t_s"][nth + 1] if nth + 1 < rows.height else None)
    assert shown(window, 10)["path"] == [
        ends[0],
        *rows.filter(pl.col("t_s") <= 10)["via"][-1],
        ends[1],
    ]
    heads = window.run("[...document.querySelectorAll('#loaded tr')].map(row => row.innerText)")
    assert heads[0].split("\t") == ["up from Tokyo", "100", "40.0", "9"]
    assert heads[1].split("\t")[1:] == ["75", "12.2", "3"]
    assert window.errors == [] and window.requests == []


@needs_chromium
def test_stations_that_relay_are_on_the_path(window: browser.Browser, tmp_path: Path) -> None:
    shell = {"shell": "hypatia-kuiper-k1", "reach": "length", "lasers": [], "relays": True}
    warsaw = bp.orbit.Point("Warsaw", 52.23, 21.01)
    made = networks.network(["Paris", "Madrid", warsaw], duration="1 s", **shell)
    first = len(made.satellites)
    via = made.paths.filter(pl.col("from") == first + 1, pl.col("to") == first + 2)["via"][0].to_list()
    assert first in via  # Paris is between Madrid and Warsaw, 2,290 km apart
    assert paths_of(*decoded(globe.html(made)))["via"].to_list() == made.paths["via"].to_list()
    bp.orbit.page(made, tmp_path / "net.html")
    window.open((tmp_path / "net.html").as_uri() + "#from=Madrid&to=Warsaw")
    now = until(window, lambda now: now["from"] == "Madrid")
    assert now["path"] == [first + 1, *via, first + 2]
    assert ", Paris, satellite " in window.run("document.getElementById('over').textContent")
    assert window.errors == []


@needs_chromium
def test_keys_the_address_and_the_play_button(
    made: networks.Network, window: browser.Browser, tmp_path: Path
) -> None:
    page = tmp_path / "net.html"
    bp.orbit.page(made, page)
    window.open(page.as_uri() + "#from=Paris&to=Longyearbyen&t=7&map=flat")
    assert until(window, lambda now: now["t"] == 7)["path"] is None
    assert "no path" in window.run("document.getElementById('facts').innerText")
    window.run("document.getElementById('swap').click()")
    until(window, lambda now: now["from"] == "Longyearbyen")
    assert window.run("location.hash") == "#from=Longyearbyen&to=Paris&t=7&map=flat"
    window.run("location.hash = '#from=Paris&to=Atlantis&t=3'")
    until(window, lambda now: now["t"] == 3)
    assert "Atlantis, which is no station" in window.run("document.getElementById('wrong').innerText")
    picture = "document.getElementById('sky').toDataURL()"
    before = window.run(picture)
    window.run(
        """document.getElementById("sky").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft" }))"""
    )
    end = time.monotonic() + 30
    while window.run(picture) == before:
        assert time.monotonic() < end
    window.run("document.getElementById('play').click()")
    until(window, lambda now: now["t"] > 3)
    window.run("document.getElementById('play').click()")
    assert window.run("document.getElementById('play').textContent") == "Play"
    assert window.errors == []


@needs_chromium
def test_the_pointer_names_what_is_near(
    made: networks.Network, window: browser.Browser, tmp_path: Path
) -> None:
    page = tmp_path / "net.html"
    bp.orbit.page(replace(made, lasers=[]), page)
    window.open(page.as_uri() + "#from=Paris&to=Lagos&t=0")
    until(window, lambda now: now["from"] == "Paris")
    found = window.run("""(() => {
      const sky = document.getElementById("sky"), box = sky.getBoundingClientRect(), names = new Set();
      for (let y = 4; y < box.height; y += 8) for (let x = 4; x < box.width; x += 8) {
        sky.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + y }));
        if (!document.getElementById("tip").hidden) names.add(document.getElementById("tip").textContent);
      }
      return [...names];
    })()""")
    # Tokyo is behind the Earth.
    assert {"Paris", "Lagos"} <= set(found) and "Tokyo" not in found
    assert sum(bool(re.fullmatch(r"satellite \d+", name)) for name in found) > 100


@needs_chromium
def test_the_page_fits(made: networks.Network, window: browser.Browser, tmp_path: Path) -> None:
    page = tmp_path / "net.html"
    bp.orbit.page(made, page, load_of(made))
    assert browser.faults(window, page) == []

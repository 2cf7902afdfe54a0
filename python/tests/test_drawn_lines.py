"""Links whose time line is drawn for each run: from the scenario's text to the simulator, in every verb."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from privilege import needs_root

import bentpipe as bp
from bentpipe.drawn import lines as recipes
from bentpipe.drawn.recipe import Recipe
from bentpipe.presets.draft import draft
from bentpipe.registry import DRAWN, shipped_files
from bentpipe.schema import scenario_schema
from bentpipe.source import Source
from bentpipe.sweeps.plan import Plan

SHORT = """
duration = "20 s"
seed = 3

[link.sky]
timeline = { generator = "starlink", rate_median = "20 Mbit/s" }
loss = { kind = "packet-error", rate = 1e-4 }
reverse = { rate = "3 Mbit/s" }

[[flow]]
cc = "reno"
path = ["sky"]
"""


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder for all tests here."""
    whole = tmp_path_factory.getbasetemp() / "starlink-cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(whole))
    return whole / "bentpipe" / "timeline"


@pytest.fixture
def short(tmp_path: Path) -> Path:
    file = tmp_path / "short.toml"
    file.write_text(SHORT)
    return file


def test_a_recipe_becomes_a_file_and_outages_for_the_seed_of_the_run() -> None:
    table = {**tomllib.loads(SHORT), "duration": "200 s"}
    drawn = recipes.with_lines(table)
    link, recipe = drawn["link"]["sky"], Recipe(rate_median=20e6)
    assert bp.timeline.read(link["timeline"]).equals(recipe.line(3, 200.0))
    outages = [
        {"kind": "outage", "from": f"{begin * 1e3:.0f} ms", "to": f"{end * 1e3:.0f} ms"}
        for begin, end in recipe.outages(3, 200.0)
    ]
    assert link["loss"] == [{"kind": "packet-error", "rate": 1e-4}, *outages] and outages
    assert link["reverse"] == {"rate": "3 Mbit/s", "loss": outages}
    assert link["nominal"] == {"rate": "20000000 bit/s", "delay": "14598 us"}
    assert table == {**tomllib.loads(SHORT), "duration": "200 s"}  # as it was
    other = recipes.with_lines({**table, "seed": 4})
    assert other["link"]["sky"]["timeline"] != link["timeline"]
    fixed = {**table["link"]["sky"]["timeline"], "seed": 3}
    for seed in (4, 5):
        same = recipes.with_lines({**table, "seed": seed, "link": {"sky": {"timeline": fixed}}})
        assert bp.timeline.read(same["link"]["sky"]["timeline"]).equals(recipe.line(3, 200.0))


def test_all_packets_are_lost_in_an_outage_in_both_directions(short: Path) -> None:
    scenario = bp.Scenario.load(
        short, {"duration": "200 s", "record.interval": "50 ms", "record.links": True}
    )
    found = bp.run(scenario).link_trace.sort("t_s")
    for begin, end in Recipe(rate_median=20e6).outages(3, 200.0):
        for direction in ("sky/forward", "sky/reverse"):
            rows = found.filter(found["link"].cast(str) == direction)
            inside = rows.filter((rows["t_s"] > begin + 0.1) & (rows["t_s"] <= end))
            if inside.height > 1:  # what is in flight still arrives
                assert inside["delivered_packets"].n_unique() <= 2, (direction, begin)


def test_a_sweep_and_a_comparison_draw_anew_for_each_seed(short: Path, cache: Path) -> None:
    plan = Plan(short, ["link.sky.timeline.share=0.5, 1.0"], seeds=2)
    assert plan[0].keys == {"link.sky.timeline.share": 0.5}
    assert [case.scenario["link"]["sky"]["timeline"]["share"] for case in plan] == [0.5, 1.0, 0.5, 1.0]
    files = {json.loads(case.text)["link"]["sky"]["timeline"] for case in plan}
    assert len(files) == 4
    assert {plan.run_key(n) for n in range(4)} == {f"{name}-{seed}" for name in plan.names for seed in (3, 4)}
    for file in files:  # drawn again, where it was deleted
        text = Path(file).read_text()
        Path(file).unlink()
        assert {json.loads(case.text)["link"]["sky"]["timeline"] for case in plan} == files
        assert Path(file).read_text() == text
    rows = bp.compare(bp.Scenario.load(short), ["reno"], seeds=3)
    assert rows["goodput_low_bps"][0] < rows["goodput_high_bps"][0]
    single = [bp.run(bp.Scenario.load(short), seed=n).flows["goodput_bps"][0] for n in (1, 2, 3)]
    assert rows["goodput_bps"][0] == pytest.approx(sum(single) / 3)


def test_a_change_of_the_generator_is_another_point(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bentpipe.sweeps import fingerprint

    before = Plan(short).names
    assert Plan(short).names == before
    monkeypatch.setattr(fingerprint, "code_hash", lambda: "other")
    assert Plan(short).names != before


def test_a_stored_result_keeps_the_recipe_and_runs_again_without_the_cache(short, cache, tmp_path) -> None:
    result = bp.run(short)
    recipe = {"generator": "starlink", "rate_median": "20 Mbit/s"}
    assert result.scenario["link"]["sky"]["timeline"] == recipe
    loss = [{"kind": "packet-error", "rate": 1e-4}]
    assert result.scenario["link"]["sky"]["loss"] == loss
    result.save(tmp_path / "kept")
    shutil.rmtree(cache)
    again = bp.run(tmp_path / "kept")
    assert again.flows.equals(result.flows)
    (many,) = bp.run_many([short])
    assert many.scenario == result.scenario and many.flows.equals(result.flows)
    assert json.loads(bp.Scenario.load(short).to_json())["link"]["sky"]["timeline"] == recipe


def test_overrides_reach_a_recipe(short: Path, tmp_path: Path) -> None:
    def line(*pairs: tuple[str, str], of: str = "sky"):
        return Source(short).load(pairs)["link"][of].get("timeline")

    base = {"generator": "starlink", "rate_median": "20 Mbit/s"}
    assert line() == base
    assert line(("link.sky.timeline.share", "0.5")) == {**base, "share": 0.5}
    assert line(("link.*.timeline.rate_median", "5 Mbit/s"))["rate_median"] == "5 Mbit/s"
    assert line(("link.sky.timeline", '{ generator = "starlink" }')) == {"generator": "starlink"}
    other = tmp_path / "other.csv"
    other.write_text("t_s,rate_bps,delay_s\n0,1e6,0.01\n")
    replaced = line(("link.sky.timeline", f'"{other}"'))
    assert replaced == str(other)
    up = [("link.sky.reverse.timeline", '{ generator = "starlink", direction = "up" }')]
    assert Source(short).load(up)["link"]["sky"]["reverse"]["timeline"]["direction"] == "up"
    made = Source("geo").load([("link.*.timeline", '{ generator = "starlink" }')])
    assert [link["timeline"] for link in made["link"].values()] == [{"generator": "starlink"}]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"starlink"', '"starling"', "link.sky.timeline.generator: .*starlink"),
        ("rate_median", "rate_mean", "link.sky.timeline: .*rate_median"),
        ('"20 Mbit/s"', '"20"', "link.sky.timeline.rate_median: .*is not a rate"),
        ('"20 Mbit/s"', '"20 Mbit/s", profile = "fixed"', "link.sky.timeline.profile fixed: no data"),
        ('"20 Mbit/s"', '"20 Mbit/s", share = 2', "link.sky.timeline.share: 2 is not a number above 0"),
        ('"20 Mbit/s"', '"20 Mbit/s", seed = 1.5', "link.sky.timeline.seed: 1.5 is not a whole number"),
        ('"20 Mbit/s"', '"20 Mbit/s", blackout = "long"', "link.sky.timeline.blackout"),
        ('cc = "reno"', 'cc = "renno"', "renno"),
    ],
)
def test_a_wrong_recipe_is_named_by_its_key(short: Path, old: str, new: str, said: str) -> None:
    short.write_text(SHORT.replace(old, new, 1))
    with pytest.raises(bp.ScenarioError, match=said):
        bp.Scenario.load(short)


@pytest.mark.parametrize("name", sorted(path.stem for path in DRAWN.glob("*.toml")))
def test_a_preset_runs_in_every_verb(name: str, cli, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    assert name in shipped_files()
    table = tomllib.loads((DRAWN / f"{name}.toml").read_text())
    jsonschema.Draft202012Validator(scenario_schema()).validate(table)
    listed = json.loads(cli("scenario", "list", "--json").stdout)["scenarios"]
    assert name in [one["name"] for one in listed]
    assert 'generator = "starlink"' in cli("scenario", "show", name).stdout
    ran = cli("run", name, "--set", "duration=5s", "--json")
    assert ran.exit_code == 0 and json.loads(ran.stdout)["flows"][0]["goodput_bps"] > 1e6
    raced = cli("compare", "--link", name, "--cc", "reno,bbr", "--for", "3 s", "--seeds", 2, "--json")
    assert raced.exit_code == 0, raced.stderr
    only = len(table["flow"]) == 1  # of several flows a draft keeps all
    (tmp_path / "new.toml").write_text(draft(base=name, cc=["reno"] if only else None))
    assert bp.run(tmp_path / "new.toml", seed=2).flows["goodput_bps"][0] > 1e6


def test_both_directions_at_once_cross_the_link_of_either_preset() -> None:
    both, down, up = (
        tomllib.loads((DRAWN / f"{name}.toml").read_text())
        for name in ("starlink", "starlink-down", "starlink-up")
    )
    link = both["link"]["starlink"]
    assert link == down["link"]["starlink"]
    mirror = {**link["reverse"], "reverse": {key: link[key] for key in ("timeline", "queue", "loss")}}
    assert up["link"]["starlink"] == mirror
    assert [flow["path"] for flow in both["flow"]] == [["starlink"], ["starlink/reverse"]]


def test_a_sweep_gives_both_flows_of_the_preset_an_algorithm() -> None:
    plan = Plan("starlink", ["flow.*.cc=cubic, bbr", "duration=5s"])
    assert [[flow["cc"] for flow in case.scenario["flow"]] for case in plan] == [["cubic"] * 2, ["bbr"] * 2]
    for case in plan:
        result = bp.run(case.scenario)
        down, up = result.flows["goodput_bps"]
        assert down > 2 * up > 0


def test_old_files_of_the_cache_are_removed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "MOST_FILES", 3)
    table = tomllib.loads(SHORT)
    drawn = [recipes.with_lines({**table, "seed": seed})["link"]["sky"]["timeline"] for seed in range(50, 56)]
    assert len(list(cache.glob("*.csv"))) == 3
    assert Path(drawn[-1]).is_file()


@needs_root
def test_the_emulator_draws_too(tmp_path: Path) -> None:
    out = tmp_path / "kept"
    command = [
        sys.executable,
        "-m",
        "bentpipe",
        "emulate",
        "starlink-up",
        "--for",
        "20 s",
        "--trace",
        str(out),
    ]
    ping = ["ping", "-c", "3", "-i", "0.2", "10.77.0.2"]
    done = subprocess.run(
        [*command, "--trace", str(out), "--", *ping], capture_output=True, text=True, timeout=120
    )
    trips = [float(line.split("time=")[1].split()[0]) for line in done.stdout.splitlines() if "time=" in line]
    assert trips and all(26 < trip < 1000 for trip in trips), done.stderr
    kept = bp.Result.load(out).scenario["link"]["starlink"]
    assert kept["timeline"] == {"generator": "starlink", "profile": "car-2024", "direction": "up"}
    assert [loss["kind"] for loss in kept["loss"]] == ["gilbert-elliott"]

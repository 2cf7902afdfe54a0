"""Links whose time line is drawn for each run: from the scenario's text to the simulator, in every verb."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from privilege import needs_root

import bentpipe as bp
from bentpipe.document.schema import scenario_schema
from bentpipe.document.source import Source
from bentpipe.presets.draft import draft
from bentpipe.registry import SCENARIOS, shipped_files
from bentpipe.sweeps.plan import Plan
from bentpipe.timeline.drawn import draw

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


@pytest.fixture
def short(tmp_path: Path) -> Path:
    file = tmp_path / "short.toml"
    file.write_text(SHORT)
    return file


RECIPE = tomllib.loads(SHORT)["link"]["sky"]["timeline"]


def test_a_drawn_line_is_what_a_file_and_outages_would_be(short: Path, tmp_path: Path) -> None:
    """The same link with the draw written out: a file, outages among the losses, and nominal values."""
    table = {**tomllib.loads(SHORT), "duration": "200 s"}
    drawn = draw(RECIPE, 3, 200.0)
    bp.timeline.write(drawn.line, tmp_path / "line.csv")
    lost = [
        {"kind": "outage", "from": f"{begin * 1e3:.0f} ms", "to": f"{end * 1e3:.0f} ms"}
        for begin, end in drawn.outages
    ]
    assert lost and drawn.nominal == {"rate": "20000000 bit/s", "delay": "14598 us"}
    link = table["link"]["sky"]
    written = {
        **link,
        "timeline": str(tmp_path / "line.csv"),
        "nominal": drawn.nominal,
        "loss": [link["loss"], *lost],
        "reverse": {**link["reverse"], "loss": lost},
    }
    one, other = (bp.run(of).json for of in (table, {**table, "link": {"sky": written}}))
    assert one["packets"] > 10_000
    assert {**one, "wall_s": 0} == {**other, "wall_s": 0}
    assert bp.run({**table, "seed": 4}).json["flows"] != one["flows"]


def test_a_seed_of_its_own_is_the_draw_of_every_run() -> None:
    fixed = {**RECIPE, "seed": 3}
    for seed in (4, 5):
        assert draw(fixed, seed, 60.0).line.equals(draw(RECIPE, 3, 60.0).line)


def test_all_packets_are_lost_in_an_outage_in_both_directions(short: Path) -> None:
    scenario = bp.Scenario.load(
        short, {"duration": "200 s", "record.interval": "50 ms", "record.links": True}
    )
    found = bp.run(scenario).link_trace.sort("t_s")
    for begin, end in draw(RECIPE, 3, 200.0).outages:
        for direction in ("sky/forward", "sky/reverse"):
            rows = found.filter(found["link"].cast(str) == direction)
            inside = rows.filter((rows["t_s"] > begin + 0.1) & (rows["t_s"] <= end))
            if inside.height > 1:  # what is in flight still arrives
                assert inside["delivered_packets"].n_unique() <= 2, (direction, begin)


def test_a_sweep_and_a_comparison_draw_anew_for_each_seed(short: Path) -> None:
    plan = Plan(short, ["link.sky.timeline.share=0.5, 1.0"], seeds=2)
    assert plan[0].keys == {"link.sky.timeline.share": 0.5}
    assert [case.scenario["link"]["sky"]["timeline"]["share"] for case in plan] == [0.5, 1.0, 0.5, 1.0]
    assert {plan.run_key(n) for n in range(4)} == {f"{name}-{seed}" for name in plan.names for seed in (3, 4)}
    packets = {bp.run(case.scenario, seed=case.seed).json["packets"] for case in plan}
    assert len(packets) == 4
    rows = bp.compare(bp.Scenario.load(short), ["reno"], seeds=3)
    assert rows["goodput_low_bps"][0] < rows["goodput_high_bps"][0]
    single = [bp.run(bp.Scenario.load(short), seed=n).flows["goodput_bps"][0] for n in (1, 2, 3)]
    assert rows["goodput_bps"][0] == pytest.approx(sum(single) / 3)


def test_a_stored_result_keeps_the_recipe_and_runs_again(short: Path, tmp_path: Path) -> None:
    result = bp.run(short)
    kept = result.scenario["link"]["sky"]
    assert kept["timeline"] == {**RECIPE, "profile": "car-2024", "direction": "down"}
    assert kept["loss"] == [{"kind": "packet-error", "rate": 1e-4}] and "nominal" not in kept
    result.save(tmp_path / "kept")
    again = bp.run(tmp_path / "kept")
    assert again.flows.equals(result.flows)
    (many,) = bp.run_many([short])
    assert many.scenario == result.scenario and many.flows.equals(result.flows)
    assert json.loads(bp.Scenario.load(short).to_json())["link"]["sky"]["timeline"] == kept["timeline"]


def test_overrides_reach_a_recipe(short: Path, tmp_path: Path) -> None:
    def line(*pairs: tuple[str, str], of: str = "sky"):
        return Source(short).load(pairs)["link"][of].get("timeline")

    base = {**RECIPE, "profile": "car-2024", "direction": "down"}
    assert line() == base
    assert line(("link.sky.timeline.share", "0.5")) == {**base, "share": 0.5}
    assert line(("link.*.timeline.rate_median", "5 Mbit/s"))["rate_median"] == "5 Mbit/s"
    bare = {key: value for key, value in base.items() if key != "rate_median"}
    assert line(("link.sky.timeline", '{ generator = "starlink" }')) == bare
    other = tmp_path / "other.csv"
    other.write_text("t_s,rate_bps,delay_s\n0,1e6,0.01\n")
    replaced = line(("link.sky.timeline", f'"{other}"'))
    assert replaced == str(other)
    up = [("link.sky.reverse.timeline", '{ generator = "starlink", direction = "up" }')]
    assert Source(short).load(up)["link"]["sky"]["reverse"]["timeline"]["direction"] == "up"
    made = Source("geo").load([("link.*.timeline", '{ generator = "starlink" }')])
    assert [link["timeline"] for link in made["link"].values()] == [bare]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"starlink"', '"starling"', "link.sky.timeline.generator: .*starlink"),
        ("rate_median", "rate_mean", "link.sky.timeline.rate_mean: .*rate_median"),
        ('"20 Mbit/s"', '"20"', 'link.sky.timeline.rate_median: "20" has no unit'),
        (
            '"20 Mbit/s"',
            '"20 Mbit/s", profile = "fixed"',
            "link.sky.timeline.profile: .*must be one of car-2024",
        ),
        ('"20 Mbit/s"', '"20 Mbit/s", share = 2', "link.sky.timeline.share: 2 is out of range"),
        ('"20 Mbit/s"', '"20 Mbit/s", share = 0', "link.sky.timeline.share: 0 is not a number above 0"),
        ('"20 s"', '"2 d"', "duration: 172800 s is too long; at most a day"),
        ('"20 Mbit/s"', '"20 Mbit/s", seed = 1.5', "link.sky.timeline.seed: 1.5 is not a whole number"),
        ('"20 Mbit/s"', '"20 Mbit/s", blackout = "long"', "link.sky.timeline.blackout"),
        ('cc = "reno"', 'cc = "renno"', "renno"),
    ],
)
def test_a_wrong_recipe_is_named_by_its_key(short: Path, old: str, new: str, said: str) -> None:
    short.write_text(SHORT.replace(old, new, 1))
    with pytest.raises(bp.ScenarioError, match=said):
        bp.Scenario.load(short)


@pytest.mark.parametrize("name", sorted(path.stem for path in SCENARIOS.glob("starlink*.toml")))
def test_a_preset_runs_in_every_verb(name: str, cli, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    assert name in shipped_files()
    table = tomllib.loads((SCENARIOS / f"{name}.toml").read_text())
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
        tomllib.loads((SCENARIOS / f"{name}.toml").read_text())
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

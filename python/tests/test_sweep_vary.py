"""What a sweep varies: axes, ranges, columns with units, and messages that name file and key."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe import _core
from bentpipe.controller import load_controller
from bentpipe.document.plain import toml
from bentpipe.document.schema import sweep_schema
from bentpipe.sweeps.fingerprint import source_hash
from bentpipe.sweeps.job import run_plan
from bentpipe.sweeps.plan import Plan
from bentpipe.sweeps.stored import read
from bentpipe.sweeps.vary import SweepAxis, axes, axis_of_text, column, put_at, quantity, value_of, words

MINE = """
import bentpipe as bp

class Mine(bp.Controller):
    def on_ack(self, flow, ack):
        self.cwnd += 1 / self.cwnd

    def on_congestion(self, flow, why):
        self.cwnd = self.ssthresh = max(self.cwnd / 2, 2)
"""


def values(table: object) -> list[object]:
    (axis,) = axes({"a.b": table})
    return [value for (value,) in axis.rows]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"log": [1e-6, 1e-3], "points": 4}, [1e-6, 1e-5, 1e-4, 1e-3]),
        ({"log": [1e-3, 1e-6], "points": 2}, [1e-3, 1e-6]),
        ({"log": ["10 ms", "1 s"], "points": 3}, ["10000000 ns", "100000000 ns", "1000000000 ns"]),
        (
            {"log": ["1 Mbit/s", "10 Mbit/s"], "points": 3},
            ["1000000 bit/s", "3162280 bit/s", "10000000 bit/s"],
        ),
        ({"lin": [0, 1], "points": 3}, [0, 0.5, 1]),
        ({"lin": ["10 packets", "20 packets"], "points": 3}, ["10 packets", "15 packets", "20 packets"]),
        ({"lin": ["0.5 bdp", "2 bdp"], "points": 4}, ["0.5 bdp", "1 bdp", "1.5 bdp", "2 bdp"]),
        (["10 ms", "100 ms"], ["10 ms", "100 ms"]),
        (np.array([1, 2]), [1, 2]),
        (pl.Series(["10 ms", "100 ms"]), ["10 ms", "100 ms"]),
    ],
)
def test_ranges(given: object, wanted: list[object]) -> None:
    assert values(given) == wanted


def test_a_long_range_has_both_ends_and_steps_of_one_ratio() -> None:
    found = values({"log": [1e-6, 1e-3], "points": 7})
    assert found[0] == 1e-6 and found[-1] == 1e-3
    ratios = [b / a for a, b in zip(found, found[1:], strict=False)]
    assert all(math.isclose(ratio, math.sqrt(10), rel_tol=2e-6) for ratio in ratios)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (["25 ms", "0.1 s"], ("link.a.x_s", float, [0.025, 0.1])),
        (["1500 ns"], ("link.a.x_s", float, [1.5e-6])),
        (["10 Mbit/s", "64 kbps"], ("link.a.x_bps", float, [1e7, 64e3])),
        (["10 kB", "1 KiB", "3 bytes"], ("link.a.x_bytes", int, [10_000, 1024, 3])),
        (["432 packets"], ("link.a.x_packets", int, [432])),
        (["1 bdp", "0.5 bdp"], ("link.a.x_bdp", float, [1.0, 0.5])),
        (["1 bdp", "10 packets"], ("link.a.x", str, ["1 bdp", "10 packets"])),
        ([1, 2], ("link.a.x", int, [1, 2])),
        ([0, 1e-3], ("link.a.x", float, [0.0, 1e-3])),
        ([True, False], ("link.a.x", bool, [True, False])),
        ([True, 1], ("link.a.x", str, ["true", "1"])),
        (["cubic", {"name": "simd", "beta": 0.06}], ("link.a.x", str, ["cubic", "simd beta=0.06"])),
    ],
)
def test_a_column_has_its_unit_in_its_name_and_numbers(given: list[object], wanted: object) -> None:
    made, shown = column("link.a.x", given)
    assert (made.name, made.type, shown) == wanted


def test_text_is_no_quantity() -> None:
    assert [quantity(text) for text in ("cubic", "100E", "", "ms", "1e999999 x", None, 3)] == [None] * 7
    assert words([["0 s", "10 ms"]]) == '[["0 s", "10 ms"]]'


def test_keys_without_quotes_mean_the_same() -> None:
    quoted = tomllib.loads(
        '[vary]\n"flow.0.cc" = ["reno"]\n"link.a.loss.rate" = { lin = [0, 1], points = 2 }'
    )
    plain = tomllib.loads('[vary]\nflow.0.cc = ["reno"]\nlink.a.loss.rate = { lin = [0, 1], points = 2 }')
    assert (
        axes(quoted["vary"])
        == axes(plain["vary"])
        == [
            SweepAxis(("flow.0.cc",), [("reno",)]),
            SweepAxis(("link.a.loss.rate",), [(0,), (1,)]),
        ]
    )


def test_values_of_the_command_line() -> None:
    assert axis_of_text("a.b = 10ms, 100 ms").rows == [("10ms",), ("100 ms",)]
    assert axis_of_text("a.b=1e-5,2,true,x").rows == [(1e-5,), (2,), (True,), ("x",)]
    assert axis_of_text("a.b={ lin = [1, 3], points = 3 }").rows == [(1,), (2,), (3,)]
    assert axis_of_text("a.b=cubic,{ name = 'simd', beta = 0.06 }").rows == [
        ("cubic",),
        ({"name": "simd", "beta": 0.06},),
    ]
    assert axis_of_text('a.b=["1, 2", "3"]').rows == [("1, 2",), ("3",)]


@pytest.mark.parametrize("value", ['a"b\\c\né', 3, -1.5e-9, True, [1, "x"], {"name": "simd", "beta": 0.06}])
def test_toml_reads_back(value: object) -> None:
    assert value_of(toml(value)) == value


@pytest.mark.parametrize(
    ("vary", "needles"),
    [
        ("3", ["vary: a table is needed"]),
        ('{ "link.sat.dely" = ["1 ms"] }', ["link.sat.dely", "did you mean delay?"]),
        ('{ "link.sat.delay" = ["1 ms", "1 foo"] }', ["link.sat.delay", 'unit "foo"', "250 ms"]),
        ('{ "link.sat.delay" = [10, 20] }', ["link.sat.delay", "unit"]),
        ('{ "link.sat.delay" = "10 ms" }', ["vary.link.sat.delay: a list of values is needed"]),
        ('{ "link.sat.delay" = [] }', ["vary.link.sat.delay: the list is empty"]),
        ('{ "flow.0.cc" = ["reno", "cubik"] }', ["flow.0.cc", "did you mean cubic?"]),
        ('{ "flow.7.cc" = ["reno"] }', ["flow is a list"]),
        ('{ "flow.0.cc" = ["none.py:Mine"] }', ["flow.0.cc", "there is no file"]),
        ('{ "link.sat.rate" = ["1 Mbit/s", "1000 kbit/s"] }', ["link.sat.rate_bps", "twice"]),
        ("{ seed = [1, 2] }", ["vary.seed", "seeds = 5"]),
        ("{ seeds = 5 }", ["vary.seeds: seeds are not varied", "seeds = 5"]),
        ('{ "link.sat.loss.rate" = { log = [0, 1], points = 3 } }', ["above 0"]),
        ('{ "link.sat.loss.rate" = { log = [1e-6, 1], points = 1 } }', ["points must be"]),
        ('{ "link.sat.loss.rate" = { log = [1e-6], points = 3 } }', ["two ends"]),
        ('{ "link.sat.loss.rate" = { log = [1, 2], steps = 3 } }', ["unknown key steps"]),
        ('{ "link.sat.delay" = { lin = ["1 ms", "1 Mbit/s"], points = 3 } }', ["same kind of unit"]),
        ('{ "link.sat.delay" = { lin = ["1 ns", "3 ns"], points = 9 } }', ["too many", "1 ns"]),
        (
            '{ zip = [{ "link.sat.rate" = ["1 Mbit/s"], "link.sat.delay" = ["1 ms", "2 ms"] }] }',
            ["vary.zip", "link.sat.rate has 1, link.sat.delay has 2"],
        ),
        (
            '{ "link.sat.rate" = ["1 Mbit/s"], zip = { "link.sat.rate" = ["2 Mbit/s"] } }',
            ["link.sat.rate is varied twice"],
        ),
    ],
)
def test_a_mistake_is_one_line_with_file_and_key(scenario_file: Path, vary: str, needles: list[str]) -> None:
    scenario_file.write_text(f"vary = {vary}\n{scenario_file.read_text()}")
    with pytest.raises(_core.ScenarioError) as wrong:
        Plan(scenario_file)
    message = str(wrong.value)
    assert message.startswith(f"{scenario_file}: ") and "\n" not in message
    for needle in needles:
        assert needle in message


@pytest.mark.parametrize("seeds", ["0", "-1", '"5"', "[]", "[1, 1]", "[1.5]", "true"])
def test_seeds_are_a_number_or_a_list(scenario_file: Path, seeds: str) -> None:
    scenario_file.write_text(f"seeds = {seeds}\n{scenario_file.read_text()}")
    with pytest.raises(_core.ScenarioError, match="seeds: "):
        Plan(scenario_file)


def test_the_grid_is_crossed_and_zipped_and_more_seeds_only_add(scenario_file: Path) -> None:
    vary = {
        "flow.0.cc": ["reno", "cubic", "bbr"],
        "zip": [{"link.sat.rate": ["1 Mbit/s", "2 Mbit/s"], "link.sat.queue.limit": ["10 packets", "1 bdp"]}],
    }
    two, three = Plan(scenario_file, vary, 2), Plan(scenario_file, vary, 3)
    assert (len(two), len(three)) == (12, 18)
    assert [two[i] for i in range(12)] == [three[i] for i in range(12)]
    assert [two.run_key(i) for i in range(12)] == [three.run_key(i) for i in range(12)]
    assert len({three.run_key(i) for i in range(18)}) == 18
    assert [case.seed for case in three] == [1] * 6 + [2] * 6 + [3] * 6
    assert dict(two[1].keys) == {
        "flow.0.cc": "reno",
        "link.sat.rate_bps": 2e6,
        "link.sat.queue.limit": "1 bdp",
    }
    assert two[1].scenario["link"]["sat"]["rate"] == "2 Mbit/s"
    assert two[1].scenario["link"]["sat"]["queue"]["limit"] == "1 bdp"


def test_the_command_line_replaces_an_axis_of_the_file(scenario_file: Path) -> None:
    scenario_file.write_text(f'seeds = [4, 9]\nvary."flow.0.cc" = ["reno"]\n{scenario_file.read_text()}')
    plan = Plan(
        scenario_file, ["flow.0.cc=cubic,bbr", "link.sat.loss.rate=1e-3"], overrides=[("duration", "5 s")]
    )
    assert [case.keys["flow.0.cc"] for case in plan] == ["cubic", "bbr"] * 2
    assert {case.scenario["duration"] for case in plan} == {"5 s"}
    assert [case.seed for case in plan] == [4, 4, 9, 9]
    with pytest.raises(_core.ScenarioError, match="--set flow.0.cc: this key is varied"):
        Plan(scenario_file, overrides=[("flow.0.cc", "bbr")])


def test_a_controller_in_python_stands_beside_the_file(scenario_file: Path) -> None:
    (scenario_file.parent / "mine.py").write_text(MINE)
    plan = Plan(scenario_file, {"flow.0.cc": ["reno", "mine.py:Mine"]})
    assert [case.keys["flow.0.cc"] for case in plan] == ["reno", "Mine"]
    assert [list(case.controllers) for case in plan] == [[], ["Mine"]]
    assert plan[1].scenario["flow"][0]["cc"] == "python:Mine"
    scenario_file.write_text(scenario_file.read_text().replace('"reno"', '"mine.py:Mine"'))
    assert list(Plan(scenario_file)[0].controllers) == ["Mine"]


def test_the_key_of_a_run_tells_what_its_results_depend_on(scenario_file: Path) -> None:
    def key(**given: object) -> str:
        return Plan(scenario_file, **given).run_key(0)  # type: ignore[arg-type]

    here = scenario_file.parent
    text = scenario_file.read_text()
    losses = 'link.sat.loss={ kind = "trace", file = "losses.txt" }'
    (here / "losses.txt").write_text("100\n")
    (here / "mine.py").write_text(MINE)
    first, lossy = key(), key(overrides=[tuple(losses.split("=", 1))])
    own = key(vary={"flow.0.cc": ["mine.py:Mine"]})
    assert len({first, lossy, own}) == 3
    scenario_file.write_text(text.replace("a test", "another title").replace('"100 ms"', '"0.1 s"'))
    assert key() == first
    assert key(overrides=[("duration", "21 s")]) != first
    assert key(seeds=[2]) != first
    (here / "losses.txt").write_text("101\n")
    assert key(overrides=[tuple(losses.split("=", 1))]) != lossy
    (here / "mine.py").write_text(MINE.replace("import bentpipe", "# a comment\nimport bentpipe"))
    assert key(vary={"flow.0.cc": ["mine.py:Mine"]}) == own
    (here / "mine.py").write_text(MINE.replace("/ 2", "/ 3"))
    assert key(vary={"flow.0.cc": ["mine.py:Mine"]}) != own


def test_the_code_of_a_controller_is_what_it_refers_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a script of one's own or a notebook; with the modules beside it, if it stands in a file."""
    script = f"""
import sys
GAIN = {{gain}}
OTHER = {{other}}
def grow(cwnd):
    return cwnd + {{step}}
{MINE.replace("1 / self.cwnd", "GAIN * grow(self.cwnd)")}
from bentpipe.sweeps.fingerprint import source_hash
print(source_hash(Mine))
"""

    def digest(**values: int) -> str:
        file = tmp_path / "script.py"
        file.write_text(script.format(**{"gain": 1, "other": 1, "step": 1, **values}))
        return subprocess.run(
            [sys.executable, file], capture_output=True, text=True, check=True
        ).stdout.strip()

    assert len(digest()) == 64 and digest() == digest(other=2)
    assert len({digest(), digest(gain=2), digest(step=2)}) == 3
    (tmp_path / "beside.py").write_text("GAIN = 1\n")
    (tmp_path / "mine.py").write_text("from beside import GAIN\n" + MINE)
    monkeypatch.syspath_prepend(tmp_path)
    first = source_hash(load_controller(f"{tmp_path / 'mine.py'}:Mine"))
    (tmp_path / "beside.py").write_text("GAIN = 2\n")
    assert source_hash(load_controller(f"{tmp_path / 'mine.py'}:Mine")) != first
    typed: dict[str, type] = {}
    exec(MINE, typed)
    assert source_hash(typed["Mine"]) == ""


def test_a_controller_without_source_runs_in_memory_only(scenario_file: Path, tmp_path: Path) -> None:
    typed: dict[str, type] = {"__name__": "__main__"}
    exec(MINE, typed)
    plan = Plan(scenario_file, {"flow.0.cc": [typed["Mine"]]})
    assert run_plan(plan).flows.height == 1
    with pytest.raises(_core.ScenarioError, match="Mine has no source"):
        run_plan(plan, tmp_path / "out")


SWEPT = """
duration = "5 s"
seeds = [7, 9]
[link.sat]
rate = "4 Mbit/s"
delay = "40 ms"
queue = { kind = "drop-tail", limit = "1 bdp" }
loss = { kind = "packet-error", rate = 0 }
[[flow]]
cc = "reno"
path = ["sat"]
[vary]
"flow.0.cc" = ["cubic", "my.py:Mine"]
"link.sat.loss.rate" = [1e-5, 1e-3]
[[vary.zip]]
"link.sat.delay" = ["10 ms", "100 ms"]
"link.sat.queue.limit" = ["1 bdp", "20 packets"]
"""
CONSTANT = """
import bentpipe as bp

class Mine(bp.Controller):
    def on_ack(self, flow, ack):
        self.cwnd = 20

    def on_congestion(self, flow, why):
        pass
"""


@pytest.fixture
def swept(tmp_path):
    (tmp_path / "my.py").write_text(CONSTANT)
    (tmp_path / "swept.toml").write_text(SWEPT)
    return tmp_path / "swept.toml"


def test_run_plays_one_point_of_a_sweep(swept, cli, tmp_path):
    bp.sweep(swept, out=tmp_path / "all")
    rows = pl.read_parquet(tmp_path / "all" / "flows" / "*.parquet")
    for cc, loss, delay in (("cubic", 1e-3, "10ms"), ("my.py:Mine", 1e-5, "100 ms")):
        done = cli("run", swept, "--point", f"cc={cc}, loss={loss:f}, delay={delay}", "--json")
        assert done.exit_code == 0, done.stderr
        alone = json.loads(done.stdout)
        seconds = 0.01 if delay == "10ms" else 0.1
        here = (pl.col("link.sat.loss.rate") == loss) & (pl.col("link.sat.delay_s") == seconds)
        row = rows.filter(here, pl.col("seed") == 7, pl.col("flow.0.cc") == cc.rpartition(":")[2])
        assert alone["seed"] == 7 and row["goodput_bps"].to_list() == [alone["flows"][0]["goodput_bps"]]


@pytest.mark.parametrize(
    ("point", "said"),
    [
        (
            "cc=cubic, loss=1e-3",
            "link.sat.delay with link.sat.queue.limit has several values: choose one of 10 ms",
        ),
        ("cc=bbr, loss=1e-3, delay=10ms", "flow.0.cc has no such value: choose one of cubic; my.py:Mine"),
        ("sat=3", "sat means link.sat.loss.rate and link.sat.delay and link.sat.queue.limit"),
        ("mss=9", "no axis is called 'mss'; write KEY=VALUE, there are flow.0.cc, link.sat.loss.rate"),
        ("cc", "write KEY=VALUE"),
    ],
)
def test_a_point_that_is_none_is_refused(swept, cli, point, said):
    done = cli("run", swept, "--point", point)
    assert done.exit_code == 2 and said in " ".join(done.stderr.split())


def test_a_scenario_without_axes_has_no_points(scenario_file, swept, cli):
    done = cli("run", scenario_file, "--point", "cc=bbr")
    assert done.exit_code == 2 and "nothing varies here" in done.stderr
    assert "run --point for one of them" in cli("run", swept).stderr


DOTTED = """
duration = "1 s"
[link."a.b"]
rate = "10 Mbit/s"
delay = "10 ms"
[[flow]]
cc = "cubic"
path = ["a.b"]
[vary]
link."a.b".rate = ["5 Mbit/s", "10 Mbit/s"]
"link.'a.b'.delay" = ["5 ms", "10 ms"]
"flow.0.cc.beta" = [0.5, 0.8]
"""


def test_a_name_with_a_point_is_one_part_of_a_key(cli, tmp_path):
    (tmp_path / "dotted.toml").write_text(DOTTED)
    done = cli("run", tmp_path / "dotted.toml", "--point", "rate=5Mbit/s, delay=5ms, beta=0.5", "--json")
    assert done.exit_code == 0, done.stderr
    bp.sweep(tmp_path / "dotted.toml", out=tmp_path / "all")
    scenario = read([tmp_path / "all"]).result(0).scenario
    link = scenario["link"]["a.b"]
    assert (link["rate"], link["delay"]) == ("5 Mbit/s", "5 ms")
    assert scenario["flow"][0]["cc"] == {"name": "cubic", "beta": 0.5}


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("flow.7.start", "flow.7.start: 7 is not the number of an entry; there are 1"),
        ("title.x", "title.x: the scenario has no table there"),
        ("link..rate", "link..rate: write a key of the scenario"),
    ],
)
def test_a_key_that_leads_nowhere_is_refused(key: str, said: str) -> None:
    with pytest.raises(bp.ScenarioError, match=said):
        put_at({"title": "one", "flow": [{"cc": "cubic"}]}, key, 1)


def test_the_schema_for_editors_knows_the_files_of_sweeps() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    check = jsonschema.Draft202012Validator(sweep_schema())
    pages = [Path(__file__).parents[2] / page for page in ("README.md", "docs/sweeps.md")]
    blocks = [
        text for page in pages for text in re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)
    ]
    files = [*(text for text in blocks if "[vary]" in text and "[link" in text), DOTTED, SWEPT]
    assert len(files) >= 3
    for text in files:
        assert list(check.iter_errors(tomllib.loads(text))) == [], text
    wrong = tomllib.loads(DOTTED)
    for key, value in (
        ("seeds", 0),
        ("seeds", [1, 1]),
        ("vary", {"a": {"log": [1, 2], "point": 3}}),
        ("vary", {"a": []}),
        ("vary", {"a": 1}),
    ):
        assert list(check.iter_errors({**wrong, key: value})), (key, value)

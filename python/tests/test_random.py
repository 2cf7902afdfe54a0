"""Random scenarios through the command line: what is valid runs, what is not gets one line with file and key.

That any valid scenario keeps the laws of the audit is tested in Rust, too (crates/sim/tests/sim/random.rs).
"""

import itertools
import json
import math
import random
import tempfile
import tomllib
from pathlib import Path

from forms import form
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bentpipe as bp
from bentpipe import _core
from bentpipe.document.plain import is_datagrams
from bentpipe.models import KINDS
from bentpipe.scenario import Scenario
from bentpipe.sweeps.case import Case
from bentpipe.sweeps.dataset import read
from bentpipe.sweeps.execution import run_case

NUMBERS = st.one_of(st.integers(-(2**70), 2**70), st.floats(), st.just(0))
TEXTS = st.one_of(
    st.text(max_size=20),
    st.builds(
        "{} {}".format,
        st.one_of(st.integers(-5, 10**25), st.floats(width=32)),
        st.sampled_from(["bit/s", "Mbit/s", "ms", "s", "d", "bytes", "packets", "bdp", "segments", "GB", ""]),
    ),
)
VALUES = st.recursive(
    st.one_of(st.booleans(), NUMBERS, TEXTS, st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def _keys(schema: dict) -> list[list[str]]:
    """Every path of keys that the schema knows, to a depth of four."""
    found: list[list[str]] = []

    def walk(node: dict, path: list[str]) -> None:
        if len(path) > 4:
            return
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rsplit("/", 1)[-1]]
        for part in (*node.get("anyOf", []), *node.get("oneOf", []), *node.get("allOf", [])):
            walk(part, path)
        for name, member in node.get("properties", {}).items():
            found.append([*path, name])
            if isinstance(member, dict):
                walk(member, [*path, name])
        if isinstance(node.get("items"), dict):
            walk(node["items"], [*path, "0"])
        if isinstance(node.get("additionalProperties"), dict):
            walk(node["additionalProperties"], [*path, "sat"])

    walk(schema, [])
    return sorted({tuple(p): p for p in found}.values())


KEYS = _keys(json.loads(_core.schema()))

BASE = {
    "duration": "500 ms",
    "link": {"sat": {"rate": "1 Mbit/s", "delay": "10 ms"}},
    "flow": [{"cc": "reno", "path": ["sat"]}],
}


def put(tree, path, value):
    """Sets the value at a path, making what is missing on the way."""
    *way, last = path
    for part in way:
        if isinstance(tree, list):
            tree = tree[0] if tree else {}
        elif isinstance(tree, dict):
            tree = tree.setdefault(part, {})
        else:
            return
    if isinstance(tree, dict):
        tree[last] = value


def test_the_schema_gives_many_keys():
    assert len(KEYS) > 60 and ["flow", "0", "cc"] in KEYS and ["link", "sat", "queue", "limit"] in KEYS


@settings(max_examples=form(100, 300), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(KEYS), VALUES), min_size=1, max_size=4))
def test_any_tree_is_a_scenario_or_is_refused_in_one_answer(changes):
    tree = json.loads(json.dumps(BASE))
    for path, value in changes:
        put(tree, path, value)
    try:
        full = _core.check(json.dumps(tree))
    except _core.ScenarioError as wrong:
        said = str(wrong)
        assert said and "panicked" not in said and len(said) < 5000
        return
    assert json.loads(_core.check(full)) == json.loads(full)


def moves(link):
    """May its rate be another than the one that is reported?"""
    keys = vars(link) | (link.reverse or {})
    return any(
        keys[key] is not None for key in ("timeline", "opportunities", "nominal") if key in keys
    ) or any(isinstance(part, list) for part in (link.rate, (link.reverse or {}).get("rate")))


@settings(
    max_examples=form(30, 60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(st.sampled_from(KEYS), TEXTS), min_size=1, max_size=2))
def test_the_command_line_says_what_is_wrong_or_runs(cli, scenario_file, changes):
    words = ["--set=duration=100 ms"]
    words += [f"--set={'.'.join(path)}={text}" for path, text in changes if path[-1] != "count"]
    # Without these a random value may ask for a run of hours.
    words += ["--set=link.sat.rate=1 Mbit/s", "--set=duration=100 ms"]
    ran = cli("run", str(scenario_file), "--json", *words)
    assert ran.exit_code in (0, 2), (words, ran.output)
    if ran.exit_code == 2:
        assert ran.stdout == "" and ran.stderr.startswith("bentpipe: ")
        assert "sat.toml" in ran.stderr, ran.stderr
    else:
        finite(json.loads(ran.stdout))


def finite(value):
    """Every number is one, and none is below zero."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for member in value:
            finite(member)
    elif isinstance(value, float | int):
        assert math.isfinite(value) and value >= 0


LOSSES = str(Path(__file__).parents[2] / "crates/sim/tests/sim/losses.txt")


def scenario(data):
    """The scenario that some bytes stand for, its parts as models; None if its values do not fit together."""
    made = Scenario.from_dict(tomllib.loads(_core.random_scenario(data, LOSSES)))
    try:
        made.check()
    except bp.ScenarioError as wrong:
        assert "panicked" not in str(wrong)
        return None
    return made


@settings(max_examples=form(30, 60), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.binary(min_size=800, max_size=800), threads=st.integers(1, 4))
def test_a_run_ends_conserves_and_is_the_same_alone_and_among_others(data, threads):
    made = scenario(data)
    if made is None:
        return
    try:
        alone = {**bp.run(made).json, "wall_s": 0}
    except bp.ScenarioError as wrong:
        assert "takes too much memory" in str(wrong)
        return
    finite(alone)
    # A connection's row has the packets of its subflows.
    each = [f for f in alone["flows"] if f["half"] != "subflow"]
    missing = sum(f["dropped_packets"] + f["inside_packets"] for f in each)
    assert alone["packets"] == sum(f["sent_packets"] for f in each) - missing
    for link in alone["links"]:
        gone = link["dropped_queue"] + link["dropped_error"] + link["thinned_acks"]
        assert link["offered_packets"] == link["delivered_packets"] + gone + link["inside_packets"]
    assert all(link["utilisation"] <= 1 for link in alone["links"])
    # No link carries more payload than its rate allows; one packet may have begun before the end.
    rates = {f"{link['name']}/{link['direction']}": link["rate_bps"] for link in alone["links"]}
    crossing = dict.fromkeys(rates, 0)
    flows = iter(alone["flows"])
    for table in made.flows:
        # Of a relayed flow, what the second half delivers has crossed all links; of a dialogue, responses.
        dialogue = isinstance(table.traffic, bp.Requests | bp.Web | bp.Video)
        parts = (2 if table.relay else 1) * (2 if dialogue else 1)
        paths = [table.path, *(joined["path"] for joined in table.subflow or ())]
        if table.both_ways:
            turned = [f"{name.partition('/')[0]}{'' if '/' in name else '/reverse'}" for name in table.path]
            paths.append(table.ack_path or turned)
        rows = len(paths) if table.both_ways else 1 + len(paths) if table.subflow else parts
        for flow in itertools.islice(flows, table.count * rows):
            number = int(flow["name"].rpartition("/")[2]) - 1 if flow["half"] == "subflow" else 0
            number = 1 if table.both_ways and flow["half"] == "second" else number
            whole = flow["half"] == "first" and not table.both_ways
            whole = whole or (table.subflow and flow["half"] is None)
            for name in () if whole else paths[number]:
                crossing[name if "/" in name else f"{name}/forward"] += flow["delivered_bytes"] * 8
    for name, bits in crossing.items():
        if not moves(made.links[name.partition("/")[0]]):
            assert bits <= rates[name] * alone["simulated_s"] + 8 * 70_000
    again = Scenario.from_json(made.to_json())
    for other in bp.run_many([made, again, made], threads):
        assert {**other.json, "wall_s": 0} == alone


def rows(result):
    """Flows and links of a result as text that shows every bit."""
    return [repr(table.to_dicts()) for table in (result.flows, result.links)]


@settings(max_examples=form(12, 40), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.binary(min_size=800, max_size=800))
def test_every_command_simulates_the_same_scenario(cli, data):
    """A file, in Python, with its defaults written out, stored, swept, compared, as a case of a study."""
    text = _core.random_scenario(data, LOSSES)
    made = scenario(data)
    if made is None:
        return
    with tempfile.TemporaryDirectory() as there:
        file, out = Path(there) / "random.toml", Path(there) / "out"
        file.write_text(text)
        ran = cli("run", str(file), "--json", "--out", str(out))
        if ran.exit_code:
            assert "takes too much memory" in ran.stderr
            return
        alone = {**json.loads(ran.stdout), "wall_s": 0}
        expected = rows(bp.Result.load(out))
        written_out = json.loads(made.to_json())
        for given in (made, str(file), tomllib.loads(text), written_out, str(out)):
            again = bp.run(given)
            assert {**again.json, "wall_s": 0} == alone
            assert rows(again) == expected
        assert {**run_case(0, Case({}, made.to_dict())).result, "wall_s": 0} == alone
        for given in (str(file), written_out):
            swept = bp.sweep(given, seeds=[alone["seed"]], out=Path(there) / f"sweep-{type(given).__name__}")
            kept = read(Path(there) / f"sweep-{type(given).__name__}")
            found = [swept.drop("run", "seed"), kept.links.drop("run", "seed")]
            assert [repr(table.to_dicts()) for table in found] == expected
    # Compared flows stand first.
    names = [flow.name or (flow.cc["name"] if isinstance(flow.cc, dict) else flow.cc) for flow in made.flows]
    if not is_datagrams(made.flows[0].traffic) and len(set(names)) == len(names):
        compared = bp.compare(made, [made.flows[0].cc], whole=True, seeds=1, seed=alone["seed"])
        ends = 2 if made.flows[0].both_ways else 1
        parts = ("subflow",) if ends == 2 else ("subflow", "first")
        whole = [f for f in alone["flows"] if f["half"] not in parts]
        goodputs = [f["goodput_bps"] for f in whole[: ends * made.flows[0].count]]
        assert compared["goodput_bps"][0] == math.fsum(goodputs)


def test_every_model_is_drawn():
    draw, found = random.Random(1), set()
    for _ in range(200):
        made = scenario(draw.randbytes(800))
        links = made.links.values() if made else []
        losses = [link.loss if isinstance(link.loss, list) else [link.loss] for link in links]
        found |= {type(link.queue) for link in links} | {type(model) for some in losses for model in some}
        found |= {type(link.access) for link in links}
        traffic = [flow.traffic for flow in (made.flows if made else [])]
        found |= {type(model) for model in traffic}
        found |= {type(part) for model in traffic if model for part in vars(model).values()}
    assert set(KINDS.values()) <= found

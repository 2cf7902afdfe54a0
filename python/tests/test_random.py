"""Random scenarios through the command line: what is valid runs, what is not gets one line with file and key.

That any valid scenario keeps the laws of the audit is tested in Rust, too (crates/sim/tests/random.rs).
"""

import json
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bentpipe as bp
from bentpipe import _core
from bentpipe.models import KINDS
from bentpipe.scenario import Scenario

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


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(KEYS), VALUES), min_size=1, max_size=4))
def test_any_tree_is_a_scenario_or_is_refused_in_one_line(changes):
    tree = json.loads(json.dumps(BASE))
    for path, value in changes:
        put(tree, path, value)
    try:
        full = _core.check(json.dumps(tree))
    except _core.ScenarioError as wrong:
        said = str(wrong)
        assert said and "\n" not in said and "panicked" not in said and len(said) < 2000
        return
    assert json.loads(_core.check(full)) == json.loads(full)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(KEYS), TEXTS), min_size=1, max_size=2))
def test_the_command_line_says_what_is_wrong_or_runs(cli, scenario_file, changes):
    words = ["--set=duration=100 ms"]
    words += [f"--set={'.'.join(path)}={text}" for path, text in changes if path[-1] != "count"]
    # Without these a random value may ask for a run of hours.
    words += ["--set=link.sat.rate=1 Mbit/s", "--set=duration=100 ms"]
    ran = cli("run", str(scenario_file), "--json", *words)
    assert ran.exit_code in (0, 2), (words, ran.output)
    if ran.exit_code == 2:
        assert ran.stdout == "" and ran.stderr.count("\n") == 1 and ran.stderr.startswith("bentpipe: ")
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


def ms(least, most):
    return st.integers(least, most).map("{} ms".format)


def maybe(strategy):
    return st.none() | strategy


PART = st.floats(0, 1)
ROOM = st.one_of(
    st.integers(5, 60).map("{} packets".format),
    st.integers(1_500, 60_000).map("{} bytes".format),
    st.floats(0.1, 3).map("{} bdp".format),
)
ECN = {"ecn": st.booleans(), "limit": ROOM}
QUEUES = [
    st.builds(bp.DropTail, limit=st.integers(0, 60).map("{} packets".format) | ROOM),
    st.builds(bp.Red, weight=st.floats(1e-3, 1), max_p=st.floats(1e-3, 1), gentle=st.booleans(), **ECN),
    st.builds(bp.Codel, target=ms(1, 50), interval=ms(60, 300), **ECN),
    st.builds(bp.FqCodel, target=ms(1, 50), interval=ms(60, 300), queues=st.integers(1, 9), **ECN),
    st.builds(bp.Pie, target=ms(1, 50), burst=ms(0, 200), mark_p=PART, **ECN),
    st.builds(bp.Priority, limit=ROOM, bands=st.just(3)),
]
LOSSES = [
    st.builds(bp.PacketError, PART),
    st.builds(bp.BitError, st.floats(0, 1e-4)),
    st.builds(bp.GilbertElliott, PART, PART, st.floats(0, 0.1), PART),
    st.builds(bp.Outage, every=ms(1_000, 3_000), length=ms(1, 900), first=ms(0, 900)),
    st.just(bp.Outage(from_="1 s", to="1500 ms")),
    st.just(bp.LossTrace("TRACE")),
]
PLACES = [
    st.fixed_dictionaries({"delay": ms(0, 300)}),
    st.just({"from_": "beijing", "to": "here", "satellite": {"geo": "100E"}}),
    st.just({"to": "shanghai", "satellite": {"geo": "100E", "min_elevation": 30}}),
]


@st.composite
def links(draw):
    place = draw(st.one_of(PLACES))
    reverse = {"rate": f"{draw(st.integers(1_000, 10**7))} bit/s", "queue": draw(st.one_of(QUEUES))}
    return bp.Link(
        rate=f"{draw(st.integers(1_000, 10**7))} bit/s",
        queue=draw(st.one_of(QUEUES)),
        loss=draw(st.lists(st.one_of(LOSSES), max_size=2)),
        reverse=draw(maybe(st.just(reverse))),
        **place,
    )


@st.composite
def flows(draw):
    start = draw(st.integers(0, 1_500))
    given = {
        "path": draw(st.permutations(["a", "b"]).flatmap(lambda p: st.sampled_from([p, p[:1]]))),
        "start": f"{start} ms",
        "start_jitter": draw(maybe(st.just("500 ms"))),
        "stop": draw(maybe(ms(start + 501, start + 2_000))),
        "count": draw(st.integers(1, 2)),
        "extra_delay": draw(maybe(ms(0, 60))),
        "priority": draw(maybe(st.integers(0, 2))),
    }
    if draw(st.integers(0, 4)) == 0:
        pauses = draw(st.sampled_from([{}, {"on": "100 ms", "off": "150 ms"}]))
        return bp.Flow(traffic=bp.Cbr(f"{draw(st.integers(1, 10**6))} bit/s", **pauses), **given)
    return bp.Flow(
        draw(st.sampled_from([entry["id"] for entry in bp.controllers()])),
        traffic=draw(maybe(st.integers(1, 200_000).map(lambda n: bp.Bulk(f"{n} bytes")))),
        profile=draw(st.sampled_from(["paper", "modern"])),
        recovery=draw(st.sampled_from(["sack", "newreno", "reno"])),
        handshake=draw(maybe(st.booleans())),
        ecn=draw(st.booleans()),
        pacing=draw(st.booleans()),
        ack_path=draw(maybe(st.sampled_from([["b"], ["b", "a"]]))),
        ack_jitter=draw(maybe(ms(1, 30))),
        **given,
    )


SCENARIOS = st.builds(
    Scenario,
    links=st.fixed_dictionaries({"a": links(), "b": links()}),
    flows=st.lists(flows(), min_size=1, max_size=3),
    duration=ms(1, 4_000),
    seed=st.integers(0, 2**64 - 1),
    stations=st.just({"here": {"lat": 1.3, "lon": 103.8}}),
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(scenario=SCENARIOS, threads=st.integers(1, 4))
def test_a_run_ends_conserves_and_is_the_same_alone_and_among_others(lost, scenario, threads):
    for name, link in scenario.links.items():
        link.loss = [bp.LossTrace(str(lost)) if isinstance(m, bp.LossTrace) else m for m in link.loss]
        scenario.links[name] = link
    alone = {**bp.run(scenario).json, "wall_s": 0}
    finite(alone)
    arrived = sum(f["sent_packets"] - f["dropped_packets"] for f in alone["flows"])
    assert alone["packets"] <= arrived
    seconds, slowest = alone["simulated_s"], min(_rate(link.rate) for link in scenario.links.values())
    for link in alone["links"]:
        assert link["utilisation"] <= 1
        # A packet has at least 40 bytes; one more may have begun before the end.
        assert (link["delivered_packets"] - 1) * 320 <= link["rate_bps"] * seconds
    if all(len(flow.path) == 2 for flow in scenario.flows):
        assert sum(f["delivered_bytes"] for f in alone["flows"]) * 8 <= slowest * seconds + 8 * 70_000
    again = Scenario.from_json(scenario.to_json())
    for other in bp.run_many([scenario, again, scenario], threads):
        assert {**other.json, "wall_s": 0} == alone


def _rate(text):
    return int(text.removesuffix(" bit/s"))


@pytest.fixture(scope="module")
def lost(tmp_path_factory):
    path = tmp_path_factory.mktemp("lost") / "lost.txt"
    path.write_text("\n".join(map(str, range(3, 10_000, 17))))
    return path


def test_every_model_and_option_is_drawn():
    drawn = []

    @settings(max_examples=150, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(SCENARIOS)
    def draw(scenario):
        drawn.append(scenario)

    draw()
    keys = ("profile", "handshake", "ack_path", "ack_jitter", "start_jitter", "stop", "priority")
    found, given_keys = set(), set()
    for scenario in drawn:
        for link in scenario.links.values():
            found |= {type(link.queue), *map(type, link.loss), "orbit" if link.satellite else "delay"}
        for flow in scenario.flows:
            found |= {flow.cc or "cbr", flow.profile, flow.handshake}
            given_keys |= {key for key in keys if getattr(flow, key) is not None}
    # A model that is new has to be drawn here, too. Controllers come from the registry.
    wanted = {*KINDS.values(), "orbit", "delay", "cbr", "paper", "modern", True, False} - {bp.Bulk, bp.Cbr}
    assert (wanted - found, set(keys) - given_keys) == (set(), set())

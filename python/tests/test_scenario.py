"""Scenarios from keyword arguments and from files, and what is said about wrong ones."""

import json
import pickle
import tomllib
from functools import cache
from pathlib import Path

import pytest

import bentpipe as bp
from bentpipe.document.plain import to_plain
from bentpipe.document.schema import scenario_schema, sweep_schema
from bentpipe.models import KINDS
from bentpipe.registry import SCENARIOS
from bentpipe.scenario import from_plain


def one_link(**given):
    link = {"rate": "2 Mbit/s", "delay": "100 ms", **given}
    return bp.Scenario(links={"sat": bp.Link(**link)}, flows=[bp.Flow("reno", path=["sat"])], duration="5 s")


def test_keyword_arguments_say_the_same_as_toml(scenario_file):
    built = bp.Scenario(
        title="a test",
        duration="20 s",
        links={
            "sat": bp.Link(
                rate="2 Mbit/s", delay="100 ms", queue=bp.DropTail("1 bdp"), loss=bp.PacketError(0.002)
            )
        },
        flows=[bp.Flow("reno", path=["sat"])],
    )
    assert json.loads(built.to_json()) == json.loads(bp.Scenario.load(scenario_file).to_json())


def test_resolving_twice_changes_nothing(scenario_file):
    once = bp.Scenario.load(scenario_file).to_json()
    assert bp.Scenario.from_json(once).to_json() == once


def test_overrides(scenario_file):
    changed = bp.Scenario.load(
        scenario_file, {"link.sat.loss.rate": 0.5, "flow.0.cc": "star", "duration": "3 s"}
    )
    assert changed.flows[0].cc in ("star", {"name": "star"})
    assert changed.duration == "3 s"
    loss = changed.links["sat"].loss
    assert (loss[0] if isinstance(loss, list) else loss).rate == 0.5


@pytest.mark.parametrize(
    "loss",
    [
        bp.PacketError(0.01),
        bp.BitError(1e-6),
        bp.GilbertElliott(p=0.01, r=0.3, bad_loss=0.5),
        bp.Outage(from_="1 s", to="2 s"),
        bp.Outage(every="2 s", length="100 ms", first="500 ms"),
        [bp.PacketError(0.01), bp.Outage(from_="1 s", to="2 s")],
    ],
)
def test_every_loss_model_runs_and_loses(loss):
    result = bp.run(one_link(loss=loss))
    forward = result.json["links"][0]
    assert forward["direction"] == "forward"
    assert forward["dropped_error"] > 0


def test_a_loss_trace_loses_the_packets_it_names(tmp_path):
    (tmp_path / "lost.txt").write_text("3\n7\n8\n")
    result = bp.run(one_link(loss=bp.LossTrace(str(tmp_path / "lost.txt"))))
    assert result.json["links"][0]["dropped_error"] == 3


def table(rows=3):
    """A time line: 10 ms more of delay every second, and a handover in each row but the first."""
    import polars as pl

    at = [float(i) for i in range(rows)]
    delay = [0.1 + 0.01 * i for i in range(rows)]
    columns = {"t_s": at, "delay_s": delay, "handover": [i > 0 for i in range(rows)], "hops": ["a, b"] * rows}
    return pl.DataFrame(columns)


def test_a_time_line_in_parquet_or_csv_is_the_same(tmp_path):
    table().drop("hops").write_csv(tmp_path / "line.csv")
    table().write_parquet(tmp_path / "line.parquet")

    def results(file):
        scenario = one_link(delay=None, timeline=tmp_path / file, nominal={"delay": "0.1 s"})
        return {key: value for key, value in bp.run(scenario).json.items() if key != "wall_s"}

    assert results("line.csv") == results("line.parquet")
    assert results("line.csv")["flows"][0]["rtt_min_s"] > 0.2


def test_steps_and_handovers_are_keyword_arguments():
    link = bp.Link(
        rate=[["0 s", "2 Mbit/s"], ["2 s", "1 Mbit/s"]],
        delay=[["0 s", "100 ms"], ["3 s", "90 ms"]],
        up=[["0 s", True], ["4 s", False]],
        nominal={"rate": "2 Mbit/s", "delay": "100 ms"},
        reorder=True,
        handover={"in_flight": "lost", "queue": "flushed", "every": "1 s", "outage": "100 ms"},
    )
    scenario = bp.Scenario(links={"sat": link}, flows=[bp.Flow("reno", path=["sat"])], duration="5 s")
    assert bp.Scenario.from_json(scenario.to_json()).to_json() == scenario.to_json()
    (forward, _) = bp.run(scenario).json["links"]
    assert forward["dropped_error"] > 0 and forward["dropped_queue"] > 0


def test_a_time_line_that_cannot_be_read_is_one_line(tmp_path):
    import polars as pl

    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and no more")
    table().write_parquet(tmp_path / "new.parquet", metadata={"bentpipe.timeline": "2"})
    pl.DataFrame({"t_s": [0.0, 1.0], "rate_bps": [1e6, -1.0]}).write_parquet(tmp_path / "wrong.parquet")
    for name, said in {
        "torn.parquet": "it is no Parquet table, or a damaged one",
        "new.parquet": "version 2",
        "wrong.parquet": 'line 3, column rate_bps: "-1.0" is negative',
        "none.parquet": "no such file",
    }.items():
        with pytest.raises(bp.ScenarioError, match=said) as error:
            bp.run(one_link(delay="1 ms", timeline=str(tmp_path / name)))
        assert "\n" not in str(error.value)


def test_a_file_beside_the_scenario_is_found(tmp_path, scenario_file):
    table().write_parquet(tmp_path / "line.parquet")
    text = scenario_file.read_text().replace(
        'delay = "100 ms"', 'delay = "100 ms"\ntimeline = "line.parquet"'
    )
    (tmp_path / "moving.toml").write_text(text)
    found = bp.Scenario.load(tmp_path / "moving.toml").links["sat"].timeline
    assert found == str(tmp_path / "line.parquet")


def test_the_return_direction_can_differ():
    result = bp.run(one_link(reverse={"rate": "1 Mbit/s", "loss": bp.PacketError(0.1)}))
    forward, reverse = result.json["links"]
    assert (forward["rate_bps"], reverse["rate_bps"]) == (2e6, 1e6)
    assert forward["dropped_error"] == 0 < reverse["dropped_error"]


def test_finite_and_constant_rate_traffic():
    scenario = one_link()
    scenario.flows = [
        bp.Flow("reno", path=["sat"], name="file", traffic=bp.Bulk(size="100 kB")),
        bp.Flow(path=["sat"], name="noise", traffic=bp.Cbr("200 kbit/s", packet="1000 bytes")),
    ]
    file, noise = bp.run(scenario).json["flows"]
    assert file["completion_s"] is not None
    assert file["delivered_bytes"] == 100_000
    assert noise["goodput_bps"] == pytest.approx(200e3, rel=0.1)


def test_models_survive_being_written_and_read():
    red = bp.Red("2.5 bdp", min=0.15, max="60 packets", ecn=True)
    others = (bp.Outage(from_="1 s", to="2 s"), bp.GilbertElliott(0.1, 0.2), bp.DropTail("3 packets"))
    codel = bp.Codel("2 bdp", target="30 ms", interval="600 ms", ecn=True)
    pie = bp.Pie(target="20 ms", update="10 ms", alpha=0.2, beta=2.0, burst="0 s", ecn=True, mark_p=0.5)
    queues = (codel, pie, bp.FqCodel(queues=8, quantum="300 bytes"), bp.Priority("9 packets", bands=3))
    for part in (red, *others, *queues):
        assert from_plain(to_plain(part)) == part
    assert set(KINDS) >= {"drop-tail", "red", "bit-error", "cbr", "codel", "fq-codel", "pie", "priority"}


@pytest.mark.parametrize("queue", [bp.Codel("300 packets"), bp.FqCodel("300 packets"), bp.Pie("300 packets")])
def test_a_queue_that_governs_the_delay_is_shorter_than_a_full_one(queue):
    scenario = one_link()
    scenario.flows = [bp.Flow("reno", path=["sat"])]
    scenario.duration = "60 s"

    def queued(kind):
        scenario.links["sat"].queue = kind
        return bp.run(scenario).json["links"][0]["queue_mean_packets"]

    assert queued(queue) < 0.2 * queued(bp.DropTail("300 packets"))


def test_a_flow_of_the_second_band_waits_for_the_first():
    scenario = one_link()
    scenario.links["sat"].queue = bp.Priority("50 packets")
    noise = {"path": ["sat"], "traffic": bp.Cbr("15 Mbit/s")}
    scenario.flows = [bp.Flow(**noise, name="last", priority=1), bp.Flow(**noise, name="first")]
    last, first = bp.run(scenario).json["flows"]
    assert last["delivered_bytes"] <= 2 * 1000 < 1_000_000 < first["delivered_bytes"]


def test_random_delays_of_acknowledgements_lengthen_the_round_trip():
    scenario = one_link()
    scenario.duration = "60 s"

    def rtt(**options):
        scenario.flows = [bp.Flow("reno", path=["sat"], receive_window="1 segments", **options)]
        return bp.run(scenario).json["flows"][0]["rtt_mean_s"]

    assert 0.02 < rtt(ack_jitter="100 ms") - rtt() < 0.08


def test_a_red_queue_marks_flows_with_ecn_and_drops_from_others():
    scenario = one_link()
    for ecn in (True, False):
        scenario.links["sat"].queue = bp.Red("60 packets", min="5 packets", max=0.5, ecn=True)
        scenario.flows = [bp.Flow("reno", path=["sat"], ecn=ecn, count=3, receive_window="20 segments")]
        scenario.duration = "60 s"
        link = bp.run(scenario).json["links"][0]
        assert (link["marked"] > 0) == ecn
        assert (link["dropped_queue"] == 0) == ecn


def wrong(change, tmp_path: Path):
    scenario = one_link()
    change(scenario)
    with pytest.raises(bp.ScenarioError) as caught:
        scenario.check()
    message = str(caught.value)
    assert message.strip() and "\n" not in message
    return message


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda s: setattr(s.links["sat"], "rate", "fast"), "link.sat.rate"),
        (lambda s: setattr(s.links["sat"], "rate", "0 Mbit/s"), "link.sat.rate"),
        (lambda s: setattr(s.links["sat"], "delay", None), "link.sat"),
        (lambda s: setattr(s.links["sat"], "delay", "-1 s"), "link.sat.delay"),
        (lambda s: setattr(s.links["sat"], "loss", bp.PacketError(2.0)), "link.sat.loss"),
        (lambda s: setattr(s.links["sat"], "queue", bp.DropTail("many")), "link.sat.queue"),
        (lambda s: setattr(s.links["sat"], "queue", bp.Red(min=0.5, max=0.4)), "link.sat.queue.max"),
        (lambda s: setattr(s.links["sat"], "queue", bp.Codel(interval="1 ms")), "link.sat.queue.interval"),
        (lambda s: setattr(s.links["sat"], "queue", bp.Pie(update="0 s")), "link.sat.queue.update"),
        (lambda s: setattr(s.links["sat"], "queue", bp.FqCodel(queues=0)), "link.sat.queue.queues"),
        (lambda s: setattr(s.links["sat"], "loss", bp.LossTrace("/nowhere/lost")), "/nowhere/lost"),
        (lambda s: setattr(s, "duration", "5"), "duration"),
        (lambda s: setattr(s, "flows", []), "flow"),
        (lambda s: setattr(s.flows[0], "path", ["moon"]), "moon"),
        (lambda s: setattr(s.flows[0], "cc", "renoo"), "reno"),
        (lambda s: setattr(s.flows[0], "cc", {"name": "reno", "x": 1}), "x"),
        (lambda s: setattr(s.flows[0], "count", 0), "count"),
        (lambda s: setattr(s.flows[0], "recovery", "magic"), "recovery"),
        (lambda s: s.flows.extend([bp.Flow("reno", path="sat", name="twin")] * 2), "twin"),
        (lambda s: setattr(s, "seed", -1), "seed"),
        (lambda s: setattr(s.links["sat"], "rate", object()), "JSON"),
    ],
)
def test_a_wrong_scenario_gets_one_line_that_names_the_place(change, named, tmp_path):
    assert named in wrong(change, tmp_path)


def test_all_mistakes_of_a_dict_come_at_once():
    link = {"rate": "1 Mbit", "delay": "1 s"}
    table = {"link": {"sat": link}, "flow": [{"cc": "renoo", "path": ["sta"], "mss": 9}], "duration": 5}
    starts = [
        "duration: 5 has no unit",
        "flow.0.cc: no congestion controller is called",
        "flow.0.mss: 9 has no unit",
        'flow.0.path.0: no link is called "sta"; did you mean sat?',
        'link.sat.rate: unit "Mbit" is not one for this value; did you mean "1 Mbit/s"?',
    ]

    def said(known):
        with pytest.raises(bp.ScenarioError) as caught:
            known(table)
        assert list(caught.value.mistakes) == str(caught.value).splitlines()
        return sorted(caught.value.mistakes)

    for line, start in zip(said(bp.run), starts, strict=True):
        assert line.startswith(start)
    link["latency"] = link.pop("delay")
    starts.insert(4, "link.sat.latency: unknown key; did you mean delay?")
    for line, start in zip(said(bp.Scenario.of), starts, strict=True):
        assert line.startswith(start)


def test_all_mistakes_of_a_file_come_at_once(tmp_path, cli):
    path = tmp_path / "my.toml"
    path.write_text(
        'duration = "5 s"\n[link.sat]\nrate = "1,5 Mbit/s"\nlatency = "1 ms"\n'
        '[[flow]]\ncc = "Renoo"\npath = ["sta"]\n'
    )
    ran = cli("run", path, "--set", "flow[0].mss=9")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr.splitlines() == [
        f'bentpipe: {path}:3: link.sat.rate: "1,5 Mbit/s" has a comma; a point is in front of the fraction: '
        'write "1.5 Mbit/s"',
        f"bentpipe: {path}:4: link.sat.latency: unknown key; did you mean delay?",
        f'bentpipe: {path}:6: flow.0.cc: no congestion controller is called "Renoo"; '
        "did you mean reno or veno?",
        f'bentpipe: {path}:7: flow.0.path.0: no link is called "sta"; did you mean sat?',
        f"bentpipe: {path} (override): flow[0].mss: items of flow are counted behind a point; "
        "write flow.0.mss",
    ]


def test_very_many_mistakes_are_counted(tmp_path, cli):
    path = tmp_path / "my.toml"
    path.write_text('duration = "5 s"\n' + '[[flow]]\ncc = "reno"\npath = ["a"]\ncount = 0\n' * 500)
    ran = cli("run", path)
    assert (ran.exit_code, ran.stderr.count("\n")) == (2, 21)
    assert ran.stderr.endswith("bentpipe: and 480 more\n")


def test_names_ignore_case(scenario_file, cli):
    scenario = one_link(queue={"kind": "FQ-CoDel"})
    scenario.flows[0].cc = "CUBIC"
    table = json.loads(scenario.to_json())
    assert table["flow"][0]["cc"] in ("cubic", {"name": "cubic"})
    assert table["link"]["sat"]["queue"]["kind"] == "fq-codel"
    assert cli("run", "GEO", "--cc", "CUBIC", "--set", "duration=1 s").exit_code == 0
    compared = cli(
        "compare", "--link", scenario_file, "--cc", "Reno,VEGAS alpha=2", "--seeds", 1, "--for", "2 s"
    )
    assert compared.exit_code == 0, compared.stderr
    assert cli("cc", "show", "Reno").exit_code == cli("queue", "show", "CoDel").exit_code == 0


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: bp.Scenario.load(5), "Scenario.load: a file or the name of a scenario is needed"),
        (lambda: bp.run(5), "a scenario is a file, a dict or a bentpipe.Scenario"),
        (lambda: bp.run(bp.Scenario(links=[bp.Link()])), "links: a dict of links by name"),
        (lambda: bp.run(one_link(queue=bp.DropTail)), "link.sat.queue: the class DropTail cannot be written"),
        (lambda: bp.run(one_link(queue="codl")), 'it must be a table, e.g. { kind = "codel" }'),
        (
            lambda: bp.run(one_link(reverse={"rate": object()})),
            "link.sat.reverse.rate: object cannot be written",
        ),
        (lambda: bp.run("geo", seed="x"), 'seed: "x" is not allowed here; it must be a whole number'),
    ],
)
def test_values_of_a_wrong_type_get_one_line(make, said):
    with pytest.raises(bp.ScenarioError) as caught:
        make()
    assert said in str(caught.value) and "\n" not in str(caught.value)


@cache
def schema_validator():
    jsonschema = pytest.importorskip("jsonschema")
    schema = scenario_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_schema_has_a_name_and_a_version(cli, tmp_path):
    printed = json.loads(cli("schema").stdout)
    assert (
        printed["$id"] == f"urn:bentpipe:scenario:{bp.__version__}"
        and printed["title"] == "Bentpipe scenario"
    )
    assert cli("schema", "--out", tmp_path / "s.json").exit_code == 0
    assert json.loads((tmp_path / "s.json").read_text()) == printed == sweep_schema()
    assert cli("schema", "--out", tmp_path).exit_code == 2


@pytest.mark.parametrize("name", sorted(p.stem for p in SCENARIOS.glob("*.toml")))
def test_shipped_scenarios_fit_the_schema(name):
    table = tomllib.loads((SCENARIOS / f"{name}.toml").read_text())
    assert [str(wrong.message) for wrong in schema_validator().iter_errors(table)] == []


def test_the_schema_refuses_what_an_editor_should_underline():
    validator = schema_validator()
    right = {"duration": "5 s", "link": {"a": {"rate": "1 Mbit/s", "delay": "1 ms"}}, "flow": []}
    assert validator.is_valid(right)
    for key, wrong in (
        ("rate", "1 Mbit"),
        ("rate", "1,5 Mbit/s"),
        ("rate", 5),
        ("delay", "fast"),
        ("queue", {"kind": "codl"}),
        ("queue", {"kind": "drop-tail", "limit": "many"}),
        ("dely", "1 ms"),
    ):
        assert not validator.is_valid({**right, "link": {"a": {**right["link"]["a"], key: wrong}}}), (
            key,
            wrong,
        )
    for text in ("1.5 Mbit/s", "1e3kbit/s", "10Mbps", "+5 bit/s", "1_000 bps"):
        assert validator.is_valid({**right, "link": {"a": {"rate": text}}}), text


def test_the_page_has_an_example_of_every_key_and_each_fits(monkeypatch):
    """Every key of the schema is in docs/scenario.md or docs/queues.md, and what they say is right."""
    scripts = Path(__file__).parents[2] / "scripts"
    if not scripts.is_dir():
        pytest.skip("the scripts are not here")
    monkeypatch.syspath_prepend(str(scripts))
    import scenario_md

    page = (scripts.parent / "docs" / "scenario.md").read_text()
    assert page == scenario_md.page()
    page += (scripts.parent / "docs" / "queues.md").read_text()
    schema, jsonschema = scenario_schema(), pytest.importorskip("jsonschema")
    tables = {name for name, *_ in scenario_md.TABLES}
    seen = 0
    for name in ("", *schema["$defs"]):
        for table in scenario_md.alternatives(schema["$defs"][name] if name else schema):
            for key, value in table.get("properties", {}).items() if key_table(name, table) else ():
                assert name in tables, f"{name} is not on the page"
                if key == "kind":
                    continue
                example = scenario_md.example(name, key, value)
                assert f"`{key} = {scenario_md.toml(example, str)}`" in page
                # Not `jsonschema.validate`, which checks the whole schema again for every key.
                jsonschema.Draft202012Validator({**value, "$defs": schema["$defs"]}).validate(example)
                assert tomllib.loads(f"value = {scenario_md.toml(example, str)}")["value"] == example
                seen += 1
    assert seen > 150


def key_table(name, table):
    """Is it a table of keys? `OneOrMany` and the like only refer to one."""
    return bool(table.get("properties")) and not name.startswith("OneOrMany")


def test_unknown_keys_are_refused():
    with pytest.raises(bp.ScenarioError, match=r"link\.sat\.dely: unknown key; did you mean delay"):
        bp.Scenario.from_dict({"link": {"sat": {"dely": "1 s"}}, "flow": []})
    with pytest.raises(TypeError, match="dely"):
        bp.Link(dely="1 s")


def test_a_class_that_is_no_controller_is_refused():
    scenario = one_link()
    scenario.flows[0].cc = dict
    with pytest.raises(bp.ScenarioError, match="does not define on_ack and on_congestion"):
        scenario.to_json()


def test_two_controllers_of_one_name_are_told_apart():
    def make(step):
        class Mine(bp.Controller):
            def on_ack(self, flow, ack):
                self.cwnd += step

            def on_congestion(self, flow, why):
                self.cwnd = 1

        return Mine

    first, second = make(1), make(2)
    scenario = one_link()
    scenario.flows = [bp.Flow(cc, path=["sat"]) for cc in (first, second, first)]
    assert scenario.controllers() == {"Mine": first, "Mine-2": second}
    assert [f["cc"] for f in scenario.to_dict()["flow"]] == ["python:Mine", "python:Mine-2", "python:Mine"]


@pytest.mark.parametrize(("part", "near"), [("scenario", "duration"), ("link", "rate"), ("flow", "path")])
def test_an_attribute_that_is_no_argument_is_refused_with_those_that_are_near(part, near):
    scenario = bp.Scenario.load("geo")
    which = {"scenario": scenario, "link": scenario.links["geo"], "flow": scenario.flows[0]}[part]
    with pytest.raises(AttributeError, match=f"no argument is called '{near}x'; did you mean {near}"):
        setattr(which, near + "x", "5 s")
    setattr(which, near, getattr(which, near))
    assert pickle.loads(pickle.dumps(which)) == which


def test_messages_survive_another_process():
    wrong = pickle.loads(pickle.dumps(bp.ScenarioError("what is wrong")))
    assert type(wrong) is bp.ScenarioError and str(wrong) == "what is wrong"

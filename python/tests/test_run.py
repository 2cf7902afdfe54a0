"""Running: the same seed gives the same bits, whatever the threads."""

import json

import pytest

import bentpipe as bp


def scenario(seed=1, **given):
    link = bp.Link(rate="2 Mbit/s", delay="100 ms", loss=bp.PacketError(0.005))
    flows = [bp.Flow("reno", path=["sat"], start_jitter="1 s"), bp.Flow("star", path=["sat"])]
    return bp.Scenario(links={"sat": link}, flows=flows, duration="20 s", seed=seed, **given)


def without_time(result):
    return json.dumps({key: value for key, value in result.json.items() if key != "wall_s"})


def test_another_seed_gives_another_run():
    assert without_time(bp.run(scenario())) != without_time(bp.run(scenario(), seed=2))


def test_the_seed_argument_is_the_scenarios_seed():
    assert without_time(bp.run(scenario(), seed=7)) == without_time(bp.run(scenario(seed=7)))


def test_threads_change_nothing():
    many = [scenario(seed) for seed in range(1, 9)]
    one, two = bp.run_many(many, 1), bp.run_many(many, 2)
    assert [without_time(r) for r in one] == [without_time(r) for r in two]
    assert [r.json["seed"] for r in one] == list(range(1, 9))
    assert without_time(one[2]) == without_time(bp.run(many[2]))


def test_recording_does_not_disturb_the_run():
    plain, recorded = bp.run(scenario()), bp.run(scenario(record=bp.Record("100 ms", links=True)))
    assert plain.json["flows"] == recorded.json["flows"]


def test_another_flow_does_not_disturb_the_losses_of_the_first():
    first = bp.Link(rate="2 Mbit/s", delay="100 ms", loss=bp.PacketError(0.005))
    other = bp.Link(rate="3 Mbit/s", delay="50 ms", loss=bp.PacketError(0.01))
    alone = bp.Scenario(links={"a": first}, flows=[bp.Flow("reno", path="a", name="x")], duration="10 s")
    beside = bp.Scenario(
        links={"a": first, "b": other},
        flows=[bp.Flow("reno", path="a", name="x"), bp.Flow("star", path="b", name="y")],
        duration="10 s",
    )
    assert bp.run(alone).json["flows"][0] == bp.run(beside).json["flows"][0]


def test_progress_is_reported():
    shares, counts = [], []
    long = scenario()
    long.links["sat"].rate, long.links["sat"].loss, long.duration = "200 Mbit/s", None, "60 s"
    bp.run(long, progress=shares.append)
    assert shares == sorted(shares) and 0 <= shares[0] <= shares[-1] <= 1
    bp.run_many([scenario(1), scenario(2), scenario(3)], progress=counts.append)
    assert counts == sorted(counts) and counts[-1] == 3


def test_an_error_in_one_of_many_scenarios_stops_all_before_they_run():
    wrong = scenario()
    wrong.duration = "soon"
    counts = []
    with pytest.raises(bp.ScenarioError, match="duration"):
        bp.run_many([scenario(), wrong], progress=counts.append)
    assert counts == []


def test_no_scenarios_give_no_results():
    assert bp.run_many([]) == []


def test_a_handshake_costs_a_round_trip_and_its_last_segment():
    """SYN and SYN-ACK of 60 bytes over 250 ms each way; then 52 bytes of acknowledgement precede the data."""
    link = bp.Link(rate="10 Mbit/s", delay="250 ms")
    flows = {}
    for handshake in (False, True):
        flow = bp.Flow("reno", path=["sat"], traffic=bp.Bulk("100 kB"), handshake=handshake)
        given = bp.Scenario(links={"sat": link}, flows=[flow], duration="20 s")
        flows[handshake] = bp.run(given).json["flows"][0]
    trip = 0.5 + 2 * 60 * 8 / 10e6
    assert flows[True]["rtt_min_s"] == pytest.approx(trip, abs=1e-9)
    later = flows[True]["completion_s"] - flows[False]["completion_s"]
    assert later == pytest.approx(trip + 52 * 8 / 10e6, abs=1e-9)
    # Waiting for the answer is a limit of its own.
    waits = [flow["limited"]["handshake"] * flow["completion_s"] for flow in flows.values()]
    assert waits == [0, pytest.approx(trip, abs=1e-9)]
    assert flows[True]["sent_packets"] == flows[False]["sent_packets"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "link: there is no link"),
        ([], "not a value of type list"),
        (None, "not a value of type NoneType"),
        ({"link": []}, "link: a list is not allowed here; it must be a table"),
        ({"link": {"a": 3}}, "link.a: 3 is not allowed here; it must be a table"),
        ("no-such-scenario", "no-such-scenario"),
        (bp.Scenario(links=[bp.Link()]), "links: a dict of links by name"),
        (bp.Scenario(links={"a": "geo"}), "links['a']: a bp.Link is needed"),
        (bp.Scenario(links={}, flows=["reno"]), "flows[0]: a bp.Flow is needed"),
    ],
)
def test_what_is_no_scenario_is_told_in_a_line_for_each_mistake(given, said):
    with pytest.raises(bp.ScenarioError) as wrong:
        bp.run(given)
    assert said in str(wrong.value).splitlines()[0]


def test_a_file_a_name_and_a_dict_run_like_a_scenario(tmp_path):
    scenario = bp.Scenario.load("geo", {"duration": "2 s"})
    wanted = bp.run(scenario).json["flows"]
    file = tmp_path / "geo.json"
    file.write_text(json.dumps(scenario.to_dict()))
    stored = bp.run(scenario).save(tmp_path / "r")
    for given in (scenario.to_dict(), file, str(file), stored, bp.run(scenario).scenario):
        assert bp.run(given).json["flows"] == wanted

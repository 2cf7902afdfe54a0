"""Link layers from Python: demand assignment, ARQ, thinned acknowledgements, opportunities."""

import pytest

import bentpipe as bp


def run(reverse, **link):
    """Ten seconds of Reno over 10 Mbit/s and 250 ms each way."""
    link = {"rate": "10 Mbit/s", "delay": "250 ms", **link}
    flow = bp.Flow("reno", ["x"], profile="paper")
    return bp.run(bp.Scenario(links={"x": bp.Link(**link, reverse=reverse)}, flows=[flow], duration="10 s"))


def test_models_are_tables():
    access = bp.Dama("20 ms", slots=10, cra=2)
    assert access.to_dict() == {"kind": "dama", "frame": "20 ms", "slots": 10, "cra": 2, "free": 0}
    by_model = run({"rate": "2 Mbit/s", "access": access, "ack_thinning": bp.AckThinning()})
    by_table = run({"rate": "2 Mbit/s", "access": access.to_dict(), "ack_thinning": {}})
    assert by_model.json["flows"] == by_table.json["flows"]
    # The acknowledgement of the first round waits for a frame, and for its slot of 2 ms.
    assert 0.5 + 0.002 < by_model.json["flows"][0]["rtt_min_s"] <= 0.5 + 0.022 + 0.0012


def test_a_report_counts_repeats_and_thinned_acknowledgements():
    links = run(
        {"rate": "20 kbit/s", "ack_thinning": bp.AckThinning(keep=2)}, loss=bp.PacketError(0.1), arq=bp.Arq(4)
    ).links
    forward, reverse = links.filter(direction="forward"), links.filter(direction="reverse")
    assert forward["repeated"][0] > 0 and forward["thinned_acks"][0] == 0
    assert reverse["thinned_acks"][0] > 0 and reverse["repeated"][0] == 0


def test_a_file_of_opportunities_stands_beside_its_scenario(tmp_path):
    (tmp_path / "steady.down").write_text("".join(f"{ms}\n" for ms in range(1, 101)))
    (tmp_path / "mine.toml").write_text(
        'duration = "5 s"\n[link.x]\ndelay = "20 ms"\nopportunities = "steady.down"\n'
        'reverse = { rate = "5 Mbit/s" }\n'
        '[[flow]]\ncc = "reno"\npath = ["x"]\n'
    )
    result = bp.run(bp.Scenario.load(tmp_path / "mine.toml"))
    assert result.links["rate_bps"][0] == 1504 * 8 * 1000
    assert result.json["flows"][0]["goodput_bps"] > 8e6
    (tmp_path / "steady.down").write_text("5\n4\n")
    with pytest.raises(bp.ScenarioError, match="opportunities.*line 2: 4 comes after 5"):
        bp.run(bp.Scenario.load(tmp_path / "mine.toml"))


@pytest.mark.parametrize("name", ["vsat-dama", "vsat-arq", "vsat-thinning"])
def test_presets_show_what_they_are_for(name):
    forward, reverse = bp.run(bp.Scenario.load(name, {"duration": "20 s"})).links.sort("direction").to_dicts()
    shown = {
        "vsat-dama": reverse["queue_mean_packets"] > 1,
        "vsat-arq": forward["repeated"] > 0 and forward["dropped_error"] < 5,
        "vsat-thinning": reverse["thinned_acks"] > 0,
    }
    assert shown[name], (forward, reverse)

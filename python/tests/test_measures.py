"""A measure has one meaning, whoever shows it: tables, figures, reports, comparisons and sweeps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bentpipe as bp
from bentpipe import measures
from bentpipe.plot.many import many
from bentpipe.plot.measures import per_run
from bentpipe.reports.measures import sample
from bentpipe.sweeps.commands import groups
from bentpipe.sweeps.stored import Stored, read


def flow(name: str, cc: str, goodput_bps: float, sent: int, dropped: int, **more: Any) -> dict[str, Any]:
    """The row of a flow."""
    usual: dict[str, Any] = {
        "run": 0,
        "seed": 1,
        "name": name,
        "cc": cc,
        "start_s": 0.0,
        "timeouts": 0,
        "half": None,
    }
    rtt = {"rtt_min_s": 0.1, "rtt_p50_s": 0.1, "rtt_p95_s": 0.2, "completion_s": None}
    counts = {"sent_packets": sent, "dropped_packets": dropped, "retransmitted_packets": 2 * dropped}
    return usual | rtt | {"goodput_bps": goodput_bps} | counts | more


#: By hand. CUBIC has lost 105 of 1,010 packets: neither 10 % nor 50 % nor their mean. Jain's index of 6, 1
#: and 2 Mbit/s is 81 / (3 * 41), that of CUBIC's own 49 / (2 * 37).
FLOWS = pl.DataFrame(
    [
        flow("a", "cubic", 6e6, 1_000, 100),
        flow("b", "cubic", 1e6, 10, 5),
        flow("c", "vegas", 2e6, 500, 0),
    ],
    schema_overrides={"completion_s": pl.Float64, "half": pl.String},
)
LOST, JAIN, JAIN_OWN = 105 / 1_010, 81 / 123, 49 / 74
LINKS = pl.DataFrame(
    [
        {"run": 0, "seed": 1, "name": "slow", "direction": "forward", "rate_bps": 1e6, "utilisation": 0.2},
        {"run": 0, "seed": 1, "name": "wide", "direction": "forward", "rate_bps": 9e6, "utilisation": 0.9},
        {"run": 0, "seed": 1, "name": "wide", "direction": "reverse", "rate_bps": 1e5, "utilisation": 1.0},
    ]
).with_columns(data_flows=pl.Series([1, 1, 0]))


def shown_by_a_figure(measure: str) -> float:
    """Of CUBIC."""
    found = replace(many(FLOWS), links=LINKS)
    return float(per_run(found, measure).filter(algorithm="cubic")["y"][0])


def shown_by_a_report(name: str, flows: pl.DataFrame = FLOWS) -> float | None:
    """Of CUBIC, in the unit of the report."""
    found = sample(Stored([Path("made-up")], flows, LINKS, pl.DataFrame(), pl.DataFrame()), [name])
    return found.rows.filter(pl.col("algorithm") == "CUBIC")[name][0]


def test_lost_packets_are_counted_over_the_flows_together() -> None:
    cubic = FLOWS.filter(cc="cubic").to_dicts()
    assert measures.lost(cubic) == pytest.approx(LOST)
    assert measures.resent(cubic) == pytest.approx(2 * LOST)
    assert shown_by_a_figure("lost") == pytest.approx(LOST)
    assert shown_by_a_report("loss") == pytest.approx(100 * LOST)
    assert shown_by_a_report("retransmitted") == pytest.approx(200 * LOST)
    (row,) = groups(FLOWS.filter(cc="cubic"), LINKS, [])
    assert row["loss"] == pytest.approx(LOST)


def test_jains_index_is_that_of_all_flows_of_the_run_and_that_of_its_own_has_another_name() -> None:
    assert shown_by_a_figure("jain") == pytest.approx(JAIN)
    assert shown_by_a_report("jain") == pytest.approx(JAIN)
    assert shown_by_a_figure("jain_own") == pytest.approx(JAIN_OWN)
    assert shown_by_a_report("jain_own") == pytest.approx(JAIN_OWN)


def test_the_goodput_of_an_algorithm_is_the_sum_of_its_flows_everywhere() -> None:
    assert shown_by_a_figure("goodput_bps") == 7e6 and shown_by_a_report("goodput") == pytest.approx(7)
    (row,) = groups(FLOWS.filter(cc="cubic"), LINKS, [])
    assert row["goodput_bps"] == 7e6
    found = sample(
        Stored([Path("made-up")], FLOWS, LINKS, pl.DataFrame(), pl.DataFrame()), ["goodput", "rtt_p95"]
    )
    labels = [measure.label for measure in found.measures]
    assert labels == ["goodput (sum of flows), Mbit/s", "p95 RTT (mean of flows), ms"]


def test_a_sweep_leaves_out_the_parts_of_a_flow_as_a_comparison_does(tmp_path: Path) -> None:
    """Of a Multipath connection 0.6 s; its subflows of 1.2 and 0.1 s do not count beside it."""
    rows = [
        flow("lia", "lia", 3e6, 30, 3, rtt_p95_s=0.6),
        flow("lia/1", "lia", 2e6, 20, 2, half="subflow", rtt_p95_s=1.2),
        flow("lia/2", "lia", 1e6, 10, 1, half="subflow", rtt_p95_s=0.1),
    ]
    (row,) = groups(pl.DataFrame(rows, schema_overrides={"half": pl.String}), LINKS, [])
    assert (row["rtt_p95_s"], row["goodput_bps"], row["loss"]) == (0.6, 3e6, 0.1)
    short = bp.Scenario.load("geo-leo-multipath", {"duration": "20 s"})
    bp.sweep(short, {"flow.0.cc": ["lia"]}, seeds=2, out=tmp_path / "swept")
    swept = read([tmp_path / "swept"])
    (point,) = groups(swept.flows, swept.links, ["flow.0.cc"])
    compared = bp.compare("geo-leo-multipath", ["lia"], whole=True, seeds=2, duration="20 s")
    assert point["rtt_p95_s"] == pytest.approx(compared["rtt_p95_s"].item())


def test_figures_and_reports_count_the_same_flows() -> None:
    """A fixed CUBIC is beside the algorithm under test, also where that is CUBIC; both directions count."""
    rows = [
        {"flow.0.cc": cc, **flow(name, own, goodput, 10, 0), "half": half, "result_cc": own}
        | {"run": run}
        for run, cc in enumerate(("cubic", "bbr"))
        for name, own, goodput, half in (
            ("a/there", cc, 3e6, "first"), ("a/back", cc, 1e6, "second"), ("b", "cubic", 2e6, None),
        )
    ]  # fmt: skip
    flows = pl.DataFrame(rows, schema_overrides={"completion_s": pl.Float64, "half": pl.String}).drop("cc")
    figure = per_run(many(flows), "goodput_bps")
    assert dict(figure.select("algorithm", "y").rows()) == {"cubic": 4e6, "bbr": 4e6}
    report = sample(Stored([Path("made-up")], flows, LINKS, pl.DataFrame(), pl.DataFrame()), ["goodput"])
    assert dict(report.rows.select("algorithm", "goodput").rows()) == {
        "CUBIC": 4.0, "CUBIC beside CUBIC": 2.0, "BBR": 4.0, "CUBIC beside BBR": 2.0,
    }  # fmt: skip


def test_jains_index_of_one_flow_is_unknown() -> None:
    two = FLOWS.with_columns(run=pl.Series([0, 0, 1]))
    assert per_run(many(two), "jain").select("run", "algorithm").rows() == [(0, "cubic")]


def test_power_is_goodput_by_the_mean_round_trip_time_of_each_flow() -> None:
    """6 Mbit/s by 0.2 s and 1 Mbit/s by 0.1 s are 30 and 10 Mbit/s² (Kleinrock 1979)."""
    flows = FLOWS.with_columns(rtt_mean_s=pl.Series([0.2, 0.1, 0.5]))
    assert float(per_run(many(flows), "power_bps2").filter(algorithm="cubic")["y"][0]) == pytest.approx(20e6)
    assert shown_by_a_report("power", flows) == pytest.approx(20)


def test_the_bottleneck_is_the_busiest_direction_that_data_crosses() -> None:
    assert measures.utilisation(LINKS.to_dicts()) == 0.9
    assert measures.bottleneck(LINKS).select("name", "direction").rows() == [("wide", "forward")]
    assert shown_by_a_report("utilisation") == pytest.approx(90)
    assert measures.utilisation(LINKS.drop("data_flows").to_dicts()) == 1.0
    upload = LINKS.with_columns(data_flows=pl.Series([0, 0, 1]))
    assert measures.utilisation(upload.to_dicts()) == 1.0
    assert measures.bottleneck(upload).select("direction").rows() == [("reverse",)]
    unknown = LINKS.with_columns(data_flows=pl.lit(0))  # of an emulation
    assert measures.utilisation(unknown.to_dicts()) == 1.0 and measures.bottleneck(unknown).height == 1
    assert measures.utilisation([]) is None


def test_the_utilisation_of_an_upload_is_that_of_the_direction_it_crosses() -> None:
    """0.5 Mbit/s up a link of 1 Mbit/s; of the other direction acknowledgements take 0.05 %."""
    cbr = {"path": ["sat/reverse"], "traffic": {"kind": "cbr", "rate": "0.5 Mbit/s"}}
    link = {"rate": "50 Mbit/s", "delay": "20 ms", "reverse": {"rate": "1 Mbit/s"}}
    ran = bp.run({"duration": "20 s", "link": {"sat": link}, "flow": [cbr]})
    assert measures.utilisation(ran.json["links"]) == pytest.approx(0.5, rel=0.01)
    found = bp.compare("vsat-upload", ["cubic"], whole=True, seeds=1, duration="30 s")
    changed = {"duration": "30 s", "flow.0.cc": "cubic"}
    alone = bp.run(bp.Scenario.load("vsat-upload", changed)).links
    assert found["utilisation"].item() == alone.filter(direction="reverse")["utilisation"].max() > 0.1


def played(flow: dict[str, Any], seconds: int, **link: Any) -> dict[str, Any]:
    """A scenario of one flow over one link."""
    sat = {"delay": "10 ms", "queue": {"kind": "drop-tail", "limit": "1 packets"}, **link}
    return {"duration": f"{seconds} s", "link": {"sat": sat}, "flow": [{"path": ["sat"], **flow}]}


STEADY = {"traffic": {"kind": "cbr", "rate": "5 Mbit/s"}}
UP = [["0 s", True], ["30 s", False], ["50 s", True]]
"""Up for 70 of 90 s."""


def test_used_counts_bits_and_not_time() -> None:
    """5 Mbit/s over 50 and then 10 Mbit/s, 10 s each, are 100 of 600 Mbit. By time that would be 30 %."""
    rate = [["0 s", "50 Mbit/s"], ["10 s", "10 Mbit/s"]]
    used = bp.run(played(STEADY, 20, rate=rate)).links["utilisation"][0]
    assert used == pytest.approx(1 / 6, rel=1e-3)


def test_an_outage_is_not_time_in_which_a_link_is_used(cli: Any, tmp_path: Path) -> None:
    """5 of 50 Mbit/s are 10 % of what the link can carry. The packet that is held for 20 s does not count."""
    link = bp.run(played(STEADY, 90, rate="50 Mbit/s", up=UP)).json["links"][0]
    assert link["up_s"] == 70 and link["utilisation"] == pytest.approx(0.1, rel=1e-3)
    queue = {"kind": "drop-tail", "limit": "50 packets"}
    full = bp.run(played({"cc": "reno"}, 90, rate="5 Mbit/s", up=UP, queue=queue))
    (used,) = full.links.filter(direction="forward")["utilisation"]
    delivered = full.links.filter(direction="forward")["delivered_packets"].item()
    assert 0.5 < used <= 1 and used == pytest.approx(delivered * 12_000 / (70 * 5e6), rel=1e-3)
    file = tmp_path / "full.json"
    file.write_text(bp.Scenario.of(full.scenario).as_written())
    assert "70 of 90" in cli("run", file).stdout
    said = cli("compare", "--scenario", file, "--cc", "reno", "--seeds", "1").stdout
    assert "while it is up, which is 77.8 % of the time" in " ".join(said.split())


def test_where_nothing_was_sent_the_loss_is_unknown() -> None:
    assert measures.lost([]) is None
    idle = [flow("a", "cubic", 0.0, 0, 0), flow("b", "cubic", 0.0, 0, 0)]
    assert measures.lost(idle) is None and measures.resent(idle) is None
    nothing = FLOWS.with_columns(sent_packets=0, dropped_packets=0, retransmitted_packets=0)
    found = sample(Stored([Path("made-up")], nothing, LINKS, pl.DataFrame(), pl.DataFrame()))
    assert "loss" not in [measure.name for measure in found.measures]
    (row,) = groups(nothing.filter(cc="cubic"), LINKS, [])
    assert row["loss"] is None


def test_a_mean_completion_time_needs_all_flows_to_have_finished() -> None:
    done = FLOWS.with_columns(completion_s=pl.Series([3.0, 5.0, None]))
    assert shown_by_a_report("completion", done) == pytest.approx(4)
    half = FLOWS.with_columns(completion_s=pl.Series([3.0, None, 7.0]))
    assert shown_by_a_report("completion", half) is None


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("link.sat.loss.rate", "loss rate of sat"),
        ("link.sat.reverse.delay", "one-way delay of sat/reverse"),
        ('link."a.b".rate', "rate of a.b"),
        ("link.*.handover.outage", "handover outage of every link"),
        ("flow.0.count", "number of flows"),
        ("flow.1.count", "number of flows (flow 1)"),
        ("flow.2.extra_delay", "extra delay of flow 2"),
        ("queue_mean", "queue mean"),
    ],
)
def test_a_key_has_words(key: str, words: str) -> None:
    assert measures.key_words(key) == words

"""A measure has one meaning, whoever shows it: tables, figures, reports, comparisons and sweeps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bentpipe import measures
from bentpipe.plot.many import many
from bentpipe.plot.measures import per_run
from bentpipe.reports.measures import sample
from bentpipe.sweeps.commands import groups
from bentpipe.sweeps.stored import Stored


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
)


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


def test_power_is_goodput_by_the_mean_round_trip_time_of_each_flow() -> None:
    """6 Mbit/s by 0.2 s and 1 Mbit/s by 0.1 s are 30 and 10 Mbit/s² (Kleinrock 1979)."""
    flows = FLOWS.with_columns(rtt_mean_s=pl.Series([0.2, 0.1, 0.5]))
    assert float(per_run(many(flows), "power_bps2").filter(algorithm="cubic")["y"][0]) == pytest.approx(20e6)
    assert shown_by_a_report("power", flows) == pytest.approx(20)


def test_the_bottleneck_is_the_busiest_forward_direction() -> None:
    assert measures.utilisation(LINKS.to_dicts()) == 0.9
    assert measures.bottleneck(LINKS).select("name", "direction").rows() == [("wide", "forward")]
    assert shown_by_a_report("utilisation") == pytest.approx(90)
    back = LINKS.filter(direction="reverse")
    assert measures.utilisation(back.to_dicts()) == 1.0 and measures.bottleneck(back).height == 1
    assert measures.utilisation([]) is None


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

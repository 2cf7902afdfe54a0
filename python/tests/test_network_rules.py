"""What each rule of a constellation changes: its scenarios, and its measures of made-up runs by hand."""

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from bentpipe.experiments import network_rules
from bentpipe.experiments.rows import Rows


def test_a_row_changes_one_rule_alone() -> None:
    base, turns = (network_rules.scenario(of, "cubic", 1)["network"] for of in network_rules.BASES)
    assert turns == base | {"select": "highest-elevation", "every": "15 s"}
    for of, keys in zip(network_rules.BASES, (base, turns), strict=True):
        for rule, changed in network_rules.RULES[of].items():
            found = network_rules.scenario(network_rules.named(of, rule), "cubic", 1)["network"]
            assert found == {key: value for key, value in (keys | changed).items() if value is not None}
            assert found != keys


def test_a_run_is_measured() -> None:
    flows = pl.DataFrame({"rtt_p95_s": [0.1, 0.3, 0.2, None]})
    ends = pl.DataFrame({"acked_goodput_bps": [1e6, 3e6, 2e6, 2e6], "path_changes": [1, 2, 3, 6]})
    json = {"flows": [{"sent_packets": 50, "dropped_packets": 1}] * 4}
    run: Any = SimpleNamespace(flows=flows, network_flows=ends, json=json)
    row = network_rules.NetworkRules.measure(None, None, run)  # type: ignore[arg-type]
    assert (row["mbps"], row["lost"], row["p95_ms"], row["changes"]) == pytest.approx((8, 2, 200, 3))
    assert row["jain"] == pytest.approx(64 / (4 * 18))


def test_a_change_is_paired_by_seed() -> None:
    # Goodput 10 % and 20 % below; losses 1 and 3 points above.
    base, rule = network_rules.PATHS, 'route = "hops"'
    of = {base: [(100.0, 1.0), (50.0, 2.0)], network_rules.named(base, rule): [(90.0, 2.0), (40.0, 5.0)]}
    rows = Rows(
        {"path": path, "cc": "cubic", "seed": seed, "mbps": mbps, "lost": lost}
        for path, both in of.items()
        for seed, (mbps, lost) in enumerate(both, 1)
    )
    found = [network_rules.change(rows, base, rule, of).centre for of in ("mbps", "lost")]
    assert found == pytest.approx([-15, 2])

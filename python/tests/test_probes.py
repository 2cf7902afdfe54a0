"""Probes: what a controller names of its inside, over time."""

import json

import polars as pl
import pytest

import bentpipe as bp
from bentpipe import _core
from bentpipe.sweeps.execution import trace_frame


class Halves(bp.Controller):
    """A window of ten segments, whose half is a probe; `given` is what `probes` gives, if it is set."""

    given = None

    def on_ack(self, flow, ack):
        pass

    def on_congestion(self, flow, why):
        pass

    def probes(self):
        return self.given or {"half_segments": self.cwnd / 2, "unknown_s": None}


def scenario(record, *ccs):
    link = bp.Link(rate="2 Mbit/s", delay="100 ms", loss=bp.PacketError(0.002))
    flows = [bp.Flow(cc, path=["sat"]) for cc in ccs]
    return bp.Scenario(links={"sat": link}, flows=flows, duration="20 s", record=record)


def of(result, flow, probe):
    rows = result.probes.with_columns(pl.col("flow", "probe").cast(pl.String))
    return rows.filter((pl.col("flow") == flow) & (pl.col("probe") == probe))


def test_at_an_interval_every_probe_of_every_flow_has_a_row():
    result = bp.run(scenario(bp.Record("1 s", probes=True), "vegas-a", "reno"))
    named = [
        probe["name"]
        for cc in json.loads(_core.controllers())
        if cc["id"] == "vegas-a"
        for probe in cc["probes"]
    ]
    assert named == ["alpha_segments", "beta_segments", "diff_segments", "base_rtt_s"]
    for name in named:
        assert of(result, "vegas-a", name)["t_s"].to_list() == [float(t) for t in range(21)]
    alpha, beta = (of(result, "vegas-a", f"{which}_segments")["value"] for which in ("alpha", "beta"))
    assert alpha.min() >= 1 and (beta - alpha == 2).all()
    assert of(result, "vegas-a", "base_rtt_s")["value"][-1] == pytest.approx(0.206, abs=1e-3)
    assert not result.probes.filter(pl.col("flow") == "reno").height  # it names nothing


def test_on_change_a_probe_has_a_row_only_when_its_value_changes():
    result = bp.run(scenario(bp.Record(flows=False, probes=True), "vegas-a"))
    assert result.trace.height == 0
    for name in ("alpha_segments", "diff_segments", "base_rtt_s"):
        values = of(result, "vegas-a", name)["value"]
        assert values.len() > 0 and not (values == values.shift(1)).any(), name
    assert of(result, "vegas-a", "diff_segments")["value"].n_unique() > 5


def test_probes_change_nothing_else():
    runs = [bp.run(scenario(bp.Record("1 s", probes=on), "cubic", "bbr")) for on in (False, True)]
    for name in ("flows", "links", "trace"):
        assert getattr(runs[0], name).equals(getattr(runs[1], name)), name
    assert runs[0].probes.height == 0 < runs[1].probes.height


def test_they_are_kept(tmp_path):
    result = bp.run(scenario(bp.Record("1 s", probes=True), "hswa"))
    result.save(tmp_path / "run")
    assert bp.Result.load(tmp_path / "run").probes.equals(result.probes)


def test_a_study_has_them_as_columns_of_the_trace():
    text = json.dumps(json.loads(scenario(bp.Record("1 s", probes=True), "vegas", "reno").to_json()))
    trace = trace_frame(_core.run(text))
    reno, vegas = (trace.filter(pl.col("flow") == cc) for cc in ("reno", "vegas"))
    assert vegas["alpha_segments"].to_list() == [1.0] * vegas.height
    assert reno["alpha_segments"].null_count() == reno.height > 0


def test_a_controller_in_python_has_probes():
    result = bp.run(scenario(bp.Record("1 s", probes=True), Halves))
    assert set(of(result, "Halves", "half_segments")["value"]) == {5.0}
    unknown = of(result, "Halves", "unknown_s")["value"]
    assert unknown.null_count() == unknown.len() == 21


@pytest.mark.parametrize("given", [[1], {"a": "b"}, {1: 2.0}])
def test_what_is_no_dictionary_of_numbers_is_refused(given):
    cc = type("Wrong", (Halves,), {"given": given})
    with pytest.raises(bp.ControllerError, match="must be a dictionary of numbers by name"):
        bp.run(scenario(bp.Record("1 s", probes=True), cc))

"""Satellites (RFC 9743 section 7.5)."""

from __future__ import annotations

import math
from typing import Any

from bentpipe.evaluation.experiment import Measured, Setting, experiment
from bentpipe.evaluation.observation import Observation
from bentpipe.models import BitError, Bulk, Flow
from bentpipe.scenario import Scenario
from bentpipe.source import Source

# Satellites -------------------------------------------------------------------------------------------------

SATELLITES = ("geo", "geo, bit errors", "vsat", "vsat-dama", "leo")
BIT_ERRORS = 1e-6
FILE = "2 MB"
SATELLITE_S = 60.0


def _satellite_build(s: Setting, cc: Any, seed: int) -> Scenario:
    name, _, errors = str(s["link"]).partition(", ")
    table = Source(name).load()
    shipped = Scenario.from_dict({key: table[key] for key in ("link", "station") if key in table})
    model = next(f for f in table["flow"] if f.get("traffic", {}).get("kind") != "cbr")
    place = {key: model[key] for key in ("path", "ack_path", "extra_delay") if key in model}
    if errors:
        shipped.links[name].loss = BitError(BIT_ERRORS)
    shipped.duration, shipped.seed = f"{SATELLITE_S:g} s", seed
    if s["traffic"] == "long flow":
        shipped.flows = [Flow(cc, name="test", ack_jitter="1 ms", **place)]
    else:
        shipped.flows = [Flow(cc, name="test", ack_jitter="1 ms", traffic=Bulk(FILE), **place)]
    return shipped


def _satellite_measure(run: Observation) -> Measured:
    test = run.named()[0]
    if run.setting["traffic"] != "long flow":
        done = test["completion_s"]
        yield {}, {"done": run.seconds if done is None else done}
        return
    yield (
        {},
        {
            "goodput": run.goodput(),
            "loss": run.loss(),
            "rtt": math.nan if test["rtt_p95_s"] is None else test["rtt_p95_s"] - test["rtt_min_s"],
        },
    )


SATELLITE = experiment(
    "satellite",
    _satellite_build,
    _satellite_measure,
    settings=lambda extent: [
        {"link": name, "traffic": traffic} for traffic in ("long flow", "file") for name in SATELLITES
    ],
)

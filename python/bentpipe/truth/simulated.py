"""Simulated side of a cell."""

from __future__ import annotations

import json

import numpy as np

from bentpipe import measures
from bentpipe.truth.cell import Cell
from bentpipe.truth.curve import Side, grid, held, mean_after_handshake


def simulate(cell: Cell) -> Side:
    """Simulates a cell; the thread is free meanwhile."""
    from bentpipe import _core

    raw = _core.run(json.dumps(cell.scenario(traced=True)))
    flows = json.loads(raw.json)["flows"]
    flow, last = flows[0], flows[-1]  # they differ where a relay splits the connection
    trace = raw.trace()
    trace = {name: values[trace["flow"] == 0] for name, values in trace.items()}
    at = grid(cell.length_s)
    t = trace["t_s"].astype(np.float64)
    srtt = held(at, t, trace["srtt_s"].astype(np.float64))
    return Side(
        goodput_bps=last["delivered_bytes"] * 8 / cell.length_s,
        rtt_s=mean_after_handshake(at, srtt),
        retransmitted=measures.resent([flow]) or 0.0,
        cwnd=np.floor(held(at, t, trace["cwnd"].astype(np.float64))),
        more={"timeouts": flow["timeouts"], "srtt": srtt},
    )

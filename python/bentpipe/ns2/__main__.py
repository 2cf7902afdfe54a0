"""The command `python -m bentpipe.ns2 scenario.toml`: a scenario carried out by ns-2 and by Bentpipe."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bentpipe import _core, ns2, units
from bentpipe.runs import run
from bentpipe.scenario import Scenario


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints goodputs of both programs, or the script; 2 if ns-2 cannot follow it, 1 if it fails."""
    parser = argparse.ArgumentParser(
        prog="python -m bentpipe.ns2", description="Carries out a scenario in ns-2 and in Bentpipe."
    )
    parser.add_argument("scenario", help="a TOML file, or the name of a scenario that comes with the package")
    parser.add_argument("--script", action="store_true", help="print the Tcl script and run nothing")
    given = parser.parse_args(arguments)
    try:
        scenario = Scenario.load(given.scenario)
        if given.script:
            print(ns2.script(scenario), end="")
            return 0
        theirs = ns2.run(scenario)
        ours = run(scenario).json
    except (_core.ScenarioError, FileNotFoundError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, _core.ScenarioError) else 1
    print(f"{'flow':20} {'ns-2':>14} {'Bentpipe':>14}  retransmitted, timeouts: ns-2, Bentpipe")
    for flow, there in zip(ours["flows"], theirs.flows, strict=True):
        here, rate = flow["goodput_bps"], there.goodput_bps
        print(
            f"{flow['name']:20} {units.rate(rate):>14} {units.rate(here):>14}  "
            f"{there.retransmitted}, {flow['retransmitted_packets']}; {there.timeouts}, {flow['timeouts']}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

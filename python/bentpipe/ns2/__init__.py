"""ns-2 as an outside witness: a scenario of Bentpipe carried out by ns-2.

    from bentpipe import ns2
    run = ns2.run(scenario)                # the results: flows, watched links, the window over time
    text = ns2.script(scenario)            # the Tcl that was run

    python -m bentpipe.ns2 scenario.toml [--script]

ns-2 2.35 (Debian package `ns2`, command `ns`) decides for itself how many bytes a segment has on the
wire, when a connection starts and where an error model sits; `script.py` undoes that, with a comment beside
each setting, and refuses unsupported settings by their keys. `docs/validation/ns2.md` lists the remaining
differences.
"""

from bentpipe.ns2.agents import AGENTS, Agent, agent_for
from bentpipe.ns2.dumbbell import dumbbell
from bentpipe.ns2.process import MISSING, FlowRun, LinkRun, Run, available, execute, run
from bentpipe.ns2.script import script

__all__ = [
    "AGENTS",
    "MISSING",
    "Agent",
    "FlowRun",
    "LinkRun",
    "Run",
    "agent_for",
    "available",
    "dumbbell",
    "execute",
    "run",
    "script",
]

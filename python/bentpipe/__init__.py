"""A laboratory for TCP congestion control over satellite links.

    import bentpipe as bp

    geo = bp.Link(rate="10 Mbit/s", delay="250 ms", queue=bp.DropTail("432 packets"), loss=bp.BitError(1e-6))
    star = bp.Flow("star", path=["sat"])
    r = bp.run(bp.Scenario(links={"sat": geo}, flows=[star], duration="120 s", seed=1))
    print(r.flows)

Names are loaded when they are first used, so `import bentpipe` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bentpipe import analysis, orbit, plot, stats, studies, timeline, weather
    from bentpipe._core import ControllerError, ScenarioError
    from bentpipe.advice import Advice, advise
    from bentpipe.comparison import compare
    from bentpipe.controller import AckReport, Controller, FlowState, PathChange
    from bentpipe.emulation.session import Emulation
    from bentpipe.evaluation import Evaluation, evaluate
    from bentpipe.models import (
        AckThinning,
        Arq,
        BernoulliBurst,
        BitError,
        Codel,
        Dama,
        DropTail,
        DualPi2,
        FqCodel,
        GilbertElliott,
        LossTrace,
        Outage,
        PacketError,
        Pie,
        Priority,
        Rcp,
        Record,
        Red,
        Vcp,
        Xcp,
    )
    from bentpipe.registry import controllers, queues
    from bentpipe.reports import report
    from bentpipe.result import Result
    from bentpipe.runs import Capture, run, run_many
    from bentpipe.scenario import Flow, Link, Scenario
    from bentpipe.sweeps.job import sweep
    from bentpipe.traffic import (
        Bulk,
        Cbr,
        Exponential,
        LogNormal,
        OnOff,
        Pareto,
        ParetoCount,
        Requests,
        ShortFlows,
        SizeFile,
        SizeList,
        Video,
        Web,
    )

    __version__: str

_HOME = {
    "AckReport": "bentpipe.controller",
    "AckThinning": "bentpipe.models",
    "Advice": "bentpipe.advice",
    "Arq": "bentpipe.models",
    "BernoulliBurst": "bentpipe.models",
    "BitError": "bentpipe.models",
    "Bulk": "bentpipe.traffic",
    "Capture": "bentpipe.runs",
    "Cbr": "bentpipe.traffic",
    "Codel": "bentpipe.models",
    "Controller": "bentpipe.controller",
    "ControllerError": "bentpipe._core",
    "Dama": "bentpipe.models",
    "DropTail": "bentpipe.models",
    "DualPi2": "bentpipe.models",
    "Emulation": "bentpipe.emulation.session",
    "Evaluation": "bentpipe.evaluation",
    "Exponential": "bentpipe.traffic",
    "Flow": "bentpipe.scenario",
    "FlowState": "bentpipe.controller",
    "FqCodel": "bentpipe.models",
    "GilbertElliott": "bentpipe.models",
    "Link": "bentpipe.scenario",
    "LogNormal": "bentpipe.traffic",
    "LossTrace": "bentpipe.models",
    "OnOff": "bentpipe.traffic",
    "Outage": "bentpipe.models",
    "PacketError": "bentpipe.models",
    "Pareto": "bentpipe.traffic",
    "ParetoCount": "bentpipe.traffic",
    "PathChange": "bentpipe.controller",
    "Pie": "bentpipe.models",
    "Priority": "bentpipe.models",
    "Rcp": "bentpipe.models",
    "Record": "bentpipe.models",
    "Red": "bentpipe.models",
    "Requests": "bentpipe.traffic",
    "Result": "bentpipe.result",
    "Scenario": "bentpipe.scenario",
    "ScenarioError": "bentpipe._core",
    "ShortFlows": "bentpipe.traffic",
    "SizeFile": "bentpipe.traffic",
    "SizeList": "bentpipe.traffic",
    "Vcp": "bentpipe.models",
    "Video": "bentpipe.traffic",
    "Web": "bentpipe.traffic",
    "Xcp": "bentpipe.models",
    "advise": "bentpipe.advice",
    "compare": "bentpipe.comparison",
    "evaluate": "bentpipe.evaluation",
    "controllers": "bentpipe.registry",
    "queues": "bentpipe.registry",
    "report": "bentpipe.reports",
    "run": "bentpipe.runs",
    "run_many": "bentpipe.runs",
    "sweep": "bentpipe.sweeps.job",
}
_MODULES = ("analysis", "orbit", "plot", "stats", "studies", "timeline", "weather")

__all__ = [
    "AckReport",
    "AckThinning",
    "Advice",
    "Arq",
    "BernoulliBurst",
    "BitError",
    "Bulk",
    "Capture",
    "Cbr",
    "Codel",
    "Controller",
    "ControllerError",
    "Dama",
    "DropTail",
    "DualPi2",
    "Emulation",
    "Evaluation",
    "Exponential",
    "Flow",
    "FlowState",
    "FqCodel",
    "GilbertElliott",
    "Link",
    "LogNormal",
    "LossTrace",
    "OnOff",
    "Outage",
    "PacketError",
    "Pareto",
    "ParetoCount",
    "PathChange",
    "Pie",
    "Priority",
    "Rcp",
    "Record",
    "Red",
    "Requests",
    "Result",
    "Scenario",
    "ScenarioError",
    "ShortFlows",
    "SizeFile",
    "SizeList",
    "Vcp",
    "Video",
    "Web",
    "Xcp",
    "__version__",
    "advise",
    "analysis",
    "compare",
    "controllers",
    "evaluate",
    "orbit",
    "plot",
    "queues",
    "report",
    "run",
    "run_many",
    "stats",
    "studies",
    "sweep",
    "timeline",
    "weather",
]


def __getattr__(name: str) -> Any:
    """Loads a public name on its first use (PEP 562)."""
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"bentpipe.{name}")
    elif name == "__version__":
        value = import_module("bentpipe._core").version()
    else:
        raise AttributeError(f"module 'bentpipe' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

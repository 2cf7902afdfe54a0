"""Evaluations of an algorithm by what RFC 9743 and draft-irtf-iccrg-tcpeval-01 ask for (docs/evaluate.md).

`criteria` lists what is asked; `single`, `mixed`, `queues`, `paths`, `satellites` and `suite` hold the
experiments; `plan` makes their runs; `lines` says when a criterion counts as met; `answers` puts numbers and
verdicts beside criteria; `show` and `report` present them.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bentpipe.evaluation.assessment import Evaluation, evaluate

__all__ = ["Evaluation", "evaluate"]


def __getattr__(name: str) -> Any:
    """Loads a public name on its first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module 'bentpipe.evaluation' has no attribute {name!r}")
    from bentpipe.evaluation import assessment

    return getattr(assessment, name)

"""Evaluations of an algorithm by what RFC 9743 and draft-irtf-iccrg-tcpeval-01 ask for (docs/evaluate.md).

`criteria` lists what is asked, `single`, `mixed`, `paths` and `suite` hold the experiments, `assessment` runs
them, `answers` puts numbers beside criteria, and `report` writes the page.
"""

from bentpipe.evaluation.assessment import Evaluation, evaluate

__all__ = ["Evaluation", "evaluate"]

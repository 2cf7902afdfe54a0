"""Evaluations of an algorithm against RFC 9743 and draft-irtf-iccrg-tcpeval-01 (docs/evaluate.md).

criteria.toml lists the demands, experiments.toml the experiments. `single`, `mixed`, `paths`, `multipath`
and `suite` have their scenarios and measurements; `plan` makes their runs; `criteria` defines when
a criterion is met; `answers` puts numbers and verdicts beside criteria; `report` presents them.
"""

from bentpipe import lazily

__getattr__, __dir__, __all__ = lazily.attach(__name__, __file__)

"""Evaluations of an algorithm against RFC 9743 and draft-irtf-iccrg-tcpeval-01 (docs/evaluate.md).

criteria.toml lists the demands, experiments.toml the experiments, which are chapters (`chapter`). `single`,
`mixed`, `paths`, `multipath` and `suite` have their scenarios and measurements; `assessment` is the
experiment of all chapters; `criteria` defines when a criterion is met; `answers` puts numbers and verdicts
beside criteria; `report` and `figures` present them.
"""

from bentpipe import lazily

__getattr__, __dir__, __all__ = lazily.attach(__name__, __file__)

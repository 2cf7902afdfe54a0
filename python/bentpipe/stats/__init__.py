"""Statistics over runs: intervals, comparisons, fairness, stopping, warm-up.

`interval` is a mean or a median with its confidence interval, `shown` the same in words. `paired` compares
two algorithms on common random numbers, `effect_size` is how often one beats the other, and `groups` orders
many, which means something where `random_in` finds chance. `enough` says when there are enough runs,
`warm_up` where the steady part of a run begins, `jain` Jain's fairness index. docs/statistics.md says when
each interval is shown, and how often each of them contains the truth.
"""

from bentpipe.stats.intervals import Interval, interval, paired, shown
from bentpipe.stats.ranking import effect_size, groups, random_in
from bentpipe.stats.sample import TOLERANCE, jain
from bentpipe.stats.stopping import LEAST_RUNS, enough, warm_up

__all__ = [
    "LEAST_RUNS",
    "TOLERANCE",
    "Interval",
    "effect_size",
    "enough",
    "groups",
    "interval",
    "jain",
    "paired",
    "random_in",
    "shown",
    "warm_up",
]

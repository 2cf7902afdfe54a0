"""The worst link for an algorithm (docs/break.md).

`goals` has what is looked for, `conditions` the links that may be tried, `search` the strategy, `trials` and
`observation` the runs and what is measured in them, `shrink` the reduction to what matters, `mechanism` and
`figure` what it shows, `record` the file, and `job` all of it together. `replay` plays found failures with
the kernel's TCP, and `real` makes one run of them.
"""

from bentpipe import lazily

__getattr__, __dir__, __all__ = lazily.attach(__name__, __file__)

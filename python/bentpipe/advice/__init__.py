"""Advice: which congestion control to use on a link, what it costs, and what is fast and reckless.

    advice = bp.advise("vsat", flows=20)
    print(*advice.sentences())
    advice.write("advice")

docs/advise.md says how it is found.
"""

from bentpipe.advice.job import advise
from bentpipe.advice.verdict import Advice

__all__ = ["Advice", "advise"]

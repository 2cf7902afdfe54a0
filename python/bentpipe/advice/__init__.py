"""Advice: which congestion control to use on a link, what it costs, and what is fast and reckless.

    advice = bp.advise("vsat", flows=20)
    print(*advice.sentences())
    advice.write("advice")

docs/advise.md describes the method.
"""

from bentpipe import lazily

__getattr__, __dir__, __all__ = lazily.attach(__name__, __file__)

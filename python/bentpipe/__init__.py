"""A laboratory for TCP congestion control over satellite links.

    import bentpipe as bp

    geo = bp.Link(rate="10 Mbit/s", delay="250 ms", queue=bp.DropTail("432 packets"), loss=bp.BitError(1e-6))
    star = bp.Flow("star", path=["sat"])
    r = bp.run(bp.Scenario(links={"sat": geo}, flows=[star], duration="120 s", seed=1))
    print(r.flows)

Names are loaded when they are first used, so `import bentpipe` costs next to nothing.
"""

from bentpipe import lazily

__getattr__, __dir__, __all__ = lazily.attach(__name__, __file__)

"""A laboratory for TCP congestion control over satellite links.

    import bentpipe as bp

    geo = bp.Link(rate="10 Mbit/s", delay="250 ms", queue=bp.DropTail("432 packets"), loss=bp.BitError(1e-6))
    star = bp.Flow("star", path=["sat"])
    r = bp.run(bp.Scenario(links={"sat": geo}, flows=[star], duration="120 s", seed=1))
    print(r.flows)

Names are loaded when they are first used, so `import bentpipe` costs next to nothing.
"""

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """The names in the stub, loaded on first use.

    Raises:
        AttributeError: there is no such name; the message has those that are near.
    """
    try:
        return _load(name)
    except AttributeError:
        if name.startswith("_") or name in __all__:
            raise
        import difflib

        near = difflib.get_close_matches(name, __all__, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise AttributeError(f"module 'bentpipe' has no attribute {name!r}{hint}") from None

"""Closed forms of congestion control, and the same quantities measured in traces.

    import bentpipe as bp

    bp.analysis.response.mathis(p=1e-4, rtt=0.6)                       # segments/s
    bp.analysis.spectrum.alpha(k=-0.5, l=1, beta=1 / 16, w_max=100)    # SIMD
    bp.analysis.a_liad.alpha(rtt=0.6)

The closed forms take numbers or numpy arrays, which broadcast against each other, and return a float if all
are numbers and an array otherwise. Trajectories start from numbers; traces are arrays. Windows are in
segments, times in seconds unless a name or a text says round trips, rates in segments per second unless a
segment size is given. An argument outside its domain raises ValueError, which names the argument, its domain
and the value.

Modules, loaded when they are first used:
    response: rate or window over loss rate: Mathis, PFTK, RFC 5348, AIMD, binomial.
    highspeed: the same for HighSpeed TCP, Scalable TCP and CUBIC.
    spectrum: the (k, l) controls with history, SIMD and AIAD among them.
    tradeoffs: their smoothness, aggressiveness and responsiveness.
    convergence: two users in the Chiu-Jain plane.
    convergence_time: how long two flows need to efficiency and to fairness.
    a_liad: the increase factor of A-LIAD as a function of the round-trip time.
    traces: smoothness, aggressiveness, responsiveness and convergence of recorded windows.

`jain` is Jain's fairness index, `bentpipe.stats.jain`.
"""

from bentpipe import lazily

__getattr__, __dir__, __all__ = lazily.attach(__name__, __file__)

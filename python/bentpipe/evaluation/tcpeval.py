"""The experiments of draft-irtf-iccrg-tcpeval-01, section by section, and the evidence that answers them.

D. Hayes, D. Ros, L. Andrew, S. Floyd, Common TCP Evaluation Suite, 2014. The words are ours.
"""

from __future__ import annotations

from bentpipe.evaluation.criterion import DRAFT, Criterion, Exhibit, of


def _draft(section: str, asks: str, *evidence: Exhibit, reason: str = "") -> Criterion:
    return Criterion(DRAFT, section, "experiment", asks, evidence, reason)


TCPEVAL: tuple[Criterion, ...] = (
    _draft(
        "4.4.1",
        "Basic scenario: data centre.",
        reason="Its traffic and delays below 1 ms are not set up here.",
    ),
    _draft(
        "4.4.2",
        "Basic scenario: access link.",
        of("basic-scenarios", "utilisation", "drops", "queueing", link="access", load=85),
    ),
    _draft(
        "4.4.3",
        "Basic scenario: trans-oceanic link.",
        reason="At 1 Gbit/s one run has tens of thousands of transfers, which takes minutes.",
    ),
    _draft(
        "4.4.4",
        "Basic scenario: geostationary satellite.",
        of("basic-scenarios", "utilisation", "drops", "queueing", link="satellite", load=85),
    ),
    _draft(
        "4.4.5", "Basic scenario: wireless LAN.", reason="A shared medium with contention is not simulated."
    ),
    _draft(
        "4.4.6",
        "Basic scenario: dial-up link.",
        of("basic-scenarios", "utilisation", "drops", "queueing", link="dial-up", load=85),
    ),
    _draft(
        "5.1",
        "Delay against throughput, as the buffer grows.",
        of("delay-throughput", "throughput", "queueing", "drops", buffer=20),
        of("delay-throughput", "throughput", "queueing", "drops", buffer=200),
    ),
    _draft(
        "5.2",
        "Ramp-up: until so many bytes of a new flow are received.",
        *(
            of("ramp-up", "done", rtts=r, start="without slow start", bytes=1_500_000)
            for r in ("80 and 80 ms", "120 and 30 ms", "30 and 120 ms")
        ),
        reason="The second rate, 1 Gbit/s, is left out.",
    ),
    _draft(
        "5.3",
        "Transients: load that leaves, comes, and grows.",
        of("transients", "to60", "to80", "to90", "jump", event="load leaves"),
        of("transients", "cross", event="load comes"),
        of("transients", "cross", event="load grows"),
    ),
    _draft(
        "6.1",
        "Impact on standard TCP: L of what Reno keeps, G of what is gained.",
        of("beside-others", "kept", "gain", other="reno", rtt=40, buffer=1),
        reason="With two long flows instead of pairs of transfers.",
    ),
    _draft(
        "6.2",
        "Fairness within the algorithm, and between round-trip times.",
        of("round-trips", "ratio", "drops", pair="equal round trips", rtt=80, buffer=100),
        of("round-trips", "ratio", "drops", pair="the other has 160 ms", rtt=10, buffer=100),
    ),
    _draft(
        "6.3", "Several bottlenecks: one bottleneck to three.", of("parking-lot", "ratio", "drops", buffer=1)
    ),
)
"""In the order of the document."""

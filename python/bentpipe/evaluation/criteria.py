"""What RFC 9743 (BCP 133) and draft-irtf-iccrg-tcpeval-01 ask for, section by section, and what answers it.

RFC 9743: M. Duke, G. Fairhurst (eds.), Specifying New Congestion Control Algorithms, March 2025. Each of its
key words in capitals has an entry, and so has each section whose criterion is stated without one. The words
are ours. The RFC sets no thresholds (section 5), so an answer is a number beside others and no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Level = Literal["MUST", "SHOULD", "criterion", "experiment"]
"""A key word of RFC 2119 (REQUIRED counts as MUST); a criterion that has none; an experiment of tcpeval."""

RFC, DRAFT = "RFC 9743", "tcpeval"


@dataclass(frozen=True)
class Exhibit:
    """Numbers that answer a criterion.

    Args:
        experiment: the name of the experiment.
        metrics: which of its metrics.
        where: in which setting.
    """

    experiment: str
    metrics: tuple[str, ...]
    where: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True)
class Criterion:
    """One demand of a document.

    Args:
        document: `RFC` or `DRAFT`.
        section: its number there.
        level: how strongly it is put.
        asks: what is asked for.
        evidence: what answers it; nothing if it is not evaluated.
        reason: why it is not evaluated, or what the evidence leaves out.
    """

    document: str
    section: str
    level: Level
    asks: str
    evidence: tuple[Exhibit, ...] = ()
    reason: str = ""


def _rfc(section: str, level: Level, asks: str, *evidence: Exhibit, reason: str = "") -> Criterion:
    return Criterion(RFC, section, level, asks, evidence, reason)


def _draft(section: str, asks: str, *evidence: Exhibit, reason: str = "") -> Criterion:
    return Criterion(DRAFT, section, "experiment", asks, evidence, reason)


def _of(experiment: str, *metrics: str, **where: str | int | float) -> Exhibit:
    return Exhibit(experiment, metrics, where)


_TEXT = "It asks for words of a proposal, which no simulation gives."
_PROCESS = "It is a rule for the IETF's process, not a property that runs can show."
_MULTIPATH = "The simulator has no connections over several paths."

CRITERIA: tuple[Criterion, ...] = (
    _rfc("3.1", "SHOULD", "Gain practical experience with implementations before publication.",
         reason="A simulation is no implementation in a real stack."),
    _rfc("3.2", "MUST", "Seek Experimental status as long as nothing shows deployment on the Internet's scale.",
         reason=_PROCESS),
    _rfc("3.2", "SHOULD", "Do not deploy an experimental algorithm as a default.", reason=_PROCESS),
    _rfc("3.2", "SHOULD", "Deploy it only where it is measured and can be switched off.", reason=_PROCESS),
    _rfc("3.2", "MUST", "Say in the abstract whether there is consensus that the algorithm is safe.", reason=_TEXT),
    _rfc("3.2", "MUST", "Say in the abstract for which environments it is not recommended.",
         reason=_TEXT + " The chapters show environments in which its numbers are poor."),
    _rfc("4", "criterion", "For controlled environments: give references for what the network must do, and say how "
         "use elsewhere is prevented.", reason=_TEXT),
    _rfc("5", "MUST", "Consider all criteria of the sections that follow.",
         reason="This table is the list; the community does the considering."),
    _rfc("5", "MUST", "Document whether a criterion that is not met may stay so.", reason=_PROCESS),
    _rfc("5.1.1", "criterion", "Stop, or go down to one packet per round trip and below, when losses are extreme.",
         _of("heavy-loss", "sent", "waiting", drop=0.7), _of("many-flows", "loss", "useful", flows=64)),
    _rfc("5.1.2", "criterion", "Do not keep excessive queues in large buffers.",
         _of("buffers", "queueing_p95", flows=1, buffer=8), _of("buffers", "queueing_p95", flows=4, buffer=8)),
    _rfc("5.1.3", "criterion", "Do not cause excessive losses, also where buffers are below about 1.5 BDP.",
         _of("buffers", "loss", flows=4, buffer=0.25), _of("buffers", "loss", flows=4, buffer=1),
         _of("many-flows", "loss", flows=16)),
    _rfc("5.1.4", "criterion", "Explore how flows of the algorithm share capacity.",
         _of("many-flows", "jain", flows=4), _of("many-flows", "jain", flows=64),
         _of("newcomer", "until", rtt=40), _of("round-trips", "ratio", pair="the other has 160 ms", rtt=40, buffer=100)),
    _rfc("5.1.5", "MUST", "Consider how new and short flows affect long ones, and the reverse.",
         _of("short-flows", "done", short="own beside own", size=100_000),
         _of("short-flows", "long", short="own beside own", size=0)),
    _rfc("5.2", "criterion", "Compare the harm to others with that of standard algorithms, in delay and loss too.",
         _of("beside-others", "other_loss", "other_queueing", other="cubic", rtt=40, buffer=1)),
    _rfc("5.2", "MUST", "Assess starvation of others.",
         _of("beside-others", "other_share", other="reno", rtt=40, buffer=0.25),
         _of("beside-others", "other_share", other="reno", rtt=40, buffer=4)),
    _rfc("5.2", "MUST", "Make sure that the loss of all feedback leads to backoff.",
         _of("silence", "into", "timeouts", "back", rtt=40)),
    _rfc("5.2.1", "MUST", "Evaluate it against standard congestion control.",
         _of("beside-others", "other_share", "kept", "gain", other="reno", rtt=40, buffer=1),
         _of("beside-others", "other_share", "kept", "gain", other="cubic", rtt=40, buffer=1),
         reason="QUIC (RFC 9002) is not simulated; its controller is NewReno's."),
    _rfc("5.2.1", "criterion", "Consider other algorithms that are widely deployed.",
         _of("beside-others", "other_share", "kept", other="bbr", rtt=40, buffer=1),
         reason="BBR is in full evaluations only."),
    _rfc("5.2.2", "SHOULD", "Consider coexistence with real-time congestion control.",
         _of("real-time", "media_loss", "queueing_p95", flows=1, buffer=1),
         _of("real-time", "media_loss", "queueing_p95", flows=4, buffer=4),
         reason="The real-time traffic here does not adapt; no such algorithm is simulated."),
    _rfc("5.2.3", "MUST", "Evaluate short and long flows beside other common algorithms.",
         _of("short-flows", "done", short="CUBIC beside own", size=100_000),
         _of("short-flows", "done", short="own beside CUBIC", size=100_000),
         _of("short-flows", "long", short="CUBIC beside own", size=0)),
    _rfc("5.3.1", "MUST", "Explain deviations from RFC 2914 and RFC 7141.", reason=_TEXT),
    _rfc("5.3.2", "MUST", "Discuss whether it can be deployed step by step.",
         reason=_TEXT + " Every run here is one without changes of routers or receivers."),
    _rfc("5.3.2", "SHOULD", "Discuss how it works with today's equipment, such as proxies and home routers.",
         reason=_TEXT),
    _rfc("5.3.2", "SHOULD", "If it is for some environments only, say how that is ensured.", reason=_TEXT),
    _rfc("6", "MUST", "Have the IETF's consensus that the criteria are met on general paths.", reason=_PROCESS),
    _rfc("6", "SHOULD", "Evaluate over a representative range of rates, delays and queues.",
         _of("range", "utilisation", "queueing_p95", rate=10, rtt=50, buffer=1),
         _of("range", "utilisation", "queueing_p95", rate=50, rtt=200, buffer=1),
         _of("range", "utilisation", "queueing_p95", rate=50, rtt=200, buffer=0.25)),
    _rfc("6.1", "MUST", "Evaluate drop-tail queues.",
         _of("range", "utilisation", "loss", rate=10, rtt=200, buffer=1),
         _of("buffers", "utilisation", "loss", flows=1, buffer=1)),
    _rfc("6.2", "MUST", "Consider tunnels, if the algorithm relies on explicit signals of the path.",
         reason="The simulator has no tunnels."),
    _rfc("6.3", "criterion", "Wired paths, as the baseline.",
         _of("range", "utilisation", "queueing_p95", "loss", rate=50, rtt=10, buffer=1)),
    _rfc("6.4", "criterion", "Wireless paths: losses of the channel, changing capacity, jitter by repeats.",
         _of("random-loss", "goodput", kind="independent", per=1e-3),
         _of("random-loss", "goodput", kind="in bursts", per=1e-3),
         _of("random-loss", "goodput", kind="repeated by the link", per=1e-2),
         _of("path-change", "after", "loss", change="rate down"),
         reason="Contention for the medium is not simulated."),
    _rfc("7.1", "SHOULD", "Evaluate it under several queue disciplines.",
         *(_of("queues", "utilisation", "queueing_p95", "loss", queue=q) for q in ("CoDel", "PIE", "FQ-CoDel", "DualPI2"))),
    _rfc("7.1", "criterion", "Evaluate the reaction to ECN marks against what the codepoint demands.",
         _of("queues", "utilisation", "queueing_p95", "marked", queue="CoDel ECN"),
         reason="With ECT(0) only. Whether the reaction conforms to RFC 3168 or RFC 9331 is not judged."),
    _rfc("7.2", "criterion", "Stay within what circuit breakers of the network allow.",
         _of("many-flows", "loss", flows=64),
         reason="RFC 8084 sets no number, and no circuit breaker is simulated; the loss is what one would see."),
    _rfc("7.3", "SHOULD", "Make sure that it is robust when the least delay changes.",
         _of("varying-delay", "utilisation", delay="steps up"), _of("varying-delay", "utilisation", delay="jitter"),
         _of("varying-delay", "utilisation", delay="LEO pass")),
    _rfc("7.4", "criterion", "Constrained nodes (IoT): power, processing, volume of control packets.",
         reason="The simulator models neither power nor processors."),
    _rfc("7.5", "criterion", "Paths with high delay, such as satellites.",
         _of("satellite", "goodput", "loss", "rtt", link="geo", traffic="long flow"),
         _of("satellite", "done", link="geo", traffic="file"),
         _of("satellite", "goodput", link="vsat", traffic="long flow")),
    _rfc("7.6", "SHOULD", "Explore senders, receivers and routers that break the rules.",
         reason="All nodes of the simulator follow their rules."),
    _rfc("7.6", "criterion", "Explore attacks from outside.", reason="Attackers are not simulated."),
    _rfc("7.7", "criterion", "Do not rely on packets that arrive in order.",
         _of("reordering", "utilisation", "needless", jump=20), _of("reordering", "utilisation", jump=40)),
    _rfc("7.8", "SHOULD", "Consider transients: sudden congestion, a routing change, mobility.",
         _of("transients", "cross", event="load comes"), _of("transients", "to90", event="load leaves"),
         _of("silence", "back", rtt=600), _of("path-change", "after", change="LEO handovers")),
    _rfc("7.9", "MUST", "Evaluate changes of the path, and be robust to them at usual intervals of rerouting.",
         _of("path-change", "after", "back", change="delay up"), _of("path-change", "after", "back", change="delay down"),
         _of("path-change", "after", "back", change="rate up"), _of("path-change", "after", "back", change="rate down"),
         _of("path-change", "after", change="LEO handovers")),
    _rfc("7.10", "MUST", "Multipath with failover: evaluate the harm of a change, and show that no flow starves.",
         reason=_MULTIPATH),
    _rfc("7.10", "MUST", "Concurrent multipath: evaluate the harm to others at a shared bottleneck.", reason=_MULTIPATH),
    _rfc("7.10", "SHOULD", "Concurrent multipath: consider harm to other flows.", reason=_MULTIPATH),
    _rfc("7.11", "SHOULD", "For data centres: say with which algorithms it can be mixed.",
         reason="Nothing here is set up as a data centre."),
    _rfc("8", "MUST", "Examine security and privacy.", reason=_TEXT),
    _draft("4.4.1", "Basic scenario: data centre.", reason="Its traffic and delays below 1 ms are not set up here."),
    _draft("4.4.2", "Basic scenario: access link.",
           _of("basic-scenarios", "utilisation", "drops", "queueing", link="access", load=85)),
    _draft("4.4.3", "Basic scenario: trans-oceanic link.",
           reason="At 1 Gbit/s one run has tens of thousands of transfers, which takes minutes."),
    _draft("4.4.4", "Basic scenario: geostationary satellite.",
           _of("basic-scenarios", "utilisation", "drops", "queueing", link="satellite", load=85)),
    _draft("4.4.5", "Basic scenario: wireless LAN.", reason="A shared medium with contention is not simulated."),
    _draft("4.4.6", "Basic scenario: dial-up link.",
           _of("basic-scenarios", "utilisation", "drops", "queueing", link="dial-up", load=85)),
    _draft("5.1", "Delay against throughput, as the buffer grows.",
           _of("delay-throughput", "throughput", "queueing", "drops", buffer=20),
           _of("delay-throughput", "throughput", "queueing", "drops", buffer=200)),
    _draft("5.2", "Ramp-up: until so many bytes of a new flow are received.",
           *(_of("ramp-up", "done", rtts=r, bytes=1_500_000) for r in ("80 and 80 ms", "120 and 30 ms", "30 and 120 ms")),
           reason="The second rate, 1 Gbit/s, is left out."),
    _draft("5.3", "Transients: load that leaves, comes, and grows.",
           _of("transients", "to60", "to80", "to90", "jump", event="load leaves"),
           _of("transients", "cross", event="load comes"), _of("transients", "cross", event="load grows")),
    _draft("6.1", "Impact on standard TCP: L of what Reno keeps, G of what is gained.",
           _of("beside-others", "kept", "gain", other="reno", rtt=40, buffer=1),
           reason="With two long flows instead of pairs of transfers."),
    _draft("6.2", "Fairness within the algorithm, and between round-trip times.",
           _of("round-trips", "ratio", "drops", pair="equal round trips", rtt=80, buffer=100),
           _of("round-trips", "ratio", "drops", pair="the other has 160 ms", rtt=10, buffer=100)),
    _draft("6.3", "Several bottlenecks: one bottleneck to three.", _of("parking-lot", "ratio", "drops", buffer=1)),
)  # fmt: skip
"""All of them, in the order of the documents."""

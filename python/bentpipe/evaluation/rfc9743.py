"""The criteria of RFC 9743 (BCP 133), section by section, and the evidence that answers them.

M. Duke, G. Fairhurst (eds.), Specifying New Congestion Control Algorithms, March 2025. Each of its key words
in capitals has an entry, and so has each section whose criterion is stated without one. The words are ours.
The RFC sets no thresholds (section 5); `lines` has those that answers are compared with.
"""

from __future__ import annotations

from bentpipe.evaluation import lines
from bentpipe.evaluation.criterion import RFC, Criterion, Exhibit, Level, of
from bentpipe.evaluation.lines import Line


def _rfc(
    section: str, level: Level, asks: str, *evidence: Exhibit, reason: str = "", lines: tuple[Line, ...] = ()
) -> Criterion:
    return Criterion(RFC, section, level, asks, evidence, reason, lines)


_TEXT = "It asks for words of a proposal, which no simulation gives."
_PROCESS = "It is a rule for the IETF's process, not a property that runs can show."
_UNCOUPLED = (
    "An algorithm for one path runs on each subflow by itself; `lia`, `olia` and `balia` couple them."
)

RFC_9743: tuple[Criterion, ...] = (
    _rfc(
        "3.1",
        "SHOULD",
        "Gain practical experience with implementations before publication.",
        reason="A simulation is no implementation in a real stack.",
    ),
    _rfc(
        "3.2",
        "MUST",
        "Seek Experimental status as long as nothing shows deployment on the Internet's scale.",
        reason=_PROCESS,
    ),
    _rfc("3.2", "SHOULD", "Do not deploy an experimental algorithm as a default.", reason=_PROCESS),
    _rfc("3.2", "SHOULD", "Deploy it only where it is measured and can be switched off.", reason=_PROCESS),
    _rfc(
        "3.2",
        "MUST",
        "Say in the abstract whether there is consensus that the algorithm is safe.",
        reason=_TEXT,
    ),
    _rfc(
        "3.2",
        "MUST",
        "Say in the abstract for which environments it is not recommended.",
        reason=_TEXT + " The chapters show environments in which its numbers are poor.",
    ),
    _rfc(
        "4",
        "criterion",
        "For controlled environments: give references for what the network must do, and say how "
        "use elsewhere is prevented.",
        reason=_TEXT,
    ),
    _rfc(
        "5",
        "MUST",
        "Consider all criteria of the sections that follow.",
        reason="This table is the list; the community does the considering.",
    ),
    _rfc("5", "MUST", "Document whether a criterion that is not met may stay so.", reason=_PROCESS),
    _rfc(
        "5.1.1",
        "criterion",
        "Stop, or go down to one packet per round trip and below, when losses are extreme.",
        of("heavy-loss", "sent", "waiting", drop=0.7),
        of("many-flows", "loss", "useful", flows=64),
        lines=(lines.BACKOFF,),
    ),
    _rfc(
        "5.1.2",
        "criterion",
        "Do not keep excessive queues in large buffers.",
        of("buffers", "queueing_p95", flows=1, buffer=8),
        of("buffers", "queueing_p95", flows=4, buffer=8),
    ),
    _rfc(
        "5.1.3",
        "criterion",
        "Do not cause excessive losses, also where buffers are below about 1.5 BDP.",
        of("buffers", "loss", flows=4, buffer=0.25),
        of("buffers", "loss", flows=4, buffer=1),
        of("many-flows", "loss", flows=16),
        lines=(
            lines.LOSSES,
            lines.LOSSES_MANY,
        ),
    ),
    _rfc(
        "5.1.4",
        "criterion",
        "Explore how flows of the algorithm share capacity.",
        of("many-flows", "jain", flows=4),
        of("many-flows", "jain", flows=64),
        of("newcomer", "until", rtt=40),
        of("round-trips", "ratio", pair="the other has 160 ms", rtt=40, buffer=100),
    ),
    _rfc(
        "5.1.5",
        "MUST",
        "Consider how new and short flows affect long ones, and the reverse.",
        of("short-flows", "done", short="own beside own", size=100_000),
        of("short-flows", "long", short="own beside own", size=0),
    ),
    _rfc(
        "5.2",
        "criterion",
        "Compare the harm to others with that of standard algorithms, in delay and loss too.",
        of("beside-others", "harm", "other_loss", "other_queueing", other="cubic", rtt=40, buffer=1),
        lines=(
            lines.HARM_RENO,
            lines.HARM_CUBIC,
        ),
    ),
    _rfc(
        "5.2",
        "MUST",
        "Assess starvation of others.",
        of("beside-others", "other_share", other="reno", rtt=40, buffer=0.25),
        of("beside-others", "other_share", other="reno", rtt=40, buffer=4),
        lines=(lines.STARVED,),
    ),
    _rfc(
        "5.2",
        "MUST",
        "Make sure that the loss of all feedback leads to backoff.",
        of("silence", "into", "timeouts", "back", rtt=40),
        lines=(lines.SILENCE,),
    ),
    _rfc(
        "5.2.1",
        "MUST",
        "Evaluate it against standard congestion control.",
        of("beside-others", "harm", "more_harm", other="reno", rtt=40, buffer=1),
        of("beside-others", "harm", "more_harm", other="cubic", rtt=40, buffer=1),
        reason="QUIC (RFC 9002) is not simulated; its controller is NewReno's.",
        lines=(
            lines.HARM_RENO,
            lines.HARM_CUBIC,
        ),
    ),
    _rfc(
        "5.2.1",
        "criterion",
        "Consider other algorithms that are widely deployed.",
        of("beside-others", "harm", "more_harm", other="bbr", rtt=40, buffer=1),
        reason="BBR is in full evaluations only.",
    ),
    _rfc(
        "5.2.2",
        "SHOULD",
        "Consider coexistence with real-time congestion control.",
        of("real-time", "media_loss", "queueing_p95", flows=1, buffer=1),
        of("real-time", "media_loss", "queueing_p95", flows=4, buffer=4),
        reason="The real-time traffic here does not adapt; no such algorithm is simulated.",
    ),
    _rfc(
        "5.2.3",
        "MUST",
        "Evaluate short and long flows beside other common algorithms.",
        of("short-flows", "done", short="CUBIC beside own", size=100_000),
        of("short-flows", "done", short="own beside CUBIC", size=100_000),
        of("short-flows", "long", short="CUBIC beside own", size=0),
        lines=(lines.SHORT,),
    ),
    _rfc("5.3.1", "MUST", "Explain deviations from RFC 2914 and RFC 7141.", reason=_TEXT),
    _rfc(
        "5.3.2",
        "MUST",
        "Discuss whether it can be deployed step by step.",
        reason=_TEXT + " Every run here is one without changes of routers or receivers.",
    ),
    _rfc(
        "5.3.2",
        "SHOULD",
        "Discuss how it works with today's equipment, such as proxies and home routers.",
        reason=_TEXT,
    ),
    _rfc("5.3.2", "SHOULD", "If it is for some environments only, say how that is ensured.", reason=_TEXT),
    _rfc(
        "6", "MUST", "Have the IETF's consensus that the criteria are met on general paths.", reason=_PROCESS
    ),
    _rfc(
        "6",
        "SHOULD",
        "Evaluate over a representative range of rates, delays and queues.",
        of("range", "utilisation", "queueing_p95", rate=10, rtt=50, buffer=1),
        of("range", "utilisation", "queueing_p95", rate=50, rtt=200, buffer=1),
        of("range", "utilisation", "queueing_p95", rate=50, rtt=200, buffer=0.25),
    ),
    _rfc(
        "6.1",
        "MUST",
        "Evaluate drop-tail queues.",
        of("range", "utilisation", "loss", rate=10, rtt=200, buffer=1),
        of("buffers", "utilisation", "loss", flows=1, buffer=1),
    ),
    _rfc(
        "6.2",
        "MUST",
        "Consider tunnels, if the algorithm relies on explicit signals of the path.",
        reason="The simulator has no tunnels.",
    ),
    _rfc(
        "6.3",
        "criterion",
        "Wired paths, as the baseline.",
        of("range", "utilisation", "queueing_p95", "loss", rate=50, rtt=10, buffer=1),
    ),
    _rfc(
        "6.4",
        "criterion",
        "Wireless paths: losses of the channel, changing capacity, jitter by repeats.",
        of("random-loss", "goodput", kind="independent", per=1e-3),
        of("random-loss", "goodput", kind="in bursts", per=1e-3),
        of("random-loss", "goodput", kind="repeated by the link", per=1e-2),
        of("path-change", "after", "loss", change="rate down"),
        reason="Contention for the medium is not simulated.",
    ),
    _rfc(
        "7.1",
        "SHOULD",
        "Evaluate it under several queue disciplines.",
        *(
            of("queues", "utilisation", "queueing_p95", "loss", queue=q)
            for q in ("CoDel", "PIE", "FQ-CoDel", "DualPI2")
        ),
    ),
    _rfc(
        "7.1",
        "criterion",
        "Evaluate the reaction to ECN marks against what the codepoint demands.",
        of("queues", "utilisation", "queueing_p95", "marked", queue="CoDel ECN"),
        reason="With ECT(0) only. Whether the reaction conforms to RFC 3168 or RFC 9331 is not judged.",
    ),
    _rfc(
        "7.2",
        "criterion",
        "Stay within what circuit breakers of the network allow.",
        of("many-flows", "loss", flows=64),
        reason="RFC 8084 sets no number, and no circuit breaker is simulated; the loss is what one would "
        "see.",
    ),
    _rfc(
        "7.3",
        "SHOULD",
        "Make sure that it is robust when the least delay changes.",
        of("varying-delay", "utilisation", delay="steps up"),
        of("varying-delay", "utilisation", delay="jitter"),
        of("varying-delay", "utilisation", delay="LEO pass"),
        lines=(lines.DELAYS,),
    ),
    _rfc(
        "7.4",
        "criterion",
        "Constrained nodes (IoT): power, processing, volume of control packets.",
        reason="The simulator models neither power nor processors.",
    ),
    _rfc(
        "7.5",
        "criterion",
        "Paths with high delay, such as satellites.",
        of("satellite", "goodput", "loss", "rtt", link="geo", traffic="long flow"),
        of("satellite", "done", link="geo", traffic="file"),
        of("satellite", "goodput", link="vsat", traffic="long flow"),
    ),
    _rfc(
        "7.6",
        "SHOULD",
        "Explore senders, receivers and routers that break the rules.",
        reason="All nodes of the simulator follow their rules.",
    ),
    _rfc(
        "7.6",
        "criterion",
        "Explore attacks from outside.",
        reason="No experiment has an attacker; `bentpipe break NAME --goal attack` searches for pulses "
        "that stop it.",
    ),
    _rfc(
        "7.7",
        "criterion",
        "Do not rely on packets that arrive in order.",
        of("reordering", "utilisation", "needless", jump=20),
        of("reordering", "utilisation", jump=40),
    ),
    _rfc(
        "7.8",
        "SHOULD",
        "Consider transients: sudden congestion, a routing change, mobility.",
        of("transients", "cross", event="load comes"),
        of("transients", "to90", event="load leaves"),
        of("silence", "back", rtt=600),
        of("path-change", "after", change="LEO handovers"),
    ),
    _rfc(
        "7.9",
        "MUST",
        "Evaluate changes of the path, and be robust to them at usual intervals of rerouting.",
        of("path-change", "after", "back", change="delay up"),
        of("path-change", "after", "back", change="delay down"),
        of("path-change", "after", "back", change="rate up"),
        of("path-change", "after", "back", change="rate down"),
        of("path-change", "after", change="LEO handovers"),
        lines=(lines.CHANGES,),
    ),
    _rfc(
        "7.10",
        "MUST",
        "Multipath with failover: evaluate the harm of a change, and show that no flow starves.",
        *(
            of("failover", "more_harm", "least", "back", other=other, connections=n, buffer=1)
            for other in ("reno", "cubic")
            for n in (1, 4)
        ),
        reason=_UNCOUPLED,
        lines=(lines.HARM_FAILOVER, lines.STARVED_FAILOVER),
    ),
    _rfc(
        "7.10",
        "MUST",
        "Concurrent multipath: evaluate the harm to others at a shared bottleneck.",
        of("shared-bottleneck", "harm", "more_harm", other="reno", paths=2, buffer=1),
        of("shared-bottleneck", "harm", "more_harm", other="cubic", paths=2, buffer=1),
        reason=_UNCOUPLED,
        lines=(lines.HARM_SHARED,),
    ),
    _rfc(
        "7.10",
        "SHOULD",
        "Concurrent multipath: consider harm to other flows.",
        of("shared-bottleneck", "other_share", "own_share", "other_loss", other="reno", paths=2, buffer=1),
        of("shared-bottleneck", "other_share", "own_share", "other_loss", other="cubic", paths=2, buffer=1),
    ),
    _rfc(
        "7.11",
        "SHOULD",
        "For data centres: say with which algorithms it can be mixed.",
        reason="Nothing here is set up as a data centre.",
    ),
    _rfc("8", "MUST", "Examine security and privacy.", reason=_TEXT),
)
"""In the order of the document."""

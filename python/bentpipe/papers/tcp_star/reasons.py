"""Reasons why claims of the TCP-STAR paper do or do not reproduce, and reasons for its set-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import polars as pl

from bentpipe.papers.tcp_star import claims, figures, setup
from bentpipe.papers.tcp_star.claims import BR, STAR, J
from bentpipe.papers.tcp_star.places import PLACES
from bentpipe.papers.tcp_star.setup import BDP, BERS, COUNTS, OFTEN, RARE, SMALL
from bentpipe.studies.assembly import Assembly
from bentpipe.studies.claim import INDEX_TOLERANCE, Cause
from bentpipe.studies.explain import Explanation, Reason, fares_both_ways
from bentpipe.studies.findings import Findings
from bentpipe.studies.page import plain
from bentpipe.studies.places import drawn
from bentpipe.studies.prose import paragraphs, text
from bentpipe.studies.rows import column
from bentpipe.studies.study import Section
from bentpipe.studies.tables import Number, Numbers, choices_section, decided, set_up

#: Place of the check that TCP-STAR and TCP-J overlap among those of S5 and S6; that on WestwoodBR follows.
OVERLAP = -4


def _means(found: Findings, name: str, part: str, ber: float = 0.0, n: int = 1) -> dict[str, float]:
    return {x: fmean(v) for x, v in claims.samples(found.base, name, part, ber, n).items()}


def _said(values: Mapping[str, float]) -> str:
    return ", ".join(f"{x} {plain(v)}" for x, v in values.items())


def _crowd(found: Findings, ber: float, counts: Sequence[int]) -> dict[str, float]:
    """Jain's index beside NewReno, averaged over numbers of flows."""
    return {x: fmean(v) for x, v in claims.over(found.base, "mixed", ber, counts).items()}


def _aen(found: Findings, claim: str, check: int) -> tuple[float, float] | None:
    """The value of a check with and without AEN, over the same seeds; None if not both were run."""
    with_it, without = (found.sensitivity.mean(name, claim, check) for name in ("base", "no-aen"))
    return None if with_it is None or without is None else (with_it, without)


def _s1(found: Findings) -> Reason:
    each = "; ".join(f"{claims.at(b)}: {_said(_means(found, 'x_mbps', 'loss', b))}" for b in BERS[:-1])
    detail = paragraphs(f"""
        Throughput in Mbit/s: {each}.

        A loss on an empty queue costs TCP-J and WestwoodBR little as well, since they go to an estimate or
        keep their window. TCP-STAR's window is Reno's plus the estimate. So it stays above the receiver's
        limit and needs no growth after a loss.
    """)
    variants = {n: found.sensitivity.claim(n, "S1") for n in ("newreno", "reno", "queue-64")}
    under = []
    for name, claim in variants.items():
        if claim is not None:
            got = (plain(check.measured.mean) for check in claim.checks)
            margins = ", ".join(f"{claims.at(b)} {mean}" for b, mean in zip(BERS, got, strict=False))
            under.append(f"{found.sensitivity.choices[name]}: {margins}")
    if under:
        detail.append(f"Margin over the best other in Mbit/s, under other choices: {'; '.join(under)}.")
    if variants["queue-64"] is not None:
        detail += paragraphs("""
            With a queue of 64 segments LWC overshoots: ACKs that arrive in bursts make the estimate as large
            as the link while the queue is full already.
        """)
    return "", detail


def _s2(found: Findings) -> Reason:
    worst = BERS[-1]
    mbps, timeouts = (_means(found, c, "loss", worst) for c in ("x_mbps", "timeouts"))
    others = max(v for x, v in mbps.items() if x != STAR)
    least = max(mbps.values()) - min(mbps.values())
    detail = paragraphs(f"""
        Mean of a run: Mbit/s: {_said(mbps)}; timeouts: {_said(timeouts)}. Timeouts dominate, as the paper
        says, but TCP-STAR is {mbps[STAR] / others:.0f} times as fast as the best other. The likely reason is
        that after each timeout LWC lifts the window to the estimate with the first ACKs. The estimate is
        smoothed per ACK, so a burst of a few ACKs at the link's rate drives it up even when the flow is slow.

        On the paper's linear axis to 10 Mbit/s the four lie within {least:.1f} Mbit/s of each other;
        {claims.ALMOST_EQUAL_MBPS:g} are allowed for 'almost equal'.
    """)
    if aen := _aen(found, "S2", 0):
        detail += paragraphs(f"""
            Without AEN they lie within {plain(aen[1])} Mbit/s, with it {plain(aen[0])} over the same seeds:
            AEN is not the cause.
        """)
    tried = {name: found.sensitivity.mean(name, "S2", 0) for name in ("newreno", "bw-reset", "slow-start")}
    parts = [f"{found.sensitivity.choices[n]}: {plain(v)}" for n, v in tried.items() if v is not None]
    if parts:
        detail += paragraphs(f"""
            Range of the four in Mbit/s, under other choices: {"; ".join(parts)}. The paper says nothing of
            the estimate at a timeout. Case (I) of AEN needs it for ssthresh, so it is kept here. A reset
            would also take away what brings TCP-STAR back after the outage of S4.
        """)
    return f"{STAR} {plain(mbps[STAR])}, the others at most {plain(others)} Mbit/s", detail


def _s3(found: Findings) -> Reason:
    full = _means(found, "full_s", "startup")
    detail = [
        f"Seconds to 432 segments: {_said(full)}. TCP-STAR too begins with a slow start: until a round "
        "trip has some ten ACKs, the estimate is small."
    ]
    if (other := found.sensitivity.mean("no-delayed-ack", "S3", 0)) is not None:
        detail.append(
            f"Without delayed ACKs NewReno needs {plain(other)} s, so the paper's 8 s speak for them."
        )
    return f"{STAR} full after {plain(full[STAR])} s", detail


def _s4(found: Findings) -> Reason:
    back, timeouts = (_means(found, c, "outage") for c in ("recovery_s", "timeouts"))
    none, long, long_none = (
        fmean(column(found.runs, "restart_s", variant=setup.rto_name(rto, aen=aen)))
        for rto, aen in ((1.0, False), (2.0, True), (2.0, False))
    )
    slow, slow_none = (
        fmean(column(found.runs, "recovery_s", variant=setup.rto_name(2.0, aen=aen, slow=True)))
        for aen in (True, False)
    )
    return ("but by LWC rather than AEN" if timeouts[STAR] > 0 else ""), paragraphs(f"""
        Seconds from the end of the outage to full rate: {_said(back)}. A run ends 28 s after the outage.

        The picture is the paper's, but the reason is not. With a least RTO of 1 s the probe of 11.25 s goes
        unanswered, since its answer falls into the outage, and {timeouts[STAR]:.0f} timeout is acted on. The
        retransmission's cumulative ACK then lifts the window to Reno's plus the estimate at once (LWC).
        Without AEN the data arrives again at {none:.2f} s, since the timeout doubles, and with the same
        window. With a least RTO of 2 s the probe is answered and AEN does what the paper says ({long:.2f} s),
        but without AEN LWC gives the same ({long_none:.2f} s).

        AEN is the cause where a timeout by data loss is followed by slow start without the estimate, as
        section 4.2.1 says. With a least RTO of 2 s the rate is then back {slow:.1f} s after the outage with
        AEN, and {slow_none:.1f} s after it without.
    """)


def _s5(found: Findings) -> Reason:
    crowd = _crowd(found, RARE, COUNTS[1:])
    middle = COUNTS[len(COUNTS) // 2]
    x, reno = (_means(found, c, "mixed", RARE, middle) for c in ("x_mbps", "reno_mbps"))
    detail = paragraphs(f"""
        Mean J over N = {COUNTS[1]} to {COUNTS[-1]}: {_said(crowd)}. TCP-STAR is below TCP-J by
        {crowd[J] - crowd[STAR]:.3f}; the rule allows {INDEX_TOLERANCE:g} for curves that overlap.

        Mbit/s at N = {middle}: of a flow: {_said(x)}; of a NewReno flow beside it: {_said(reno)}. The index
        falls because NewReno halves at each loss and the others go to their estimate.

        {_little(crowd)}
    """)
    if (other := found.sensitivity.claim("queue-64", "S5")) is not None:
        detail += paragraphs(f"""
            With 64 segments in the link's queue and 432 in the sockets, flows congest the link at N = 10
            already, and {other.tally()}: the paper's 64 are more likely the buffers of sender and receiver.
        """)
    return _clause(found, crowd, "S5", detail), detail


def _below(crowd: Mapping[str, float]) -> float:
    """By how much TCP-STAR and TCP-J, in the mean, are below WestwoodBR."""
    return crowd[BR] - (crowd[STAR] + crowd[J]) / 2


def _little(crowd: Mapping[str, float]) -> str:
    return (
        f"TCP-STAR and TCP-J are {_below(crowd):.2f} below {BR}, which the paper calls a little. It prints "
        f"no number; {claims.A_LITTLE:g}, twice the tolerance of an index, is ours."
    )


def _clause(found: Findings, crowd: Mapping[str, float], key: str, detail: list[str]) -> str:
    """The note on the three curves; adds the causes to the detail."""
    clauses = [_apart(found, crowd, key, detail)]
    if _below(crowd) > claims.A_LITTLE:
        clauses.append(f"{STAR} and {J} lie {_below(crowd):.2f} below {BR}, more than a little")
    return "; ".join(filter(None, clauses))


def _apart(found: Findings, crowd: Mapping[str, float], key: str, detail: list[str]) -> str:
    """The clause on the difference of TCP-STAR and TCP-J, if they do not overlap; adds its causes."""
    gap = crowd[J] - crowd[STAR]
    if gap <= INDEX_TOLERANCE:
        return ""
    drops = _means(found, "queue_drops", "mixed", {"S5": RARE, "S6": OFTEN}[key], COUNTS[-1])
    detail += paragraphs(f"""
        At a loss both go to the same estimate, but {STAR} has Reno's window on top of it: at N = {COUNTS[-1]}
        {plain(drops[STAR])} packets are lost at the queue in a run, with {J} {plain(drops[J])}.
    """)
    if aen := _aen(found, key, OVERLAP):
        detail += paragraphs(f"""
            AEN has a part in it, since a probe spares {STAR} timeouts that the others act on: the difference
            is {aen[0]:.3f} with AEN and {aen[1]:.3f} without, over the same seeds.
        """)
    return f"{STAR} lies {gap:.3f} below {J}"


def _s6(found: Findings) -> Reason:
    first = COUNTS[0]
    rare, often = (_means(found, "jain", "mixed", ber, first) for ber in (RARE, OFTEN))
    crowd = _crowd(found, OFTEN, COUNTS)
    detail = paragraphs(f"""
        Jain's index: N = {first}, BER 1e-8: {_said(rare)}; N = {first}, BER 1e-6: {_said(often)}; mean over
        all N, BER 1e-6: {_said(crowd)}. In this mean TCP-STAR is below TCP-J by
        {crowd[J] - crowd[STAR]:.3f}; the rule allows {INDEX_TOLERANCE:g}.

        {_little(crowd)}
    """)
    return _clause(found, crowd, "S6", detail), detail


def _s7(found: Findings) -> Reason:
    most = COUNTS[-1]
    j, drops, resent = (_means(found, c, "same", OFTEN, most) for c in ("jain", "queue_drops", "resent"))
    beside = _means(found, "jain", "mixed", OFTEN, most)
    again = {x: 100 * v for x, v in resent.items()}
    detail = paragraphs(f"""
        Jain's index at N = {most}: among themselves: {_said(j)}; beside NewReno: {_said(beside)}. The text
        has no number for the better fairness that the flows keep. So the checks of an index of 1 are shown
        and not counted.

        Mean of a run: packets lost at the queue: {_said(drops)}; segments sent again, %: {_said(again)}.
        Reno's window plus the estimate is more than a flow's share, so TCP-STAR's flows
        keep overrunning the queue.
    """)
    if j[BR] < min(j[STAR], j[J]):
        detail += paragraphs("""
            WestwoodBR is the least fair here, probably because a flow that takes a loss for an error keeps
            its window, so that flows differ for longer. Its loss discrimination is a reconstruction.
        """)
    low = min(j, key=lambda name: j[name])
    return (f"{low} {plain(j[low])} at N = {most}" if j[low] < 1 - INDEX_TOLERANCE else ""), detail


def sections(found: Findings) -> list[Section]:
    """The behaviour of the runs, the set-up, figure 8, and the influence of the choices on the verdicts."""
    runs, chosen = figures.runs_section(found.base), setup_section(found.base)
    return [runs, chosen, figures.rto_section(found), _choices(found)]


NUMBERS = Numbers(
    (
        *(Number(f"margin at {claims.at(ber)}", "S1", i) for i, ber in enumerate(BERS[:-1])),
        Number("NewReno full after", "S3", 0),
        Number("STAR's data again at", "S4", 0),
        Number("J, STAR - TCP-J", "S5", OVERLAP),
        Number("J, BR - STAR", "S5", OVERLAP + 1),
    ),
    "TCP-STAR's throughput less the best other's, Mbit/s (S1); time of NewReno to 432 segments, s (S3); "
    "TCP-STAR's restart, s (S4); differences of Jain's index with NewReno at 1e-8, mean over N = 20 to 50 "
    "(S5)",
    with_paper=False,
)


def _choices(found: Findings) -> Section:
    said = text(f"""
        Each row changes one choice and repeats the runs that it touches over {found.few_seeds} seeds; the
        first row is the base over the same seeds, fewer than the claims above have, so that a small
        difference may not be told from none.
    """)
    if len(found.sensitivity.variants) < len(setup.VARIANTS):
        said += " The full run tries more choices."
    changed = ", ".join(decided(found))
    said += (
        f" Some choice changes the verdict of {changed}."
        if changed
        else " No choice tried changes a verdict."
    )
    return choices_section(found, said, untouched=", - not touched by the choice", numbers=NUMBERS)


def setup_section(base: pl.DataFrame) -> Section:
    """The values that the paper gives, and the choices with their reasons."""
    product = setup.RATE_BPS * 2 * setup.ONE_WAY_S / 8
    bdp = {size: product / size for size in (setup.SEGMENT_BYTES, setup.SEGMENT_BYTES + setup.HEADER_BYTES)}
    on_wire, more = bdp.values()
    first = COUNTS[0]
    lost = fmean(column(base, "queue_drops", part="mixed", ber=RARE, n=first))
    return set_up(f"""
        - Link | 10 Mbit/s, 250 ms one way | [paper] table 1; one link between all senders and receivers
        - Queue discipline | drop-tail | [default] ns-2
        - Segment | 1448 bytes on the wire, {setup.HEADER_BYTES} of them header | [implied] the paper's {BDP}
          segments are the bandwidth-delay product for 1448 bytes on the wire ({on_wire:.1f}); for 1500 it is
          {more:.1f}. Its ACK of 52 bytes counts headers, too: 40 for TCP and IP, 12 for the timestamp option
        - ACK | 52 bytes | [paper] table 1
        - Buffers of sender and receiver | {BDP} segments for one flow | [paper] section 4.2.1
        - The same for each of many flows | {SMALL} segments | [implied] section 4.3 has a buffer of {SMALL}
          segments and no congestion at N = {first}. That holds if the {SMALL} are those of sender and
          receiver ({first} x {SMALL} = {first * SMALL} segments fit into the link and
          {first * SMALL - round(on_wire)} places of its queue; here {lost:.1f} packets are lost at the
          queue), and cannot hold for flows of {BDP} segments over a queue of {SMALL} (tried below)
        - Queue of the link | {BDP} segments | [implied] the paper's start-up at BER 0 is without loss, which
          a queue of 64 does not allow NewReno's slow start. 64 is tried below
        - Loss recovery of NewReno | RFC 6582, to ssthresh at the end of a recovery (option 2) | [default]
          exit_recovery_fix_ is 0 in ns-2. Option 1 is tried below
        - Loss recovery of the others | SACK | [ours] the paper names none. It speaks once of a TCP-Reno
          receiver, which hints at a recovery without SACK. Its figures 9 and 11, in which TCP-STAR is as
          fair as TCP-J, hint at SACK. NewReno and Reno recovery are tried below
        - Delayed ACK | on, 100 ms | [implied, default] section 2.1 counts it as a drawback, figure 7's 8 s
          need it; ns-2's interval
        - Growth | one segment per ACK in slow start, initial window 2 | [default] ns-2 of that time (no byte
          counting, windowInit_ 2); 1 and 10 are tried below
        - Timer | least RTO 1 s, granularity 10 ms | [default] ns-2.27, in which minrto_ is still 1 s; both
          varied below
        - Estimate at a timeout | kept | [ours] the paper is silent. Case (I) of AEN sets ssthresh from it. A
          reset is tried below
        - Bit errors | on data only | [paper] section 4.2.1 is the 'data losses case'; on ACKs too is tried
          below
        - ACK outage | every ACK sent from 10 s to 12 s is lost, BER 0 | [paper] read as the time at which
          ACKs enter the link
        - Late ACKs | those sent from 10 s to 12 s come later by 1.5 least RTOs, in order | [ours] section
          4.2.2 names no delay. It has to exceed one timeout, and with two the probe's expires, too
        - Length of a run | 100 s; start-up 20 s, outage 40 s | [ours] long enough for a steady state, short
          enough that the start-up shows at BER 0, as figure 6 does. 30 s and 300 s are tried below
        - Start | within the first 0.1 s (one flow) or 1 s (many) | [ours] so that seeds differ
        - After a timeout by data loss | LWC adds the estimate with the first ACK | [paper] eq. 4 has no
          exception. Section 4.2.1 speaks of one segment; slow start from it, up to ssthresh without the
          estimate, is tried below
        - TCP-J | a reconstruction | [ours] the original could not be read; what was decided is in the list of
          controllers, and an alternative is tried below
        - WestwoodBR, congestion begins | at an RTT above the least by 0.4 of their range | [ours] a
          reconstruction; its thresholds could not be verified
        - WestwoodBR, congestion ends | at an RTT above the least by 0.05 of their range | [ours] as before
        - WestwoodBR, an error in congestion | if the estimate is above 0.8 of the window | [ours] as before
        - WestwoodBR, timeout by an error | the window is one segment | [ours] figure 6 shows it as slow as
          NewReno where timeouts dominate. Keeping the window is tried below
    """)


REASONS = {"S1": _s1, "S2": _s2, "S3": _s3, "S4": _s4, "S5": _s5, "S6": _s6, "S7": _s7}
#: The reason for each claim that the base may not reproduce.
CAUSES = {
    "S2": Cause.RULE,  # the addition of LWC between a timeout and ssthresh
    "S5": Cause.RULE,  # WestwoodBR's thresholds
    "S7": Cause.RULE,  # as S5
}

EXPLANATION = Explanation(REASONS, CAUSES, lists_failing=True, fares=fares_both_ways)
build = Assembly(setup.DESIGN, claims.CLAIMS, EXPLANATION, drawn(PLACES), sections)

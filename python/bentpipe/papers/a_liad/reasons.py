"""Reasons why claims of the A-LIAD paper do or do not reproduce, and reasons for its set-up."""

from __future__ import annotations

from statistics import fmean

from bentpipe.analysis import a_liad as analysis
from bentpipe.papers.a_liad import claims, figures, setup
from bentpipe.papers.a_liad.claims import LABELS, RANKED
from bentpipe.papers.a_liad.places import PLACES
from bentpipe.papers.a_liad.setup import BASE, BDP, GEO_S, HIGH, INTRA_S, LOW, NONE, RTTS_S, SHORT_S
from bentpipe.studies.assembly import Assembly
from bentpipe.studies.claim import INDEX_TOLERANCE, Cause
from bentpipe.studies.explain import Explanation, Reason
from bentpipe.studies.findings import Findings
from bentpipe.studies.page import plain
from bentpipe.studies.places import drawn
from bentpipe.studies.prose import paragraphs, text
from bentpipe.studies.rows import linearity
from bentpipe.studies.study import Section, Table, Tally
from bentpipe.studies.tables import MARKS, Number, Numbers, choices_section, decision, set_up


def _mean(
    found: Findings, experiment: str, cc: str, name: str, rtt_s: float = GEO_S, per: float = NONE
) -> float:
    return fmean(claims.values(found.base, experiment, cc, name, rtt_s, per))


def _tried(found: Findings, what: str, claim: str, check: int, names: str, unit: str = " %") -> list[str]:
    """A sentence: the value of a check under each of some choices; none if none of them was run."""
    under = {name: found.sensitivity.mean(name, claim, check) for name in names.split()}
    choices = found.sensitivity.choices
    told = [f"{plain(mean)}{unit} with: {choices[name]}" for name, mean in under.items() if mean is not None]
    of_base = found.sensitivity.mean("base", claim, check) or 0.0
    base = f"{plain(of_base)}{unit} in the base over these seeds"
    return [f"{what}: {'; '.join([base, *told])}."] if told else []


def _a1(found: Findings) -> Reason:
    ends = (RTTS_S[0], RTTS_S[-1])
    first, last = (_mean(found, "fig1", "liad", "mbps", rtt, HIGH) for rtt in ends)
    window = float(analysis.window_at_loss(2.0))
    rate = claims.figure_1()
    straight = linearity(RTTS_S, rate)
    short = f"equation 9 is 1/RTT; a straight line explains {straight:.0%} of its variance"
    from_s, bent = 0.05, [rtt / 1e3 for rtt in range(50, 601)]
    while linearity(part := [r for r in bent if r >= from_s], [1 / r for r in part]) < claims.LINEAR:
        from_s += 1e-3
    return short, paragraphs(f"""
        The text says "from its performance analysis", so figure 1 is equation 9 and no simulation. At 1e-8
        that equation gives a window of {window:,.0f} packets, {rate[-1] * BASE.wire_bytes * 8 / 1e9:.0f}
        Gbit/s at 600 ms, far above the paper's links.

        Equation 9 is exactly 1/RTT, which no reading of the rules makes "almost linear": from
        {RTTS_S[0] * 1e3:g} to {RTTS_S[-1] * 1e3:g} ms a straight line explains {straight:.0%} of it. On
        logarithmic axes, which the text does not name, it is a line; and the range of figure 1 is not in the
        text: from {from_s * 1e3:.0f} ms on a line explains {claims.LINEAR:.0%}. In
        simulation LIAD falls along the same law where loss limits it:
        at 1 % from {first:.1f} Mbit/s at 50 ms to {last:.1f} at 600 ms (figure).
    """)


def _a2(found: Findings) -> Reason:
    share = {cc: _mean(found, "start-up", cc, "at_30") for cc in RANKED}
    mine, fast = share["a-liad"], ("cubic", "bic", "scalable", "highspeed")
    lost = ", ".join(f"{LABELS[cc]} {_mean(found, 'start-up', cc, 'overflow'):,.0f}" for cc in fast)
    each = ", ".join(f"{LABELS[cc]} {share[cc]:.1f} %" for cc in RANKED)
    detail = paragraphs(f"""
        Share of the bandwidth in the first 30 s: {each}. The first slow start of the others ends at window_,
        {BASE.window_packets()} packets, where link and queue are just full. Packets that they lose in these
        30 s: {lost}. A cut to half a window of two BDPs still fills the link, also NewReno's and Westwood's
        where SACK repairs the losses. Real ns-2, run with these values, gives 83 % to all six. So A-LIAD's
        "second highest" needs rivals that repair their losses more slowly, such as a NewReno without SACK.

        Without a limit of the first slow start (a simulator in which window_ ends nothing) all of them
        overshoot to almost 4 BDPs and lose a third of what they sent, retransmissions included.
    """)
    names = "newreno eq6 window-none bounded window-1500 delayed-ack rtt-spread"
    detail += _tried(found, "CUBIC less A-LIAD", "A2", 1, names)
    table = "in the table of the runs beside what is delivered."
    ahead = ", ".join(f"{LABELS[cc]} {share[cc] - mine:+.1f}" for cc in ("cubic", "reno"))
    short = f"A-LIAD {mine:.1f} % of the bandwidth; from there {ahead}"
    return short, [*detail, f"What crosses the link, retransmissions included, is {table}"]


def _a3(found: Findings) -> Reason:
    peak = _mean(found, "start-up", "cubic", "exit")
    west, cubic = (_mean(found, "start-up", cc, "cuts") for cc in ("westwood", "cubic"))
    none, worse = (_mean(found, "no-sack", cc, "cuts") for cc in ("westwood", "cubic"))
    short = f"with SACK Westwood reduces its window {west:.1f} times: window_ just fills link and queue"
    detail = paragraphs(f"""
        CUBIC's window reaches {peak:,.0f} packets, {peak / BDP:.1f} BDPs, before it is reduced. A-LIAD ends
        slow start at the estimated BDP and its max-probing stops at twice that, which the buffer just holds.

        window_ is the smallest that fills link and queue, so slow start overflows them by a packet or by
        none. With the round trip exactly as printed, 600 ms, nothing else is lost. If window_ bounds what is
        outstanding, as in ns-2's own senders, and is a little larger, slow start ends in a burst of losses,
        and the figure is the paper's (reading "outstanding").

        Figure 7(b) is with SACK, as its text says. Reductions of the window with SACK: Westwood {west:.1f},
        CUBIC {cubic:.1f}; without: {none:.1f} and {worse:.1f}.
    """)
    names = "bounded window-1500 window-none buffer-50 buffer-two rtt-spread"
    return short, [*detail, *_tried(found, "Reductions of Westwood's window", "A3", 4, names, "")]


def _a4(found: Findings) -> Reason:
    j, fast, slow = (_mean(found, "intra", "a-liad", c, INTRA_S) for c in ("jain", "flow_6", "flow_1"))
    detail = text(f"""
        Without random loss the fastest flow has {fast:.1f} and the slowest {slow:.1f} Mbit/s. After a loss
        A-LIAD returns to the window that it lost at (Wmax), so a flow that has more keeps more; only losses
        that come at different times even the shares out. Random loss brings them, and so does whatever makes
        losses at the queue more frequent or less regular, above all a shorter queue.
    """)
    names = "buffer-50 buffer-two delayed-ack no-sack eq6 at-w-max own-rtts"
    short = f"with random loss fair; without, J is {j:.2f}: flows that lose together keep their shares"
    unfair = j < claims.FAIRNESS - INDEX_TOLERANCE
    return short if unfair else "", [detail, *_tried(found, "J without random loss", "A4", 0, names, "")]


def _a5(found: Findings) -> Reason:
    first, last = (_mean(found, "rtt", "cubic", "mbps", rtt) for rtt in (RTTS_S[0], RTTS_S[-1]))
    detail = [
        f"CUBIC has {first:.2f} Mbit/s at 50 ms and {last:.2f} at 600 ms: with a buffer of 1 BDP a cut to "
        "0.8 never empties the queue, so without random loss only the start depends on the RTT. Its growth "
        "depends on the time and not on the RTT by design.",
        "The text says only that A-LIAD is almost unaffected. That CUBIC is affected, or below A-LIAD, is "
        "shown and not counted.",
        "The paper names no packet error rate for figure 9. Its section 4.3 opens with 0, 0.1 and 1 %, and "
        "without loss no flow that fills the queue depends on the RTT; so 0.1 % is the defensible reading.",
    ]
    detail += _tried(found, "A-LIAD's largest rate over its smallest", "A5", 0, "sweep-loss at-w-max", "")
    detail += _tried(found, "CUBIC at 50 ms over CUBIC at 600 ms", "A5", 1, "sweep-loss", "")
    return "CUBIC is flat, too: it fills a buffer of 1 BDP; the text says nothing of it", detail


def _a6(found: Findings) -> Reason:
    low, high = ({cc: _mean(found, "loss", cc, "share", per=per) for cc in RANKED} for per in (LOW, HIGH))
    mine, west, cubic = (f"{low[cc]:.0f} and {high[cc]:.0f} %" for cc in ("a-liad", "westwood", "cubic"))
    detail = paragraphs("""
        The Westwood of TCP/Linux is Westwood+ with at least half of the window after a loss; its estimate
        follows slowly. The Westwood of 2001 sets its window to the measured rate times RTTmin, which a random
        loss hardly lowers: it keeps what its first slow start found, and leads.

        60 % is one number for two packet error rates; it is read as that at 0.1 %, since the paper says that
        1 % is dramatically worse. A-LIAD at 1 % loses six packets in a window of the BDP and cannot hold it:
        a recovery takes a round trip or more, a lost retransmission a timeout.

        With RTTmax since the last loss, beta is near 0 while the queue is empty. A random loss then hardly
        lowers the window. A-LIAD holds the window of the first loss (figure 11), plus one packet per round
        trip. With RTTmax ever, each loss cuts deep, and Wmax becomes the window of the last loss. So two
        losses close together lower it for good. The paper's 60 % at 0.1 % lies between these two readings.
        Max-probing at a Wmax without a loss lies there, too.
    """)
    readings = "eq6 lifetime at-w-max"
    detail += _tried(found, "A-LIAD at 0.1 %", "A6", 0, readings)
    detail += _tried(found, "A-LIAD's fall from 0.1 % to 1 %", "A6", 1, readings)
    detail += _tried(found, "A-LIAD less the best other at 0.1 %", "A6", 2, "westwood westwood-ns2")
    return f"A-LIAD {mine}, Westwood+ {west}, CUBIC {cubic}", detail


def _a7(found: Findings) -> Reason:
    mean = {cc: _mean(found, "loss", cc, "cwnd", per=LOW) / BDP for cc in RANKED}
    each = ", ".join(f"{LABELS[cc]} {w:.2f}" for cc, w in mean.items())
    return "", paragraphs(f"""
        Mean windows at 0.1 % in BDPs: {each}. "Much below" the BDP is read as at most half of it, a bound of
        ours; of A-LIAD the paper says only that its window is comparatively higher.
    """)


def _a8(found: Findings) -> Reason:
    cut = {n: fmean(v) for n, v in claims.reductions(found.base, SHORT_S, (*RANKED, "liad")).items()}
    cubic, liad = (cut[n] for n in (claims.CUBIC, claims.LIAD))
    order = ", ".join(f"{n} {cut[n]:.0f} %" for n in (claims.HSTCP, claims.WESTWOOD, claims.BIC))
    short = f"CUBIC of Linux 2.6.22, which keeps 0.8 of its window at a loss, takes {cubic:.0f} %"
    return short, [
        f"The order is the paper's. Beside the protocols that section 4.5 names there are: {order}. "
        "Whether figure 12 shows Westwood and BIC is not in the text. Real ns-2 with its own modules gives, "
        "over four seeds: Scalable 42 %, CUBIC 17 %, HighSpeed 3 %, BIC 25 %, Westwood 8 %. Its modules "
        "count in whole numbers, which slows CUBIC and BIC at windows of ten packets.",
        *_tried(found, "NewReno loses to CUBIC", "A8", 2, "cubic-rfc old-cubic newreno buffer-bdp"),
        f"At 25 ms alpha is {float(analysis.alpha(SHORT_S)):.2f}, below LIAD's 2, so A-LIAD is by design "
        f"gentler than LIAD ({liad:.0f} %); a queue of 50 packets on a path of 29 hides the difference.",
        *_tried(found, "NewReno loses to A-LIAD", "A8", 1, "eq6 buffer-bdp buffer-two"),
    ]


def _a9(found: Findings) -> Reason:
    cut = {n: fmean(v) for n, v in claims.reductions(found.base, GEO_S).items() if n != claims.NEWRENO}
    order = ", ".join(f"{n} {v:.0f} %" for n, v in sorted(cut.items(), key=lambda item: -item[1]))
    names = "highspeed-own eq6 lifetime at-w-max buffer-50 buffer-two own-rtts"
    detail = paragraphs(f"""
        Loss of NewReno beside each, in order: {order}. NewReno's growth per second falls with the square of
        the RTT, CUBIC's does not, so CUBIC gains most. The sentence names neither BIC nor Westwood, so A-LIAD
        is compared with HighSpeed. Linux reads HighSpeed's table a row too high, which makes it more
        aggressive than RFC 3649; ns-2's own sender has the formulas. Real ns-2 gives, over three seeds: CUBIC
        88 %, Scalable 82 %, BIC 69 %, HighSpeed 43 %.

        A-LIAD's beta = 1 - RTTmin/RTTmax is large where the queue is full, and it returns to the window that
        it had, not beyond: it holds a share rather than taking more, beyond one packet per round trip.
    """)
    detail += _tried(found, "A-LIAD less HighSpeed", "A9", 3, names)
    detail += _tried(found, "CUBIC less the next", "A9", 4, names)
    three = (claims.CUBIC, claims.STCP, claims.A_LIAD)
    return ", ".join(f"{n} {cut[n]:.0f} %" for n in three), detail


def _a10(_: Findings) -> Reason:
    short = "a calculation: intervals are over RTTs, or over the two values compared, not over seeds"
    return short, paragraphs("""
        The constant needs beta and a packet error rate, which the paper does not give with it. 1e-8 (as in
        figure 1) and beta = 0.4586 give 1.5787 s; the 0.46 used here gives 1.5790 s with alpha = 2, that is
        alpha = 2.0003 with 1.5787 s. The curve and its error are in the last figure.
    """)


def sections(found: Findings) -> list[Section]:
    """The set-up, the behaviour of the runs, and the influence of the choices on the verdicts."""
    return [setup_section(), figures.runs_section(found.base), *one_queue(found), _choices(found)]


#: Claims that no single queue reproduces together, and the variant with a short queue.
OF_THE_QUEUE, SHORT_QUEUE = ("A2", "A3", "A4", "A5", "A9"), "buffer-50"


def one_queue(found: Findings) -> list[Section]:
    """A note that figures 8 and 13 need a shorter queue than figures 5, 7 and 9; empty if it was not run."""
    under = found.sensitivity
    lines: list[list[str | Tally]] = []
    for name, what in (("base", "1 BDP of each path (base)"), (SHORT_QUEUE, "50 packets, at GEO 0.07 BDP")):
        claims_of = [under.claim(name, claim_id) for claim_id in OF_THE_QUEUE]
        lines.append([what, *(Tally(c) for c in claims_of if c is not None)])
    if any(len(line) <= len(OF_THE_QUEUE) for line in lines):
        return []
    said = text("""
        A4 (figure 8) and A9 (figure 13) need a queue well below one bandwidth-delay product: losses at a
        short queue come at different times, and shares even out. A2, A3 and A5 (figures 5, 7 and 9) need
        about one: a cut then leaves the link full, slow start ends at one BDP without a loss, and the
        throughput does not depend on the RTT. The paper prints no queue, and no one queue gives both.
    """)
    table = Table(["Queue", *OF_THE_QUEUE], lines, f"{MARKS}, over {found.few_seeds} seeds")
    return [Section("One queue does not give all figures", [said], [table])]


def setup_section() -> Section:
    """The values that the paper gives, and the choices with their reasons."""
    window, few = BASE.window_packets(), 20 * BASE.wire_bytes * 8 / GEO_S / 1e6
    return set_up(
        f"""
        - Path | one bottleneck of 10 Mbit/s, 50 Mbit/s for figure 8; 600 ms over GEO | [paper] sections 4.1
          to 4.5
        - Packet | {setup.MSS_BYTES} + 40 bytes on the wire, an ACK 40 | [implied] makes the BDP {BDP:.0f}
          packets; section 4.4 says 700
        - Buffer | 1 BDP of each run, at least {setup.NS2_QUEUE} packets, drop-tail | [implied, default]
          delta = 1.93, by which A-LIAD finds congestion impending, says that the RTT nearly doubles before
          packets are lost, which takes a queue of about 1 BDP; section 4.2 has slow start make the window
          almost twice the BDP. ns-2's queue holds 50 (Queue set limit_), which is enough at 25 ms
        - Sender's window | window_ = {window} packets, where the first slow start ends | [implied] 10 Mbit/s
          x 600 ms = {BDP:.0f} packets in flight and {window - round(BDP)} in the queue are {window}, the
          least that fills "the network capacity level, including the link capacity and network buffer"
          (section 4.2). ns-2's default of 20 gives 20 x {BASE.wire_bytes} bytes / 600 ms = {few:.2f} Mbit/s,
          a thirtieth of the 80 % that figure 5 has
        - window_ in ns-2 | first ssthresh, and no bound of what is outstanding | [default]
          LinuxTcpAgent::load_to_linux_once sets ssthresh and the clamp of cwnd by it, and send_much does not
          look at it; TcpAgent::send_much does, tried below. There is no clamp of cwnd here
        - Sender | profile paper: initial window 1, no delayed ACK, no pacing | [default] ns-2.35 sends a SYN
          without payload and then windowInit_ = 2 packets, as many as 1 and then 2
        - SACK | in all runs | [paper] section 4.2: "enabled for all variants", and figure 7(b), too; NewReno
          by its definition has none, tried below. What section 4.2 says of a start-up without SACK is judged
          by runs without
        - Lengths | 30 s for figures 5 to 7, 300 s for all others | [paper, ours] sections 4.2 and 4.5 for
          figures 5 and 12; the same for the others
        - Random loss | of data packets only, at the bottleneck | [ours] lost ACKs are tried below
        - RTTs | as printed, equal for competing flows | [paper] 600, 100 and 25 ms; up to 4 % below by seed
          is tried below. Flows on a deterministic drop-tail queue whose RTTs differ by parts of a millisecond
          shut each other out (a phase effect), also six of NewReno: tried below
        - RTTs of figures 1 and 9 | 50, 100, 200, 400, 600 ms | [paper] the range of figure 9
        - Figure 9 | no random loss | [default] a link of ns-2 loses nothing unless told; the text names no
          packet error rate for it
        - A-LIAD, LIAD | growth by round (eq 5), RTTmax of eq 7 since the last loss, linear slow probing, one
          packet per round trip above Wmax | [paper, ours, paper, ours] eq 6 per ACK is not eq 5, and section
          3.2 calls slow probing linear, which eq 3 is not; an RTTmax that is never forgotten would make
          every random loss cut as deep as one at a full buffer. All are tried as printed
        - beta of A-LIAD and LIAD | 1 - RTTmin / RTTmax, at most 1/2 | [ours] eq 7 has no bound. The
          controllers have no option without it, so it is not tried
        - CUBIC, BIC, STCP, HSTCP, Westwood | the modules of TCP/Linux: CUBIC before its RFC, with beta 0.8;
          BIC with 31/16 of its growth; one packet per min(W, 50) ACKs; the table of RFC 3649; Westwood+ |
          [default] ns-2.35, Linux 2.6.22: all five are names of modules, and four exist in no other form
          there. Others are tried below
        - LIAD in the orders | drawn, not ranked | [paper] section 4 never names it
        """,
        """
        A value is what the paper says, else what its numbers imply, else what ns-2.35 does, the version of
        its time, and only then our choice. A number that a search found is in no row; it is a choice of the
        last section and part of the fitted reading.
        """,
    )


NUMBERS = Numbers(
    (
        Number("A-LIAD in 30 s, %", "A2", 0, "80"),
        Number("CUBIC less A-LIAD, %", "A2", 1, "3"),
        Number("J, no loss", "A4", 0, "0.995"),
        Number("A-LIAD at 0.1 %, %", "A6", 0, "60"),
        Number("less at 1 %", "A6", 1, "> 0"),
        Number("NewReno loses to STCP, %", "A8", 0, "45"),
        Number("to A-LIAD", "A8", 1, "38"),
        Number("to CUBIC", "A8", 2, "11"),
    ),
    "The numbers that the paper prints, under each choice",
)


def _choices(found: Findings) -> Section:
    said = f"Each row changes one choice and repeats the study over {found.few_seeds} seeds; the first row "
    said += f"is the base over the same seeds. {decision(found)}"
    untouched = ". A choice that does not concern a claim leaves its runs as they are."
    return choices_section(found, said, untouched=untouched, numbers=NUMBERS)


REASONS = (_a1, _a2, _a3, _a4, _a5, _a6, _a7, _a8, _a9, _a10)
#: The reason for each claim that the base may not reproduce.
CAUSES = {
    "A1": Cause.CONTRADICTION,  # equation 9 is a hyperbola where the text says "almost linearly"
    "A2": Cause.PARAMETER,  # the queue; A4 and A9 need another one
    "A3": Cause.PARAMETER,  # the window
    "A4": Cause.PARAMETER,  # the queue; A2, A3 and A5 need another one
    "A6": Cause.SPREAD,
    "A8": Cause.RULE,  # which CUBIC
    "A9": Cause.PARAMETER,  # the queue; A2, A3 and A5 need another one
}

EXPLANATION = Explanation(
    {f"A{i}": reason for i, reason in enumerate(REASONS, start=1)}, CAUSES, lists_failing=True
)
build = Assembly(setup.DESIGN, claims.CLAIMS, EXPLANATION, drawn(PLACES), sections)

"""Reasons why claims of the HSWA-TCP paper do or do not reproduce, and reasons for its set-up."""

from __future__ import annotations

from statistics import fmean

from bentpipe.papers.hswa import claims, figures, setup
from bentpipe.papers.hswa.claims import LABELS, PRINTED, QUOTED, power
from bentpipe.papers.hswa.figures import implied
from bentpipe.papers.hswa.places import PLACES
from bentpipe.papers.hswa.setup import BASE, BERS, HEADER_BYTES, PACKET_BYTES, SPAN_S, bdp_packets
from bentpipe.studies.assembly import Assembly
from bentpipe.studies.claim import Cause
from bentpipe.studies.explain import Explanation, Reason
from bentpipe.studies.findings import Findings
from bentpipe.studies.page import plain
from bentpipe.studies.places import drawn
from bentpipe.studies.prose import paragraphs, text
from bentpipe.studies.study import Section, Table
from bentpipe.studies.tables import Number, Numbers, choices_section, decision, held, set_up

#: Packets in flight for three duplicate ACKs, and so for a fast retransmit.
LEAST_WINDOW = 4


def _mean(found: Findings, cc: str, orbit: str, ber: float, name: str = "mbps") -> float:
    return fmean(claims.rate(found.base, cc, orbit, ber, name))


def _under(found: Findings, variant: str, claim_id: str, *checks: int) -> list[str]:
    """The means of some checks under a variant; none if it was not run."""
    got = [found.sensitivity.mean(variant, claim_id, check) for check in checks]
    return [plain(mean) for mean in got if mean is not None]


def _values(found: Findings, claim_id: str, names: str, *checks: int) -> list[str]:
    """A sentence with the means of some checks under each of some variants; none if none was run."""
    got = {name: _under(found, name, claim_id, *checks) for name in names.split()}
    told = found.sensitivity.choices
    parts = [f"{told[name]}: {' and '.join(means)}" for name, means in got.items() if means]
    base = found.sensitivity.claim("base", claim_id)
    what = [base.checks[check].what for check in checks] if base else []
    return (
        [f"Mbit/s under other choices (first {', then '.join(what)}): {'; '.join(parts)}."] if parts else []
    )


def _law(cc: str, orbit: str, ber: float) -> str:
    mbps = PRINTED[cc, orbit, ber]
    of = implied(cc, orbit, ber, mbps)
    return (
        f"{mbps:g} Mbit/s are a window of {plain(of.window)} packets. The square-root law gives this window "
        f"at a packet loss rate of {of.loss:.2g}. That is {plain(of.per_byte)} times what errors per byte "
        f"would give, and {plain(of.per_bit)} times what errors per bit would"
    )


def _h1(found: Findings) -> Reason:
    byte = _under(found, "byte", "H1", 1, 2)
    short = "both rates are low for errors per bit"
    short += f"; per byte {' and '.join(byte)} Mbit/s" if byte else ""
    detail = paragraphs(f"""
        For SCPS-TP, {_law("scps", "GEO", 1e-8)}. For HSWA, {_law("hswa", "GEO", 1e-8)}.

        Both are near an error rate per byte, which is what an ns-2 ErrorModel of unit byte draws: a packet of
        n bytes survives with probability (1 - rate) to the power n.

        The square-root law makes the ratio the root of S = 80, {plain(claims.S[1e-8] ** 0.5)}, whatever the
        loss rate, unless the window reaches its limit. The paper's 7 is a little less.
    """)
    detail += _values(
        found, "H1", "byte packet-1500 buffer-50 byte-buffer-50 window-2000 per-ack span-100", 1, 2
    )
    detail += paragraphs("""
        With ns-2's default queue of 50 packets HSWA loses its gain: it sends S = 80 packets more in each
        round trip, in bursts at the rate of the link, and they do not fit. So the paper's queue was longer,
        unless its sender was paced.
    """)
    return short, detail


def _h2(found: Findings) -> Reason:
    scps, hswa = (_mean(found, cc, "GEO", 1e-5) for cc in ("scps", "hswa"))
    window, timeouts = (_mean(found, "scps", "GEO", 1e-5, name) for name in ("cwnd", "timeouts"))
    printed = implied("scps", "GEO", 1e-5, mbps := PRINTED["scps", "GEO", 1e-5])
    root = plain(claims.S[1e-5] ** 0.5)
    detail = paragraphs(f"""
        At 1e-5 per bit {BASE.packet_loss(1e-5):.1%} of the packets are lost. SCPS-TP's window is
        {plain(window)} packets in the mean, often too few for three duplicate ACKs, and it times out every
        {plain(SPAN_S["scps", "GEO"] / max(timeouts, 1.0))} s.

        SCPS-TP's {mbps:g} Mbit/s are {plain(printed.window)} packets per round trip, so few that the
        square-root law does not apply; errors per bit come near it ({plain(scps)} Mbit/s). For HSWA,
        {_law("hswa", "GEO", 1e-5)}.

        So no one error model gives both: the ratio is {plain(hswa / scps)} here, and the law makes it the
        root of S = 50, {root}, at any loss rate. A scan over the loss rate itself (the figure of the loss
        rates) says the same without a law. {figures.ranges(found)} With eq. 4 for each round trip the numbers
        of HSWA at 1e-5 hold together at one loss rate, and that of SCPS-TP at another. One simulation of
        these rules did not give both.
    """)
    per_ack = "Eq. 4 for each ACK instead of each round trip gives a ratio of {}."
    detail += [per_ack.format(ratio) for ratio in _under(found, "per-ack", "H2", 0)]
    detail += _values(found, "H2", "byte packet-1500 ln byte-ln newreno reno prr per-ack", 1, 2)
    return f"the rules alone give {root} times, not 66", detail


def _h3(found: Findings) -> Reason:
    ratio = {ber: _mean(found, "hswa", "GEO", ber) / _mean(found, "scps", "GEO", ber) for ber in BERS}
    each = ", ".join(f"{plain(r)} at {power(ber)}" for ber, r in ratio.items())
    return "", [f"HSWA over SCPS-TP, ratio of the means: {each}."]


def _h4(found: Findings) -> Reason:
    got = plain(_mean(found, "scps", "GEO", 1e-6))
    detail = paragraphs("""
        The paper quotes a measurement of others, so this is no claim of its own and has no verdict. It gives
        neither path nor settings of that measurement. Its fall from 6.3 to 0.27 Mbit/s, 23
        times for 100 times the errors, is steeper than the square root's 10 times, as it is where timeouts
        are many.

        The paper's own figure 3 has 6.3 Mbit/s at 1e-8 too, the same two digits as the report.
    """)
    return f"{got} Mbit/s with errors per bit", detail


def _h5(found: Findings) -> Reason:
    short = f"at 1e-5 {BASE.packet_loss(1e-5):.0%} of the packets are lost"
    if byte := _under(found, "byte", "H5", 3, 0):
        short += f"; per byte {byte[0]} Mbit/s at 1e-6 and {byte[1]} at 1e-5"
    timeouts = _mean(found, "hswa", "LEO", 1e-5, "timeouts") / SPAN_S["hswa", "LEO"]
    detail = paragraphs(f"""
        {_law("hswa", "LEO", 1e-5)}.

        At 1e-5 per bit HSWA times out {plain(timeouts)} times per second: a retransmission that is lost again
        costs a timeout of 200 ms or more, twenty round trips of LEO.

        The paper's 99 % are of the rate of the link, so its throughput counts headers, and so does this
        study.
    """)
    return short, detail + _values(
        found, "H5", "byte packet-1500 byte-prr byte-ln per-ack byte-per-ack", 3, 0
    )


def _h6(found: Findings) -> Reason:
    meo, geo = (_mean(found, "hswa", orbit, 1e-5) for orbit in ("MEO", "GEO"))
    law = "The order follows from the law: the window depends on the loss rate alone, so throughput falls as "
    law += f"the RTT grows; MEO has {meo / geo:.2f} times GEO at 1e-5."
    tried = _values(found, "H6", "byte packet-1500 byte-prr byte-ln per-ack byte-per-ack", 0, 1)
    return f"order at every BER; at 1e-5 {plain(geo)} (GEO) and {plain(meo)} Mbit/s (MEO)", [law, *tried]


def _h7(found: Findings) -> Reason:
    return "the controller as run, not a formula", paragraphs("""
        TD and BaseTD are computed by eq. 2 and 3 from the RTT of each ACK in the trace, the increment is the
        growth of the traced window over the next round trip; eq. 4 is not used in between. An observation
        period is one round trip and AvgRTT its mean (both are readings: the paper's running mean over the
        connection would hardly react).

        At TD = BaseTD the increment is S of eq. 5. The paper prints no value of it; 80, 70, 60 and 50 follow
        from A = 10 and a logarithm to base 10, so they are shown and not counted.

        BaseTD is the least of ten periods. A queue that stands for longer becomes the new base, and the
        window grows by S again.
    """)


def sections(found: Findings) -> list[Section]:
    """The implications of the numbers, the runs, the set-up, and the influence of the choices."""
    return [implied_section(), figures.runs_section(found), setup_section(), _choices(found)]


def implied_section() -> Section:
    """The error rates at which the square-root law gives the printed numbers."""
    printed = {k: v for k, v in PRINTED.items() if v < 99} | {("scps", "GEO", 1e-6): QUOTED}
    listed, simulated = [], []
    for (cc, orbit, ber), mbps in sorted(printed.items(), key=lambda kv: (kv[0][0] != "scps", kv[0][2])):
        of = implied(cc, orbit, ber, mbps)
        valid = of.window >= LEAST_WINDOW
        by_law = [f"{of.loss:.2g}", plain(of.per_bit), plain(of.per_byte)] if valid else ["-"] * 3
        listed.append([f"{LABELS[cc]}, {orbit}, {power(ber)}", f"{mbps:g}", plain(of.window), *by_law])
        if valid and mbps != QUOTED:
            simulated.append((of.per_bit, of.per_byte))
    bits, octets = (f"{plain(min(of))} and {plain(max(of))}" for of in zip(*simulated, strict=True))
    law = text(f"""
        Both algorithms add to the window (1 or S packets per round trip, while no queue stands) and halve it
        at a loss, so with a packet loss rate p the mean window is the root of 1.5 S / p. Read backwards, each
        printed throughput gives the loss rate under which the paper's simulation ran. Divided by the
        {8 * PACKET_BYTES} bits or {PACKET_BYTES} bytes of a packet, that is an error rate to compare with the
        one on the axis: 1 would be a perfect match. The simulated numbers lie between {octets} for errors per
        byte, and between {bits} for errors per bit. A window below four packets has no fast retransmit, and
        the law does not apply.
    """)
    head = ["Printed", "Mbit/s", "Window, packets", "Packet loss rate"]
    head += ["Over errors per bit", "Over errors per byte"]
    table = Table(head, listed, "The 0.27 Mbit/s are those of the NASA report")
    return Section("What the paper's numbers imply", [law], [table])


def setup_section() -> Section:
    """The values that the paper gives, and the choices with their reasons."""
    geo, meo, leo = (f"{bdp_packets(orbit, BASE):.0f}" for orbit in ("GEO", "MEO", "LEO"))
    return set_up(f"""
        - Link, delays, traffic | 100 Mbit/s; 500, 250 and 10 ms round-trip propagation; one FTP flow without
          end | [paper] section IV-A
        - Error rates | 1e-8 to 1e-5 | [paper] section IV-A; the claims are checked at the decades
        - Error model | each bit in error independently; a packet with an error is lost | [paper] that is what
          a bit error rate says. The paper's numbers contradict each other: those at 1e-8 fit errors per byte
          (above), the 34 kbit/s at 1e-5 only errors per bit. Errors per byte are drawn beside it and tried
          below; HSWA is told the same BER then
        - A and lg | A = 10, logarithm to base 10; BER told to the sender | [paper] section III; lg is the
          usual sign of the logarithm to base 10. The simulator tells HSWA the bit error rate of its path.
          The natural logarithm is tried below
        - Eq. 4 per | round trip | [paper] it replaces eq. 1, which adds one 'at every RTT' by section II, and
          algorithm 1 sends 'a batch' after each update. For each ACK is tried below
        - AvgRTT and period of HSWA | mean of one round trip | [ours] the paper's running mean over the
          connection would hardly react
        - alpha and beta of SCPS-TP | 1 and 3 packets over BaseRTT | [default] v_alpha_ and v_beta_ of ns-2's
          Vegas. While losses keep the queue empty they do not matter
        - Packet | {PACKET_BYTES} bytes on the wire, {HEADER_BYTES} of them header; an ACK {HEADER_BYTES} |
          [paper, default] section IV-A has 'the default values in NS2 for TCP configuration', and
          packetSize_ is 1000, the whole packet for ns-2's Vegas, the kin of SCPS-TP. The set-up names no
          size; 1500 bytes stand in an example of section II for 1 Gbit/s, and are tried below
        - Throughput | in-order packets, headers included, after a warm-up | [implied] 99 % of the link's rate
          cannot be payload alone; the paper measures saturation, in stable conditions. The whole run with
          its slow start is tried below
        - Queue discipline | drop-tail | [default] ns-2
        - Queue | 1 BDP ({geo}, {meo} and {leo} packets) | [ours] ns-2's default of 50 packets (tried below)
          makes HSWA no faster than SCPS-TP at 1e-8, so the paper's numbers rule it out
        - cwnd_lim, receive window | never binds | [implied] section III has 'a constant, decided by the
          packet format', and section II window scaling, so up to 1 GB. ns-2's default of 20 packets would
          allow 0.32 Mbit/s over GEO. Constants for all orbits are tried below
        - Recovery | SACK without PRR | [ours] SCPS-TP reports each gap (SNACK), to which SACK is the nearest;
          others are tried below
        - ACKs | every packet acknowledged; no ACK lost | [default] ns-2's sink does not delay ACKs; ACKs are
          small and cumulative. Both are tried below
        - Timer, start | least timeout 200 ms, clock 10 ms; initial window {BASE.initial_window} | [default]
          ns-2.35; one packet more or less at the start is forgotten in the warm-up
        - First ssthresh | none | [implied] ns-2 begins with window_, which is not 20 here
        - Length of a run | 60 to 1000 s, of which 40 % are warm-up | [ours] long enough to forget the start.
          The first 100 s, slow start included, are tried below
    """)


NUMBERS = Numbers(
    (
        Number("SCPS-TP, GEO 1e-8", "H1", 1),
        Number("HSWA, GEO 1e-8", "H1", 2),
        Number("SCPS-TP, GEO 1e-5", "H2", 1),
        Number("HSWA, GEO 1e-5", "H2", 2),
        Number("HSWA, MEO 1e-5", "H6", 0),
        Number("HSWA, LEO 1e-6", "H5", 3),
        Number("HSWA, LEO 1e-5", "H5", 0),
    ),
    "Means of the quantities for which the paper prints a number (Mbit/s)",
)


def _choices(found: Findings) -> Section:
    said = text(f"""
        Each row changes one choice (or two) and repeats the study over {found.few_seeds} seeds; the first row
        is the base over the same seeds. H7 is not in the table: none of these choices touches its runs.
    """)
    said += " " + decision(found)
    holding = held(found)
    of_base = holding.pop("base")
    best = max(holding, key=lambda name: holding[name], default="")
    total = sum(len(c.checks) for c in found.sensitivity.base if c.id in found.open)
    if best and holding[best] < total:
        count = f"{holding[best]} of {total}; {of_base} in the base"
        said += f" Most checks hold with: {found.sensitivity.choices[best]} ({count}). "
        said += "No choice makes all of them hold."
    return choices_section(found, said, numbers=NUMBERS)


#: The reason for each claim that the base may not reproduce.
CAUSES = {
    "H1": Cause.PARAMETER,  # the length of the run, the queue
    "H2": Cause.CONTRADICTION,  # SCPS-TP's number needs ten times the packet loss of HSWA's (the scan of q)
    "H5": Cause.CONTRADICTION,  # as H2
    "H6": Cause.RULE,  # equation 4 per round or per ACK
}

build = Assembly(
    setup.DESIGN,
    claims.CLAIMS,
    Explanation(
        {"H1": _h1, "H2": _h2, "H3": _h3, "H4": _h4, "H5": _h5, "H6": _h6, "H7": _h7},
        CAUSES,
        lists_failing=True,
        counts_choices=True,
    ),
    drawn(PLACES),
    sections,
)

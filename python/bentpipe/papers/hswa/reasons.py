"""Reasons why claims of the HSWA-TCP paper do or do not reproduce, and reasons for its set-up."""

from __future__ import annotations

from functools import partial
from statistics import fmean

from bentpipe.papers.hswa import claims, figures, setup
from bentpipe.papers.hswa.claims import LABELS, PRINTED, QUOTED, power
from bentpipe.papers.hswa.figures import implied
from bentpipe.papers.hswa.setup import BASE, BERS, PACKET_BYTES, PAPER, SPAN_S, bdp_packets
from bentpipe.studies.assembly import Assembly, Explanation, Reason
from bentpipe.studies.judge import Findings, by_claim
from bentpipe.studies.page import plain
from bentpipe.studies.places import listed
from bentpipe.studies.study import Section, Table
from bentpipe.studies.tables import choices_section, decision, held, set_up
from bentpipe.studies.words import Words

WORDS = Words.beside(__file__)

#: Packets in flight for three duplicate ACKs, and so for a fast retransmit.
LEAST_WINDOW = 4


def _mean(found: Findings, cc: str, orbit: str, ber: float, name: str = "mbps") -> float:
    return fmean(claims.rate(found.base, cc, orbit, ber, name))


def _law(cc: str, orbit: str, ber: float) -> str:
    mbps = PRINTED[cc, orbit, ber]
    return WORDS.text("The law", mbps=mbps, of=implied(cc, orbit, ber, mbps))


_tried = partial(Findings.tried, before="first ", between=", then ")


def _h1(found: Findings) -> Reason:
    byte = found.means("byte", "H1", 1, 2)
    names = "byte packet-1500 buffer-50 byte-buffer-50 window-2000 per-ack span-100"
    return WORDS.reason(
        "H1",
        per_byte=f"; per byte {plain(byte[0])} and {plain(byte[1])} Mbit/s" if byte else "",
        scps=_law("scps", "GEO", 1e-8),
        hswa=_law("hswa", "GEO", 1e-8),
        root=claims.S[1e-8] ** 0.5,
        tried=_tried(found, "H1", names, 1, 2),
    )


def _h2(found: Findings) -> Reason:
    scps, hswa = (_mean(found, cc, "GEO", 1e-5) for cc in ("scps", "hswa"))
    mbps, per_ack = PRINTED["scps", "GEO", 1e-5], found.means("per-ack", "H2", 0)
    return WORDS.reason(
        "H2",
        root=claims.S[1e-5] ** 0.5,
        lost=BASE.packet_loss(1e-5),
        window=_mean(found, "scps", "GEO", 1e-5, "cwnd"),
        timeout_s=SPAN_S["scps", "GEO"] / max(_mean(found, "scps", "GEO", 1e-5, "timeouts"), 1.0),
        printed=mbps,
        printed_window=implied("scps", "GEO", 1e-5, mbps).window,
        scps=scps,
        hswa=_law("hswa", "GEO", 1e-5),
        ratio=hswa / scps,
        ranges=figures.ranges(found),
        per_ack=per_ack[0] if per_ack else None,
        tried=_tried(found, "H2", "byte packet-1500 ln byte-ln newreno reno prr per-ack", 1, 2),
    )


def _h3(found: Findings) -> Reason:
    ratio = {ber: _mean(found, "hswa", "GEO", ber) / _mean(found, "scps", "GEO", ber) for ber in BERS}
    return WORDS.reason("H3", each=", ".join(f"{plain(r)} at {power(ber)}" for ber, r in ratio.items()))


def _h4(found: Findings) -> Reason:
    return WORDS.reason("H4", mbps=_mean(found, "scps", "GEO", 1e-6))


def _h5(found: Findings) -> Reason:
    byte = found.means("byte", "H5", 3, 0)
    return WORDS.reason(
        "H5",
        lost=BASE.packet_loss(1e-5),
        per_byte=f"; per byte {plain(byte[0])} Mbit/s at 1e-6 and {plain(byte[1])} at 1e-5" if byte else "",
        hswa=_law("hswa", "LEO", 1e-5),
        timeouts=_mean(found, "hswa", "LEO", 1e-5, "timeouts") / SPAN_S["hswa", "LEO"],
        tried=_tried(found, "H5", "byte packet-1500 byte-prr byte-ln per-ack byte-per-ack", 3, 0),
    )


def _h6(found: Findings) -> Reason:
    meo, geo = (_mean(found, "hswa", orbit, 1e-5) for orbit in ("MEO", "GEO"))
    tried = _tried(found, "H6", "byte packet-1500 byte-prr byte-ln per-ack byte-per-ack", 0, 1)
    return WORDS.reason("H6", geo=geo, meo=meo, ratio=meo / geo, tried=tried)


def _h7(_: Findings) -> Reason:
    return WORDS.reason("H7")


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
    law = WORDS.paragraphs(
        "What the numbers imply", bits=8 * PACKET_BYTES, bytes=PACKET_BYTES, per_bit=bits, per_byte=octets
    )
    head = ["Printed", "Mbit/s", "Window, packets", "Packet loss rate"]
    head += ["Over errors per bit", "Over errors per byte"]
    table = Table(head, listed, "The 0.27 Mbit/s are those of the NASA report")
    return Section("What the paper's numbers imply", law, [table])


def setup_section() -> Section:
    """The values that the paper gives, and the choices with their reasons."""
    return set_up(
        WORDS.block(
            "Set-up",
            setup=setup,
            geo=bdp_packets("GEO", BASE),
            meo=bdp_packets("MEO", BASE),
            leo=bdp_packets("LEO", BASE),
        )
    )


def _choices(found: Findings) -> Section:
    holding = held(found)
    of_base = holding.pop("base")
    best = max(holding, key=lambda name: holding[name], default="")
    total = sum(len(c.checks) for c in found.sensitivity.base if c.id in found.open)
    said = WORDS.paragraphs(
        "The choices",
        seeds=found.few_seeds,
        decision=decision(found),
        best=found.sensitivity.choices[best] if best and holding[best] < total else None,
        held=holding.get(best),
        total=total,
        of_base=of_base,
    )
    return choices_section(found, " ".join(said), numbers=PAPER.numbers)


build = Assembly(
    setup.DESIGN,
    claims.CLAIMS,
    Explanation(by_claim(vars()), PAPER.claims, lists_failing=True, counts_choices=True),
    listed(WORDS["Figures and tables"], PAPER.figures, vars(figures)),
    sections,
)

"""The page's sections: what the paper's numbers imply, the runs, the set-up, and how far it decides."""

from __future__ import annotations

import polars as pl

from bentpipe.studies.claim import interval
from bentpipe.studies.hswa import claims
from bentpipe.studies.hswa.sensitivity import choice, growth, implied, law_window
from bentpipe.studies.hswa.setup import (
    BASE,
    BERS,
    BYTES,
    HEADER_BYTES,
    PACKET_BYTES,
    PAIRS,
    RATE_BPS,
    RTT_S,
    SPAN_S,
    WARM_UP,
    bdp_packets,
)
from bentpipe.studies.page import plain, plus_minus
from bentpipe.studies.sensitivity import Sensitivity
from bentpipe.studies.study import Plan, Section, Table, Tally

NAME = {"scps": "SCPS-TP", "hswa": "HSWA"}
CAPTION = "Checks that hold, by claim: ✓ reproduced, ~ same order, ✗ not reproduced"
#: Packets in flight for three duplicate ACKs, and so for a fast retransmit.
LEAST_WINDOW = 4
#: The numbers of the second sensitivity table: (claim, check).
NUMBERS = (("H1", 1), ("H1", 2), ("H4", 0), ("H2", 1), ("H2", 2), ("H6", 0), ("H5", 3), ("H5", 0))


def implied_section() -> Section:
    """The error rates at which the square-root law gives the printed numbers."""
    printed = {k: v for k, v in claims.PRINTED.items() if v < 99} | {("scps", "GEO", 1e-6): claims.QUOTED}
    rows = []
    simulated: list[tuple[float, float]] = []
    for (cc, orbit, ber), mbps in sorted(printed.items(), key=lambda kv: (kv[0][0] != "scps", kv[0][2])):
        of = implied(cc, orbit, ber, mbps)
        small = of.window < LEAST_WINDOW
        if not small and mbps != claims.QUOTED:
            simulated.append((of.per_bit, of.per_byte))
        rows.append(
            [
                f"{NAME[cc]}, {orbit}, {claims.power(ber)}",
                f"{mbps:g}",
                plain(of.window),
                "-" if small else f"{of.loss:.2g}",
                "-" if small else plain(of.per_bit),
                "-" if small else plain(of.per_byte),
            ]
        )
    least, most = ([plain(end(ratios)) for ratios in zip(*simulated, strict=True)] for end in (min, max))
    return Section(
        "What the paper's numbers imply",
        [
            "Both algorithms add to the window (1 or S packets per round trip, while no queue stands) and "
            "halve it at a loss, so with a packet loss rate p the mean window is the root of 1.5 S / p. Read "
            "backwards, each printed throughput gives the loss rate under which the paper's simulation ran. "
            f"Divided by the {8 * PACKET_BYTES} bits or {PACKET_BYTES} bytes of a packet, that is an error "
            "rate to compare with the one on the axis: 1 would be a perfect match. The simulated numbers lie "
            f"between {least[1]} and {most[1]} for errors per byte, and between {least[0]} and {most[0]} for "
            "errors per bit. A window below four packets has no fast retransmit, and the law does not apply.",
        ],
        [
            Table(
                [
                    "Printed",
                    "Mbit/s",
                    "Window, packets",
                    "Packet loss rate",
                    "Over errors per bit",
                    "Over errors per byte",
                ],
                rows,
                "The 0.27 Mbit/s are those of the NASA report",
            )
        ],
    )


def runs_section(runs: pl.DataFrame) -> Section:
    """Tables of the main measures per algorithm, orbit and error rate, errors per bit and per byte."""
    tables = []
    for variant, setup, name in (("base", BASE, "bit"), ("byte", BYTES, "byte")):
        rows = []
        for cc, orbit in PAIRS:
            for ber in BERS:
                at = runs.filter(
                    (pl.col("variant") == variant)
                    & (pl.col("cc") == cc)
                    & (pl.col("orbit") == orbit)
                    & (pl.col("ber") == ber)
                )
                loss = setup.packet_loss(ber)
                law = law_window(growth(cc, ber), loss) * setup.packet_bytes * 8 / RTT_S[orbit] / 1e6
                cells = {
                    c: interval(at[c].to_list())
                    for c in ("mbps", "cwnd", "rtt_s", "lost_error", "lost_queue", "timeouts")
                }
                rows.append(
                    [
                        f"{NAME[cc]}, {orbit}, {claims.power(ber)}",
                        f"{loss:.2g}",
                        plus_minus(cells["mbps"]),
                        plain(law) if law < RATE_BPS / 1e6 else "full",
                        plain(cells["cwnd"].mean),
                        plain(cells["rtt_s"].mean * 1e3),
                        plain(cells["lost_error"].mean),
                        plain(cells["lost_queue"].mean),
                        plain(cells["timeouts"].mean),
                    ]
                )
        tables.append(
            Table(
                [
                    "Run",
                    "Packet loss rate",
                    "Mbit/s ± half of the 95 % interval",
                    "Square-root law",
                    "cwnd, packets",
                    "RTT, ms",
                    "Lost by errors",
                    "Lost at the queue",
                    "Timeouts",
                ],
                rows,
                f"Errors per {name}",
            )
        )
    spans = "; ".join(f"{NAME[cc]} over {orbit} {length:g} s" for (cc, orbit), length in SPAN_S.items())
    return Section(
        "What the runs did",
        [
            f"Lengths: {spans}. Throughput is measured after {WARM_UP:.0%} of that; the rest is per run, "
            "warm-up included. The square-root law knows no queue and no timeout."
        ],
        tables,
    )


def setup_section() -> Section:
    """What the paper gives, what was chosen, and why."""
    rows = [
        [
            "Link, delays, traffic",
            "100 Mbit/s; 500, 250 and 10 ms round-trip propagation; one FTP flow without end",
            "paper",
        ],
        ["Error rates", "1e-8 to 1e-5", "paper; the claims are checked at the decades"],
        [
            "Error model",
            "each bit in error independently; a packet with an error is lost",
            "that is what a bit error rate says. The paper's numbers rather fit errors per byte (above), so "
            "these are drawn beside it and tried below; HSWA is told the same BER then",
        ],
        [
            "A and lg",
            "A = 10, logarithm to base 10; BER told to the sender",
            "paper (eq. 5); the simulator tells HSWA the bit error rate of its path. The natural logarithm "
            "is tried below with errors per byte",
        ],
        [
            "Eq. 4 per",
            "round trip",
            "as eq. 1, which it replaces, and as the paper's 1 Gbit/s example counts. Per ACK is tried "
            "below, with A = 1000 in its place. That is an upper bound: a large window is back at its limit "
            "within a round trip of a loss, as S packets for each ACK would bring it; a small one, as after "
            "a timeout, grows faster than by S per ACK",
        ],
        [
            "alpha and beta of SCPS-TP",
            "1 and 3 packets over BaseRTT",
            "not in the paper; Vegas's. While losses keep the queue empty they do not matter",
        ],
        [
            "Packet",
            f"{PACKET_BYTES} bytes on the wire, {HEADER_BYTES} of them header; an ACK {HEADER_BYTES}",
            "the paper runs ns-2's default TCP settings, and its packetSize_ is 1000; the 1500 bytes of the "
            "paper's section II are an example for 1 Gbit/s. Tried below",
        ],
        [
            "Throughput",
            "in-order packets, headers included, after a warm-up",
            "99 % of the link's rate cannot be payload alone; the paper measures saturation, in stable "
            "conditions. The whole run with its slow start is tried below",
        ],
        [
            "Queue",
            f"drop-tail, 1 BDP ({bdp_packets('GEO', BASE):.0f}, {bdp_packets('MEO', BASE):.0f} and "
            f"{bdp_packets('LEO', BASE):.0f} packets)",
            "not in the paper; ns-2's default of 50 packets (tried below) makes HSWA no faster than SCPS-TP "
            "at 1e-8, so it was not that",
        ],
        [
            "cwnd_lim, receive window",
            "never binds",
            "the paper: a constant, decided by the packet format, with window scaling on; so up to 1 GB. "
            "ns-2's default of 20 packets would allow 0.32 Mbit/s over GEO. One and two BDP are tried below",
        ],
        [
            "Recovery, ACKs",
            "SACK without PRR; every packet acknowledged; no ACK lost",
            "SCPS-TP reports each gap (SNACK), to which SACK is the nearest; ns-2's sink does not delay "
            "ACKs; "
            "ACKs are small and cumulative. All tried below",
        ],
        [
            "Timer, start",
            "least timeout 200 ms, clock 10 ms; initial window 1, no initial ssthresh",
            "profile paper (ns-2.35); one packet more or less at the start is forgotten in the warm-up",
        ],
    ]
    return Section("Set-up", [], [Table(["What", "Value", "Source or reason"], rows)])


def sensitivity_section(plan: Plan, found: Sensitivity) -> Section:
    """Which verdicts each choice decides, and what the choices do to the main numbers."""
    shown = [c for c in found.base if c.id != "H7"]
    ids = [c.id for c in shown]
    verdicts: list[list[str | Tally]] = [["as above (base)", *(Tally(c) for c in shown), "-"]]
    for name, under in found.variants.items():
        mine = [c for c in under if c.id in ids]
        changed = [a.id for a, b in zip(mine, shown, strict=True) if a.verdict != b.verdict]
        verdicts.append([choice(name), *(Tally(c) for c in mine), ", ".join(changed) or "none"])
    numbers = []
    for name, under in {"base": found.base, **found.variants}.items():
        by_id = {c.id: c for c in under}
        checks = [k for c in under if c.id in ids for k in c.checks]
        numbers.append(
            [
                "as above (base)" if name == "base" else choice(name),
                *(plain(by_id[c].checks[i].measured.mean) for c, i in NUMBERS),
                f"{sum(k.holds for k in checks)} / {len(checks)}",
            ]
        )
    heads = {c.id: c for c in found.base}
    printed = ["the paper", *(plain(float(heads[c].checks[i].paper)) for c, i in NUMBERS), ""]
    decided = sorted({i for row in verdicts[1:] for i in str(row[-1]).split(", ") if i != "none"})
    text = (
        "Each row changes one choice (or two) and repeats the study over "
        f"{plan.settings['sensitivity_seeds']} seeds; the first row is the base over the same seeds. H7 "
        "is not "
        "in the table: none of these choices touches its runs. "
        + (
            f"The choices decide {', '.join(decided)}; the other verdicts hold under every choice tried."
            if decided
            else "No choice tried changes a verdict."
        )
    )
    held = {
        name: sum(k.holds for c in under if c.id in ids for k in c.checks)
        for name, under in found.variants.items()
    }
    if held:
        best = max(held, key=lambda name: held[name])
        total = sum(len(c.checks) for c in shown)
        text += (
            f" Most checks hold with: {choice(best)} ({held[best]} of {total}; "
            f"{sum(k.holds for c in shown for k in c.checks)} in the base). No choice makes all of them hold."
            if held[best] < total
            else ""
        )
    return Section(
        "How far the choices decide",
        [text],
        [
            Table(["Choice", *ids, "Verdicts it changes"], verdicts, CAPTION),
            Table(
                [
                    "Choice",
                    *(heads[c].checks[i].what.replace(", BER", "") for c, i in NUMBERS),
                    "Checks that hold",
                ],
                [printed, *numbers],
                "Means of the quantities for which the paper prints a number (Mbit/s)",
            ),
        ],
    )

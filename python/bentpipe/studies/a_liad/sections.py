"""The page's sections on the set-up and on what the runs did."""

from __future__ import annotations

import polars as pl

from bentpipe.studies.a_liad import claims
from bentpipe.studies.a_liad.setup import ALGORITHMS, BASE, GEO_S, HIGH, LOW, MSS_BYTES, NONE, SHORT_S
from bentpipe.studies.claim import interval
from bentpipe.studies.page import plain, plus_minus
from bentpipe.studies.study import Section, Table


def setup_section() -> Section:
    """What the paper gives and what was chosen, with the reasons."""
    given = [
        ["Path", "one bottleneck of 10 Mbit/s, 50 Mbit/s for figure 8; 600 ms over GEO", "the paper"],
        [
            "Packet",
            f"{MSS_BYTES} + 40 bytes on the wire, an ACK 40",
            f"makes the BDP {BASE.bdp(10.0, GEO_S):.0f} packets; the paper says 700",
        ],
        [
            "Buffer",
            "1 BDP of each run, drop-tail",
            "not in the paper. Its delta = 1.93, by which A-LIAD finds congestion impending, says that "
            "the RTT nearly doubles before packets are lost, which takes a queue of about 1 BDP; slow "
            "start that makes the window almost twice the BDP says the same",
        ],
        [
            "Sender",
            "profile paper: initial window 1, no delayed ACK, no pacing; SACK for all but NewReno",
            "ns-2's defaults; the paper enables SACK for all variants. Figure 7 is drawn without it here, as "
            "the claim that goes with it (no multiple losses even without SACK) needs",
        ],
        [
            "Lengths",
            "30 s for figures 5 to 7, 300 s for all others",
            "the two lengths that the paper names, 300 s for figure 12 only",
        ],
        [
            "Random loss",
            "of data packets only, at the bottleneck",
            "not in the paper; lost ACKs are tried below",
        ],
        [
            "RTTs of competing flows",
            "equal",
            "the paper gives one RTT for all. Flows on a deterministic drop-tail queue whose RTTs differ "
            "by parts of a millisecond shut each other out (a phase effect), also six of NewReno: tried "
            "below",
        ],
        [
            "RTT of figures 1 and 9",
            "50, 100, 200, 400, 600 ms; figure 9 without random loss",
            "the range of figure 9; the text names no packet error rate for it",
        ],
        [
            "A-LIAD, LIAD",
            "the registry's defaults: growth by round (eq 5), RTTmax of eq 7 since the last loss, linear "
            "slow probing",
            "eq 6 per ACK is not eq 5; an RTTmax that is never forgotten would make every random loss "
            "cut as deep as one at a full buffer. Both are tried as printed",
        ],
        [
            "CUBIC, BIC",
            "RFC 9438; Linux's BIC",
            "the paper's were probably those of the ns-2 patches of the time. Their beta (0.8) and first "
            "ssthresh (100) are a parameter and an option here, tried below; the rest of that code is "
            "not in the registry",
        ],
        [
            "STCP",
            "Reno up to 16 packets",
            "Kelly's own value. At 25 ms a sixth of the path holds fewer, where the pure rule grows "
            "slower than Reno; without it, and with Linux's rule, below",
        ],
        ["LIAD in the orders", "drawn, not ranked", "section 4 of the paper never names it"],
    ]
    return Section(
        "Set-up",
        [
            "The paper leaves the buffer, the sender's options, most lengths and the parameters of the "
            "comparison algorithms open. Each choice has its reason here; the alternatives are in the "
            "last section, those that come nearer to the paper's numbers included. The equal RTTs were "
            "chosen after a first look, which showed the phase effect in runs of NewReno alone."
        ],
        [Table(["What", "Value", "Source or reason"], given)],
    )


def runs_section(base: pl.DataFrame) -> Section:
    """What happened in the runs, by algorithm."""
    rows = []
    for cc in ALGORITHMS:
        start = {
            c: interval(claims.values(base, "start-up", cc, c))
            for c in ("at_30", "used", "overflow", "timeouts")
        }
        lost = [interval(claims.values(base, "loss", cc, "share", per=per)) for per in (LOW, HIGH)]
        waits = [interval(claims.values(base, "loss", cc, "timeouts", per=per)).mean for per in (LOW, HIGH)]
        taken = [interval(claims.reductions(base, rtt, [cc])[claims.label(cc)]) for rtt in (SHORT_S, GEO_S)]
        rows.append(
            [
                claims.label(cc),
                plus_minus(start["at_30"]),
                plain(start["used"].mean),
                f"{start['overflow'].mean:,.0f}",
                plain(start["timeouts"].mean),
                *(f"{plus_minus(m)} ({plain(w)})" for m, w in zip(lost, waits, strict=True)),
                *(plus_minus(m) if cc != "reno" else "-" for m in taken),
            ]
        )
    fair = [
        [
            f"{per * 100:g} %",
            plus_minus(interval(claims.values(base, "intra", "a-liad", "jain", rtt_s=0.1, per=per))),
            plain(interval(claims.values(base, "intra", "a-liad", "used", rtt_s=0.1, per=per)).mean),
            f"{interval(claims.values(base, 'intra', 'a-liad', 'overflow', rtt_s=0.1, per=per)).mean:,.0f}",
        ]
        for per in (NONE, LOW, HIGH)
    ]
    return Section(
        "What the runs did",
        [],
        [
            Table(
                [
                    "Algorithm",
                    "Share in 30 s, %",
                    "link in use, %",
                    "packets dropped",
                    "timeouts",
                    "Share at 0.1 %, % (timeouts)",
                    "at 1 %",
                    "NewReno loses at 25 ms, %",
                    "at 600 ms, %",
                ],
                rows,
                "Means over the seeds, with the half-width of the 95 % interval. The link in use counts "
                "retransmissions and headers, the share only what arrived in order.",
            ),
            Table(
                ["PER", "Jain's index", "Link in use, %", "Packets dropped by the queue"],
                fair,
                "Six A-LIAD flows",
            ),
        ],
    )

"""The page's sections on what the runs did, on the set-up, and on how far the choices decide the verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

import polars as pl

from bentpipe.studies import sensitivity as sensitivity_of
from bentpipe.studies.claim import Claim, interval
from bentpipe.studies.page import plain, plus_minus
from bentpipe.studies.study import Plan, Section, Table, Tally
from bentpipe.studies.tcp_star import claims
from bentpipe.studies.tcp_star.setup import (
    ALGORITHMS,
    BASE,
    BDP,
    BERS,
    COUNTS,
    LOSS,
    MIXED,
    OFTEN,
    ONE_WAY_S,
    RARE,
    RATE_BPS,
    RTOS,
    SAME,
    SHARERS,
    SMALL,
    VARIANTS,
    rto_name,
)

RANK = sensitivity_of.RANK
CAPTION = (
    "Checks that hold, by claim: ✓ reproduced, ~ same order, ✗ not reproduced, - not touched by the choice"
)


@dataclass
class Sensitivity(sensitivity_of.Sensitivity):
    """The claims under the base, and those that each changed choice touches, over the same seeds."""

    def of(self, name: str, claim_id: str) -> Claim | None:
        """A claim under a variant, or under ``"base"``; None if it was not run."""
        found = self.base if name == "base" else self.variants.get(name, [])
        return next((c for c in found if c.id == claim_id), None)

    def compared(self, claim_id: str) -> dict[str, int]:
        """For each variant that touches a claim: how much better (> 0) its verdict is than the base's."""
        base = self.of("base", claim_id)
        assert base is not None
        return {
            name: RANK[other.verdict] - RANK[base.verdict]
            for name in self.variants
            if (other := self.of(name, claim_id)) is not None
        }


def choice(name: str) -> str:
    """What a variant changes, in words."""
    return next(v.choice for v in VARIANTS if v.name == name)


def sensitivity(plan: Plan, runs: pl.DataFrame) -> Sensitivity:
    """The claims evaluated for the base and every variant, over the seeds that the variants have."""
    few = runs.filter(pl.col("seed") <= int(plan.settings["sensitivity_seeds"]))
    names = [v.name for v in VARIANTS if v.name in set(runs["variant"])]

    def of(name: str) -> list[Claim]:
        return claims.evaluate(few.filter(pl.col("variant") == name))

    return Sensitivity(of("base"), {name: of(name) for name in names})


def sensitivity_section(plan: Plan, found: Sensitivity) -> Section:
    """Which verdicts each choice decides, and what the choices do to the main numbers."""
    verdicts: list[list[str | Tally]] = [["as above (base)", *(Tally(c) for c in found.base), "-"]]
    decided: set[str] = set()
    for name in found.variants:
        cells: list[str | Tally] = []
        for key in claims.IDS:
            claim = found.of(name, key)
            cells.append(Tally(claim) if claim else "-")
        changed = [key for key in claims.IDS if found.compared(key).get(name)]
        decided.update(changed)
        verdicts.append([choice(name), *cells, ", ".join(changed) or "none"])
    numbers = [
        ["as above (base)" if name == "base" else choice(name), *_numbers(found, name)]
        for name in ("base", *found.variants)
    ]
    text = (
        "Each row changes one choice and repeats the runs that it touches over "
        f"{plan.settings['sensitivity_seeds']} seeds; the first row is the base over the same seeds, fewer "
        "than the claims above have, so that a small difference may not be told from none. "
        + ("The full run tries more choices. " if len(found.variants) < len(VARIANTS) else "")
        + (
            f"Some choice changes the verdict of {', '.join(sorted(decided))}."
            if decided
            else "No choice tried changes a verdict."
        )
    )
    margins = [f"margin at {claims.at(b)}" for b in BERS[:-1]]
    return Section(
        "How far the choices decide",
        [text],
        [
            Table(["Choice", *claims.IDS, "Verdicts it changes"], verdicts, CAPTION),
            Table(
                [
                    "Choice",
                    *margins,
                    "NewReno full after",
                    "STAR's data again at",
                    "J, STAR - TCP-J",
                    "J, BR - STAR",
                ],
                numbers,
                "TCP-STAR's throughput less the best other's, Mbit/s (S1); time of NewReno to 432 "
                "segments, s (S3); TCP-STAR's restart, s (S4); differences of Jain's index with NewReno at "
                "1e-8, mean over N = 20 to 50 (S5)",
            ),
        ],
    )


def _numbers(found: Sensitivity, name: str) -> list[str]:
    def mean(key: str, index: int) -> str:
        claim = found.of(name, key)
        return plain(claim.checks[index].measured.mean) if claim else "-"

    return [
        *(mean("S1", i) for i in range(len(BERS) - 1)),
        mean("S3", 0),
        mean("S4", 0),
        mean("S5", -3),
        mean("S5", -2),
    ]


def rto_section(plan: Plan, runs: pl.DataFrame) -> Section:
    """What decides claim S4: the least RTO, and AEN."""

    def cells(rto: float, *, aen: bool) -> list[str]:
        at = runs.filter(pl.col("variant") == rto_name(rto, aen=aen))
        restart, timeouts, back, window = (
            fmean(at[c].to_list()) for c in ("restart_s", "timeouts", "recovery_s", "restart_window")
        )
        return [f"{restart:.2f}", f"{timeouts:.1f}", f"{window:.2f}", f"{back:.2f}"]

    rows = [[f"{rto:g} s", *cells(rto, aen=True), *cells(rto, aen=False)] for rto in RTOS]
    return Section(
        "Figure 8: what brings TCP-STAR back",
        [
            "The last ACK sent before the outage reaches the sender at 10.25 s. A probe is answered only "
            "if it reaches the receiver after 12 s, so if the retransmission timeout is more than 1.5 s "
            "(at 1.5 s the short probe comes a millisecond too early, and a full segment just in time). "
            "ns-2.27's least timeout is 1 s, and a steady round trip of 0.52 s gives no more. With a "
            "shorter timeout the first probe goes unanswered, and the paper's own rule then calls for slow "
            "start.",
            "TCP-STAR is back at once all the same, and without AEN too: the first cumulative ACK after the "
            "outage makes LWC set the window to Reno's plus the estimate, and the estimate, which is "
            "smoothed per ACK and not per time, has outlived the silence. What AEN changes is when that "
            "ACK comes, because an unanswered probe does not double the timeout, and that no timeout is "
            "counted once the timeout is long enough.",
        ],
        [
            Table(
                [
                    "Least RTO",
                    "AEN: data again at (s)",
                    "timeouts",
                    "window",
                    "full rate after 12 s +",
                    "no AEN: data again at (s)",
                    "timeouts",
                    "window",
                    "full rate after 12 s +",
                ],
                rows,
                f"TCP-STAR around the outage, means over {plan.settings['sensitivity_seeds']} seeds. Window: "
                "most in flight in the round trip after the restart over that before the outage. Timeouts: "
                "those acted on; an answered probe is none",
            )
        ],
    )


def runs_section(base: pl.DataFrame) -> Section:
    """Tables of the main measures."""
    alone = []
    for ber in BERS:
        for column, what, unit in (
            ("x_mbps", "throughput, Mbit/s", 1),
            ("timeouts", "timeouts", 1),
            ("resent", "segments sent again, %", 100),
            ("rwnd_share", "time held by the receiver's window, %", 100),
        ):
            groups = claims.samples(base, column, LOSS, ber)
            cells = [plus_minus(interval(unit * v for v in groups[claims.label(cc)])) for cc in ALGORITHMS]
            alone.append([f"{claims.at(ber)}: {what}", *cells])
    shared = []
    for part, ber, title in (
        (MIXED, RARE, "with NewReno, BER 1e-8"),
        (MIXED, OFTEN, "with NewReno, BER 1e-6"),
        (SAME, OFTEN, "among themselves, BER 1e-6"),
    ):
        for n in (COUNTS[0], COUNTS[len(COUNTS) // 2], COUNTS[-1]):
            for column, what in (
                ("x_mbps", "throughput per flow, Mbit/s"),
                ("reno_mbps", "of NewReno, Mbit/s"),
                ("queue_drops", "packets lost at the queue"),
            ):
                if column == "reno_mbps" and part == SAME:
                    continue
                groups = claims.samples(base, column, part, ber, n)
                cells = [plus_minus(interval(groups[claims.label(cc)])) for cc in SHARERS]
                shared.append([f"{title}, N = {n}: {what}", *cells])
    return Section(
        "What the runs did",
        [],
        [
            Table(
                ["Mean ± half of the 95 % interval", *(claims.label(cc) for cc in ALGORITHMS)],
                alone,
                "One flow",
            ),
            Table(
                ["Mean ± half of the 95 % interval", *(claims.label(cc) for cc in SHARERS)],
                shared,
                "Many flows",
            ),
        ],
    )


def setup_section(base: pl.DataFrame) -> Section:
    """What the paper gives, what was chosen, and why."""
    bdp = {size: RATE_BPS * 2 * ONE_WAY_S / 8 / size for size in (1448, 1500)}
    first = COUNTS[0]
    lost = fmean(
        base.filter((pl.col("part") == MIXED) & (pl.col("ber") == RARE) & (pl.col("n") == first))[
            "queue_drops"
        ].to_list()
    )
    rows = [
        [
            "Link",
            "10 Mbit/s, 250 ms one way, drop-tail",
            "paper (table 1); one link between all senders and receivers",
        ],
        [
            "Segment",
            "1448 bytes of data and 52 of header, an ACK 52",
            "an ACK of 52 bytes is TCP and IP with the timestamp option, and with it 1448 bytes of data "
            f"fill an Ethernet frame of 1500. The paper's {BDP} segments are the bandwidth-delay product "
            f"of 1448 bytes on the wire ({bdp[1448]:.0f}); with 1500 it is {bdp[1500]:.0f}, and a full "
            "window leaves 15 in the queue. 1448 on the wire is tried below",
        ],
        [
            "Buffers of sender and receiver",
            f"{BDP} segments for one flow, {SMALL} for each of many",
            f"section 4.2 says so of {BDP}. Section 4.3 has a buffer of {SMALL} segments and no congestion "
            f"at N = {first}: that holds if the {SMALL} are those of sender and receiver ({first} x "
            f"{SMALL} = {first * SMALL} segments fit into the link and {first * SMALL - round(bdp[1500])} "
            f"places of its queue; here {lost:.1f} packets are lost at the queue), and cannot hold for "
            f"flows of {BDP} segments over a queue of {SMALL} (tried below)",
        ],
        [
            "Queue of the link",
            f"{BDP} segments",
            "not given otherwise; the paper's start-up at BER 0 is without loss, which a queue of 64 does "
            "not allow NewReno's slow start. 64 is tried below",
        ],
        [
            "Loss recovery",
            "NewReno: RFC 6582; the others: SACK",
            "the paper says nothing of the others. ns-2's NewReno goes to ssthresh when recovery ends "
            "(exit_recovery_fix_ is off); this simulator's (RFC 6582 step 3, option 1) goes to what is in "
            "flight plus one segment and doubles from there, which holds LWC back for seconds after each "
            "loss. SACK recovery has no such limit. Plain NewReno itself is nearly the same with SACK. All "
            "three combinations are tried below",
        ],
        [
            "Delayed ACK",
            "on, 100 ms",
            "section 2.1 counts it as a drawback, figure 7's 8 s need it; ns-2's interval",
        ],
        [
            "Growth",
            "one segment per ACK in slow start, initial window 2",
            "ns-2 of that time (no byte counting, windowInit_ 2); 1 and 10 are tried below",
        ],
        [
            "Timer",
            "least RTO 1 s, granularity 10 ms",
            "ns-2.27 (the least RTO became 0.2 s after it); both varied below",
        ],
        ["Bit errors", "on data only", "section 4.2.1 is the 'data losses case'; on ACKs too is tried below"],
        [
            "ACK outage",
            f"every ACK sent from {10:g} s to {12:g} s is lost, BER 0",
            "paper, read as the time at which ACKs enter the link",
        ],
        [
            "Length of a run",
            "100 s; start-up 20 s, outage 40 s",
            "not in the paper; long enough for a steady state, short enough that the start-up shows at BER "
            "0, as figure 6 does. 30 s and 300 s are tried below",
        ],
        [
            "Start",
            "within the first 0.1 s (one flow) or 1 s (many)",
            "so that seeds differ; not in the paper",
        ],
        [
            "TCP-J, WestwoodBR",
            "reconstructions",
            "neither original could be read; what was decided is in the list of controllers, and "
            "alternatives are tried below",
        ],
    ]
    assert BASE.sockets == BASE.queue == BDP and BASE.shared_sockets == SMALL
    return Section("Set-up", [], [Table(["What", "Value", "Source or reason"], rows)])

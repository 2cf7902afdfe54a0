"""Reasons why claims of the A-LIAD paper do or do not reproduce, and reasons for its set-up."""

from __future__ import annotations

from statistics import fmean

from bentpipe.analysis import a_liad as analysis
from bentpipe.papers.a_liad import claims, figures, setup
from bentpipe.papers.a_liad.claims import LABELS, RANKED
from bentpipe.papers.a_liad.setup import BASE, BDP, GEO_S, HIGH, INTRA_S, LOW, NONE, PAPER, RTTS_S, SHORT_S
from bentpipe.studies.assembly import Assembly, Explanation, Reason
from bentpipe.studies.claim import INDEX_TOLERANCE
from bentpipe.studies.judge import Findings, by_claim, linearity
from bentpipe.studies.page import plain
from bentpipe.studies.places import listed
from bentpipe.studies.study import Section, Table, Tally
from bentpipe.studies.tables import MARKS, choices_section, decision, set_up
from bentpipe.studies.words import Words

WORDS = Words.beside(__file__)


def _mean(
    found: Findings, experiment: str, cc: str, name: str, rtt_s: float = GEO_S, per: float = NONE
) -> float:
    return fmean(claims.values(found.base, experiment, cc, name, rtt_s, per))


def _tried(found: Findings, claim: str, check: int, names: str, unit: str = " %") -> str | None:
    """The value of a check in the base and under each of some choices; None if none of them was run."""
    under = {name: found.sensitivity.mean(name, claim, check) for name in names.split()}
    choices = found.sensitivity.choices
    of_base = found.sensitivity.mean("base", claim, check) or 0.0
    parts = [f"{plain(mean)}{unit} with: {choices[name]}" for name, mean in under.items() if mean is not None]
    return "; ".join([f"{plain(of_base)}{unit} in the base over these seeds", *parts]) if parts else None


def _a1(found: Findings) -> Reason:
    rate = claims.figure_1()
    from_s, bent = 0.05, [rtt / 1e3 for rtt in range(50, 601)]
    while linearity(part := [r for r in bent if r >= from_s], [1 / r for r in part]) < claims.LINEAR:
        from_s += 1e-3
    return WORDS.reason(
        "A1",
        straight=linearity(RTTS_S, rate),
        window=float(analysis.window_at_loss(2.0)),
        gbps=rate[-1] * BASE.wire_bytes * 8 / 1e9,
        first_ms=RTTS_S[0] * 1e3,
        last_ms=RTTS_S[-1] * 1e3,
        from_ms=from_s * 1e3,
        linear=claims.LINEAR,
        first=_mean(found, "fig1", "liad", "mbps", RTTS_S[0], HIGH),
        last=_mean(found, "fig1", "liad", "mbps", RTTS_S[-1], HIGH),
    )


def _a2(found: Findings) -> Reason:
    share = {LABELS[cc]: _mean(found, "start-up", cc, "at_30") for cc in RANKED}
    mine, fast = share[claims.A_LIAD], ("cubic", "bic", "scalable", "highspeed")
    names = "newreno eq6 window-none bounded window-1500 delayed-ack rtt-spread"
    return WORDS.reason(
        "A2",
        mine=mine,
        ahead={name: share[name] - mine for name in (claims.CUBIC, claims.NEWRENO)},
        share=share,
        window=BASE.window_packets(),
        lost={LABELS[cc]: _mean(found, "start-up", cc, "overflow") for cc in fast},
        tried=_tried(found, "A2", 1, names),
    )


def _a3(found: Findings) -> Reason:
    peak = _mean(found, "start-up", "cubic", "exit")
    names = "bounded window-1500 window-none buffer-50 buffer-two rtt-spread"
    return WORDS.reason(
        "A3",
        westwood=_mean(found, "start-up", "westwood", "cuts"),
        cubic=_mean(found, "start-up", "cubic", "cuts"),
        westwood_without=_mean(found, "no-sack", "westwood", "cuts"),
        cubic_without=_mean(found, "no-sack", "cubic", "cuts"),
        peak=peak,
        peak_bdp=peak / BDP,
        tried=_tried(found, "A3", 4, names, ""),
    )


def _a4(found: Findings) -> Reason:
    j, fast, slow = (_mean(found, "intra", "a-liad", c, INTRA_S) for c in ("jain", "flow_6", "flow_1"))
    names = "buffer-50 buffer-two delayed-ack no-sack eq6 at-w-max own-rtts"
    short, detail = WORDS.reason("A4", j=j, fast=fast, slow=slow, tried=_tried(found, "A4", 0, names, ""))
    return short if j < claims.FAIRNESS - INDEX_TOLERANCE else "", detail


def _a5(found: Findings) -> Reason:
    return WORDS.reason(
        "A5",
        first=_mean(found, "rtt", "cubic", "mbps", RTTS_S[0]),
        last=_mean(found, "rtt", "cubic", "mbps", RTTS_S[-1]),
        tried=_tried(found, "A5", 0, "sweep-loss at-w-max", ""),
        tried_cubic=_tried(found, "A5", 1, "sweep-loss", ""),
    )


def _a6(found: Findings) -> Reason:
    low, high = ({cc: _mean(found, "loss", cc, "share", per=per) for cc in RANKED} for per in (LOW, HIGH))
    readings = "eq6 lifetime at-w-max"
    return WORDS.reason(
        "A6",
        low=low,
        high=high,
        at_low=_tried(found, "A6", 0, readings),
        fall=_tried(found, "A6", 1, readings),
        lead=_tried(found, "A6", 2, "westwood westwood-ns2"),
    )


def _a7(found: Findings) -> Reason:
    windows = {LABELS[cc]: _mean(found, "loss", cc, "cwnd", per=LOW) / BDP for cc in RANKED}
    return WORDS.reason("A7", windows=windows)


def _a8(found: Findings) -> Reason:
    cut = {n: fmean(v) for n, v in claims.reductions(found.base, SHORT_S, (*RANKED, "liad")).items()}
    return WORDS.reason(
        "A8",
        cubic=cut[claims.CUBIC],
        liad=cut[claims.LIAD],
        others={n: cut[n] for n in (claims.HSTCP, claims.WESTWOOD, claims.BIC)},
        alpha=float(analysis.alpha(SHORT_S)),
        to_cubic=_tried(found, "A8", 2, "cubic-rfc old-cubic newreno buffer-bdp"),
        to_a_liad=_tried(found, "A8", 1, "eq6 buffer-bdp buffer-two"),
    )


def _a9(found: Findings) -> Reason:
    cut = {n: fmean(v) for n, v in claims.reductions(found.base, GEO_S).items() if n != claims.NEWRENO}
    names = "highspeed-own eq6 lifetime at-w-max buffer-50 buffer-two own-rtts"
    return WORDS.reason(
        "A9",
        three={n: cut[n] for n in (claims.CUBIC, claims.STCP, claims.A_LIAD)},
        order=dict(sorted(cut.items(), key=lambda item: -item[1])),
        less_highspeed=_tried(found, "A9", 3, names),
        less_next=_tried(found, "A9", 4, names),
    )


def _a10(_: Findings) -> Reason:
    return WORDS.reason("A10")


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
    table = Table(["Queue", *OF_THE_QUEUE], lines, f"{MARKS}, over {found.few_seeds} seeds")
    return [Section("One queue does not give all figures", WORDS.paragraphs("One queue"), [table])]


def setup_section() -> Section:
    """The values that the paper gives, and the choices with their reasons."""
    window = BASE.window_packets()
    given = WORDS.block(
        "Set-up",
        setup=setup,
        window=window,
        queued=window - round(BDP),
        few=20 * BASE.wire_bytes * 8 / GEO_S / 1e6,
    )
    return set_up(given, WORDS["About the set-up"])


def _choices(found: Findings) -> Section:
    said = f"Each row changes one choice and repeats the study over {found.few_seeds} seeds; the first row "
    said += f"is the base over the same seeds. {decision(found)}"
    untouched = ". A choice that does not concern a claim leaves its runs as they are."
    return choices_section(found, said, untouched=untouched, numbers=PAPER.numbers)


build = Assembly(
    setup.DESIGN,
    claims.CLAIMS,
    Explanation(by_claim(vars()), PAPER.claims, lists_failing=True),
    listed(WORDS["Figures and tables"], PAPER.figures, vars(figures)),
    sections,
)

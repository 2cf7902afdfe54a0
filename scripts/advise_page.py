"""docs/advise-truth.md: losses of the answers of `bentpipe advise` against the truth, link by link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

import advise_links as links
from advise_judge import FAIR, GOOD, Verdict
from advise_table import GOAL, INTERVAL, Truth

HEAD = (
    "| | link | best that can be had | Mbit/s | answer | Mbit/s | lost | reckless | |",
    "|---|---|---|---|---|---|---|---|---|",
)


def summary(found: Sequence[Verdict]) -> str:
    """The number of answers that are as good as the best."""
    hits = sum(one.hit for one in found)
    doubtful = [one.truth.regret(one.answer.taken) for one in found]
    good, fair = (sum(regret < bound for regret in doubtful) for bound in (GOOD, FAIR))
    return (
        f"**{hits} of {len(found)} are hits.** If the best may be in doubt, {good} lose less than 5 % and "
        f"{fair} less than 15 %."
    )


def _by_set(found: Sequence[Verdict]) -> list[str]:
    """A table with a row for each set, and one for all."""
    ends = list(accumulate(links.SETS, initial=0))
    said = [
        "| links | lose less than 5 % | less than 15 % | worst | reckless |",
        "|---|---:|---:|---:|---:|",
    ]
    for first, end in [*pairwise(ends), (0, ends[-1])]:
        some = [one for one in found if first <= one.drawn.number < end]
        losses = [one.regret for one in some]
        counts = [sum(loss < bound for loss in losses) for bound in (GOOD, FAIR)]
        cells = [
            f"{first} to {end - 1}", *counts, f"{100 * max(losses, default=0.0):.1f} %",
            sum(bool(one.reckless) for one in some),
        ]  # fmt: skip
        said += [f"| {' | '.join(map(str, cells))} |"] if some else []
    return said


def page(table: Mapping[int, Truth], described: Sequence[Verdict], measured: Sequence[Verdict]) -> str:
    """docs/advise-truth.md."""
    seeds = sorted({int(row["seeds"]) for truth in table.values() for row in truth.rows.values()})
    between = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    parts = [
        _TEXT.format(
            count=links.COUNT,
            open=links.OPEN,
            seed=links.SEED,
            truth=links.TRUTH_SEED,
            seeds=between,
            moving=links.MOVING * len(links.SETS),
        ),  # fmt: skip
        *_part("Asked with the link's values", described),
        *_part("Asked with files of ping and iperf3", measured),
    ]
    return "\n".join(parts) + "\n"


def _part(title: str, found: Sequence[Verdict]) -> list[str]:
    if not found:
        return [f"\n## {title}\n", "Not judged with the code as it is now."]
    missed = [miss(one) for one in found if not one.hit]
    return [
        f"\n## {title}\n",
        summary(found),
        "By set:\n",
        *_by_set(found),
        "\nMisses:\n" if missed else "\nThere is no miss.",
        *missed,
        '\n<details markdown="1">\n<summary>Every link</summary>\n',
        *HEAD,
        *(row(one) for one in found),
        "\n</details>",
    ]


def row(one: Verdict) -> str:
    """A row of the table."""
    best, taken = one.best, one.answer.taken
    cells = [
        one.drawn.number, one.drawn.words(), best, _goal(one, best), taken or "none",
        _goal(one, taken) if taken else "-", f"{100 * one.regret:.1f} %",
        "yes" if one.reckless else "no", "hit" if one.hit else "**miss**",
    ]  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def miss(one: Verdict) -> str:
    """A line of the list of misses."""
    best = one.best
    why = [f"it loses {100 * one.regret:.1f} %"] if one.regret >= GOOD else []
    why += [f"it is reckless: {one.reckless}"] if one.reckless else []
    why += [f"the answer calls {best} reckless"] if best in one.answer.flagged else []
    why += [] if one.answer.known else ['the answer begins with "Not yet known"']
    taken = one.answer.taken or "no answer"
    return f"- {one.drawn.number}: {taken} instead of {best}; {'; '.join(why)} (plan {one.answer.plan})"


def _goal(one: Verdict, cc: str) -> str:
    """Mean of the goal and the half of its 95 % interval, Mbit/s."""
    row = one.truth.rows[cc]
    error = INTERVAL * row[GOAL + "_se"] / 1e6
    return f"{row[GOAL] / 1e6:.4g} ± {error if error > 1e-4 else 0:.1g}"


_TEXT = """\
<!-- Written by scripts/advise_truth.py from docs/advise-truth.csv and what `bentpipe advise` answered. -->

# Is the answer of `bentpipe advise` right?

Here are {count} links that nobody chose, what every algorithm does on each, and what the answer loses
against the best. `scripts/advise_truth.py` draws, measures and judges; [advise.md](advise.md) says how an
answer is found.

**The links** are drawn with seed {seed}: rate 0.5 to 25 Mbit/s, round trip 20 to 650 ms, buffer 0.2 to 4
bandwidth-delay products (and 4 packets at least), all log-uniform. A third has no loss, a third independent
losses of 1e-6 to 2e-2, a third bursts (Gilbert and Elliott) of 2 to 30 packets in the mean that lose 1e-5
to 1e-2. Seven in ten queues are drop-tail, the others CoDel, FQ-CoDel, PIE or RED. Half of the links are
alone; a quarter has one to three flows of CUBIC or Reno beside the algorithm's, a quarter a constant rate
of 10 to 50 %, which pauses on half of them. A quarter has two to five flows of the algorithm. {moving}
have the time line of a shipped scenario; those of rain bring rate and losses of their own. There are six
sets of 30. The first was open to whoever worked on `advise` from the beginning; each other was sealed until a
version was done, and open to the work on the next. Links from {open} on were sealed until the answers below
were judged: `judge` takes them with `--sealed` alone.

**The truth** is in [advise-truth.csv](advise-truth.csv): every algorithm on every link, {seeds} seeds
from {truth} on, runs of 60 s, or 100 round trips if those are longer. Each seed has a run of all flows,
 one of one flow beside a CUBIC flow, and one of a file of 2 MB. Of a time line each seed plays
another window; together they lie evenly in it. Nothing of these runs passes through the code that ranks.

**The goal** is goodput in the second half of a run, of all flows of the algorithm together, counted when
data arrives, in order or not. **The best that can be had** has the most of it among those that Linux has
or `bentpipe kernel attach` brings, and that certainly are not reckless: the rules of
[advise.md](advise.md#how-it-is-ranked), with losses at the queue and harm of the second half. Where the 95 %
interval of harm or of losses contains the bound, an algorithm is **in doubt**: the truth does not decide
whether it is reckless. It is not the best then, and who answers with it is not reckless. **Lost** is the
share of the best's goal that the answer does not reach. A **hit** loses less than 5 % and is not reckless.
An answer that cannot be had counts as the best that it names for Linux.

**The questions** are two. One has the link's values. The other has a ping of 30,000 probes and two transfers
by iperf3, one by CUBIC and one by BBR. They are simulated over the link as [choose.md](choose.md) asks for
them. This question has no values, no kind of queue, no time line and no load at a constant rate. Both say how
many flows of the algorithm there will be, and which of others.\
"""

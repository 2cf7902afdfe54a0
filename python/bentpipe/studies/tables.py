"""Tables on the pages of all papers: means of measures, and the influence of the open choices."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bentpipe.studies.claim import Claim, Tally, interval
from bentpipe.studies.design import BASE, Origin
from bentpipe.studies.judge import Findings
from bentpipe.studies.page import plain, plus_minus
from bentpipe.studies.study import Section
from bentpipe.studies.text import Block, Table

#: The first words of the caption of the table of verdicts.
MARKS = "Checks that hold, by claim: ✓ reproduced, ~ same order, ? undecided, ✗ not reproduced"
#: The head of the first column of tables by `means`.
MEAN = "Mean ± half of the 95 % interval"


def means(groups: Mapping[str, Iterable[float]], times: float = 1.0) -> list[str]:
    """A cell for each group: mean and half-width of the 95 % interval of its values times ``times``."""
    return [plus_minus(interval(times * value for value in values)) for values in groups.values()]


def decided(found: Findings) -> list[str]:
    """The claims whose verdict some choice changes, over the seeds that all choices have."""
    changed = {claim_id for name in found.sensitivity.variants for claim_id in _changes(found, name)}
    return [claim.id for claim in found.sensitivity.base if claim.id in changed]


def decision(
    found: Findings,
    some: str = "The choices decide {}; the other verdicts hold under every choice tried.",
    none: str = "No choice tried changes a verdict.",
) -> str:
    """A sentence: ``some`` with the claims whose verdicts the choices decide, or ``none``."""
    changed = ", ".join(decided(found))
    return some.format(changed) if changed else none


def held(found: Findings) -> dict[str, int]:
    """The checks that hold under the base and each choice, of the claims that choices may decide."""
    under = {BASE: found.sensitivity.base, **found.sensitivity.variants}
    return {name: sum(claim.held for claim in _open(found, claims)) for name, claims in under.items()}


class Number(NamedTuple):
    """A column of the second table of choices: the mean of one check of a claim."""

    heading: str
    claim: str
    check: int
    #: The paper's statement on it; if empty, the value that the check compares with.
    paper: str = ""


class Numbers(NamedTuple):
    """The second table of choices."""

    caption: str
    columns: Sequence[Number]
    #: Whether it has a row of the paper's numbers, and a column of the number of checks that hold.
    with_paper: bool = True


def set_up(lines: Sequence[Sequence[str]], said: Sequence[Block] = ()) -> Section:
    """The values that the paper gives, and the choices.

    Args:
        lines: a row for each thing: its name, its value, the source or the reason. The last begins with the
            evidence in brackets, by the names of `Origin`: ``[paper] table 1``, ``[ours] ...``; a row of
            several values has one for each: ``[paper, default] ...``. Without any, the table has no column of
            evidence.
        said: the paragraphs above the table.
    """
    title, head = "Set-up", ["What", "Value", "Source or reason"]
    tags = [re.match(r"\[([a-z, ]+)\] ", words) for *_, words in lines]
    if not any(tags):
        return Section(title, said, [Table(head, lines)])
    evidence = [[Origin[name.strip().upper()] for name in tag[1].split(",")] if tag else [] for tag in tags]
    shown = [
        [what, value, "; ".join(dict.fromkeys(of)), words[tag.end() if tag else 0 :]]
        for (what, value, words), of, tag in zip(lines, evidence, tags, strict=True)
    ]
    every = [one for of in evidence for one in of]
    free = sum(one.free for one in every)
    caption = (
        f"{free} of {len(every)} values are free choices: neither the paper nor its simulator gives them"
    )
    table = Table([*head[:2], "Evidence", head[2]], shown, caption)
    return Section(title, said, [table], free)


def choices_section(
    found: Findings,
    text: str,
    *,
    untouched: str = "",
    numbers: Numbers | None = None,
    title: str = "How far the choices decide",
    changes: str = "Verdicts it changes",
) -> Section:
    """The verdicts that each choice decides, and the effects of the choices on the main numbers.

    Args:
        found: the claims under each choice.
        text: the paragraph above the tables.
        untouched: the end of the first table's caption: the entry where a choice touches no run of a claim.
        numbers: the second table, if there is one.
        title: of the section.
        changes: head of the last column of the first table.
    """
    under = found.sensitivity
    ids = [claim.id for claim in under.base if claim.id in found.open]
    verdicts: list[list[str | Tally]] = []
    for name in (BASE, *(n for n, claims in under.variants.items() if claims)):
        claims = [under.claim(name, claim_id) for claim_id in ids]
        last = "-" if name == BASE else ", ".join(_changes(found, name)) or "none"
        seeds = _seeds(of for of in claims if of)
        verdicts.append([_row_head(found, name), seeds, *(Tally(c) if c else "-" for c in claims), last])
    second = [_numbers(found, numbers)] if numbers else []
    head = ["Choice", "Seeds", *ids, changes]
    return Section(title, [text], [Table(head, verdicts, MARKS + untouched), *second])


def _seeds(claims: Iterable[Claim]) -> str:
    """The seeds under the checks of some claims: ``"4"``, ``"2 to 3"``."""
    seeds = sorted({check.measured.n for claim in claims for check in claim.checks})
    return f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else "".join(map(str, seeds))


def _numbers(found: Findings, of: Numbers) -> Table:
    under, holding, (caption, numbers, with_paper) = found.sensitivity, held(found), of
    lines, last = [], []
    if with_paper:
        last = ["Checks that hold"]
        lines.append(["the paper", *(_printed(found, n) for n in numbers), ""])
    for name in (BASE, *under.variants):
        got = [under.mean(name, n.claim, n.check) for n in numbers]
        total = sum(len(c.counted) for c in _open(found, under.variants.get(name, under.base)))
        cells = ["-" if mean is None else plain(mean) for mean in got]
        share = [f"{holding[name]} / {total}"] if with_paper else []
        lines.append([_row_head(found, name), *cells, *share])
    return Table(["Choice", *(n.heading for n in numbers), *last], lines, caption)


def _printed(found: Findings, number: Number) -> str:
    claim = found.sensitivity.claim(BASE, number.claim)
    assert claim is not None
    return number.paper or plain(float(claim.checks[number.check].paper))


def _row_head(found: Findings, name: str) -> str:
    return "as above (base)" if name == BASE else found.sensitivity.choices[name]


def _open(found: Findings, claims: Iterable[Claim]) -> list[Claim]:
    return [claim for claim in claims if claim.id in found.open]


def _changes(found: Findings, variant: str) -> list[str]:
    """The claims whose verdict a choice changes, whatever is undecided."""
    under = found.sensitivity
    return [c.id for c in _open(found, under.base) if under.compared(c).get(variant)]

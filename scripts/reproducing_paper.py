"""The page of a paper below docs/reproducing/: its figures, its claims check by check, and readings tried."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from reproducing_text import WORDS, each_claim, headed, laid_out, paragraph, safe, table

from bentpipe import studies
from bentpipe.stats import Mean
from bentpipe.studies import show
from bentpipe.studies.claim import TRIED, Verdict, does_not_hold
from bentpipe.studies.design import BASE
from bentpipe.studies.page import interval, least, plain, shown
from bentpipe.studies.places import Kind, Place
from bentpipe.studies.readings import choice
from bentpipe.studies.summary import row
from bentpipe.studies.write import WORDS as FIGURES

#: A figure must not be larger than this, bytes.
LARGEST = 150_000
#: Printed numbers of a figure that its line in the list has, at most.
NUMBERS = 6
#: The beginning of the sentence that lists the checks that fail.
FAILING = does_not_hold([]).rstrip(" .")


class Paper(NamedTuple):
    """A study as ``claims.json`` of all has it, its folder in the run, and where its page goes."""

    study: dict[str, Any]
    run: Path
    mode: str
    to: Path

    @property
    def name(self) -> str:
        """The name of the study."""
        return str(self.study["name"])

    def places(self) -> list[Place]:
        """The figures and tables of the paper; none if the study is of no paper."""
        return list(studies.get(self.name).places()) if self.name in studies.available() else []


def page(paper: Paper, fit: dict[str, Any] | None) -> None:
    """Write the page, its figures and its table of sensitivity."""
    study = paper.study
    size = WORDS.text(
        "A paper's runs",
        runs=study["runs"],
        packets=study["packets"],
        note=safe(study["note"]),
        name=paper.name,
        mode=paper.mode,
        all=paper.to.name,
    )
    paper.to.mkdir(exist_ok=True)
    under = pl.read_parquet(paper.run / "sensitivity.parquet")
    lines = [
        paragraph(safe(study["citation"])),
        "",
        paragraph(size),
        "",
        *figures(paper),
        "## Claims",
        "",
        *claims_table(study),
        *reasons(study),
        *readings(study),
        *searched(fit),
        *sensitivities(paper, under),
    ]
    text = headed(paper.mode, safe(study["title"]), lines)
    (paper.to / f"{paper.name}.md").write_text(text, encoding="utf-8")


def figures(paper: Paper) -> list[str]:
    """The list of the paper's figures and tables, and each that we have."""
    if not (places := paper.places()):
        return []
    rows = [_listed(paper, place) for place in places]
    lines = ["## Figures and tables", "", paragraph(WORDS.text("Figures and tables")), ""]
    lines += table(["in the paper", "what it shows", "here", "printed: ours", "checks that hold"], rows)
    return lines + [line for place in places if place.given for line in _given(paper, place)]


def _listed(paper: Paper, place: Place) -> list[str]:
    """The line of a figure or table in the list."""
    claims = [claim for claim in paper.study["claims"] if claim["id"] in place.claims]
    here = f"[{_title(place)}](#{place.name})" if place.given else safe(place.why)
    holds, counted = place.agreement(claims)
    links = ", ".join(f"[{claim['id']}](#{claim['id'].lower()})" for claim in claims)
    numbers = [
        f"{shown(check['paper'])}: {plain(check['measured'])} {check['unit']}".rstrip()
        for check in place.checks(claims)
        if check["kind"] == "number" and not isinstance(check["paper"], str)
    ]
    some = "; ".join(numbers[:NUMBERS]) + (
        f"; {len(numbers) - NUMBERS} more" if len(numbers) > NUMBERS else ""
    )
    agree = f"{holds} of {counted} ({links})" if counted else links or "none"
    return [_title(place), safe(place.shows), here, safe(some), agree]


def _title(place: Place) -> str:
    return f"ours: {place.number}" if place.kind == Kind.OWN else place.title


def _given(paper: Paper, place: Place) -> list[str]:
    """A figure with its caption, or a table."""
    anchor = [f'<a id="{place.name}"></a>', ""]
    if place.draw is None:
        of = show.show(studies.get(paper.name), [place.kind], place.number, paper.mode, paper.run)
        heads = [name.partition(" (")[0] if name.endswith(")") else name for name in of.data.columns]
        rows = [[safe(cell) for cell in cells] for cells in of.data.iter_rows()]
        return [
            *anchor,
            f"### {safe(of.title.rstrip('.'))}",
            "",
            *table([*map(safe, heads)], rows),
            *laid_out(of.caption),
        ]
    words = json.loads((paper.run / FIGURES).read_text(encoding="utf-8"))["figures"][place.name]
    source, file = paper.run / "figures" / f"{place.name}.svg", f"{paper.name}-{place.name}.svg"
    if (size := source.stat().st_size) > LARGEST:
        raise ValueError(f"{source} has {size:,} bytes, more than {LARGEST:,}")
    shutil.copyfile(source, paper.to / file)
    alt = safe(words["alt"]).replace("[", "(").replace("]", ")")
    return [
        *anchor,
        f"### {safe(words['title'].rstrip('.'))}",
        "",
        f"![{alt}]({file})",
        "",
        *laid_out(words["caption"]),
    ]


def readings(study: dict[str, Any]) -> list[str]:
    """The declared joint readings, and the checks that none of them meets."""
    found = study["readings"]
    if not found:
        return []
    lines = ["### The paper read as a whole", ""]
    rows = [
        [
            safe(of["title"]),
            safe("; ".join(map(choice, of["choices"])) or "as in the set-up"),
            str(of["free"]),
            f"{of['held']} of {of['checks']}",
            each_claim(of),
        ]
        for of in found["readings"]
    ]
    if len(rows) > 1:
        lines += table(["reading", "choices (evidence)", "free choices", "checks that hold", "claims"], rows)
    else:
        lines += [paragraph("No reading but the base is declared."), ""]
    if found["free"] is not None:
        said = f"The base itself has {found['free']} free choices; those of the table come on top of them."
        lines += [paragraph(said), ""]
    if never := found["never"]:
        lines += [WORDS.text("What no reading gives"), ""]
        notes = {claim["id"]: (claim["title"], claim["note"]) for claim in study["claims"]}
        rows = [
            [f"{claim} {safe(notes[claim][0])}", safe(failing), safe(notes[claim][1])]
            for claim, each in never.items()
            for failing in each
        ]
        lines += table(["claim", "check (how many tried)", "why"], rows)
    return lines


def searched(fit: dict[str, Any] | None) -> list[str]:
    """The result of a search over the choices of a study; empty if there was none."""
    if fit is None:
        return []

    def words(of: dict[str, Any]) -> str:
        return safe("; ".join(choice(fit["choices"][name]) for name in of["variants"]) or "the base")

    head = WORDS.text(
        "What a search finds",
        study=fit["study"],
        tried=len(fit["tried"]),
        seeds=fit["seeds"],
        version=fit["version"],
        not_tried=" ".join(fit["not_tried"]),
    )
    few = [[words(of), f"1 to {fit['seeds']}", *_numbers(of)] for of in fit["front"]]
    confirmed = [[words(of), of["seeds"], *_numbers(of)] for of in fit["confirmed"]]
    titles = ["choices (evidence)", "seeds", "free choices", "checks that hold", "claims"]
    return ["### What a search finds", "", paragraph(head), "", *table(titles, few + confirmed)]


def _numbers(of: dict[str, Any]) -> list[str]:
    return [str(of["free"]), f"{of['held']} of {of['checks']}", each_claim(of)]


def claims_table(study: dict[str, Any]) -> list[str]:
    """All claims of a study, a line each."""
    rows = []
    for claim in map(row, study["claims"]):
        cells = [f"{claim.what}: {claim.paper}", claim.measured, claim.verdict, claim.note]
        rows.append([f"[{claim.id}](#{claim.id.lower()}) {safe(claim.title)}", *map(safe, cells)])
    return table(["claim", "the paper", "measured [95 % interval]", "verdict", "note"], rows)


def reasons(study: dict[str, Any]) -> list[str]:
    """Each claim check by check, and why it is or is not reproduced, from the study's own analysis."""
    lines = ["### Each claim, check by check", ""]
    for claim in study["claims"]:
        lines += [
            f'<a id="{claim["id"].lower()}"></a>',
            "",
            *laid_out(
                claim["statement"],
                f"**{claim['id']} {safe(claim['title'])}** ({claim['verdict']}). The paper: ",
            ),
            *checks(claim),
        ]
        if claim["verdict"] == Verdict.REPRODUCED and not claim["detail"]:
            lines += laid_out(f"{claim['note']}.")
        # The table of the checks has those that fail.
        for text in (of for of in claim["detail"] if not of.startswith(FAILING)):
            lines += laid_out(text)
        if claim["tried"]:
            lines += table([head.lower() for head in TRIED], [[*map(safe, row)] for row in claim["tried"]])
    return lines


def checks(claim: dict[str, Any]) -> list[str]:
    """The checks of a claim in a table."""
    rows = []
    for check in claim["checks"]:
        unit = f" {check['unit']}" if check["unit"] else ""
        paper = shown(check["paper"]) + ("" if isinstance(check["paper"], str) else unit)
        middle, high = check["measured"], check["ci95"][1]
        holds = "yes" if check["holds"] else "**no**"
        if check["few_seeds"] and not check["holds"]:
            holds += ", too few seeds"
        if not check["counted"] or claim["verdict"] == Verdict.REFERENCE:
            holds = f"{'yes' if check['holds'] else 'no'}, not counted" + (
                f": {check['basis']}" if not check["counted"] else ""
            )
        what = check["what"] + (f" ({check['remark']})" if check["remark"] else "")
        lowest = least(check["kind"], check["paper"], check["unit"])
        ours = interval(Mean(middle, high - middle, check["n"]), lowest) + unit
        rows.append([safe(what), safe(paper), safe(ours), safe(check["rule"]), holds])
    return table(["check", "the paper", "here [95 % interval]", "rule", "holds"], rows)


def sensitivities(paper: Paper, under: pl.DataFrame) -> list[str]:
    """The open choices of a paper that change a verdict; the values of every check go to a file."""
    file = f"{paper.name}-sensitivity.csv"
    digits = pl.col(pl.Float64).round_sig_figs(5)
    under.with_columns(digits).write_csv(paper.to / file)
    verdicts = under.unique(["variant", "claim"], maintain_order=True)
    base = dict(verdicts.filter(variant=BASE).select("claim", "verdict").iter_rows())
    tried = [v for v in under["variant"].unique(maintain_order=True) if v != BASE]
    rows, decided, deciding = [], set(), 0
    for variant in tried:
        mine = verdicts.filter(variant=variant)
        changes = [
            (claim, few, f"{claim} {base[claim]} -> {verdict}{' (too few seeds)' if few else ''}")
            for claim, verdict, few in mine.select("claim", "verdict", "few_seeds").iter_rows()
            if claim in base and base[claim] != verdict
        ]
        if changes:
            surely = {claim for claim, few, _ in changes if not few}
            decided |= surely
            deciding += bool(surely)
            rows.append([safe(mine["choice"][0]), safe("; ".join(text for *_, text in changes))])
    lines = ["### What the open choices decide", ""]
    order = [claim for claim in base if claim in decided]
    said = (
        f"{deciding} of them change a verdict: of {', '.join(order)}." if order else "None changes a verdict."
    )
    lines.append(paragraph(WORDS.text("What the open choices decide", tried=len(tried), deciding=said)))
    lines += ["", f"What each check measures under each choice: [{file}]({file}).", ""]
    return [*lines, *(table(["choice", "verdicts, base and with it"], rows) if rows else [])]

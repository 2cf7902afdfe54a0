"""Writes docs/reproducing.md from a run of all studies: `scripts/reproducing_md.py OUT [--to FILE]`.

OUT is the folder that `bentpipe study run all --full --out OUT` wrote. Every number, verdict and reason of
the page comes from there, and from what `bentpipe study fit NAME --keep docs/fits` wrote.
"""

import argparse
import json
import re
import sys
import textwrap
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from bentpipe.studies.claim import COUNTED, RULE, Verdict, does_not_hold
from bentpipe.studies.design import AS_PRINTED, BASE, DEFENSIBLE, FITTED
from bentpipe.studies.readings import choice
from bentpipe.studies.summary import count, held, row

PAGE = Path(__file__).parent.parent / "docs" / "reproducing.md"
FITS = PAGE.parent / "fits"
WIDTH = 126

HEADED = (
    "Each paper is read three ways. As printed: its words to the letter. Defensible: the base, unless "
    "another reading is declared so. A base takes what the paper says, then what its own numbers imply, then "
    "the defaults of the simulator that it names, and only then our choice. Fitted: with what a search "
    "found. A choice is free if it is ours or found by a search. "
    "Each cell has the claims that are reproduced / of the same order / not reproduced, and the checks that "
    "hold."
)
HEAD = """\
<!-- Written from a {mode} run of all studies by scripts/reproducing_md.py. Use `make reproducing`. -->

# What reproduces, and what does not

"""
INTRO = (
    "{claims} claims of {papers} papers, checked by repeating the papers' experiments in simulation: "
    "{counts}, each paper read by its base. A claim is one checkable sentence of a paper; it is made of one "
    "or more checks, and its verdict follows from them by rule. Verdicts and numbers on this page come from "
    "the runs, none is typed in."
)
MADE = (
    "Bentpipe {version}, `bentpipe study run all --{mode}`, seeds as given with each paper: equal seeds give "
    "equal runs, on any machine and with any number of workers. `make reproducing` runs the studies and "
    "writes this page again; `make study` writes the same as HTML, with every check, every figure and the "
    "data."
)


def safe(text: str) -> str:
    """Text in which Markdown sees nothing but text."""
    return re.sub(r"([\\`*_<>|])", r"\\\1", " ".join(text.split()))


def paragraph(text: str, indent: str = "") -> str:
    """A paragraph of lines that are not too long, further lines indented."""
    return textwrap.fill(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """The lines of a table."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, *rows)]
    return [lines[0], "|" + "---|" * len(head), *lines[1:], ""]


def counted(study: dict[str, Any], fit: dict[str, Any] | None) -> list[str]:
    """The line of a study in the first table: as printed, defensible, fitted, and the base's free choices."""
    title = f"[{safe(study['title'])}](#{study['name']})"
    declared = {of["name"]: of for of in read(study)}
    base = declared[BASE]
    confirmed = [of for of in fit["confirmed"] if of["variants"]] if fit else []
    fitted = declared.get(FITTED) or next(reversed(confirmed), None)
    free = study["readings"].get("free")
    return [
        title,
        standing(declared[AS_PRINTED]) if AS_PRINTED in declared else "the base",
        standing(declared.get(DEFENSIBLE, base)),
        f"{standing(fitted)}; {fitted['free']} free" if fitted else "not confirmed" if fit else "no search",
        "-" if free is None else str(free),
    ]


def read(study: dict[str, Any]) -> list[dict[str, Any]]:
    """The readings of a study, the base first, which is all that a study without readings has."""
    if declared := study["readings"].get("readings"):
        return list(declared)
    holding, checks = held(study["claims"])
    claims = {
        claim["id"]: {"verdict": claim["verdict"], "tally": "{}/{}".format(*held([claim]))}
        for claim in study["claims"]
    }
    return [{"name": BASE, "free": 0, "choices": [], "held": holding, "checks": checks, "claims": claims}]


def standing(of: dict[str, Any]) -> str:
    """How a reading fares: ``"3 / 2 / 2; 31 of 44"``."""
    verdicts = [claim["verdict"] for claim in of["claims"].values()]
    counts = " / ".join(str(verdicts.count(verdict)) for verdict in COUNTED)
    return f"{counts}; {of['held']} of {of['checks']}"


def each_claim(of: dict[str, Any]) -> str:
    """The claims of a reading with their marks: ``"S1 ✓ 5/5, S2 ✗ 2/6"``."""
    return ", ".join(f"{claim} {found['tally']}" for claim, found in of["claims"].items())


def readings(study: dict[str, Any]) -> list[str]:
    """The declared joint readings, and what none of them gives."""
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
        lines += [
            "What no reading and no single choice gives of those under which the check was run, and why:",
            "",
        ]
        notes = {claim["id"]: (claim["title"], claim["note"]) for claim in study["claims"]}
        for claim, checks in never.items():
            title, note = notes[claim]
            text = f"- **{claim} {safe(title)}**: {safe('; '.join(checks))}. Why: {safe(note)}."
            lines.append(paragraph(text, "  "))
        lines.append("")
    return lines


class Best(NamedTuple):
    """A judged claim, the study it belongs to, and the declared reading under which it fares best."""

    study: dict[str, Any]
    claim: dict[str, Any]
    reading: dict[str, Any]

    @property
    def verdict(self) -> str:
        """The claim's verdict under the reading."""
        return str(self.reading["claims"][self.claim["id"]]["verdict"])

    @property
    def tally(self) -> str:
        """How many of its checks hold there: ``"5/6"``."""
        return str(self.reading["claims"][self.claim["id"]]["tally"]).split()[-1]


def best(studies: list[dict[str, Any]]) -> list[Best]:
    """Each judged claim with its best reading: by verdict, then checks, then the fewest free choices."""

    def rank(of: Best) -> tuple[int, Fraction, int]:
        return COUNTED.index(Verdict(of.verdict)), -Fraction(of.tally), of.reading["free"]

    return [
        min((Best(study, claim, reading) for reading in read(study)), key=rank)
        for study in studies
        for claim in study["claims"]
        if claim["verdict"] != Verdict.REFERENCE
    ]


def every_claim(found: list[Best]) -> list[str]:
    """A line for each claim: the printed value, the base, the best declared reading, one cause."""
    rows = []
    for of in found:
        one, name = row(of.claim), of.reading["name"]
        under = f"{of.verdict}, {of.tally}: {safe(name)}, {of.reading['free']} free"
        rows.append(
            [
                f"[{one.id}](#{of.study['name']}) {safe(one.title)}",
                safe(f"{one.what}: {one.paper}"),
                safe(one.measured),
                one.verdict,
                "as the base" if name == BASE else under,
                of.claim["cause"] or "",
            ]
        )
    titles = ["claim", "the paper", "the base", "verdict", "best declared reading", "why not, in the base"]
    return table(titles, rows)


def union(found: list[Best]) -> str:
    """How many claims some declared reading reproduces, the base or another."""
    verdicts = [of.verdict for of in found]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in COUNTED)
    return (
        f"Each claim under its best declared reading: {counts}. No one reading of a paper gives all of "
        "these; the next table has the readings as a whole."
    )


def example(found: list[Best]) -> list[str]:
    """How to read a row, by the first claim that another reading reproduces and the base does not."""
    some = (of for of in found if of.claim["cause"] and of.verdict == Verdict.REPRODUCED)
    if (of := next(some, None)) is None:
        return []
    one = row(of.claim)
    text = (
        f"**How to read a row.** {one.id} is not met by the base: {safe(one.what)} is {safe(one.paper)} in "
        f"the paper and {safe(one.measured)} here, with its 95 % interval over the seeds. The row shows the "
        "first check that fails. A *reading* is the whole paper read in one way. The reading "
        f"{safe(of.reading['name'])} changes: {safe('; '.join(map(choice, of.reading['choices'])))}. A "
        "choice is *free* if neither the paper, nor its numbers, nor its simulator gives it. The reading has "
        f"{of.reading['free']} of these. Under it every check of {one.id} holds, so it is reproduced. *Same "
        "order* would mean that every order and trend holds and some number does not."
    )
    return [paragraph(text), ""]


def searched(fit: dict[str, Any] | None) -> list[str]:
    """What a search over the choices of a study found; nothing if there was none."""
    if fit is None:
        return []

    def words(of: dict[str, Any]) -> str:
        return safe("; ".join(choice(fit["choices"][name]) for name in of["variants"]) or "the base")

    head = (
        f"`bentpipe study fit {fit['study']}` tried {len(fit['tried'])} combinations of choices with "
        f"{fit['seeds']} seeds each, bentpipe {fit['version']}. {' '.join(fit['not_tried'])} Each row makes "
        "more checks hold than any with fewer free choices. The last rows confirm the best over all seeds "
        "and over others that the search has not seen."
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
        rows.append([f"{claim.id} {safe(claim.title)}", *map(safe, cells)])
    return table(["claim", "the paper", "measured [95 % interval]", "verdict", "note"], rows)


def reasons(study: dict[str, Any]) -> list[str]:
    """What of a study reproduced, what did not, and why, as its own analysis says."""
    good = [c for c in study["claims"] if c["verdict"] == Verdict.REPRODUCED]
    lines = ["### What reproduced", ""]
    if not good:
        lines += ["No claim, by all of its checks.", ""]
    for claim in good:
        text = f"- **{claim['id']} {safe(claim['title'])}.** {safe(claim['note'])}."
        lines.append(paragraph(text, "  "))
    lines += [""] if good else []
    other = (Verdict.REPRODUCED, Verdict.REFERENCE)
    rest = [c for c in study["claims"] if c["verdict"] not in other]
    if rest:
        lines += ["### What did not, and why", ""]
    for claim in rest:
        lines += [
            paragraph(f"**{claim['id']} {safe(claim['title'])}** ({claim['verdict']}). The paper: "
            f"{safe(claim['statement'])}"),
            "",
        ]  # fmt: skip
        failing = does_not_hold(
            check["what"] for check in claim["checks"] if check["counted"] and not check["holds"]
        )
        # The page of a study has a table of the checks, so not every study lists the failing ones again.
        listed = failing in claim["detail"]
        for text in claim["detail"] if listed else [failing, *claim["detail"]]:
            lines += [paragraph(safe(text)), ""]
    return lines


def sensitivities(under: pl.DataFrame) -> list[str]:
    """Which choices that a paper leaves open change a verdict, from the study's table of sensitivity."""
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
    lines.append(
        paragraph(
            f"{len(tried)} choices were tried beside the base, over the same (fewer) seeds. "
            + (
                f"{deciding} of them change a verdict: of {', '.join(order)}."
                if order
                else "None changes a verdict."
            )
        )
    )
    return [*lines, "", *(table(["choice", "verdicts, base and with it"], rows) if rows else [])]


def whole(out: Path, fits: Path) -> str:
    """The page about the run in ``out``, and the searches in ``fits``."""
    found = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    if found["failed"]:
        raise ValueError(f"the run is not complete: {', '.join(f['name'] for f in found['failed'])} failed")
    studies = found["studies"]
    every = [row(claim) for study in studies for claim in study["claims"]]
    counts = ", ".join(f"{n} {verdict}" for verdict, n in count(every).items())
    found_by = {study["name"]: kept(fits / f"{study['name']}.json") for study in studies}
    judged = best(studies)
    titles = ["paper", "as printed", "defensible", "fitted", "free choices of the base"]
    lines = [
        paragraph(INTRO.format(claims=sum(count(every).values()), papers=len(studies), counts=counts)),
        "",
        paragraph(MADE.format(version=found["version"], mode=found["mode"])),
        "",
        *every_claim(judged),
        paragraph(union(judged)),
        "",
        *example(judged),
        paragraph(RULE),
        "",
        "## The papers as a whole",
        "",
        paragraph(HEADED),
        "",
        *table(titles, [counted(study, found_by[study["name"]]) for study in studies]),
    ]
    for study in studies:
        size = (
            f"{study['runs']:,} runs, {study['packets']:,} data packets delivered. {safe(study['note'])} "
            f"`bentpipe study run {study['name']} --{found['mode']}` repeats this study alone."
        )
        under = pl.read_parquet(out / study["name"] / "sensitivity.parquet")
        lines += [
            f'<a id="{study["name"]}"></a>',
            "",
            f"## {safe(study['title'])}",
            "",
            paragraph(safe(study["citation"])),
            "",
            paragraph(size),
            "",
            *claims_table(study),
            *reasons(study),
            *readings(study),
            *searched(found_by[study["name"]]),
            *sensitivities(under),
        ]
    return HEAD.format(mode=found["mode"]) + "\n".join(lines).rstrip("\n") + "\n"


def kept(path: Path) -> dict[str, Any] | None:
    """What a search left; None if there was none."""
    found: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return found


def main() -> int:
    """Writes the page; 1 if the run is not there or not complete."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--to", type=Path, metavar="FILE", default=PAGE)
    parser.add_argument("--fits", type=Path, metavar="DIR", default=FITS)
    given = parser.parse_args()
    try:
        text = whole(given.out, given.fits)
    except (OSError, ValueError) as wrong:
        print(f"{given.out}: {wrong}", file=sys.stderr)
        return 1
    given.to.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

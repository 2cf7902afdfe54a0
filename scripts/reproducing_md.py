"""Writes docs/reproducing.md and docs/reproducing/ from a run: `scripts/reproducing_md.py OUT [--to FILE]`.

OUT is the folder that `bentpipe study run all --full --out OUT` wrote. Every number, verdict and reason of
the page comes from there, and from the files of `bentpipe study fit NAME --keep docs/fits`.
"""

import argparse
import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import reproducing_paper
from reproducing_paper import Paper
from reproducing_text import paragraph, read, safe, table

from bentpipe.studies.claim import COUNTED, RULE, Verdict
from bentpipe.studies.design import AS_PRINTED, BASE, DEFENSIBLE, FITTED
from bentpipe.studies.readings import choice
from bentpipe.studies.summary import count, row
from bentpipe.studies.tolerance import every

PAGE = Path(__file__).parent.parent / "docs" / "reproducing.md"
FITS = PAGE.parent / "fits"

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
TOLERANCES = """\
<!-- Written from the code by scripts/reproducing_md.py. Use `make reproducing`. -->

# The tolerances of the checks

A check compares what was measured with what the paper prints. Where the paper prints no limit, one of these
numbers is it. Each is ours and stands in the code beside its reason (`bentpipe.studies.tolerance`). This page
is written from there. An order needs none: it holds if the 95 % interval of the difference lies above zero.
Limits that a paper prints are not listed.
"""
MADE = (
    "Bentpipe {version}, `bentpipe study run all --{mode}`, seeds as given with each paper: equal seeds give "
    "equal runs, on any machine and with any number of workers. `make reproducing` runs the studies and "
    "writes these pages again; `make study` writes the same as HTML, with every check, every figure and the "
    "data."
)


def counted(study: dict[str, Any], fit: dict[str, Any] | None, below: str) -> list[str]:
    """The line of a study in the first table: as printed, defensible, fitted, and the base's free choices."""
    title = f"[{safe(study['title'])}]({below}/{study['name']}.md)"
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


def standing(of: dict[str, Any]) -> str:
    """The result of a reading: ``"3 / 2 / 2; 31 of 44"``."""
    verdicts = [claim["verdict"] for claim in of["claims"].values()]
    counts = " / ".join(str(verdicts.count(verdict)) for verdict in COUNTED)
    return f"{counts}; {of['held']} of {of['checks']}"


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
        """The number of its checks that hold there: ``"5/6"``."""
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


def every_claim(found: list[Best], below: str) -> list[str]:
    """A line for each claim: the printed value, the base, the best declared reading, one cause."""
    rows = []
    for of in found:
        one, name = row(of.claim), of.reading["name"]
        under = f"{of.verdict}, {of.tally}: {safe(name)}, {of.reading['free']} free"
        rows.append(
            [
                f"[{one.id}]({below}/{of.study['name']}.md#{one.id.lower()}) {safe(one.title)}",
                one.verdict,
                safe(f"{one.what}: {one.paper}"),
                safe(one.measured),
                "as the base" if name == BASE else under,
                of.claim["cause"] or "",
            ]
        )
    titles = ["claim", "verdict", "the paper", "the base", "best declared reading", "why not, in the base"]
    return table(titles, rows)


def union(found: list[Best]) -> str:
    """The number of claims that some declared reading reproduces, the base or another."""
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
    before = (
        f"**How to read a row.** {one.id} is not met by the base: {safe(one.what)} is {safe(one.paper)} in "
        f"the paper and {safe(one.measured)} here, with its 95 % interval over the seeds. The row shows the "
        "first check that fails. A *reading* is the whole paper read in one way. The reading "
        f"{safe(of.reading['name'])} changes:"
    )
    after = (
        "A choice is *free* if neither the paper, nor its numbers, nor its simulator gives it. The reading "
        f"has {of.reading['free']} of these. Under it every check of {one.id} holds, so it is reproduced. "
        "*Same order* would mean that every order and trend holds and some number does not."
    )
    changes = [paragraph(f"- {safe(choice(each))}", "  ") for each in of.reading["choices"]]
    return [paragraph(before), "", *changes, "", paragraph(after), ""]


def whole(out: Path, to: Path, fits: Path) -> str:
    """The first page about the run in ``out`` and the searches in ``fits``; writes the papers' pages."""
    found = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    if found["failed"]:
        raise ValueError(f"the run is not complete: {', '.join(f['name'] for f in found['failed'])} failed")
    studies = found["studies"]
    rows = [row(claim) for study in studies for claim in study["claims"]]
    counts = ", ".join(f"{n} {verdict}" for verdict, n in count(rows).items())
    found_by = {study["name"]: kept(fits / f"{study['name']}.json") for study in studies}
    below = to.with_suffix("")
    for study in studies:
        name = study["name"]
        reproducing_paper.page(Paper(study, out / name, found["mode"], below), found_by[name])
    (below / "tolerances.md").write_text(tolerances(), encoding="utf-8")
    judged = best(studies)
    titles = ["paper", "as printed", "defensible", "fitted", "free choices of the base"]
    lines = [
        paragraph(INTRO.format(claims=sum(count(rows).values()), papers=len(studies), counts=counts)),
        "",
        paragraph(MADE.format(version=found["version"], mode=found["mode"])),
        "",
        *every_claim(judged, below.name),
        paragraph(union(judged)),
        "",
        *example(judged),
        "## The rule",
        "",
        paragraph(f"{RULE} Every tolerance has its reason in [tolerances]({below.name}/tolerances.md)."),
        "",
        "## The papers as a whole",
        "",
        paragraph(HEADED),
        "",
        *table(titles, [counted(study, found_by[study["name"]], below.name) for study in studies]),
    ]
    return HEAD.format(mode=found["mode"]) + "\n".join(lines).rstrip("\n") + "\n"


def tolerances() -> str:
    """The page of every tolerance, from the code."""
    lines = [TOLERANCES]
    for name, some in every().items():
        lines += [f"## {'All papers' if name == 'rule' else name}", ""]
        lines += table(["tolerance", "what it decides", "why this value"], [
            [f"{float(of):g}", safe(of.decides), safe(of.why)] for of in some
        ])  # fmt: skip
    return "\n".join(lines).rstrip("\n") + "\n"


def kept(path: Path) -> dict[str, Any] | None:
    """The result of a search; None if there was none."""
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
        text = whole(given.out, given.to, given.fits)
    except (OSError, ValueError) as wrong:
        print(f"{given.out}: {wrong}", file=sys.stderr)
        return 1
    given.to.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

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

import md
from reproducing_paper import WIDTH, Paper, page, read, safe, table

from bentpipe.studies import PAPERS
from bentpipe.studies.claim import COUNTED, RULE, Verdict
from bentpipe.studies.design import AS_PRINTED, BASE, DEFENSIBLE, FITTED
from bentpipe.studies.page import count, row
from bentpipe.studies.readings import choice
from bentpipe.studies.tolerance import every

PAGE = md.DOCS / "reproducing.md"
FITS = PAGE.parent / "fits"


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


def every_claim(found: list[Best], below: str) -> list[list[str]]:
    """A row for each claim: the printed value, the base, the best declared reading, one cause."""
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
    return rows


def whole(out: Path, to: Path, fits: Path) -> str:
    """The first page about the run in ``out`` and the searches in ``fits``; writes the papers' pages."""
    found = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    if found["failed"]:
        raise ValueError(f"the run is not complete: {', '.join(f['name'] for f in found['failed'])} failed")
    studies = found["studies"]
    rows = [row(claim) for study in studies for claim in study["claims"]]
    found_by = {study["name"]: kept(fits / f"{study['name']}.json") for study in studies}
    below = to.with_suffix("")
    for study in studies:
        name = study["name"]
        page(Paper(study, out / name, found["mode"], below), found_by[name])
    (below / "tolerances.md").write_text(
        md.page("reproducing_tolerances.md", every=every(PAPERS), safe=safe), encoding="utf-8"
    )
    judged = best(studies)
    verdicts = [of.verdict for of in judged]
    some = (of for of in judged if of.claim["cause"] and of.verdict == Verdict.REPRODUCED)
    return md.page(
        "reproducing_page.md",
        WIDTH,
        found=found,
        counts=", ".join(f"{n} {verdict}" for verdict, n in count(one.verdict for one in rows).items()),
        judged=judged,
        claims=every_claim(judged, below.name),
        union=", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in COUNTED),
        # How to read a row, by the first claim that another reading reproduces and the base does not.
        example=next(some, None),
        papers=[counted(study, found_by[study["name"]], below.name) for study in studies],
        below=below.name,
        rule=RULE,
        row=row,
        choice=choice,
        safe=safe,
        table=table,
    )


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

"""Writes docs/reproducing.md from a run of all studies: `scripts/reproducing_md.py OUT [--to FILE]`.

OUT is the folder that `bentpipe study run all --full --out OUT` wrote. Every number, verdict and reason of
the page comes from there.
"""

import argparse
import json
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import polars as pl

from bentpipe.studies import page
from bentpipe.studies.claim import RULE, Verdict, does_not_hold
from bentpipe.studies.summary import count, held, row

PAGE = Path(__file__).parent.parent / "docs" / "reproducing.md"
WIDTH = 126

HEAD = """\
<!-- Written from a {mode} run of all studies by scripts/reproducing_md.py. Use `make reproducing`. -->

# What reproduces, and what does not

"""
INTRO = (
    "{claims} claims of {papers} papers, checked by repeating the papers' experiments in simulation: "
    "{counts}. A claim is one checkable sentence of a paper; it is made of one or more checks, and its "
    "verdict follows from them by rule. Verdicts and numbers on this page come from the runs, none is "
    "typed in."
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


def counted(study: dict[str, Any]) -> list[str]:
    """The line of a study in the first table."""
    verdicts = count([row(claim) for claim in study["claims"]])
    holding, checks = held(study["claims"])
    title = f"[{safe(study['title'])}](#{study['name']})"
    return [title, *map(str, verdicts.values()), f"{holding} of {checks}"]


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
    rest = [c for c in study["claims"] if c["verdict"] != Verdict.REPRODUCED]
    if rest:
        lines += ["### What did not, and why", ""]
    for claim in rest:
        lines += [
            paragraph(f"**{claim['id']} {safe(claim['title'])}** ({claim['verdict']}). The paper: "
            f"{safe(claim['statement'])}"),
            "",
        ]  # fmt: skip
        failing = does_not_hold(check["what"] for check in claim["checks"] if not check["holds"])
        # The page of a study has a table of the checks, so not every study lists the failing ones again.
        listed = failing in claim["detail"]
        for text in claim["detail"] if listed else [failing, *claim["detail"]]:
            lines += [paragraph(safe(text)), ""]
    return lines


def sensitivities(under: pl.DataFrame) -> list[str]:
    """Which choices that a paper leaves open change a verdict, from the study's table of sensitivity."""
    verdicts = under.unique(["variant", "claim"], maintain_order=True)
    base = dict(verdicts.filter(variant="base").select("claim", "verdict").iter_rows())
    tried = [v for v in under["variant"].unique(maintain_order=True) if v != "base"]
    rows, decided = [], set()
    for variant in tried:
        mine = verdicts.filter(variant=variant)
        changes = [
            (claim, f"{claim} {base[claim]} -> {verdict}")
            for claim, verdict in mine.select("claim", "verdict").iter_rows()
            if claim in base and base[claim] != verdict
        ]
        if changes:
            decided |= {claim for claim, _ in changes}
            rows.append([safe(mine["choice"][0]), safe("; ".join(text for _, text in changes))])
    lines = ["### What the open choices decide", ""]
    order = [claim for claim in base if claim in decided]
    lines.append(
        paragraph(
            f"{len(tried)} choices were tried beside the base, over the same (fewer) seeds. "
            + (
                f"{len(rows)} of them change a verdict: of {', '.join(order)}."
                if rows
                else "None changes a verdict."
            )
        )
    )
    return [*lines, "", *(table(["choice", "verdicts, base and with it"], rows) if rows else [])]


def whole(out: Path) -> str:
    """The page about the run in ``out``."""
    found = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    if found["failed"]:
        raise ValueError(f"the run is not complete: {', '.join(f['name'] for f in found['failed'])} failed")
    studies = found["studies"]
    every = [row(claim) for study in studies for claim in study["claims"]]
    counts = ", ".join(f"{n} {verdict}" for verdict, n in count(every).items())
    lines = [
        paragraph(INTRO.format(claims=len(every), papers=len(studies), counts=counts)),
        "",
        paragraph(MADE.format(version=found["version"], mode=found["mode"])),
        "",
        paragraph(RULE),
        "",
        *table(["paper", *page.BADGE, "checks that hold"], [counted(study) for study in studies]),
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
            *sensitivities(under),
        ]
    return HEAD.format(mode=found["mode"]) + "\n".join(lines).rstrip("\n") + "\n"


def main() -> int:
    """Writes the page; 1 if the run is not there or not complete."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--to", type=Path, metavar="FILE", default=PAGE)
    given = parser.parse_args()
    try:
        text = whole(given.out)
    except (OSError, ValueError) as wrong:
        print(f"{given.out}: {wrong}", file=sys.stderr)
        return 1
    given.to.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

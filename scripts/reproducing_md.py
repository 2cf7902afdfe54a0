"""Writes docs/reproducing.md and docs/reproducing/ from a run: `scripts/reproducing_md.py OUT [--to FILE]`.

OUT is the folder that `bentpipe study run all --full --out OUT` wrote. Every number, verdict and reason of
the page comes from there, and from the files of `bentpipe study fit NAME --keep docs/fits`. Each paper has a
page of its own, with its figures, its claims check by check, and the readings that were tried. Without --to
the counts in paper.md and the runs that ship are written, too (`bentpipe.studies.stored`).
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import md
import polars as pl

from bentpipe import _core, studies
from bentpipe.studies import show, stored
from bentpipe.studies.assembly import WORDS as FIGURES
from bentpipe.studies.claim import COUNTED, FAILING, RULE, TOLERANCES, TRIED, Tolerance, Verdict
from bentpipe.studies.combinations import assembly
from bentpipe.studies.design import AS_PRINTED, BASE, DEFENSIBLE, FITTED
from bentpipe.studies.page import count, plain, row, shown, values
from bentpipe.studies.places import Place, PlaceKind
from bentpipe.studies.readings import choice
from bentpipe.studies.summary import held
from bentpipe.studies.text import Block, Items, blocks, from_json

PAGE = md.DOCS / "reproducing.md"
FITS = PAGE.parent / "fits"
PAPER = md.ROOT / "paper.md"
#: Columns of a line.
WIDTH = 126
#: A figure must not be larger than this, bytes.
LARGEST = 200_000
#: Printed numbers of a figure that its line in the list has, at most.
NUMBERS = 6


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
    study, places = paper.study, paper.places()
    paper.to.mkdir(exist_ok=True)
    file = f"{paper.name}-sensitivity.csv"
    under = pl.read_parquet(paper.run / "sensitivity.parquet")
    under.with_columns(pl.col(pl.Float64).round_sig_figs(5)).write_csv(paper.to / file)
    text = md.page(
        "reproducing_paper.md",
        WIDTH,
        study=study,
        mode=paper.mode,
        all=paper.to.name,
        places=[_listed(paper, place) for place in places],
        given=[_given(paper, place) for place in places if place.given],
        claims=claims(study),
        checks=checks,
        reproduced=Verdict.REPRODUCED,
        detail=detail,
        tried=[head.lower() for head in TRIED],
        readings=study["readings"],
        fit=fit,
        version=_core.__version__,
        file=file,
        **readings(study),
        searched=searched(fit),
        sensitivity=sensitivity(under),
        safe=safe,
        laid_out=laid_out,
        table=table,
    )
    (paper.to / f"{paper.name}.md").write_text(text, encoding="utf-8")


def _listed(paper: Paper, place: Place) -> list[str]:
    """The line of a figure or table in the list."""
    claims = [claim for claim in paper.study["claims"] if claim["id"] in place.claims]
    here = f"[{_title(place)}](#{place.name})" if place.given else safe(place.why)
    mine = place.checks(claims)
    links = ", ".join(f"[{claim['id']}](#{claim['id'].lower()})" for claim in claims)
    numbers = [
        f"{shown(check['paper'])}: {plain(check['measured'])} {check['unit']}".rstrip()
        for check in mine
        if check["kind"] == "number" and not isinstance(check["paper"], str)
    ]
    some = "; ".join(numbers[:NUMBERS]) + (
        f"; {len(numbers) - NUMBERS} more" if len(numbers) > NUMBERS else ""
    )
    agree = f"{sum(c['holds'] for c in mine)} of {len(mine)} ({links})" if mine else links or "none"
    return [_title(place), safe(place.shows), here, safe(some), agree]


def _title(place: Place) -> str:
    return f"ours: {place.number}" if place.kind == PlaceKind.OWN else place.title


def _given(paper: Paper, place: Place) -> dict[str, str]:
    """A figure or a table: its name, title, itself, and its caption."""
    if place.draw is None:
        of = show.show(studies.get(paper.name), [place.kind], place.number, paper.mode, paper.run)
        heads = [name.partition(" (")[0] if name.endswith(")") else name for name in of.data.columns]
        shown = table(heads, list(of.data.iter_rows()), safe)
        return {"name": place.name, "title": of.title, "shown": shown, "caption": of.caption}
    words = json.loads((paper.run / FIGURES).read_text(encoding="utf-8"))["figures"][place.name]
    source, file = paper.run / "figures" / f"{place.name}.svg", f"{paper.name}-{place.name}.svg"
    if (size := source.stat().st_size) > LARGEST:
        raise ValueError(f"{source} has {size:,} bytes, more than {LARGEST:,}")
    shutil.copyfile(source, paper.to / file)
    alt = safe(words["alt"]).replace("[", "(").replace("]", ")")
    return {"name": place.name, "shown": f"![{alt}]({file})", **words}


def readings(study: dict[str, Any]) -> dict[str, list[list[str]]]:
    """Rows for the declared joint readings, and for the checks that none of them meets."""
    found = study["readings"]
    rows = [
        [
            safe(of["title"]),
            safe("; ".join(map(choice, of["choices"])) or "as in the set-up"),
            *_numbers(of),
        ]
        for of in found.get("readings", [])
    ]
    notes = {claim["id"]: (claim["title"], claim["note"]) for claim in study["claims"]}
    never = [
        [f"{claim} {safe(notes[claim][0])}", safe(failing), safe(notes[claim][1])]
        for claim, each in found.get("never", {}).items()
        for failing in each
    ]
    return {"whole": rows, "never": never}


def searched(fit: dict[str, Any] | None) -> list[list[str]]:
    """The rows of a search over the choices of a study; none if there was none."""
    if fit is None:
        return []

    def words(of: dict[str, Any]) -> str:
        return safe("; ".join(choice(fit["choices"][name]) for name in of["variants"]) or "the base")

    few = [[words(of), f"1 to {fit['seeds']}", *_numbers(of)] for of in fit["front"]]
    return few + [[words(of), of["seeds"], *_numbers(of)] for of in fit["confirmed"]]


def _numbers(of: dict[str, Any]) -> list[str]:
    """Free choices, checks that hold, and the claims with their marks: ``"S1 ✓ 5/5, S2 ✗ 2/6"``."""
    claims = ", ".join(f"{claim} {found['tally']}" for claim, found in of["claims"].items())
    return [str(of["free"]), f"{of['held']} of {of['checks']}", claims]


def claims(study: dict[str, Any]) -> list[list[str]]:
    """A row for each claim of a study."""
    rows = []
    for claim in map(row, study["claims"]):
        cells = [f"{claim.what}: {claim.paper}", claim.measured, claim.verdict, claim.probability, claim.note]
        rows.append([f"[{claim.id}](#{claim.id.lower()}) {safe(claim.title)}", *map(safe, cells)])
    return rows


def checks(claim: dict[str, Any]) -> list[list[str]]:
    """A row for each check of a claim."""
    rows = []
    for check in claim["checks"]:
        holds = "**no**" if check["outcome"] == "no" else check["outcome"]
        if not check["counted"] or claim["verdict"] == Verdict.REFERENCE:
            holds = f"{check['outcome']}, not counted" + (
                f": {check['basis']}" if not check["counted"] else ""
            )
        what = check["what"] + (f" ({check['remark']})" if check["remark"] else "")
        rows.append([*map(safe, (what, *values(check), check["rule"])), holds])
    return rows


def sensitivity(under: pl.DataFrame) -> dict[str, Any]:
    """How many open choices were tried, those that change a verdict in rows, and the claims of these."""
    verdicts = under.unique(["variant", "claim"], maintain_order=True)
    base = dict(verdicts.filter(variant=BASE).select("claim", "verdict").iter_rows())
    tried = [v for v in under["variant"].unique(maintain_order=True) if v != BASE]
    rows, decided, deciding = [], set(), 0
    for variant in tried:
        mine = verdicts.filter(variant=variant)
        changes = {
            claim: f"{claim} {base[claim]} -> {verdict}"
            for claim, verdict in mine.select("claim", "verdict").iter_rows()
            if claim in base and base[claim] != verdict
        }
        if changes:
            surely = {
                c for c in changes if not {base[c], *mine.filter(claim=c)["verdict"]} & {Verdict.UNDECIDED}
            }
            decided |= surely
            deciding += bool(surely)
            seeds = _span(under.filter(variant=variant)["seeds"])
            rows.append([safe(mine["choice"][0]), seeds, safe("; ".join(changes.values()))])
    order = [claim for claim in base if claim in decided]
    return {"tried": len(tried), "order": order, "deciding": deciding, "rows": rows}


def _span(seeds: pl.Series) -> str:
    """The least and the most seeds: ``"2 to 4"``."""
    least, most = seeds.min(), seeds.max()
    return str(least) if least == most else f"{least!s} to {most!s}"


def safe(text: str) -> str:
    """Text in which Markdown sees nothing but text."""
    return re.sub(r"([\\`*_<>|])", r"\\\1", " ".join(text.split()))


def detail(claim: dict[str, Any]) -> list[Block]:
    """The detail of a claim without the checks that fail, which the table of the checks has."""
    return [block for block in blocks(from_json(claim["detail"])) if not str(block).startswith(FAILING)]


def laid_out(text: Any, lead: str = "") -> str:
    """A text as `as_json` wrote it, or its blocks; ``lead`` is Markdown that comes first."""
    parts = []
    for block in blocks(from_json(text)):
        if isinstance(block, str):
            parts.append(lead + safe(block))
        elif isinstance(block, Items):
            parts += [f"{lead}{safe(block.head)}:", "\n".join(f"- {safe(item)}" for item in block.items)]
        else:
            # One row needs no label.
            first = 0 if any(label for label, *_ in block.rows) else 1
            cells = table(block.header[first:], [list(map(str, row[first:])) for row in block.rows], safe)
            parts += [f"{lead}{safe(block.caption)}:", cells]
        lead = ""
    return "\n\n".join(parts)


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], cell: Callable[[str], str] = lambda text: text
) -> str:
    """A table, whose cells are written by ``cell``."""
    lines = ["| " + " | ".join(map(cell, cells)) + " |" for cells in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


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
    """A judged claim, its study, and its probabilities: under the base, and under what suits it best."""

    study: dict[str, Any]
    claim: dict[str, Any]
    chances: list[dict[str, Any]]

    @property
    def better(self) -> dict[str, Any] | None:
        """The single choice or reading that suits it best; None if that is the base."""
        return self.chances[1] if len(self.chances) > 1 else None

    @property
    def verdict(self) -> str:
        """The claim's verdict there."""
        return str(self.better["verdict"] if self.better else self.claim["verdict"])


def best(done: list[dict[str, Any]]) -> list[Best]:
    """Each judged claim with its probabilities."""
    judged = [(study, claim) for study in done for claim in study["claims"]]
    return [Best(*of, of[1]["probabilities"]) for of in judged if of[1]["verdict"] != Verdict.REFERENCE]


def every_claim(found: list[Best], below: str) -> list[list[str]]:
    """A row for each claim: the printed value, the base, what suits it best, the probabilities, one cause."""
    rows = []
    for of in found:
        one = row(of.claim)
        rows.append(
            [
                f"{_linked(of, below)} {safe(one.title)}",
                safe(f"{one.what}: {one.paper}"),
                safe(f"{one.verdict}: {one.measured}"),
                suited(of),
                "; ".join(map(share, of.chances)) or "-",
                of.claim["cause"] or _open(of.claim),
            ]
        )
    return rows


class Elsewhere(NamedTuple):
    """The claims over the seeds from 1001 on, under the base or what suits them best."""

    #: Those whose verdict there is known, and the reproduced ones of these.
    judged: int
    hold: int
    #: The others of these, each with its verdict, reading and cause, and those whose verdict is not known.
    fail: list[str]
    unknown: list[str]


def elsewhere(found: list[Best], below: str) -> Elsewhere:
    """Counts the claims that are reproduced over the seeds from 1001 on, and names the others."""
    known = [of for of in found if of.chances]
    fail = []
    for of in known:
        if any(under["verdict_from_1001"] == Verdict.REPRODUCED for under in of.chances):
            continue
        under = of.chances[-1]
        where = f" ({safe(under['reading'])})" if of.better else ""
        cause = f": {of.claim['cause']}" if of.claim["cause"] else ""
        fail.append(f"{_linked(of, below)} {under['verdict_from_1001']}{where}{cause}")
    unknown = [_linked(of, below) for of in found if not of.chances]
    return Elsewhere(len(known), len(known) - len(fail), fail, unknown)


def _linked(of: Best, below: str) -> str:
    """The link to a claim on the page of its paper."""
    return f"[{of.claim['id']}]({below}/{of.study['name']}.md#{of.claim['id'].lower()})"


def _open(claim: dict[str, Any]) -> str:
    """What an undecided claim may be: ``"more seeds would tell: same order or not reproduced"``."""
    undecided = claim["verdict"] == Verdict.UNDECIDED
    return f"more seeds would tell: {' or '.join(claim['possible'])}" if undecided else ""


def suited(of: Best) -> str:
    """What suits a claim best: ``"reproduced, 8/8: half-queue, 2 free"``; "-" if nobody has looked for it."""
    if (under := of.better) is None:
        return "as the base" if of.chances else "-"
    return safe("{verdict}, {held}/{checks}: {reading}, {free} free".format(**under))


def share(of: dict[str, Any]) -> str:
    """A probability: ``"97 %"``."""
    return f"{100 * of['reproduced'] / of['sets']:.0f} %"


def complete(out: Path) -> dict[str, Any]:
    """The claims of the run in ``out``.

    Raises:
        OSError: they are not there.
        ValueError: a study failed.
    """
    found: dict[str, Any] = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    if found["failed"]:
        raise ValueError(f"the run is not complete: {', '.join(f['name'] for f in found['failed'])} failed")
    return found


def counts(done: list[dict[str, Any]]) -> str:
    """The paragraph of paper.md on the claims: their verdicts under the base, and over other seeds."""
    judged = best(done)
    reproduced, same_order, undecided, failed = count(str(of.claim["verdict"]) for of in judged).values()
    other = elsewhere(judged, "")
    text = (
        f"Stated rules check their {len(judged)} claims. {reproduced} are reproduced, {same_order} have the "
        f"same order, {failed} are not reproduced, and {undecided} are left undecided by the seeds. With the "
        f"declared choice or reading that suits each best, {other.hold} of {other.judged} are reproduced "
        "over other seeds."
    )
    return textwrap.fill(text, 106)


def whole(out: Path, found: dict[str, Any], to: Path, fits: Path) -> str:
    """The first page about the run in ``out``, whose claims were ``found``; writes the papers' pages.

    Args:
        out: the folder of the run.
        found: as `complete` gives it.
        to: where the page goes.
        fits: the folder of the searches.
    """
    done = found["studies"]
    rows = [row(claim) for study in done for claim in study["claims"]]
    found_by = {study["name"]: kept(fits / f"{study['name']}.json") for study in done}
    below = to.with_suffix("")
    for study in done:
        name = study["name"]
        page(Paper(study, out / name, found["mode"], below), found_by[name])
    (below / "tolerances.md").write_text(
        md.page("reproducing_tolerances.md", every=tolerances(), safe=safe), encoding="utf-8"
    )
    judged = best(done)
    verdicts = [of.verdict for of in judged]
    some = (of for of in judged if of.better and of.verdict == Verdict.REPRODUCED)
    return md.page(
        "reproducing_page.md",
        WIDTH,
        found=found,
        counts=", ".join(f"{n} {verdict}" for verdict, n in count(one.verdict for one in rows).items()),
        judged=judged,
        claims=every_claim(judged, below.name),
        other=elsewhere(judged, below.name),
        union=", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in COUNTED),
        # How to read a row, by the first claim that another reading reproduces and the base does not.
        example=next(some, None),
        papers=[counted(study, found_by[study["name"]], below.name) for study in done],
        below=below.name,
        rule=RULE,
        row=row,
        share=share,
        safe=safe,
        table=table,
    )


def tolerances() -> dict[str, list[Tolerance]]:
    """Those of all papers as ``"rule"``, then those of each study."""
    found = {name: list(assembly(studies.get(name)).limits) for name in studies.available()}
    return {"rule": list(TOLERANCES.values()), **found}


def kept(path: Path) -> dict[str, Any] | None:
    """The result of a search; None if there was none."""
    found: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return found


def main() -> int:
    """Writes the page; 1 if the run is not there or not complete."""
    parser = md.command_line(__doc__)
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--to", type=Path, metavar="FILE", default=PAGE)
    parser.add_argument("--fits", type=Path, metavar="DIR", default=FITS)
    given = parser.parse_args()
    try:
        found = complete(given.out)
        text = whole(given.out, found, given.to, given.fits)
    except (OSError, ValueError) as wrong:
        print(f"{given.out}: {wrong}", file=sys.stderr)
        return 1
    given.to.write_text(text, encoding="utf-8")
    if given.to == PAGE:
        for file, said in md.filled(PAPER, {"claims": counts(found["studies"])}).items():
            file.write_text(said, encoding="utf-8")
        for name in studies.available():
            stored.write(studies.get(name), given.out / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())

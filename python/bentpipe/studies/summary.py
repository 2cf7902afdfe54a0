"""Several studies on one page: all claims with their verdicts, key figures, and links to their pages."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.io.files import replace_text
from bentpipe.pages import Badge, Heading, Hyperlink, Page, Prose
from bentpipe.studies.claim import COUNTED, RULE, Verdict
from bentpipe.studies.job import Failure
from bentpipe.studies.page import CLAIMS, TONE, Row, count, meaning, quick, row
from bentpipe.studies.study import StudyResult

#: What ``claims.json`` has of a study.
OF_A_STUDY = ("name", "title", "citation", "note", "runs", "packets", "claims", "readings")


def held(claims: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """The number of checks of the claims that hold, and their total."""
    judged = [claim for claim in claims if claim["verdict"] != Verdict.REFERENCE]
    checks = [check["holds"] for claim in judged for check in claim["checks"] if check["counted"]]
    return sum(checks), len(checks)


def write(results: Sequence[StudyResult | Failure], out: Path, wall_s: float, taken_over: int) -> Path:
    """Writes ``OUT/index.html`` and ``OUT/claims.json`` for studies whose pages lie below ``out``.

    Args:
        results: the results of the job.
        out: the folder.
        wall_s: its wall-clock time.
        taken_over: number of runs taken over from an earlier job.
    """
    done = [result for result in results if isinstance(result, StudyResult)]
    failures = [result for result in results if isinstance(result, Failure)]
    out.mkdir(parents=True, exist_ok=True)
    replace_text(out / "claims.json", json.dumps(_data(done, failures), indent=1, ensure_ascii=False) + "\n")
    mode = done[0].mode if done else ""
    names = " ".join(shlex.quote(result.name) for result in results)
    rows = {result.name: [row(claim) for claim in result.claims] for result in done}
    claims = [claim for of in rows.values() for claim in of]
    counts = count(claim.verdict for claim in claims)
    page = Page(
        "Studies of published papers",
        lead=f"{sum(counts.values())} claims of {len(done)} papers on TCP over satellite links and its "
        "rivals, each with what was measured when its experiment was repeated in simulation, and a "
        "verdict that follows from stated rules.",
    )
    if mode == "quick":
        quick(page, "It has few seeds, so the intervals are wide")
    for failure in failures:
        page.banner(
            Badge(f"The study {failure.name} failed", "bad"), f" and is not part of this page: {failure.why}"
        )
    page.tally([Badge(f"{n} {name}", TONE[name]) for name, n in counts.items()])
    _papers(page, done, rows, out)
    _all_claims(page, done, rows, out)
    _key_figures(page, done, out)
    page.section("What was run")
    page.command(f"bentpipe study run {names} --{mode}" if mode else f"bentpipe study run {names}")
    page.table(
        ["Study", "Runs", "Data packets delivered", "Processor time, s", "Seeds"],
        [[of.name, of.runs, of.packets, f"{of.cpu_s:.0f}", of.note] for of in done],
        total=[
            "All",
            sum(of.runs for of in done),
            sum(of.packets for of in done),
            f"{sum(of.cpu_s for of in done):.0f}",
            "",
        ],
    )
    before = f", for which {taken_over:,} of the runs were there from earlier" if taken_over else ""
    page.paragraphs(
        [
            f"Mode {mode}; {wall_s:.0f} s of wall time{before}; bentpipe {_core.__version__}. Equal seeds "
            "give equal runs. All verdicts with their checks are in ",
            Hyperlink("claims.json", "claims.json"),
            ".",
        ]
    )
    return page.write(out / "index.html")


def _papers(page: Page, done: Sequence[StudyResult], rows: Mapping[str, list[Row]], out: Path) -> None:
    said = meaning(
        [claim for of in done for claim in of.claims],
        "A paper leaves open much that a run needs, which we chose: the page of each study lists these "
        "choices, says why a claim fails where the cause is known, and what other choices would change.",
    )
    page.section("Paper by paper", [said] if said else [])
    table: list[list[Prose]] = []
    for of in done:
        holding, checks = held(of.claims)
        counts = [str(n) for n in count(claim.verdict for claim in rows[of.name]).values()]
        table.append([Hyperlink(of.title, _place(of, out)), *counts, f"{holding} of {checks}"])
    page.table(["Study", *(str(v).capitalize() for v in COUNTED), "Checks that hold"], table)
    page.paragraphs(RULE, small=True)


def _all_claims(page: Page, done: Sequence[StudyResult], rows: Mapping[str, list[Row]], out: Path) -> None:
    page.section("All claims")
    table: list[Sequence[Prose] | Heading] = []
    for of in done:
        there = _place(of, out)
        table.append(Heading(Hyperlink(of.title, there)))
        table += [claim.cells(there) for claim in rows[of.name]]
    page.table(CLAIMS, table)


def _key_figures(page: Page, done: Sequence[StudyResult], out: Path) -> None:
    page.section("Key figures")
    for of in done:
        there = _place(of, out)
        page.section(of.title, level=3)
        page.paragraphs(of.citation, small=True)
        for title, alt, svg in of.previews:
            page.figure(svg, alt=alt, title=title, href=f"{there}#{svg.stem}")


def _place(of: StudyResult, out: Path) -> str:
    """The page of a study, seen from the page of all."""
    return of.page.relative_to(out).as_posix()


def _data(done: Sequence[StudyResult], failures: Sequence[Failure]) -> dict[str, Any]:
    """The contents of ``claims.json``: the same for equal runs, however long they took."""
    return {
        "schema": 1,
        "version": _core.__version__,
        "mode": done[0].mode if done else None,
        "studies": [{key: getattr(result, key) for key in OF_A_STUDY} for result in done],
        "failed": [{"name": failure.name, "why": failure.why} for failure in failures],
    }

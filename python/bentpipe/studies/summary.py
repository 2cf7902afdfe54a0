"""Several studies on one page: all claims with their verdicts, key figures, and links to their pages."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.stats import Mean
from bentpipe.studies import page
from bentpipe.studies.claim import COUNTED, RULE, Verdict
from bentpipe.studies.job import Failure
from bentpipe.studies.study import StudyResult
from bentpipe.studies.write import save_text


@dataclass(frozen=True)
class Row:
    """A claim in one line of a table; every cell is text."""

    id: str
    title: str
    what: str
    paper: str
    measured: str
    verdict: str
    note: str


def row(claim: Mapping[str, Any]) -> Row:
    """The line of a claim as ``claims.json`` has it: its first check, its verdict and its note."""
    head = claim["checks"][0]
    unit = f" {head['unit']}" if head["unit"] else ""
    middle = head["measured"]
    measured = Mean(middle, head["ci95"][1] - middle, head["n"])
    return Row(
        id=claim["id"],
        title=claim["title"],
        what=head["what"],
        paper=page.shown(head["paper"]) + (unit if not isinstance(head["paper"], str) else ""),
        measured=page.interval(measured) + unit,
        verdict=claim["verdict"],
        note=claim["note"],
    )


def count(claims: Sequence[Row]) -> dict[str, int]:
    """How many claims have each verdict."""
    return {str(verdict): sum(claim.verdict == verdict for claim in claims) for verdict in COUNTED}


def held(claims: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """How many checks of the claims hold, and how many there are."""
    judged = [claim for claim in claims if claim["verdict"] != Verdict.REFERENCE]
    checks = [check["holds"] for claim in judged for check in claim["checks"] if check["counted"]]
    return sum(checks), len(checks)


def write(results: Sequence[StudyResult | Failure], out: Path, wall_s: float, taken_over: int) -> Path:
    """Writes ``OUT/index.html`` and ``OUT/claims.json`` for studies whose pages lie below ``out``.

    Args:
        results: what the job gave.
        out: the folder.
        wall_s: how long it took.
        taken_over: how many runs an earlier job had left.
    """
    done = [result for result in results if isinstance(result, StudyResult)]
    failures = [result for result in results if isinstance(result, Failure)]
    out.mkdir(parents=True, exist_ok=True)
    save_text(out / "claims.json", json.dumps(_data(done, failures), indent=1, ensure_ascii=False) + "\n")
    studies = [_study(result, out) for result in done]
    mode = done[0].mode if done else ""
    names = " ".join(shlex.quote(result.name) for result in results)
    html = (
        page.environment()
        .get_template("summary.html")
        .render(
            studies=studies,
            claims=[claim for study in studies for claim in study["claims"]],
            verdicts=COUNTED,
            failures=failures,
            count=count,
            mode=mode,
            command=f"bentpipe study run {names} --{mode}" if mode else f"bentpipe study run {names}",
            rule=RULE,
            wall_s=wall_s,
            taken_over=taken_over,
            version=_core.version(),
        )
    )
    save_text(out / "index.html", html)
    return out / "index.html"


def _data(done: Sequence[StudyResult], failures: Sequence[Failure]) -> dict[str, Any]:
    """The contents of ``claims.json``: the same for equal runs, however long they took."""
    return {
        "schema": 1,
        "version": _core.version(),
        "mode": done[0].mode if done else None,
        "studies": [
            {
                "name": result.name,
                "title": result.title,
                "citation": result.citation,
                "note": result.note,
                "runs": result.runs,
                "packets": result.packets,
                "claims": result.claims,
                "readings": result.readings,
            }
            for result in done
        ],
        "failed": [{"name": failure.name, "why": failure.why} for failure in failures],
    }


def _study(result: StudyResult, out: Path) -> dict[str, Any]:
    holding, checks = held(result.claims)
    return {
        "name": result.name,
        "title": result.title,
        "citation": result.citation,
        "href": result.page.relative_to(out).as_posix(),
        "note": result.note,
        "runs": result.runs,
        "packets": result.packets,
        "cpu_s": result.cpu_s,
        "claims": [row(claim) for claim in result.claims],
        "held": holding,
        "checks": checks,
        "previews": [
            {"name": svg.stem, "title": title, "alt": alt, "uri": page.embedded(svg)}
            for title, alt, svg in result.previews
        ],
    }

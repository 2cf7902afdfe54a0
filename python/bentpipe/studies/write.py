"""Writes a finished study: figures, data, claims and page."""

from __future__ import annotations

import json
from pathlib import Path

from bentpipe.studies import draw, page
from bentpipe.studies.study import Outcome, Plan, Report, Study, StudyResult


def write(study: Study, plan: Plan, outcome: Outcome, report: Report, out: Path) -> StudyResult:
    """Write ``OUT/index.html``, ``OUT/claims.json``, ``OUT/figures/*`` and ``OUT/*.parquet``."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "figures").mkdir(exist_ok=True)
    files: list[Path] = []
    for fig in report.figures:
        files += draw.save(fig.draw, out / "figures" / fig.name)
        path = out / f"{fig.name}.parquet"
        fig.data.write_parquet(path)
        files.append(path)
    for name, frame in {"runs": outcome.runs, **report.data}.items():
        path = out / f"{name}.parquet"
        frame.write_parquet(path)
        files.append(path)
    claims = [claim.as_dict() for claim in report.claims]
    claims_path = out / "claims.json"
    claims_path.write_text(json.dumps(claims, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    html = page.render(study, plan, outcome, report, out)
    index = out / "index.html"
    index.write_text(html, encoding="utf-8")
    files += [claims_path, index]
    return StudyResult(study.name, study.title, plan.mode, claims, index, files, outcome.wall_s)

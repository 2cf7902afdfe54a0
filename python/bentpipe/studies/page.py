"""The page of a study: one HTML file that holds everything it shows, figures included, and loads nothing."""

from __future__ import annotations

import base64
import math
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from bentpipe.stats import Mean
from bentpipe.studies.claim import COUNTED, RULE, Claim, Verdict
from bentpipe.studies.study import Outcome, Plan, Report, Study

#: Class of the badge of each verdict.
BADGE = {
    str(Verdict.REPRODUCED): "good",
    str(Verdict.SAME_ORDER): "partly",
    str(Verdict.NOT_REPRODUCED): "bad",
    str(Verdict.REFERENCE): "plain",
}


def plain(value: float) -> str:
    """A number for reading: three significant digits, no exponent for ordinary sizes."""
    if not math.isfinite(value):
        return "-"
    return _fixed(value, max(0, 2 - _exponent(value)))


def shown(value: str | float) -> str:
    """Text as it is, numbers as the paper prints them."""
    return value if isinstance(value, str) else f"{value:g}"


def interval(value: Mean) -> str:
    """``"2.31 [2.20, 2.42]"``, with as many decimals as the width of the interval allows."""
    d = _decimals(value)
    return f"{_fixed(value.mean, d)} [{_fixed(value.low, d)}, {_fixed(value.high, d)}]"


def plus_minus(value: Mean) -> str:
    """``"2.31 ± 0.11"``, with as many decimals as the width of the interval allows."""
    d = _decimals(value)
    return f"{_fixed(value.mean, d)} ± {_fixed(value.half_width, d)}"


def _exponent(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value else 0


def _decimals(value: Mean) -> int:
    """Two digits of the half-width, at most five digits of the mean and four decimals.

    None where every seed gave the same whole number.
    """
    if value.half_width == 0 and value.mean == round(value.mean):
        return 0
    wanted = 1 - _exponent(value.half_width) if value.half_width > 0 else 4
    return max(0, min(wanted, 4 - _exponent(value.mean), 4))


def _fixed(value: float, decimals: int) -> str:
    if value and abs(value) < 0.5 * 10**-4:
        return f"{value:.1g}"
    return f"{value:,.{decimals}f}"


def environment() -> Environment:
    """The template environment; everything put into a page is escaped."""
    env = Environment(
        loader=PackageLoader("bentpipe.studies", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(shown=shown, interval=interval)
    env.globals["badge"] = BADGE
    return env


def embedded(path: Path) -> str:
    """The SVG at ``path`` as a data URI."""
    return "data:image/svg+xml;base64," + base64.b64encode(path.read_bytes()).decode("ascii")


def count(claims: list[Claim]) -> dict[str, int]:
    """How many claims have each verdict."""
    return {str(v): sum(c.verdict == v for c in claims) for v in COUNTED}


def render(study: Study, plan: Plan, outcome: Outcome, report: Report, out: Path) -> str:
    """The HTML of the page. Reads the figures' SVG files from ``out``."""
    from bentpipe import _core

    figures: list[dict[str, Any]] = [
        {"figure": f, "uri": embedded(out / "figures" / f"{f.name}.svg")} for f in report.figures
    ]
    return (
        environment()
        .get_template("study.html")
        .render(
            study=study,
            plan=plan,
            outcome=outcome,
            report=report,
            figures=figures,
            count=count(report.claims),
            rule=RULE,
            version=_core.version(),
        )
    )

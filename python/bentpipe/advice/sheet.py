"""The answer on one sheet of paper: headline, figure, table, assumptions (`bentpipe advise --pdf FILE`)."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core, registry
from bentpipe.advice.page import COSTS
from bentpipe.advice.quantities import QUANTITIES
from bentpipe.advice.question import GOALS
from bentpipe.advice.verdict import Advice
from bentpipe.advice.wording import keeping
from bentpipe.machine import extras, linux
from bentpipe.measures import MeasureRow
from bentpipe.registry import unknown
from bentpipe.units import digits

if TYPE_CHECKING:
    from fpdf import FPDF

PAPERS = ("A4", "letter")
"""Formats of paper."""
_SIZES = (9.0, 8.5, 8.0, 7.5, 7.0, 6.5, 6.0, 5.5)
"""Sizes of the text in points: the largest with which all fits one page."""
_BEST, _RECKLESS = 8, 2
"""Rows of the table beside that of CUBIC."""
_MARGIN_MM = 16
_SHOWN = ("queue_p95_s", "loss", "startup_s", "file_s", "harm_cubic")
"""The costs that have a column here."""


def check(paper: str) -> None:
    """Checks that a sheet can be written.

    Raises:
        ScenarioError: there is no such paper size, or the package is missing.
    """
    if paper.lower() not in (name.lower() for name in PAPERS):
        raise _core.ScenarioError(unknown("paper", paper, list(PAPERS)))
    try:
        import fpdf  # noqa: F401
    except ImportError:
        raise extras.missing("--pdf", "fpdf2") from None


def write_sheet(advice: Advice, path: str | Path, paper: str = "A4") -> Path:
    """Writes the answer as a PDF of one page, and returns its path.

    Args:
        advice: the answer.
        path: the file; one that is there is replaced.
        paper: one of `PAPERS`.

    Raises:
        ScenarioError: there is no such paper size, or fpdf2 is not installed.
        OSError: it cannot be written.
    """
    from bentpipe.io.files import replace

    check(paper)
    figure = _figure(advice)
    for size in _SIZES:
        sheet = _sheet(advice, figure, paper, size)
        if sheet.page_no() == 1:
            break
    place = Path(path)
    replace(place, lambda work: sheet.output(str(work)))
    return place


def _sheet(advice: Advice, figure: bytes, paper: str, size: float) -> FPDF:
    """The sheet with text of this size; more than one page if that does not fit."""
    pdf = _blank(paper)
    said = advice.sentences()
    _text(pdf, f"Which congestion control for {advice.question.title}?", 1.7 * size, bold=True)
    pdf.ln(1)
    _text(pdf, said[0], 1.25 * size)
    for sentence in said[1:]:
        _text(pdf, sentence, size)
    pdf.ln(2)
    pdf.image(io.BytesIO(figure), w=pdf.epw, alt_text="Goodput over queueing delay, and harm over goodput.")
    pdf.ln(1)
    _table(pdf, advice, size)
    pdf.ln(2)
    if commands := linux.way(advice.recommended).commands if advice.recommended else []:
        _text(pdf, "To turn it on, as root on the machine that sends", 1.1 * size, bold=True)
        _text(pdf, "\n".join(commands), 0.9 * size)
        pdf.ln(1)
    head, lines = keeping(advice)
    if lines:
        _text(pdf, head, 1.1 * size, bold=True)
        _text(pdf, "\n".join(lines), 0.9 * size)
        pdf.ln(1)
    _text(pdf, "What it rests on", 1.1 * size, bold=True)
    for sentence in advice.assumptions:
        _text(pdf, f"• {sentence}", 0.9 * size)
    pdf.ln(1)
    _text(pdf, f"Repeated exactly by: {advice.command}", 0.9 * size)
    _text(pdf, f"bentpipe {_core.__version__}. Means with 95 % intervals over the seeds.", 0.8 * size)
    return pdf


def _blank(paper: str) -> FPDF:
    """An empty page with the font that figures have as well."""
    from fpdf import FPDF
    from matplotlib import get_data_path

    pdf = FPDF(format=paper.lower())
    pdf.set_margin(_MARGIN_MM)
    pdf.set_auto_page_break(auto=True, margin=_MARGIN_MM)
    fonts = Path(get_data_path(), "fonts", "ttf")
    pdf.add_font("text", "", fonts / "DejaVuSans.ttf")
    pdf.add_font("text", "B", fonts / "DejaVuSans-Bold.ttf")
    pdf.set_title("Which congestion control?")
    pdf.set_creator(f"bentpipe {_core.__version__}")
    pdf.add_page()
    return pdf


def _text(pdf: FPDF, text: str, size: float, *, bold: bool = False) -> None:
    pdf.set_font("text", "B" if bold else "", size)
    pdf.multi_cell(0, size * 0.5, text, new_x="LMARGIN", new_y="NEXT", align="L")


def _table(pdf: FPDF, advice: Advice, size: float) -> None:
    """The best and the reckless algorithms, with their costs."""
    goal = GOALS[advice.question.goal]
    costs = [QUANTITIES[name] for name in COSTS if name in _SHOWN]
    pdf.set_font("text", "", 0.85 * size)
    with pdf.table(
        line_height=0.45 * size, borders_layout="SINGLE_TOP_LINE", text_align="LEFT", padding=0.4,
        col_widths=(2.2, 2.6, 2.6, *(1.5 for _ in costs), 2.2),
    ) as table:  # fmt: skip
        table.row(["Algorithm", goal.column, "Had", *(cost.label for cost in costs), "Reckless by"])
        for row in _rows(advice):
            values = advice.trials[row["cc"]].of(goal.quantity)
            table.row(
                [
                    row["label"] + (" ◀" if row["cc"] == advice.recommended else ""),
                    goal.measure.shown(values) if values else "-",
                    linux.in_a_word(row["cc"]),
                    *(_mean(row, cost) for cost in costs),
                    ", ".join(flag["kind"] for flag in row["flags"]),
                ]
            )


def _rows(advice: Advice) -> list[dict[str, Any]]:
    """The best, CUBIC, and the best of the reckless."""
    rows = advice.final_rows()
    fine = [row for row in rows if not row["flags"]]
    usual = [row for row in fine[_BEST:] if row["cc"] == "cubic"]
    return [*fine[:_BEST], *usual, *[row for row in rows if row["flags"]][:_RECKLESS]]


def _mean(row: dict[str, Any], cost: MeasureRow) -> str:
    value = row[cost.column]
    return "-" if value is None else digits(value["centre"] * cost.factor, 3)


def _figure(advice: Advice) -> bytes:
    """Goodput over queueing delay, and the loss of a CUBIC flow over goodput: a PNG."""
    from matplotlib.figure import Figure

    from bentpipe.plot.looks import encoded

    figure = Figure(figsize=(9.0, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2)
    for row in advice.final_rows():
        style = registry.style(row["cc"])
        for axes, (x, by_x), (y, by_y) in (
            (left, ("queue_p95_s", 1e3), ("goodput_bps", 1e-6)),
            (right, ("goodput_bps", 1e-6), ("harm_cubic", 100.0)),
        ):
            if row[x] is None or row[y] is None:
                continue
            at = row[y]["centre"]
            low, high = (at if row[y][end] is None else row[y][end] for end in ("low", "high"))
            axes.errorbar(
                row[x]["centre"] * by_x, at * by_y, yerr=[[(at - low) * by_y], [(high - at) * by_y]],
                color=style["colour"], marker=style["marker"], linestyle="none", markersize=5, linewidth=0.8,
                label=row["label"],
            )  # fmt: skip
    if not right.has_data():  # a plan may have no runs beside CUBIC
        right.set_visible(False)
    left.set(xlabel="queueing delay (p95), ms", ylabel="goodput, Mbit/s", ylim=(0, None))
    right.set(xlabel="goodput, Mbit/s", ylabel="a CUBIC flow beside it loses, %", ylim=(-2, 102))
    figure.legend(*left.get_legend_handles_labels(), loc="outside right center", fontsize=7, frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.locator_params(axis="x", nbins=4)  # values that hardly differ have long labels
        axes.grid(visible=True, linewidth=0.3)
    return encoded(figure, "png", 220)

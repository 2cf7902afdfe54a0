"""Tables for LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_SIGNS = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"±": r"$\pm$", "²": "$^2$", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"\\": r"\textbackslash{}"}
)


def booktabs(
    title: str, heads: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]], *, left: Sequence[bool]
) -> str:
    """A table with the rules of the package booktabs.

    Args:
        title: the comment in the first line.
        heads: of each column its name and its unit, which may be empty.
        rows: the cells.
        left: whether a column is text, and so at the left.
    """

    def line(cells: Iterable[str]) -> str:
        return " & ".join(cell.translate(_SIGNS).replace("+-", r"$\pm$") for cell in cells) + r" \\"

    names, units = zip(*heads, strict=True)
    columns = "".join("l" if one else "r" for one in left)
    return "\n".join(
        [
            f"% Bentpipe: {title}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            line(names),
            line(units),
            r"\midrule",
            *map(line, rows),
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )

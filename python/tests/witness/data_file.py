"""Lines of the data files in docs/validation: comma-separated, a head line with the units in its names.

The column `verdict` says what came of a row:

* `agrees`: the difference is within the tolerance;
* `repeated`: it is not, and another row repeats the comparison with the rule of the other program;
* `agrees by rule`: with that rule the difference is within the tolerance;
* `open`: it is not, even with that rule, and docs/validation/ns2.md says how far the cause is known;
* `differs`: it is not, and nothing explains it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable


def line(cells: Iterable[str]) -> str:
    """One line without its end; a cell that holds a comma stands in quotation marks."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(list(cells))
    return text.getvalue()


def percent(share: float, digits: int = 1) -> str:
    """A difference as a share of what it is compared with, in per cent and with its sign."""
    return f"{100.0 * share:+.{digits}f}"

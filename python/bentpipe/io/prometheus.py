"""Metrics as Prometheus reads them: a file for the textfile collector of node_exporter.

Prometheus, Exposition formats, text-based format 0.0.4: a HELP and a TYPE line for each metric, then its
samples. The collector reads `*.prom` of one directory, at any time, so a file appears as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bentpipe._core import ScenarioError
from bentpipe.io.files import replace_text, try_place

SUFFIX = ".prom"
"""Of the files that the collector reads."""


@dataclass
class Metric:
    """A metric with its samples.

    Args:
        name: without the prefix "bentpipe_". It ends in its base unit, and that of a counter in "_total".
        about: its HELP line.
        samples: the labels of each, and its value; None is left out.
    """

    name: str
    about: str
    samples: list[tuple[Mapping[str, str], float | None]] = field(default_factory=list)

    def add(self, value: float | None, **labels: str) -> None:
        """Adds a sample."""
        self.samples.append((labels, value))

    def lines(self) -> Iterable[str]:
        """Its lines; none without a value."""
        known = [(labels, value) for labels, value in self.samples if value is not None]
        if not known:
            return
        name = f"bentpipe_{self.name}"
        yield f"# HELP {name} {_escaped(self.about)}"
        yield f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}"
        for labels, value in known:
            pairs = ",".join(f'{key}="{_escaped(text, quotes=True)}"' for key, text in labels.items())
            yield f"{name}{{{pairs}}} {_number(value)}" if pairs else f"{name} {_number(value)}"


def check_place(path: Path) -> None:
    """Checks a file of metrics before the work that it is about.

    Raises:
        ScenarioError: the collector would not read a file of this name.
        OSError: it cannot be written there.
    """
    if path.suffix != SUFFIX:
        raise ScenarioError(f"--prometheus {path}: node_exporter reads names that end in {SUFFIX}")
    try_place(path)


def write(path: Path, metrics: Iterable[Metric]) -> None:
    """Writes the metrics; a reader sees the old file or the new one."""
    replace_text(path, "".join(f"{line}\n" for metric in metrics for line in metric.lines()))
    path.chmod(0o644)  # node_exporter is another user


def _number(value: float) -> str:
    return str(int(value)) if isinstance(value, int) else repr(float(value))


def _escaped(text: str, *, quotes: bool = False) -> str:
    text = text.replace("\\", r"\\").replace("\n", r"\n")
    return text.replace('"', r"\"") if quotes else text

"""Writes docs/plots.md and its figures: every verb of `bentpipe plot` with its picture, by its own commands.

The commands of the page are run as they are printed, in an empty folder. `--check` writes nothing: it runs
them again and reports whether the numbers behind the figures are still those of the page. With `--png DIR`
the figures are also drawn there as pictures, to look at.
"""

import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from md import DOCS, parser, reported

PAGE = DOCS / "plots.md"
FIGURES = DOCS / "plots"
DIGITS = 6

FILES = {
    "sat.toml": """\
duration = "30 s"

[link.sat]
rate = "10 Mbit/s"
delay = "100 ms"
queue = { kind = "drop-tail", limit = "1 bdp" }
loss = { kind = "packet-error", rate = 1e-4 }

[[flow]]
cc = "cubic"
path = ["sat"]
""",
    "two.toml": """\
duration = "60 s"

[link.sat]
rate = "10 Mbit/s"
delay = "50 ms"
queue = { kind = "drop-tail", limit = "1 bdp" }

[[flow]]
cc = "bbr"
path = ["sat"]
start_jitter = "1 s"

[[flow]]
cc = "cubic"
path = ["sat"]
start_jitter = "1 s"
""",
    "late.toml": """\
duration = "60 s"

[link.sat]
rate = "10 Mbit/s"
delay = "50 ms"
queue = { kind = "drop-tail", limit = "1 bdp" }

[[flow]]
cc = "cubic"
path = ["sat"]

[[flow]]
name = "late"
cc = "cubic"
path = ["sat"]
start = "15 s"

[record]
interval = "100 ms"
links = true
""",
}


@dataclass(frozen=True)
class Figure:
    """One figure: its file, its contents, and the commands that draw it."""

    name: str
    about: str
    commands: tuple[str, ...]


OF_SWEEPS = (
    Figure(
        "utilisation",
        "Utilisation of the bottleneck against a loss rate, or another key (`--x`) or measure (`--y`).",
        (
            "bentpipe sweep sat.toml --vary flow.0.cc=cubic,reno,bbr,hybla "
            "--vary 'link.sat.loss.rate={ log = [1e-6, 1e-2], points = 5 }' --seeds 10 --out losses",
            "bentpipe plot utilisation losses -o utilisation.svg",
        ),
    ),
    Figure(
        "throughput-delay",
        "Goodput against the 95th percentile of the queueing delay, which grows to the left. Dots are runs, "
        "markers means, ellipses one standard deviation over the seeds.",
        (
            "bentpipe sweep sat.toml --vary flow.0.cc=cubic,reno,bbr,vegas,copa,star --seeds 10 --out rivals",
            "bentpipe plot throughput-delay rivals -o throughput-delay.svg",
        ),
    ),
    Figure(
        "cdf",
        "The distribution of any column (`--x`) over all flows and runs; of `rtt_s` over the samples of the "
        "traces, if the sweep keeps them. Transfers that did not finish count, so their line ends below 1.",
        (
            "bentpipe sweep sat.toml --vary flow.0.cc=cubic,bbr,hybla "
            '--set \'flow.0.traffic={ kind = "bulk", size = "2 MB" }\' --set link.sat.loss.rate=1e-3 '
            "--seeds 40 --out transfers",
            "bentpipe plot cdf transfers -o cdf.svg",
        ),
    ),
    Figure(
        "heatmap",
        "A measure (`--value`) over two keys, a map for each algorithm on one scale.",
        (
            "bentpipe sweep sat.toml --vary flow.0.cc=cubic,bbr,hybla "
            "--vary link.sat.delay=10ms,50ms,100ms,250ms "
            "--vary 'link.sat.loss.rate={ log = [1e-5, 1e-2], points = 4 }' --seeds 5 --out map",
            "bentpipe plot heatmap map --x link.sat.delay_s --y link.sat.loss.rate -o heatmap.svg",
        ),
    ),
    Figure(
        "heatmap-best",
        "With `--best`: which algorithm is best where. Those that the runs cannot tell from the best one "
        "share the cell.",
        ("bentpipe plot heatmap map --best --x link.sat.delay_s --y link.sat.loss.rate -o heatmap-best.svg",),
    ),
    Figure(
        "friendliness",
        "The share that an algorithm gets beside a competitor, against the size of the buffer.",
        (
            "bentpipe sweep two.toml --vary flow.0.cc=cubic,reno,bbr,vegas,hybla "
            "--vary link.sat.queue.limit=0.25bdp,0.5bdp,1bdp,2bdp,4bdp --seeds 5 --out beside",
            "bentpipe plot friendliness beside -o friendliness.svg",
        ),
    ),
    Figure(
        "fairness",
        "Jain's fairness index against the ratio of the flows' round trips, or any key with `--x`.",
        (
            "bentpipe sweep two.toml --vary 'flow.*.cc=cubic,reno,bbr,hybla' "
            "--vary flow.1.extra_delay=0ms,50ms,100ms,200ms --seeds 5 --out trips",
            "bentpipe plot fairness trips -o fairness.svg",
        ),
    ),
    Figure(
        "completion",
        "Completion time against size. Grey is what no transfer can reach: a round trip and the size at the "
        "link's rate.",
        (
            "bentpipe sweep sat.toml --vary flow.0.cc=cubic,bbr,hybla "
            '--set \'flow.0.traffic={ kind = "bulk", size = "1 MB" }\' '
            "--vary flow.0.traffic.size=20kB,100kB,500kB,2MB,10MB --seeds 10 --out sizes",
            "bentpipe plot completion sizes -o completion.svg",
        ),
    ),
    Figure(
        "against",
        "Any measure against any key: here the 95th percentile of the queueing delay against the buffer.",
        (
            "bentpipe sweep sat.toml --vary flow.0.cc=cubic,bbr,vegas "
            "--vary link.sat.queue.limit=0.5bdp,1bdp,2bdp,4bdp --seeds 10 --out buffers",
            "bentpipe plot against buffers --y queueing_p95_s -o against.svg",
        ),
    ),
)
OF_RESULTS = (
    Figure(
        "goodput",
        "Rates over the shaded capacity. Bytes count when they arrived, so no line exceeds the link's rate.",
        (
            "bentpipe run late.toml --out late",
            "bentpipe plot goodput late -o goodput.svg",
        ),
    ),
    Figure(
        "cwnd",
        "Windows, the data in flight, and the bandwidth-delay product (BDP) with and without the buffer.",
        ("bentpipe plot cwnd late -o cwnd.svg",),
    ),
    Figure(
        "rtt",
        "Round trips over the round trip without queues.",
        ("bentpipe plot rtt late -o rtt.svg",),
    ),
    Figure(
        "queue",
        "The queue of a link, and its drops as ticks below.",
        ("bentpipe plot queue late -o queue.svg",),
    ),
    Figure(
        "convergence",
        "How long a late-comer takes to its fair share.",
        ("bentpipe plot convergence late -o convergence.svg",),
    ),
    Figure(
        "sequence",
        "When each segment was sent, lost and acknowledged. Retransmissions are ticks at any zoom "
        "(`--from`, `--to`).",
        (
            "bentpipe run sat.toml --set link.sat.loss.rate=1e-3 --set record.segments=true --out segments",
            "bentpipe plot sequence segments --from 2 --to 8 -o sequence.png",
        ),
    ),
    Figure(
        "path",
        "Goodput and round trips of several runs over a path that moves, with its capacity and handovers.",
        (
            "bentpipe run leo --cc cubic --set record.interval=200ms --set record.links=true --out cubic",
            "bentpipe run leo --cc bbr --set record.interval=200ms --set record.links=true --out bbr",
            "bentpipe plot path cubic bbr -o path.svg",
        ),
    ),
)

HEAD = """\
<!-- Written by scripts/plots_md.py, which runs these commands. Use `make docs`. -->

# Plots

Each figure is a verb of `bentpipe plot` and a function of `bp.plot` of the same name (`throughput-delay` is
`bp.plot.throughput_delay`, `path` is `bp.plot.over_path`). `bentpipe plot timeline` is in
[timeline.md](timeline.md).

| option | what it does |
|---|---|
| `-o FILE` | the figure: `.svg`, `.pdf` or `.png` |
| `--size SIZE` | `paper` (one column, the default), `page` (both), `screen`, `slide`, or a width: `"12 cm"` |
| `--data FILE` | where the numbers of the figure go, `.csv` or `.parquet`; by default beside it, as CSV |
| `--no-data` | no numbers; `sequence` writes none unless it is given `--data` |
| `--x`, `--y`, `--by` | keys of the axes and the lines, where there is a choice; called as in `DIR/flows` |
| `--where KEY=VALUE` | only runs with this value |

What is common to all:

- An algorithm has one colour and one marker in every figure, which people who see red and green alike can
  tell apart, too. A controller of one's own has a hollow marker, and is never CUBIC's black.
- Lines of sweeps are means over the seeds, bands are 95 % intervals by Student's t
  ([statistics.md](statistics.md)) that stay within what is possible. The foot of each figure says of how
  many runs it is: `n = 1` has no intervals, and runs that are all alike are called that.
- Keys of the sweep that no axis shows become panels, nine at most. Panels side by
  side make a figure of size `paper` as wide as `page`; a width such as `"8.4 cm"` is kept.
- If a sweep lacks the runs of a figure, the message has the line under `[vary]` that adds them.

In Python they take a sweep's directory, its runs, a polars frame of flows, or results:

```python
import bentpipe as bp

figure = bp.plot.utilisation("losses")  # shown by itself in a notebook
figure.data  # its numbers, a polars frame
with bp.plot.sized("slide"):
    bp.plot.save(bp.plot.cdf("transfers", "goodput_bps"), "goodput.pdf", data=True)
```

Settings of matplotlib that you have changed win over those of `bp.plot.RC`. They may be changed in a program,
or in a file `matplotlibrc` in the working directory, which `bentpipe plot` reads, too. A value that equals
matplotlib's own default does not count as changed: write it into `bp.plot.RC`. Labels have their own sizes.

```python
import matplotlib as mpl

mpl.rcParams["font.family"] = "serif"
mpl.rcParams["axes.labelsize"] = 9
figure = bp.plot.utilisation("losses")
figure.axes[0].set_xlabel("packet error rate")  # a figure of matplotlib, whose parts can be changed
bp.plot.save(figure, "losses.pdf")
```

"""


def figure_file(figure: Figure) -> str:
    """The name of the file that the last command writes."""
    words = shlex.split(figure.commands[-1])
    return words[words.index("-o") + 1]


def draw_all(place: Path) -> None:
    """Runs every command of the page in a folder."""
    for name, text in FILES.items():
        (place / name).write_text(text, encoding="utf-8")
    for figure in (*OF_SWEEPS, *OF_RESULTS):
        for command in figure.commands:
            words = [sys.executable, "-m", *shlex.split(command)]
            if figure.name == "sequence" and "plot" in words:
                words += ["--data", "sequence.csv"]
            done = subprocess.run(words, cwd=place, capture_output=True, text=True, env=os.environ)
            if done.returncode:
                sys.exit(f"{command}\n{done.stderr}")


def digest(table: Path) -> str:
    """A fingerprint of the numbers of a figure, whatever the last digits of them."""
    frame = pl.read_csv(table, infer_schema_length=None)
    numbers = [name for name, kind in frame.schema.items() if kind.is_float()]
    text = frame.with_columns(pl.col(numbers).round_sig_figs(DIGITS)).write_csv()
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def section(figure: Figure, place: Path) -> list[str]:
    """The lines on one figure."""
    file = figure_file(figure)
    return [
        f"### {figure.name}",
        "",
        figure.about,
        "",
        "```sh",
        *(wrapped(command) for command in figure.commands),
        "```",
        "",
        f"![{figure.name}](plots/{file})",
        f"<!-- numbers {digest((place / file).with_suffix('.csv'))} -->",
        "",
    ]


def wrapped(command: str) -> str:
    """A command in lines of eighty columns, broken before options."""
    lines, line = [], ""
    for part in command.replace(" --", "\n--").replace(" -o", "\n-o").split("\n"):
        if line and len(line) + len(part) > 78:
            lines.append(line)
            line = "    " + part
        else:
            line = f"{line} {part}" if line else part
    return " \\\n".join([*lines, line])


def page(place: Path) -> str:
    """The whole page."""
    lines = [HEAD + "## Of sweeps\n", "The sweeps below vary these two scenarios.\n"]
    for name in ("sat.toml", "two.toml"):
        lines += [f"```toml\n# {name}\n{FILES[name]}```", ""]
    for figure in OF_SWEEPS:
        lines += section(figure, place)
    lines += ["## Of results\n", "Of runs over time, most of this one:\n"]
    lines += [f"```toml\n# late.toml\n{FILES['late.toml']}```", ""]
    for figure in OF_RESULTS:
        lines += section(figure, place)
    return "\n".join(lines).rstrip("\n") + "\n"


def stale(place: Path) -> list[str]:
    """The parts of the page that do not agree with the runs, one line each."""
    wrong = []
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page(place):
        wrong.append("docs/plots.md does not agree with the runs")
    known = {figure_file(figure) for figure in (*OF_SWEEPS, *OF_RESULTS)}
    there = {file.name for file in FIGURES.glob("*")}
    wrong += [f"docs/plots/{name} is missing" for name in sorted(known - there)]
    wrong += [f"docs/plots/{name} is of no verb" for name in sorted(there - known)]
    return wrong


def write(place: Path) -> None:
    """The page and its figures."""
    FIGURES.mkdir(exist_ok=True)
    for old in FIGURES.glob("*"):
        old.unlink()
    PAGE.write_text(page(place), encoding="utf-8")
    for figure in (*OF_SWEEPS, *OF_RESULTS):
        file = figure_file(figure)
        (FIGURES / file).write_bytes((place / file).read_bytes())


def pictures(place: Path, folder: Path) -> None:
    """Every figure as a picture, in each size."""
    folder.mkdir(parents=True, exist_ok=True)
    for figure in (*OF_SWEEPS, *OF_RESULTS):
        words = shlex.split(figure.commands[-1])[:-2]
        for size in ("paper", "screen"):
            out = folder.resolve() / f"{figure.name}-{size}.png"
            more = [] if figure.name == "sequence" else ["--no-data"]
            command = [sys.executable, "-m", *words, "-o", str(out), "--size", size, *more]
            subprocess.run(command, cwd=place, check=True, capture_output=True)


def main() -> int:
    """Writes or checks the page; 1 if a check fails."""
    asked = parser(__doc__)
    asked.add_argument("--png", type=Path, help="draw the figures as pictures into this folder, too")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        draw_all(place)
        wrong = stale(place) if given.check else []
        if not given.check:
            write(place)
        if given.png is not None:
            pictures(place, given.png)
    return reported(wrong)


if __name__ == "__main__":
    sys.exit(main())

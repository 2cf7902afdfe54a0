"""The page in which the simulator runs in a browser: one HTML file that is opened without a server.

The file holds the simulator as WebAssembly (`crates/web`), the shipped scenarios with their files, the lists
of controllers and queues, and the charts of all other pages. `PARTS` are the page, `WORKER` the threads in
which it simulates. `make web` compiles the module and writes the page.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from bentpipe.presets.shipped import shipped
from bentpipe.registry import controllers, queues
from bentpipe.stats.sample import quantile_of_t

#: The charts: name, label of the vertical axis, title, and caption.
CHARTS = (
    ("goodput", "goodput, Mbit/s", "Goodput.", "What arrives in order, mean over a second or more."),
    ("cwnd", "congestion window, segments", "Congestion window.", "How much a sender may have under way."),
    ("rtt", "smoothed RTT, ms", "Round-trip time.", "As the sender smooths it."),
    ("queue", "queue, packets", "Queue.", "Packets that wait before a link."),
)

#: The scripts of the page, one concept each. They are the body of one function, in this order, so each may
#: use what those before it define, and in its own functions what those after it define.
PARTS = (
    "parts",
    "numbers",
    "state",
    "own",
    "link",
    "thread",
    "run",
    "pool",
    "answer",
    "samples",
    "curves",
    "interval",
    "summary",
    "seeds",
    "slider",
    "schema",
    "form",
    "dropped",
    "links",
    "flows",
    "controls",
    "keys",
    "scenarios",
    "aside",
    "recording",
    "scene",
    "windows",
    "play",
    "picture",
    "downloads",
    "probes",
    "page",
)

#: The scripts of the threads in which it simulates, likewise. Code of the user follows them.
WORKER = ("calls", "worker")


@dataclass(frozen=True)
class FirstScenario:
    """A scenario that a page opens with.

    Attributes:
        name: the name of a shipped scenario, or of a file.
        text: the scenario in TOML.
        files: contents of the files that it names, by the names in the text.
        is_shipped: whether it comes with the package.
    """

    name: str
    text: str
    files: Mapping[str, str]
    is_shipped: bool

    def listed(self) -> dict[str, str]:
        """Its entry in the list of scenarios of a page."""
        path = Path(self.name)
        title = tomllib.loads(self.text).get("title", "a scenario without a title")
        return {"name": path.stem, "file": path.name, "title": title, "about": "", "text": self.text}


@dataclass(frozen=True)
class Exercise:
    """An exercise beside the simulator.

    Attributes:
        text: its HTML. A button with `data-job` does the job of that number.
        jobs: what buttons do: {"open": a scenario, "name": its name, "changes": [[key, value], ...]},
            {"rows": cases, "columns": their keys, "seeds": runs of each}, or {"code": a class in JavaScript
            for the editor}. A case has keys and text.
    """

    text: Markup
    jobs: Sequence[Mapping[str, Any]]


def page(module: bytes, first: FirstScenario | None = None, lab: Exercise | None = None) -> str:
    """The whole page as HTML.

    Args:
        module: the simulator, as `make web` compiles it for wasm32-unknown-unknown.
        first: the scenario that it opens with.
        lab: the exercise beside it.
    """
    from bentpipe.pages.page import (
        blocks,
        framed,
        own,
        packed,
    )  # jinja2, which the list of verbs does without

    sheets = "".join(own(f"templates/{name}.css") for name in ("page", "badge", "table", "chart"))
    # The library of the charts starts before there are figures, so it is not packed.
    shared = [own(f"templates/{name}.js") for name in ("chart", "canvas", "unpack")]
    begin = [own("uplot/uPlot.iife.min.js"), *shared, _own("begin.js")]
    text = framed(
        _own("page.html"),
        title="Bentpipe: TCP over satellite links" if lab is None else "A lab: TCP over a satellite",
        charts=CHARTS,
        lab=None if lab is None else lab.text,
        blocks=blocks(),
        # Ours, and none ends an element of the page.
        style=Markup(sheets + own("uplot/uPlot.min.css") + _own("page.css")),
        script=Markup("\n".join(begin)),
        scripts=packed(_script(lab).encode()),
        worker=Markup("".join(_own(f"{part}.js") for part in WORKER)),
        known=packed(
            json.dumps(
                known(first) | ({} if lab is None else {"lab": lab.jobs}), separators=(",", ":")
            ).encode()
        ),
        module=packed(module),
    )
    return text + "\n"


def known(first: FirstScenario | None = None) -> dict[str, Any]:
    """What the page lists: shipped scenarios with the files that they name, controllers, and queues.

    An own scenario that it opens with is the first of the list.
    """
    presets = shipped()
    beside = sorted({path for preset in presets for path in preset.file.parent.glob("*.csv")})
    own = [] if first is None or first.is_shipped else [first]
    fields = ("name", "kind", "default", "min", "max", "choices", "unit", "about")
    return {
        "version": version("bentpipe"),
        "first": "geo" if first is None else Path(first.name).stem,
        "scenarios": [one.listed() for one in own]
        + [
            {"name": one.name, "title": one.title, "about": one.about, "text": one.file.read_text("utf-8")}
            for one in presets
        ],
        "files": {path.name: path.read_text("utf-8") for path in beside}
        | {name: text for one in own for name, text in one.files.items()},
        "controllers": [
            {key: entry[key] for key in ("id", "label", "about", "colour")}
            | {
                "params": [
                    {key: param[key] for key in fields} for param in entry["params"] if not param["shared"]
                ]
            }
            for entry in controllers()
        ],
        "t": [round(quantile_of_t(n, 0.95), 4) for n in range(2, 51)],
        "queues": [{key: one[key] for key in ("kind", "label", "about")} for one in queues()],
    }


def _script(lab: Exercise | None) -> str:
    """The scripts of the page as one function, which may wait. What starts it is the last."""
    *all_pages, start = PARTS
    parts = "\n".join(_own(f"{part}.js") for part in [*all_pages, *(["lab"] if lab else []), start])
    return f"""(async () => {{\n"use strict";\n{parts}}})();"""


def _own(name: str) -> str:
    """A file of this package."""
    return files("bentpipe.web").joinpath(name).read_text(encoding="utf-8")

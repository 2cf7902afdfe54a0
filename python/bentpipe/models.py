"""The parts of a scenario: links, queues, loss models, link layers, flows, traffic, and what to record.

The classes are made of the JSON Schema of scenarios, whose texts are the comments in crates/sim. The stub
beside this file lists them; `make docs` writes it.

Values carry their unit in a string ("432 packets", "10 s", "1 Mbit/s"); a plain number has none. A key that
is None is left to the core, which fills in the default. Nothing is checked here: a scenario is checked as a
whole by the core, which names the key and what would be right.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from pathlib import Path  # noqa: F401, which the annotations of the classes name
from typing import Any

from bentpipe.document.keys import classes, unions

Steps = Sequence[Sequence[Any]]
"""Instants, and a value from each of them on: [["0 s", "20 ms"], ["15 s", "25 ms"]]."""
_CLASSES = classes(__name__)
globals().update(_CLASSES)
globals().update({name: functools.reduce(operator.or_, of) for name, (_, of) in unions(_CLASSES).items()})
KINDS = {made.kind: made for made in _CLASSES.values() if made.kind is not None}
"""Every class with a kind, by the kind's name in a scenario."""

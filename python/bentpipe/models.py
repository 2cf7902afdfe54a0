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
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path  # noqa: F401, which the annotations of the classes name
from typing import Any

from bentpipe.document import keys
from bentpipe.document.plain import Model

Steps = Sequence[Sequence[Any]]
"""Instants, and a value from each of them on: [["0 s", "20 ms"], ["15 s", "25 ms"]]."""


def __getattr__(name: str) -> Any:
    """A class or a union of classes, made when it is first named: a run needs four of forty."""
    if name in keys.described():
        found: Any = keys.made(name, __name__)
    elif name in keys.unions():
        found = functools.reduce(operator.or_, (_named(each) for each in keys.unions()[name][1]))
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def _named(name: str) -> Any:
    return getattr(sys.modules[__name__], name)


class _Kinds(Mapping[str, type[Model]]):
    """Classes by kind."""

    def __init__(self) -> None:
        self._names = {kind: name for name, (_, kind) in keys.described().items() if kind is not None}

    def __getitem__(self, kind: str) -> type[Model]:
        found: type[Model] = _named(self._names[kind])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


KINDS = _Kinds()
"""Every class with a kind, by the kind's name in a scenario."""

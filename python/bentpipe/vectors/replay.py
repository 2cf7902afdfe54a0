"""Replays test vectors of a congestion controller against another implementation of it.

    bentpipe cc vectors reno -o reno.jsonl
    for step in replay(open("reno.jsonl"), Mine): ...

The implementation is a class. It is made with what `start` gives and the state of the flow. It has a method
for each call that it understands, `ack(flow, given)`, `congestion(flow, given)` and so on. The others are
passed over. `answer()` returns its decision, a dict with some of the keys cwnd, ssthresh, pacing and
deadline_ns.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass
class Answered:
    """A call, what is right after it, and what the other implementation answers."""

    line: int
    sequence: str
    call: str
    flow: dict[str, Any]
    right: dict[str, Any]
    answer: dict[str, Any]

    def differs(self, tolerance: int = 1) -> bool:
        """Whether one of its answers is farther from the right one than this, in bytes."""

        def far(name: str, theirs: Any) -> bool:
            ours = self.right[name]
            if isinstance(theirs, str) or isinstance(ours, str) or None in (theirs, ours):
                return bool(theirs != ours)
            return bool(abs(theirs - ours) > tolerance)

        return any(far(name, theirs) for name, theirs in self.answer.items())


def replay(lines: Iterable[str], make: Callable[[dict[str, Any], dict[str, Any]], Any]) -> Iterator[Answered]:
    """Yields a `Answered` for each line."""
    flow: dict[str, Any] = {}
    right: dict[str, Any] = {}
    theirs: Any = None
    sequence = ""
    for number, text in enumerate(lines, 1):
        line = json.loads(text)
        call, given = line["call"], line.get("given")
        if call == "start":
            flow, right = {}, {}
        flow |= line["flow"]
        right |= line["answer"]
        if call == "start":
            theirs, sequence = make(given, flow), given["sequence"]
        elif hasattr(theirs, call):
            getattr(theirs, call)(flow, given)
        yield Answered(number, sequence, call, dict(flow), dict(right), theirs.answer())

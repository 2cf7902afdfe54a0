"""Ends a run whose controller in Python does not come back from a call.

Such a run cannot be interrupted from within: the simulator waits for the method. A thread looks at the frames
of the run's thread. While the frame of one call is there for longer than the controller's `call_limit_s`, it
raises an exception in it. The run then fails with the place of the endless loop. A call that waits in C code
(`time.sleep`) notices it when that returns. A call that a debugger traces is never ended.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

LIMIT_S = 10.0
"""How long a call may take, unless the class says otherwise."""
_LOOKS = 10
"""Looks at the frames within the limit; one takes microseconds."""


class CallTimeout(TimeoutError):
    """A call of a controller that did not come back."""

    limit_s = LIMIT_S

    def __str__(self) -> str:
        return f"the call did not come back within {self.limit_s:g} s (call_limit_s of the class)"


@contextmanager
def watched(controllers: Iterable[Callable[..., Any]]) -> Iterator[None]:
    """Watches the calls of methods of these classes in this thread."""
    limits = {
        code: float(getattr(one, "call_limit_s", LIMIT_S)) for one in controllers for code in _codes(one)
    }
    if not limits:
        yield
        return
    over = threading.Event()
    threading.Thread(target=_watch, args=(threading.get_ident(), limits, over), daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _codes(made_by: Callable[..., Any]) -> Iterator[CodeType]:
    """The code of a class's methods, those of its bases too; or of a function that makes controllers."""
    for place in (*getattr(made_by, "__mro__", ()), made_by):
        for value in (*vars(place).values(), place):
            code = getattr(getattr(value, "__func__", value), "__code__", None)
            if isinstance(code, CodeType):
                yield code


def _watch(thread: int, limits: dict[CodeType, float], over: threading.Event) -> None:
    seen: FrameType | None = None
    since = 0.0
    while not over.wait(min(1.0, min(limits.values()) / _LOOKS)):
        call, frame = None, sys._current_frames().get(thread)
        while frame is not None:
            call, frame = (frame if frame.f_code in limits else call), frame.f_back
        now = time.monotonic()
        if call is not seen or call is None:
            seen, since = call, now
        elif now - since >= (limit := limits[call.f_code]) and call.f_trace is None:
            kind = type("CallTimeout", (CallTimeout,), {"limit_s": limit})
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind))
            since = now  # again, if the controller catches it
        del call, frame

"""Names of a package that are loaded on first use, and an error that has those that are near a wrong one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import lazy_loader  # type: ignore[import-untyped]


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package whose names are in the stub beside its file.

    Args:
        package: its `__name__`.
        file: its `__file__`.
    """
    load, names, known = lazy_loader.attach_stub(package, file)

    def get(name: str) -> Any:
        if name.startswith("_") or name in known:
            return load(name)
        raise missing(f"module {package!r}", name, known)

    return get, names, known


def missing(owner: str, name: str, known: Iterable[str]) -> AttributeError:
    """The error for an attribute that `owner` does not have; it lists names that are near."""
    from bentpipe import _core

    near = [] if name.startswith("_") else _core.nearest(name, list(known))
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return AttributeError(f"{owner} has no attribute {name!r}{hint}")

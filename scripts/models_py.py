"""Writes the stubs of the classes that python/bentpipe/models.py makes of the JSON Schema of scenarios.

The classes are in models.pyi, and their names in `__init__.pyi`. `--check` reports whether both are up to
date.
"""

import dataclasses
import re
import textwrap
from pathlib import Path

from bentpipe import models
from bentpipe.document import keys
from bentpipe.document.plain import Model
from bentpipe.pages.markdown import rendered

PACKAGE = Path(__file__).parent.parent / "python" / "bentpipe"
MODELS, STUB = PACKAGE / "models.pyi", PACKAGE / "__init__.pyi"
CLASSES = {name: getattr(models, name) for name in keys.described()}


def class_text(made: type[Model]) -> str:
    """The text of a class."""
    frozen = made.__dataclass_params__.frozen  # type: ignore[attr-defined]
    lines = [f'"""{made.__doc__}"""', ""]
    lines += [
        f"{name} = {keys.literal(getattr(made, name))}" for name in ("kind", "carriage") if name in vars(made)
    ]
    by_name = False
    for field in dataclasses.fields(made):
        if field.kw_only and not by_name:
            by_name = True
            lines.append("_: KW_ONLY")
        missing = field.default is dataclasses.MISSING
        lines.append(f"{field.name}: {field.type}" + ("" if missing else f" = {keys.literal(field.default)}"))
    head = "@dataclass(frozen=True)" if frozen else "@dataclass"
    base = made.__mro__[1].__name__
    return f"{head}\nclass {made.__name__}({base}):\n" + textwrap.indent("\n".join(lines), "    ") + "\n"


def stub(text: str) -> str:
    """The text of `__init__.pyi` with the names of all classes."""
    names = [f"from .models import {name} as {name}" for name in sorted(CLASSES)]
    return re.sub(r"(from \.models import .*\n)+", "\n".join(names) + "\n", text, count=1)


def pages() -> dict[Path, str]:
    """Both files."""
    unions = [f'{name} = {" | ".join(of)}\n"""{text}"""\n' for name, (text, of) in keys.unions().items()]
    classes = "\n".join([*map(class_text, CLASSES.values()), *unions])
    text = rendered(Path(__file__).with_suffix(".txt"), classes=classes)
    return {MODELS: text, STUB: stub(STUB.read_text(encoding="utf-8"))}

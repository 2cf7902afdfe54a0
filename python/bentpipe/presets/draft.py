"""The text of a new scenario, with comments on the meaning and the possible values of each key."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from bentpipe import _core
from bentpipe.document.source import Source, find_file
from bentpipe.document.spans import LinkSpec
from bentpipe.presets.shipped import text
from bentpipe.registry import find
from bentpipe.units import seconds, spaced


def draft(
    spec: LinkSpec = LinkSpec(),  # noqa: B008
    *,
    base: str | Path | None = None,
    flows: int | None = None,
    cc: Sequence[str] | None = None,
) -> str:
    """A scenario as text, with comments. `bentpipe run` takes it as it is.

    Args:
        spec: the values of the link in its forward direction. It must have no time line.
        base: a scenario that comes with the package, or a file. Its text is kept except for given values, and
            files that it names get absolute paths. Without it a link `sat` with the values of `geo`.
        flows: how many connections of each algorithm.
        cc: algorithms, a flow for each.

    Raises:
        ScenarioError: a value is wrong, or the base cannot be changed in this way; the message says which.
    """
    if spec.timeline is not None:
        raise _core.ScenarioError("timeline: a new scenario takes none; write it into the file afterwards")
    rate, rtt, buffer = spec.rate, spec.rtt, spec.buffer
    if spec.ber is not None and spec.per is not None:
        raise _core.ScenarioError("--ber and --per say the same thing in two ways; give one of them")
    delay = None if rtt is None else f"{seconds(rtt, '--rtt') / 2 * 1e3:.10g} ms"
    algorithms = None if cc is None else [find(name.strip())["id"] for name in cc]
    given: dict[str, str | None] = {
        "rate": None if rate is None else _quoted(spaced(rate)),
        "delay": None if delay is None else _quoted(delay),
        "queue": None if buffer is None else f'{{ kind = "drop-tail", limit = {_quoted(spaced(buffer))} }}',
        "loss": _loss(spec.ber, spec.per),
    }
    if base is None:
        made = _new(given, buffer, flows, algorithms or ["cubic"])
    else:
        made = _changed(base, given, flows, algorithms)
    try:
        _core.ScenarioText("the new scenario", text=made).load()
    except _core.ScenarioError as error:
        raise _core.ScenarioError(_of_option(str(error))) from None
    return made


def _of_option(message: str) -> str:
    """The message with the option in place of the line and the key, which the user did not write."""
    for key, option in _OPTIONS.items():
        message = re.sub(rf"^the new scenario:\d+: link\.\S+\.{key}: ", f"{option}: ", message)
    return message


_OPTIONS = {"rate": "--rate", r"queue\.limit": "--buffer"}
"""Options that become a value of the scenario as they are, by its key."""


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _loss(ber: float | None, per: float | None) -> str | None:
    if ber is not None:
        return f'{{ kind = "bit-error", rate = {ber!r} }}'
    return None if per is None else f'{{ kind = "packet-error", rate = {per!r} }}'


def _new(given: dict[str, str | None], buffer: str | None, flows: int | None, cc: Sequence[str]) -> str:
    from jinja2 import Template

    rate = given["rate"] or _quoted("10 Mbit/s")
    template = Path(__file__).with_name("draft.toml.jinja").read_text(encoding="utf-8")
    made: str = Template(template, trim_blocks=True, keep_trailing_newline=True).render(
        given=given,
        title=_quoted(f"{' and '.join(cc)} over {json.loads(rate)}"),
        rate=rate,
        buffer=_quoted(spaced(buffer or "1 bdp")),
        names=[_quoted(name) for name in cc],
        count=flows or 1,
    )
    return made


def _changed(
    base: str | Path, given: dict[str, str | None], flows: int | None, cc: Sequence[str] | None
) -> str:
    """The text of `base` with other values of its only link and its only flow."""
    source = Source(base)
    source.load()  # checks it
    table, content = source.raw(), _anchored(text(base), base)
    wanted = {key: value for key, value in given.items() if value is not None}
    if wanted:
        if len(table["link"]) != 1:
            there = " and ".join(table["link"])
            raise _core.ScenarioError(f"{base} has the links {there}; write a file and change it there")
        name, link = next(iter(table["link"].items()))
        for key, value in wanted.items():
            moving = isinstance(link.get(key), list) or (key in ("rate", "delay") and "timeline" in link)
            if moving or (key == "delay" and "satellite" in link):
                raise _core.ScenarioError(
                    f"{base}: link.{name}.{key} is not one value there; write a file and change it there"
                )
            content = _set(content, f"[link.{name}]", key, value)
    if cc is not None or flows is not None:
        if len(table.get("flow", [])) != 1:
            raise _core.ScenarioError(f"{base} has several flows; write a file and change them there")
        if flows is not None:
            content = _set(content, "[[flow]]", "count", str(flows))
        if cc is not None:
            head, mark, flow = content.partition("[[flow]]")
            content = head + "\n".join(_set(mark + flow, mark, "cc", _quoted(name)) for name in cc)
    changed = [key for key, value in {**given, "flows": flows, "cc": cc}.items() if value is not None]
    if changed:
        title = f"{table.get('title', 'a scenario')}; changed: {', '.join(changed)}"
        content = re.sub(r"^title = .*$", lambda _: f"title = {_quoted(title)}", content, count=1, flags=re.M)
    return content


def _set(content: str, section: str, key: str, value: str) -> str:
    """`content` with another value of a key of one line; a comment keeps the old value."""
    lines = content.split("\n")
    first = lines.index(section) + 1
    heads = (i for i in range(first, len(lines)) if re.match(r"\[", lines[i]))
    last = next(heads, len(lines))
    for i in range(first, last):
        if re.match(rf"{key}\s*=", lines[i]):
            before = lines[i].partition("=")[2].strip()
            lines[i] = f"# Instead of {before}:\n{key} = {value}" if before != value else lines[i]
            return "\n".join(lines)
    lines.insert(first, f"{key} = {value}")
    return "\n".join(lines)


def _anchored(content: str, base: str | Path) -> str:
    """`content` with absolute paths in place of those that are relative to the file it comes from."""
    folder = find_file(base).resolve().parent

    def absolute(found: re.Match[str]) -> str:
        return found[1] + _quoted(str(folder / json.loads(found[2])))

    pattern = r'^((?!#)[^#\n]*\b(?:timeline|file|opportunities)\s*=\s*)("[^"\n]*")'
    return re.sub(pattern, absolute, content, flags=re.MULTILINE)

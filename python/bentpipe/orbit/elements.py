"""Files of orbital elements, recognised by their content: TLEs, and OMMs in CSV, JSON, KVN or XML.

Source: CCSDS 502.0-B-3, Orbit Data Messages, section 4 (OMM), and CCSDS 505.0-B-3, XML Specification for
Navigation Data Messages; the files of celestrak.org and of space-track.org, whose `ndm` holds many messages.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.parsers import expat

from bentpipe.io.foreign import content, decoded, refuse
from bentpipe.io.kinds import ELEMENTS, kind

MOST_ELEMENTS = 64 << 20
"""Bytes of a file of elements: all 30,000 objects that are tracked take 25 MB as OMM in JSON."""
_BY_NAME = {".json": "json", ".csv": "csv", ".kvn": "kvn", ".xml": "xml"}
"""Formats of an OMM by the ending of its name, for content that is not recognised; any other is a TLE."""
_MESSAGE = "omm"


def read(file: Path) -> dict[str, Any]:
    """The satellites of a file, as the compiled module takes them.

    Raises:
        ScenarioError: it is a file of another kind, too large, or damaged.
        OSError: it cannot be read.
    """
    text = decoded(file, content(file, MOST_ELEMENTS))
    found = kind(file)
    if found is not None and ELEMENTS not in found.uses:
        refuse(file, None, f"it is {found.words}, no orbital elements; {found.taken_by}")
    known = _BY_NAME.get(file.suffix.lower()) if found is None else found.name.removeprefix("omm-")
    if known in (None, "tle"):
        return {"tle": text, "file": str(file)}
    if known == "xml":
        known, text = "json", _from_xml(file, text)
    return {"omm": text, "format": known, "file": str(file)}


def _from_xml(file: Path, text: str) -> str:
    """The messages of XML as JSON, each on the line of the file where it begins, for messages about it.

    Raises:
        ScenarioError: it is no XML, or declares a document type: nothing of it could be trusted.
    """
    messages: list[tuple[int, dict[str, str]]] = []
    words: list[str] = []
    parser = expat.ParserCreate()

    def begin(name: str, _: object) -> None:
        words.clear()
        if name.rpartition(":")[2] == _MESSAGE:
            messages.append((parser.CurrentLineNumber, {}))

    def end(name: str) -> None:
        word = "".join(words).strip()
        if messages and word:
            messages[-1][1][name.rpartition(":")[2]] = word
        words.clear()

    def declared(*_: object) -> None:
        refuse(file, parser.CurrentLineNumber, "it declares a document type, which no OMM does")

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = words.append, declared
    try:
        parser.Parse(text.encode(), True)  # noqa: FBT003
    except expat.ExpatError as wrong:
        refuse(file, wrong.lineno, f"the XML is damaged: {expat.errors.messages[wrong.code]}")
    whole, before = "[", 1
    for number, (line, message) in enumerate(messages):
        whole += ("," if number else "") + "\n" * (line - before) + json.dumps(message)
        before = line
    return f"{whole}]"

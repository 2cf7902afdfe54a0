"""The words of a paper: sections of a text, and the values that they ask for."""

import ast
from pathlib import Path

import polars as pl
import pytest

import bentpipe.papers
from bentpipe import studies
from bentpipe.studies import draw
from bentpipe.studies.text import Items, Table
from bentpipe.studies.words import FILE, Words, each

WORDS = Words("""
# For readers of the file

## figure-1

Figure 1. A line.

Mean over {{ seeds }} seeds; the rate is {{ rate|f(".1f") }}
Mbit/s. {{ table("Loss", loss) }} So it is.

A line chart of nothing.

## V1

> it takes {{ rtt|f }} s,
> and that is long

The shares are {{ share|each(".1f", "%") }}, the losses {{ lost.cubic|f(",.0f") }}
and {{ lost.bic|f(",.0f") }}.

{% if without is not none %}
Without delayed ACKs it takes {{ without|f }} s.
{% endif %}

{{ tried|headed("Under other choices") }}

## V2

Nothing is known.

## Set-up

- Buffer | {{ seeds }} packets,
  at most | 1 - 2
- Rate | |
""")
PAPERS = Path(bentpipe.papers.__file__).parent


def test_a_figure_has_its_words_and_the_values_that_its_caption_asks_for():
    drawn, _ = draw.figure(1.0)
    data = pl.DataFrame({"x": [1.0]})
    figure = WORDS.figure("figure-1", drawn, data, seeds=3, rate=2.54, loss={"a": 1, "b": "2"})
    assert (figure.name, figure.title) == ("figure-1", "Figure 1. A line.")
    loss = Table(["", "a", "b"], [["", "1.00", "2"]], "Loss")
    assert figure.caption == ["Mean over 3 seeds; the rate is 2.5 Mbit/s.", loss, "So it is."]
    assert figure.alt == "A line chart of nothing."
    assert figure.draw is drawn
    assert figure.data is data
    other = WORDS.figure("figure-2", drawn, data, of="figure-1", seeds=4, rate=1, loss={"c": 1})
    assert (other.name, other.title) == ("figure-2", "Figure 1. A line.")


def test_a_reason_has_a_clause_for_the_note_and_leaves_out_what_is_not_known():
    lost = {"cubic": 12345.6, "bic": 7}
    given = {"rtt": 0.98765, "share": {"CUBIC": 12.34, "BIC": 5}, "lost": lost}
    first = "The shares are CUBIC 12.3 %, BIC 5.0 %, the losses 12,346 and 7."
    note = "it takes 0.988 s, and that is long"
    assert WORDS.reason("V1", **given, without=None, tried=None) == (note, [first])
    tried = Items("(rate)", ["a: 1", "b: 2"])
    assert WORDS.reason("V1", **given, without=2.0, tried=tried) == (
        note, [first, "Without delayed ACKs it takes 2.00 s.", "Under other choices (rate): a: 1; b: 2."],
    )  # fmt: skip
    assert WORDS.reason("V2") == ("", ["Nothing is known."])


def test_the_rows_of_a_section():
    assert WORDS.rows("Set-up", seeds=3) == [["Buffer", "3 packets, at most", "1 - 2"], ["Rate", "|"]]


def test_values_by_name_are_listed():
    assert each({"CUBIC": 0.12345, "BIC": 77.77}) == "CUBIC 0.123, BIC 77.8"
    assert each({"CUBIC": "1.2 ± 0.1"}, unit="s") == "CUBIC 1.2 ± 0.1 s"
    assert each({"CUBIC": 0.5}, ".0%") == "CUBIC 50%"


def test_what_is_missing_or_not_used_is_named():
    with pytest.raises(KeyError, match=r"words\.md has no section 'V3'; there are: figure-1, V1, V2, Set-up"):
        WORDS.reason("V3")
    with pytest.raises(ValueError, match=r"words\.md, section 'figure-1', asks for rate, which is not given"):
        WORDS.text("figure-1", seeds=3, loss={"a": 1})
    with pytest.raises(ValueError, match="section 'V2', does not ask for what is given: rtt, seeds"):
        WORDS.text("V2", rtt=1.0, seeds=3)
    with pytest.raises(ValueError, match="section 'Set-up', asks for a value that is None"):
        WORDS.rows("Set-up", seeds=None)
    with pytest.raises(ValueError, match=r"x/words\.md: two sections are called A"):
        Words("## A\n\none\n\n## A\n\ntwo\n", "x/words.md")


@pytest.mark.parametrize("paper", studies.PAPERS)
def test_every_section_of_a_paper_is_asked_for(paper):
    words = Words.beside(str(PAPERS / paper / "setup.py"))
    texts, calls = {"Title", "Citation", "Summary"}, set()
    for path in (PAPERS / paper).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
            of = node.func if isinstance(node, ast.Call) else None
            asks = isinstance(of, ast.Attribute) and isinstance(of.value, ast.Name) and of.value.id == "WORDS"
            if asks and isinstance(node.args[0], ast.Constant):
                section = [word.value for word in node.keywords if word.arg == "of" and of.attr == "figure"]
                named = [word.value for word in section if isinstance(word, ast.Constant)]
                calls.add((named or [node.args[0].value])[0])
    assert not set(words) - texts, f"sections of {paper}/{FILE} that nothing asks for"
    assert calls <= set(words)

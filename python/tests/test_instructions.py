"""The count of instructions: reading callgrind's files, and what is said of counts that have moved."""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripts are importable."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    for name in ("instructions", "performance_md", "validate"):
        monkeypatch.delitem(sys.modules, name, raising=False)


# As callgrind writes it: names in full once and by number later, costs by line, the inclusive cost of a call
# on the line behind `calls=`.
FILE = """\
# callgrind format
events: Ir
summary: 1111
ob=(1) /tmp/speed
fl=(1) /somewhere/crates/sim/src/engine.rs
fn=(1) bentpipe_sim::engine::run
10 100
fi=(2) /rustc/abc/library/core/src/cmp.rs
+3 10
fi=(3) /somewhere/crates/sim/src/link.rs
* 500
fi=(2)
-1 1
fe=(1)
20 200
cfi=(4)
cfn=(2)
calls=7 30
25 9999

fl=(4) ./malloc/malloc.c
fn=(2) malloc
30 300
"""


def test_costs_go_to_the_file_where_the_code_stands_and_calls_count_once() -> None:
    import instructions

    assert instructions.by_file(FILE.replace("cfi=(4)", "cfi=(4) ./malloc/malloc.c").splitlines()) == {
        # 10 of cmp.rs stand behind engine.rs, 1 behind link.rs.
        "crates/sim/src/engine.rs": 100 + 10 + 200,
        "crates/sim/src/link.rs": 500 + 1,
        "other libraries": 300,
    }


def test_a_count_may_move_by_a_twentieth_in_either_direction() -> None:
    from instructions import FILE, wrong

    def said(stored: dict[str, float], counts: dict[str, float]) -> list[str]:
        return wrong({FILE: {"per_packet": stored}}, counts)

    assert said({"a": 1000.0, "b": 1000.0}, {"a": 1049.0, "b": 951.0}) == []
    assert said({"a": 1000.0}, {"a": 1051.0}) == [
        "instructions.toml: a: 1051 instructions per packet, 1000 in the file (+5.1 %)"
    ]
    assert len(said({"a": 1000.0}, {"a": 949.0})) == 1
    assert said({"a": 1.0}, {"b": 1.0}) == [
        "instructions.toml: a: not in the program",
        "instructions.toml: b: not in the file",
    ]


def test_a_count_may_be_8_per_cent_above_that_of_the_fixed_commit_and_fall_as_far_as_it_will() -> None:
    from instructions import BASE, wrong

    base = {BASE: {"per_packet": {"a": 1000.0, "b": 1000.0}}}
    assert wrong(base, {"a": 1079.0, "b": 500.0}) == []
    assert wrong(base, {"a": 1081.0, "b": 1000.0}) == [
        "instructions-53b6edb.toml: a: 1081 instructions per packet, 1000 in the file (+8.1 %)"
    ]
    assert wrong(base, {"a": 1000.0, "b": 1000.0, "younger": 1.0}) == []
    assert wrong(base, {"a": 1000.0}) == ["instructions-53b6edb.toml: b: not in the program"]


def test_the_counts_are_shown_beside_both_files() -> None:
    from instructions import BASE, FILE, compared

    table = compared({FILE: {"per_packet": {"a": 1000.0}}, BASE: {"per_packet": {"a": 800.0}}}, {"a": 1020.0})
    assert table.splitlines()[0].split() == ["per", "packet", "now", "instructions", "instructions-53b6edb"]
    assert table.splitlines()[1].split() == ["a", "1020.0", "+2.0", "%", "+27.5", "%"]


def test_counts_of_another_compiler_are_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    import instructions

    assert instructions.comparable("1.0.0 elsewhere") == {}
    assert capsys.readouterr().out.count("skipped") == 2


def test_an_update_writes_the_new_counts_and_not_those_of_the_fixed_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import instructions

    fixed = instructions.BASE.read_text(encoding="utf-8")
    for name in ("FILE", "BASE"):
        copy = tmp_path / getattr(instructions, name).name
        copy.write_text(fixed, encoding="utf-8")
        monkeypatch.setattr(instructions, name, copy)
    monkeypatch.setattr(instructions, "ROOT", tmp_path)
    monkeypatch.setattr(instructions.shutil, "which", lambda _: "valgrind")
    monkeypatch.setattr(instructions, "compiler", lambda: "1.0.0 elsewhere")
    monkeypatch.setattr(instructions, "build", lambda features, lines: Path())
    monkeypatch.setattr(instructions, "count", lambda *_: (7.0, Counter({"a.rs": 1})))
    monkeypatch.setattr(sys, "argv", ["instructions.py", "--update"])
    assert instructions.main() == 0
    assert "a = 7.0" in instructions.FILE.read_text(encoding="utf-8")
    assert instructions.BASE.read_text(encoding="utf-8") == fixed


def test_the_file_that_is_written_can_be_compared_with() -> None:
    from instructions import text

    costs = Counter({"crates/sim/src/link.rs": 300, "other libraries": 100})
    stored = tomllib.loads(text("1.90.0 here", {"a": 2670.13}, costs))
    assert stored == {
        "compiler": "1.90.0 here",
        "per_packet": {"a": 2670.1},
        "share": {"crates/sim/src/link.rs": 0.75, "other libraries": 0.25},
    }


def test_the_stored_counts_are_those_of_the_scenarios_that_the_script_runs() -> None:
    import instructions

    wanted = {name + variant for name, variant in instructions.RUNS}
    stored, base = (
        set(tomllib.loads(file.read_text(encoding="utf-8"))["per_packet"])
        for file in (instructions.FILE, instructions.BASE)
    )
    assert stored == wanted
    assert base <= wanted  # some scenarios are younger


def test_a_page_that_does_not_follow_from_the_stored_numbers_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import docs
    import performance_md

    page = tmp_path / "performance.md"
    text = performance_md.PAGE.read_text(encoding="utf-8")
    monkeypatch.setattr(performance_md, "PAGE", page)
    monkeypatch.setattr(performance_md, "ROWS", tmp_path / "performance.csv")
    page.write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["docs.py", "performance_md"])
    assert docs.main() == 0
    text = page.read_text(encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["docs.py", "--check", "performance_md"])
    assert docs.main() == 0
    page.write_text(text.replace("| a | 1 SACK flow", "| a | 2 SACK flows"), encoding="utf-8")
    assert docs.main() == 1
    assert "performance.md does not agree with its source" in capsys.readouterr().err
    page.write_text(text, encoding="utf-8")
    performance_md.ROWS.write_text("", encoding="utf-8")
    assert docs.main() == 1
    assert "performance.csv does not agree with its source" in capsys.readouterr().err

"""The house: no circles of files, no two types of one name, one path from a scenario to a run.

A citation of the present version, too.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CRATES = ROOT / "crates"
PACKAGE = ROOT / "python" / "bentpipe"


def code(path: Path) -> str:
    """A Rust file without comments and without its tests."""
    return re.sub(r"//.*", "", re.split(r"#\[cfg\(test\)\]\nmod ", path.read_text(encoding="utf-8"))[0])


def modules(crate: str) -> dict[str, Path]:
    """The files of a crate by the path of their module, "link::direction"."""
    source = CRATES / crate / "src"
    files = {}
    for path in source.rglob("*.rs"):
        if path.name not in ("tests.rs", "lib.rs", "main.rs"):
            files["::".join(path.relative_to(source).with_suffix("").parts).removesuffix("::mod")] = path
    return files


def imported(name: str, text: str, known: Mapping[str, Path]) -> set[str]:
    """The modules that the module `name` imports."""
    found = set()
    path = r"\b(crate::|(?:super::)+)((?:[a-z_]+::)*)(\{[^;]*?\}|[A-Za-z_]+)"
    for root, head, tail in re.findall(path, text):
        above = [] if root == "crate::" else name.split("::")[: -root.count("super")]
        for item in re.findall(r"[A-Za-z_:]+", tail):
            parts = [*above, *head.split("::"), *item.split("::")]
            parts = [part for part in parts if part]
            while parts and "::".join(parts) not in known:
                parts.pop()
            found.add("::".join(parts))
    return found - {name, ""}


def circle(files: Mapping[str, str]) -> list[str] | None:
    """Modules that import each other, the first of them twice; None if there are none."""
    known = {name: Path(name) for name in files}
    graph = {name: imported(name, text, known) for name, text in files.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return None


@pytest.mark.parametrize(
    ("crate", "least"),
    [
        ("cc", 90),
        ("drill", 5),
        ("emu", 10),
        ("kernel", 10),
        ("orbit", 10),
        ("py", 5),
        ("quic", 15),
        ("sim", 150),
        ("tcp", 30),
        ("web", 10),
    ],
)
def test_no_files_of_a_crate_import_each_other(crate: str, least: int) -> None:
    """Visibility such as `pub(in crate::engine)` is no import."""
    files = modules(crate)
    assert len(files) > least
    texts = {name: re.sub(r"pub\(in [a-z:]+\)", "", code(path)) for name, path in files.items()}
    assert circle(texts) is None


def test_a_circle_is_found() -> None:
    """By `crate`, by `super`, and by a detour."""
    assert circle({"a": "use crate::b::{c::D, E};", "b": "", "b::c": "use crate::b::G;"}) is None
    assert circle({"a": "use crate::b::{c::D, E};", "b": "", "b::c": "use super::super::a::F;"}) is not None
    assert circle({"a": "use crate::b::{c::D, E};", "b": "", "b::c": "use crate::a::F;"}) is not None
    assert circle({"a": "use crate::b::c::D;", "b": "use crate::a::A;", "b::c": "use super::E;"}) is not None


def floors() -> dict[str, list[str]]:
    """The rooms of the package, that is, its modules and folders, by floor from the lowest to the highest."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = page.split("| floor | rooms | content |\n")[1].split("\n\n")[0].splitlines()[1:]
    cells = [row.strip("| ").split(" | ") for row in rows]
    return {floor: re.findall(r"`(\w+)`", rooms) for floor, rooms, _ in cells}


def room_of(path: Path, text: str) -> str:
    """The room of a Python file. A file with verbs belongs to the command line, wherever it lies."""
    is_verb = re.search(r"^import typer|^from bentpipe\.cli\.(application|verbs) ", text, re.MULTILINE)
    return "cli" if is_verb else path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def names_imported(tree: ast.AST) -> Iterator[str]:
    """What a Python file imports from the package, at once or later, by its name below `bentpipe`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{name.name}" for name in node.names]
        else:
            continue
        yield from (name.removeprefix("bentpipe.") for name in names if name.startswith("bentpipe."))


def rooms_imported(text: str) -> set[str]:
    """The rooms that a Python file imports, at once, later or for types only."""
    return {name.split(".")[0] for name in names_imported(ast.parse(text))}


class WithoutTypes(ast.NodeTransformer):
    """Leaves out what is imported for types only."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        """Leaves out `if TYPE_CHECKING`."""
        only_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if only_types else self.generic_visit(node)


def test_no_files_of_the_package_import_each_other() -> None:
    """At once or later. A class and the function that writes it may know each other by their types."""
    files = {path.relative_to(PACKAGE).with_suffix(""): path for path in PACKAGE.rglob("*.py")}
    known = {".".join(name.parts).removesuffix(".__init__"): path for name, path in files.items()}
    graph: dict[str, set[str]] = defaultdict(set)
    for module, path in known.items():
        tree = WithoutTypes().visit(ast.parse(path.read_text(encoding="utf-8")))
        for name in names_imported(tree):
            while name and name not in known:
                name = name.rpartition(".")[0]
            graph[module] |= {name} - {"", module}
    assert len(graph) > 200
    TopologicalSorter(graph).prepare()


def test_few_files_lie_at_the_top_of_the_package() -> None:
    """A reader sees the parts of a run and the folders, and chooses."""
    assert len(list(PACKAGE.glob("*.py"))) <= 12


def test_no_room_imports_a_floor_above_it() -> None:
    floor_of = {room: floor for floor, rooms in floors().items() for room in rooms}
    order = list(floors())
    wrong = []
    arrows: dict[str, set[str]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        room = room_of(path, text)
        if room == "__init__":
            continue
        for other in rooms_imported(text) & set(floor_of) - {room}:
            here, there = floor_of[room], floor_of[other]
            if order.index(there) > order.index(here):
                wrong.append(f"{path.relative_to(PACKAGE)} ({here}) imports {other} ({there})")
            if here != "cli":
                arrows[room].add(other)
    assert wrong == []
    TopologicalSorter(arrows).prepare()  # no two rooms of a floor import each other


def test_every_room_has_a_floor() -> None:
    there = {path.stem for path in PACKAGE.glob("*.py")} | {
        path.parent.name for path in PACKAGE.glob("*/__init__.py")
    }
    assert there - {"__init__"} == {room for rooms in floors().values() for room in rooms}


@pytest.mark.parametrize("crate", ["cc", "tcp", "sim"])
def test_no_two_types_of_a_crate_share_a_name(crate: str) -> None:
    """Types that belong to a trait (`type Err`) are the trait's."""
    where = defaultdict(list)
    for name, path in modules(crate).items():
        declared = r"^(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|type) ([A-Z]\w*)"
        for found in re.findall(declared, code(path), re.MULTILINE):
            where[found].append(name)
    assert len(where) > 20
    assert {name: places for name, places in where.items() if len(places) > 1} == {}


def test_no_two_classes_of_the_package_share_a_name() -> None:
    homes = defaultdict(list)
    for path in [*PACKAGE.rglob("*.py"), *(ROOT / "scripts").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(path.relative_to(ROOT)))
    assert len(homes) > 300
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_the_citation_has_the_version_and_the_licence_of_the_manifest() -> None:
    package = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {package['version']}\n" in cited
    assert re.findall(r"^  - ((?:MIT|Apache)\S*)$", cited, re.MULTILINE) == package["license"].split(" OR ")


def calling(pattern: str) -> set[str]:
    """The modules of the package that call what the pattern finds."""
    files = {path.relative_to(PACKAGE): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    return {str(name) for name, text in files.items() if re.search(pattern, text)}


def test_what_simulates_is_given_the_scenario_as_it_is_written() -> None:
    """Sweeps, comparisons, studies, advice and evaluations are cases of `sweeps/execution.py`.

    The form with its defaults written out goes to tables, to ns-2, to ns-3 and to messages alone.
    """
    simulate = calling(r"\b_core\.(run|Threads|EmulatedNetwork)\(")
    assert simulate == {
        "bench/worker.py",
        "emulation/session.py",
        "runs.py",
        "sweeps/execution.py",
    }
    write_out = calling(r"\b_core\.check\(|\.to_json\(\)")
    assert write_out == {
        "advice/question.py",  # the size of a segment
        "bench/in_page.py",  # likewise
        "bench/measure.py",  # likewise
        "bench/ns3.py",
        "emulation/session.py",
        "kernel/choice.py",
        "ns2/script.py",
        "presets/commands.py",  # for readers
        "scenario.py",
        "timeline/drawn.py",  # a line by itself
    }
    resolves = {path.name for path in (CRATES / "py" / "src").glob("*.rs") if ".resolve()" in code(path)}
    assert resolves == {"lib.rs"}

"""Pages that teach are run as they stand: their files are written, and their commands are typed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import forked
import pytest
from forms import form

import bentpipe as bp
from bentpipe import registry
from bentpipe.machine import extras
from bentpipe.pages.markdown import for_code_host

ROOT = Path(__file__).parents[2]
BUDGET = form("2 s", "5 s")
"""Of `advise`, whose pages print 5 s: both processors work as long as they may."""


def blocks(page: str) -> list[tuple[str, str]]:
    """The blocks of code of a page: language and text."""
    text = for_code_host((ROOT / "docs" / page).read_text(encoding="utf-8"))
    return re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def save(language: str, text: str, place: Path) -> None:
    """Writes a block whose first line is `# NAME` as that file."""
    named = re.match(r"# ([\w.-]+)\n", text)
    if language in ("toml", "python") and named:
        (place / named[1]).write_text(text, encoding="utf-8")


def arguments(line: str) -> list[str]:
    """The words behind `bentpipe` in a line of a block of `sh`."""
    words = shlex.split(line)
    assert words[0] == "bentpipe", line
    return words[1:]


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", ["tutorial.md", "choose.md", "own-controller.md", "constellation-tutorial.md"]
)
def test_the_commands_of_a_page_work_as_printed(page: str, tmp_path: Path) -> None:
    """In an empty directory, one after the other; in the quick form advice has less time than is printed."""
    environment = {**os.environ, "COLUMNS": "60"}
    typed = 0
    for language, text in blocks(page):
        save(language, text, tmp_path)
        for line in text.splitlines() if language == "sh" else []:
            words = arguments(line.replace('--budget "5 s"', f'--budget "{BUDGET}"'))
            done = forked.run(words, cwd=tmp_path, env=environment)
            assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
            typed += 1
    assert typed > 2


def test_the_solutions_of_the_lab_are_what_its_commands_print(cli, monkeypatch, tmp_path: Path) -> None:
    """Each line of a block of `text` in the solutions is a line of what the command above it prints."""
    monkeypatch.chdir(tmp_path)
    printed: dict[str, set[str]] = {}
    compared = 0
    for page in ("lab.md", "lab-solutions.md"):
        above = ""
        for language, text in blocks(page):
            save(language, text, tmp_path)
            for above in text.splitlines() if language == "sh" else []:
                if above not in printed:
                    done = cli(*arguments(above))
                    assert done.exit_code == 0, f"{above}\n{done.output}"
                    printed[above] = {" ".join(line.split()) for line in done.stdout.splitlines()}
            for line in text.splitlines() if language == "text" else []:
                assert " ".join(line.split()) in printed[above], f"{above}\nno longer prints\n{line}"
                compared += 1
    assert compared > 30


def test_what_pages_and_messages_say_to_install_exists() -> None:
    """A wheel that `make` has built, with or without extras, or a package; no index has Bentpipe itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    packages = {re.split(r"[<>=\[]", name)[0] for extra in optional.values() for name in extra}
    assert set(extras.PACKAGES) <= packages
    packages |= {"ns3", "satgenpy", "exputil", "polars"}  # of witnesses, in environments of their own
    packages |= {"stable-baselines3"}  # of an example
    packages |= {"ziglang", "cargo-zigbuild"}  # of a wheel for macOS
    found = 0
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "python/bentpipe").rglob("*.py")]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for arguments in re.findall(r'\bpip install ("\$\([^"]*"|[^`#\n")]+)', text):
            found += 1
            whole = re.fullmatch(r'"\$\(ls [\w/-]*\*\.whl\)\[([\w,]+)\]"', arguments)
            if whole:
                assert set(whole[1].split(",")) <= set(optional), f"{page}: {arguments}"
                continue
            for word in arguments.split():
                known = word.endswith("*.whl") or word.split("==")[0] in packages
                assert known or word.startswith("{"), (
                    f"{page}: {word}"
                )  # in braces: from the table of `extras`
    assert found > 8


@pytest.mark.parametrize(
    ("page", "said"),
    [("README.md", "get {} algorithms"), ("docs/compare.md", "yes, {}: `bentpipe cc list`"),
     ("docs/compare.md", "{} congestion controllers against"), ("paper.md", "has {} congestion controllers")],
)  # fmt: skip
def test_pages_know_how_many_controllers_there_are(page: str, said: str) -> None:
    assert said.format(len(registry.controllers())) in (ROOT / page).read_text(encoding="utf-8")


def test_an_ns3_program_becomes_a_scenario_of_names_that_exist(tmp_path: Path) -> None:
    page = (ROOT / "docs/compare.md").read_text(encoding="utf-8")
    (text,) = [text for language, text in blocks("compare.md") if language == "toml"]
    save("toml", text, tmp_path)
    scenario = bp.Scenario.load(tmp_path / "dumbbell.toml", {"link.bottleneck.queue.kind": "red"})
    flows = bp.run(scenario).flows
    assert flows["cc"].to_list() == ["reno", "cubic"]
    table = page.partition("| in ns-3 | here |")[2].partition("\n\n")[0]
    same = next(row for row in table.splitlines() if "without `Tcp`" in row)
    names = [name.lower() for name in re.findall(r"`Tcp(\w+)`", same)]
    assert len(names) > 10
    for name in [*names, "reno", "highspeed", "westwood-plus"]:
        assert registry.find(name)["id"] == name
    for kind in ("red", "codel", "fq-codel", "pie"):
        assert f"`{kind}`" in table and registry.find_queue(kind)["kind"] == kind


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs Rust")
def test_the_controller_in_rust_compiles(tmp_path: Path) -> None:
    """As `own-controller.md` prints it, in a copy of the crate, with the two lines that it asks for."""
    (code,) = [text for language, text in blocks("own-controller.md") if language == "rust"]
    crate = shutil.copytree(ROOT / "crates" / "cc", tmp_path / "cc")
    (crate / "src/algorithms/patient.rs").write_text(code, encoding="utf-8")
    registry = crate / "src/algorithms/mod.rs"
    text = registry.read_text(encoding="utf-8").replace("mod reno;", "mod patient;\nmod reno;")
    registry.write_text(
        text.replace("    reno::ENTRY,", "    patient::ENTRY,\n    reno::ENTRY,"), encoding="utf-8"
    )
    workspace = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    workspace = re.sub(r"members = \[.*\]", 'members = ["cc"]', workspace)
    workspace = re.sub(r"^bentpipe-.*\n", "", workspace, flags=re.MULTILINE)
    (tmp_path / "Cargo.toml").write_text(workspace, encoding="utf-8")
    shutil.copy(ROOT / "Cargo.lock", tmp_path)
    command = ["cargo", "check", "--quiet", "-p", "bentpipe-cc"]
    environment = {**os.environ, "RUSTFLAGS": "-D warnings", "CARGO_TARGET_DIR": str(tmp_path / "target")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr

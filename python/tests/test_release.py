"""A release is refused with one line for each thing that it lacks, and complete only with all its files."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

READY = {
    "Cargo.toml": '[workspace.package]\nversion = "1.2.3"\n',
    "CITATION.cff": "cff-version: 1.2.0\nversion: 1.2.3\n",
    "CHANGELOG.md": "# Changelog\n\n## 1.2.3 (2026-02-28)\n\n## 1.2.2 (2026-01-31)\n",
    "paper.md": "# Summary\n",
    "paper.bib": "@misc{a}\n",
}


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "scripts"))
    sys.modules.pop("release", None)
    import release

    return release


def git(root: Path, *arguments: str) -> None:
    names = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "tag.gpgSign=false"]
    subprocess.run(["git", *names, "-C", str(root), *arguments], check=True, capture_output=True)


def sources(root: Path, changed: dict[str, str]) -> Path:
    """A committed tree that is ready, but for the texts in `changed`."""
    root.mkdir()
    for name, text in (READY | changed).items():
        (root / name).write_text(text, encoding="utf-8")
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--no-gpg-sign", "--message", "all")
    return root


def missing(printed: str) -> list[str]:
    """The names of the checks that do not hold."""
    return [line.split()[1].rstrip(":") for line in printed.splitlines() if line.startswith("missing")]


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ({}, []),
        (
            {"Cargo.toml": '[workspace.package]\nversion = "1.2.3-rc1"\n'},
            ["version", "CITATION.cff", "CHANGELOG.md"],
        ),
        ({"CITATION.cff": "cff-version: 1.2.0\nversion: 1.2.2\n"}, ["CITATION.cff"]),
        ({"CHANGELOG.md": "## 1.2.3 (unreleased)\n"}, ["CHANGELOG.md"]),
        ({"CHANGELOG.md": "## 1.2.3\n"}, ["CHANGELOG.md"]),
        ({"CHANGELOG.md": "## 1.2.3 (2026-02-30)\n"}, ["CHANGELOG.md"]),
        ({"CHANGELOG.md": "## 1.2.4 (unreleased)\n\n## 1.2.3 (2026-02-28)\n"}, ["CHANGELOG.md"]),
        ({"paper.md": ""}, ["paper"]),
    ],
)
def test_each_fault_of_the_sources_is_named(
    release: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changed: dict[str, str],
    names: list[str],
) -> None:
    root = sources(tmp_path / "tree", changed)
    assert release.main(["--root", str(root)]) == bool(names)
    assert missing(capsys.readouterr().out) == names


def test_a_changed_file_and_a_tag_that_exists_are_named(
    release: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = sources(tmp_path / "tree", {})
    git(root, "tag", "v1.2.3")
    (root / "new.txt").write_text("", encoding="utf-8")
    assert release.main(["--root", str(root)]) == 1
    printed = capsys.readouterr().out
    assert missing(printed) == ["work", "tag"]
    assert "new.txt" in printed


def test_the_files_are_summed_and_the_last_commands_printed_only_when_all_are_there(
    release: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, folder = sources(tmp_path / "tree", {}), tmp_path / "dist"
    folder.mkdir()
    asked = ["--root", str(root), "--files", str(folder)]
    names = [
        "bentpipe-1.2.3.tar.gz",
        "bentpipe-1.2.3-cp311-abi3-manylinux_2_28_x86_64.whl",
        "bentpipe-1.2.3-cp311-abi3-manylinux_2_28_aarch64.whl",
        "bentpipe-1.2.3.html",
        "bentpipe-1.2.3-oci.tar",
    ]
    for name in names[:-1]:
        (folder / name).write_text(name, encoding="utf-8")
    assert release.main(asked) == 1
    printed = capsys.readouterr().out
    assert missing(printed) == ["OCI"] and "git tag" not in printed
    assert not (folder / "SHA256SUMS").exists()

    (folder / names[-1]).write_text(names[-1], encoding="utf-8")
    (folder / "bentpipe-1.2.2.tar.gz").write_text("", encoding="utf-8")
    assert release.main(asked) == 1
    assert missing(capsys.readouterr().out) == ["other"]

    (folder / "bentpipe-1.2.2.tar.gz").unlink()
    for _ in range(2):  # the sums of the first time are no other file
        assert release.main(asked) == 0
    assert "git tag --sign v1.2.3" in capsys.readouterr().out
    sums = dict(reversed(line.split()) for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert sums == {name: hashlib.sha256(name.encode()).hexdigest() for name in names}
    tags = subprocess.run(["git", "-C", str(root), "tag"], check=True, capture_output=True, text=True)
    assert tags.stdout == ""


def test_an_image_of_a_wheel_for_another_machine_is_refused(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "scripts" / "image.sh"
    wheel = "bentpipe-1.2.3-cp311-abi3-manylinux_2_28_aarch64.whl"
    asked = [str(script), str(tmp_path / wheel), str(tmp_path / "bentpipe-1.2.3-oci.tar")]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"make image needs a wheel for x86_64, not {wheel}\n"

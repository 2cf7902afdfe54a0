"""Checks that a release is complete and prints the commands that publish it.

Each check is one line. `make release` asks twice: first about the sources, then, with --files, also about the
files that `make image` has made. Then it writes their SHA256SUMS, and nothing else.
"""

import argparse
import hashlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parent.parent

# Every file of a release, and its name after `bentpipe-VERSION`; `make dist` and `make image` make them.
FILES = {
    "sdist": ".tar.gz",
    "wheel for x86_64": "-cp311-abi3-manylinux_2_28_x86_64.whl",
    "wheel for aarch64": "-cp311-abi3-manylinux_2_28_aarch64.whl",
    "OCI image": "-oci.tar",
    "page": ".html",
}
SUMS = "SHA256SUMS"

# What a check found: its name, whether it holds, and the detail or what to do.
Line = tuple[str, bool, str]


def git(root: Path, *arguments: str) -> str:
    """What git prints, without the last newline."""
    done = subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.rstrip("\n")


def version_of(root: Path) -> str:
    """The version in its one home, the manifest of the workspace."""
    manifest = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))
    version = manifest["workspace"]["package"]["version"]
    assert isinstance(version, str)
    return version


def of_sources(root: Path) -> Iterator[Line]:
    """The checks of the sources, in the order in which a maintainer mends them."""
    version = version_of(root)
    yield "version", bool(re.fullmatch(r"\d+\.\d+\.\d+", version)), f"{version} in Cargo.toml"

    cited = re.search(r"^version: *(\S+)$", _text(root / "CITATION.cff"), re.MULTILINE)
    found = cited[1] if cited else "no version"
    yield "CITATION.cff", found == version, f"{found}, where Cargo.toml has {version}"

    yield _of_changelog(_text(root / "CHANGELOG.md"), version)

    missing = [name for name in ("paper.md", "paper.bib") if not _text(root / name).strip()]
    yield "paper", not missing, f"{' and '.join(missing) or 'paper.md and paper.bib'}"

    dirty = git(root, "status", "--porcelain").splitlines()
    detail = f"{len(dirty)} files differ from the commit, {dirty[0][3:]} first" if dirty else "as committed"
    yield "work tree", not dirty, detail

    tag = f"v{version}"
    taken = bool(git(root, "tag", "--list", tag))
    yield "tag", not taken, f"{tag} {'exists; set the next version' if taken else 'is free'}"


def _of_changelog(text: str, version: str) -> Line:
    head = re.search(r"^## (.*)$", text, re.MULTILINE)
    found = head[1] if head else "no head"
    wanted = re.fullmatch(rf"{re.escape(version)} \((\d{{4}}-\d\d-\d\d)\)", found)
    try:
        day = wanted and date.fromisoformat(wanted[1])
    except ValueError:
        day = None
    return "CHANGELOG.md", bool(day), f'first head "{found}", wanted "{version} (YYYY-MM-DD)"'


def of_files(folder: Path, version: str) -> Iterator[Line]:
    """Whether every file of a release is there, and no file of another version or kind."""
    wanted = {f"bentpipe-{version}{rest}": kind for kind, rest in FILES.items()}
    for name, kind in wanted.items():
        path = folder / name
        if path.is_file():
            yield kind, True, f"{name}, {path.stat().st_size / 1e6:.1f} MB"
        else:
            yield kind, False, f"{name} is not in {folder}"
    present = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    others = sorted(present - wanted.keys() - {SUMS})
    yield "other files", not others, ", ".join(others) or "none"


def write_sums(folder: Path, version: str) -> None:
    """Writes SHA256SUMS of the files of a release, as `sha256sum --check` reads it."""
    lines = []
    for name in sorted(f"bentpipe-{version}{rest}" for rest in FILES.values()):
        with (folder / name).open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n")
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def main(arguments: list[str] | None = None) -> int:
    """Prints a line for each check; the exit status is 1 if one does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=Path, metavar="DIR", help="check the files in DIR, too")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    version = version_of(options.root)
    lines = list(of_sources(options.root))
    if options.files:
        lines += of_files(options.files, version)
    for name, holds, detail in lines:
        print(f"{'ok' if holds else 'missing':8} {name}: {detail}")
    if not all(holds for _, holds, _ in lines):
        return 1
    if options.files:
        write_sums(options.files, version)
        print(f"{'ok':8} sums: {options.files / SUMS}")
        print("\nNothing is tagged or published yet. The last commands:\n")
        print(f'  git tag --sign v{version} --message "Bentpipe {version}"')
        print(f"  git push origin v{version}")
        print(f"  (cd {options.files} && sha256sum --check {SUMS})    # then publish these files and {SUMS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What is loaded when: the command answers at once because nothing heavy is imported before it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import bentpipe as bp
from bentpipe.cli import application as cli

HEAVY = (
    "numpy",
    "polars",
    "matplotlib",
    "scipy",
    "scipy.stats",
    "jinja2",
    "pydantic",
    "rich",
    "bentpipe.models",
)


def imported(code: str) -> set[str]:
    """The heavy modules that a fresh Python holds after this code."""
    probe = f"{code}\nimport sys\nprint('\\n' + ' '.join(set(sys.modules) & set({HEAVY!r})))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "code",
    [
        "import bentpipe",
        "import bentpipe; bentpipe.__version__",
        "import bentpipe.cli.application",
        "import bentpipe.bench.worker",
        "import sys; sys.argv = ['bentpipe', '--version']\nimport bentpipe.cli.application\n"
        "try: bentpipe.cli.application.main()\nexcept SystemExit: pass",
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_used(code: str) -> None:
    assert imported(code) == set()


def test_a_run_as_json_loads_what_a_scenario_is_made_of_alone() -> None:
    code = (
        "import sys; sys.argv = ['bentpipe', 'run', 'geo', '--json', '--seed', '2', '--set', 'seed=3']\n"
        "from bentpipe.cli import application\n"
        "try: application.main()\nexcept SystemExit: pass"
    )
    assert imported(code) == {"bentpipe.models"}


def test_the_search_for_bad_links_leaves_scipy_out_and_as_it_was() -> None:
    code = "from bentpipe.breaking.search import Search, Between; Search([Between('rate', 1.0, 2.0)], 1)\n"
    assert imported(code) == {"numpy", "scipy"}
    assert "scipy.stats" in imported(code + "from scipy import stats; stats.norm")


def test_the_version_is_said_without_the_command_line() -> None:
    code = (
        "import sys; sys.argv = ['bentpipe', '--version']\n"
        "from bentpipe.__main__ import main; main()\n"
        "print('bentpipe.cli.application' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"bentpipe {bp.__version__}\nFalse\n"


def test_a_verb_is_made_alone_and_all_are_there_if_none_is_named() -> None:
    def known(*words: str) -> set[str | None]:
        made = cli.application(words)
        return {one.name for one in (*made.registered_commands, *made.registered_groups)}

    assert known("run") == {"run"} and known("plot") == {"plot"}
    assert known() == known("nonsense") == known("--help") == set(cli.ORDER)


def test_a_frame_loads_what_it_needs() -> None:
    code = (
        "import bentpipe as bp\n"
        "link = bp.Link(rate='1 Mbit/s', delay='1 ms')\n"
        "r = bp.run(bp.Scenario(links={'l': link}, flows=[bp.Flow('reno', path=['l'])], duration='1 s'))\n"
    )
    assert "polars" not in imported(code)
    assert "polars" in imported(code + "r.flows")

"""The example that tunes an algorithm: what it measures, and what it says."""

from __future__ import annotations

import importlib.util
import math
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import bentpipe as bp

FILE = Path(__file__).parents[2] / "examples" / "evolve.py"


@pytest.fixture(scope="module")
def evolve() -> ModuleType:
    spec = importlib.util.spec_from_file_location("evolve", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["evolve"] = module  # a dataclass looks for it there
    spec.loader.exec_module(module)
    return module


def test_the_parameters_of_the_paper_gain_nothing(evolve: ModuleType) -> None:
    assert evolve.gains([{}], evolve.LEO.drawn(2, seed=1), (1,)) == [[0.0, 0.0]]


def test_a_gain_is_that_of_goodput_less_what_cubic_loses(evolve: ModuleType) -> None:
    assert evolve._gain((2e6, 1e6), (1e6, 1e6)) == pytest.approx(math.log(2))
    assert evolve._gain((2e6, 1e6), (1e6, 2e6)) == pytest.approx(0)
    assert evolve._gain((1e6, 2e6), (1e6, 1e6)) == 0  # a gift to others is no gain


def test_the_links_lie_in_their_ranges_and_depend_on_the_seed(evolve: ModuleType) -> None:
    links = evolve.GEO.drawn(20, seed=1)
    assert links == evolve.GEO.drawn(20, seed=1) != evolve.GEO.drawn(20, seed=2)
    assert all(250 <= float(link.delay.split()[0]) <= 325 for link in links)
    assert isinstance(links[0], bp.Link)


@pytest.mark.skipif(importlib.util.find_spec("cmaes") is None, reason="cmaes is not installed")
def test_the_quick_form_measures_seen_and_unseen_links(
    evolve: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    evolve.main(["--quick"])
    said = capsys.readouterr().out
    assert re.findall(r", (\d+) links\)", said) == ["2", "2", "4", "4"]
    assert re.search(r"over-fitted: \d+ %|nothing was gained", said)

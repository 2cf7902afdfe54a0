"""Checks docs/satellite-2026.md, which `make satellite` writes.

python scripts/satellite_2026.py --check   # does the page agree with docs/satellite-2026.csv?
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bentpipe.experiments.satellite_2026 import EXPERIMENT


def main() -> int:
    """Exit status 1: the page is out of date."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", required=True)
    parser.parse_args()
    return EXPERIMENT.stale(Path(__file__).resolve().parent.parent / "docs")


if __name__ == "__main__":
    sys.exit(main())

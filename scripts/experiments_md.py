"""Reports pages in docs that are not those of the tables of their experiments, by `--check`.

`bentpipe study run NAME --full --out docs` writes them.
"""

import sys

from md import DOCS, parser, reported

from bentpipe.experiments import OWN, load


def main() -> int:
    """Exit status 1: a page is out of date."""
    parser(__doc__).parse_args()
    return reported([line for name in OWN for line in load(name)(DOCS).stale()])


if __name__ == "__main__":
    sys.exit(main())

"""Writes the page in which the simulator runs: `python scripts/web_page.py MODULE.wasm FILE.html`."""

import sys
from pathlib import Path

from bentpipe.files import replace_text
from bentpipe.web import page

if __name__ == "__main__":
    module, file = map(Path, sys.argv[1:])
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_text(file, page(module.read_bytes()))
    print(f"{file}, {file.stat().st_size:,} bytes")

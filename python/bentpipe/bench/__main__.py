"""`python -m bentpipe.bench` is `bentpipe bench`."""

import sys

from bentpipe.cli.application import application

application(["bench"])(["bench", *sys.argv[1:]], prog_name="bentpipe")

"""The command `bentpipe`, which is also `python -m bentpipe`."""

import sys


def main() -> None:
    """Answers the question for the version at once; all else is for the command line."""
    if sys.argv[1:] == ["--version"]:
        from bentpipe import _core

        try:
            print(f"bentpipe {_core.__version__}", flush=True)
            return
        except (OSError, ValueError):  # the output is closed or full, which the command line reports
            pass
    from bentpipe.cli import application as cli

    cli.main()


if __name__ == "__main__":
    main()

"""Published papers, a package each; `bentpipe.studies` lists and runs them.

CONTRIBUTING.md explains how to add one.
"""

"""Published papers, a package each; `bentpipe.studies` runs them. CONTRIBUTING.md explains how to add one."""

#: The packages of the papers, in the order in which they are listed.
PAPERS = ("vegas_l", "tcp_star", "hswa", "a_liad", "spectrum")

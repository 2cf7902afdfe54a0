"""Speed beside ns-2: data packets delivered per CPU second, on the same scenarios, on the same machine.

    bentpipe bench                                  # every scenario, five pairs; a quarter of an hour
    bentpipe bench --only a,c --pairs 3 --quick
    make bench                                      # the same, and writes docs/performance.md

A pair is a run of ns-2 followed by one here, so that other load on the machine affects both. Each run
is a process of its own. `cases.py` defines the scenarios, `worker.py` runs them, `measure.py` alternates,
`page.py` makes ratios of the timings and tables of the ratios. The timings are stored as they were taken
(`--out`), so the tables can be written again without running anything.

Nothing is imported here: the start of a process that measures counts in scenario e.
"""

"""Truth tables: a scenario in simulation, and the same in the real kernel behind the emulated link.

`cell.py` defines the cells that are compared, `side.py` and `real.py` make the two sides of a cell,
`measuring.py` works off many cells, `comparison.py` is the arithmetic of the table, and `transfer.py` the
program at both ends of a real transfer. Modules with `quic` in their names do the same with QUIC.
"""

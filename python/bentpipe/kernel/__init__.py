"""Controllers inside the TCP of this machine's kernel: the package behind `bentpipe kernel`.

`choice` resolves the name of a controller and lists what the kernel cannot support; `attach` starts an agent,
which is in `agent`; `records` keeps what must be undone, and has the status; `routes` and `running` select
the connections; `machine` examines the machine.
"""

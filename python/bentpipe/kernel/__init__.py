"""Controllers inside the TCP of this machine's kernel: what `bentpipe kernel` does.

`choice` says which controller a name means and what the kernel cannot carry of it; `attach` starts an agent,
which `agent` is and `asking` talks to; `records` keeps what must be undone; `routes` and `cgroup` select the
connections; `machine` looks at what the machine has.
"""

"""This machine: its kernel, its packages and its processes.

- `connections`: the TCP connections of a network namespace, as `ss -ti` shows them
- `linux`: availability of an algorithm in the kernel
- `extras`: packages that only some verbs need
- `memory`, `watchdog`: peak memory of a process; the end of a run whose controller hangs
"""

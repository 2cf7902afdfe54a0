"""Controllers over paths that move: docs/leo.md."""

"""Slow starts and applications over satellites: docs/satellite-2026.md."""

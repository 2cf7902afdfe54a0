"""Paths through satellites."""

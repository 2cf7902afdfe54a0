"""Experiments with a measured Starlink link and with the model of one: docs/starlink.md."""

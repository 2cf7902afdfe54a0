"""Many runs: a scenario over a grid of values and seeds, on all cores, kept on disk."""

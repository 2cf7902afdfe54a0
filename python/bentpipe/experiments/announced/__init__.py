"""Studies that three of the papers announce as future work and nobody has published."""

"""TCP Vegas-L by satellite (figures 4, 5 and 6 of the paper)."""

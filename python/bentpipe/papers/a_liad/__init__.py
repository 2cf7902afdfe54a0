"""A-LIAD, adaptive logarithmic increase and adaptive decrease (figures 1 and 5 to 13 of the paper)."""

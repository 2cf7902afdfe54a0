"""HSWA-TCP against SCPS-TP over GEO, MEO and LEO satellites (figures 1, 3 and 4 of the paper)."""

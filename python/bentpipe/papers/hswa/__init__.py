"""HSWA-TCP against SCPS-TP over GEO, MEO and LEO satellites (figures 1, 3 and 4 of the paper)."""

from bentpipe.papers.hswa.measure import measure
from bentpipe.studies.study import paper
from bentpipe.studies.words import Words

STUDY = paper(__name__, measure, Words.beside(__file__), previews=("figure-3",))

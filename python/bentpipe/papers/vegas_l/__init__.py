"""TCP Vegas-L by satellite (figures 4, 5 and 6 of the paper)."""

from bentpipe.papers.vegas_l.measure import measure
from bentpipe.studies.study import paper
from bentpipe.studies.words import Words

STUDY = paper(__name__, measure, Words.beside(__file__), previews=("figure-4",))

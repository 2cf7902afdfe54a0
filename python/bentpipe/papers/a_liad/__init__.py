"""A-LIAD, adaptive logarithmic increase and adaptive decrease (figures 1 and 5 to 13 of the paper)."""

from bentpipe.papers.a_liad.measure import measure
from bentpipe.studies.study import paper
from bentpipe.studies.words import Words

STUDY = paper(__name__, measure, Words.beside(__file__), previews=("figure-10",))

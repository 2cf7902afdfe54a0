"""TCP-STAR against TCP-J, WestwoodBR and NewReno (figures 6 to 11 of the paper)."""

from bentpipe.papers.tcp_star.measure import measure
from bentpipe.studies.study import paper
from bentpipe.studies.words import Words

STUDY = paper(__name__, measure, Words.beside(__file__), previews=("figure-6",))

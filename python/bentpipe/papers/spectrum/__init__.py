"""A spectrum of TCP-friendly window controls with history: SIMD, AIAD and their rivals."""

from bentpipe.papers.spectrum.measure import measure
from bentpipe.studies.study import paper
from bentpipe.studies.words import Words

STUDY = paper(__name__, measure, Words.beside(__file__), previews=("figure-8", "figure-21"))

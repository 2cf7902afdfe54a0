"""A spectrum of TCP-friendly window controls with history: SIMD, AIAD and their rivals."""

from bentpipe.papers.spectrum.measure import measure
from bentpipe.studies.study import paper

STUDY = paper(
    __name__,
    measure,
    title="A spectrum of TCP-friendly window controls",
    citation=(
        "S. Jin, L. Guo, I. Matta, A. Bestavros: A Spectrum of TCP-friendly Window-based Congestion Control "
        "Algorithms. Technical report BUCS-TR-2001-015, 2001. Sections 3 to 6, figures 4 to 22, tables 1 to "
        "6."
    ),
    summary=(
        "Controls that remember the window of the last loss grow by alpha / (w - w0)^k per round trip and "
        "give up beta w^l at a loss. The paper claims that they are as friendly as TCP, smooth in steady "
        "state, and, above all SIMD (k = -1/2, l = 1), quick to take bandwidth that becomes free and to "
        "become fair."
    ),
    previews=("figure-8", "figure-21"),
)
